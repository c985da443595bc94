"""Numbers of features from variances and bounds, and measured errors."""

import math

import numpy as np
import pytest

from mercer.exceptions import DataError, ParameterError, ParameterTypeError, UnsupportedError
from mercer.features import Nystroem, RandomFourier, kernel_error, suggest_n_features
from mercer.kernels import Constant, Gaussian, Laplacian, Linear, Matern, Periodic, Polynomial, SkewedChiSquared
from mercer.operator_valued import CurlFree, Delayed, DivergenceFree, Helmholtz

X = np.random.default_rng(0).uniform(-1, 1, size=(60, 3))


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(1.0),
        Matern(1.5, 0.7),
        Laplacian(0.8),
        Periodic(1.5),
        3.0 * Gaussian(1.0) + Laplacian(0.5) + Linear() + 1.0,
        CurlFree(Gaussian([1.0, 0.5, 2.0])),
        CurlFree(Matern(2.5, 1.0)),
        DivergenceFree(Gaussian(0.7)),
        Helmholtz(Gaussian(0.7), Gaussian(0.3), weight=0.3),
    ],
    ids=repr,
)
def test_predicted_errors_are_those_of_independent_frequencies(kernel):
    found = []
    for seed in range(20):
        made = RandomFourier(400, "iid", random_state=seed).bind(kernel, X)
        found.append(kernel_error(made, kernel, X[:25]))
    predicted = found[0].predicted
    scalar = hasattr(kernel, "diagonal") and np.ndim(kernel.diagonal(X[:2])) == 1
    ratio = math.sqrt(np.mean([one.root_mean_square**2 for one in found])) / predicted
    # of matrices the variance is in operator norm, E‖Δ‖² ≥ ‖E Δ²‖, and at most p times it
    assert 0.85 < ratio < (1.15 if scalar else 1.8)
    assert all(one.largest >= one.root_mean_square for one in found)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), CurlFree(Gaussian(0.5)), DivergenceFree(Gaussian(0.5))], ids=repr)
def test_bounds_hold(kernel):
    counts = suggest_n_features(kernel, X, tolerance=0.3, confidence=0.9)
    assert 1 <= counts.root_mean_square < counts.all_pairs < counts.everywhere
    size = 1.0 if isinstance(kernel, Gaussian) else np.linalg.norm(kernel.diagonal(X[:1])[0], 2)
    errors = [
        kernel_error(RandomFourier(counts.all_pairs, "iid", random_state=seed).bind(kernel, X), kernel, X).largest
        for seed in range(8)
    ]
    assert max(errors) < 0.3 * size
    finer = suggest_n_features(kernel, X, tolerance=0.15, confidence=0.9)
    assert finer.root_mean_square == pytest.approx(4 * counts.root_mean_square, rel=0.35)
    assert finer.everywhere > 3 * counts.everywhere
    assert suggest_n_features(kernel, X, 0.3, 0.99).all_pairs > counts.all_pairs


def test_kernels_without_a_uniform_bound():
    assert math.isinf(suggest_n_features(Laplacian(1.0), X).everywhere)
    skewed = suggest_n_features(SkewedChiSquared(1.5), X)
    assert math.isinf(skewed.everywhere)
    assert skewed.all_pairs > skewed.root_mean_square > 0
    assert suggest_n_features(Constant(1.0), X) == (1, 1, 1)


def test_errors_of_other_features_are_measured():
    few, many = (kernel_error(Nystroem(m, "pivots").bind(Gaussian(1.0), X), Gaussian(1.0), X) for m in (5, 50))
    assert math.isnan(few.predicted)
    assert many.largest < 0.01 < few.largest
    delayed = Delayed(Gaussian(1.0), np.zeros((2, 3)))
    found = kernel_error(RandomFourier(50).bind(delayed, X), delayed, X)
    assert math.isnan(found.predicted)
    assert found.largest > 0


def test_bad_input_is_refused():
    with pytest.raises(ParameterError, match="tolerance must be"):
        suggest_n_features(Gaussian(), X, tolerance=0)
    with pytest.raises(ParameterError, match="confidence must be"):
        suggest_n_features(Gaussian(), X, confidence=1.0)
    with pytest.raises((ParameterError, ParameterTypeError), match="kernel must be"):
        suggest_n_features("gaussian", X)
    with pytest.raises(DataError, match="no rows"):
        suggest_n_features(Gaussian(1.0), X[:0])
    with pytest.raises(UnsupportedError, match="Nystroem"):
        suggest_n_features(Polynomial(), X)
    with pytest.raises(UnsupportedError, match="kernel_error"):
        suggest_n_features(Delayed(Gaussian(1.0), np.zeros((2, 3))), X)
    with pytest.raises((ParameterError, ParameterTypeError), match="features must be"):
        kernel_error(Gaussian(1.0), Gaussian(1.0), X)
