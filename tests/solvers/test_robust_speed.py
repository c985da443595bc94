"""Losses like the square loss: few steps from the ridge fit, early looks at the gap, and the solver that suits λ."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.kernels import Gaussian, Laplacian
from mercer.losses import EpsilonRidge, Huber, Pinball, Square
from mercer.measures import Points
from mercer.operator_valued import Decomposable
from mercer.problems import DualProblem
from mercer.solvers import ADMM, ClosedForm, ProximalGradient, SemismoothNewton, select
from mercer.solvers.admm import QUICK, SLOW, _Looks, like_square


def curves(loss, alpha, *, intercept=False, n=120, m=30, scale=1.0, rough=False):
    rng = np.random.default_rng(0)
    X, theta = rng.uniform(size=(n, 2)), np.linspace(0, 1, m)
    Y = np.sin(2 * np.pi * (theta + X[:, :1])) + 0.2 * rng.normal(size=(n, m))
    Y[: n // 10] = 3 * rng.normal(size=(n // 10, 1)) * np.cos(3 * theta)
    measure = Points(theta, np.full(m, 1 / m)).build()
    kernels = (Laplacian(2.0), Laplacian(3.0)) if rough else (Gaussian(5.0), Gaussian(10.0))
    gram = Decomposable(*kernels).bind(measure).gram(X)
    return DualProblem(gram, loss, scale * Y, measure, alpha, fit_intercept=intercept)


def thresholds(alpha, geometry, intercept, shares):
    """Quantiles of the residuals of the ridge fit, on the whole a range that users would choose from."""
    problem = curves(Square(), alpha, intercept=intercept)
    residuals = ClosedForm().solve(problem).coef
    sizes = problem.measure.norm(residuals) if geometry == "norm" else np.abs(residuals)
    return [float(np.quantile(sizes, share)) for share in shares]


@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
@pytest.mark.parametrize("geometry", ["norm", "pointwise"])
@pytest.mark.parametrize("alpha", [1e-2, 1e-5])
def test_huber_takes_tens_of_steps(alpha, geometry, intercept):
    for kappa in thresholds(alpha, geometry, intercept, (0.5, 0.95)):
        result = ADMM(1e-4).solve(curves(Huber(kappa, geometry), alpha, intercept=intercept))
        assert result.converged
        assert result.n_iter <= 30


@pytest.mark.parametrize("geometry", ["norm", "pointwise"])
@pytest.mark.parametrize(("alpha", "limit"), [(1e-2, 60), (1e-4, 60), (1e-6, 500)])
def test_epsilon_ridge_takes_few_steps(alpha, limit, geometry):
    for epsilon in thresholds(alpha, geometry, False, (0.3, 0.9)):
        result = ADMM(1e-6).solve(curves(EpsilonRidge(epsilon, geometry), alpha))
        assert result.converged
        assert result.n_iter <= limit


@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
@pytest.mark.parametrize("geometry", ["norm", "pointwise"])
def test_ridge_is_found_at_the_first_look(geometry, intercept):
    top = thresholds(1e-3, geometry, intercept, (1.0,))[0]
    ridge = ClosedForm().solve(curves(Square(), 1e-3, intercept=intercept))
    for loss in (Huber(1.01 * top, geometry), EpsilonRidge(0.0, geometry)):
        result = ADMM(1e-6).solve(curves(loss, 1e-3, intercept=intercept))
        assert result.n_iter == QUICK["first"]
        assert abs(result.objective - ridge.objective) <= 2e-6 * ridge.objective


@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
@pytest.mark.parametrize("loss", [Huber, EpsilonRidge])
def test_steps_do_not_depend_on_the_unit_of_y(loss, intercept):
    results = [
        ADMM(1e-5).solve(curves(loss(0.2 * scale), 1e-3, intercept=intercept, scale=scale)) for scale in (1.0, 2.0**10)
    ]
    assert results[0].n_iter == results[1].n_iter
    assert np.allclose(results[1].coef, 2.0**10 * results[0].coef, rtol=1e-6, atol=1e-8)


def test_a_warm_start_is_not_lost():
    problem = curves(Huber(0.2), 1e-4)
    first = ADMM(1e-6).solve(problem)
    again = ADMM(1e-8).solve(problem, init=first.coef)
    cold = ADMM(1e-8).solve(problem)
    assert again.converged
    assert again.n_iter < cold.n_iter


# -- when to look ------------------------------------------------------------------------------------------------------


def looks_of(decay, tol, settings, limit=5000):
    """Steps at which a gap of ``decay(n)`` is looked at until it is within tol."""
    looks, seen = _Looks(0, tol, **settings), []
    while not seen or (decay(seen[-1]) > tol and seen[-1] < limit):
        seen.append(looks.following)
        looks.plan(seen[-1], decay(seen[-1]))
    return seen


@pytest.mark.parametrize("rate", [0.5, 0.9, 0.97, 0.99])
@pytest.mark.parametrize("settings", [QUICK, SLOW], ids=["quick", "slow"])
def test_few_looks_and_few_steps_too_many(rate, settings):
    needed = int(np.ceil(np.log(1e-4) / np.log(rate)))
    seen = looks_of(lambda n: rate**n, 1e-4, settings)
    assert seen[-1] <= max(1.06 * needed, needed + settings["first"])
    assert len(seen) <= 4 + needed // 20 + np.log(needed) / np.log(1 + 1 / settings["share"])


def test_waits_are_bounded_where_the_gap_does_not_fall():
    seen = looks_of(lambda n: 1.0 + 0.5 * np.sin(n), 1e-4, SLOW, limit=2000)
    assert max(np.diff(seen)) == 50


# -- which solver ------------------------------------------------------------------------------------------------------


def test_like_square_is_said_of_curves_only():
    assert like_square(curves(Huber(0.2), 1e-3))
    assert like_square(curves(EpsilonRidge(0.2, "pointwise"), 1e-3))
    assert not like_square(_pinball())


def _pinball():
    rng = np.random.default_rng(0)
    measure = Points(np.linspace(0.1, 0.9, 5), np.full(5, 0.2)).build()
    X = rng.normal(size=(20, 1))
    gram = Decomposable(Gaussian(1.0), Gaussian(1.0)).bind(measure).gram(X)
    return DualProblem(gram, Pinball(), np.broadcast_to(X, (20, 5)), measure, 1e-2)


def test_pointwise_huber_takes_no_interior_point_method():
    assert type(select(curves(Huber(0.2, "pointwise"), 1e-3), 1e-6)) is ADMM
    assert type(select(_pinball(), 1e-6)) is SemismoothNewton


@pytest.mark.parametrize(
    ("alpha", "rough", "intercept", "expected"),
    [
        (0.1, True, False, ProximalGradient),
        (0.1, True, True, ADMM),
        (0.1, False, False, ADMM),
        (1e-5, True, False, ADMM),
    ],
)
def test_proximal_gradient_where_a_few_products_do(alpha, rough, intercept, expected):
    problem = curves(EpsilonRidge(0.1), alpha, intercept=intercept, n=1200, m=20, rough=rough)
    assert type(select(problem, 1e-4)) is expected


def test_proximal_gradient_looks_early_without_an_intercept():
    problem = curves(EpsilonRidge(0.1), 1.0)
    result = ProximalGradient(1e-4).solve(problem)
    assert result.converged
    assert result.n_iter < ProximalGradient().check_every
    assert result.gap == pytest.approx(problem.certificate(result.coef).gap, rel=1e-6, abs=1e-14)
