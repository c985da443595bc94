"""The square loss with missing entries and with points of each curve's own, against dense solves."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.exceptions import UnsupportedError
from mercer.kernels import Gaussian, Laplacian
from mercer.linalg import Dense, PairGram, PairKronecker, memory_limit, pair_kronecker
from mercer.linalg import pairs as pair_module
from mercer.losses import Square
from mercer.measures import Measure
from mercer.operator_valued import BoundPairs, Decomposable
from mercer.problems import DualProblem, curve_problem
from mercer.solvers import ClosedForm, observed

intercepts = pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
weights = pytest.mark.parametrize("weighted", [False, True], ids=["uniform", "weighted"])

A = np.array([[1.0, 0.5], [0.5, 2.0]])
SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]])


@pytest.fixture(params=["direct", "iterative", "block", "dense"])
def route(request, monkeypatch):
    """A dense factorisation at once, conjugate gradients, and these with an exact block or given up after few steps."""
    if request.param != "direct":
        monkeypatch.setattr(pair_kronecker, "FEW_PAIRS", 1)
    if request.param != "dense":
        monkeypatch.setattr(observed, "DENSE_ENTRIES", 1)
    if request.param in ("block", "dense"):
        monkeypatch.setattr(observed, "JUDGED_STEPS", 2)
        monkeypatch.setattr(observed, "_price", lambda features: 0.0)
        monkeypatch.setattr(observed, "BLOCK_SIZE", 40)
    return request.param


def dense_ridge(gram, y, weight, node, alpha, intercept):
    """α, b and h of min Σ_p (w_p/2)(y_p − h_p − b)² + (λ/2)‖h‖², from one dense system; ``node`` names b's entry."""
    N, m = len(y), int(node.max()) + 1
    E = np.eye(m)[node]
    system = gram * weight / alpha + np.eye(N)
    if intercept:
        system = np.block([[system, E], [(E * weight[:, None]).T, np.zeros((m, m))]])
        y = np.concatenate([y, np.zeros(m)])
    solution = np.linalg.solve(system, y)
    a = solution[:N]
    return a, solution[N:] if intercept else np.zeros(m), gram @ (weight * a) / alpha


def irregular(seed=0, n=12, p=1, matrix=None):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 8, n)
    rows = np.repeat(np.arange(n), counts)
    X, points = rng.uniform(size=(n, 2)), rng.uniform(size=(len(rows), 1))
    points[3:9] = points[0]
    Y = np.sin(3 * X[rows, :1] + 5 * points) + 0.3 * rng.normal(size=(len(rows), p)) + np.arange(p)
    pairs = BoundPairs(Gaussian(2.0), Gaussian(6.0), rows, points, p, matrix)
    return X, Y, rows, pairs, rng.uniform(0.2, 2.0, len(rows))


@intercepts
@weights
@pytest.mark.parametrize(("p", "matrix"), [(1, None), (2, None), (2, A), (2, SINGULAR), (2, np.diag([1.0, 3.0]))])
def test_pairs_equal_a_dense_solve(route, p, matrix, weighted, intercept):
    X, Y, rows, pairs, eta = irregular(p=p, matrix=matrix)
    s = np.random.default_rng(1).uniform(0.5, 2.0, len(X)) if weighted else np.ones(len(X))
    eta = eta if weighted else 1 / np.bincount(rows)[rows]
    problem = curve_problem(
        pairs.gram(X), Square(), Y, rows, 1e-3, weights=eta, sample_weight=s, fit_intercept=intercept
    )
    result = ClosedForm(tol=1e-13).solve(problem)
    assert result.converged
    assert (result.n_iter == 1) == (route == "direct")
    K = Gaussian(2.0)(X)[np.ix_(rows, rows)] * Gaussian(6.0)(pairs.points)
    gram = np.kron(K, np.eye(p) if matrix is None else matrix)
    weight = np.repeat(s[rows] * eta / s.sum(), p)
    a, b, h = dense_ridge(gram, Y.ravel(), weight, np.tile(np.arange(p), len(Y)), 1e-3, intercept)
    np.testing.assert_allclose(problem.predict(result.coef).ravel(), h, atol=2e-5)
    np.testing.assert_allclose(result.coef.ravel(), a, atol=2e-5)
    np.testing.assert_allclose(result.intercept, b, atol=2e-5)


@intercepts
def test_components_that_are_missing(intercept):
    X, Y, rows, pairs, eta = irregular(p=2, matrix=A)
    Y[::5, 0], Y[3::7, 1] = np.nan, np.nan
    problem = curve_problem(pairs.gram(X), Square(), Y, rows, 1e-3, weights=eta, fit_intercept=intercept)
    result = ClosedForm(tol=1e-13).solve(problem)
    assert result.converged
    seen = ~np.isnan(Y).ravel()
    gram = np.kron(Gaussian(2.0)(X)[np.ix_(rows, rows)] * Gaussian(6.0)(pairs.points), A)[np.ix_(seen, seen)]
    weight, node = np.repeat(eta / len(X), 2)[seen], np.tile([0, 1], len(Y))[seen]
    a, _, h = dense_ridge(gram, Y.ravel()[seen], weight, node, 1e-3, intercept)
    np.testing.assert_allclose(problem.predict(result.coef).ravel()[seen], h, atol=2e-5)
    np.testing.assert_allclose(result.coef.ravel()[seen], a, atol=2e-5)
    np.testing.assert_array_equal(result.coef.ravel()[~seen], 0)


def grid(kind, n=14, m=9, seed=0):
    rng = np.random.default_rng(seed)
    X, theta = rng.uniform(size=(n, 2)), np.sort(rng.uniform(size=m))
    Y = np.sin(3 * X[:, :1] + 5 * theta) + 0.3 * rng.normal(size=(n, m)) + 2
    if kind == "random":
        Y[rng.random((n, m)) < 0.5] = np.nan
    elif kind == "windows":
        for i in range(n):
            start = rng.integers(0, m // 2)
            Y[i, start : start + m // 2] = np.nan
    elif kind == "row and column":
        Y[4], Y[:, 2], Y[0, 0] = np.nan, np.nan, np.nan
    return X, theta, rng.uniform(0.05, 0.2, m), Y, rng.uniform(0.5, 2.0, n)


@intercepts
@weights
@pytest.mark.parametrize("kind", ["random", "windows", "row and column"])
@pytest.mark.parametrize("alpha", [1e-1, 1e-5])
def test_masked_grids_equal_a_dense_solve(route, kind, alpha, weighted, intercept):
    X, theta, w, Y, s = grid(kind)
    measure = Measure(theta, w)
    gram = Decomposable(Gaussian(2.0), Gaussian(6.0)).bind(measure).gram(X)
    problem = DualProblem(gram, Square(), Y, measure, alpha, s if weighted else None, intercept)
    result = ClosedForm(tol=1e-13).solve(problem)
    assert result.converged
    s = s if weighted else np.ones(len(X))
    seen = ~np.isnan(Y)
    dense = np.kron(Gaussian(2.0)(X), Gaussian(6.0)(theta[:, None]))[np.ix_(seen.ravel(), seen.ravel())]
    weight, node = np.outer(s / s.sum(), w)[seen], np.nonzero(seen)[1]
    node = np.unique(node, return_inverse=True)[1]
    a, _, h = dense_ridge(dense, Y[seen], weight, node, alpha, intercept)
    np.testing.assert_allclose(problem.predict(result.coef)[seen], h, atol=2e-5)
    np.testing.assert_allclose(result.coef[seen], a, atol=2e-5)


@intercepts
def test_a_mask_of_everything_is_no_mask(intercept):
    X, theta, w, Y, s = grid("complete")
    measure = Measure(theta, w)
    gram = Decomposable(Gaussian(2.0), Gaussian(6.0)).bind(measure).gram(X)
    plain = DualProblem(gram, Square(), Y, measure, 1e-3, s, intercept)
    masked = DualProblem(gram, Square(), Y, measure.restricted(np.ones(Y.shape, bool)), 1e-3, s, intercept)
    assert masked.measure.observed is not None
    one, two = ClosedForm().solve(plain), ClosedForm(tol=1e-13).solve(masked)
    np.testing.assert_allclose(one.coef, two.coef, atol=1e-6)
    assert two.n_iter <= 3  # the preconditioner is the inverse


def test_the_gap_asked_for_is_reached_in_no_more_steps_than_needed(monkeypatch):
    monkeypatch.setattr(observed, "DENSE_ENTRIES", 1)
    X, theta, w, Y, s = grid("windows", n=60, m=30)
    measure = Measure(theta, w)
    gram = Decomposable(Gaussian(2.0), Gaussian(6.0)).bind(measure).gram(X)
    problem = DualProblem(gram, Square(), Y, measure, 1e-4, s, True)
    results = {tol: ClosedForm(tol=tol).solve(problem) for tol in (1e-2, 1e-6, 1e-12)}
    assert all(result.converged and result.relative_gap <= tol for tol, result in results.items())
    steps = [result.n_iter for result in results.values()]
    assert steps[0] == steps[1] < steps[2]  # down to 1e-8 digits are cheap
    short = ClosedForm(tol=1e-10, max_iter=3).solve(problem)
    assert (short.status, short.n_iter) == ("max_iter", 3)
    assert short.relative_gap > 1e-6
    assert ClosedForm(tol=1e-10, max_iter=3).solve(problem, init=results[1e-6].coef).relative_gap <= 1e-6


@intercepts
def test_almost_interpolation_takes_a_dense_factorisation(intercept):
    X, theta, w, Y, s = grid("windows", n=40, m=20)
    measure = Measure(theta, w)
    gram = Decomposable(Gaussian(20.0), Gaussian(200.0)).bind(measure).gram(X)
    problem = DualProblem(gram, Square(), Y, measure, 1e-10, s, intercept)
    result = ClosedForm().solve(problem)
    assert result.converged
    assert result.n_iter < 50


def test_single_precision():
    X, theta, w, Y, _ = grid("windows", n=40, m=20)
    measure = Measure(theta.astype(np.float32), w.astype(np.float32))
    gram = Decomposable(Gaussian(2.0), Gaussian(6.0)).bind(measure).gram(X.astype(np.float32))
    problem = DualProblem(gram, Square(), Y.astype(np.float32), measure, 1e-3, fit_intercept=True)
    result = ClosedForm(tol=1e-4).solve(problem)
    assert result.converged
    assert result.coef.dtype == np.float32


def test_an_exact_block_saves_steps_with_windows(monkeypatch):
    X, theta, w, Y, _ = grid("windows", n=120, m=40)
    measure = Measure(theta, w)
    gram = Decomposable(Gaussian(10.0), Gaussian(30.0)).bind(measure).gram(X)
    problem = DualProblem(gram, Square(), Y, measure, 1e-6)
    monkeypatch.setattr(observed, "DENSE_ENTRIES", 1)
    steps = {}
    for price in (0.0, np.inf):
        monkeypatch.setattr(observed, "_price", lambda features, price=price: price)
        steps[price] = ClosedForm(tol=1e-10).solve(problem).n_iter
    assert 2 * steps[0.0] < steps[np.inf]


@intercepts
@pytest.mark.parametrize("kind", ["pairs", "mask"])
def test_paths_equal_separate_fits(route, kind, intercept):
    if kind == "pairs":
        X, Y, rows, pairs, eta = irregular(p=2, matrix=A)
        problem = curve_problem(pairs.gram(X), Square(), Y, rows, 1.0, weights=eta, fit_intercept=intercept)
    else:
        X, theta, w, Y, s = grid("random")
        measure = Measure(theta, w)
        gram = Decomposable(Gaussian(2.0), Gaussian(6.0)).bind(measure).gram(X)
        problem = DualProblem(gram, Square(), Y, measure, 1.0, s, intercept)
    alphas = [1e-4, 1e-2, 1.0]
    solver = ClosedForm(tol=1e-12)
    for alpha, result in zip(alphas, solver.path(problem, alphas), strict=True):
        assert result.converged
        alone = solver.solve(problem.with_alpha(alpha))
        np.testing.assert_allclose(result.coef, alone.coef, atol=1e-4)
        assert result.objective == pytest.approx(alone.objective, rel=1e-10)


# -- output matrices -----------------------------------------------------------------------------------------------


def sylvester(matrix):
    """Four observations, one a curve, at one point: 𝐊 = K_X, so that K_X c A + 4λ c = Y."""
    x = np.array([[0.0], [0.3], [0.7], [1.0]])
    Y = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, -0.5]])
    pairs = BoundPairs(Gaussian(2.0), Gaussian(1.0), np.arange(4), np.zeros(4), 2, matrix)
    problem = curve_problem(pairs.gram(x), Square(), Y, np.arange(4), 0.1)
    return Gaussian(2.0)(x), Y, problem


def test_oracle_of_a_sylvester_equation(route):
    K, _, problem = sylvester(A)
    result = ClosedForm(tol=1e-14).solve(problem)
    c = problem.primal_coef(result.coef)
    expected = [[1.266512, -0.668691], [-1.383603, 0.580041], [0.971396, 0.904250], [0.089060, -1.058860]]
    np.testing.assert_allclose(c, expected, atol=2e-6)
    H = problem.predict(result.coef)
    np.testing.assert_allclose(H, K @ c @ A, atol=1e-10)
    np.testing.assert_allclose(H[[0, 3]], [[0.493395, 0.267477], [0.464376, -0.076456]], atol=2e-6)


def test_low_rank_output_matrix_is_ridge_on_principal_components(route):
    V = np.array([[0.6], [0.8]])
    K, Y, problem = sylvester(V @ V.T)
    H = problem.predict(ClosedForm(tol=1e-14).solve(problem).coef)
    scores = np.linalg.solve(K + 0.4 * np.eye(4), Y @ V)
    np.testing.assert_allclose(H, K @ scores @ V.T, atol=2e-6)


def test_many_eigenvalues_of_the_output_matrix(monkeypatch):
    """One eigendecomposition of the left Gram instead of a factorisation for each."""
    X, Y, rows, pairs, eta = irregular(p=2, matrix=A)
    problem = curve_problem(pairs.gram(X), Square(), Y, rows, 1e-3, weights=eta, fit_intercept=True)
    one = ClosedForm().solve(problem)
    monkeypatch.setattr(pair_kronecker, "FEW_EIGENVALUES", 1)
    monkeypatch.setattr(PairKronecker, "_solve_columns", None)
    two = ClosedForm().solve(problem)
    np.testing.assert_allclose(one.coef, two.coef, atol=1e-9)


# -- sizes ---------------------------------------------------------------------------------------------------------


def test_many_observations_without_their_gram_matrix(monkeypatch):
    """N = 3 000 at points of their own: equal to the dense solution, which is never formed on the way."""
    rng = np.random.default_rng(0)
    n, each = 150, 20
    X, rows = rng.uniform(size=(n, 2)), np.repeat(np.arange(n), each)
    points = rng.uniform(size=(n * each, 1))
    Y = np.sin(4 * X[rows, :1] + 5 * points) + 0.1 * rng.normal(size=(n * each, 1))
    pairs = BoundPairs(Gaussian(5.0), Gaussian(10.0), rows, points)
    problem = curve_problem(pairs.gram(X), Square(), Y, rows, 1e-5)
    direct = problem.gram.left.to_dense()
    shift = 1 / problem.scale
    h = direct @ np.linalg.solve(direct + shift * np.eye(len(Y)), Y)
    monkeypatch.setattr(PairGram, "_dense", None)
    result = ClosedForm(tol=1e-12).solve(problem)
    assert result.converged
    np.testing.assert_allclose(problem.predict(result.coef), h, atol=1e-6)


def test_rough_kernels_at_many_points(monkeypatch):
    """Without a thin factor a dense solution is taken where it fits, and refused where it does not."""
    X, Y, rows, _, _ = irregular()
    points = np.random.default_rng(3).uniform(size=len(rows))
    monkeypatch.setattr(pair_module, "FACTOR_LIMIT", 8 * 10 * len(rows))
    monkeypatch.setattr(pair_kronecker, "FEW_PAIRS", 1)
    pairs = BoundPairs(Gaussian(2.0), Laplacian(20.0), rows, points)
    problem = curve_problem(pairs.gram(X), Square(), Y, rows, 1e-3)
    assert not problem.gram.left.thin
    result = ClosedForm().solve(problem)
    assert result.converged
    assert result.n_iter == 1
    with memory_limit(8), pytest.raises(UnsupportedError, match="smoother output kernel"):
        ClosedForm().solve(problem)


def test_trivial_problems():
    X, _, rows, pairs, eta = irregular()
    Y = np.full((len(rows), 1), 3.0)
    problem = curve_problem(pairs.gram(X), Square(), Y, rows, 1e-3, weights=eta, fit_intercept=True)
    result = ClosedForm().solve(problem)
    assert result.n_iter == 0
    np.testing.assert_allclose(result.intercept, 3.0)
    np.testing.assert_array_equal(result.coef, 0)


def test_zero_output_matrix(route):
    X, Y, rows, pairs, _ = irregular()
    left = pairs.gram(X).left
    problem = curve_problem(PairKronecker(left, Dense(np.zeros((1, 1)))), Square(), Y, rows, 0.1, fit_intercept=True)
    result = ClosedForm().solve(problem)
    assert result.converged
    np.testing.assert_allclose(problem.predict(result.coef), 0, atol=1e-12)


@intercepts
@pytest.mark.parametrize("kind", ["pairs", "mask"])
def test_a_block_of_all_features_is_the_exact_inverse(kind, intercept, monkeypatch):
    monkeypatch.setattr(observed, "BLOCK_LEAST", 0.0)
    if kind == "pairs":
        X, Y, rows, pairs, eta = irregular(p=2, matrix=A)
        problem = curve_problem(pairs.gram(X), Square(), Y, rows, 1e-2, weights=eta, fit_intercept=intercept)
    else:
        X, theta, w, Y, s = grid("windows")
        measure = Measure(theta, w)
        gram = Decomposable(Gaussian(2.0), Gaussian(6.0)).bind(measure).gram(X)
        problem = DualProblem(gram, Square(), Y, measure, 1e-2, s, intercept)
    system = observed._System(problem, problem.gram.features(0.0, problem.scale, problem.measure.observed))
    beta = np.random.default_rng(0).normal(size=system.rhs.shape)
    inverse = observed._BlockPreconditioner(system)
    np.testing.assert_allclose(inverse(system.apply(beta)), beta, atol=1e-8)
