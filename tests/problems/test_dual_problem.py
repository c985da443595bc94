"""The dual problem: certificates, scales, weights, masks, proxes, feasibility and errors, from definitions."""

from __future__ import annotations

import array_api_strict as strict
import cvxpy as cp
import numpy as np
import pytest
from cvxpy_primal import HINGES, LOSSES, Data, factor, make, minimise, reference, total_loss
from hypothesis import given
from hypothesis import strategies as st

from mercer.exceptions import MercerError, ParameterError
from mercer.linalg import Dense, Kronecker
from mercer.losses import EpsilonInsensitive, EpsilonRidge, Huber, Pinball, Square
from mercer.measures import Measure
from mercer.problems import Certificate, DualProblem
from mercer.solvers import LBFGS, select

every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)
intercepts = pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])


def feasible_point(problem, seed, size=1.0):
    rng = np.random.default_rng(seed)
    return problem.feasible(size * rng.normal(size=problem.shape))


def weights_of(data):
    n = len(data.Y)
    s = np.ones(n) if data.sample_weight is None else data.sample_weight
    return np.outer(s / s.sum(), data.weights) * ~np.isnan(data.Y)


# -- certificates --------------------------------------------------------------------------------------------------


@every_loss
@intercepts
@given(seed=st.integers(0, 10**6), size=st.sampled_from([0.0, 0.1, 1.0, 20.0]))
def test_gap_is_not_negative(loss, intercept, seed, size):
    problem = make(loss, intercept, weighted=True, masked=seed % 2 == 1, seed=seed % 5).problem(loss)
    certificate = problem.certificate(feasible_point(problem, seed, size))
    assert np.isfinite(certificate.primal)
    assert np.isfinite(certificate.dual)
    assert certificate.primal - certificate.dual >= -1e-12 * max(1, abs(certificate.primal))


@every_loss
@intercepts
@pytest.mark.parametrize("masked", [False, True])
def test_gap_is_the_sum_of_fenchel_young_residuals(loss, intercept, masked):
    """Σ_p w_p [ℓ(h_p) + ℓ*(−α_p) + α_p h_p], h built from α with its best intercept (whose term sums to 0)."""
    data = make(loss, intercept, weighted=True, masked=masked)
    problem = data.problem(loss)
    for seed in range(3):
        A = feasible_point(problem, seed)
        w = weights_of(data)
        H = data.left @ (w * A / data.alpha) @ data.right
        U = H + problem.best_intercept(H)
        s = w.sum(axis=1) / (data.weights * ~np.isnan(data.Y)).sum(axis=1)
        losses = loss.value(problem.Y, U, problem.measure) + loss.conjugate(problem.Y, A, problem.measure)
        expected = s @ losses + np.sum(w * A * U)
        assert problem.certificate(A).gap == pytest.approx(expected, rel=1e-9, abs=1e-12)


@every_loss
@intercepts
@pytest.mark.parametrize("weighted", [False, True])
def test_certificate_at_any_point_bounds_the_distance_to_cvxpy(loss, intercept, weighted):
    """D ≤ P* ≤ P and ‖h_A − ĥ‖² ≤ 2 gap/λ, on the span of the data."""
    data, (value, H, _) = reference(loss, intercept, weighted)
    problem = data.problem(loss)
    for seed in range(3):
        A = feasible_point(problem, seed, 0.5)
        certificate = problem.certificate(A)
        assert certificate.dual <= value * (1 + 1e-7)
        assert certificate.primal >= value * (1 - 1e-7)
        difference = problem.predict(A) - H
        coordinates = np.linalg.pinv(factor(data.left)) @ difference @ np.linalg.pinv(factor(data.right)).T
        assert np.sum(coordinates**2) <= 2 * certificate.gap / data.alpha * (1 + 1e-6) + 1e-6


@every_loss
@intercepts
def test_gap_vanishes_at_the_optimum_of_cvxpy(loss, intercept):
    """The dual array is −∂ℓ there; for losses with kinks it is the multiplier of U = H + b in cvxpy."""
    data = make(loss, intercept)
    n, m = data.Y.shape
    B, b, U = cp.Variable((n, m)), cp.Variable((1, m)), cp.Variable((n, m))
    H = factor(data.left) @ B @ factor(data.right).T + (np.ones((n, 1)) @ b if intercept else 0)
    tie = U == H
    minimise(total_loss(loss, data, U) + data.alpha / 2 * cp.sum_squares(B), [tie])
    A = tie.dual_value / weights_of(data)
    problem = data.problem(loss)
    assert problem.certificate(problem.feasible(A)).relative_gap < 1e-6
    assert problem.certificate(problem.feasible(0 * A)).relative_gap > 1e-2


def test_relative_gap():
    assert Certificate(2.0, 1.0, 1.0).relative_gap == 0.5
    assert Certificate(1.0, -4.0, 1.0).relative_gap == 1.25
    assert Certificate(1e-12, 0.0, 1.0).relative_gap == pytest.approx(1e-6)
    assert Certificate(1.0, 1.0 + 1e-17, 1.0).gap == 0
    assert Certificate(0.0, 0.0, 0.0).relative_gap == 0
    assert np.isnan(Certificate(np.nan, 0.0, 1.0).gap)


# -- scales --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_predictions_from_dual_and_from_representer_coefficients(weighted):
    data = make(weighted=weighted)
    problem = data.problem(Pinball())
    A = np.random.default_rng(0).normal(size=data.Y.shape)
    n = len(data.Y)
    s = np.ones(n) if data.sample_weight is None else n * data.sample_weight / data.sample_weight.sum()
    expected = data.left @ np.diag(s) @ A @ np.diag(data.weights) @ data.right / (data.alpha * n)
    np.testing.assert_allclose(problem.predict(A), expected, rtol=1e-12)
    C = problem.primal_coef(A)
    np.testing.assert_allclose(data.left @ C @ data.right, expected, rtol=1e-12)
    np.testing.assert_allclose(problem.dual_array(C), A, rtol=1e-13)
    # ‖h‖² = Tr(K C T Cᵀ), and the quadratic term is half of it times λ
    norm = np.trace(data.left @ C @ data.right @ C.T)
    assert problem.inner(A, problem.predict(A)) / n == pytest.approx(data.alpha * norm, rel=1e-12)


def test_with_alpha():
    problem = make(weighted=True, intercept=True).problem(Pinball())
    other = problem.with_alpha(2.0)
    A = feasible_point(problem, 0)
    np.testing.assert_allclose(other.predict(A) * 2.0, problem.predict(A) * problem.alpha)
    assert problem.alpha == 0.05
    assert other.gram is problem.gram
    with pytest.raises(MercerError, match="alpha"):
        problem.with_alpha(0.0)


@every_loss
@intercepts
def test_only_ratios_of_sample_weights_matter(loss, intercept):
    data = make(loss, intercept, weighted=True)
    scaled = Data(**{**data.__dict__, "sample_weight": 17.3 * data.sample_weight})
    one, other = data.problem(loss), scaled.problem(loss)
    A = feasible_point(one, 1)
    for name in ("primal", "dual", "reference"):
        assert getattr(other.certificate(A), name) == pytest.approx(getattr(one.certificate(A), name), rel=1e-12)
    assert one.sample_weight.mean() == pytest.approx(1)
    uniform = Data(**{**data.__dict__, "sample_weight": np.full(6, 3.0)}).problem(loss)
    absent = Data(**{**data.__dict__, "sample_weight": None}).problem(loss)
    assert uniform.certificate(A * 0).primal == pytest.approx(absent.certificate(A * 0).primal, rel=1e-12)


@every_loss
@intercepts
def test_weight_two_is_the_row_twice(loss, intercept):
    data = make(loss, intercept)
    rows = np.array([0, 0, 1, 2, 3, 4, 5])
    twice = Data(**{**data.__dict__, "Y": data.Y[rows], "left": data.left[np.ix_(rows, rows)]}).problem(loss)
    heavy = Data(**{**data.__dict__, "sample_weight": np.array([2.0, 1, 1, 1, 1, 1])}).problem(loss)
    A = feasible_point(heavy, 2)
    one, other = heavy.certificate(A), twice.certificate(A[rows])
    assert other.primal == pytest.approx(one.primal, rel=1e-9)
    assert other.dual == pytest.approx(one.dual, rel=1e-9)
    np.testing.assert_allclose(
        twice.conjugate_prox(3 * A[rows], 0.7), heavy.conjugate_prox(3 * A, 0.7)[rows], atol=1e-9
    )
    assert twice.unit == pytest.approx(heavy.unit, rel=1e-9)


@every_loss
@intercepts
@pytest.mark.parametrize("masked", [False, True])
def test_splitting_a_node_changes_nothing(loss, intercept, masked):
    data = make(loss, intercept, weighted=True, masked=masked)
    nodes, share = np.array([0, 1, 1, 2]), np.array([1, 0.3, 0.7, 1])
    split = Data(
        **{
            **data.__dict__,
            "Y": data.Y[:, nodes],
            "right": data.right[np.ix_(nodes, nodes)],
            "points": data.points[nodes],
            "weights": data.weights[nodes] * share,
        }
    ).problem(loss)
    whole = data.problem(loss)
    A = feasible_point(whole, 3)
    one, other = whole.certificate(A), split.certificate(A[:, nodes])
    assert other.primal == pytest.approx(one.primal, rel=1e-9)
    assert other.dual == pytest.approx(one.dual, rel=1e-9)
    np.testing.assert_allclose(split.predict(A[:, nodes]), whole.predict(A)[:, nodes], atol=1e-12)
    np.testing.assert_allclose(
        split.conjugate_prox(2 * A[:, nodes], 0.4), whole.conjugate_prox(2 * A, 0.4)[:, nodes], atol=1e-9
    )


@every_loss
@intercepts
def test_mask_is_deletion(loss, intercept):
    """Rows that were observed nowhere but at some nodes, against the sum over observed entries in cvxpy atoms."""
    data = make(loss, intercept, weighted=True, masked=True)
    problem = data.problem(loss)
    A = feasible_point(problem, 4)
    assert np.all(A[np.isnan(data.Y)] == 0)
    certificate = problem.certificate(A)
    U = problem.predict(A) + certificate.intercept
    risk = total_loss(loss, data, U)
    risk = minimise(risk) if risk.variables() else risk.value
    half = 0.5 * np.sum(weights_of(data) * A * problem.predict(A))
    assert certificate.primal == pytest.approx(risk + half, rel=1e-7)
    # whatever stands at a masked entry does not matter
    junk = A + np.where(np.isnan(data.Y), 3.0, 0.0)
    np.testing.assert_allclose(problem.conjugate_prox(junk, 0.5), problem.conjugate_prox(A, 0.5), atol=1e-9)


def test_masked_column_is_a_deleted_node():
    data = make(Pinball(), intercept=True)
    Y = data.Y.copy()
    Y[:, 1] = np.nan
    gone = [0, 2]
    masked = Data(**{**data.__dict__, "Y": Y}).problem(Pinball())
    smaller = Data(
        **{
            **data.__dict__,
            "Y": Y[:, gone],
            "right": data.right[np.ix_(gone, gone)],
            "points": data.points[gone],
            "weights": data.weights[gone],
        }
    ).problem(Pinball())
    A = feasible_point(smaller, 0)
    wide = np.zeros_like(Y)
    wide[:, gone] = A
    assert masked.certificate(wide).primal == pytest.approx(smaller.certificate(A).primal, rel=1e-12)
    assert masked.certificate(wide).dual == pytest.approx(smaller.certificate(A).dual, rel=1e-12)


# -- proxes and feasibility ----------------------------------------------------------------------------------------


def conjugate_in_cvxpy(loss, A, data):
    """Σ_i s_i L_i*(−a_i) from spec 2.2–2.5, and constraints."""
    n = len(data.Y)
    s = np.ones(n) if data.sample_weight is None else n * data.sample_weight / data.sample_weight.sum()
    w = np.outer(s, data.weights) * ~np.isnan(data.Y)
    Y = np.nan_to_num(data.Y)
    value = -cp.sum(cp.multiply(w * Y, A))
    if isinstance(loss, Pinball):
        return value, [data.points - 1 <= A, data.points >= A]
    if isinstance(loss, HINGES):
        cost = np.where(Y > 0, data.points, 1 - data.points)
        return value, [cp.multiply(Y, A) >= 0, cp.multiply(Y, A) <= cost]
    if isinstance(loss, Square):
        return value + cp.sum(cp.multiply(w / 2, cp.square(A))), []
    seen = ~np.isnan(data.Y)
    norms = cp.hstack([cp.norm(cp.multiply(np.sqrt(data.weights) * seen[i], A[i]), 2) for i in range(n)])
    if isinstance(loss, Huber):
        value += cp.sum(cp.multiply(w / 2, cp.square(A)))
        return value, [norms <= loss.kappa] if loss.geometry == "norm" else [cp.abs(A) <= loss.kappa]
    sizes = s @ norms if loss.geometry == "norm" else cp.sum(cp.multiply(w, cp.abs(A)))
    value += loss.epsilon * sizes
    if isinstance(loss, EpsilonRidge):
        return value + cp.sum(cp.multiply(w / 2, cp.square(A))), []
    return value, [norms <= 1] if loss.geometry == "norm" else [cp.abs(A) <= 1]


PROXES = [
    Square(),
    Pinball(),
    LOSSES[11],
    *(
        c(v, g)
        for c, v in ((Huber, 0.3), (EpsilonRidge, 0.2), (EpsilonInsensitive, 0.2))
        for g in ("norm", "pointwise")
    ),
]


@pytest.mark.parametrize("loss", PROXES, ids=repr)
@pytest.mark.parametrize("t", [0.0, 0.3, 3.0])
@pytest.mark.parametrize("masked", [False, True])
def test_constrained_prox_is_its_definition(loss, t, masked):
    """argmin t Σ s_i L_i*(−a_i) + ½‖A − Z‖² over observed entries and Σ_i s_i a_i = 0; t = 0 is the projection."""
    data = make(loss, intercept=True, weighted=True, masked=masked, n=5)
    problem = data.problem(loss)
    Z = 1.5 * np.random.default_rng(7).normal(size=data.Y.shape)
    A = cp.Variable(data.Y.shape)
    value, domain = conjugate_in_cvxpy(loss, A, data)
    w = weights_of(data) * len(data.Y)
    seen = ~np.isnan(data.Y)
    limits = [cp.multiply(~seen, A) == 0, cp.sum(cp.multiply(w, A), axis=0) == 0, *domain]
    minimise(t * value + cp.sum(cp.multiply(w / 2, cp.square(A - Z))), limits)
    got = problem.conjugate_prox(Z, t)
    np.testing.assert_allclose(got, A.value, atol=2e-5)
    assert np.abs(problem.sample_weight @ got).max() < 1e-12
    if t == 0:
        np.testing.assert_allclose(problem.feasible(Z), A.value, atol=2e-5)


@every_loss
@intercepts
@given(seed=st.integers(0, 10**6), size=st.sampled_from([1e-8, 0.1, 1.0, 1e3]))
def test_feasible(loss, intercept, seed, size):
    problem = make(loss, intercept, weighted=True, masked=seed % 2 == 0, seed=seed % 3).problem(loss)
    Z = size * np.random.default_rng(seed).normal(size=problem.shape)
    A = problem.feasible(Z)
    assert np.all(np.isfinite(loss.conjugate(problem.Y, A, problem.measure)))
    np.testing.assert_array_equal(A, problem.cut(A))
    if intercept:
        assert np.abs(problem.sample_weight @ A).max() <= 1e-12 * max(1, np.abs(A).max())
    np.testing.assert_allclose(problem.feasible(A), A, atol=1e-9 * max(1, np.abs(A).max()))


def test_feasible_keeps_a_point_near_the_domain():
    """A prox point of a norm loss with zero rows, off the constraint by little, moves by little."""
    data = make(intercept=True)
    problem = data.problem(EpsilonInsensitive(0.5))
    A = problem.conjugate_prox(np.zeros_like(data.Y), 1.0)
    off = A + 1e-6
    assert np.abs(problem.feasible(off) - A).max() < 3e-6


# -- other arrays, and errors --------------------------------------------------------------------------------------


def strictly(data, loss):
    a = strict.asarray
    return DualProblem(
        Kronecker(Dense(a(data.left)), Dense(a(data.right))),
        loss,
        a(data.Y),
        Measure(a(data.points), a(data.weights)),
        data.alpha,
        None if data.sample_weight is None else a(data.sample_weight),
        data.intercept,
    )


@every_loss
@intercepts
@pytest.mark.parametrize("masked", [False, True])
def test_strict_arrays_equal_numpy(loss, intercept, masked):
    data = make(loss, intercept, weighted=True, masked=masked)
    one, other = data.problem(loss), strictly(data, loss)
    Z = np.random.default_rng(0).normal(size=data.Y.shape)
    A = one.feasible(Z)
    B = other.feasible(strict.asarray(Z))
    assert type(B).__module__.startswith("array_api_strict")
    np.testing.assert_allclose(np.from_dlpack(B), A, atol=1e-10)
    first, second = one.certificate(A), other.certificate(B)
    assert second.primal == pytest.approx(first.primal, rel=1e-10)
    assert second.dual == pytest.approx(first.dual, rel=1e-9)
    assert other.unit == pytest.approx(one.unit, rel=1e-8)
    np.testing.assert_allclose(np.from_dlpack(other.primal_coef(B)), one.primal_coef(A), atol=1e-9)
    np.testing.assert_allclose(np.from_dlpack(other.dual_array(other.primal_coef(B))), A, atol=1e-9)


BAD = [
    ({"Y": np.zeros((3, 6))}, r"Y must have shape \(6, 3\); got \(3, 6\)"),
    ({"alpha": 0.0}, "alpha"),
    ({"alpha": -1.0}, "alpha"),
    ({"alpha": np.nan}, "alpha"),
    ({"sample_weight": -np.ones(6)}, "sample weights must be positive"),
    ({"sample_weight": np.array([0.0, 1, 1, 1, 1, 1])}, "drop rows of weight 0"),
    ({"sample_weight": np.full(6, np.inf)}, "finite"),
    ({"sample_weight": np.ones(5)}, r"\(6,\)"),
    ({"sample_weight": np.ones((6, 1))}, r"\(6,\)"),
    ({"points": np.array([0.1, 0.5, 1.5])}, "between 0 and 1"),
]


@pytest.mark.parametrize(("change", "message"), BAD, ids=lambda v: v if isinstance(v, str) else next(iter(v)))
def test_errors(change, message):
    with pytest.raises(MercerError, match=message):
        Data(**{**make().__dict__, **change}).problem(Pinball())


def test_names_of_losses_are_refused():
    data = make()
    gram = Kronecker(Dense(data.left), Dense(data.right))
    with pytest.raises(ParameterError, match=r"DualProblem: loss must be a Loss; got 'square'.*Square\(\)"):
        DualProblem(gram, "square", data.Y, Measure(data.points, data.weights), 0.1)


def test_infinite_targets_are_refused():
    data = make()
    data.Y[2, 1] = np.inf
    with pytest.raises(MercerError, match="Y must be finite"):
        data.problem(Pinball())


def test_wrong_labels_are_refused():
    with pytest.raises(MercerError, match="labels must be -1 or \\+1"):
        make().problem(LOSSES[11])


def test_the_problem_does_not_write_on_its_data():
    data = make(masked=True, weighted=True)
    Y, s = data.Y.copy(), data.sample_weight.copy()
    problem = data.problem(Pinball())
    problem.certificate(feasible_point(problem, 0))
    np.testing.assert_array_equal(data.Y, Y)
    np.testing.assert_array_equal(data.sample_weight, s)


# -- rows that are parts of samples ---------------------------------------------------------------------------------


@intercepts
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("loss", [Square(), Huber(0.3), Pinball()], ids=repr)
def test_mass_multiplies_the_mean_of_the_losses(loss, intercept, masked):
    """mass·risk + (λ/2)‖h‖² is mass times the objective with λ/mass: λ, objective and gap are those of the former."""
    data = make(loss, intercept, weighted=True, masked=masked)
    plain = data.problem(loss).with_alpha(data.alpha / 2.5)
    gram = Kronecker(Dense(data.left), Dense(data.right))
    measure = Measure(data.points, data.weights)
    heavy = DualProblem(gram, loss, data.Y, measure, data.alpha, data.sample_weight, intercept, mass=2.5)
    A = feasible_point(plain, 0)
    np.testing.assert_allclose(heavy.predict(A), plain.predict(A))
    np.testing.assert_allclose(heavy.primal_coef(A), plain.primal_coef(A))
    one, other = plain.certificate(A), heavy.certificate(A)
    for name in ("primal", "dual", "reference", "gap"):
        assert getattr(other, name) == pytest.approx(2.5 * getattr(one, name))
    assert other.relative_gap == pytest.approx(one.relative_gap)
    assert heavy.norm(A) == pytest.approx(plain.norm(A))
    results = [select(problem, 1e-8, max_iter=50_000).solve(problem) for problem in (plain, heavy)]
    assert results[1].objective == pytest.approx(2.5 * results[0].objective, rel=1e-7)
    if loss.smooth:
        assert LBFGS(tol=1e-6).solve(heavy).objective == pytest.approx(results[1].objective, rel=1e-5)


def test_the_norm_is_that_of_the_space():
    """‖h‖² = Σ c K c of the representer coefficients."""
    data = make(weighted=True)
    problem = data.problem(Square())
    A = feasible_point(problem, 3)
    c = problem.primal_coef(A)
    assert problem.norm(A) == pytest.approx(np.sqrt(np.sum(c * (data.left @ c @ data.right))))


def test_a_mass_is_positive():
    data = make()
    gram, measure = Kronecker(Dense(data.left), Dense(data.right)), Measure(data.points, data.weights)
    with pytest.raises(MercerError, match="mass must be a finite number > 0"):
        DualProblem(gram, Square(), data.Y, measure, 1.0, mass=0.0)
