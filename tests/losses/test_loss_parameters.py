"""Bad parameters, levels, labels and names give errors that say what to do; prox.py by itself."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.exceptions import DataError, ParameterError, ParameterTypeError
from mercer.losses import (
    LOSSES,
    CostSensitiveHinge,
    EpsilonInsensitive,
    EpsilonRidge,
    Expectile,
    Huber,
    MoreauHinge,
    MoreauPinball,
    Pinball,
    Square,
    WeightedHuber,
    WeightedMoreauHinge,
    as_loss,
)
from mercer.losses.prox import block_soft_threshold, project_ball, project_box, rescale_rows, soft_threshold
from mercer.measures import Measure


@pytest.mark.parametrize("loss", [Huber, MoreauPinball, WeightedHuber, MoreauHinge, WeightedMoreauHinge])
@pytest.mark.parametrize("bad", [0, -1.0, np.nan, np.inf, True, "1"])
def test_kappa_is_positive(loss, bad):
    with pytest.raises(ParameterError, match=rf"{loss.__name__}: kappa must be a finite number > 0; got"):
        loss(kappa=bad)


@pytest.mark.parametrize("loss", [EpsilonRidge, EpsilonInsensitive])
def test_epsilon_is_not_negative(loss):
    assert loss(epsilon=0).epsilon == 0
    with pytest.raises(ParameterError, match=r"epsilon must be a finite number >= 0; got -0\.1"):
        loss(epsilon=-0.1)
    with pytest.raises(ParameterError, match="epsilon"):
        loss().set_params(epsilon=-1)


@pytest.mark.parametrize("loss", [Huber, EpsilonRidge, EpsilonInsensitive])
def test_geometry_is_known(loss):
    with pytest.raises(ParameterError, match=r"geometry must be 'norm', 'pointwise' or 'componentwise'; got 'curve'"):
        loss(geometry="curve")
    assert loss(geometry="pointwise").pointwise
    assert not loss(geometry="norm").pointwise


@pytest.mark.parametrize("loss", [Pinball(), MoreauPinball(), WeightedHuber(), Expectile(), CostSensitiveHinge()])
@pytest.mark.parametrize("bad", [0.0, 1.0, 90.0, -0.5])
def test_levels_are_fractions(loss, bad):
    measure = Measure(np.array([0.5, bad]), np.ones(2))
    with pytest.raises(DataError, match=rf"{type(loss).__name__}: .*between 0 and 1; got {bad:g}\. .*Points"):
        loss.check_targets(np.ones((3, 2)), measure)
    loss.check_targets(np.ones((3, 2)), Measure(np.array([0.5, 0.9]), np.ones(2)))


def test_other_losses_take_any_points():
    for loss in (Square(), Huber(), EpsilonRidge(), EpsilonInsensitive()):
        loss.check_targets(np.ones((3, 2)), Measure(np.array([[5.0, 1.0], [-2.0, 0.0]]), np.ones(2)))


@pytest.mark.parametrize("loss", [CostSensitiveHinge(), MoreauHinge(), WeightedMoreauHinge()])
def test_labels_are_signs(loss):
    measure = Measure(np.array([0.3, 0.6]), np.ones(2))
    Y = np.array([[1.0, -1.0], [1.0, 0.0]])
    with pytest.raises(DataError, match=r"labels must be -1 or \+1; got 0"):
        loss.check_targets(Y, measure)
    Y[1, 1] = np.nan
    with pytest.raises(DataError, match="got nan"):
        loss.check_targets(Y, measure)
    loss.check_targets(Y, measure.restricted(np.isfinite(Y)))


def test_names_resolve():
    for name, loss in LOSSES.items():
        assert type(as_loss(name)) is loss
    mine = Huber(kappa=3.0)
    assert as_loss(mine) is mine
    assert as_loss("epsilon_ridge", epsilon=0.5, geometry="pointwise") == EpsilonRidge(0.5, "pointwise")


def test_unknown_names():
    with pytest.raises(ParameterError, match=r"'square', 'pinball', .*got 'pinbal'\. Did you mean 'pinball'\?"):
        as_loss("pinbal")
    with pytest.raises(ParameterError, match="Did you mean 'epsilon_insensitive'"):
        as_loss("Epsilon-Insensitive")
    with pytest.raises(ParameterError, match=r"got 'zzz'\.$"):
        as_loss("zzz")
    with pytest.raises(ParameterTypeError, match=r"Did you mean Pinball\(\)"):
        as_loss(Pinball)
    with pytest.raises(ParameterTypeError, match="got None"):
        as_loss(None)


def test_parameters_beside_a_loss_are_refused():
    with pytest.raises(ParameterError, match=r"geometry='norm' was given beside it.*Huber\(geometry='norm'\)"):
        as_loss(Huber(), geometry="norm")
    with pytest.raises(ParameterError, match="'pinball' has no parameter 'geometry'; its parameters are: none"):
        as_loss("pinball", geometry="norm")
    with pytest.raises(ParameterError, match="kappa must be"):
        as_loss("huber", kappa=-1)


def test_records():
    assert repr(Huber(kappa=2.0)) == "Huber(kappa=2)"
    assert repr(Pinball()) == "Pinball()"
    assert Huber(2.0) == Huber(2.0) != Huber(2.0, "pointwise")
    assert Huber().set_params(kappa=4).kappa == 4


def test_projections():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(50, 3))
    norms = np.linalg.norm(Z, axis=1)
    # Moreau: z is the projection on the ball of the dual norm plus the prox of the norm
    np.testing.assert_allclose(block_soft_threshold(Z, norms, 0.7) + project_ball(Z, norms, 0.7), Z, atol=1e-15)
    np.testing.assert_allclose(soft_threshold(Z, 0.4), np.sign(Z) * np.maximum(np.abs(Z) - 0.4, 0), atol=1e-15)
    assert np.all(np.linalg.norm(project_ball(Z, norms, 0.7), axis=1) <= 0.7 * (1 + 1e-15))
    np.testing.assert_array_equal(block_soft_threshold(Z, norms, 0.0), Z)
    zero = np.zeros((2, 3))
    for function in (block_soft_threshold, project_ball, rescale_rows):
        np.testing.assert_array_equal(function(zero, np.zeros(2), 0.5 * np.ones(2)), zero)


def test_project_box_works_in_place_on_numpy():
    values = np.array([-2.0, 0.5, 2.0])
    assert project_box(values, -1.0, 1.0) is values
    np.testing.assert_array_equal(values, [-1.0, 0.5, 1.0])
