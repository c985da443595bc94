"""The ridge step against its definition, for each kind of intercept."""

import numpy as np
import pytest
from scipy import optimize

from mercer.kernels import Gaussian
from mercer.linalg import Dense, Kronecker
from mercer.losses import Square
from mercer.measures import Points
from mercer.problems import DualProblem, Intercept, PenalisedOffsets
from mercer.solvers.ridge_step import RidgeStep

RNG = np.random.default_rng(0)
X = RNG.normal(size=(6, 1))
MEASURE = Points([0.2, 0.5, 0.9], [0.5, 0.2, 0.3]).build()
WEIGHT = RNG.uniform(0.5, 2.0, size=6)
RIGHT = Gaussian(3.0)(MEASURE.points)
DESIGN, TARGET = RNG.normal(size=(2, 3)), RNG.normal(size=3)
PENALISED = PenalisedOffsets(TARGET, Gaussian(1.0)(MEASURE.points), MEASURE, 0.3)


@pytest.mark.parametrize("rho", [0.02, 1.5])
@pytest.mark.parametrize(
    "intercept",
    [
        False,
        Intercept(),
        Intercept(target=TARGET),
        Intercept(design=DESIGN, target=TARGET),
        PENALISED,
    ],
    ids=["none", "free", "target", "design", "penalty"],
)
def test_it_is_the_minimiser(intercept, rho):
    Y, r = RNG.normal(size=(6, 3)), RNG.normal(size=(6, 3))
    gram = Kronecker(Dense(Gaussian(0.5)(X)), Dense(RIGHT))
    problem = DualProblem(gram, Square(), Y, MEASURE, 0.1, WEIGHT, intercept)
    penalty = problem.intercept.penalty if problem.intercept else 0.0

    def value(flat):
        A = flat.reshape(6, 3)
        smooth = 0.5 * problem.inner(A, problem.predict(A)) + 0.5 * rho * problem.inner(A - r, A - r)
        if penalty:  # n times what a certificate has, as the conjugates are summed here
            smooth += 6 * problem.intercept.dual_cost(problem, A)
        return smooth

    A = RidgeStep(problem, problem.gram.spectral(), rho)(r)
    constraints = []
    if problem.intercept is not None and not penalty:
        assert problem.intercept.moment(problem, A) == pytest.approx(0, abs=1e-12)
        constraints = [{"type": "eq", "fun": lambda flat: problem.intercept.moment(problem, flat.reshape(6, 3))}]
    found = optimize.minimize(value, np.zeros(18), constraints=constraints, method="SLSQP", tol=1e-14)
    assert value(A.ravel()) <= found.fun + 1e-9
    assert A.ravel() == pytest.approx(found.x, abs=1e-3)


def test_the_multipliers_are_the_intercept_of_the_minimiser():
    """With a penalty p, the intercept of a dual array is m(A)/(pn); that of the step is ρν."""
    gram = Kronecker(Dense(Gaussian(0.5)(X)), Dense(RIGHT))
    problem = DualProblem(gram, Square(), RNG.normal(size=(6, 3)), MEASURE, 0.1, WEIGHT, PENALISED)
    spectral, r = problem.gram.spectral(), RNG.normal(size=(6, 3))
    ridge = RidgeStep(problem, spectral, 0.7)
    nu = ridge.correction(spectral.analyse(r), problem.sample_weight @ r)[1]
    assert 0.7 * nu == pytest.approx(PENALISED.moment(problem, ridge(r)) / (0.3 * 6))
