"""The loss of values and slopes, against definitions: finite prices by the public contract, infinite ones by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from mercer.losses import CostSensitiveHinge, Expectile, Loss, MoreauPinball, Pinball, WeightedHuber
from mercer.losses.monotone import Monotone
from mercer.measures import Measure
from mercer.testing import check_loss

BASES = [Pinball(), Expectile(), MoreauPinball(0.4), WeightedHuber(0.6)]
each_base = pytest.mark.parametrize("base", [*BASES, CostSensitiveHinge()], ids=repr)

#: three values and two slopes; their prices, weights and some arrays
VALUES, SLOPES = np.array([0.2, 0.5, 0.9]), np.array([0.3, 0.7])
MEASURE = Measure(np.concatenate([VALUES, SLOPES]), np.array([0.3, 0.4, 0.6, 0.2, 0.5]))
OF_VALUES = Measure(VALUES, MEASURE.weights[:3])
PRICE, FREE = np.array([0.8, 2.5]), np.array([np.inf, 2.5])
RNG = np.random.default_rng(0)


def targets(base, n=6, seed=0):
    """Labels or numbers for the values, and 0 for the slopes."""
    Y = np.random.default_rng(seed).normal(size=(n, 3))
    if isinstance(base, CostSensitiveHinge):
        Y = np.where(Y > 0, 1.0, -1.0)
    return np.concatenate([Y, np.zeros((n, 2))], axis=1)


# --- finite prices: the contract


@dataclass(eq=False, repr=False)
class Arranged(Loss):
    """Monotone for columns in any order and number, as the contract of a loss asks: points beyond 1 are slopes.

    Columns are put in order, and one value and one slope that are always 0 are added, so that neither part is empty.
    """

    base: Any

    def _call(self, name, measure, *arrays):
        slopes = measure.locations > 1
        order = np.argsort(slopes, kind="stable")
        at = int(np.sum(~slopes))

        def padded(array, filling=0.0):
            return np.insert(array[:, order], [at, at], filling, axis=1)

        points = np.insert(measure.locations[order], at, [0.5, 1.5])
        observed = None if measure.observed is None else padded(measure.observed, True)
        loss = Monotone(self.base, np.array([{1.3: 0.8, 1.7: 2.5}.get(float(p), 1.0) for p in points if p > 1]))
        found = getattr(loss, name)(
            *(padded(a) if isinstance(a, np.ndarray) else a for a in arrays),
            Measure(points, np.insert(measure.weights[order], at, [1.0, 1.0]), observed),
        )
        if found.ndim == 1:
            return found
        answer = np.empty((len(found), len(order)))
        answer[:, order] = np.delete(found, [at, at + 1], axis=1)
        return answer

    def value(self, Y, U, measure):
        return self._call("value", measure, Y, U)

    def gradient(self, Y, U, measure):
        return self._call("gradient", measure, Y, U)

    def conjugate(self, Y, A, measure):
        return self._call("conjugate", measure, Y, A)

    def conjugate_prox(self, Y, Z, t, measure):
        return self._call("conjugate_prox", measure, Y, Z, t)


@pytest.mark.parametrize("base", BASES, ids=repr)
def test_contract(base):
    measure = Measure(np.array([0.2, 1.3, 0.5, 0.9, 1.7]), MEASURE.weights)
    Y = np.random.default_rng(1).normal(size=(12, 5)) * (measure.locations < 1)
    check_loss(Arranged(base), measure, targets=Y)


@each_base
def test_value_is_the_definition(base):
    Y = targets(base)
    U = Y + RNG.normal(size=Y.shape)
    expected = base.value(Y[:, :3], U[:, :3], OF_VALUES)
    for q in range(2):
        expected = expected + MEASURE.weights[3 + q] * PRICE[q] * np.maximum(-U[:, 3 + q], 0)
    np.testing.assert_allclose(Monotone(base, PRICE).value(Y, U, MEASURE), expected, rtol=1e-14)


def test_the_loss_is_that_of_its_base_otherwise():
    for base in BASES:
        loss = Monotone(base, PRICE)
        assert loss.growth == base.growth
        assert loss.has_conjugate
        assert loss.pointwise
        assert not loss.smooth

    @dataclass(eq=False, repr=False)
    class Own(Loss):
        def value(self, Y, U, measure):
            return measure.integrate((Y - U) ** 4)

    assert not Monotone(Own(), PRICE).has_conjugate


def test_targets_of_values_are_checked_and_those_of_slopes_are_not():
    loss = Monotone(CostSensitiveHinge(), PRICE)
    loss.check_targets(targets(CostSensitiveHinge()), MEASURE)
    with pytest.raises(ValueError, match="labels"):
        loss.check_targets(np.full((2, 5), 0.3), MEASURE)
    beyond = Measure(np.array([0.2, 0.5, 0.9, 3.0, -2.0]), MEASURE.weights)
    Monotone(Pinball(), PRICE).check_targets(targets(Pinball()), beyond)  # slopes have places, not levels


# --- the box


@pytest.mark.parametrize("price", [PRICE, FREE, np.full(2, np.inf)], ids=str)
@pytest.mark.parametrize("base", [Pinball(), CostSensitiveHinge()], ids=repr)
def test_box_is_where_the_conjugate_is_finite(base, price):
    loss, Y = Monotone(base, price), targets(base)
    box = loss.box(Y, MEASURE)
    assert box.curvature == 0
    lower, upper = (np.broadcast_to(bound, Y.shape) for bound in (box.lower, box.upper))
    np.testing.assert_array_equal(lower[:, 3:], 0)
    np.testing.assert_array_equal(upper[:, 3:], np.broadcast_to(price, (len(Y), 2)))
    share = RNG.uniform(size=Y.shape)
    inside = lower + share * np.minimum(upper - lower, 7.0)
    found = loss.conjugate(Y, inside, MEASURE)
    np.testing.assert_allclose(found, -(inside[:, :3] * Y[:, :3]) @ OF_VALUES.weights, atol=1e-14)
    for j in range(5):
        for bound, sign in ((lower, -1), (upper, 1)):
            outside = inside.copy()
            outside[:, j] = bound[:, j] + sign * 1e-3
            if np.all(np.isfinite(outside)):
                assert np.all(np.isinf(loss.conjugate(Y, outside, MEASURE)))


@pytest.mark.parametrize("base", [Expectile(), MoreauPinball(0.4), WeightedHuber(0.6)], ids=repr)
def test_no_box_where_values_have_none_or_another_curvature_than_slopes(base):
    assert Monotone(base, PRICE).box(targets(base), MEASURE) is None


# --- infinite prices: by definition


@each_base
def test_an_infinite_price_forbids_to_fall(base):
    loss, Y = Monotone(base, FREE), targets(base)
    U = Y + RNG.normal(size=Y.shape)
    U[:, 3] = [0.5, 0.0, 1e-3, -1e-3, -1.0, -1e-14]  # the last one is rounding
    U[:, 4] = [0.1, -0.2, 0.3, 0.4, -0.5, -0.6]
    found = loss.value(Y, U, MEASURE)
    expected = base.value(Y[:, :3], U[:, :3], OF_VALUES) + 0.5 * 2.5 * np.maximum(-U[:, 4], 0)
    np.testing.assert_array_equal(np.isinf(found), [False, False, False, True, True, False])
    np.testing.assert_allclose(found[np.isfinite(found)], expected[np.isfinite(found)], rtol=1e-12)


@each_base
def test_conjugate_with_an_infinite_price_is_the_supremum(base):
    """sup_u ⟨−a, u⟩ − L(u) over u that does not fall, column by column on a wide grid."""
    loss, Y = Monotone(base, FREE), targets(base)
    box = base.box(Y[:, :3], OF_VALUES)
    low, high = (-0.9, 0.9) if box is None else (box.lower, box.upper)
    theta = RNG.uniform(0.1, 0.9, size=(6, 3))
    A = np.concatenate([low + theta * (np.asarray(high) - low), RNG.uniform(0, 2.4, size=(6, 2))], axis=1)
    if isinstance(base, WeightedHuber):
        A[:, :3] = (VALUES - 1) + theta
    A[:, 3] *= 10  # no bound there
    grid = np.linspace(-40, 40, 160_001)
    total = np.zeros(6)
    for j, w in enumerate(MEASURE.weights):
        for i in range(6):
            if j < 3:
                node = Measure(VALUES[j : j + 1], np.ones(1))
                cost = base.value(np.full((len(grid), 1), Y[i, j]), grid[:, None], node)
            else:
                cost = np.where(grid < 0, np.inf if j == 3 else -2.5 * grid, 0.0)
            total[i] += w * np.max(-A[i, j] * grid - cost)
    np.testing.assert_allclose(loss.conjugate(Y, A, MEASURE), total, atol=2e-3)
    A[:, 3] = -1e-3
    assert np.all(np.isinf(loss.conjugate(Y, A, MEASURE)))


@pytest.mark.parametrize("t", [0.05, 0.7, 4.0])
@each_base
def test_proxes_with_an_infinite_price_are_minimisers(base, t):
    """Of t·L(u) + ½|u − z|² and of t·L*(−a) + ½|a − z|² in each column of slopes; values are those of the base."""
    loss, Y = Monotone(base, FREE), targets(base)
    Z = 2 * RNG.normal(size=Y.shape)
    prox, dual = loss.prox(Y, Z, t, MEASURE), loss.conjugate_prox(Y, Z, t, MEASURE)
    np.testing.assert_allclose(dual[:, :3], base.conjugate_prox(Y[:, :3], Z[:, :3], t, OF_VALUES), rtol=1e-13)
    np.testing.assert_allclose(prox[:, :3], base.prox(Y[:, :3], Z[:, :3], t, OF_VALUES), atol=1e-12)
    grid = np.linspace(-15, 15, 300_001)
    cost = np.where(grid < 0, -2.5 * grid, 0.0)
    for i, row in enumerate(Z):
        forbidden = np.where(grid < 0, np.inf, (grid - row[3]) ** 2)  # L = 0 on u ≥ 0 and L* = 0 on a ≥ 0
        best = grid[forbidden.argmin()]
        assert prox[i, 3] == pytest.approx(best, abs=1e-3)
        assert dual[i, 3] == pytest.approx(best, abs=1e-3)
        assert prox[i, 4] == pytest.approx(grid[(t * cost + (grid - row[4]) ** 2 / 2).argmin()], abs=1e-3)
        bounded = np.where((grid < 0) | (grid > 2.5), np.inf, (grid - row[4]) ** 2)
        assert dual[i, 4] == pytest.approx(grid[bounded.argmin()], abs=1e-3)


def test_masked_slopes_do_not_count():
    observed = np.ones((6, 5), dtype=bool)
    observed[2, 3] = observed[4, 4] = False
    seen = Measure(MEASURE.points, MEASURE.weights, observed)
    loss, Y = Monotone(Pinball(), FREE), targets(Pinball())
    U = np.full((6, 5), -1.0)
    found = loss.value(Y, U, seen)
    np.testing.assert_array_equal(np.isinf(found), np.arange(6) != 2)
    assert loss.conjugate_prox(Y, U + 5, 1.0, seen)[2, 3] == 0
    A = np.zeros((6, 5))
    A[2, 3], A[4, 4] = -1.0, 9.0
    assert np.all(np.isfinite(loss.conjugate(Y, A, seen)))
    assert np.sum(np.isinf(loss.conjugate(Y, A, MEASURE))) == 2


@pytest.mark.parametrize("price", [PRICE, FREE], ids=str)
@each_base
def test_arguments_are_left_as_they_are(base, price):
    loss, Y = Monotone(base, price), targets(base)
    Z = 3 * RNG.normal(size=Y.shape)
    kept = Y.copy(), Z.copy()
    for call in (loss.value, loss.gradient, loss.conjugate):
        call(Y, Z, MEASURE)
    for call in (loss.prox, loss.conjugate_prox):
        call(Y, Z, 0.7, MEASURE)
    loss.conjugate_prox(Y, Z, 0.0, MEASURE)
    loss.box(Y, MEASURE)
    np.testing.assert_array_equal(Y, kept[0])
    np.testing.assert_array_equal(Z, kept[1])
