"""The ridge step against its definition: a dense quadratic programme with equality constraints."""

import numpy as np
import pytest

from mercer.linalg import Dense, FlatGram, Kronecker
from mercer.losses import Square
from mercer.measures import Measure
from mercer.problems import DualProblem, Intercept
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
        system = np.block([[quadratic, rows.T], [rows, np.zeros((len(design), len(design)))]])
        rhs = np.concatenate([linear, design @ (MEASURE.weights * target)])
        expected = np.linalg.solve(system, rhs)[: N * M]
        np.testing.assert_allclose(intercept.moment(problem, found), 0, atol=1e-9)
    np.testing.assert_allclose(found.ravel(), expected, atol=1e-9)


def test_the_square_loss_is_one_step():
    gram = Kronecker(Dense(LEFT), Dense(RIGHT))
    problem = DualProblem(gram, Square(), Y, MEASURE, 0.1, S, True)
    A = RidgeStep(problem, problem.gram.spectral())(Y)
    assert problem.certificate(A).relative_gap < 1e-12
    np.testing.assert_allclose(RidgeStep(problem, problem.gram.spectral()).smooth(A), problem.predict(A), atol=1e-9)
