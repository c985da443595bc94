"""The level-set problem: its oracle, its certificate, and its parts, each against its definition."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.exceptions import MercerError
from mercer.kernels import Constant, Gaussian
from mercer.linalg import Dense
from mercer.losses import OneClassHinge
from mercer.measures import Measure, Points
from mercer.problems import DualProblem, Offsets, PenalisedOffsets, level_coef, level_set_problem

RNG = np.random.default_rng(3)
X = RNG.normal(size=(14, 2))
MEASURE = Points([0.9, 0.15, 0.5, 0.33], [0.2, 0.1, 0.4, 0.3]).build()
WEIGHT = RNG.uniform(0.5, 2.0, size=14)


K = Gaussian(0.5)(X)
OFFSET_GRAM = Gaussian(3.0)(MEASURE.points)
OUTPUT_GRAM = Gaussian(4.0)(MEASURE.points)


def problem(alpha=0.0, coupling=0.0, output_gram=OUTPUT_GRAM, weight=WEIGHT):
    return level_set_problem(
        Dense(K),
        MEASURE,
        weight,
        alpha=alpha,
        offset_gram=OFFSET_GRAM,
        coupling=coupling,
        output_gram=output_gram,
    )


def some_array(case):
    """A feasible dual array."""
    return case.feasible(RNG.uniform(size=case.shape) * case.box.upper)


def node_coef(A, coupling=0.0, output_gram=OUTPUT_GRAM, weight=WEIGHT):
    """B with h(·)(θ_j) = Σ_i k(·, x_i) B_ij, from G as it is defined."""
    delta = A * (weight / weight.sum())[:, None]
    if coupling == 0:
        return delta
    eta = np.diag(MEASURE.weights)
    return delta @ eta @ np.linalg.inv(eta + coupling * np.linalg.inv(output_gram))


SETTINGS = [(0.0, 0.0), (0.2, 0.0), (0.0, 0.5), (0.2, 0.5)]


def primal_value(B, t, alpha, coupling):
    """The objective from its definition, at h_j = Σ_i B_ij k(·, x_i)."""
    eta, theta = MEASURE.weights, MEASURE.locations
    s = WEIGHT / WEIGHT.mean()
    value = 0.0
    if coupling > 0:
        value += 0.5 * coupling * np.sum(B * (K @ B @ np.linalg.inv(OUTPUT_GRAM)))
    if alpha > 0:
        value += 0.5 * alpha * t @ np.linalg.solve(OFFSET_GRAM, t)
    for j in range(len(eta)):
        loss = np.mean(s * np.maximum(t[j] - K @ B[:, j], 0)) / theta[j] - t[j]
        value += eta[j] * (loss + 0.5 * B[:, j] @ K @ B[:, j])
    return value


@pytest.mark.parametrize(("alpha", "coupling"), SETTINGS)
def test_the_certificate_has_the_objective_of_the_definition(alpha, coupling):
    case = problem(alpha, coupling)
    A = some_array(case)
    B, certificate = node_coef(A, coupling), case.certificate(A)
    t = -case.effect(certificate.intercept)
    assert certificate.primal == pytest.approx(primal_value(B, t, alpha, coupling), abs=1e-12)
    assert np.allclose(case.predict(A), K @ B)


@pytest.mark.parametrize(("alpha", "coupling"), SETTINGS)
def test_any_intercept_gives_the_objective_of_the_definition(alpha, coupling):
    case = problem(alpha, coupling)
    A = some_array(case)
    b = RNG.normal(size=case.certificate(A).intercept.shape)
    value = case.risk(case.predict(A), b) + 0.5 * case.norm(A) ** 2
    t = -case.effect(b)
    assert value == pytest.approx(primal_value(node_coef(A, coupling), t, alpha, coupling), abs=1e-12)


@pytest.mark.parametrize(("alpha", "coupling"), SETTINGS)
def test_the_dual_is_that_of_the_definition_and_below_every_primal_value(alpha, coupling):
    case = problem(alpha, coupling)
    arrays = [some_array(case) for _ in range(20)]
    duals = [case.certificate(A) for A in arrays]
    best = min(each.primal for each in duals)
    assert all(each.dual <= best + 1e-12 for each in duals)
    assert all(each.gap > 1e-4 for each in duals)
    for A, certificate in zip(arrays, duals, strict=True):
        delta = A * (WEIGHT / WEIGHT.sum())[:, None]
        v = MEASURE.weights * (1 - delta.sum(axis=0))
        value = -0.5 * np.sum(delta * MEASURE.weights * case.predict(A))
        value -= v @ OFFSET_GRAM @ v / (2 * alpha) if alpha > 0 else 0
        assert certificate.dual == pytest.approx(value, abs=1e-12)
        if alpha == 0:
            assert v == pytest.approx(np.zeros(4), abs=1e-13)


def test_the_coefficients_are_those_of_the_penalties():
    case = problem(coupling=0.7)
    A = RNG.uniform(size=case.shape)
    coef = case.primal_coef(A)
    c = level_coef(coef, MEASURE, 0.7, OUTPUT_GRAM)
    assert np.allclose(c, coef @ np.linalg.inv(0.7 * np.eye(4) + OUTPUT_GRAM @ np.diag(MEASURE.weights)), atol=1e-10)
    assert np.allclose(K @ c @ OUTPUT_GRAM, case.predict(A), atol=1e-12)
    alone = problem()
    assert np.allclose(K @ level_coef(alone.primal_coef(A), MEASURE), alone.predict(A), atol=1e-12)


def test_a_singular_output_kernel_does_no_harm():
    constant = Constant()(MEASURE.points)
    case = problem(coupling=1e-2, output_gram=constant)
    A = RNG.uniform(size=case.shape)
    average = node_coef(A) @ MEASURE.weights / (MEASURE.weights.sum() + 1e-2)
    assert np.allclose(case.predict(A), (K @ average)[:, None], atol=1e-12)
    c = level_coef(case.primal_coef(A), MEASURE, 1e-2, constant)
    assert np.allclose(c @ constant, average[:, None], atol=1e-12)


def test_a_singular_offset_kernel_does_no_harm():
    offsets = PenalisedOffsets(np.full(4, 14.0), Constant()(MEASURE.points), MEASURE, 0.3)
    assert offsets.design.shape == (1, 4)
    assert np.allclose(offsets.design.T @ offsets.design, 1)


def test_free_offsets_minimise_the_loss():
    case = problem()
    H = case.predict(some_array(case))
    t = -case.best_intercept(H)
    upper = WEIGHT[:, None] / WEIGHT.sum() / MEASURE.locations
    for j in range(case.shape[1]):
        candidates = np.concatenate([H[:, j], [t[j]]])
        loss = [upper[:, j] @ np.maximum(c - H[:, j], 0) - c for c in candidates]
        assert loss[-1] == pytest.approx(min(loss), abs=1e-14)


def test_an_offset_lies_between_two_scores_where_the_level_allows_it():
    measure = Points([0.5, 1.0, 0.3]).build()
    case = level_set_problem(Dense(np.eye(4)), measure)
    H = np.array([[4.0, 1.0, 2.0, 8.0]] * 3).T
    assert -case.best_intercept(H) == pytest.approx([3.0, 8.0, 2.0])


def test_penalised_offsets_are_those_of_the_dual_array():
    case = problem(alpha=0.2)
    A = some_array(case)
    v = MEASURE.weights * (1 - node_coef(A).sum(axis=0))
    t = -case.effect(case.best_intercept(case.predict(A), A))
    assert t == pytest.approx(OFFSET_GRAM @ v / 0.2)
    with pytest.raises(MercerError, match="A must be given"):
        case.best_intercept(case.predict(A))
    with pytest.raises(MercerError, match="Use ADMM"):
        case.conjugate_prox(A, 1.0)


@given(st.integers(0, 10**6), st.sampled_from([1e-6, 1.0, 1e4]))
def test_the_projection_is_the_nearest_point(seed, scale):
    rng = np.random.default_rng(seed)
    measure = Points(rng.uniform(0.05, 1.0, size=2)).build()
    case = level_set_problem(Dense(np.eye(9)), measure, rng.uniform(0.2, 2.0, size=9))
    P, upper = scale * rng.normal(size=(9, 2)), case.box.upper
    projected = case.conjugate_prox(P, 0.0)
    assert np.all((projected >= 0) & (projected <= upper))
    assert case.sample_weight @ projected == pytest.approx([9, 9], abs=1e-9)
    # optimality: moving mass from one row to another does not come nearer
    for j in range(2):
        gradient = projected[:, j] - P[:, j]
        gains, losses = projected[:, j] < upper[j], projected[:, j] > 0
        if gains.any():
            assert gradient[losses].max() <= gradient[gains].min() + 1e-9 * max(scale, 1)


def test_the_projection_agrees_with_a_quadratic_programme():
    weight = np.array([0.6, 1.0, 0.4, 2.0])
    case = level_set_problem(Dense(np.eye(4)), Points([0.4]).build(), weight)
    P = np.array([4.0, -0.8, 0.6, 1.2])
    z = cp.Variable(4)
    nearest = cp.Minimize(case.sample_weight @ cp.square(z - P))
    cp.Problem(nearest, [z >= 0, z <= 2.5, case.sample_weight @ z == 4]).solve(solver="CLARABEL")
    assert case.conjugate_prox(P[:, None], 0.0)[:, 0] == pytest.approx(z.value, abs=1e-4)


def test_zeros_stay_zeros_where_the_others_can_carry_the_mass():
    case = level_set_problem(Dense(np.eye(6)), Points([0.4, 0.5]).build())
    A = np.array([[2.0, 1.0], [1.0, 1.0], [0.0, 1.0], [2.5, 1.0], [0.0, 1.0], [0.0, 0.0]])
    repaired = case.feasible(A)
    assert repaired.sum(axis=0) == pytest.approx([6, 6])
    assert np.array_equal(repaired == 0, A == 0)
    A[:2, 0] = 0  # one entry of at most 2.5 cannot carry 6
    assert case.feasible(A).sum(axis=0) == pytest.approx([6, 6])


def test_sums_follow_the_offsets_that_an_algorithm_has():
    case = problem(alpha=1e-6)
    b = 0.1 * RNG.normal(size=4)
    A = case.feasible(RNG.uniform(size=case.shape), b)
    assert np.all((A >= 0) & (case.box.upper >= A))
    assert case.best_intercept(case.predict(A), A) == pytest.approx(b, rel=1e-5)
    assert np.array_equal(case.feasible(A), A)


def test_rows_of_weight_two_are_rows_twice():
    twice = level_set_problem(Dense(Gaussian(0.5)(np.vstack([X, X[:3]]))), MEASURE)
    weight = np.ones(14)
    weight[:3] = 2
    once = problem(weight=weight)
    A = some_array(once)
    one, two = once.certificate(A), twice.certificate(np.vstack([A, A[:3]]))
    assert one.primal == pytest.approx(two.primal, abs=1e-13)
    assert one.dual == pytest.approx(two.dual, abs=1e-13)
    assert once.null_model[0] == pytest.approx(twice.null_model[0])
    assert once.unit == pytest.approx(twice.unit)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"measure": Measure(np.array([0.0, 0.5]), np.ones(2))}, "levels must be in"),
        ({"measure": Measure(np.array([0.5, 1.5]), np.ones(2))}, "levels must be in"),
        ({"sample_weight": np.zeros(14)}, "positive"),
        ({"sample_weight": np.ones(13)}, r"sample_weight must have shape \(14,\)"),
        ({"alpha": -1.0}, "alpha must be"),
        ({"alpha": 1.0}, "offset_gram must have shape"),
        ({"coupling": np.nan}, "coupling must be"),
        ({"coupling": 1.0, "output_gram": np.eye(3)}, "output_gram must have shape"),
    ],
)
def test_what_is_refused(settings, message):
    settings = {"gram": Dense(np.eye(14)), "measure": MEASURE, **settings}
    with pytest.raises(MercerError, match=message):
        level_set_problem(**settings)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_penalties_below_rounding_are_refused_in_the_units_of_the_problem(scale):
    root = np.sqrt(MEASURE.weights)
    on_levels = Gaussian(3.0)(MEASURE.points)
    largest = np.linalg.eigvalsh(on_levels * root * root[:, None])[-1]
    gram = Dense(scale * Gaussian(0.5)(X))
    least = {"alpha": 1e-12 * largest / scale, "coupling": 1e-7 * largest}
    for name, other in (("alpha", "offset_gram"), ("coupling", "output_gram")):
        level_set_problem(gram, MEASURE, **{name: 1.01 * least[name], other: on_levels})
        with pytest.raises(MercerError, match=f"{name} must be 0 or at least .* take {name}=0"):
            level_set_problem(gram, MEASURE, **{name: 0.99 * least[name], other: on_levels})


def test_level_one_is_allowed():
    case = level_set_problem(Dense(Gaussian(0.5)(X)), Points([1.0]).build())
    A = case.feasible(np.zeros(case.shape))
    assert np.allclose(A, 1)
    assert case.certificate(A).gap <= 1e-13


def test_it_is_the_one_problem():
    free, penalised = problem(), problem(alpha=0.2)
    assert type(free) is type(penalised) is DualProblem
    assert isinstance(free.loss, OneClassHinge)
    assert isinstance(free.intercept, Offsets)
    assert isinstance(penalised.intercept, PenalisedOffsets)
    assert free.gram.columns_alike
    assert not problem(coupling=0.5).gram.columns_alike


@pytest.mark.parametrize(("alpha", "coupling"), SETTINGS)
def test_sizes_are_those_of_the_uniform_array_if_all_rows_were_alike(alpha, coupling):
    measure, on_levels = Points([0.2, 0.7]).build(), Gaussian(4.0)(np.array([[0.2], [0.7]]))
    case = level_set_problem(
        Dense(np.full((5, 5), 3.0)),
        measure,
        alpha=alpha,
        offset_gram=on_levels,
        coupling=coupling,
        output_gram=np.eye(2),
    )
    A = case.null_array
    H = case.predict(A)
    assert np.array_equal(A, np.ones((5, 2)))
    assert case.null_model[0] == pytest.approx(0.5 * case.inner(A, H) / 5)
    assert case.unit == pytest.approx(np.sqrt(case.inner(H, H) / case.inner(A, A)))
    assert not case.trivial
    other = case.with_alpha(4.0)
    assert other.unit == pytest.approx(case.unit / 4)
    assert case.unit == pytest.approx(4 * other.unit)


def test_a_kernel_that_vanishes_makes_it_trivial():
    case = level_set_problem(Dense(np.zeros((5, 5))), Points([0.2, 0.7]).build())
    assert case.trivial
    assert case.certificate(case.null_array).gap == 0


def test_what_is_not_known_of_a_nearly_singular_offset_kernel_is_a_part_of_the_gap():
    """Sums may be far off where K_b is nearly singular: that costs next to nothing, or rounding says so."""
    if np.finfo(np.longdouble).eps >= np.finfo(float).eps:
        pytest.skip("no extended precision here")
    rng = np.random.default_rng(0)
    measure = Points(np.linspace(0.05, 0.95, 20)).build()
    offset_gram = Gaussian(4.0)(measure.points)
    sides = np.resize([1.0, -1.0], 12)  # equal dual variables predict 0
    gram = Dense(1e-13 * np.outer(sides, sides))
    case = level_set_problem(gram, measure, alpha=50.0, offset_gram=offset_gram)
    assert isinstance(case.intercept, PenalisedOffsets)
    null_space = np.linalg.eigh(offset_gram)[1][:, :3] @ rng.normal(size=3)
    A = 1 + 0.1 * null_space * np.ones((12, 1))
    certificate = case.certificate(A)
    exact, weights = A.astype(np.longdouble), measure.weights.astype(np.longdouble)
    v = weights * (1 - exact.mean(axis=0))
    price = v @ Gaussian(4.0)(measure.points.astype(np.longdouble)) @ v / 100
    assert 1e-3 * price < abs(price + certificate.dual) <= certificate.doubt  # no cost but this one
    assert certificate.gap >= certificate.primal + price
