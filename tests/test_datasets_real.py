"""What is known of the real data that ship, and of a flow whose parts are known."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import mercer.datasets
from mercer.datasets import flow_parts, load_economy, load_engel, make_flow
from mercer.exceptions import DataError, ParameterError


def test_engel_has_the_published_slope_and_his_law():
    engel = load_engel()
    slope, intercept = np.polyfit(engel.income, engel.food, 1)
    assert (slope, intercept) == pytest.approx((0.485, 147.5), abs=0.2)  # published least squares
    share = (engel.food / engel.income)[np.argsort(engel.income)]
    assert share[:60].mean() > share[-60:].mean() + 0.05  # Engel's law


def test_the_economy_knows_its_crises():
    economy = load_economy()
    unemployment = economy.values[:, economy.names.index("unemployment")]
    inflation = economy.values[:, economy.names.index("inflation")]
    assert economy.time[unemployment.argmax()] == 1982.75
    assert 1973 < economy.time[inflation.argmax()] < 1981
    assert economy.time[inflation.argmin()] == 2008.75
    assert np.all(np.diff(economy.time) == 0.25)
    assert np.isfinite(economy.values).all()


@pytest.mark.parametrize("name", [name for name in mercer.datasets.__all__ if name in ("load_engel", "load_economy")])
def test_source_and_licence_are_named(name):
    text = inspect.getdoc(getattr(mercer.datasets, name))
    assert "Source:" in text
    assert "Licence: public domain" in " ".join(text.split())


def test_a_gradient_does_not_turn_and_a_vortex_has_no_source():
    X, step = np.random.default_rng(0).uniform(-2, 2, size=(20, 2)), 1e-5

    def slopes(part, column):
        move = step * np.eye(2)[column]
        return (flow_parts(X + move)[part] - flow_parts(X - move)[part]) / (2 * step)

    np.testing.assert_allclose(slopes(0, 0)[:, 1], slopes(0, 1)[:, 0], atol=1e-8)
    np.testing.assert_allclose(slopes(1, 0)[:, 0] + slopes(1, 1)[:, 1], 0, atol=1e-8)
    assert np.abs(slopes(0, 0)[:, 0] + slopes(0, 1)[:, 1]).max() > 0.5
    points, vectors = make_flow(2000, noise=0.3, random_state=0)
    assert np.std(vectors - sum(flow_parts(points))) == pytest.approx(0.3, rel=0.05)


def test_what_makes_no_flow_is_refused():
    with pytest.raises(DataError, match="two columns"):
        flow_parts(np.zeros((3, 3)))
    with pytest.raises(ParameterError, match="noise"):
        make_flow(3, noise=-1.0)
