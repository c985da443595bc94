"""The grid of curves as a probability measure."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.exceptions import MercerError
from mercer.measures import Grid, Trapezoid


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=12, unique=True))
def test_weights_integrate_piecewise_linear_functions(points):
    points = np.sort(points)
    points = points[np.r_[True, np.diff(points) > 1e-6]]
    if len(points) < 2:
        return
    mu = Grid(points).build()
    assert mu.total == pytest.approx(1)
    values = np.random.default_rng(0).normal(size=len(points))
    expected = np.trapezoid(values, points) / (points[-1] - points[0])
    assert mu.integrate(values[None])[0] == pytest.approx(expected, abs=1e-9)


def test_equally_spaced_points_are_the_trapezoid_rule():
    np.testing.assert_allclose(Grid(np.linspace(0, 1, 9)).build().weights, Trapezoid(9).build().weights)


def test_columns_and_units():
    flat, column = Grid([0.0, 1.0, 4.0]).build(), Grid([[0.0], [1.0], [4.0]]).build()
    np.testing.assert_array_equal(flat.points, column.points)
    np.testing.assert_array_equal(flat.weights, column.weights)
    np.testing.assert_allclose(Grid([7.0, 3607.0, 14407.0]).build().weights, flat.weights)


def test_one_point_and_points_in_the_plane_count_the_same():
    np.testing.assert_array_equal(Grid([3.0]).build().weights, [1.0])
    plane = Grid([[0.0, 1.0], [0.0, 0.0], [0.0, 0.0]]).build()  # no order, and points may coincide
    np.testing.assert_allclose(plane.weights, 1 / 3)
    assert plane.points.shape == (3, 2)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([0.0, 0.0, 1.0], "strictly increasing"),
        ([1.0, 0.0], "strictly increasing.*argsort"),
        ([[1.0], [0.0]], "strictly increasing"),
        ([0.0, np.nan], "finite"),
        ([], "m >= 1"),
        (0.5, r"shape \(m,\)"),
        ("abc", "numbers"),
        ([[0.0], [1.0, 2.0]], "numbers"),
    ],
)
def test_points_that_are_refused(points, message):
    with pytest.raises(MercerError, match=f"Grid: points must be .*{message}"):
        Grid(points)


def test_strict_arrays():
    xp = pytest.importorskip("array_api_strict")
    mu = Grid([0.0, 1.0, 4.0]).build(xp.asarray([1.0]))
    assert type(mu.weights) is type(mu.points) is type(xp.asarray([1.0]))
    np.testing.assert_allclose(np.from_dlpack(mu.weights), [0.125, 0.5, 0.375])
