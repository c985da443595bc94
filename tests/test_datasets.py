"""Synthetic data: shapes, seeds, and the quantiles that are said to be true."""

import numpy as np
import pytest
from scipy import stats

from mercer.datasets import make_sine, sine_quantiles


def test_shapes_and_seeds():
    X, y = make_sine(7, random_state=0)
    assert (X.shape, y.shape) == ((7, 1), (7,))
    again = make_sine(7, random_state=0)
    np.testing.assert_array_equal(X, again[0])
    np.testing.assert_array_equal(y, again[1])
    assert not np.array_equal(X, make_sine(7, random_state=1)[0])
    np.testing.assert_array_equal(X, make_sine(7, random_state=np.random.RandomState(0))[0])
    assert make_sine()[0].shape == (400, 1)


def test_formula_of_the_specification():
    """Spec 5.2: y = −sin(2πx)(1 + sin(2πx/3)) + s(x)·N(0, 1), s linear from 1.2 at 0 to 0.2 at 1.5."""
    x = np.array([[0.0], [0.3], [0.75], [1.5]])
    location = -np.sin(2 * np.pi * x[:, 0]) * (1 + np.sin(2 * np.pi * x[:, 0] / 3))
    scale = np.array([1.2, 1.0, 0.7, 0.2])
    np.testing.assert_allclose(sine_quantiles(x, 0.5)[:, 0], location, atol=1e-12)
    np.testing.assert_allclose(sine_quantiles(x, stats.norm.cdf(1.0))[:, 0], location + scale, atol=1e-12)
    levels = [0.1, 0.5, 0.8]
    assert sine_quantiles(x, levels).shape == (4, 3)
    np.testing.assert_allclose(sine_quantiles(x.tolist(), levels), sine_quantiles(x, levels))


def test_inputs_are_uniform_and_levels_are_covered():
    X, y = make_sine(20_000, random_state=3)
    assert stats.kstest(X[:, 0], stats.uniform(0, 1.5).cdf).pvalue > 1e-3
    levels = np.array([0.05, 0.3, 0.5, 0.9])
    below = y[:, None] <= sine_quantiles(X, levels)
    for part in (X[:, 0] < 0.5, X[:, 0] > 1.0):
        np.testing.assert_allclose(below[part].mean(axis=0), levels, atol=0.015)
    assert stats.kstest((y - sine_quantiles(X, 0.5)[:, 0]) / (1.2 - X[:, 0] / 1.5), "norm").pvalue > 1e-3


@pytest.mark.parametrize("size", [0, -3, 1.5, "many"])
def test_sizes_that_are_refused(size):
    with pytest.raises((ValueError, TypeError), match="n_samples must be an integer >= 1"):
        make_sine(size)


@pytest.mark.parametrize("levels", [0, 1.0, 90, [0.5, np.nan], []])
def test_levels_that_are_refused(levels):
    with pytest.raises(ValueError, match="sine_quantiles: levels must be"):
        sine_quantiles(np.zeros((2, 1)), levels)
