"""Losses of whole curves on flat observations, and problems with points of each curve's own."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from cvxpy_primal import factor, minimise, row_loss

from mercer.exceptions import DataError, MercerError, UnsupportedError
from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive, EpsilonRidge, Huber, Pinball, Square
from mercer.measures import Measure
from mercer.operator_valued import BoundPairs, Decomposable
from mercer.problems import CurveLoss, DualProblem, curve_problem
from mercer.solvers import ADMM, ClosedForm, ProximalGradient, largest_epsilon, largest_kappa, loss_path, select

RNG = np.random.default_rng(0)
COUNTS = np.array([3, 1, 4, 2, 3])
ROWS = np.repeat(np.arange(5), COUNTS)
N = len(ROWS)
X, POINTS = RNG.uniform(size=(5, 1)), RNG.uniform(size=(N, 1))
ETA = RNG.uniform(0.2, 1.0, N)
S = RNG.uniform(0.5, 2.0, 5)
K_X, K_T = Gaussian(2.0), Gaussian(4.0)
A = np.array([[2.0, 0.6], [0.6, 1.0]])
NORMS = [Huber(0.3), EpsilonRidge(0.2), EpsilonInsensitive(0.2)]
LOSSES = [Square(), *NORMS, *(loss.replace(geometry=g) for g in ("pointwise", "componentwise") for loss in NORMS)]


def targets(p=1):
    rng = np.random.default_rng(1)
    return np.sin(4 * X[ROWS] + 3 * POINTS) + 0.5 * rng.normal(size=(N, p))


def pairs_of(p=1, matrix=None):
    return BoundPairs(K_X, K_T, ROWS, POINTS, p, matrix)


def reference(loss, Y, matrix, alpha, weights, sample_weight, intercept, seen=None):
    """The primal problem from its definition: optimal value, h at the observations and b."""
    p = Y.shape[1]
    gram = np.kron(K_X(X)[np.ix_(ROWS, ROWS)] * K_T(POINTS), matrix)
    beta, b = cp.Variable(N * p), cp.Variable(p)
    h = factor(gram) @ beta
    u = h + np.tile(np.eye(p), (N, 1)) @ b if intercept else h
    total = 0
    for i in range(5):
        q = np.flatnonzero(np.repeat(ROWS, p) == i)
        q = q if seen is None else q[seen.ravel()[q]]
        if len(q):
            total += sample_weight[i] * row_loss(loss, u[q], Y.ravel()[q], None, np.repeat(weights, p)[q], q // p)
    value = minimise(total / sample_weight.sum() + alpha / 2 * cp.sum_squares(beta))
    return value, h.value.reshape(N, p), b.value if intercept else np.zeros(p)


CASES = [
    (1, None, False, False),
    (1, None, True, True),
    (2, A, False, True),
    (2, A, True, False),
]


@pytest.mark.parametrize(("p", "matrix", "intercept", "weighted"), CASES)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_every_loss_agrees_with_cvxpy(loss, p, matrix, intercept, weighted):
    Y, alpha = targets(p), 0.05
    weights = ETA if weighted else 1 / COUNTS[ROWS]
    s = S if weighted else np.ones(5)
    value, H, b = reference(loss, Y, np.eye(p) if matrix is None else matrix, alpha, weights, s, intercept)
    problem = curve_problem(
        pairs_of(p, matrix).gram(X),
        loss,
        Y,
        ROWS,
        alpha,
        weights=ETA if weighted else None,
        sample_weight=S if weighted else None,
        fit_intercept=intercept,
    )
    result = select(problem, 1e-9, max_iter=50_000).solve(problem)
    assert result.converged
    assert problem.alpha == alpha
    assert problem.mass == pytest.approx((s[ROWS] * weights).sum() / s.sum())
    assert weighted or problem.mass == pytest.approx(1)
    assert result.objective == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(problem.predict(result.coef), H, atol=2e-3)
    np.testing.assert_allclose(result.intercept, b, atol=2e-3)
    at_fit = pairs_of(p, matrix).expand(X, problem.primal_coef(result.coef)).evaluate(X, POINTS)
    np.testing.assert_allclose(at_fit.reshape(5, N, p)[ROWS, np.arange(N)], problem.predict(result.coef), atol=1e-10)


@pytest.mark.parametrize("loss", [Square(), Huber(0.3), Huber(0.3, "pointwise")], ids=repr)
def test_components_that_were_not_observed(loss):
    Y = targets(2)
    Y[1, 0] = Y[5, 1] = Y[3] = np.nan
    s = np.ones(5)
    value, H, _ = reference(loss, Y, A, 0.05, 1 / COUNTS[ROWS], s, True, ~np.isnan(Y))
    problem = curve_problem(pairs_of(2, A).gram(X), loss, Y, ROWS, 0.05, fit_intercept=True)
    result = select(problem, 1e-10, max_iter=50_000).solve(problem)
    assert result.converged
    assert result.objective == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(problem.predict(result.coef), H, atol=1e-3)


@pytest.mark.parametrize("loss", NORMS, ids=repr)
def test_solvers_agree(loss):
    problem = curve_problem(pairs_of().gram(X), loss, targets(), ROWS, 0.05, fit_intercept=True)
    tol = 1e-7 if loss.smooth else 1e-3
    results = [solver.solve(problem) for solver in (ADMM(tol, 50_000), ProximalGradient(tol, 50_000))]
    assert all(result.converged for result in results)
    assert results[0].objective == pytest.approx(results[1].objective, rel=2 * tol)


# -- the shared grid is a special case -----------------------------------------------------------------------------

THETA, W = np.sort(RNG.uniform(size=4)), RNG.uniform(0.1, 0.5, 4)


def on_grid(loss, Y, intercept=False, sample_weight=None, alpha=0.05):
    gram = Decomposable(K_X, K_T).bind(Measure(THETA, W)).gram(X)
    return DualProblem(gram, loss, Y, Measure(THETA, W), alpha, sample_weight, intercept)


def in_pairs(loss, Y, sample_weight=None, alpha=0.05):
    seen = ~np.isnan(Y)
    rows, nodes = np.nonzero(seen)
    pairs = BoundPairs(K_X, K_T, rows, THETA[nodes])
    return curve_problem(
        pairs.gram(X), loss, Y[seen][:, None], rows, alpha, weights=W[nodes], sample_weight=sample_weight
    )


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_same_points_give_the_fit_on_the_grid_and_a_mask_deletes_rows(loss, missing):
    Y = np.sin(4 * X + 3 * THETA) + 0.5 * RNG.normal(size=(5, 4))
    if missing:
        Y[0, 1] = Y[2, 3] = Y[2, 0] = Y[4, 2] = np.nan
    seen = ~np.isnan(Y)
    grid, flat = on_grid(loss, Y, sample_weight=S), in_pairs(loss, Y, sample_weight=S)
    solve = [select(problem, 1e-11, max_iter=100_000).solve(problem) for problem in (grid, flat)]
    assert all(result.converged for result in solve)
    assert flat.alpha == grid.alpha
    assert solve[1].objective == pytest.approx(solve[0].objective, rel=1e-9)
    assert flat.norm(solve[1].coef) == pytest.approx(grid.norm(solve[0].coef), rel=1e-4)
    H, h = grid.predict(solve[0].coef), flat.predict(solve[1].coef)
    np.testing.assert_allclose(H[seen], h[:, 0], atol=2e-4)
    np.testing.assert_allclose(
        grid.primal_coef(grid.feasible(solve[0].coef))[seen], flat.primal_coef(solve[1].coef)[:, 0], atol=5e-3
    )


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_half_an_observation_twice_is_the_observation(loss):
    Y = targets()
    one = curve_problem(pairs_of().gram(X), loss, Y, ROWS, 0.05, weights=ETA, sample_weight=S)
    again = np.sort(np.concatenate([np.arange(N), [0, 4, 4, 9]]))
    copies = np.bincount(again)
    pairs = BoundPairs(K_X, K_T, ROWS[again], POINTS[again])
    two = curve_problem(
        pairs.gram(X), loss, Y[again], ROWS[again], 0.05, weights=(ETA / copies)[again], sample_weight=S
    )
    results = [select(problem, 1e-10, max_iter=100_000).solve(problem) for problem in (one, two)]
    assert results[0].objective == pytest.approx(results[1].objective, rel=1e-8)
    h = [problem.predict(result.coef) for problem, result in zip((one, two), results, strict=True)]
    np.testing.assert_allclose(h[0][again], h[1], atol=5e-4)


def test_a_curve_without_observations_changes_the_mean_only():
    """As on a grid: Σ_i s_i counts every curve."""
    rows = np.where(ROWS == 4, 3, ROWS)
    gram = BoundPairs(K_X, K_T, rows, POINTS).gram(X)
    problem = curve_problem(gram, Square(), targets(), rows, 0.05, n_curves=5)
    assert (problem.alpha, problem.mass) == (0.05, pytest.approx(4 / 5))


# -- the loss itself -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", NORMS, ids=repr)
def test_maps_are_those_of_the_curves(loss):
    """Curves with as many rows each are rows of an array with (row, component) columns."""
    n, m, p = 4, 3, 2
    eta = RNG.uniform(0.2, 1.0, m)
    whole = Measure(np.zeros(m * p), np.repeat(eta, p))
    components = Measure(np.zeros(p), np.ones(p))
    flat = CurveLoss(loss, np.repeat([0, 2, 3, 7], m), np.tile(eta, n))
    Y, U = RNG.normal(size=(2, n, m * p))
    Y[1] = U[1]  # no residual, no direction
    mass = np.full(n * m, eta.sum())

    def rows(array):
        return array.reshape(n * m, p)

    close = np.testing.assert_allclose
    close(flat.value(rows(Y), rows(U), components) * mass, np.repeat(loss.value(Y, U, whole), m))
    small = 0.1 * U
    close(flat.conjugate(rows(Y), rows(small), components) * mass, np.repeat(loss.conjugate(Y, small, whole), m))
    if loss.smooth:
        close(flat.gradient(rows(Y), rows(U), components), rows(loss.gradient(Y, U, whole)), atol=1e-14)
    for t in (0.1, 2.0):
        close(flat.prox(rows(Y), rows(U), t, components), rows(loss.prox(Y, U, t, whole)), atol=1e-14)
        found, expected = (
            flat.conjugate_prox(rows(Y), rows(U), t, components),
            rows(loss.conjugate_prox(Y, U, t, whole)),
        )
        close(found, expected, atol=1e-14)
    far = 100 * U
    np.testing.assert_array_equal(
        np.isinf(flat.conjugate(rows(Y), rows(far), components)), np.repeat(np.isinf(loss.conjugate(Y, far, whole)), m)
    )
    assert (flat.smooth, flat.growth, flat.pointwise) == (loss.smooth, loss.growth, False)
    assert flat.has_conjugate


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((Square(), np.zeros(2, int), np.ones(2)), "geometry='norm'"),
        ((Huber(0.3, "pointwise"), np.zeros(2, int), np.ones(2)), "needs no CurveLoss"),
        ((Pinball(), np.zeros(2, int), np.ones(2)), "geometry='norm'"),
        ((Huber(0.3), np.array([1, 0]), np.ones(2)), "not decreasing"),
        ((Huber(0.3), np.zeros(2, int), np.ones(3)), "of one length"),
        ((Huber(0.3), np.zeros(2, int), np.array([1.0, 0.0])), "drop observations of weight 0"),
        ((Huber(0.3), np.zeros(0, int), np.ones(0)), "at least 1"),
    ],
)
def test_bad_curves_are_refused(arguments, message):
    with pytest.raises(MercerError, match=message):
        CurveLoss(*arguments)


@pytest.mark.parametrize("loss", NORMS, ids=repr)
def test_the_threshold_is_that_of_the_loss_of_norms(loss):
    flat = CurveLoss(loss, ROWS, ETA)
    name = loss.threshold.name
    assert (flat.threshold.name, flat.threshold.inside) == (f"loss__{name}", loss.threshold.inside)
    assert flat.for_residuals(2.0).loss == loss.for_residuals(2.0)
    assert flat.dual_bound == loss.dual_bound
    R = targets(2)
    squares = np.bincount(ROWS, ETA * np.sum(R**2, axis=1))
    np.testing.assert_allclose(flat.sizes(R, Measure(np.zeros(2), np.ones(2))), np.sqrt(squares))


def test_largest_thresholds_of_scattered_curves():
    """κ_max is the largest norm of a residual curve; ε_max is for rows that are curves."""
    problem = curve_problem(pairs_of().gram(X), Huber(1.0), targets(), ROWS, 0.05, weights=ETA)
    kappa = largest_kappa(problem)
    ridge_problem = problem.with_loss(Square())
    residual = ClosedForm(tol=1e-12).solve(ridge_problem).coef
    assert kappa == pytest.approx(np.sqrt(np.bincount(ROWS, ETA * residual[:, 0] ** 2)).max())
    above, below = loss_path(problem, problem.loss.threshold.name, [kappa * (1 + 1e-6), 0.9 * kappa], tol=1e-12)
    np.testing.assert_allclose(above.coef, residual, atol=1e-5)
    assert np.max(np.abs(below.coef - residual)) > 1e-3
    tube = curve_problem(pairs_of().gram(X), EpsilonRidge(0.1), targets(), ROWS, 0.05)
    with pytest.raises(UnsupportedError, match=r"a row or of an entry, and EpsilonRidge\(.*\) takes several"):
        largest_epsilon(tube)
    first, second = loss_path(tube, "loss__epsilon", [10.0, 0.1])
    assert first.objective == pytest.approx(0, abs=1e-8)
    assert second.converged


def test_blocks_of_rows_are_refused():
    loss = CurveLoss(Huber(0.3), ROWS, ETA)
    with pytest.raises(DataError, match=f"must have {N} rows; got 3"):
        loss.value(np.ones((3, 1)), np.zeros((3, 1)), Measure(np.zeros(1), np.ones(1)))


def test_bad_problems_are_refused():
    gram, Y = pairs_of().gram(X), targets()
    with pytest.raises(DataError, match="sample_weight must have shape"):
        curve_problem(gram, Square(), Y, ROWS, 0.1, sample_weight=np.ones(3))
    with pytest.raises(DataError, match="of one length"):
        curve_problem(gram, Square(), Y, ROWS, 0.1, weights=np.ones(3))
    with pytest.raises(MercerError, match="alpha must be"):
        curve_problem(gram, Square(), Y, ROWS, -1.0)
