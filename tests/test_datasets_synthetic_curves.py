"""Synthetic curves: what is said to be shared is shared, and masks say what was touched."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.datasets import contaminate_curves, drop_observations, make_curves
from mercer.datasets.synthetic_curves import _processes
from mercer.exceptions import DataError, MercerError


def test_shapes_seeds_and_noise():
    data = make_curves(40, 30, n_input_points=25, noise=0.5, random_state=0)
    assert (data.X.shape, data.Y.shape, data.noiseless.shape) == ((40, 25), (40, 30), (40, 30))
    np.testing.assert_array_equal(data.x_grid, np.linspace(0, 1, 25))
    np.testing.assert_array_equal(data.grid, np.linspace(0, 1, 30))
    np.testing.assert_array_equal(data.Y, make_curves(40, 30, n_input_points=25, noise=0.5, random_state=0).Y)
    assert not np.array_equal(data.Y, make_curves(40, 30, n_input_points=25, noise=0.5, random_state=1).Y)
    assert np.std(data.Y - data.noiseless) == pytest.approx(0.5, rel=0.1)
    clean = make_curves(5, 30, noise=0, random_state=0)
    np.testing.assert_array_equal(clean.Y, clean.noiseless)


def test_inputs_and_outputs_share_their_coefficients():
    """x ↦ y is one linear map of rank r, also for rows that it was not read off."""
    data = make_curves(60, 40, n_components=3, noise=0, random_state=1)
    assert np.linalg.matrix_rank(data.X) == np.linalg.matrix_rank(data.Y) == 3
    assert np.linalg.matrix_rank(np.hstack([data.X, data.Y])) == 3
    map_ = np.linalg.lstsq(data.X[:20], data.Y[:20], rcond=1e-8)[0]
    np.testing.assert_allclose(data.X[20:] @ map_, data.Y[20:], atol=1e-6)


def test_processes_have_their_covariance():
    grid = np.array([0.0, 0.1, 0.4, 1.0])
    draws = _processes(grid, (0.3,), 20_000, np.random.RandomState(0))
    wanted = np.exp(-((grid[:, None] - grid) ** 2) / (2 * 0.3**2))
    np.testing.assert_allclose(draws.T @ draws / len(draws), wanted, atol=0.03)
    rough, smooth = _processes(np.linspace(0, 1, 200), (0.05, 0.7), 2, np.random.RandomState(0))
    assert np.std(np.diff(rough)) > 3 * np.std(np.diff(smooth))


@pytest.mark.parametrize("shape", [(20, 15), (20, 15, 3)])
def test_global_outliers_are_turned_round(shape):
    Y = np.random.default_rng(0).normal(size=shape)
    spoilt, touched = contaminate_curves(Y, share=0.25, scale=1.2, random_state=0)
    assert touched.shape == (20,)  # curves, not their cells
    assert touched.dtype == bool
    assert touched.sum() == 5
    np.testing.assert_array_equal(spoilt[touched], -1.2 * Y[touched])
    np.testing.assert_array_equal(spoilt[~touched], Y[~touched])


def test_local_outliers_are_noise_at_some_points():
    Y = np.zeros((400, 50))
    spoilt, mask = contaminate_curves(Y, "local", scale=0.7, random_state=0)
    counts = mask.sum(axis=1)
    assert np.sum(counts == 10) == 200
    assert np.sum(counts == 0) == 200
    assert len(np.unique(mask[counts > 0], axis=0)) > 190  # other points for each curve
    assert np.std(spoilt[mask]) == pytest.approx(0.7, rel=0.05)
    np.testing.assert_array_equal(spoilt[~mask], 0)
    _, few = contaminate_curves(Y, "local", 0.1, points_share=0.5, random_state=0)
    assert sorted(np.unique(few.sum(axis=1))) == [0, 25]
    whole, mask = contaminate_curves(np.zeros((4, 6, 2)), "local", points_share=0.0, random_state=0)
    assert sorted(mask.all(axis=2).sum(axis=1)) == [0, 0, 1, 1]  # components go together, with noise of their own
    assert np.all(whole[..., 0][mask[..., 0]] != whole[..., 1][mask[..., 1]])


def test_foreign_outliers_are_of_other_functions():
    data = make_curves(50, 40, noise=0, random_state=0)
    spoilt, outliers = contaminate_curves(data.Y, "foreign", 0.2, 6.0, random_state=1)
    assert outliers.shape == (50,)
    assert outliers.sum() == 10
    np.testing.assert_array_equal(spoilt[~outliers], data.Y[~outliers])
    assert np.linalg.matrix_rank(spoilt, tol=1e-6) == 8  # four functions and four others
    small, _ = contaminate_curves(data.Y, "foreign", 0.2, 0.6, random_state=1)
    np.testing.assert_allclose(10 * small[outliers], spoilt[outliers])
    uneven, _ = contaminate_curves(data.Y, "foreign", 0.2, 6.0, grid=5 + 3 * data.grid, random_state=1)
    np.testing.assert_allclose(uneven, spoilt, atol=1e-4)  # the unit of the grid does not matter
    components, _ = contaminate_curves(np.zeros((10, 8, 2)), "foreign", 0.5, random_state=1)
    assert components.shape == (10, 8, 2)
    assert not np.allclose(components[..., 0], components[..., 1])


@pytest.mark.parametrize("kind", ["global", "foreign", "local"])
def test_what_is_missing_stays_missing(kind):
    Y = drop_observations(np.ones((30, 20)), share=0.4, random_state=0)
    spoilt, touched = contaminate_curves(Y, kind, 0.5, random_state=0)
    np.testing.assert_array_equal(np.isnan(spoilt), np.isnan(Y))
    assert np.all(np.isnan(Y[touched]) | (spoilt[touched] != Y[touched]))
    if kind == "local":
        assert not np.any(touched & np.isnan(Y))


@pytest.mark.parametrize("shape", [(12, 20), (12, 20, 2)])
def test_random_holes_have_their_share(shape):
    Y = np.random.default_rng(0).normal(size=shape)
    holes = drop_observations(Y, "random", 0.3, random_state=0)
    missing = np.isnan(holes)
    np.testing.assert_array_equal(holes[~missing], Y[~missing])
    places = missing.reshape(12, 20, -1)
    np.testing.assert_array_equal(places.all(axis=2), places.any(axis=2))
    assert places[..., 0].sum() == 72
    again = drop_observations(Y, "random", 0.3, random_state=0)
    np.testing.assert_array_equal(holes, again)
    np.testing.assert_array_equal(drop_observations(Y, share=0.0), Y)


def test_windows_are_neighbours_and_everywhere():
    missing = np.isnan(drop_observations(np.ones((3000, 10)), "window", 0.6, random_state=0))
    np.testing.assert_array_equal(missing.sum(axis=1), 6)
    turns = np.sum(missing != np.roll(missing, 1, axis=1), axis=1)
    np.testing.assert_array_equal(turns, 2)  # one stretch on the circle
    np.testing.assert_allclose(missing.mean(axis=0), 0.6, atol=0.04)


@given(
    st.integers(1, 7),
    st.integers(1, 7),
    st.sampled_from(["random", "window"]),
    st.floats(0, 0.999),
    st.integers(0, 100),
)
def test_no_row_or_column_is_emptied(n, m, kind, share, seed):
    Y = np.random.default_rng(seed).normal(size=(n, m))
    Y = drop_observations(drop_observations(Y, "random", share / 2, random_state=seed), kind, share, random_state=seed)
    kept = ~np.isnan(Y)
    assert kept.any(axis=0).all()
    assert kept.any(axis=1).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_samples": 0}, "n_samples must be an integer >= 1"),
        ({"n_points": 1}, "n_points must be an integer >= 2"),
        ({"n_input_points": 1}, "n_input_points must be an integer >= 2"),
        ({"n_components": 2.5}, "n_components must be an integer"),
        ({"noise": -1}, "noise must be a finite number >= 0"),
    ],
)
def test_sizes_that_are_refused(arguments, message):
    with pytest.raises(MercerError, match=f"make_curves: {message}"):
        make_curves(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "wild"}, "kind must be 'global', 'foreign' or 'local'; got 'wild'"),
        ({"share": 10}, r"share must be a finite number in \(0, 1\); got 10. A share of the curves: 0.1, not 10"),
        ({"scale": 0}, "scale must be a finite number > 0"),
        ({"points_share": 1.5}, "points_share must be a finite number in"),
        ({"kind": "foreign", "grid": [0, 1]}, "grid must have a point for each of the 4 columns of Y; got 2"),
        ({"kind": "foreign", "grid": [0, 1, 1, 2]}, "points must be strictly increasing"),
        ({"Y": np.zeros(3)}, r"got shape \(3,\)"),
        ({"Y": [[1.0], [1.0, 2.0]]}, "rows of one length"),
        ({"Y": [[np.inf, 1.0]]}, "must be finite or NaN"),
    ],
)
def test_contaminations_that_are_refused(arguments, message):
    with pytest.raises(MercerError, match=message):
        contaminate_curves(**{"Y": np.zeros((3, 4)), **arguments})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "stripes"}, "kind must be 'random' or 'window'"),
        ({"share": 50}, "A share of the entries: 0.5, not 50"),
        ({"share": 1}, "share must be less than 1"),
        ({"Y": [[1.0, np.nan], [2.0, np.nan]]}, "Y has columns without an observation"),
        ({"Y": [[1.0, 2.0], [np.nan, np.nan]]}, "Y has rows without an observation"),
        ({"Y": np.zeros((0, 3))}, "not empty"),
    ],
)
def test_holes_that_are_refused(arguments, message):
    with pytest.raises((MercerError, DataError), match=message):
        drop_observations(**{"Y": np.zeros((3, 4)), **arguments})
