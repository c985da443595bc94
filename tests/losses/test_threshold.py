"""The threshold of a loss: what it declares, and what is made of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from mercer.exceptions import MercerError, ParameterError
from mercer.losses import (
    LOSSES,
    EpsilonInsensitive,
    EpsilonRidge,
    Huber,
    Loss,
    Pinball,
    Square,
    Threshold,
    loss_names,
)
from mercer.measures import Measure
from mercer.testing import check_loss


@pytest.mark.parametrize("name", LOSSES)
def test_a_declared_threshold_is_a_parameter(name):
    loss = LOSSES[name]()
    if loss.threshold is not None:
        assert loss.threshold.name in loss.get_params()


@pytest.mark.parametrize("kind", [Huber, EpsilonRidge, EpsilonInsensitive])
@pytest.mark.parametrize("geometry", ["norm", "pointwise"])
@pytest.mark.parametrize("width", [0.1, 0.5, 20.0])
def test_the_contract_is_kept(kind, geometry, width):
    check_loss(kind(width, geometry))


@dataclass(eq=False, repr=False)
class EarlyHuber(Huber):
    """Linear from κ/2 on."""

    @property
    def _radius(self):
        return self.kappa / 2


@dataclass(eq=False, repr=False)
class NarrowTube(EpsilonRidge):
    """A tube that is a tenth as wide as the sizes of residuals say."""

    def sizes(self, residuals, measure):
        return super().sizes(residuals, measure) / 10


@dataclass(eq=False, repr=False)
class TwoSquares(Huber):
    """Twice the Huber loss."""

    def _size(self, r):
        return 2 * super()._size(r)

    def _slope(self, r):
        return 2 * super()._slope(r)

    prox = Loss.prox
    conjugate = Loss.conjugate
    conjugate_prox = Loss.conjugate_prox


@dataclass(eq=False, repr=False)
class Bounded(Huber):
    """A Huber loss that refuses large κ."""

    def _check(self):
        if self.kappa > 5:
            raise ParameterError("Bounded: kappa must be at most 5.")


@dataclass(eq=False, repr=False)
class Idle(Square):
    """A square loss with a parameter that does nothing."""

    kappa: float = 1.0
    threshold = Threshold("kappa", "square")


def declaring(loss, *declaration):
    return type(f"Other{type(loss).__name__}", (type(loss),), {"threshold": Threshold(*declaration)})(
        **loss.get_params()
    )


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (declaring(Huber(), "kappa", "nothing"), "value inside kappa=0.3 is not nothing, as threshold declares"),
        (declaring(EpsilonRidge(), "epsilon", "square"), "value inside epsilon=0.3 is not the square loss"),
        (declaring(EpsilonInsensitive(0.1, "pointwise"), "epsilon", "square"), "is not the square loss"),
        (declaring(Huber(), "width", "square"), r"threshold names 'width', but its parameters are \['geom"),
        (declaring(Huber(), "geometry", "square"), "geometry, its threshold, must be a number"),
        (EarlyHuber(1.0), "value inside kappa=0.3 is not the square loss"),
        (EarlyHuber(1.0, "pointwise"), "value inside kappa=0.3 is not the square loss"),
        (TwoSquares(1.0), "value inside kappa=0.3 is not the square loss"),
        (NarrowTube(0.5), "value inside epsilon=0.3 is not nothing"),
        (Bounded(1.0), "kappa, its threshold, may not be 1000.0: Bounded: kappa must be at most 5"),
        (Idle(), "is the square loss beyond kappa=0.3, too, which is no threshold"),
    ],
    ids=repr,
)
def test_wrong_declarations_are_found(loss, message):
    with pytest.raises(AssertionError, match=message):
        check_loss(loss)


def test_the_losses_of_curves():
    assert loss_names(None) == ["square", "huber", "epsilon_ridge", "epsilon_insensitive"]
    assert "pinball" in loss_names("level")
    assert "hinge" in loss_names("cost")


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (Huber(9.0), Huber(1.345 * 0.5)),
        (Huber(9.0, "pointwise"), Huber(1.0, "pointwise")),
        (EpsilonRidge(9.0), EpsilonRidge(0.5)),
        (EpsilonInsensitive(9.0, "pointwise"), EpsilonInsensitive(0.5, "pointwise")),
        (Square(), Square()),
        (Pinball(), Pinball()),
    ],
    ids=repr,
)
def test_thresholds_for_residuals_of_a_size(loss, expected):
    before = repr(loss)
    assert loss.for_residuals(0.5) == expected
    assert repr(loss) == before


@pytest.mark.parametrize("kind", [Huber, EpsilonRidge, EpsilonInsensitive])
@pytest.mark.parametrize("geometry", ["norm", "pointwise"])
def test_inside_the_threshold(kind, geometry):
    """Residuals of size just below it cost the square or nothing, those above less than that or something."""
    mu = Measure(np.zeros(2), np.array([0.4, 0.6]))
    loss = kind(0.8, geometry)
    below, above = 0.79 * np.ones((1, 2)), 0.9 * np.ones((1, 2))
    np.testing.assert_allclose(loss.sizes(below, mu), 0.79)
    cost = [float(loss.value(r, 0 * r, mu)[0]) for r in (below, above)]
    square = [float(Square().value(r, 0 * r, mu)[0]) for r in (below, above)]
    if loss.threshold.inside == "square":
        assert cost[0] == pytest.approx(square[0])
        assert cost[1] < square[1]
    else:
        assert cost[0] == 0 < cost[1]


def test_sizes_are_norms_or_entries():
    mu, R = Measure(np.zeros(2), np.array([0.5, 2.0])), np.array([[2.0, -1.0]])
    np.testing.assert_allclose(Huber().sizes(R, mu), [2.0])
    np.testing.assert_array_equal(Huber(geometry="pointwise").sizes(R, mu), [[2.0, 1.0]])


def test_losses_of_norms():
    assert Square().of_norms
    assert Huber().of_norms
    assert not Huber(geometry="pointwise").of_norms
    assert not Pinball().of_norms


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"inside": "zero"}, "inside must be 'square' or 'nothing'"),
        ({"of_norms": -1.0}, "of_norms must be a finite number > 0"),
        ({"span": (0.1, 4.0)}, "the largest first"),
    ],
)
def test_bad_declarations(settings, message):
    with pytest.raises(MercerError, match=message):
        Threshold("kappa", **({"inside": "square"} | settings))
