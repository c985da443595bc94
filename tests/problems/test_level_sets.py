"""The level-set problem: its oracle, its certificate, and its parts, each against its definition."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.exceptions import MercerError
from mercer.kernels import Constant, Gaussian
from mercer.linalg import Dense
from mercer.measures import Measure, Points
from mercer.problems.level_sets import LevelSetProblem, box_simplex_projection

RNG = np.random.default_rng(3)
X = RNG.normal(size=(14, 2))
MEASURE = Points([0.9, 0.15, 0.5, 0.33], [0.2, 0.1, 0.4, 0.3]).build()
WEIGHT = RNG.uniform(0.5, 2.0, size=14)


def problem(alpha=0.0, coupling=0.0, kernel=None, weight=WEIGHT):
    points = MEASURE.points
    kernel = Gaussian(4.0) if kernel is None else kernel
    return LevelSetProblem(
        Dense(Gaussian(0.5)(X)),
        MEASURE,
        weight,
        alpha=alpha,
        offset_gram=Gaussian(3.0)(points),
        coupling=coupling,
        output_gram=kernel(points),
    )


SETTINGS = [(0.0, 0.0), (0.2, 0.0), (0.0, 0.5), (0.2, 0.5)]


def primal_value(case, B, t, norm):
    """The objective from its definition, at h_j = Σ_i B_ij k(·, x_i), with ‖h‖²_K given."""
    K, eta, theta = case.gram.to_dense(), MEASURE.weights, MEASURE.locations
    s = WEIGHT / WEIGHT.mean()
    value = 0.5 * case.coupling * norm
    if case.alpha > 0:
        value += 0.5 * case.alpha * t @ np.linalg.solve(case.offset_gram, t)
    for j in range(len(eta)):
        loss = np.mean(s * np.maximum(t[j] - K @ B[:, j], 0)) / theta[j] - t[j]
        value += eta[j] * (loss + 0.5 * B[:, j] @ K @ B[:, j])
    return value


@pytest.mark.parametrize(("alpha", "coupling"), SETTINGS)
def test_the_certificate_has_the_objective_of_the_definition(alpha, coupling):
    case = problem(alpha, coupling)
    A = case.feasible(RNG.uniform(size=case.shape) * case.upper)
    certificate = case.certificate(A)
    norm = 0.0
    if coupling > 0:
        a = case.representer_coef(A)
        assert np.allclose(a @ case.output_gram, case.node_coef(A), atol=1e-12)
        norm = np.sum(a * (case.gram.to_dense() @ a @ case.output_gram))
    value = primal_value(case, case.node_coef(A), certificate.intercept, norm)
    assert certificate.primal == pytest.approx(value, abs=1e-12)
    assert np.allclose(case.predict(A), case.gram.to_dense() @ case.node_coef(A))


@pytest.mark.parametrize(("alpha", "coupling"), SETTINGS)
def test_the_dual_is_below_every_primal_value(alpha, coupling):
    case = problem(alpha, coupling)
    duals = [case.certificate(case.feasible(RNG.uniform(size=case.shape) * case.upper)) for _ in range(20)]
    best = min(each.primal for each in duals)
    assert all(each.dual <= best + 1e-12 for each in duals)
    assert all(each.gap > 1e-4 for each in duals)


def test_the_mixing_matrix_is_that_of_the_penalties():
    case = problem(coupling=0.7)
    eta, K = np.diag(MEASURE.weights), case.output_gram
    G = np.linalg.inv(eta + 0.7 * np.linalg.inv(K))
    A = RNG.uniform(size=case.shape)
    assert np.allclose(case.node_coef(A), A @ eta @ G, atol=1e-10)
    assert np.allclose(case.representer_coef(A), A @ eta @ np.linalg.inv(0.7 * np.eye(4) + K @ eta), atol=1e-10)


def test_a_singular_output_kernel_does_no_harm():
    case = problem(coupling=1e-2, kernel=Constant())
    A = RNG.uniform(size=case.shape)
    average = A @ MEASURE.weights / (MEASURE.weights.sum() + 1e-2)
    assert np.allclose(case.node_coef(A), average[:, None], atol=1e-12)
    assert np.allclose(case.representer_coef(A) @ case.output_gram, average[:, None], atol=1e-12)


def test_free_offsets_minimise_the_loss():
    case = problem()
    A = case.feasible(RNG.uniform(size=case.shape) * case.upper)
    H = case.predict(A)
    t = case.offset(A, H)
    for j in range(case.shape[1]):
        candidates = np.concatenate([H[:, j], [t[j]]])
        loss = [case.upper[:, j] @ np.maximum(c - H[:, j], 0) - c for c in candidates]
        assert loss[-1] == pytest.approx(min(loss), abs=1e-14)


def test_an_offset_lies_between_two_scores_where_the_level_allows_it():
    measure = Points([0.5, 1.0, 0.3]).build()
    case = LevelSetProblem(Dense(np.eye(4)), measure)
    H = np.array([[4.0, 1.0, 2.0, 8.0]] * 3).T
    assert case.offset(H * 0, H) == pytest.approx([3.0, 8.0, 2.0])


@given(st.integers(0, 10**6), st.floats(0.05, 1.0), st.sampled_from([1e-6, 1.0, 1e4]))
def test_the_projection_is_the_nearest_point(seed, level, scale):
    rng = np.random.default_rng(seed)
    upper = rng.uniform(0.2, 2.0, size=(9, 2))
    upper /= upper.sum(axis=0) * level
    P = scale * rng.normal(size=(9, 2))
    projected, shift = box_simplex_projection(P, upper, rng.normal(size=2))
    assert np.all((projected >= 0) & (projected <= upper))
    assert projected.sum(axis=0) == pytest.approx([1, 1], abs=1e-10)
    assert np.allclose(projected, np.clip(P + shift, 0, upper))
    # optimality: moving mass from one row to another does not come nearer
    for j in range(2):
        gradient = projected[:, j] - P[:, j]
        gains, losses = projected[:, j] < upper[:, j], projected[:, j] > 0
        if gains.any():
            assert gradient[losses].max() <= gradient[gains].min() + 1e-9 * max(scale, 1)


def test_the_projection_agrees_with_a_quadratic_programme():
    upper = np.array([0.3, 0.5, 0.2, 0.6])
    P = np.array([1.0, -0.2, 0.15, 0.3])
    z = cp.Variable(4)
    cp.Problem(cp.Minimize(cp.sum_squares(z - P)), [z >= 0, z <= upper, cp.sum(z) == 1]).solve(solver="CLARABEL")
    assert box_simplex_projection(P[:, None], upper[:, None])[0][:, 0] == pytest.approx(z.value, abs=1e-4)


def test_rows_of_weight_two_are_rows_twice():
    twice = LevelSetProblem(Dense(Gaussian(0.5)(np.vstack([X, X[:3]]))), MEASURE)
    weight = np.ones(14)
    weight[:3] = 2
    once = problem(weight=weight)
    A = once.feasible(RNG.uniform(size=once.shape) * once.upper)
    split = np.vstack([A, A[:3] / 2])
    split[:3] /= 2
    one, two = once.certificate(A), twice.certificate(split)
    assert one.primal == pytest.approx(two.primal, abs=1e-13)
    assert one.dual == pytest.approx(two.dual, abs=1e-13)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"measure": Measure(np.array([0.0, 0.5]), np.ones(2))}, "levels must be in"),
        ({"measure": Measure(np.array([0.5, 1.5]), np.ones(2))}, "levels must be in"),
        ({"sample_weight": np.zeros(14)}, "positive"),
        ({"sample_weight": np.ones(13)}, "14 positive numbers"),
        ({"alpha": -1.0}, "alpha must be"),
        ({"alpha": 1.0}, "offset_gram must have shape"),
        ({"coupling": np.nan}, "coupling must be"),
        ({"coupling": 1.0, "output_gram": np.eye(3)}, "output_gram must have shape"),
    ],
)
def test_what_is_refused(settings, message):
    settings = {"gram": Dense(np.eye(14)), "measure": MEASURE, **settings}
    with pytest.raises(MercerError, match=message):
        LevelSetProblem(**settings)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_penalties_below_rounding_are_refused_in_the_units_of_the_problem(scale):
    root = np.sqrt(MEASURE.weights)
    on_levels = Gaussian(3.0)(MEASURE.points)
    largest = np.linalg.eigvalsh(on_levels * root * root[:, None])[-1]
    gram = Dense(scale * Gaussian(0.5)(X))
    least = {"alpha": 1e-12 * largest / scale, "coupling": 1e-7 * largest}
    for name, other in (("alpha", "offset_gram"), ("coupling", "output_gram")):
        LevelSetProblem(gram, MEASURE, **{name: 1.01 * least[name], other: on_levels})
        with pytest.raises(MercerError, match=f"{name} must be 0 or at least .* take {name}=0"):
            LevelSetProblem(gram, MEASURE, **{name: 0.99 * least[name], other: on_levels})


def test_level_one_is_allowed():
    case = LevelSetProblem(Dense(Gaussian(0.5)(X)), Points([1.0]).build())
    A = case.feasible(np.zeros(case.shape))
    assert np.allclose(A, 1 / 14)
    assert case.certificate(A).gap <= 1e-13
