"""How curves are read: arrays on a grid, pairs of points and values, and what becomes of rows of them."""

import numpy as np
import pytest

from mercer.estimators.grid_curves import GridCurves
from mercer.estimators.read_outputs import read_outputs
from mercer.estimators.scattered_curves import ScatteredCurves
from mercer.estimators.validation import as_points
from mercer.exceptions import DataError
from mercer.measures import Points

X = np.zeros((3, 2))
GRID = np.array([0.0, 0.2, 1.0])
Y = np.array([[1.0, 2.0, 3.0], [4.0, np.nan, 6.0], [7.0, 8.0, 9.0]])
PAIRS = [([0.1], [1.0]), ([0.3, 0.2], [2.0, 3.0]), (np.array([0.5, 0.6, 0.7]), np.array([4.0, 5.0, 6.0]))]


class Owner:
    """Named in errors."""


def read(targets, grid=None):
    return read_outputs(Owner(), targets, grid, X)


def test_an_array_on_a_grid():
    curves = read(Y, GRID)
    assert isinstance(curves, GridCurves)
    assert (len(curves), curves.n_components, curves.n_dims, curves.complete) == (3, 1, 2, False)
    np.testing.assert_array_equal(curves.values, Y)
    np.testing.assert_allclose(curves.nodes.weights, [0.1, 0.5, 0.4])
    np.testing.assert_array_equal(curves.take(np.array([2, 0])).values, Y[[2, 0]])
    np.testing.assert_array_equal(curves.take(np.array([True, False, True])).values, Y[[0, 2]])
    assert curves.take(np.array([0, 2])).complete


def test_columns_without_a_grid_have_weight_one():
    curves = read(Y)
    np.testing.assert_array_equal(curves.nodes.points[:, 0], [0, 1, 2])
    np.testing.assert_array_equal(curves.nodes.weights, 1)
    one = read(Y[:, 0])
    assert (one.values.shape, one.n_dims, len(one.nodes)) == ((3, 1), 1, 1)
    assert one.shaped(np.ones((5, 1)), 1).shape == (5,)


def test_a_rule_is_taken_literally():
    nodes = read(Y, Points(GRID, [1.0, 2.0, 3.0])).nodes
    np.testing.assert_array_equal(nodes.weights, [1, 2, 3])
    np.testing.assert_array_equal(nodes.points[:, 0], GRID)


def test_components_are_last():
    cube = np.arange(18.0).reshape(3, 3, 2)
    curves = read(cube, GRID)
    assert (curves.n_components, curves.n_dims) == (2, 3)
    np.testing.assert_array_equal(curves.values, cube.reshape(3, 6))
    np.testing.assert_array_equal(curves.shaped(curves.values, 3), cube)


def test_points_of_their_own():
    curves = read(PAIRS)
    assert isinstance(curves, ScatteredCurves)
    assert (len(curves), curves.n_components, curves.n_dims, curves.complete) == (3, 1, 2, False)
    np.testing.assert_array_equal(curves.rows, [0, 1, 1, 2, 2, 2])
    np.testing.assert_array_equal(curves.points[:, 0], [0.1, 0.3, 0.2, 0.5, 0.6, 0.7])
    np.testing.assert_array_equal(curves.values[:, 0], [1, 2, 3, 4, 5, 6])
    np.testing.assert_allclose(curves.weights, [1, 1 / 2, 1 / 2, 1 / 3, 1 / 3, 1 / 3])
    some = curves.take(np.array([2, 0]))
    np.testing.assert_array_equal(some.rows, [0, 0, 0, 1])
    np.testing.assert_array_equal(some.values[:, 0], [4, 5, 6, 1])
    np.testing.assert_array_equal(curves.take(np.array([False, True, False])).rows, [0, 0])
    assert len(curves.take(np.zeros(0, dtype=int))) == 0


def test_missing_values_of_a_pair_are_no_observations():
    """The weights of the others still sum to 1, unless they were given."""
    curves = read([([0.1, 0.2, 0.3], [1.0, np.nan, 3.0]), *PAIRS[1:]])
    np.testing.assert_array_equal(curves.values[:2, 0], [1, 3])
    np.testing.assert_allclose(curves.weights[:2], 1 / 2)
    given = read([([0.1, 0.2, 0.3], [1.0, np.nan, 3.0], [0.2, 0.3, 0.5]), *PAIRS[1:]])
    np.testing.assert_allclose(given.weights[:2], [0.2, 0.5])
    zero = read([([0.1, 0.2, 0.3], [1.0, 2.0, 3.0], [0.2, 0.0, 0.5]), *PAIRS[1:]])
    np.testing.assert_array_equal(zero.values[:2, 0], [1, 3])


def test_values_and_points_of_several_dimensions():
    curves = read([(np.zeros((2, 3)), np.ones((2, 4))), (np.ones((1, 3)), np.zeros((1, 4)))])
    assert (curves.points.shape, curves.values.shape, curves.n_dims) == ((3, 3), (3, 4), 3)
    assert curves.shaped(np.ones((5, 8)), 2).shape == (5, 2, 4)


@pytest.mark.parametrize(
    "targets",
    [
        PAIRS,
        tuple(PAIRS),
        [list(one) for one in PAIRS],
        np.array([*PAIRS, None], dtype=object)[:-1],
        np.array([(np.array(t), np.array(y)) for t, y in PAIRS], dtype=object),
    ],
    ids=["list", "tuple", "lists", "objects", "columns of objects"],
)
def test_ways_to_write_pairs(targets):
    curves = read(targets)
    assert isinstance(curves, ScatteredCurves)
    np.testing.assert_array_equal(curves.values[:, 0], [1, 2, 3, 4, 5, 6])


def test_a_series_of_pairs():
    pd = pytest.importorskip("pandas")
    np.testing.assert_array_equal(read(pd.Series(PAIRS)).rows, [0, 1, 1, 2, 2, 2])
    frame = read(pd.DataFrame(Y).convert_dtypes(), GRID)
    np.testing.assert_array_equal(frame.values, Y)
    with pytest.raises(DataError, match="Y must hold numbers"):
        read(pd.DataFrame({"a": ["x", "y", "z"]}))


@pytest.mark.parametrize("targets", [Y.tolist(), [tuple(row) for row in Y], tuple(map(list, Y)), list(Y)])
def test_rows_of_numbers_are_no_pairs(targets):
    assert isinstance(read(targets, GRID), GridCurves)
    two = read([(1.0, 2.0), (3.0, 4.0), (5.0, 6.0)])  # two outputs, not a point and a value
    assert isinstance(two, GridCurves)


def test_lists_of_two_arrays_could_be_either():
    either = [[GRID, row] for row in Y]
    with pytest.raises(DataError, match=r"Pass tuples \(points, values\).* or numpy.asarray\(Y\)"):
        read(either)
    assert isinstance(read([tuple(one) for one in either]), ScatteredCurves)
    assert read(np.asarray(either)).n_components == 3


def test_masked_arrays():
    masked = read(np.ma.masked_greater(np.arange(9).reshape(3, 3), 6), GRID)
    np.testing.assert_array_equal(masked.values, [[0, 1, 2], [3, 4, 5], [6, np.nan, np.nan]])


def test_what_was_never_observed():
    read(Y, GRID).check(Owner(), X)
    read(PAIRS).check(Owner(), X)
    row, column = Y.copy(), Y.copy()
    row[1], column[:, 2] = np.nan, np.nan
    with pytest.raises(DataError, match="Owner: curve 1 has no observation"):
        read(row, GRID).check(Owner(), X)
    read(row, GRID).check(Owner(), X, np.array([True, False, True]))  # it does not count
    with pytest.raises(DataError, match="Owner: column 2 of Y holds NaN only"):
        read(column, GRID).check(Owner(), X)
    with pytest.raises(DataError, match="column 1 of Y"):
        read(Y, GRID).check(Owner(), X, np.array([False, True, False]))


def test_points():
    assert as_points("it", 0.5).shape == (1, 1)
    assert as_points("it", [0.1, 0.2]).shape == (2, 1)
    assert as_points("it", [[0.1, 0.2]]).shape == (1, 2)
    for bad in ([], [np.inf], np.zeros((1, 1, 1))):
        with pytest.raises(DataError, match="it: points must be finite numbers of shape"):
            as_points("it", bad)
    with pytest.raises(DataError, match="it: points must hold numbers"):
        as_points("it", ["a"])
