"""A loss with levels of each row's own is that of each row with its levels as the points of a measure."""

import numpy as np
import pytest

from mercer.exceptions import DataError
from mercer.losses import (
    CostSensitiveHinge,
    Expectile,
    MoreauHinge,
    MoreauPinball,
    Pinball,
    WeightedHuber,
    WeightedMoreauHinge,
)
from mercer.measures import Measure

RNG = np.random.default_rng(0)
N, M = 12, 3
THETA, WEIGHTS = RNG.uniform(0.05, 0.95, size=(N, M)), np.array([0.2, 0.5, 0.3])
OWN = Measure(np.arange(float(M)), WEIGHTS, levels=THETA)
U, Z = RNG.normal(size=(N, M)), RNG.normal(size=(N, M))
LOSSES = [Pinball(), MoreauPinball(0.3), WeightedHuber(0.4), Expectile()]
HINGES = [CostSensitiveHinge(), MoreauHinge(0.3), WeightedMoreauHinge(0.3)]


@pytest.mark.parametrize("loss", LOSSES + HINGES, ids=lambda loss: type(loss).__name__)
def test_row_by_row(loss):
    Y = np.sign(RNG.normal(size=(N, M))) if loss.indexed_by == "cost" else RNG.normal(size=(N, M))
    A = loss.conjugate_prox(Y, Z, 0.7, OWN)
    maps = {
        "value": (Y, U, OWN),
        "gradient": (Y, U, OWN),
        "prox": (Y, Z, 0.7, OWN),
        "conjugate": (Y, A, OWN),
        "conjugate_prox": (Y, Z, 0.7, OWN),
    }
    for name, given in maps.items():
        found = getattr(loss, name)(*given)
        for i in range(N):
            alone = Measure(THETA[i], WEIGHTS)
            row = [part[i : i + 1] if isinstance(part, np.ndarray) else part for part in given[:-1]]
            np.testing.assert_allclose(found[i : i + 1], getattr(loss, name)(*row, alone), err_msg=name)


@pytest.mark.parametrize("loss", [Pinball(), CostSensitiveHinge()], ids=lambda loss: type(loss).__name__)
def test_best_intercept_is_a_minimum(loss):
    Y = np.sign(Z) if loss.indexed_by == "cost" else Z
    weight = RNG.uniform(0.5, 2, N)
    best = loss.intercept(Y, U, weight, OWN)

    def values(b):
        parts = (Measure(np.zeros(1), np.ones(1), levels=THETA[:, j : j + 1]) for j in range(M))
        return [weight @ loss.value(Y[:, j : j + 1], U[:, j : j + 1] + b[j], one) for j, one in enumerate(parts)]

    for shift in (-1e-3, 1e-3, 0.3, -0.3):
        assert np.all(np.array(values(best)) <= np.array(values(best + shift)) + 1e-12)


def test_levels_go_with_rows_masks_and_libraries():
    assert np.array_equal(OWN.rows(slice(2, 5)).levels, THETA[2:5])
    assert OWN.restricted(THETA > 0.5).levels is THETA
    assert OWN.like(THETA.astype(np.float32)).levels.dtype == np.float32
    np.testing.assert_array_equal(Measure.from_state(OWN.state()).levels, THETA)


def test_levels_outside_are_refused():
    with pytest.raises(DataError, match="strictly between 0 and 1"):
        Pinball().check_targets(U, Measure(np.arange(float(M)), WEIGHTS, levels=THETA + 1))
