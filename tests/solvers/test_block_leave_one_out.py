"""Leaving out samples in closed form, against fits without them."""

import numpy as np
import pytest

from mercer.exceptions import UnsupportedError
from mercer.kernels import Gaussian
from mercer.linalg import memory_limit
from mercer.losses import Square
from mercer.measures import Measure
from mercer.operator_valued import Decomposable, Indexed
from mercer.problems import DualProblem
from mercer.solvers import BlockLeaveOneOut, ClosedForm, RidgePath, leave_one_out_errors, leave_one_out_predictions
from tests.estimators.turning_kernel import Turning

MU = Measure(np.arange(2.0), np.ones(2))
GAMMA = np.array([[1.0, 0.6], [0.6, 0.8]])
KERNELS = [Turning(3.0), Decomposable(Gaussian(3.0), Indexed(GAMMA))]


def posed(kernel, missing=False, weighted=False, intercept=False, n=9, alpha=0.02, left_out=None):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, 1))
    Y = np.hstack([np.sin(3 * X), X**2]) + 0.2 * rng.normal(size=(n, 2))
    s = rng.uniform(0.5, 2.0, n) if weighted else np.ones(n)
    if missing:
        Y[2, 0] = Y[5, 1] = np.nan
    keep = np.arange(n) != left_out
    alpha = alpha * s.sum() / s[keep].sum()  # λn is kept, n the sum of the weights
    bound = kernel.bind(MU)
    problem = DualProblem(bound.gram(X[keep]), Square(), Y[keep], MU, alpha, s[keep], intercept)
    return X, Y, s, bound, problem, keep


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(("weighted", "intercept"), [(False, False), (True, True), (False, True)])
def test_fits_without_a_sample(kernel, missing, weighted, intercept):
    X, Y, s, _, problem, _ = posed(kernel, missing, weighted, intercept)
    found = BlockLeaveOneOut(problem).residuals(problem.alpha)
    expected = np.empty_like(Y)
    for i in range(len(X)):
        *_, bound, without, keep = posed(kernel, missing, weighted, intercept, left_out=i)
        result = ClosedForm(tol=1e-12).solve(without)
        h = bound.expand(X[keep], without.primal_coef(result.coef)).evaluate(X[i : i + 1], MU.points)
        expected[i] = Y[i] - h[0] - result.intercept
    np.testing.assert_allclose(found, expected, atol=1e-6)
    weights = s / s.mean()
    error = 0.5 * np.mean(weights * np.nansum(expected**2, axis=1))
    np.testing.assert_allclose(leave_one_out_errors(problem, [problem.alpha]), [error], rtol=1e-5)
    if missing or isinstance(kernel, Turning):
        seen = ~np.isnan(Y)
        np.testing.assert_allclose(leave_one_out_predictions(problem)[seen], (Y - expected)[seen], atol=1e-6)


@pytest.mark.parametrize("intercept", [False, True])
def test_eigenvectors_of_two_factors_say_the_same(intercept):
    problem = posed(KERNELS[1], weighted=True, intercept=intercept)[4]
    alphas = np.logspace(-6, 1, 8)
    expected = RidgePath(problem, alphas).leave_one_out_errors
    np.testing.assert_allclose(BlockLeaveOneOut(problem).errors(alphas), expected, rtol=1e-6)


def test_more_entries_than_memory_are_refused():
    with memory_limit(1000), pytest.raises(UnsupportedError, match="18 observed entries"):
        BlockLeaveOneOut(posed(KERNELS[0])[4])
