"""Values, derivatives and mean curves between the nodes, of models as they come."""

import numpy as np
import pytest

from mercer import FunctionalRegressor
from mercer.estimators.output_kernels import default_output_kernels, node_spacing
from mercer.estimators.read_outputs import read_outputs
from mercer.estimators.sample import Sample
from mercer.estimators.smoothness import (
    FEW_LENGTHS,
    choose_smoothness,
    default_alphas,
    default_kernels,
    smoothness_errors,
)
from mercer.kernels import Gaussian
from mercer.losses import Square

FINE = np.linspace(0, 1, 101)


def waves(n=60, m=100, noise=0.3, seed=0):
    """Return inputs, a grid and curves sin(2π(θ + x)) with noise."""
    rng = np.random.default_rng(seed)
    X, grid = rng.uniform(size=(n, 1)), np.linspace(0, 1, m)
    return X, grid, np.sin(2 * np.pi * (grid + X)) + noise * rng.normal(size=(n, m))


def heights(inputs, age):
    """Return growth curves with a spurt: adult height and age of the spurt are the inputs (Preece and Baines)."""
    adult, spurt = inputs.T[:, :, None]
    return adult * (1 - 1.16 / (np.exp(0.12 * (age - spurt)) + np.exp(1.1 * (age - spurt))))


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_straight_lines_do_not_ring(fit_intercept, noise):
    rng = np.random.default_rng(0)
    X, grid = rng.normal(size=(100, 1)), np.linspace(0, 1, 11)
    Y = 10 * X * grid + 5 + noise * rng.normal(size=(100, 11))
    model = FunctionalRegressor(grid=grid, fit_intercept=fit_intercept).fit(X, Y)
    assert np.max(np.abs(model.predict_at(X, FINE) - (10 * X * FINE + 5))) < 0.5  # of values up to 30


def test_growth_curves_at_ages_that_were_left_out():
    rng = np.random.default_rng(0)
    ages = np.concatenate([np.arange(3, 16, 0.5), [16.0, 17.0, 18.0]])
    inputs = np.column_stack([rng.normal(168, 7, 60), rng.normal(12.5, 1.0, 60)])
    kept, hidden = ages[::2], ages[1::2]
    Y = heights(inputs, kept) + 0.3 * rng.normal(size=(60, len(kept)))
    model = FunctionalRegressor(grid=kept).fit(inputs, Y)
    truth, predicted = heights(inputs, hidden), model.predict(inputs)
    own = np.sqrt(np.mean((model.predict_at(inputs, hidden) - truth) ** 2))
    straight = np.sqrt(np.mean((np.array([np.interp(hidden, kept, curve) for curve in predicted]) - truth) ** 2))
    assert own < 0.6 * straight
    velocity = model.predict_derivative(inputs, hidden)
    expected = (heights(inputs, hidden + 1e-4) - heights(inputs, hidden - 1e-4)) / 2e-4
    assert np.sqrt(np.mean((velocity - expected) ** 2)) < 0.25 * np.std(expected)


def relative_error_of_slopes(model, new):
    expected = 2 * np.pi * np.cos(2 * np.pi * (FINE + new))
    return np.sqrt(np.mean((model.predict_derivative(new, FINE) - expected) ** 2) / np.mean(expected**2))


@pytest.mark.parametrize(
    ("n", "m", "noise", "bound"), [(100, 100, 0.3, 0.12), (60, 100, 0.1, 0.06), (60, 30, 0.0, 0.1)]
)
def test_derivatives_of_noisy_waves(n, m, noise, bound):
    """Nodes that are close together, and a mean curve that would be free at each of them, make no noise."""
    X, grid, Y = waves(n, m, noise)
    new = np.linspace(0.02, 0.98, 25)[:, None]
    with_mean, without = (FunctionalRegressor(grid=grid, fit_intercept=b).fit(X, Y) for b in (True, False))
    errors = [relative_error_of_slopes(model, new) for model in (with_mean, without)]
    assert errors[0] < min(bound, 1.25 * errors[1])


def test_a_matrix_and_pairs_of_points_and_values_are_alike():
    X, grid, Y = waves(m=20)
    new = np.linspace(0.02, 0.98, 25)[:, None]
    truth = np.sin(2 * np.pi * (FINE + new))
    matrix = FunctionalRegressor(grid=grid).fit(X, Y).predict_at(new, FINE)
    pairs = FunctionalRegressor(grid=grid).fit(X, [(grid, y) for y in Y]).predict_at(new, FINE)
    errors = [np.sqrt(np.mean((values - truth) ** 2)) for values in (matrix, pairs)]
    assert max(errors) < 1.15 * min(errors)
    assert np.sqrt(np.mean((matrix - pairs) ** 2)) < 0.5 * max(errors)


def test_the_mean_function_is_the_mean_of_the_fitted_curves():
    X, grid, Y = waves()
    model = FunctionalRegressor(grid=grid).fit(X, Y)
    np.testing.assert_allclose(model.mean_function_.evaluate(grid), model.predict(X).mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(
        model.mean_function_.slope(FINE), model.predict_derivative(X, FINE).mean(axis=0), atol=1e-9
    )
    means = Y.mean(axis=0)
    assert np.max(np.abs(model.mean_function_.evaluate(grid) - means)) < 0.3  # three standard errors are 0.12
    rough = np.std(np.diff(means, 2))
    assert np.std(np.diff(model.mean_function_.evaluate(grid), 2)) < 0.1 * rough


def test_no_scale_is_below_the_spacing_of_the_nodes():
    grid = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
    assert node_spacing(grid[:, None]) == pytest.approx(0.1)
    assert node_spacing(np.zeros((3, 1))) == 0.0
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 1))
    rough = X * rng.normal(size=11)  # curves that no smooth kernel describes
    kernel = FunctionalRegressor(grid=grid).fit(X, rough).output_kernel_
    parts = [kernel] if isinstance(kernel, Gaussian) else [kernel.left, kernel.right.kernel]
    assert all(part.gamma <= 100.0 * (1 + 1e-9) for part in parts)


@pytest.mark.parametrize("shape", [lambda x, t: np.sin(2 * np.pi * (t + x)), lambda x, t: 3 * x * t, lambda x, t: x**2])
def test_kernels_chosen_in_turn_are_the_best_of_all_pairs(shape):
    rng, grid = np.random.default_rng(0), np.linspace(0, 1, 6)  # too few nodes to leave some out
    X = rng.normal(size=(60, 1))
    Y = shape(X, grid) + 0.2 * rng.normal(size=(60, 6))
    sample = Sample(X, read_outputs(FunctionalRegressor(), Y, grid, X))
    inputs, outputs = default_kernels(X, FEW_LENGTHS), default_output_kernels(sample.outputs)
    errors = smoothness_errors(sample, inputs, outputs, default_alphas(sample), Square())
    least = errors.min(axis=(1, 2))
    i = int(np.argmax(least <= least.min() * (1 + 2 / 60)))  # a rougher one must be better by 2/n
    chosen = choose_smoothness(sample, inputs, outputs, None, Square())
    assert chosen.kernel == inputs[i]
    assert chosen.output_kernel == outputs[int(np.argmin(errors[i].min(axis=1)))]
