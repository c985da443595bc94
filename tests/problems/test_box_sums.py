"""Shifts that balance arrays in a box."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.problems.box_sums import balancing_shift


@settings(max_examples=300)
@given(st.integers(0, 10**6))
def test_the_sums_are_right(seed):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 50)), int(rng.integers(1, 5))
    lower, upper = -rng.uniform(0, 1, size=(n, m)), rng.uniform(0, 1, size=(n, m))
    Z = rng.normal(size=(n, m)) * 10 ** rng.uniform(-3, 3)
    Z = np.round(Z, 1) if rng.random() < 0.3 else Z
    s = 10 ** rng.uniform(-3, 3, size=n)
    mean = (s @ (lower + rng.uniform(0.01, 0.99, size=m) * (upper - lower))) / s.sum()
    nu = balancing_shift(Z, lower, upper, s, mean)
    reached = s @ np.clip(Z - nu, lower, upper) / s.sum()
    assert reached == pytest.approx(mean, abs=1e-12)


def test_sums_that_are_right_stay_as_they_are():
    Z = np.array([[0.5], [-0.5], [2.0], [-2.0]])
    assert balancing_shift(Z, -np.ones_like(Z), np.ones_like(Z), np.ones(4)) == 0


def test_where_nothing_is_inside_the_box():
    """All entries are at a bound: the shift has to reach the first of them."""
    Z = np.array([[5.0], [5.0], [-7.0]])
    nu = balancing_shift(Z, np.full_like(Z, -1.0), np.full_like(Z, 1.0), np.ones(3))
    assert np.clip(Z - nu, -1, 1).sum() == pytest.approx(0, abs=1e-12)
