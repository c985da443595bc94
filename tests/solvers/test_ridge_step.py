"""The ridge step against its definition: a dense quadratic programme with equality constraints."""

import numpy as np
import pytest

from mercer.linalg import Dense, FlatGram, Kronecker
from mercer.losses import Square
from mercer.measures import Measure
from mercer.problems import DualProblem, Intercept, PenalisedOffsets
from mercer.solvers.ridge_step import RidgeStep

N, M = 7, 4
RNG = np.random.default_rng(0)
F, G = RNG.normal(size=(N, N)), RNG.normal(size=(M, 2))
LEFT, RIGHT = F @ F.T, G @ G.T  # a singular output matrix
Y, R = RNG.normal(size=(2, N, M))
S = RNG.uniform(0.5, 2.0, N)
MEASURE = Measure(np.arange(float(M)), RNG.uniform(0.2, 1.0, M))

INTERCEPTS = {
    "none": None,
    "free": Intercept(),
    "target": Intercept(target=np.array([1.0, -2.0, 0.5, 3.0])),
    "design": Intercept(design=RNG.normal(size=(2, M))),
    "both": Intercept(design=RNG.normal(size=(2, M)), target=np.ones(M)),
    "penalty": PenalisedOffsets(np.ones(M), np.exp(-(np.subtract.outer(range(M), range(M)) ** 2.0)), MEASURE, 0.3),
}


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("name", INTERCEPTS)
@pytest.mark.parametrize("rho", [1.0, 0.2])
def test_against_the_dense_programme(name, flat, rho):
    gram = FlatGram(Dense(np.kron(LEFT, RIGHT)), (N, M)) if flat else Kronecker(Dense(LEFT), Dense(RIGHT))
    intercept = INTERCEPTS[name]
    problem = DualProblem(gram, Square(), Y, MEASURE, 0.1, S, intercept or False)
    found = RidgeStep(problem, problem.gram.spectral(), rho)(R)
    omega = np.outer(problem.sample_weight, MEASURE.weights).ravel()
    quadratic = problem.scale * problem.gram.to_dense() * omega[:, None] + rho * np.diag(omega)
    linear = rho * omega * R.ravel()
    if intercept is None:
        expected = np.linalg.solve(quadratic, linear)
    else:
        design = np.eye(M) if intercept.design is None else intercept.design
        target = np.zeros(M) if intercept.target is None else intercept.target
        rows = (design[:, None, :] * np.outer(problem.sample_weight, MEASURE.weights)).reshape(len(design), -1)
        aim = design @ (MEASURE.weights * target)
        if intercept.penalty:  # ‖m(α)‖²/(2pn) in the objective
            price = intercept.penalty * N
            expected = np.linalg.solve(quadratic + rows.T @ rows / price, linear + rows.T @ aim / price)
        else:
            system = np.block([[quadratic, rows.T], [rows, np.zeros((len(design), len(design)))]])
            expected = np.linalg.solve(system, np.concatenate([linear, aim]))[: N * M]
            np.testing.assert_allclose(intercept.moment(problem, found), 0, atol=1e-9)
    np.testing.assert_allclose(found.ravel(), expected, atol=1e-9)


def test_the_square_loss_is_one_step():
    gram = Kronecker(Dense(LEFT), Dense(RIGHT))
    problem = DualProblem(gram, Square(), Y, MEASURE, 0.1, S, True)
    A = RidgeStep(problem, problem.gram.spectral())(Y)
    assert problem.certificate(A).relative_gap < 1e-12
    np.testing.assert_allclose(RidgeStep(problem, problem.gram.spectral()).smooth(A), problem.predict(A), atol=1e-9)


def test_the_multipliers_are_the_intercept_of_the_minimiser():
    """With a penalty p, the intercept of a dual array is m(A)/(pn); that of the step is ρν."""
    intercept = INTERCEPTS["penalty"]
    problem = DualProblem(Kronecker(Dense(LEFT), Dense(RIGHT)), Square(), Y, MEASURE, 0.1, S, intercept)
    spectral = problem.gram.spectral()
    ridge = RidgeStep(problem, spectral, 0.7)
    nu = ridge.correction(spectral.analyse(R), problem.sample_weight @ R)[1]
    np.testing.assert_allclose(0.7 * nu, intercept.moment(problem, ridge(R)) / (0.3 * N), atol=1e-12)
