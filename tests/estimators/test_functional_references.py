"""FunctionalRegressor against cvxpy, printed values, dense solves and scikit-learn."""

from functools import cache

import cvxpy as cp
import numpy as np
import pytest
from cvxpy_primal import Data, factor, minimise, row_loss, solve
from sklearn.kernel_ridge import KernelRidge

from mercer import FunctionalRegressor
from mercer.kernels import Gaussian, Identity
from mercer.losses import EpsilonInsensitive, EpsilonRidge, Huber, Square
from mercer.measures import Points
from mercer.operator_valued import HarmonicBasis, NystromBasis, leading_components

GEOMETRIES = ("norm", "pointwise", "componentwise")
LOSSES = [
    Square(),
    *(Huber(0.3, g) for g in GEOMETRIES),
    *(EpsilonRidge(0.2, g) for g in GEOMETRIES),
    *(EpsilonInsensitive(0.2, g) for g in GEOMETRIES),
]
A = np.array([[1.0, 0.5], [0.5, 2.0]])
ALPHA, N = 0.05, 6
RNG = np.random.default_rng(0)
X = RNG.uniform(size=(N, 1))
K_X = np.exp(-4 * (X - X.T) ** 2)
EVEN, UNEVEN = np.linspace(0, 1, 5), np.array([0.0, 0.1, 0.35, 0.8, 1.0])


def harmonics(theta, w=None):
    """1, √2 cos 2πθ, √2 sin 2πθ with λ = 1, ¼, ¼."""
    return 1 + 0.5 * np.cos(2 * np.pi * (theta[:, None] - theta))


def truncated(theta, w):
    """The best approximation of rank 2 in L²(μ)."""
    root = np.sqrt(w)
    values, vectors = np.linalg.eigh(root[:, None] * gaussian(theta) * root)
    return (vectors[:, -2:] * values[-2:]) @ vectors[:, -2:].T / np.outer(root, root)


def gaussian(theta, w=None):
    return np.exp(-3 * (theta[:, None] - theta) ** 2)


REPRESENTATIONS = {
    "nodes": ("nodes", gaussian),
    "eigen": ("eigen", gaussian),
    "two": (NystromBasis(2), truncated),
    "harmonic": (HarmonicBasis(3), harmonics),
}


def trapezoid(theta):
    """Weights of the trapezoid rule with sum 1, from its definition."""
    hats = np.eye(len(theta))
    fine = np.union1d(theta, np.linspace(theta[0], theta[-1], 2001))
    return np.array([np.trapezoid(np.interp(fine, theta, hat), fine) for hat in hats]) / (theta[-1] - theta[0])


def regressor(**settings):
    defaults = {"kernel": Gaussian(4.0), "output_kernel": Gaussian(3.0), "alpha": ALPHA, "tol": 1e-8}
    return FunctionalRegressor(**defaults | settings)


def check(model, value, H, predicted):
    """The objective is that of cvxpy, and so is h at the data, to √(2 gap/λ); b of some losses is not unique."""
    assert model.status_ == "converged"
    assert model.objective_ == pytest.approx(value, abs=1e-6)
    assert model.alpha_ == ALPHA
    np.testing.assert_allclose(predicted, H, atol=2e-3)


CASES = {  # grid, intercept, masked, components
    "even": (EVEN, False, False, 1),
    "uneven": (UNEVEN, False, False, 1),
    "intercept": (UNEVEN, True, False, 1),
    "masked": (UNEVEN, False, True, 1),
    "all": (EVEN, True, True, 2),
    "plane": (EVEN, False, False, 2),
}


def grid_data(case):
    """Curves in R or R², the latter with sample weights and a matrix A."""
    theta, _, masked, p = CASES[case]
    rng = np.random.default_rng(1)
    Y = np.sin(4 * X)[:, :, None] * (1 + theta)[:, None] * np.arange(1, p + 1) + 0.6 * rng.normal(size=(N, 5, p))
    if masked:
        Y[rng.random(Y.shape) < 0.25] = np.nan
    return (Y, rng.uniform(0.5, 3.0, N), A) if p == 2 else (Y, None, None)


@cache
def grid_reference(index, gram, case):
    """Value and h at the data, from cvxpy; the eigenfunctions have that of the nodes."""
    theta, intercept, _, p = CASES[case]
    Y, s, matrix = grid_data(case)
    weights = trapezoid(theta)
    right = np.kron(gram(theta, weights), np.eye(1) if matrix is None else matrix)
    data = Data(K_X, right, Y.reshape(N, -1), np.repeat(theta, p), np.repeat(weights, p), ALPHA, s, intercept, p)
    return solve(LOSSES[index], data)[:2]


@pytest.mark.parametrize("index", range(len(LOSSES)), ids=map(repr, LOSSES))
@pytest.mark.parametrize(
    ("representation", "case"),
    [("nodes", case) for case in CASES]
    + [("harmonic", case) for case in ("even", "uneven", "all")]
    + [("eigen", "even"), ("two", "uneven")],
)
def test_curves_on_a_grid(index, representation, case):
    (basis, gram), (theta, intercept, _, p), (Y, s, matrix) = (
        REPRESENTATIONS[representation],
        CASES[case],
        grid_data(case),
    )
    value, H = grid_reference(index, gram, case)
    model = regressor(
        loss=LOSSES[index],
        representation=basis,
        grid=theta,
        fit_intercept=intercept,
        mean_curve="free",
        output_matrix=matrix,
    ).fit(X, Y if p == 2 else Y[:, :, 0], s)
    check(model, value, H, model.predict(X).reshape(N, -1) - (model.intercept_ if intercept else 0))


@pytest.mark.parametrize("index", range(len(LOSSES)), ids=map(repr, LOSSES))
@pytest.mark.parametrize(
    ("representation", "case"), [("nodes", "intercept"), ("nodes", "all"), ("harmonic", "all"), ("two", "intercept")]
)
def test_smooth_mean_curves_on_a_grid(index, representation, case):
    """With k_X + 100 for k_X, on what a smooth mean curve leaves."""
    (basis, gram), (theta, _, _, p), (Y, s, matrix) = REPRESENTATIONS[representation], CASES[case], grid_data(case)
    model = regressor(loss=LOSSES[index], representation=basis, grid=theta, output_matrix=matrix)
    model.fit(X, Y if p == 2 else Y[:, :, 0], s)
    weights = trapezoid(theta)
    right = np.kron(gram(theta, weights), np.eye(1) if matrix is None else matrix)
    rest = Y.reshape(N, -1) - model.intercept_
    data = Data(K_X + 100, right, rest, np.repeat(theta, p), np.repeat(weights, p), ALPHA, s, False, p)
    value, H = solve(LOSSES[index], data)[:2]
    check(model, value, H, model.predict(X).reshape(N, -1) - model.intercept_)
    assert model.kernel_ == Gaussian(4.0)


def scattered_reference(index, gram, case, mean):
    """Curves at points of their own less a mean: value, and h at the observations. With a mean k_X is k_X + 100."""
    (intercept, _, p), (Y, s, matrix), loss = SCATTERED[case], scattered_data(case), LOSSES[index]
    sizes = [len(one[0]) for one in Y]
    rows, theta = np.repeat(np.arange(N), sizes), np.concatenate([one[0] for one in Y])
    left = (K_X + (100.0 if intercept else 0.0))[np.ix_(rows, rows)] * gram(theta)
    F = factor(np.kron(left, np.eye(p) if matrix is None else matrix))
    B = cp.Variable(F.shape[1])
    H = cp.reshape(F @ B, (len(theta), p), order="C")
    total = 0
    for i, one in enumerate(Y):
        seen = np.flatnonzero(rows == i)
        eta = one[2] if len(one) == 3 else np.full(len(seen), 1 / len(seen))
        u = cp.reshape(H[seen, :], (len(seen) * p,), order="C")
        y = np.asarray(one[1]).reshape(-1) - (mean.evaluate(one[0]) if intercept else 0)
        nodes = np.repeat(seen, p)
        total = total + s[i] * row_loss(loss, u, y, np.repeat(theta[seen], p), np.repeat(eta, p), nodes)
    value = minimise(total / s.sum() + ALPHA / 2 * cp.sum_squares(B))
    return value, H.value, rows, theta


SCATTERED = {"plain": (False, False, 1), "intercept": (True, True, 1), "plane": (False, True, 2)}


def scattered_data(case):
    """One to four observations of each curve, with weights that do not sum to 1."""
    _, weighted, p = SCATTERED[case]
    rng, Y = np.random.default_rng(2), []
    for i in range(N):
        theta = np.sort(rng.uniform(size=rng.integers(1, 5)))
        y = np.sin(4 * X[i]) + theta[:, None] * np.arange(1, p + 1) + 0.5 * rng.normal(size=(len(theta), p))
        y = y if p == 2 else y[:, 0]
        Y.append((theta, y, rng.uniform(0.2, 1.0, len(theta))) if weighted else (theta, y))
    return Y, rng.uniform(0.5, 2.0, N) if weighted else np.ones(N), A if p == 2 else None


@pytest.mark.parametrize("index", range(len(LOSSES)), ids=map(repr, LOSSES))
@pytest.mark.parametrize(
    ("representation", "case"),
    [*(("nodes", case) for case in SCATTERED), ("eigen", "plain"), ("harmonic", "intercept")],
)
def test_scattered_curves(index, representation, case):
    (basis, gram), (intercept, _, p), (Y, s, matrix) = (
        REPRESENTATIONS[representation],
        SCATTERED[case],
        scattered_data(case),
    )
    model = regressor(loss=LOSSES[index], representation=basis, fit_intercept=intercept, output_matrix=matrix).fit(
        X, Y, s
    )
    mean = model.intercept_function_
    value, H, rows, theta = scattered_reference(index, gram, case, mean)
    found = model.predict_at(X, theta).reshape(N, len(theta), p)[rows, np.arange(len(theta))]
    check(model, value, H, found - (mean.evaluate(theta).reshape(-1, p) if intercept else 0))


# --- printed values


T4_X, T4_THETA, T4_ETA = np.array([[0.0], [0.3], [0.7], [1.0]]), np.array([0.1, 0.5, 0.9]), np.array([0.3, 0.4, 0.3])
T4_Y = np.array([0.2, -0.1, 0.5, 0.4])


@pytest.mark.parametrize(
    ("loss", "Y", "value", "between", "row", "expected"),
    [
        (Square(), np.tile(T4_Y[:, None], 3), 0.024009203, 0.209081, 3, [0.292274, 0.358114, 0.292274]),
        (Huber(0.15, "pointwise"), None, 0.04332976, 0.279568, 0, [0.109230, 0.162509, 0.137251]),
        (Huber(0.15, "pointwise"), None, 0.04332976, 0.279568, 3, [0.323614, 0.441644, 0.348526]),
        (EpsilonRidge(0.1, "pointwise"), None, 0.03584682, 0.239559, 3, [0.283243, 0.457214, 0.464166]),
        (Huber(0.2), None, 0.05099557, None, 0, [0.100405, 0.156043, 0.160406]),
        (EpsilonRidge(0.15), None, 0.02637460, None, 0, [0.046773, 0.074916, 0.080901]),
    ],
    ids=["O1", "O5a", "O5a-last", "O5b", "O5c", "O5d"],
)
def test_printed_values(loss, Y, value, between, row, expected):
    Y = T4_Y[:, None] * (1 + T4_THETA) if Y is None else Y
    model = FunctionalRegressor(
        Gaussian(2.0),
        output_kernel=Gaussian(3.0),
        alpha=0.1,
        loss=loss,
        grid=Points(T4_THETA, T4_ETA),
        fit_intercept=False,
        tol=1e-10,
    ).fit(T4_X, Y)
    assert model.objective_ == pytest.approx(value, abs=1e-8)
    np.testing.assert_allclose(model.predict(T4_X)[row], expected, atol=2e-6)
    if between is not None:
        assert model.predict_at([[0.5]], [0.25])[0, 0] == pytest.approx(between, abs=2e-6)


@pytest.mark.parametrize(
    ("loss", "sizes", "saturated"),
    [
        (Huber(0.2), [0.164459, 0.2, 0.2, 0.181158], [1, 2]),
        (EpsilonRidge(0.15), [0.086866, 0.176947, 0.258859, 0.086769], []),
    ],
)
def test_printed_norms_of_dual_curves(loss, sizes, saturated):
    model = regressor(
        kernel=Gaussian(2.0), alpha=0.1, loss=loss, grid=Points(T4_THETA, T4_ETA), fit_intercept=False, tol=1e-10
    ).fit(T4_X, T4_Y[:, None] * (1 + T4_THETA))
    dual = model.dual_coef_ * 0.1 * 4 / T4_ETA
    np.testing.assert_allclose(np.sqrt(dual**2 @ T4_ETA), sizes, atol=2e-6)
    assert model.saturated_.tolist() == saturated
    assert model.support_.tolist() == [0, 1, 2, 3]


# --- special cases


GRID = np.linspace(0, 1, 7)
MANY = RNG.uniform(size=(25, 2))
CURVES = np.sin(3 * MANY[:, :1] + 4 * GRID) + 0.2 * RNG.normal(size=(25, 7))
NEW = RNG.uniform(size=(6, 2))


@pytest.mark.parametrize(
    "loss", [Huber(1e3, g) for g in GEOMETRIES] + [EpsilonRidge(0.0, g) for g in GEOMETRIES], ids=repr
)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("observations", ["grid", "masked", "scattered"])
def test_limits_of_robust_losses_are_ridge(loss, intercept, observations):
    Y, grid = CURVES.copy(), GRID
    Y[::3, :3] = np.nan if observations != "grid" else Y[::3, :3]
    if observations == "scattered":
        Y, grid = [(GRID[~np.isnan(y)], y[~np.isnan(y)]) for y in Y], None
    settings = {"grid": grid, "fit_intercept": intercept, "tol": 1e-10}
    ridge, limit = (regressor(loss=each, **settings).fit(MANY, Y) for each in ("square", loss))
    np.testing.assert_allclose(limit.predict(NEW), ridge.predict(NEW), atol=1e-5)
    assert limit.objective_ == pytest.approx(ridge.objective_, rel=1e-8)


def test_kappa_from_the_largest_ridge_residual_on_is_ridge():
    ridge = regressor(grid=GRID).fit(MANY, CURVES)
    sizes = np.sqrt((CURVES - ridge.predict(MANY)) ** 2 @ trapezoid(GRID))
    same = regressor(grid=GRID, loss=Huber(1.01 * sizes.max())).fit(MANY, CURVES)
    np.testing.assert_allclose(same.predict(MANY), ridge.predict(MANY), atol=1e-5)
    assert len(same.saturated_) == 0
    less = regressor(grid=GRID, loss=Huber(0.9 * sizes.max())).fit(MANY, CURVES)
    assert np.argmax(sizes) in less.saturated_
    assert np.abs(less.predict(MANY) - ridge.predict(MANY)).max() > 1e-4


def test_epsilon_beyond_all_curves_is_zero():
    largest = np.sqrt(CURVES**2 @ trapezoid(GRID)).max()
    model = regressor(grid=GRID, loss=EpsilonRidge(1.001 * largest), fit_intercept=False).fit(MANY, CURVES)
    np.testing.assert_array_equal(model.predict(NEW), 0)
    assert model.n_support_ == len(model.support_) == 0


def test_kernel_ridge_of_scikit_learn():
    """Without a grid columns are outputs of weight 1, and λn is scikit-learn's alpha."""
    model = regressor(output_kernel=None, fit_intercept=False).fit(MANY, CURVES)
    assert model.output_kernel_ == Identity()
    other = KernelRidge(alpha=ALPHA * len(MANY), kernel="rbf", gamma=4.0).fit(MANY, CURVES)
    np.testing.assert_allclose(model.predict(NEW), other.predict(NEW), atol=1e-12)
    s = RNG.uniform(0.5, 2.0, 25)
    weighted = KernelRidge(alpha=ALPHA * s.sum(), kernel="rbf", gamma=4.0).fit(MANY, CURVES, s)
    np.testing.assert_allclose(
        regressor(output_kernel=None, fit_intercept=False).fit(MANY, CURVES, s).predict(NEW),
        weighted.predict(NEW),
        atol=1e-12,
    )


def test_one_output_is_kernel_ridge_with_a_free_mean():
    """A free intercept is the limit of a large constant in the kernel."""
    y = CURVES[:, 0]
    model = regressor().fit(MANY, y)
    level = 1e8
    K = Gaussian(4.0)(MANY) + level
    coef = np.linalg.solve(K + ALPHA * 25 * np.eye(25), y)
    np.testing.assert_allclose(model.predict(NEW), (Gaussian(4.0)(NEW, MANY) + level) @ coef, atol=1e-5)
    assert model.predict(NEW).shape == (6,)


def test_dense_solve_of_the_system():
    """(K_X ⊗ K_Θ W + λn) α = λn y (spec 3.1), with c = αW/(λn)."""
    W, n = trapezoid(GRID), len(MANY)
    K_T, K = Gaussian(3.0)(GRID[:, None]), Gaussian(4.0)(MANY)
    system = np.kron(K, K_T * W) + ALPHA * n * np.eye(n * 7)
    alpha = ALPHA * n * np.linalg.solve(system, CURVES.ravel()).reshape(n, 7)
    model = regressor(grid=GRID, fit_intercept=False).fit(MANY, CURVES)
    np.testing.assert_allclose(model.dual_coef_, alpha * W / (ALPHA * n), atol=1e-9)


TWO = np.stack([CURVES, np.cos(2 * MANY[:, :1] - GRID) + 0.1 * RNG.normal(size=(25, 7))], axis=2)


def test_components_without_a_matrix_are_regressions_of_their_own():
    both = regressor(grid=GRID, mean_curve="free").fit(MANY, TWO)  # a smooth one is as smooth for both
    for c in range(2):
        alone = regressor(grid=GRID, mean_curve="free").fit(MANY, TWO[:, :, c])
        np.testing.assert_allclose(both.predict(NEW)[:, :, c], alone.predict(NEW), atol=1e-10)
    np.testing.assert_allclose(
        regressor(grid=GRID, output_matrix=np.eye(2), mean_curve="free").fit(MANY, TWO).predict(NEW),
        both.predict(NEW),
        atol=1e-10,
    )


def test_a_matrix_of_low_rank_is_ridge_on_principal_components():
    """Spec 3.2: A = V Vᵀ gives the ridge fit of the scores YV, times Vᵀ."""
    four = np.concatenate([TWO, TWO @ RNG.normal(size=(2, 2)) + 0.1 * RNG.normal(size=(25, 7, 2))], axis=2)
    projector = leading_components(four, 2)
    vectors = np.linalg.eigh(projector)[1][:, -2:]
    model = regressor(grid=GRID, output_matrix=projector, fit_intercept=False).fit(MANY, four)
    scores = regressor(grid=GRID, fit_intercept=False).fit(MANY, four @ vectors)
    np.testing.assert_allclose(model.predict(NEW), scores.predict(NEW) @ vectors.T, atol=1e-9)


def test_printed_sylvester_system():
    """O7: K_X c A + 0.4 c = Y, with n = 4 rows, hence λ = 0.1."""
    Y = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, -0.5]])
    model = FunctionalRegressor(
        Gaussian(2.0),
        output_kernel=Identity(),
        output_matrix=A,
        alpha=0.1,
        fit_intercept=False,
        grid=Points([0.0], [1.0]),
    ).fit(T4_X, Y[:, None, :])
    np.testing.assert_allclose(model.predict(T4_X)[0, 0], [0.493395, 0.267477], atol=2e-6)
    np.testing.assert_allclose(model.predict(T4_X)[3, 0], [0.464376, -0.076456], atol=2e-6)
    np.testing.assert_allclose(model.dual_coef_[0], [1.266512, -0.668691], atol=2e-6)
