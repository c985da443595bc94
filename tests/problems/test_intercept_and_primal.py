"""The best intercept by brute force, and the primal problem by finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from cvxpy_primal import LOSSES, Data, make, reference
from scipy import optimize

from mercer.exceptions import UnsupportedError
from mercer.linalg import Dense, Kronecker
from mercer.losses import EpsilonInsensitive, EpsilonRidge, Expectile, Huber, MoreauHinge, MoreauPinball, Pinball
from mercer.measures import Measure
from mercer.problems import DualProblem, Intercept, PrimalProblem
from mercer.solvers import ADMM, select

SMOOTH = [loss for loss in LOSSES if loss.smooth]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)


def brute_force(problem, H):
    """The smallest risk over b, by a simplex search from several starts (no gradients)."""
    starts = np.random.default_rng(0).normal(size=(4, problem.shape[1]))
    options = {"xatol": 1e-10, "fatol": 1e-14, "maxiter": 4000, "maxfev": 4000}
    best = np.inf
    for start in starts:
        found = start
        for _ in range(3):  # restarts get a simplex unstuck
            found = optimize.minimize(lambda b: problem.risk(H, b), found, method="Nelder-Mead", options=options).x
        best = min(best, problem.risk(H, found))
    return best


@every_loss
@pytest.mark.parametrize("masked", [False, True])
def test_best_intercept_against_brute_force(loss, masked):
    data = make(loss, intercept=True, weighted=True, masked=masked, m=2 if not masked else 3)
    problem = data.problem(loss)
    H = 0.3 * np.random.default_rng(1).normal(size=data.Y.shape)
    b = problem.best_intercept(H)
    value = problem.risk(H, b)
    assert value <= brute_force(problem, H) * (1 + 1e-8) + 1e-12
    # and no small move in any direction helps
    rng = np.random.default_rng(2)
    for step in (1e-5, 1e-3, 0.1):
        for _ in range(20):
            assert problem.risk(H, b + step * rng.normal(size=b.shape)) >= value - 1e-12


@pytest.mark.parametrize(
    "loss", [EpsilonInsensitive(0.2), EpsilonInsensitive(0.0), Huber(0.3), EpsilonRidge(0.2)], ids=repr
)
@pytest.mark.parametrize("weighted", [False, True])
def test_best_intercept_of_norm_losses_at_the_optimum(loss, weighted):
    """Where rows sit exactly on the edge of the tube: the certificate at the solution must close."""
    from mercer.solvers import ADMM

    data = make(loss, intercept=True, weighted=weighted, n=8)
    result = ADMM(1e-9).solve(data.problem(loss))
    assert result.converged, result.message


def test_norm_intercept_in_a_large_sample():
    """The spatial median of points in R³, against Weiszfeld's iteration; ε = 0."""
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(200, 3)) ** 3
    data = Data(np.eye(200), np.eye(3), Y, np.arange(3.0), np.ones(3), 1.0, None, True)
    b = data.problem(EpsilonInsensitive(0.0)).best_intercept(np.zeros_like(Y))
    median = Y.mean(axis=0)
    for _ in range(2000):
        w = 1 / np.linalg.norm(Y - median, axis=1)
        median = w @ Y / w.sum()
    np.testing.assert_allclose(b, median, atol=1e-5)


def test_intervals_of_minimisers_give_their_midpoint():
    Y = np.array([[0.0], [1.0]])
    data = Data(np.eye(2), np.eye(1), Y, np.array([0.5]), np.ones(1), 1.0, None, True)
    for loss in (Pinball(), EpsilonInsensitive(0.1, "pointwise")):
        np.testing.assert_allclose(data.problem(loss).best_intercept(np.zeros_like(Y)), 0.5, atol=1e-9)
    flat = EpsilonRidge(1.0, "pointwise")  # zero on [0, 1]
    np.testing.assert_allclose(data.problem(flat).best_intercept(np.zeros_like(Y)), 0.5, atol=1e-9)


def test_a_unique_minimiser_is_found_in_few_passes(monkeypatch):
    """Against Brent's method node by node; the reference is independent of how brackets shrink."""
    loss, passes = MoreauHinge(0.3), []
    rng = np.random.default_rng(0)
    theta, H = np.array([0.01, 0.3, 0.9]), 2 * rng.normal(size=(80, 3))
    signs = np.where(rng.uniform(size=80) < 0.4, 1.0, -1.0)
    Y = np.broadcast_to(signs[:, None], H.shape)
    problem = Data(np.eye(80), np.eye(3), Y, theta, np.ones(3), 1.0, None, True).problem(loss)
    gradient = MoreauHinge.gradient
    monkeypatch.setattr(MoreauHinge, "gradient", lambda self, *given: passes.append(1) or gradient(self, *given))
    b = problem.best_intercept(H)
    for j, level in enumerate(theta):
        weight = np.where(signs > 0, level, 1 - level)

        def slope(b, weight=weight, j=j):
            return np.sum(-signs * np.clip((1 - signs * (H[:, j] + b)) / 0.3, 0, weight))

        assert b[j] == pytest.approx(optimize.brentq(slope, -20, 20, xtol=1e-13), abs=1e-9)
    assert len(passes) < 45


def test_an_interval_at_one_node_and_a_point_at_another():
    """The midpoint of [0.25, 0.5] at the first node, where the derivative is flat; 2 at the second."""
    Y = np.array([[0.0, 0.0], [0.75, 4.0]])
    data = Data(np.eye(2), np.eye(2), Y, np.array([0.4, 0.5]), np.ones(2), 1.0, None, True)
    b = data.problem(EpsilonRidge(0.5, "pointwise")).best_intercept(np.zeros_like(Y))
    np.testing.assert_allclose(b, [0.375, 2.0], atol=1e-9)


def test_without_an_intercept_it_is_zero():
    problem = make().problem(Pinball())
    np.testing.assert_array_equal(problem.best_intercept(np.zeros(problem.shape)), 0)


@every_loss
def test_null_model(loss):
    """The reference of relative gaps is the best constant in the sample: h = 0."""
    problem = make(loss, intercept=True, weighted=True).problem(loss)
    value, b = problem.null_model
    assert value == pytest.approx(problem.risk(np.zeros(problem.shape), b))
    assert problem.certificate(np.zeros(problem.shape)).reference == value


# -- the primal problem --------------------------------------------------------------------------------------------


def primal_of(loss, intercept=True, masked=False):
    data, optimum = reference(loss, intercept, weighted=True, masked=masked)
    problem = data.problem(loss)
    return PrimalProblem(problem, problem.gram.spectral()), data, optimum


@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
@pytest.mark.parametrize("masked", [False, True])
def test_primal_gradient_by_finite_differences(loss, masked):
    primal, _, _ = primal_of(loss, masked=masked)
    rng = np.random.default_rng(0)
    B, b = rng.normal(size=primal.shape), rng.normal(size=3)
    value, gradient, slope = primal.value_and_gradient(B, b)
    step = 1e-6
    for _ in range(5):
        dB, db = rng.normal(size=B.shape), rng.normal(size=3)
        up, down = (primal.value_and_gradient(B + s * step * dB, b + s * step * db)[0] for s in (1, -1))
        expected = np.sum(gradient * dB) + np.sum(slope * db)
        assert (up - down) / (2 * step) == pytest.approx(expected, rel=1e-5, abs=1e-8)
    H = primal.predict(B)
    assert value == pytest.approx(primal.dual.risk(H, b) + primal.dual.alpha / 2 * np.sum(B**2), rel=1e-12)


@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
@pytest.mark.parametrize("intercept", [False, True])
def test_primal_certificate_is_a_bound(loss, intercept):
    """Without a conjugate: D ≤ P* ≤ P at any point, and both close at the optimum."""
    primal, _, (value, H, _) = primal_of(loss, intercept)
    rng = np.random.default_rng(1)
    best = primal.spectral.analyse(H) / primal.root
    for size in (0.0, 1e-3, 0.1, 1.0):
        B = best + size * rng.normal(size=best.shape)
        certificate, A = primal.certificate(B)
        assert certificate.primal >= value * (1 - 1e-6)
        assert certificate.dual <= value * (1 + 1e-6)
        assert A.shape == primal.dual.shape
        if size == 0:
            assert certificate.relative_gap < 1e-3
            exact = primal.dual.certificate(primal.dual.feasible(A))
            assert exact.relative_gap < 1e-4


@pytest.mark.parametrize("loss", [Expectile(), MoreauPinball(0.3)], ids=repr)
def test_primal_and_dual_certificates_agree(loss):
    """Without an intercept the two are the same numbers: Fenchel's equality replaces the conjugate."""
    primal, _, _ = primal_of(loss, intercept=False)
    B = np.random.default_rng(3).normal(size=primal.shape)
    certificate, A = primal.certificate(B)
    exact = primal.dual.certificate(A)
    assert certificate.primal == pytest.approx(exact.primal, rel=1e-10)
    assert certificate.dual == pytest.approx(exact.dual, rel=1e-10)


def test_flags_of_numpy_are_flags():
    data = make(Huber(0.5))
    gram, measure = Kronecker(Dense(data.left), Dense(data.right)), Measure(data.points, data.weights)
    for flag in (np.True_, np.False_, True, False):
        problem = DualProblem(gram, Huber(0.5), data.Y, measure, 0.1, None, flag)
        assert problem.fit_intercept is bool(flag)
        assert select(problem).solve(problem).converged


@pytest.mark.parametrize("intercept", [Intercept(design=np.ones((1, 3))), Intercept(target=np.ones(3))])
def test_what_is_best_with_a_design_or_a_target_is_for_a_subclass_to_say(intercept):
    data = make(Huber(0.5))
    gram, measure = Kronecker(Dense(data.left), Dense(data.right)), Measure(data.points, data.weights)
    problem = DualProblem(gram, Huber(0.5), data.Y, measure, 0.1, None, intercept)
    with pytest.raises(UnsupportedError, match="for a subclass to say"):
        ADMM().solve(problem)
