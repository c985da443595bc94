"""Parts of one's own, put together: each fit is compared with the same problem written down from its definition.

1. Matrix-valued kernels that do not decompose, with Huber's loss of norms, sample weights and a free intercept in R^p.
2. Explicit features with the pinball loss at several levels, and predictions without training rows.
3. Outputs behind a Gram matrix, beside the same fits to explicit vectors.

The tolerances come from the duality gap. The optimum lies between objective − gap and objective. The objective is
λ-strongly convex in h, so that an h whose objective is within ``excess`` of the optimum is within √(2·excess/λ) of the
optimal h, in the norm of its space (see ``radius``).
"""

import gc
import weakref
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import pytest

from mercer import KernelQuantileRegressor
from mercer.estimators.gram_outputs import GramOutputs
from mercer.kernels import FeatureKernel, Gaussian, Identity, Laplacian
from mercer.losses import EpsilonInsensitive, Huber, Pinball, Square
from mercer.measures import Measure, Points
from mercer.operator_valued import Decomposable, FeatureExpansion, MatrixValuedKernel
from mercer.problems import DualProblem
from mercer.solvers import ADMM, ProximalGradient, select
from mercer.testing import check_operator_valued_kernel

ROUNDING = 1e-9  # for arrays with entries of order 1 that are equal but for the order of operations
SLACK = 1e-10  # for objectives, of order 0.1; the solver of cvxpy runs with tolerances of 1e-11


def radius(excess, alpha):
    """Bound ‖h − h*‖ by strong convexity, for an objective P(h) ≤ P* + excess."""
    return np.sqrt(2 * max(excess, 0.0) / alpha)


def minimise(objective):
    """Return the optimal value that cvxpy finds, to about ten digits."""
    problem = cp.Problem(cp.Minimize(objective))
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    assert problem.status == cp.OPTIMAL
    return problem.value


# 1. Matrix-valued kernels


@dataclass(eq=False, repr=False)
class DivergenceFree(MatrixValuedKernel):
    """J ∂₁∂₂k Jᵀ with the quarter turn J: its functions are gradients in the plane, turned, hence without sources."""

    gamma: float = 1.0

    def blocks(self, X, Z):
        turn = np.array([[0.0, -1.0], [1.0, 0.0]])
        return turn @ Gaussian(self.gamma).cross_hessian(X, Z) @ turn.T


@dataclass(eq=False, repr=False)
class TurningAxes(MatrixValuedKernel):
    """k(x, z) R(x) D R(z)ᵀ + l(x, z) B with rotations R(x): the blocks are not symmetric, and their order matters."""

    def blocks(self, X, Z):
        turned = np.einsum("iab,bc,jdc->ijad", rotations(X), np.diag([2.0, 0.3]), rotations(Z))
        fixed = np.array([[0.5, 0.4], [0.4, 0.5]])
        return Gaussian(1.0)(X, Z)[:, :, None, None] * turned + Laplacian(1.0)(X, Z)[:, :, None, None] * fixed


def rotations(X):
    """Return a rotation matrix for each row, by twice its first entry."""
    angle = 2 * X[:, 0]
    return np.stack([np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)], axis=-1).reshape(-1, 2, 2)


PLANE = Measure(np.arange(2.0), np.ones(2))  # two components, of weight 1 each
KERNELS = [DivergenceFree(0.8), TurningAxes()]
ALPHA, KAPPA = 1e-2, 0.5


def field_data(n=30):
    """Return positions, vectors of a rotating field with an offset and some outliers, and weights of mean 1."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(n, 2))
    Y = np.column_stack([-X[:, 1], X[:, 0]]) + np.array([1.0, -2.0]) + 0.1 * rng.normal(size=(n, 2))
    Y[::6] += 3 * rng.normal(size=Y[::6].shape)
    weights = rng.uniform(0.3, 3, size=n)
    return X, Y, weights / weights.mean()


def huber_problem(kernel):
    X, Y, weights = field_data()
    # any multiple of the weights is as good: the problem scales them to mean 1
    gram = kernel.bind(PLANE).gram(X)
    return DualProblem(gram, Huber(KAPPA), Y, PLANE, ALPHA, sample_weight=7 * weights, fit_intercept=True)


def huber_objective(Y, weights, H, b, squared_norm):
    """Return (1/n) Σ_i s_i f(‖y_i − h_i − b‖) + (λ/2)‖h‖², f Huber's function, in NumPy."""
    r = np.linalg.norm(Y - H - b, axis=1)
    losses = np.where(r <= KAPPA, r**2 / 2, KAPPA * (r - KAPPA / 2))
    return np.mean(weights * losses) + ALPHA / 2 * squared_norm


def huber_by_cvxpy(kernel):
    """Return optimum, h at the data and b. With K = LLᵀ, (np) × (np), h = Lu at the data and ‖h‖ = ‖u‖."""
    X, Y, weights = field_data()
    n, p = Y.shape
    values, vectors = np.linalg.eigh(kernel.blocks(X, X).transpose(0, 2, 1, 3).reshape(n * p, n * p))
    u, b = cp.Variable(n * p), cp.Variable((1, p))
    H = cp.reshape((vectors * np.sqrt(np.maximum(values, 0))) @ u, (n, p), order="C")
    r = cp.norm(Y - H - np.ones((n, 1)) @ b, axis=1)
    risk = cp.sum(cp.multiply(weights, cp.huber(r, KAPPA) / 2)) / n  # cvxpy's huber(r) is r², not r²/2
    value = minimise(risk + ALPHA / 2 * cp.sum_squares(u))
    # what cvxpy returns is evaluated from the definition, too
    assert huber_objective(Y, weights, H.value, b.value, np.sum(u.value**2)) == pytest.approx(value, abs=SLACK)
    return value, H.value, b.value[0]


def fit_huber(kernel, solver):
    """Return the result of the solver and h."""
    X, _, _ = field_data()
    problem = huber_problem(kernel)
    result = solver.solve(problem)
    assert result.converged
    return result, kernel.bind(PLANE).expand(X, problem.primal_coef(result.coef))


def huber_excesses(result, optimum):
    """Return how far the objectives of our model and of that of cvxpy are from the optimum, at most."""
    return result.gap, optimum - (result.objective - result.gap) + SLACK


def field_bound(kernel, X, excesses):
    """Bound |h(x_i) − h'(x_i)| for two models of known excess: |h(x)| ≤ ‖K(x, x)‖^½ ‖h‖."""
    K_xx = np.array([kernel.blocks(x[None], x[None])[0, 0] for x in X])
    return np.sqrt(np.linalg.norm(K_xx, 2, axis=(1, 2)).max()) * sum(radius(excess, ALPHA) for excess in excesses)


each_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
each_solver = pytest.mark.parametrize(
    "solver", [ADMM(tol=1e-9), ProximalGradient(tol=1e-9)], ids=lambda solver: type(solver).__name__
)


@each_kernel
def test_matrix_valued_kernel_is_one_and_does_not_decompose(kernel):
    check_operator_valued_kernel(kernel, PLANE)
    X, _, _ = field_data()
    # all K(x, z) as rows: they would be multiples of one row if K were a scalar kernel times a matrix
    assert np.linalg.matrix_rank(kernel.blocks(X, X).reshape(-1, 4)) > 1


@each_kernel
@each_solver
def test_objective_with_a_matrix_valued_kernel_equals_cvxpy(kernel, solver):
    X, Y, weights = field_data()
    result, h = fit_huber(kernel, solver)
    by_hand = huber_objective(Y, weights, h.evaluate(X, PLANE.points), result.intercept, h.norm**2)
    assert result.objective == pytest.approx(by_hand, abs=SLACK)
    optimum, _, _ = huber_by_cvxpy(kernel)
    assert result.gap <= 1e-9 * result.objective
    assert result.objective - result.gap - SLACK <= optimum <= result.objective + SLACK


@each_kernel
@each_solver
def test_fitted_field_equals_cvxpy(kernel, solver):
    X, _, _ = field_data()
    result, h = fit_huber(kernel, solver)
    optimum, H, _ = huber_by_cvxpy(kernel)
    bound = field_bound(kernel, X, huber_excesses(result, optimum))
    assert bound < 1e-3
    assert np.linalg.norm(h.evaluate(X, PLANE.points) - H, axis=1).max() <= bound


@each_kernel
@each_solver
def test_free_intercept_in_the_plane_equals_cvxpy(kernel, solver):
    X, Y, weights = field_data()
    result, h = fit_huber(kernel, solver)
    optimum, H, b = huber_by_cvxpy(kernel)
    ours = np.linalg.norm(Y - h.evaluate(X, PLANE.points) - result.intercept, axis=1)
    theirs = np.linalg.norm(Y - H - b, axis=1)
    # Residuals below κ in both models cost ½‖r‖²: strongly convex in h + b, with the share of the weight of such rows.
    # Halfway between the models the objective is lower than their mean by share/8 times the squared distance, and not
    # below the optimum.
    inside = (ours < KAPPA) & (theirs < KAPPA)
    assert 0 < inside.sum() < len(X)  # both parts of the loss are in use
    excesses, share = huber_excesses(result, optimum), weights[inside].sum() / len(X)
    bound = field_bound(kernel, X, excesses) + 2 * np.sqrt(sum(excesses) / share)
    assert bound < 1e-3
    assert np.linalg.norm(result.intercept - b) <= bound


@each_kernel
def test_fitted_field_at_new_points_is_the_representer_formula(kernel):
    X, _, weights = field_data()
    problem = huber_problem(kernel)
    A = ADMM(tol=1e-6).solve(problem).coef
    new = np.random.default_rng(1).uniform(-2, 2, size=(9, 2))
    by_hand = np.zeros((9, 2))
    for x_i, s_i, a_i in zip(X, weights, A, strict=True):  # h(x) = (1/λn) Σ_i s_i K(x, x_i) a_i
        by_hand += s_i * kernel.blocks(new, x_i[None])[:, 0] @ a_i / (ALPHA * len(X))
    h = kernel.bind(PLANE).expand(X, problem.primal_coef(A))
    np.testing.assert_allclose(h.evaluate(new, PLANE.points), by_hand, atol=ROUNDING)
    np.testing.assert_allclose(h.evaluate(X, PLANE.points), problem.predict(A), atol=ROUNDING)


def test_divergence_free_fit_has_no_divergence():
    X, _, _ = field_data()
    problem = huber_problem(KERNELS[0])
    h = KERNELS[0].bind(PLANE).expand(X, problem.primal_coef(ADMM().solve(problem).coef))
    new, step = np.random.default_rng(1).uniform(-1, 1, size=(20, 2)), 1e-4
    # the matrix of derivatives ∂h_b/∂x_a, by central differences
    slopes = [(h.evaluate(new + e, [0, 1]) - h.evaluate(new - e, [0, 1])) / (2 * step) for e in step * np.eye(2)]
    assert np.abs(slopes[0][:, 1]).max() > 0.1  # the field is not constant
    assert np.abs(slopes[0][:, 0] + slopes[1][:, 1]).max() < 1e-5


# 2. Features and quantile levels

LEVELS = np.array([0.1, 0.5, 0.8])
BETWEEN_LEVELS = Gaussian(5.0)  # the output kernel couples the levels


def bumps(X):
    """Return four features of one input."""
    return np.hstack([X, X**2, np.abs(X - 0.5), np.sin(4 * X)])


def quantile_data(n=120):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 1))
    return X, np.sin(3 * X[:, 0]) + X[:, 0] * rng.normal(size=n)


NEW = np.linspace(-0.2, 1.3, 11)[:, None]


def fit_quantile_estimator(n=120):
    model = KernelQuantileRegressor(
        FeatureKernel(bumps),
        output_kernel=BETWEEN_LEVELS,
        alpha=ALPHA,
        measure=Points(LEVELS),  # weights 1/3 each: the mean over levels
        noncrossing=None,  # predictions are h + b as fitted, not sorted
        tol=1e-8,
    )
    return model.fit(*quantile_data(n))


def pose_quantiles(X, y):
    """Return the same problem without the estimator: the kernel bound to the levels, and y once for each level."""
    measure = Points(LEVELS).build()
    bound = Decomposable(FeatureKernel(bumps), BETWEEN_LEVELS).bind(measure)
    Y = np.repeat(y[:, None], len(LEVELS), axis=1)
    return bound, DualProblem(bound.gram(X), Pinball(), Y, measure, ALPHA, fit_intercept=True)


def quantiles_by_cvxpy():
    """Return optimum, W and b of h(x)(θ_j) = φ(x)·W_j. With K_Θ = LLᵀ and W = VLᵀ, ‖h‖ is the norm of V."""
    X, y = quantile_data()
    V, b = cp.Variable((4, 3)), cp.Variable((1, 3))
    W = V @ np.linalg.cholesky(BETWEEN_LEVELS(LEVELS[:, None])).T
    R = y[:, None] - bumps(X) @ W - np.ones((len(y), 1)) @ b
    losses = [cp.sum(cp.maximum(level * R[:, j], (level - 1) * R[:, j])) for j, level in enumerate(LEVELS)]
    value = minimise(sum(losses) / (len(LEVELS) * len(y)) + ALPHA / 2 * cp.sum_squares(V))
    return value, W.value, b.value[0]


def test_quantiles_with_features_equal_cvxpy_over_the_feature_weights():
    X, y = quantile_data()
    model = fit_quantile_estimator()
    bound, problem = pose_quantiles(X, y)
    result = select(problem, tol=1e-8).solve(problem)
    h = bound.expand(X, problem.primal_coef(result.coef))
    optimum, W, b = quantiles_by_cvxpy()
    fits = [
        (model.objective_, model.dual_gap_, model.expansion_, model.intercept_),
        (result.objective, result.gap, h, result.intercept),
    ]
    for objective, gap, expansion, intercept in fits:
        assert gap <= 1e-8 * objective
        assert objective - gap - SLACK <= optimum <= objective + SLACK
        # |h(x)(θ)| ≤ ‖φ(x)‖ k_Θ(θ, θ)^½ ‖h‖, and the Gaussian k_Θ is 1 there
        h_bound = radius(gap, ALPHA) + radius(optimum - objective + gap + SLACK, ALPHA)
        size = np.linalg.norm(bumps(NEW), axis=1)[:, None]
        assert h_bound < 1e-3
        assert np.all(np.abs(expansion.evaluate(NEW, LEVELS[:, None]) - bumps(NEW) @ W) <= size * h_bound)
        # The pinball loss has no curvature, so that the gap bounds nothing about b: this tolerance is a choice.
        np.testing.assert_allclose(intercept, b, atol=1e-5)


def test_quantiles_at_new_inputs_are_the_formula_with_features():
    model = fit_quantile_estimator()
    C = model.expansion_.coef  # h(x)(θ) = φ(x) C g(θ) with g_j(θ) = k_Θ(θ_j, θ)
    assert isinstance(model.expansion_, FeatureExpansion)
    assert C.shape == (4, 3)
    by_hand = bumps(NEW) @ C @ BETWEEN_LEVELS(LEVELS[:, None], LEVELS[:, None]) + model.intercept_
    np.testing.assert_allclose(model.predict_quantile(NEW, LEVELS), by_hand, atol=ROUNDING)
    # C is φ(X)ᵀc, with the coefficients c of the representer formula
    np.testing.assert_allclose(C, bumps(model.X_fit_).T @ model.dual_coef_, atol=ROUNDING)
    # the function itself at a level that was not trained on
    untrained = np.array([[0.3]])
    expected = bumps(NEW) @ C @ BETWEEN_LEVELS(LEVELS[:, None], untrained)
    np.testing.assert_allclose(model.expansion_.evaluate(NEW, untrained), expected, atol=ROUNDING)


def array_shapes(part):
    """Return the shapes of all arrays that an object holds, directly or in its attributes."""
    if isinstance(part, np.ndarray):
        return [part.shape]
    if isinstance(part, dict):
        part = list(part.values())
    inner = part if isinstance(part, list | tuple) else vars(part).values() if hasattr(part, "__dict__") else []
    return [shape for value in inner for shape in array_shapes(value)]


def test_fitted_function_in_features_does_not_grow_with_the_training_set():
    small, large = (fit_quantile_estimator(n).expansion_.state() for n in (120, 240))
    assert array_shapes(small) == array_shapes(large)
    assert sorted(array_shapes(small)) == [(3, 1), (4, 3)]  # the levels and C
    # the same search does find training rows where there are some
    X, _ = quantile_data()
    rows = Decomposable(Gaussian(1.0), BETWEEN_LEVELS).bind(Points(LEVELS).build()).expand(X, np.ones((120, 3)))
    assert (120, 1) in array_shapes(rows.state())


def test_estimator_with_features_predicts_when_its_training_rows_are_gone():
    model = fit_quantile_estimator()
    before = model.predict_quantile(NEW, LEVELS), model.predict(NEW), model.predict_interval(NEW, 0.5)
    assert any(120 in shape for shape in array_shapes(model))
    del model.X_fit_, model.dual_coef_  # a fit leaves them, but predictions do not look at them
    assert not any(120 in shape for shape in array_shapes(model))
    after = model.predict_quantile(NEW, LEVELS), model.predict(NEW), model.predict_interval(NEW, 0.5)
    for left, right in zip(before, after, strict=True):
        np.testing.assert_array_equal(left, right)


def test_function_in_features_outlives_the_data_and_the_problem():
    X, y = quantile_data()
    bound, problem = pose_quantiles(X, y)
    result = select(problem).solve(problem)
    h = bound.expand(X, problem.primal_coef(result.coef))
    before = h.evaluate(NEW, LEVELS[:, None])
    rows = weakref.ref(X)
    X[:] = np.nan  # who still looked at them would notice
    del X, y, problem, result
    gc.collect()
    assert rows() is None
    np.testing.assert_array_equal(h.evaluate(NEW, LEVELS[:, None]), before)
    again = FeatureExpansion.from_state(h.state())
    np.testing.assert_array_equal(again.evaluate(NEW, LEVELS[:, None]), before)


# 3. Outputs behind a Gram matrix

INPUT_KERNEL = Laplacian(2.0)


def object_data(n=40):
    """Return inputs, vectors in R^8 of rank 5 that stand for objects, and weights of mean 1."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 1))
    causes = np.hstack([np.sin(3 * X), X**2, np.ones((n, 1)), 0.2 * rng.normal(size=(n, 2))])
    weights = rng.uniform(0.5, 2, size=n)
    return X, causes @ rng.normal(size=(5, 8)), weights / weights.mean()


def fit_behind_gram(loss, fit_intercept):
    """Fit with K_Y alone; return outputs, result and h."""
    X, vectors, weights = object_data()
    outputs = GramOutputs.from_gram(vectors @ vectors.T)
    bound = outputs.bind(INPUT_KERNEL, Identity(), None)
    problem = outputs.pose(bound, X, loss, ALPHA, weights, fit_intercept=fit_intercept)
    result = select(problem, tol=1e-9).solve(problem)
    assert result.converged
    return outputs, result, bound.expand(X, problem.primal_coef(result.coef))


def fit_vectors(loss, fit_intercept):
    """Fit the explicit vectors with k_X times the identity of R^8; return result, h and its eight indices."""
    X, vectors, weights = object_data()
    space = Measure(np.arange(8.0), np.ones(8))
    bound = Decomposable(INPUT_KERNEL, Identity()).bind(space)
    problem = DualProblem(bound.gram(X), loss, vectors, space, ALPHA, weights, fit_intercept=fit_intercept)
    result = select(problem, tol=1e-9).solve(problem)
    return result, bound.expand(X, problem.primal_coef(result.coef)), space.points


def gaps_of(*results):
    """Return the gaps, and what rounding leaves where the closed form reports a gap of 0."""
    return [result.gap + 1e-12 for result in results]


OBJECTS_NEW = np.linspace(-0.1, 1.1, 7)[:, None]
each_intercept = pytest.mark.parametrize("fit_intercept", [False, True])
each_loss = pytest.mark.parametrize(
    "loss", [Square(), EpsilonInsensitive(0.3, "norm")], ids=lambda loss: type(loss).__name__
)


@each_intercept
@each_loss
def test_objective_behind_a_gram_matrix_is_that_of_the_vectors(loss, fit_intercept):
    outputs, behind, _ = fit_behind_gram(loss, fit_intercept)
    explicit, _, _ = fit_vectors(loss, fit_intercept)
    assert outputs.values.shape == (40, 5)  # coordinates in the span of the objects, whose rank is 5
    assert explicit.converged
    assert abs(behind.objective - explicit.objective) <= max(gaps_of(behind, explicit)) < 1e-8


@each_intercept
@each_loss
def test_dual_array_behind_a_gram_matrix_is_that_of_the_vectors(loss, fit_intercept):
    X, vectors, weights = object_data()
    outputs, behind, _ = fit_behind_gram(loss, fit_intercept)
    explicit, _, _ = fit_vectors(loss, fit_intercept)
    # The dual objective grows at least like (σ/2λn²) ‖S(A − A*)‖², σ the smallest eigenvalue of K_X.
    sigma = np.linalg.eigvalsh(INPUT_KERNEL(X)).min()
    bound = sum(len(X) * np.sqrt(2 * ALPHA * gap / sigma) for gap in gaps_of(behind, explicit)) / weights.min()
    assert bound < 1e-2 * np.linalg.norm(explicit.coef)
    # Coordinates differ by a rotation; inner products with the training objects do not.
    difference = outputs.inner_products(behind.coef) - explicit.coef @ vectors.T
    assert np.abs(difference).max() <= bound * np.linalg.norm(vectors, axis=1).max()


@each_intercept
@each_loss
def test_predictions_behind_a_gram_matrix_are_those_of_the_vectors(loss, fit_intercept):
    _, vectors, _ = object_data()
    outputs, behind, h_behind = fit_behind_gram(loss, fit_intercept)
    explicit, h, points = fit_vectors(loss, fit_intercept)
    # |⟨h(x) − h'(x), y_i⟩| ≤ ‖h − h'‖ ‖y_i‖, as k_X(x, x) = 1
    bound = sum(radius(gap, ALPHA) for gap in gaps_of(behind, explicit))
    assert bound < 1e-3
    scores = outputs.inner_products(h_behind.evaluate(OBJECTS_NEW, outputs.measure.points))
    difference = scores - h.evaluate(OBJECTS_NEW, points) @ vectors.T
    assert np.abs(difference).max() <= bound * np.linalg.norm(vectors, axis=1).max()
    # The gap bounds nothing about b where the loss has no curvature: this tolerance is a choice.
    b_scores = outputs.inner_products(behind.intercept[None, :])[0]
    np.testing.assert_allclose(b_scores, vectors @ explicit.intercept, atol=1e-5)
    assert (np.abs(b_scores).max() > 1) == fit_intercept


def test_ridge_regression_behind_a_gram_matrix_is_the_closed_form():
    X, vectors, weights = object_data()
    outputs, _, h = fit_behind_gram(Square(), fit_intercept=False)
    # h(x) = k(x)ᵀ (K_X + λn S⁻¹)⁻¹ φ(Y), and with the objects themselves φ(Y)φ(Y)ᵀ = K_Y
    system = INPUT_KERNEL(X) + ALPHA * len(X) * np.diag(1 / weights)
    by_hand = INPUT_KERNEL(OBJECTS_NEW, X) @ np.linalg.solve(system, vectors @ vectors.T)
    scores = outputs.inner_products(h.evaluate(OBJECTS_NEW, outputs.measure.points))
    np.testing.assert_allclose(scores, by_hand, atol=ROUNDING)


@each_intercept
def test_support_vectors_behind_a_gram_matrix_are_in_all_three_states(fit_intercept):
    _, result, _ = fit_behind_gram(EpsilonInsensitive(0.3, "norm"), fit_intercept)
    size = np.linalg.norm(result.coef, axis=1)  # 0 in the tube, 1 outside it, in between on its surface
    inside, outside = size < 1e-9, size > 1 - 1e-9
    assert inside.any()
    assert outside.any()
    assert not np.all(inside | outside)
    assert size.max() <= 1 + ROUNDING
