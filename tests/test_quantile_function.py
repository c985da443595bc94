"""Interpolation and quantile functions."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mercer.backend import to_numpy
from mercer.exceptions import DataError, MercerError, ParameterError
from mercer.interpolation import interpolation, interpolation_slopes, refine, spatial_interpolation
from mercer.quantile_function import QuantileFunction, check_levels

strict = pytest.importorskip("array_api_strict")

RNG = np.random.default_rng(0)
LEVELS = np.array([0.05, 0.1, 0.3, 0.35, 0.8, 0.95])
MONOTONE = np.sort(RNG.normal(size=(4, 6)), axis=1)
FLAT = np.array([[0.0, 0.0, 1.0, 1.0, 1.0, 2.0], [3.0, 3.0, 3.0, 3.0, 3.0, 3.0]])
CROSSING = RNG.normal(size=(3, 6))
ALL = np.concatenate([MONOTONE, FLAT, CROSSING])


def dense(function, count=200_001):
    """Levels on a fine grid of midpoints, and the values of NumPy's interpolation there."""
    theta = (np.arange(count) + 0.5) / count
    return theta, np.stack([np.interp(theta, function.levels, row) for row in to_numpy(function.values)])


# --- interpolation and refinement


@pytest.mark.parametrize("nodes", [[0.1, 0.5, 0.9], [0.9, 0.1, 0.5], [0.3]])
def test_interpolation_is_that_of_numpy(nodes):
    points = np.array([-1.0, 0.0, 0.1, 0.2, 0.5, 0.75, 0.9, 1.0, 5.0])
    values = RNG.normal(size=(3, len(nodes)))
    order = np.argsort(nodes)
    expected = [np.interp(points, np.array(nodes)[order], row[order]) for row in values]
    np.testing.assert_allclose(values @ interpolation(nodes, points), expected, atol=1e-14)


def test_equal_nodes_are_averaged():
    nodes, values = [0.5, 0.1, 0.5, 0.9, 0.5], np.array([1.0, 0.0, 2.0, 5.0, 6.0])
    found = values @ interpolation(nodes, [0.1, 0.3, 0.5, 0.7, 0.9])
    np.testing.assert_allclose(found, [0.0, 1.5, 3.0, 4.0, 5.0])
    np.testing.assert_allclose(np.array([1.0, 3.0]) @ interpolation([0.2, 0.2], [0.0, 0.2, 1.0]), 2.0)


@settings(max_examples=60, derandomize=True, deadline=None)
@given(
    nodes=st.lists(st.integers(-5, 5), min_size=1, max_size=8),
    points=st.lists(st.floats(-7, 7), min_size=1, max_size=8),
)
def test_interpolation_averages_and_reproduces_lines(nodes, points):
    matrix = interpolation(nodes, points)
    assert matrix.shape == (len(nodes), len(points))
    assert np.all(matrix >= 0)
    np.testing.assert_allclose(matrix.sum(axis=0), 1.0)
    inside = np.clip(points, min(nodes), max(nodes))
    np.testing.assert_allclose((2.0 * np.array(nodes) - 1) @ matrix, 2 * inside - 1, atol=1e-12)


@pytest.mark.parametrize("nodes", [[0.1, 0.5, 0.9], [0.9, 0.1, 0.5], [0.5, 0.1, 0.5, 0.9]])
def test_slopes_are_differences_of_the_interpolation(nodes):
    points = np.array([0.11, 0.3, 0.49, 0.51, 0.75, 0.89])
    e = 1e-6
    expected = (interpolation(nodes, points + e) - interpolation(nodes, points - e)) / (2 * e)
    np.testing.assert_allclose(interpolation_slopes(nodes, points), expected, atol=1e-9)


def test_slopes_at_nodes_and_beyond():
    """On the right of a node; at and beyond the ends those of the outer cells, as a cell that is cut off has."""
    values = np.array([0.0, 1.0, 4.0])
    found = values @ interpolation_slopes([0.0, 1.0, 2.0], [-3.0, 0.0, 1.0, 2.0, 9.0])
    np.testing.assert_allclose(found, [1.0, 1.0, 3.0, 3.0, 3.0])
    np.testing.assert_array_equal(interpolation_slopes([0.3, 0.3], [0.1, 0.3]), np.zeros((2, 2)))


def test_interpolation_takes_other_arrays():
    expected = interpolation([0.2, 0.8], [0.3])
    found = interpolation(strict.asarray([0.2, 0.8]), strict.asarray([0.3]))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("at_least", [1, 2, 7, 256])
@pytest.mark.parametrize("nodes", [[0.9, 0.1, 0.1, 0.5], [0.2, 0.4]])
def test_refine(nodes, at_least):
    grid = refine(nodes, at_least)
    distinct = np.unique(nodes)
    assert len(grid) >= at_least
    assert np.all(np.diff(grid) > 0)
    assert np.all(np.isin(distinct, grid))
    assert (grid[0], grid[-1]) == (distinct[0], distinct[-1])
    for low, high in pairwise(distinct):
        steps = np.diff(grid[(grid >= low) & (grid <= high)])
        np.testing.assert_allclose(steps, steps[0])
    assert len(grid) <= max(at_least, len(distinct)) + len(distinct)


def test_refine_of_one_node_and_of_nodes_that_differ_by_rounding():
    np.testing.assert_array_equal(refine([0.5, 0.5]), [0.5])
    grid = refine([0.1 + 0.2, 0.3, 0.6])
    assert np.all(np.diff(grid) > 0)
    QuantileFunction(grid, np.zeros((1, len(grid))))


@pytest.mark.parametrize("levels", [0.5, [0.1, 0.9], np.array([0.2]), strict.asarray([0.2, 0.3])])
def test_levels_are_accepted(levels):
    assert check_levels("owner", levels).ndim == 1


@pytest.mark.parametrize("levels", [0.0, 1.0, 90, [0.5, -0.1], np.nan, [[0.5]], "median", ["a"], None])
def test_levels_are_refused(levels):
    with pytest.raises((ParameterError, TypeError), match="owner: q must be"):
        check_levels("owner", levels, "q")


# --- quantile functions


def test_call_interpolates_and_is_constant_beyond_the_levels():
    function = QuantileFunction(LEVELS, ALL)
    theta = np.array([0.01, 0.05, 0.07, 0.34, 0.5, 0.95, 0.99])
    np.testing.assert_allclose(function(theta), [np.interp(theta, LEVELS, row) for row in ALL], atol=1e-14)
    np.testing.assert_allclose(function(LEVELS), ALL, atol=1e-14)
    assert function(0.5).shape == (len(ALL), 1)
    assert len(function) == len(ALL)
    with pytest.raises(ParameterError, match="QuantileFunction: levels must be"):
        function([0.5, 1.0])


@pytest.mark.parametrize(
    ("levels", "values", "message"),
    [
        ([0.5, 0.1], np.zeros((1, 2)), "strictly increasing"),
        ([0.5, 0.5], np.zeros((1, 2)), "strictly increasing"),
        ([25, 75], np.zeros((1, 2)), "probabilities"),
        ([0.1, np.nan], np.zeros((1, 2)), "probabilities"),
        ([[0.1]], np.zeros((1, 1)), "strictly increasing"),
        ([], np.zeros((1, 0)), "at least one"),
        ([0.1, 0.2], np.zeros((1, 3)), r"values must have shape \(n, 2\); got \(1, 3\)"),
        ([0.1, 0.2], np.zeros(2), r"values must have shape"),
    ],
)
def test_wrong_arguments_are_refused(levels, values, message):
    with pytest.raises(DataError, match=message):
        QuantileFunction(levels, values)


def test_mean_is_the_integral():
    function = QuantileFunction(LEVELS, ALL)
    np.testing.assert_allclose(function.mean(), dense(function)[1].mean(axis=1), atol=1e-5)


def test_cdf_is_the_measure_of_the_levels_below():
    function = QuantileFunction(LEVELS, ALL)
    y = RNG.normal(size=(len(ALL), 7))
    _, values = dense(function)
    expected = np.stack([(values <= y[:, [j]]).mean(axis=1) for j in range(7)], axis=1)
    np.testing.assert_allclose(function.cdf(y), expected, atol=3e-5)
    np.testing.assert_array_equal(function.cdf(y[:, 2]), function.cdf(y)[:, 2])
    assert function.cdf(y[:, 2]).shape == (len(ALL),)
    with pytest.raises(DataError, match=f"must have {len(ALL)} rows"):
        function.cdf(np.zeros(3))


def test_cdf_inverts_increasing_functions():
    function = QuantileFunction(LEVELS, MONOTONE)
    theta = np.linspace(0.05, 0.949, 23)
    np.testing.assert_allclose(function.cdf(function(theta)), np.tile(theta, (4, 1)), atol=1e-12)
    np.testing.assert_allclose(function.cdf(MONOTONE[:, -1]), 1.0)
    np.testing.assert_array_equal(function.cdf(MONOTONE[:, -1] + 1), 1.0)
    np.testing.assert_array_equal(function.cdf(MONOTONE[:, 0] - 1e-9), 0.0)


@settings(max_examples=60, derandomize=True, deadline=None)
@given(values=st.lists(st.integers(-3, 3), min_size=6, max_size=6), y=st.floats(-4, 4), theta=st.floats(0.001, 0.999))
def test_cdf_is_the_right_continuous_inverse(values, y, theta):
    function = QuantileFunction(LEVELS, np.sort(np.array([values], dtype=float)))
    below = float(function.cdf(np.array([y]))[0])
    value = float(function(theta)[0, 0])
    if abs(below - theta) > 1e-9 and abs(value - y) > 1e-9:  # away from ties: θ ≤ F(y) ⇔ Q(θ) ≤ y
        assert (theta <= below) == (value <= y)
    jumps = function.cdf(np.array([[float(v) for v in values]]))
    after = function.cdf(np.array([[v + 1e-10 for v in values]]))
    np.testing.assert_allclose(after, jumps, atol=1e-8)  # right-continuous at every atom
    assert np.all((jumps >= 0) & (jumps <= 1))


def test_cdf_at_atoms():
    function = QuantileFunction([0.2, 0.5, 0.8], np.array([[0.0, 0.0, 1.0]]))
    np.testing.assert_allclose(function.cdf(np.array([[-1e-12, 0.0, 0.5, 1 - 1e-12, 1.0]])), [[0, 0.5, 0.65, 0.8, 1]])


def test_cdf_of_a_function_that_crosses_is_its_definition():
    function = QuantileFunction([0.1, 0.2, 0.9], np.array([[1.0, 0.0, 1.0]]))
    np.testing.assert_allclose(function.cdf(np.array([0.5])), [0.05 + 0.35])


@pytest.mark.parametrize("row", range(len(ALL)))
def test_samples_follow_the_cdf(row):
    function = QuantileFunction(LEVELS, ALL[row : row + 1])
    draws = function.sample(20_000, rng=row)
    assert draws.shape == (1, 20_000)
    grid = np.unique(np.concatenate([ALL[row], np.linspace(-4, 4, 400)]))
    empirical = np.searchsorted(np.sort(draws[0]), grid, side="right") / 20_000
    distance = np.max(np.abs(empirical - function.cdf(grid[None, :])[0]))
    assert distance < stats.kstwo.ppf(1 - 1e-4, 20_000)


def test_samples_of_different_functions_are_independent_and_reproducible():
    function = QuantileFunction([0.01, 0.99], np.array([[0.0, 1.0], [0.0, 1.0]]))
    draws = function.sample(4000, rng=1)
    assert abs(np.corrcoef(draws)[0, 1]) < 0.08
    np.testing.assert_array_equal(draws, function.sample(4000, rng=1))
    np.testing.assert_array_equal(draws, function.sample(4000, np.random.default_rng(1)))
    assert function.sample().shape == (2, 1)


def test_tails_are_constant_and_everything_agrees_on_it():
    """Nothing is extrapolated: atoms of mass θ_1 and 1 − θ_m at the outer values."""
    function = QuantileFunction([0.3, 0.6], np.array([[1.0, 2.0]]))
    np.testing.assert_array_equal(function([0.001, 0.999]), [[1.0, 2.0]])
    assert function.mean()[0] == pytest.approx(0.3 * 1 + 0.3 * 1.5 + 0.4 * 2)
    assert function.cdf(np.array([1.0]))[0] == pytest.approx(0.3)
    assert function.cdf(np.array([2.0 - 1e-12]))[0] == pytest.approx(0.6)
    assert function.cdf(np.array([2.0]))[0] == pytest.approx(1.0)
    draws = function.sample(50_000, rng=0)
    assert (draws.min(), draws.max()) == (1.0, 2.0)
    assert np.mean(draws == 1.0) == pytest.approx(0.3, abs=0.01)
    assert np.mean(draws == 2.0) == pytest.approx(0.4, abs=0.01)
    np.testing.assert_array_equal(function.interval(0.9), [[1.0, 2.0]])


def test_interval():
    function = QuantileFunction(LEVELS, MONOTONE)
    np.testing.assert_allclose(function.interval(0.8), function([0.1, 0.9]), atol=1e-14)
    interval = function.interval(0.5)
    assert interval.shape == (4, 2)
    np.testing.assert_allclose(function.cdf(interval), np.tile([0.25, 0.75], (4, 1)), atol=1e-12)
    for coverage in (0.0, 1.0, 90, "most"):
        with pytest.raises(ParameterError, match="coverage must be"):
            function.interval(coverage)


def test_crossing_and_rearrangement():
    function = QuantileFunction(LEVELS, ALL)
    falls = np.maximum(ALL[:, :-1] - ALL[:, 1:], 0).mean(axis=1)
    np.testing.assert_allclose(function.crossing, falls)
    assert np.all(function.crossing[: len(MONOTONE) + len(FLAT)] == 0)
    assert np.all(function.crossing[-len(CROSSING) :] > 0)
    sorted_function = function.rearranged()
    np.testing.assert_array_equal(sorted_function.values, np.sort(ALL, axis=1))
    assert np.all(sorted_function.crossing == 0)
    np.testing.assert_array_equal(function.values, ALL)  # the function itself stays
    truth = np.sort(RNG.normal(size=ALL.shape), axis=1)
    for p in (1, 2, 5):
        before = np.sum(np.abs(ALL - truth) ** p, axis=1)
        assert np.all(np.sum(np.abs(sorted_function.values - truth) ** p, axis=1) <= before + 1e-12)


def test_one_level():
    function = QuantileFunction([0.5], np.array([[3.0], [4.0]]))
    np.testing.assert_array_equal(function([0.1, 0.9]), [[3.0, 3.0], [4.0, 4.0]])
    np.testing.assert_array_equal(function.mean(), [3.0, 4.0])
    np.testing.assert_array_equal(function.crossing, [0.0, 0.0])
    np.testing.assert_array_equal(function.sample(3, rng=0), [[3.0] * 3, [4.0] * 3])
    np.testing.assert_array_equal(function.cdf(np.array([2.9, 4.0])), [0.0, 1.0])


def test_integers_are_numbers():
    function = QuantileFunction([0.25, 0.75], np.array([[0, 2]]))
    np.testing.assert_allclose(function([0.5]), [[1.0]])
    np.testing.assert_allclose(function.mean(), [1.0])
    np.testing.assert_allclose(function.cdf([1]), [0.5])
    assert len(np.unique(function.sample(50, rng=0))) > 10


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("levels", "values"), [(LEVELS, ALL), (LEVELS[:1], ALL[:, :1])])
def test_strict_arrays_give_the_same(levels, values, dtype):
    tolerance = 1e-13 if dtype == "float64" else 2e-5
    expected = QuantileFunction(levels, values)
    array = strict.asarray(values, dtype=getattr(strict, dtype))
    found = QuantileFunction(strict.asarray(levels), array)
    y = RNG.normal(size=(len(values), 3))
    pairs = {
        "call": (found([0.1, 0.5]), expected([0.1, 0.5])),
        "call with an array": (found(strict.asarray([0.1, 0.5])), expected([0.1, 0.5])),
        "mean": (found.mean(), expected.mean()),
        "crossing": (found.crossing, expected.crossing),
        "rearranged": (found.rearranged().values, expected.rearranged().values),
        "interval": (found.interval(0.5), expected.interval(0.5)),
        "cdf": (found.cdf(strict.asarray(y)), expected.cdf(y)),
        "cdf of one": (found.cdf(y[:, 0]), expected.cdf(y[:, 0])),
        "sample": (found.sample(5, rng=2), expected.sample(5, rng=2)),
    }
    for name, (got, wanted) in pairs.items():
        assert isinstance(got, type(array)), name
        assert got.dtype == array.dtype, name
        np.testing.assert_allclose(to_numpy(got), wanted, atol=tolerance, err_msg=name)


# --- interpolation in space


def test_on_the_line_interpolation_in_space_is_that_by_straight_lines():
    nodes, points = RNG.uniform(size=9), np.linspace(-1, 2, 31)
    nodes[3] = nodes[5]  # averaged
    expected = interpolation(nodes, points)
    np.testing.assert_allclose(spatial_interpolation(nodes[:, None], points[:, None]), expected, atol=1e-9)


def test_interpolation_in_space_passes_through_its_nodes():
    nodes = 1e4 + RNG.uniform(size=(40, 3))
    np.testing.assert_allclose(spatial_interpolation(nodes, nodes), np.eye(40), atol=1e-9)
    anywhere = 1e4 + RNG.uniform(-3, 4, size=(20, 3))
    weights = spatial_interpolation(nodes, anywhere)
    np.testing.assert_allclose(weights.sum(axis=0), 1, atol=1e-9)  # constants are given back
    assert np.abs(spatial_interpolation(nodes, 1e9 * np.ones((1, 3)))).max() < 10  # and nothing grows far away
    np.testing.assert_array_equal(spatial_interpolation([[1.0, 2.0]] * 2, [[5.0, 5.0]]), [[0.5], [0.5]])


# --- monotone to the last digit


def rough_functions(count=200, size=40):
    """Sorted functions of all scales, on an uneven grid, with levels that are close together."""
    rng = np.random.default_rng(1)
    levels = np.sort(rng.uniform(0.01, 0.99, size=size))
    values = np.sort(rng.normal(size=(count, size)), axis=1) * 10.0 ** rng.integers(-3, 4, size=(count, 1))
    at = np.sort(np.concatenate([rng.uniform(1e-6, 1 - 1e-6, size=300), levels, np.nextafter(levels, 1)]))
    return QuantileFunction(levels, values + 1e3 * rng.normal(size=(count, 1))), at


def test_evaluation_is_monotone_in_floating_point():
    function, at = rough_functions()
    found = function(at)
    assert np.all(np.diff(found, axis=1) >= 0)
    order = np.random.default_rng(2).permutation(len(at))
    np.testing.assert_array_equal(function(at[order]), found[:, order])
    np.testing.assert_array_equal(function(function.levels), function.values)
    np.testing.assert_array_equal(function([1e-9, 1 - 1e-9]), function.values[:, [0, -1]])


def test_evaluation_of_falling_functions_is_monotone_too():
    function, at = rough_functions()
    assert np.all(np.diff(QuantileFunction(function.levels, function.values[:, ::-1].copy())(at), axis=1) <= 0)


def test_intervals_means_and_samples_stay_within_the_function():
    function, _ = rough_functions()
    low, high = function.values[:, 0], function.values[:, -1]
    for coverage in (1e-17, 1e-3, 0.5, 0.999):
        interval = function.interval(coverage)
        assert np.all(interval[:, 0] <= interval[:, 1])
    samples = function.sample(100, 0)
    assert np.all((samples >= low[:, None]) & (samples <= high[:, None]))
    constant = QuantileFunction(function.levels, np.repeat(function.values[:, :1], len(function.levels), axis=1))
    np.testing.assert_array_equal(constant.mean(), constant.values[:, 0])


def test_cdf_is_monotone_in_floating_point():
    function, at = rough_functions(count=50)
    y = np.sort(np.concatenate([function(at), np.nextafter(function.values, np.inf)], axis=1), axis=1)
    found = function.cdf(y)
    assert np.all((found >= 0) & (found <= 1) & (np.diff(found, axis=1, prepend=0.0) >= 0))


def test_lists_are_taken_and_what_is_no_number_is_refused():
    Q = QuantileFunction([0.25, 0.75], [[0.0, 2.0]])
    np.testing.assert_allclose(Q([0.5]), [[1.0]])
    assert Q.cdf(np.zeros((1, 0))).shape == (1, 0)
    assert Q.sample(0).shape == (1, 0)
    with pytest.raises(DataError, match="values must be numbers"):
        QuantileFunction([0.25, 0.75], [["a", "b"]])
    for size in (-1, 1.5, "many"):
        with pytest.raises(MercerError, match="size must be an integer >= 0"):
            Q.sample(size)
    with pytest.raises(MercerError, match="rng must be None, a seed or a"):
        Q.sample(2, rng="seed")
