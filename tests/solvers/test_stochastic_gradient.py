"""Stochastic gradients against exact solutions in the same features: they converge, and as fast as is proved."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.exceptions import DataError, ParameterError, ParameterTypeError, UnsupportedError
from mercer.features import Nystroem, RandomFourier, SeededFourier
from mercer.kernels import Gaussian, as_kernel
from mercer.linalg import right_factor
from mercer.losses import EpsilonInsensitive, Huber, Pinball, Square
from mercer.measures import GaussLegendre, Measure
from mercer.operator_valued import CurlFree
from mercer.problems import FeatureProblem
from mercer.rows import ArrayRows
from mercer.solvers import NormalEquations, StochasticGradient, StreamedADMM, StreamedLBFGS

ONE = Measure(np.zeros((1, 1)), np.ones(1))
ALPHA = 1e-2


def data(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, np.sin(3 * X[:, :1]) + 0.2 * rng.normal(size=(n, 1))


def waves(X, n=20):
    return RandomFourier(n, random_state=0).bind(Gaussian(1.0), X)


def draw(fit, X, Y, steps, rng):
    """Steps on rows that are drawn with replacement, as the proof has them."""
    while fit.n_steps < steps:
        rows = rng.integers(len(X), size=50 * fit.batch_size)
        fit.update((X[rows], Y[rows]))
    return fit


@pytest.mark.parametrize(
    ("loss", "solver"),
    [
        (Square(), StreamedLBFGS(1e-10)),
        (Huber(0.3), StreamedLBFGS(1e-9)),
        (EpsilonInsensitive(0.1, "pointwise"), StreamedADMM(1e-6)),
    ],
    ids=repr,
)
def test_error_of_the_objective_falls_like_one_over_steps(loss, solver):
    X, Y = data()
    problem = FeatureProblem((waves(X), ArrayRows(X, Y)), loss, ONE, ALPHA)
    best = solver.solve(problem).objective
    errors = []
    for steps in (1000, 6000):
        excess = []
        for seed in range(2):
            fit = StochasticGradient(waves(X), loss, ONE, ALPHA, batch_size=4, seed=seed)
            draw(fit, X, Y, steps, np.random.default_rng(seed))
            excess.append(problem.value(fit.coef[0], np.zeros(1)) - best)
        errors.append(np.mean(excess))
    assert -1e-6 * best <= errors[1] <= 5e-3 * best
    assert errors[1] < errors[0] / 4  # six times the steps


def test_objective_is_within_what_is_proved():
    X, Y = data()
    kernel, T = waves(X), 3000
    problem = FeatureProblem((kernel, ArrayRows(X, Y)), Square(), ONE, ALPHA)
    exact = NormalEquations(kernel, ONE, fit_intercept=False).update((X, Y)).solve([ALPHA]).fit(ALPHA)
    fit = draw(StochasticGradient(kernel, Square(), ONE, ALPHA, batch_size=1), X, Y, T, np.random.default_rng(1))
    start = fit.position()["start"]
    assert start == pytest.approx(8 * (1 + ALPHA) / ALPHA, rel=1e-6)
    features = kernel.features(X)
    slopes = (features @ exact.coef - Y) * features + ALPHA * exact.coef.T
    variance = np.mean(np.sum(slopes**2, axis=1))
    bound = 2 * ALPHA * start**2 * np.sum(exact.coef**2) / T**2 + 8 * variance / (ALPHA * T)
    assert problem.value(fit.coef[0], np.zeros(1)) - exact.objective <= bound


@pytest.mark.parametrize("field", [False, True], ids=["scalar", "curl-free"])
def test_seeded_blocks_converge_to_the_fit_in_all_features(field):
    """Brault's Algorithms 4 and 5: no frequency is stored, and the limit is the exact fit in all of them."""
    X, Y = data(200)
    Y = np.stack([np.cos(X[:, 0]), np.sin(X[:, 1])], axis=1) if field else Y
    measure = Measure(np.arange(2.0)[:, None], np.ones(2)) if field else ONE
    blocks = SeededFourier(2, 5, "iid").bind(CurlFree(Gaussian(1.0)) if field else Gaussian(1.0), X)
    features = np.concatenate([blocks.block(i).features(X) / np.sqrt(2) for i in range(2)], axis=-1)
    features = features.reshape(Y.size, -1)
    system = features.T @ features / len(X) + 0.1 * np.eye(features.shape[1])
    exact = features @ np.linalg.solve(system, features.T @ Y.reshape(-1, 1) / len(X))
    fit = StochasticGradient(blocks, Square(), measure, 0.1, batch_size=50)
    rng, errors = np.random.default_rng(0), []
    for steps in (100, 400):
        draw(fit, X, Y, steps, rng)
        errors.append(np.sqrt(np.mean((fit.predict(X).reshape(-1, 1) - exact) ** 2)) / np.std(exact))
    assert errors[1] < min(0.3, errors[0] / 2)
    again = StochasticGradient(SeededFourier(2, 5, "iid").bind(blocks.kernel, X), Square(), measure, 0.1, batch_size=50)
    draw(again, X, Y, 400, np.random.default_rng(0))
    np.testing.assert_array_equal(fit.predict(X), again.predict(X))  # the same frequencies each time


def test_features_in_x_and_theta_with_one_row_and_one_level_a_step():
    """Lambert's Algorithm 3.2."""
    X, Y = data()
    levels = GaussLegendre(6).build()
    theta = RandomFourier(8, random_state=1).bind(Gaussian(2.0), levels.points)
    R = theta.features(levels.points)
    problem = FeatureProblem((waves(X), ArrayRows(X, Y)), Pinball(), levels, 0.05, R)
    best = StreamedADMM(1e-4).solve(problem).objective
    fit = StochasticGradient(waves(X), Pinball(), levels, 0.05, R, batch_size=1, n_nodes=1)
    draw(fit, X, Y, 6000, np.random.default_rng(0))
    assert best * (1 - 1e-4) <= problem.value(fit.coef[0], np.zeros(6)) <= 1.05 * best


def test_intercept_is_that_of_a_constant_feature():
    X, Y = data()
    kernel, offset = waves(X), np.array([3.0])
    features = np.hstack([kernel.features(X), np.ones((len(X), 1))])
    system = features.T @ features / len(X) + ALPHA * np.eye(features.shape[1])
    exact = features @ np.linalg.solve(system, features.T @ (Y + 0.5) / len(X)) + offset
    fit = StochasticGradient(kernel, Square(), ONE, ALPHA, fit_intercept=True, offset=offset)
    draw(fit, X, Y + 0.5 + offset, 8000, np.random.default_rng(0))
    np.testing.assert_allclose(fit.predict(X), exact, atol=0.02)


def test_weights_are_repetitions():
    X, Y = data()
    rng = np.random.default_rng(0)
    weight = rng.integers(1, 4, len(X)).astype(float)
    kernel = waves(X)
    equations = NormalEquations(kernel, ONE, fit_intercept=False).update((X, Y, weight))
    exact = equations.solve([ALPHA]).fit(ALPHA)
    fit = StochasticGradient(kernel, Square(), ONE, ALPHA, batch_size=8)
    for _ in range(100):
        rows = rng.permutation(len(X))
        fit.update((X[rows], Y[rows], weight[rows] / weight.mean()))
    predicted = kernel.features(X) @ exact.coef
    assert np.sqrt(np.mean((fit.predict(X) - predicted) ** 2)) < 0.02


def test_position_goes_on_as_if_nothing_had_happened():
    X, Y = data(100)
    whole = StochasticGradient(waves(X), Huber(0.3), ONE, ALPHA, batch_size=10).update((X, Y)).update((X, Y))
    first = StochasticGradient(waves(X), Huber(0.3), ONE, ALPHA, batch_size=10).update((X, Y))
    second = StochasticGradient(waves(X), Huber(0.3), ONE, ALPHA, batch_size=10).go_on(**first.position())
    np.testing.assert_array_equal(second.update((X, Y)).predict(X), whole.predict(X))


def test_bad_batches_are_refused_and_nothing_is_lost():
    X, Y = data(64)
    fit = StochasticGradient(waves(X), Square(), ONE, ALPHA).update((X, Y))
    before = fit.predict(X)
    for bad, message in [
        ((X[:, :1], Y), "column"),
        ((X[:0], Y[:0]), "no rows"),
        ((X, np.tile(Y, 3)), "1 column"),
        ((X, np.full_like(Y, np.nan)), "complete"),
        ((X * np.inf, Y), "finite"),
    ]:
        with pytest.raises((DataError, UnsupportedError), match=message):
            fit.update(bad)
    np.testing.assert_array_equal(fit.predict(X), before)
    with pytest.raises(DataError, match="columns"):
        fit.read(iter([(X, Y), (X[:, :1], Y)]))
    assert fit.n_rows == 128


def test_bad_settings():
    X, _ = data(20)
    with pytest.raises(UnsupportedError, match="RandomFourier"):
        StochasticGradient(Gaussian(1.0), Square(), ONE, ALPHA)
    with pytest.raises(ParameterError, match="loss"):
        StochasticGradient(waves(X), "square", ONE, ALPHA)
    with pytest.raises(ParameterError, match="n_nodes"):
        StochasticGradient(waves(X), Huber(1.0), ONE, ALPHA, n_nodes=1)
    with pytest.raises(DataError, match="factor"):
        StochasticGradient(waves(X), Square(), ONE, ALPHA, right_factor(np.eye(2)))
    with pytest.raises(DataError, match="no rows yet"):
        StochasticGradient(waves(X), Square(), ONE, ALPHA).predict(X)
    with pytest.raises(ParameterTypeError, match="seed"):
        SeededFourier(seed=None)
    with pytest.raises(UnsupportedError, match="spectral"):
        SeededFourier().bind(as_kernel(lambda X, Z: X @ Z.T, None), X)


def test_landmarks_at_all_rows_are_the_kernel_as_it_is():
    """Algorithm 3.1 of Lambert: gradients at drawn levels, h = Σ_i k_X(·, x_i) v_iᵀφ(θ) with k_X itself.

    In the space of h a step is v ← (1 − γλ)v − γ·mean of ∇L(h(x_i)(θ))φ(θ)ᵀ, without a product by K_X on the left.
    """
    levels = GaussLegendre(12).build()
    n, steps, kernel, loss = 30, 40, Gaussian(1.0), Pinball()
    X, Y = data(n)
    factor = RandomFourier(8, random_state=0).bind(Gaussian(3.0), levels.points).features(levels.points)
    exact = Nystroem(n, random_state=0).bind(kernel, X)
    fit = StochasticGradient(exact, loss, levels, ALPHA, factor, batch_size=n, n_nodes=1, seed=5)
    for _ in range(steps):
        fit.update((X, Y))
    K, rng, start = kernel(X), np.random.default_rng(5), fit.position()["start"]
    v = mean = np.zeros((n, factor.shape[1]))
    total = 0.0
    for step in range(steps):
        time = step + start
        total, mean = total + time - 1, mean + (time - 1) / (total + time - 1) * (v - mean)
        (j,) = rng.choice(12, 1, p=levels.weights / levels.weights.sum())
        gamma = 2 / (ALPHA * time)
        slope = (K @ v @ factor[j] >= Y[:, 0]) - levels.locations[j]
        v = (1 - gamma * ALPHA) * v - gamma / n * np.outer(slope, factor[j])
    np.testing.assert_allclose(fit.predict(X), K @ mean @ factor.T, atol=1e-7)
