"""Vector fields: derivatives, promises of their kinds, the Gaussian process, what tuning finds, what is refused."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from numbers_as_fields import MULTIOUTPUT, NumbersAsFields
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import VectorFieldRegressor
from mercer.exceptions import MercerError, UnsupportedError
from mercer.kernels import Gaussian, Matern, RationalQuadratic
from mercer.operator_valued import CurlFree, DivergenceFree, Helmholtz

KINDS = ["helmholtz", "curl-free", "divergence-free"]


@parametrize_with_checks(
    [NumbersAsFields("curl-free")],
    expected_failed_checks=lambda estimator: MULTIOUTPUT,
)
def test_estimator_checks(estimator, check):
    check(estimator)


def field(kind="helmholtz", n=50, d=2, noise=0.1, seed=0):
    """Return samples of a sum of bumps' gradients, turned for a flow, and the field as a function."""
    rng = np.random.default_rng(seed)
    centres, heights, turn = rng.uniform(-1, 1, size=(8, d)), rng.normal(size=8), np.array([[0, -1.0], [1, 0]])

    def true(X):
        away = X[:, None, :] - centres
        bumps = heights * np.exp(-np.sum(away**2, axis=2) / (2 * 0.27**2))
        slope = -np.einsum("ik,ikd->id", bumps, away) / 0.27**2
        return {"curl-free": slope, "helmholtz": slope}.get(kind, slope @ turn if d == 2 else slope)

    X = rng.uniform(-1, 1, size=(n, d))
    Y = true(X)
    return X, Y + noise * np.sqrt(np.mean(Y**2)) * rng.normal(size=Y.shape), true


@pytest.fixture(scope="module")
def fits():
    X, Y, _ = field(n=25)
    return (
        X,
        Y,
        {kind: VectorFieldRegressor(kind, fit_intercept=True).fit(X, Y + np.array([1.0, -2.0])) for kind in KINDS},
    )


def numerical_jacobian(function, X, step=1e-5):
    """Return ∂f_a/∂x_b by central differences, (n, ..., d)."""
    moves = step * np.eye(X.shape[1])
    return np.stack([(function(X + e) - function(X - e)) / (2 * step) for e in moves], axis=-1)


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_by_finite_differences(kind, fits):
    model, points = fits[2][kind], np.random.default_rng(1).uniform(-1, 1, size=(6, 2))
    J = numerical_jacobian(model.predict, points)
    size = np.abs(J).max()
    np.testing.assert_allclose(model.jacobian(points), J, atol=1e-6 * size)
    np.testing.assert_allclose(model.divergence(points), J[:, 0, 0] + J[:, 1, 1], atol=1e-6 * size)
    np.testing.assert_allclose(model.curl(points), J[:, 1, 0] - J[:, 0, 1], atol=1e-6 * size)
    curl_free, source_free, constant = model.parts(points)
    np.testing.assert_allclose(curl_free + source_free + constant, model.predict(points), atol=1e-10)
    np.testing.assert_array_equal(constant, np.tile(model.intercept_, (6, 1)))
    np.testing.assert_allclose(numerical_jacobian(model.potential, points), curl_free, atol=1e-6 * size)
    slope = numerical_jacobian(model.stream_function, points)
    np.testing.assert_allclose(np.stack([slope[:, 1], -slope[:, 0]], axis=1), source_free, atol=1e-6 * size)


def test_kinds_keep_their_promises(fits):
    points = np.random.default_rng(1).uniform(-1, 1, size=(50, 2))
    gradient, flow = fits[2]["curl-free"], fits[2]["divergence-free"]
    assert np.abs(gradient.curl(points)).max() <= 1e-8 * np.abs(gradient.divergence(points)).max()
    assert np.abs(flow.divergence(points)).max() <= 1e-8 * np.abs(flow.curl(points)).max()


def test_the_gradient_of_the_potential_is_the_field():
    X, Y, _ = field("curl-free", n=20)
    model = VectorFieldRegressor("curl-free", fit_intercept=True).fit(X, Y + 3.0)
    points = np.random.default_rng(1).uniform(-1, 1, size=(6, 2))
    slope = numerical_jacobian(lambda x: model.potential(x) + x @ model.intercept_, points)
    np.testing.assert_allclose(slope, model.predict(points), atol=1e-6)


def test_curl_in_space_and_beyond():
    rng = np.random.default_rng(0)
    for d in (3, 4):
        X = rng.uniform(-1, 1, size=(60, d))
        turn = np.triu(rng.normal(size=(d, d)), 1)
        turn = turn - turn.T
        kernel = DivergenceFree(Gaussian(0.05))
        model = VectorFieldRegressor(kernel, alpha=1e-8, fit_intercept=True).fit(X, X @ turn.T)
        expected = 2 * turn if d == 4 else 2 * np.array([turn[2, 1], turn[0, 2], turn[1, 0]])
        np.testing.assert_allclose(model.curl(np.zeros((1, d)))[0], expected, atol=0.05)
        np.testing.assert_allclose(model.divergence(X), 0, atol=1e-8)
        if d == 3:
            with pytest.raises(UnsupportedError, match="plane"):
                model.stream_function(X)


@pytest.mark.parametrize("constant", [False, True])
def test_it_is_the_mean_and_deviation_of_a_gaussian_process(constant):
    """Brute force with given parameters; a flat prior for the constant is one of huge variance."""
    X, Y, _ = field(n=12)
    kernel, alpha = Helmholtz(Gaussian(1.0), RationalQuadratic(0.7, 1.0), weight=0.3), 0.02
    points = np.random.default_rng(1).uniform(-1, 1, size=(4, 2))
    model = VectorFieldRegressor(kernel, alpha=alpha, fit_intercept=constant, tol=1e-10).fit(X, Y)

    def covariance(A, B):
        blocks = kernel.blocks(A, B) + (1e7 * np.eye(2) if constant else 0.0)
        return blocks.transpose(0, 2, 1, 3).reshape(2 * len(A), 2 * len(B))

    A = covariance(X, X) + alpha * 12 * np.eye(24)
    mean, std = model.predict(points, return_std=True)
    np.testing.assert_allclose(mean.ravel(), covariance(points, X) @ np.linalg.solve(A, Y.ravel()), atol=1e-5)
    left = covariance(points, points) - covariance(points, X) @ np.linalg.solve(A, covariance(X, points))
    variance = Y.ravel() @ np.linalg.solve(A, Y.ravel()) / (22 if constant else 24)
    np.testing.assert_allclose(std.ravel(), np.sqrt(variance * np.diagonal(left)), rtol=1e-5)
    assert model.noise_variance_ == pytest.approx(variance * alpha * 12, rel=1e-5)


@pytest.mark.parametrize("kind", ["curl-free", "divergence-free"])
def test_tuned_fits_recover_fields_from_fifty_noisy_vectors(kind):
    side = np.linspace(-1, 1, 15)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    right, default = [], []
    for seed in (0, 1):
        X, Y, true = field(kind, seed=seed)
        right.append(VectorFieldRegressor(kind).fit(X, Y).score(grid, true(grid)))
        default.append(VectorFieldRegressor().fit(X, Y).score(grid, true(grid)))
    assert np.mean(right) >= 0.97
    assert np.mean(default) >= 0.965


def test_the_noise_is_found():
    X, Y, true = field("divergence-free", n=80, noise=0.2, seed=3)
    model = VectorFieldRegressor().fit(X, Y)
    assert np.sqrt(model.noise_variance_) == pytest.approx(0.2 * np.sqrt(np.mean(true(X) ** 2)), rel=0.25)
    assert model.kernel_.weight < 0.1  # no sources


def test_a_constant_where_evidence_is_for_it():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(20, 2))
    vortex = np.stack([-X[:, 1], X[:, 0]], axis=1) + 0.05 * rng.normal(size=X.shape)
    np.testing.assert_array_equal(VectorFieldRegressor().fit(X, vortex).intercept_, 0.0)
    drift = np.array([1.0, 2.0]) + 0.05 * rng.normal(size=X.shape)
    np.testing.assert_allclose(VectorFieldRegressor().fit(X, drift).intercept_, [1.0, 2.0], atol=0.1)


def test_given_numbers_are_taken_literally():
    X, Y, _ = field(n=15)
    kernel = CurlFree(Matern(2.5, 0.5))
    assert VectorFieldRegressor(kernel, alpha=0.1).fit(X, Y).kernel_ == kernel
    tuned = VectorFieldRegressor(kernel).fit(X, Y)
    assert tuned.kernel_ == kernel
    assert tuned.alpha_ != 0.1
    model = VectorFieldRegressor("helmholtz", alpha=0.1, fit_intercept=False).fit(X, Y)
    assert model.alpha_ == 0.1
    assert isinstance(model.kernel_, Helmholtz)


def test_robust_losses_hardly_see_outliers():
    X, Y, true = field("curl-free", n=40, noise=0.05)
    Y[::10] += 30.0
    rest = np.random.default_rng(1).uniform(-1, 1, size=(200, 2))
    square, huber = (VectorFieldRegressor("curl-free", loss=loss).fit(X, Y) for loss in ("square", "huber"))
    assert huber.relative_gap_ <= 1e-4
    assert huber.score(rest, true(rest)) > max(0.8, square.score(rest, true(rest)) + 0.2)
    with pytest.raises(UnsupportedError, match="square loss"):
        huber.predict(X, return_std=True)


def test_missing_components_and_weights():
    X, Y, true = field("divergence-free", n=40, noise=0.05)
    Y[::4, 0] = np.nan
    model = VectorFieldRegressor("divergence-free").fit(X, Y)
    assert model.score(X, true(X)) > 0.95
    weight = np.ones(40)
    weight[:5] = 2
    weighted = VectorFieldRegressor("divergence-free").fit(X, Y, sample_weight=weight)
    twice = VectorFieldRegressor("divergence-free").fit(np.vstack([X, X[:5]]), np.vstack([Y, Y[:5]]))
    np.testing.assert_allclose(weighted.predict(X), twice.predict(X), atol=1e-6)


def test_on_the_line_every_function_is_a_gradient():
    x = np.linspace(0, 3, 20)[:, None]
    model = VectorFieldRegressor().fit(x, np.cos(2 * x))
    points = np.linspace(0.5, 2.5, 9)[:, None]
    assert isinstance(model.kernel_, CurlFree)
    np.testing.assert_allclose(model.divergence(points), -2 * np.sin(2 * points[:, 0]), atol=0.02)
    np.testing.assert_allclose(np.diff(model.potential(points)), np.diff(np.sin(2 * points[:, 0]) / 2), atol=0.01)


def test_clone_pickle_frames_and_grid_search():
    X, Y, _ = field(n=20)
    frame = pd.DataFrame(X, columns=["east", "north"])
    model = clone(VectorFieldRegressor()).fit(frame, pd.DataFrame(Y, columns=["u", "v"]))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).curl(frame), model.curl(frame))
    search = GridSearchCV(VectorFieldRegressor(CurlFree(Gaussian(1.0))), {"kernel__kernel__gamma": [0.1, 5.0]}, cv=3)
    assert search.fit(X, Y).best_params_ == {"kernel__kernel__gamma": 5.0}


X, Y = np.random.default_rng(0).normal(size=(2, 12, 2))


@pytest.mark.parametrize(
    ("params", "x", "y", "message"),
    [
        ({}, X, np.ones((12, 3)), "inputs with 2 columns and vectors with 3"),
        ({}, X, Y[:, 0], "VectorValuedRegressor"),
        ({}, X[:, :1], Y, "Choose the columns that are positions"),
        ({"kernel": "divergence-free"}, X[:, :1], Y[:, :1], "'curl-free' on the line"),
        ({"kernel": "rotational"}, X, Y, "'helmholtz', 'curl-free', 'divergence-free'"),
        ({"kernel": Gaussian(1.0)}, X, Y, "MatrixValuedKernel"),
        ({"fit_intercept": "yes"}, X, Y, "fit_intercept"),
        ({"alpha": -1.0}, X, Y, "alpha"),
        ({}, np.where(X > 1, np.nan, X), Y, "NaN"),
        ({}, X, Y * np.nan, "NaN"),
        ({}, X[:5], Y, "inconsistent numbers"),
    ],
)
def test_refusals(params, x, y, message):
    with pytest.raises((MercerError, ValueError), match=message):
        VectorFieldRegressor(**params).fit(x, y)


def test_what_a_fit_does_not_know():
    with pytest.raises(NotFittedError):
        VectorFieldRegressor().curl(X)
    rough = VectorFieldRegressor(CurlFree(Matern(1.5, 1.0)), alpha=0.1).fit(X, Y)
    with pytest.raises(UnsupportedError, match="differentiable"):
        rough.jacobian(X)


def test_nothing_is_said_on_the_way():
    x, y, _ = field(n=10, noise=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        VectorFieldRegressor().fit(x, y).predict(x, return_std=True)
