"""The same source on NumPy, array-api-strict and in single precision."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.backend import to_numpy
from mercer.losses import LOSSES, EpsilonInsensitive, EpsilonRidge, Huber
from mercer.measures import Measure

strict = pytest.importorskip("array_api_strict")

CASES = [
    *(loss() for loss in LOSSES.values()),
    *(loss(geometry="pointwise") for loss in (Huber, EpsilonRidge, EpsilonInsensitive)),
    EpsilonInsensitive(0.0, "pointwise"),
]
every_loss = pytest.mark.parametrize("loss", CASES, ids=repr)


def maps(loss, Y, U, A, t, measure):
    """All maps of the loss; the conjugate inside of its domain and out of it."""
    inside = loss.conjugate_prox(Y, A, t, measure)
    box = loss.box(Y, measure)
    return {
        "value": loss.value(Y, U, measure),
        "gradient": loss.gradient(Y, U, measure),
        "prox": loss.prox(Y, U, t, measure),
        "default prox": super(type(loss), loss).prox(Y, U, t, measure),
        "conjugate_prox": inside,
        "conjugate": loss.conjugate(Y, inside, measure),
        "conjugate outside": loss.conjugate(Y, 100 * A, measure),
        **({} if box is None else {"lower": box.lower, "upper": box.upper}),
    }


def arrays(loss, masked, dtype=np.float64):
    rng = np.random.default_rng(5)
    Y = rng.normal(size=(6, 4)).astype(dtype)
    if "Hinge" in type(loss).__name__:
        Y = np.sign(Y)
    U, A = (rng.normal(size=(6, 4)).astype(dtype) for _ in range(2))
    U[0] = Y[0]
    observed = rng.random((6, 4)) < 0.7 if masked else None
    points, weights = np.array([0.1, 0.4, 0.5, 0.8], dtype=dtype), np.array([0.1, 0.2, 0.3, 0.4], dtype=dtype)
    return Y, U, A, points, weights, observed


@every_loss
@pytest.mark.parametrize("masked", [False, True])
def test_strict_arrays_give_the_same(loss, masked):
    Y, U, A, points, weights, observed = arrays(loss, masked)
    expected = maps(loss, Y, U, A, 0.7, Measure(points, weights, observed))
    inputs = [strict.asarray(each) for each in (Y, U, A)]
    mask = None if observed is None else strict.asarray(observed)
    measure = Measure(strict.asarray(points), strict.asarray(weights), mask)
    loss.check_targets(inputs[0], measure)
    got = maps(loss, *inputs, 0.7, measure)
    assert got.keys() == expected.keys()
    for name, value in got.items():
        assert isinstance(value, type(inputs[0])), name
        np.testing.assert_allclose(to_numpy(value), expected[name], atol=1e-13, err_msg=name)


@every_loss
@pytest.mark.parametrize("masked", [False, True])
def test_single_precision_stays(loss, masked):
    parameters = {k: np.float64(v) for k, v in loss.get_params().items() if not isinstance(v, str)}
    loss = loss.replace(**parameters)  # as they come from a grid of values
    Y, U, A, points, weights, observed = arrays(loss, masked, np.float32)
    expected = maps(loss, *(each.astype(float) for each in (Y, U, A)), 0.7, Measure(points, weights, observed))
    for name, value in maps(loss, Y, U, A, 0.7, Measure(points.astype(float), weights, observed)).items():
        assert value.dtype == np.float32, name
        np.testing.assert_allclose(value, expected[name], atol=2e-6, rtol=2e-6, err_msg=name)


@every_loss
def test_the_domain_of_the_conjugate_in_single_precision(loss):
    Y, _, A, points, weights, _ = arrays(loss, False, np.float32)
    measure = Measure(points, weights)
    for t in (1e-3, 0.3, 50.0):
        border = loss.conjugate_prox(Y, 30 * A, t, measure)
        assert np.all(np.isfinite(loss.conjugate(Y, border, measure)))
