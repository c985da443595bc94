"""Waves with bounded coefficients: against cvxpy, by their certificate, and consistent as they are said to be."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from mercer.exceptions import DataError, MercerError
from mercer.features import RandomFourier
from mercer.guarantees import consistency_bound
from mercer.kernels import Gaussian, Linear
from mercer.losses import Expectile, Huber, Norm, Pinball, Square
from mercer.measures import Measure, Points
from mercer.operator_valued import CurlFree
from mercer.solvers import BoundedWaves

RNG = np.random.default_rng(0)
N, D = 60, 20
X = RNG.uniform(-1, 1, size=(N, 2))
Y = np.sin(3 * X[:, 0]) + 0.2 * RNG.normal(size=N)
WEIGHT = RNG.uniform(0.5, 2, size=N)
WAVES = RandomFourier(D, "iid", random_state=0).bind(Gaussian(2.0), X)
LEVELS = Points([0.1, 0.5, 0.9], [0.3, 0.4, 0.3]).build()
FACTOR = np.linalg.cholesky(Gaussian(3.0)(LEVELS.points) + 1e-9 * np.eye(3))
PLANE, ONE = Measure(np.arange(2.0), np.ones(2)), Measure(np.zeros((1, 1)), np.ones(1))
FIELD = RandomFourier(D, "iid", random_state=0).bind(CurlFree(Gaussian(1.0)), X)


def by_cvxpy(loss, bound):
    """The least mean loss, blocks of cosine and sine within M/√D."""
    phi, C = WAVES.features(X), cp.Variable((2 * D, 3))
    rest, theta = Y[:, None] - phi @ C @ FACTOR.T, LEVELS.locations[None, :]
    each = LEVELS.weights[None, :] * (WEIGHT / WEIGHT.sum())[:, None]
    if isinstance(loss, Pinball):
        values = cp.multiply(theta, cp.pos(rest)) + cp.multiply(1 - theta, cp.neg(rest))
    else:
        values = cp.square(rest) / 2
    within = [cp.norm(cp.hstack([C[j], C[D + j]])) <= bound / np.sqrt(D) for j in range(D)]
    return cp.Problem(cp.Minimize(cp.sum(cp.multiply(each, values))), within).solve()


@pytest.mark.parametrize("bound", [0.5, 5.0])
@pytest.mark.parametrize("loss", [Pinball(), Square()], ids=["pinball", "square"])
def test_against_cvxpy(loss, bound):
    fit = BoundedWaves(WAVES, LEVELS, loss, bound, FACTOR, tol=1e-4).fit(X, Y, WEIGHT)
    best = by_cvxpy(loss, bound)
    assert fit.converged
    assert best * (1 - 1e-6) <= fit.objective <= best * (1 + 2e-4)


@pytest.mark.parametrize("loss", [Pinball(), Expectile(), Huber(0.3), Norm()], ids=lambda loss: type(loss).__name__)
def test_objective_and_bound_are_those_of_the_definition(loss):
    solver = BoundedWaves(WAVES, LEVELS, loss, 2.0, FACTOR)
    fit = solver.fit(X, Y, WEIGHT)
    values = WAVES.features(X) @ fit.coef @ FACTOR.T
    np.testing.assert_allclose(fit.predict(X), values)
    mean = WEIGHT @ loss.value(np.tile(Y[:, None], 3), values, LEVELS) / WEIGHT.sum()
    assert fit.objective == pytest.approx(mean)
    assert fit.relative_gap <= 1e-3
    sizes = np.sqrt(np.sum(fit.coef[:D] ** 2 + fit.coef[D:] ** 2, axis=1))
    assert sizes.max() <= 2.0 / np.sqrt(D) * (1 + 1e-12)
    # no function within the bound is better by more than the gap: steps of projected gradients from the fit
    for _ in range(200):
        slope = loss.gradient(np.tile(Y[:, None], 3), WAVES.features(X) @ fit.coef @ FACTOR.T, LEVELS)
        pull = WAVES.features(X).T @ (WEIGHT[:, None] / WEIGHT.sum() * slope * LEVELS.weights) @ FACTOR
        other = solver.project(fit.coef - RNG.uniform(0, 0.3) * pull)
        moved = WAVES.features(X) @ other @ FACTOR.T
        value = WEIGHT @ loss.value(np.tile(Y[:, None], 3), moved, LEVELS) / WEIGHT.sum()
        assert value >= fit.objective - fit.gap - 1e-12


def test_fields_and_holes():
    targets = np.column_stack([np.cos(X[:, 0]), np.sin(X[:, 1])])
    targets[::7, 1] = np.nan
    solver = BoundedWaves(FIELD, PLANE, Huber(0.5, "pointwise"), 2.0)
    fit = solver.fit(X, targets)
    assert fit.converged
    assert fit.predict(X).shape == (N, 2)
    assert solver.sizes(fit.coef).max() <= solver.radius * (1 + 1e-12)


def test_a_large_bound_is_none():
    """Then it is the least of all functions of the features."""
    waves = RandomFourier(4, "iid", random_state=1).bind(Gaussian(8.0), X)
    fit = BoundedWaves(waves, ONE, Square(), 1e3, tol=1e-4).fit(X, Y)
    free = np.linalg.lstsq(waves.features(X), Y, rcond=None)[0]
    least = 0.5 * np.mean((Y - waves.features(X) @ free) ** 2)
    assert fit.objective == pytest.approx(least, rel=2e-4)


def test_excess_risk_is_within_the_bound_and_falls():
    """y = M·k(x, 0) + noise, a function within the bound; its median has the least pinball loss of all functions."""
    kernel, bound = Gaussian(2.0), 2.0

    def draw(n, rng):
        inputs = rng.uniform(-1, 1, size=(n, 2))
        truth = bound * kernel(inputs, np.zeros((1, 2)))[:, 0]
        return inputs, truth, truth + rng.uniform(-1, 1, size=n)

    excess, median = [], Points([0.5]).build()
    new, truth, outcome = draw(20_000, np.random.default_rng(9))
    for size in (20, 500):
        rng = np.random.default_rng(size)
        inputs, _, targets = draw(size, rng)
        waves = RandomFourier(size, "iid", random_state=rng).bind(kernel, inputs)
        fit = BoundedWaves(waves, median, Pinball(), bound, tol=1e-2).fit(inputs, targets)
        risk = np.mean(np.abs(outcome - fit.predict(new)[:, 0]) - np.abs(outcome - truth)) / 2
        largest = 0.5 * (bound + bound + 1)
        found = consistency_bound(bound, size, size, lipschitz=0.5, largest_loss=largest, gap=fit.gap)
        assert -0.01 <= risk <= found.value
        excess.append(risk)
    assert excess[1] < excess[0] / 2


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"kernel": Gaussian(1.0)}, "waves that RandomFourier.bind makes"),
        ({"kernel": RandomFourier(20, random_state=0).bind(Gaussian(1.0) + Linear(), X)}, "of one kernel"),
        ({"loss": "square"}, "a Loss"),
        ({"bound": 0.0}, "bound must be"),
        ({"factor": np.eye(3)}, "factor must be"),
        ({"tol": -1.0}, "tol"),
    ],
)
def test_what_is_refused(settings, words):
    given = {"kernel": WAVES, "measure": ONE, "loss": Square(), "bound": 1.0} | settings
    with pytest.raises(MercerError, match=words):
        BoundedWaves(**given)


def test_targets_are_looked_at():
    with pytest.raises(DataError, match="1 column or 3"):
        BoundedWaves(WAVES, LEVELS, Pinball(), 1.0, FACTOR).fit(X, np.zeros((N, 2)))
    with pytest.raises(DataError, match="X has 60 rows and Y has 3"):
        BoundedWaves(WAVES, ONE, Square(), 1.0).fit(X, Y[:3])
