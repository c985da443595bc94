"""Each operator-valued kernel × loss × intercept × missing values against the primal problem in cvxpy."""

from functools import cache

import cvxpy as cp
import numpy as np
import pytest
from cvxpy_primal import Data, factor, total_loss

from mercer.kernels import Gaussian, Laplacian, Matern, RationalQuadratic, SkewedChiSquared
from mercer.losses import EpsilonInsensitive, Huber, Square
from mercer.measures import Measure
from mercer.operator_valued import (
    CurlFree,
    Decomposable,
    Delayed,
    DivergenceFree,
    Helmholtz,
    Indexed,
    Transformable,
    graph_matrix,
)
from mercer.problems import DualProblem
from mercer.solvers import select

RNG = np.random.default_rng(0)
X = RNG.uniform(0.1, 1.9, size=(7, 2))
Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 0] * X[:, 1]]) + 0.3 * RNG.normal(size=(7, 2))
Y[2] += 3
PLANE = Measure(np.arange(2.0), np.ones(2))
GAMMA = np.array([[2.0, 0.5], [0.5, 1.0]])
ALPHA = 0.05
KERNELS = [
    CurlFree(Gaussian(0.8)),
    DivergenceFree(Matern(2.5, 1.0)),
    Helmholtz(RationalQuadratic(1.0, 1.0), Gaussian([0.5, 1.0]), 0.4),
    Transformable(Gaussian(1.0), [np.sin, np.cos]),
    Delayed(Laplacian(1.0), np.array([[0.0, 0.0], [0.5, 0.1]]), GAMMA),
    Decomposable(SkewedChiSquared(0.5), Indexed(graph_matrix([[0.0, 1.0], [1.0, 0.0]], ridge=0.5))),
    Decomposable(Gaussian(1.0), Indexed(GAMMA)) + CurlFree(Gaussian(0.3)),
    Laplacian(0.5) * DivergenceFree(Gaussian(0.8)),
]
LOSSES = [
    Square(),
    *(Huber(0.3, geometry) for geometry in ("norm", "pointwise")),
    *(EpsilonInsensitive(0.2, geometry) for geometry in ("norm", "pointwise")),
]


def targets(missing):
    values = Y.copy()
    if missing:
        values[0, 1] = values[4, 0] = np.nan
    return values


@cache
def primal(loss, intercept, missing):
    """The primal problem over h = Fu at the data, with ‖h‖ = ‖u‖; cvxpy compiles it once for all F."""
    data = Data(np.eye(7), np.eye(2), targets(missing), np.arange(2.0), np.ones(2))
    F, u, b = cp.Parameter((14, 14)), cp.Variable(14), cp.Variable((1, 2))
    H = cp.reshape(F @ u, (7, 2), order="C")
    U = H + np.ones((7, 1)) @ b if intercept else H
    objective = total_loss(LOSSES[loss], data, U) + ALPHA / 2 * cp.sum_squares(u)
    return cp.Problem(cp.Minimize(objective)), F


def optimum(kernel, loss, intercept, missing):
    """The least value, FFᵀ being the matrix of the blocks of the kernel."""
    problem, F = primal(loss, intercept, missing)
    F.value = factor(kernel.bind(PLANE).blocks(X, X).transpose(0, 2, 1, 3).reshape(14, 14))
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    assert problem.status == cp.OPTIMAL
    return problem.value


@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
@pytest.mark.parametrize("intercept", [False, True], ids=["without", "intercept"])
@pytest.mark.parametrize("loss", range(len(LOSSES)), ids=[repr(loss) for loss in LOSSES])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
def test_fits_agree_with_cvxpy(kernel, loss, intercept, missing):
    bound = kernel.bind(PLANE)
    problem = DualProblem(bound.gram(X), LOSSES[loss], targets(missing), PLANE, ALPHA, None, intercept)
    result = select(problem, tol=1e-7).solve(problem)
    assert result.converged
    expected = optimum(kernel, loss, intercept, missing)
    assert result.objective - result.gap - 1e-8 <= expected <= result.objective + 1e-8
    h = bound.expand(X, problem.primal_coef(result.coef))
    np.testing.assert_allclose(h.evaluate(X, PLANE.points), problem.predict(result.coef), atol=1e-9)
