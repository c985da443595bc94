"""Problems with slopes against cvxpy on dense double-representer matrices, and the promises of a dual problem."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace

import cvxpy as cp
import cvxpy_primal
import numpy as np
import pytest

from mercer.exceptions import DataError, UnsupportedError
from mercer.kernels import Gaussian
from mercer.linalg import Dense, Kronecker
from mercer.losses import CostSensitiveHinge, Expectile, MoreauPinball, Pinball, WeightedHuber
from mercer.measures import Measure
from mercer.operator_valued import Decomposable
from mercer.problems import DualProblem, monotone_problem
from mercer.solvers import ADMM, ClosedForm, InteriorPoint, ProximalGradient, SemismoothNewton, explain, plan, select

SOLVERS = [ADMM(tol=1e-6, max_iter=100_000), InteriorPoint(tol=1e-6), SemismoothNewton(tol=1e-6)]
both_solvers = pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: type(s).__name__)
INF = np.inf


def double_gram(x, points, slopes, gamma_x, gamma):
    """K_X and [[k, ∂₂k], [∂₁k, ∂₁∂₂k]] of Gaussian kernels, written out."""
    left = np.exp(-gamma_x * (x[:, None] - x) ** 2)

    def blocks(s, t):
        delta = s[:, None] - t
        k = np.exp(-gamma * delta**2)
        return k, 2 * gamma * delta * k, (2 * gamma - 4 * gamma**2 * delta**2) * k

    ee, ed, dd = blocks(points, points)[0], blocks(points, slopes)[1], blocks(slopes, slopes)[2]
    return left, np.block([[ee, ed], [ed.T, dd]])


def data(loss=None, weighted=False, extra=0, n=6, seed=0, alpha=3e-3):
    """A small problem on which quantiles cross; ``extra`` rows carry slopes only."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(size=n))
    points, weights = np.array([0.85, 0.1, 0.5]), np.array([0.3, 0.4, 0.6])  # unsorted on purpose
    slopes, slope_weights = np.array([0.15, 0.45, 0.55, 0.84]), np.array([0.3, 0.2, 0.4, 0.1])
    y = np.sin(5 * x) + 0.8 * rng.normal(size=n)
    if isinstance(loss, CostSensitiveHinge):
        y = np.where(np.arange(n) % 2, 1.0, -1.0)
    rows = np.concatenate([x, rng.uniform(size=extra)])
    left, right = double_gram(rows, points, slopes, 15.0, 6.0)
    return SimpleNamespace(
        left=left,
        right=right,
        Y=np.repeat(y[:, None], 3, 1),
        points=points,
        weights=weights,
        slopes=slopes,
        slope_weights=slope_weights,
        alpha=alpha,
        sample_weight=rng.uniform(0.5, 3.0, n) if weighted else None,
        rows=rows,
        n_components=1,
    )


def problem_of(d, loss, price, intercept=True, scale=1.0, origin=0.0):
    return monotone_problem(
        Kronecker(Dense(d.left), Dense(d.right)),
        loss,
        d.Y,
        Measure(d.points, d.weights),
        d.alpha,
        Measure(d.slopes, d.slope_weights),
        price,
        scale * np.ones(len(d.slopes)),
        d.sample_weight,
        intercept,
        origin,
    )


def slopes_of(b, points, slopes):
    """Slopes of the piecewise linear b, cell by cell; b may be a cvxpy variable."""
    order = np.argsort(points)
    found = []
    for tau in slopes:
        j = min(max(np.searchsorted(points[order], tau, side="right") - 1, 0), len(points) - 2)
        low, high = order[j], order[j + 1]
        found.append((b[high] - b[low]) / (points[high] - points[low]))
    return found


def reference(d, loss, price, intercept=True):
    """The optimum of min Σw ℓ + (λ/2)‖h‖² + p Σ v (−∂_θ(h + b))₊ in cvxpy, with slopes of h + b at its solution."""
    (n, m), k = d.Y.shape, len(d.slopes)
    B, b = cp.Variable((len(d.left), m + k)), cp.Variable(m)
    G = cvxpy_primal.factor(d.left) @ B @ cvxpy_primal.factor(d.right).T
    effect = cp.hstack([*(b[j] for j in range(m)), *slopes_of(b, d.points, d.slopes)])
    F = G + np.ones((len(d.left), 1)) @ cp.reshape(effect, (1, m + k), order="C")
    s = np.ones(n) if d.sample_weight is None else d.sample_weight
    share = np.concatenate([s / s.sum(), np.full(len(d.left) - n, 1 / n)])
    objective = cvxpy_primal.total_loss(loss, d, F[:n, :m]) + d.alpha / 2 * cp.sum_squares(B)
    constraints = [] if intercept else [b == 0]
    if np.isinf(price):
        constraints.append(F[:, m:] >= 0)
    else:
        objective += price * cp.sum(cp.multiply(np.outer(share, d.slope_weights), cp.pos(-F[:, m:])))
    value = cvxpy_primal.minimise(objective, constraints)
    return value, F.value[:n, :m], F.value[:, m:]


@cache
def known(loss_index, price, intercept, weighted, extra):
    loss = LOSSES[loss_index]
    d = data(loss, weighted, extra)
    return d, loss, reference(d, loss, price, intercept)


LOSSES = [Pinball(), CostSensitiveHinge(), Expectile(), MoreauPinball(0.2), WeightedHuber(0.3)]


def fitted(problem, result):
    """Values and slopes of h + b."""
    n, m = problem.values.shape
    F = problem.predict(result.coef)
    F = F if problem.intercept is None else F + problem.intercept.effect(result.intercept)
    return F[:n, :m], F[:, m:]


def agrees(problem, result, expected, d, rtol=3e-6):
    """Objective, certificate and model are those of cvxpy; λ-strong convexity turns the gap into a distance."""
    value, values, _ = expected
    assert result.converged
    assert result.objective == pytest.approx(value, rel=rtol)
    assert result.objective - result.gap <= value * (1 + 1e-7)
    assert result.objective >= value * (1 - 1e-7)
    found, slopes = fitted(problem, result)
    own = cvxpy_primal.minimise(
        cvxpy_primal.total_loss(problem.loss.loss, d, found)
    )  # the risk in words of the reference
    n = problem.values.shape[0]
    half_norm = problem.alpha / 2 * problem.norm(result.coef) ** 2
    fall = np.maximum(-slopes, 0)
    if np.all(np.isinf(problem.loss.price)):
        assert fall.max() <= 1e-9 * np.abs(slopes).max()
        penalty = 0.0
    else:
        s = np.ones(n) if d.sample_weight is None else d.sample_weight
        share = np.concatenate([s / s.sum(), np.full(len(slopes) - n, 1 / n)])
        price = problem.loss.price[0] if problem.intercept is None else problem.intercept.price
        penalty = price * share @ fall @ d.slope_weights
    assert own + half_norm + penalty == pytest.approx(result.objective, rel=1e-9)
    np.testing.assert_allclose(found - found.mean(axis=0), values - values.mean(axis=0), atol=0.02)


@both_solvers
@pytest.mark.parametrize("extra", [0, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("price", [0.02, INF])
def test_pinball_is_that_of_cvxpy(solver, price, weighted, extra):
    d, loss, expected = known(0, price, True, weighted, extra)
    problem = problem_of(d, loss, price)
    result = solver.solve(problem)
    agrees(problem, result, expected, d)
    free = DualProblem(
        Kronecker(Dense(d.left[:6, :6]), Dense(d.right[:3, :3])),
        loss,
        d.Y,
        Measure(d.points, d.weights),
        d.alpha,
        d.sample_weight,
        True,
    )
    assert expected[0] > 1.01 * InteriorPoint().solve(free).objective  # the slopes matter


@both_solvers
@pytest.mark.parametrize("price", [0.02, 0.5])
def test_without_an_intercept(solver, price):
    d, loss, expected = known(0, price, False, True, 2)
    problem = problem_of(d, loss, price, intercept=False)
    result = solver.solve(problem)
    agrees(problem, result, expected, d)
    np.testing.assert_array_equal(result.intercept, 0)


@pytest.mark.parametrize("price", [0.02, INF])
@pytest.mark.parametrize("index", range(1, 5), ids=lambda i: repr(LOSSES[i]))
def test_other_losses_are_those_of_cvxpy(index, price):
    d, loss, expected = known(index, price, True, True, 2)
    problem = problem_of(d, loss, price)
    agrees(problem, SOLVERS[0].solve(problem), expected, d)
    if isinstance(loss, CostSensitiveHinge):
        agrees(problem, SOLVERS[1].solve(problem), expected, d)
    else:
        with pytest.raises(UnsupportedError, match="Use ADMM"):
            SOLVERS[1].solve(problem)


@both_solvers
@pytest.mark.parametrize("scale", [0.3, 40.0])
def test_scale_is_a_preconditioner(solver, scale):
    for price in (0.02, INF):
        d, loss, expected = known(0, price, True, False, 0)
        problem = problem_of(d, loss, price, scale=scale * np.array([1.0, 0.5, 2.0, 1.5]))
        agrees(problem, solver.solve(problem), expected, d)


# --- printed numbers


@both_solvers
def test_oracle_o10(solver):
    x, theta = np.array([0, 0.3, 0.7, 1]), np.array([0.1, 0.5, 0.9])
    y = np.array([0.2, -0.6, 0.5, 0.1])
    left, right = double_gram(x, theta, theta, 20.0, 6.0)
    Y, measure = np.repeat(y[:, None], 3, 1), Measure(theta, np.array([0.3, 0.4, 0.3]))
    free = DualProblem(Kronecker(Dense(left), Dense(right[:3, :3])), Pinball(), Y, measure, 1e-3)
    result = solver.solve(free)
    assert result.objective == pytest.approx(0.0007466, abs=6e-8)
    slopes = left @ free.primal_coef(result.coef) @ right[:3, 3:]
    assert slopes.min() == pytest.approx(-0.49209, abs=3e-3)
    for price in (0.005, 1.0):
        problem = monotone_problem(
            Kronecker(Dense(left), Dense(right)),
            Pinball(),
            Y,
            measure,
            1e-3,
            Measure(theta, np.full(3, 1 / 3)),
            price,
            np.full(3, 12.0),
        )
        result = solver.solve(problem)
        assert result.objective == pytest.approx(0.0008135, abs=6e-8)
        assert fitted(problem, result)[1].min() == pytest.approx(0, abs=2e-4)


def test_the_penalty_is_exact_beyond_a_finite_price():
    d = data()
    solver = SOLVERS[1]
    prices = [1e-3, 0.01, 0.3, 3.0, 300.0]
    objectives = [solver.solve(problem_of(d, Pinball(), price)).objective for price in prices]
    hard = solver.solve(problem_of(d, Pinball(), INF))
    assert objectives[0] < 0.99 * objectives[1]
    assert objectives[1] < 0.99 * objectives[2]
    np.testing.assert_allclose(objectives[2:], hard.objective, rtol=1e-6)
    dual = hard.coef[:, 3:]
    assert dual.max() < 0.3  # the price beyond which nothing changes is the largest multiplier


# --- the promises of a dual problem


def points_near(problem, rng, count=9):
    for size in np.geomspace(0.01, 100, count):
        yield size * rng.normal(size=problem.shape)


@pytest.mark.parametrize("extra", [0, 3])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("price", [0.05, INF])
def test_feasible_arrays_are_feasible_and_their_gap_is_not_negative(loss, price, extra):
    rng = np.random.default_rng(1)
    d = data(loss, weighted=True, extra=extra)
    problem = problem_of(d, loss, price, scale=np.array([1.0, 0.5, 2.0, 1.5]))
    n, m, scale = 6, 3, np.array([1.0, 0.5, 2.0, 1.5])
    best = ADMM(tol=1e-2).solve(problem)
    lower = best.objective - best.gap
    for Z in points_near(problem, rng):
        kept = Z.copy()
        A = problem.feasible(Z)
        np.testing.assert_array_equal(Z, kept)
        assert np.all(A[:, m:] >= 0)
        assert np.all(A[:, m:] <= price * scale)
        np.testing.assert_array_equal(A[n:, :m], 0)
        assert np.all(np.isfinite(loss.conjugate(d.Y, A[:n, :m], Measure(d.points, d.weights))))
        # for all b: ⟨A, b + slopes of b⟩ = 0, in weights that share nothing with the problem's
        s = np.concatenate([d.sample_weight / d.sample_weight.sum(), np.full(extra, 1 / n)])
        for b in np.eye(m):
            effect = np.concatenate([b, slopes_of(b, d.points, d.slopes)])
            weights = np.concatenate([d.weights, d.slope_weights / scale])
            assert abs((s @ A) @ (weights * effect)) <= 1e-10 * (1 + np.abs(A).max())
        certificate = problem.certificate(A)
        assert certificate.primal >= certificate.dual
        assert certificate.primal >= lower * (1 - 1e-9)
        assert certificate.dual <= best.objective * (1 + 1e-9)
        if np.isinf(price):
            F = problem.predict(A) + problem.intercept.effect(certificate.intercept)
            assert F[:, m:].min() >= -1e-9 * np.abs(F[:, m:]).max()


def test_feasible_keeps_what_is_feasible():
    for price in (0.05, INF):
        problem = problem_of(data(weighted=True, extra=3), Pinball(), price)
        A = SOLVERS[1].solve(problem).coef
        np.testing.assert_allclose(problem.feasible(A), A, atol=1e-9)


def test_sums_that_no_values_can_balance_are_shrunk():
    problem = problem_of(data(), Pinball(), INF)
    A = np.zeros(problem.shape)
    A[:, 3:] = 1e6
    found = problem.feasible(A)
    assert np.isfinite(problem.certificate(found).gap)
    np.testing.assert_allclose(problem.intercept.moment(problem, found), 0, atol=1e-9)


def test_the_intercept_of_a_certificate_is_the_best_of_those_it_is_given():
    problem = problem_of(data(), Pinball(), INF)
    best = SOLVERS[1].solve(problem)
    A = best.coef
    assert problem.certificate(A, b=best.intercept).primal <= problem.certificate(A).primal
    assert problem.certificate(A, b=best.intercept + 100).primal == problem.certificate(A).primal
    falling = -100 * problem.measure.locations[:3]
    repaired = problem.certificate(A, b=falling)
    assert np.isfinite(repaired.primal)


def test_steeper_adds_slope_in_cells_and_keeps_the_mean():
    problem = problem_of(data(), Pinball(), INF)
    b = np.array([3.0, 1.0, 2.0])  # at 0.85, 0.1, 0.5
    found = problem.intercept.steeper(b, np.array([0.2, 0.3, 0.6]), np.array([1.0, 5.0, 2.0]))
    before = np.array(slopes_of(b, problem.measure.locations[:3], [0.3, 0.6]))
    after = np.array(slopes_of(found, problem.measure.locations[:3], [0.3, 0.6]))
    np.testing.assert_allclose(after - before, [5.0, 2.0])
    weights = problem.measure.weights[:3]
    assert weights @ found == pytest.approx(weights @ b)
    np.testing.assert_array_equal(problem.intercept.steeper(b, np.array([0.2]), np.zeros(1)), b)


@both_solvers
@pytest.mark.parametrize("price", [0.02, INF])
def test_splitting_a_node_changes_nothing(solver, price):
    d = data(weighted=True)
    whole = solver.solve(problem_of(d, Pinball(), price))
    index = np.array([0, 1, 2, 1, 3, 4, 5, 6])
    d.right = d.right[np.ix_(index, index)]
    d.weights = d.weights[[0, 1, 2, 1]] * np.array([1, 0.25, 1, 0.75])
    d.points, d.Y = d.points[[0, 1, 2, 1]], np.repeat(d.Y[:, :1], 4, 1)
    split = solver.solve(problem_of(d, Pinball(), price))
    assert split.objective == pytest.approx(whole.objective, rel=1e-6)
    problem = problem_of(data(weighted=True), Pinball(), price)
    other = problem_of(d, Pinball(), price)
    (values, slopes), (found, found_slopes) = fitted(problem, whole), fitted(other, split)
    np.testing.assert_allclose(found[:, :3] - found[:, :3].mean(0), values - values.mean(0), atol=2e-2)
    np.testing.assert_allclose(found_slopes - found_slopes.mean(0), slopes - slopes.mean(0), atol=0.1)


@both_solvers
def test_a_slope_split_in_two_and_a_row_written_twice_change_nothing(solver):
    for price in (0.02, INF):
        d = data()
        whole = solver.solve(problem_of(d, Pinball(), price)).objective
        twice = data()
        index = [0, 1, 2, 3, 4, 5, 6, 4]
        twice.right = d.right[np.ix_(index, index)]
        twice.slopes = d.slopes[[0, 1, 2, 3, 1]]
        twice.slope_weights = d.slope_weights[[0, 1, 2, 3, 1]] * np.array([1, 0.3, 1, 1, 0.7])
        rows = [0, 1, 2, 3, 4, 5, 2]
        twice.left, twice.Y = d.left[np.ix_(rows, rows)], d.Y[rows]
        twice.sample_weight = np.array([1, 1, 0.4, 1, 1, 1, 0.6])
        assert solver.solve(problem_of(twice, Pinball(), price)).objective == pytest.approx(whole, rel=2e-6)


def test_the_kernel_is_that_of_the_decomposable_one():
    d = data(extra=2)
    bound = Decomposable(Gaussian(15.0), Gaussian(6.0)).bind(Measure(d.points, d.weights), d.slopes[:, None])
    gram = bound.gram(d.rows[:, None])
    np.testing.assert_allclose(gram.left.to_dense(), d.left, atol=1e-13)
    np.testing.assert_allclose(gram.right.to_dense(), d.right, atol=1e-12)


def test_a_perfect_intercept_is_the_model():
    d = data()
    d.Y = np.full((6, 3), 2.0)
    for price in (0.5, INF):
        problem = problem_of(d, Pinball(), price)
        for solver in SOLVERS:
            result = solver.solve(problem)
            assert result.gap == result.objective == 0
            np.testing.assert_allclose(result.intercept, np.full(3, 2.0))
            np.testing.assert_array_equal(problem.predict(result.coef), 0)


def test_warm_starts_are_used():
    for solver in SOLVERS:
        for price in (0.02, INF):
            problem = problem_of(data(), Pinball(), price)
            first = solver.replace(tol=1e-6).solve(problem)
            again = solver.replace(tol=1e-4).solve(problem, init=first.coef)
            assert again.converged
            assert again.n_iter < first.n_iter


# --- refusals and choice


def test_an_infinite_price_needs_an_intercept():
    with pytest.raises(DataError, match="infinite price needs an intercept"):
        problem_of(data(), Pinball(), INF, intercept=False)


def test_other_solvers_refuse():
    problem = problem_of(data(), Pinball(), 1.0)
    for solver in (ProximalGradient(), ClosedForm()):
        with pytest.raises(UnsupportedError, match="Use ADMM"):
            solver.solve(problem)


def test_a_plan_keeps_what_the_choice_has_computed(monkeypatch):
    problem = problem_of(data(), Pinball(), INF)
    planned = plan("auto", problem, 1e-3)
    assert isinstance(planned.solver, InteriorPoint)
    monkeypatch.setattr(type(problem.gram), "_decompose", None)  # no other decomposition is made
    assert planned.solve().converged
    assert problem.gram._spectral is None


def test_choice_of_a_solver():
    assert isinstance(select(problem_of(data(), Pinball(), INF)), InteriorPoint)
    assert isinstance(select(problem_of(data(), Expectile(), INF)), ADMM)
    assert "-> slopes that must not be negative" in explain(problem_of(data(), Pinball(), INF))
    assert isinstance(select(problem_of(data(), Pinball(), 1.0)), SemismoothNewton)


def test_another_loss_keeps_the_slopes():
    d = data()
    problem = problem_of(d, Pinball(), INF).with_loss(MoreauPinball(0.2))
    expected = problem_of(d, MoreauPinball(0.2), INF)
    assert problem.loss.price.tolist() == expected.loss.price.tolist()
    assert problem.null_model[0] == expected.null_model[0]
    found, other = (ADMM(tol=1e-6).solve(each) for each in (problem, expected))
    assert found.objective == pytest.approx(other.objective, rel=1e-9)
    assert fitted(problem, found)[1].min() >= -1e-9


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_the_best_intercept_meets_the_constraints_in_floating_point(offset):
    rng = np.random.default_rng(8)
    d = data()
    d.points = np.array([0.5, 0.1, 0.5 + 1e-7])  # differences of b over a narrow cell lose digits
    d.slopes = np.array([0.15, 0.45, 0.5 + 3e-8, 0.5 + 7e-8])
    problem = problem_of(d, Pinball(), np.inf)
    for _ in range(200):
        H = rng.normal(size=problem.shape) * 10.0 ** rng.integers(-6, 7)
        b = problem.best_intercept(H + offset * np.array([1, 1, 1, 0, 0, 0, 0]))
        assert np.min(H[:, 3:] + problem.effect(b)[3:]) >= 0


@pytest.mark.parametrize("price", [0.5, np.inf])
def test_certificates_are_those_of_the_intercept_that_is_stored(price):
    """b + 1e12 rounds b by 1e-4, which shows in slopes: they cost what they have then, or stay above 0."""
    d, origin = data(), 1e12
    problem = problem_of(d, Pinball(), price, origin=origin)
    A = ADMM(tol=1e-3).solve(problem).coef
    H = problem.predict(A)
    certificate = problem.certificate(A)
    b = (certificate.intercept + origin) - origin  # what a user finds
    m = d.Y.shape[1]
    slopes = H[:, m:] + slopes_of(b, d.points, d.slopes)
    if np.isinf(price):
        assert np.min(slopes) >= 0
    else:
        np.testing.assert_array_equal(certificate.intercept, b)
        assert certificate.primal == pytest.approx(problem.risk(H, b) + problem.share / 2 * problem.inner(A, H))


def test_a_trivial_problem_has_an_intercept_that_rises_to_the_last_digit():
    d = data()
    d.Y = np.full_like(d.Y, 0.7) * (1 + 1e-16 * np.arange(3))
    result = ADMM().solve(problem_of(d, Pinball(), 0.5))
    assert result.gap == 0
    assert np.all(np.diff(result.intercept[np.argsort(d.points)]) >= 0)
    rising = problem_of(d, Pinball(), 0.5).intercept.tidied(np.array([1.0, 2.0 + 1e-15, 2.0]))  # nodes 0.85, 0.1, 0.5
    np.testing.assert_array_equal(rising, [2.0 + 1e-15, 2.0 + 1e-15, 2.0 + 1e-15])
