"""The pure functions of reproduce/series.py."""

import importlib
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")


@pytest.fixture
def series(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent.parent / "reproduce"))
    return importlib.import_module("series")


def test_windows_slide_and_look_at_nothing_later(series):
    Y = np.cumsum(np.random.default_rng(0).normal(size=(12, 2)), axis=0)
    seen = []

    def fit(window):
        seen.append(window)
        return lambda X: X

    np.testing.assert_allclose(series.sequential_errors(Y, 5, 3, fit), np.diff(Y, axis=0)[4:])
    assert [len(window) for window in seen] == [5, 5, 5]
    np.testing.assert_array_equal(seen[1], Y[3:8])


def test_baselines_are_exact_where_they_should_be(series):
    A = np.array([[0.5, 0.2], [-0.3, 0.8]])
    Y = [np.array([1.0, -2.0])]
    for _ in range(8):
        Y.append(A @ Y[-1] + [0.1, 0.2])
    Y = np.array(Y)
    np.testing.assert_allclose(series.least_squares(Y)(Y[:-1]), Y[1:], atol=1e-10)
    steps = np.outer(np.arange(6), [1.0, 3.0])
    np.testing.assert_allclose(series.walk(steps)(steps), steps + np.array([1.0, 3.0]))
    np.testing.assert_allclose(series.mean(steps)(steps[:2]), np.tile(steps.mean(axis=0), (2, 1)))


def test_units_are_those_of_increments(series):
    Y = np.cumsum(np.random.default_rng(0).normal(size=(50, 3)), axis=0)
    assert series.figures(np.diff(Y, axis=0), Y)["relative"] == pytest.approx(1.0)
