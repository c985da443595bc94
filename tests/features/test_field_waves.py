"""Fourier features of fields and delays: exact means and variances, adjoints, derivatives, and fits."""

import copy
import math
import pickle

import numpy as np
import pytest
import scipy.optimize
from sklearn.base import clone

from mercer.estimators import VectorFieldRegressor, VectorValuedRegressor
from mercer.exceptions import DataError, ParameterError, ParameterTypeError, UnsupportedError
from mercer.features import DirectedWaves, Nystroem, NystroemMatrixKernel, RandomFourier
from mercer.kernels import Constant, Gaussian, Laplacian, Matern, Periodic, RationalQuadratic
from mercer.linalg import DirectedFactor, FeatureGram
from mercer.losses import Square
from mercer.measures import Measure
from mercer.operator_valued import (
    CurlFree,
    Decomposable,
    Delayed,
    DivergenceFree,
    Helmholtz,
    Indexed,
    MatrixValuedKernel,
    OperatorSum,
    Transformable,
)
from mercer.problems import DualProblem
from mercer.solvers import ClosedForm
from mercer.testing import check_operator, check_operator_valued_kernel

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(9, 3))
DELAYS = np.array([[0.3, 0.0, 0.1], [0.0, 0.0, 0.0], [-0.5, 0.2, 0.0]])
GAMMA = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, -0.3], [0.0, -0.3, 1.0]])
FIELDS = [
    CurlFree(Gaussian(0.7)),
    CurlFree(Gaussian([0.5, 1.0, 2.0])),
    CurlFree(Matern(2.5, 0.9)),
    CurlFree(Matern(1.5, [0.5, 1.0, 2.0])),
    CurlFree(RationalQuadratic(1.5, 1.1)),
    DivergenceFree(Gaussian(0.7)),
    DivergenceFree(RationalQuadratic(1.5, [0.5, 1.0, 2.0])),
    Helmholtz(Gaussian(0.4), Matern(2.5, 1.0), weight=0.3),
    CurlFree(Gaussian(0.7)) + 0.5 * DivergenceFree(Gaussian(0.2)),
]
OTHERS = [
    Laplacian(0.4).restrict(0) * CurlFree(Gaussian(0.7)),
    Delayed(Gaussian(0.6), DELAYS),
    Delayed(Matern(0.5, 1.0), DELAYS, GAMMA),
    Delayed(Periodic(2.0).restrict(0), DELAYS, GAMMA) + CurlFree(Gaussian(0.3)),
]


def indices(p):
    return Measure(np.arange(float(p)), np.ones(p))


@pytest.mark.parametrize("kernel", [*FIELDS, *OTHERS], ids=repr)
@pytest.mark.parametrize("sampling", ["iid", "orthogonal", "quasi"])
@pytest.mark.parametrize("bounded", [True, False])
def test_the_mean_over_draws_is_the_kernel(kernel, sampling, bounded):
    if not bounded and sampling == "quasi":
        return
    maps = [RandomFourier(48, sampling, bounded=bounded, random_state=seed) for seed in range(50)]
    draws = np.array([one.bind(kernel, X).blocks(X[:4], X[:4]) for one in maps])
    error = np.std(draws, axis=0) / math.sqrt(len(draws))
    exact = kernel.blocks(X[:4], X[:4])
    heavy = "Matern" in repr(kernel) or "Rational" in repr(kernel)  # fourth moments that are large, or infinite
    limit = 6.0 if bounded or not heavy else 9.0
    assert np.max(np.abs(np.mean(draws, axis=0) - exact) - limit * error) < 1e-9 * np.max(np.abs(exact))


def exact_variance(kind, bounded, delta, sigma):
    """D·Var K̃(δ) = E[cos²⟨ω, δ⟩ A²] − K(δ)² of the Gaussian kernels, spec table."""
    d, square = len(delta), float(delta @ delta)
    outer, one = np.outer(delta, delta), np.eye(len(delta))

    def own(scale):  # K₀(scale·δ)
        value = math.exp(-(scale**2) * square / (2 * sigma**2)) / sigma**2
        if kind is CurlFree:
            return value * (one - scale**2 * outer / sigma**2)
        return value * (scale**2 * outer / sigma**2 + (d - 1 - scale**2 * square / sigma**2) * one)

    if bounded:
        first = d / (2 * sigma**2) * (own(0) + own(2))
    else:

        def fourth(scale):  # (Δ∇∇ᵀk₀)(scale·δ), or Δ²k₀·I less that
            s, value = scale**2 * square, math.exp(-(scale**2) * square / (2 * sigma**2))
            along = -(d + 4) / sigma**6 + s / sigma**8
            matrix = value * (((d + 2) / sigma**4 - s / sigma**6) * one + along * scale**2 * outer)
            return matrix if kind is CurlFree else np.trace(matrix) * one - matrix

        first = (fourth(0) + fourth(2)) / 2
    return first - own(1) @ own(1)


@pytest.mark.parametrize("kind", [CurlFree, DivergenceFree])
@pytest.mark.parametrize("bounded", [True, False])
@pytest.mark.parametrize("d", [2, 3, 5])
def test_the_variance_is_the_exact_one(kind, bounded, d):
    sigma, size = 0.8, 60_000
    kernel = kind(Gaussian(1 / (2 * sigma**2)))
    origin = np.zeros((2, d))
    waves = RandomFourier(size, "iid", bounded=bounded, random_state=3).bind(kernel, origin)
    vectors = waves.directions[0][: waves.n_features // 2].reshape(size, -1, d) * math.sqrt(size)  # B* of each ω
    A = np.einsum("jea,jeb->jab", vectors, vectors)
    for delta in (np.zeros(d), 0.5 * np.eye(d)[0], np.linspace(-0.5, 1.0, d)):
        terms = np.cos(delta @ waves.frequencies)[:, None, None] * A
        mean, squares = np.mean(terms, axis=0), np.einsum("jab,jbc->ac", terms, terms) / size
        own = kernel.blocks(delta[None], np.zeros((1, d)))[0, 0]
        expected = exact_variance(kind, bounded, delta, sigma)
        size_of = np.max(np.abs(exact_variance(kind, bounded, np.zeros(d), sigma)))
        np.testing.assert_allclose(mean, own, atol=0.02 * d / sigma**2)
        np.testing.assert_allclose(squares - own @ own, expected, atol=0.08 * size_of)
    at_zero = {CurlFree: d - 1 if bounded else d + 1, DivergenceFree: d - 1 if bounded else 3 * (d - 1)}[kind]
    np.testing.assert_allclose(
        exact_variance(kind, bounded, np.zeros(d), sigma), at_zero / sigma**4 * np.eye(d), atol=1e-12
    )


def test_bounded_directions_have_one_length():
    waves = RandomFourier(60, random_state=0).bind(CurlFree(Gaussian(0.5)), X)  # σ = 1: ‖A‖ = d
    np.testing.assert_allclose(60 * np.sum(waves.directions[0] ** 2, axis=1), 3.0)
    unbounded = RandomFourier(60, bounded=False, random_state=0).bind(CurlFree(Gaussian(0.5)), X)
    np.testing.assert_allclose(
        60 * np.sum(unbounded.directions[0][:60] ** 2, axis=1), np.sum(unbounded.frequencies**2, axis=0)
    )


def test_a_delay_is_no_even_function():
    kernel = Delayed(Gaussian(1.0), delays=[0.5, 0.0])
    line = np.linspace(-1, 1, 5)[:, None]
    waves = RandomFourier(4000, random_state=0).bind(kernel, line)
    exact = kernel.blocks(line, line)
    assert np.max(np.abs(exact[..., 0, 1] - exact[..., 1, 0])) > 0.5
    np.testing.assert_allclose(waves.blocks(line, line), exact, atol=0.02)


@pytest.mark.parametrize("kernel", [*FIELDS, *OTHERS], ids=repr)
def test_contracts_adjoints_and_states(kernel):
    waves = RandomFourier(11, random_state=0).bind(kernel, X)
    assert isinstance(waves, DirectedWaves)
    check_operator_valued_kernel(waves, indices(3), X)
    rng = np.random.default_rng(1)
    w, R = rng.normal(size=waves.n_features), rng.normal(size=(9, 3))
    forward = waves.forward(X, w)
    assert math.isclose(float(np.sum(forward * R)), float(w @ waves.adjoint(X, R)), rel_tol=1e-10)
    dense = waves.features(X)
    np.testing.assert_allclose(forward, dense @ w, atol=1e-10)
    np.testing.assert_allclose(waves.adjoint(X, R), np.einsum("iar,ia->r", dense, R), atol=1e-10)
    np.testing.assert_allclose(waves.diagonal(X), np.einsum("iiab->iab", waves.blocks(X, X)), atol=1e-12)
    assert pickle.loads(pickle.dumps(waves)) == waves == clone(waves)
    assert "frequencies)" in repr(waves)
    assert len(repr(waves)) < len(repr(waves.kernel)) + 50
    h = waves.bind(indices(3)).expand(X, R)
    twin = type(h).from_state(copy.deepcopy(h.state()))
    np.testing.assert_array_equal(twin.evaluate(X, np.arange(3)), h.evaluate(X, np.arange(3)))


@pytest.mark.parametrize("kernel", [FIELDS[0], FIELDS[7], OTHERS[2]], ids=repr)
def test_the_structured_operator_is_the_dense_one(kernel):
    waves = RandomFourier(7, random_state=0).bind(kernel, X)
    gram, dense = waves.feature_gram(X), FeatureGram(waves.features(X))
    rng = np.random.default_rng(1)
    s, w, R = rng.uniform(0.5, 2, 9), rng.uniform(0.5, 2, 3), rng.normal(size=(9, 3))
    for left, right in [(gram, dense), (gram.weighted(s, w), dense.weighted(s, w))]:
        np.testing.assert_allclose(left @ R, right @ R, atol=1e-10)
        np.testing.assert_allclose(left.diagonal(), right.diagonal(), atol=1e-10)
        np.testing.assert_allclose(left.to_dense(), right.to_dense(), atol=1e-10)
        np.testing.assert_allclose(left.column(5), right.column(5), atol=1e-10)
        np.testing.assert_allclose(left.shifted_solve(0.1, R), right.shifted_solve(0.1, R), atol=1e-8)
        np.testing.assert_allclose(
            left.shifted_solve(0.1, R, centred=True), right.shifted_solve(0.1, R, centred=True), atol=1e-8
        )
        np.testing.assert_allclose(left.norm2(), right.norm2(), rtol=1e-8)
        np.testing.assert_allclose(left.spectral().spectrum, right.spectral().spectrum, atol=1e-9)
    check_operator(gram, R)


def test_uneven_weights_of_entries():
    waves = RandomFourier(5, random_state=0).bind(FIELDS[0], X)
    factor = DirectedFactor(waves._waves(X), waves.places, waves.directions, np.random.default_rng(0).uniform(1, 2, 27))
    np.testing.assert_allclose(factor.normal(), factor.factor.T @ factor.factor, atol=1e-10)


@pytest.mark.parametrize("kernel", [one for one in FIELDS if "1.5" not in repr(one).split("Matern")[-1]], ids=repr)
@pytest.mark.parametrize("columns", [2, 3])
def test_fields_have_derivatives_parts_and_potentials(kernel, columns):
    if "[" in repr(kernel) and columns == 2:
        return
    rng, points = np.random.default_rng(2), X[:, :columns]
    if not kernel_is_smooth(kernel):
        return
    waves = RandomFourier(40, random_state=0).bind(kernel, points)
    C = rng.normal(size=(9, columns))
    new = rng.uniform(-1, 1, size=(5, columns))

    def quotients(function):
        steps = 1e-5 * np.eye(columns)
        return np.stack([(function(new + e) - function(new - e)) / 2e-5 for e in steps], axis=-1)

    jacobian = waves.jacobian(new, points, C)
    size = np.max(np.abs(jacobian))
    np.testing.assert_allclose(jacobian, quotients(lambda x: waves.product(x, points, C)), atol=1e-6 * size)
    gradients, flows = waves.parts(new, points, C)
    np.testing.assert_allclose(gradients + flows, waves.product(new, points, C), atol=1e-10 * size)
    np.testing.assert_allclose(gradients, quotients(lambda x: waves.potential(x, points, C)), atol=1e-6 * size)
    slopes = quotients(lambda x: waves.parts(x, points, C)[1])
    np.testing.assert_allclose(np.trace(slopes, axis1=1, axis2=2), 0, atol=1e-6 * size)
    if isinstance(kernel, CurlFree):
        np.testing.assert_allclose(flows, 0, atol=1e-10 * size)
        np.testing.assert_allclose(jacobian, jacobian.transpose(0, 2, 1), atol=1e-10 * size)
    if isinstance(kernel, DivergenceFree):
        np.testing.assert_allclose(gradients, 0, atol=1e-10 * size)
        np.testing.assert_allclose(np.trace(jacobian, axis1=1, axis2=2), 0, atol=1e-10 * size)
    if columns == 2:
        psi = quotients(lambda x: waves.stream_function(x, points, C))
        np.testing.assert_allclose(flows, np.stack([psi[:, 1], -psi[:, 0]], axis=1), atol=1e-6 * size)


def kernel_is_smooth(kernel):
    try:
        kernel.jacobian(np.zeros((1, 3)), np.zeros((1, 3)), np.zeros((1, 3)))
    except UnsupportedError:
        return False
    return True


@pytest.mark.parametrize("approximation", [RandomFourier(20, random_state=0), Nystroem(6, random_state=0)], ids=repr)
def test_functions_know_their_fields_without_training_rows(approximation):
    points, C = X[:, :2], RNG.normal(size=(9, 2))
    made = approximation.bind(Helmholtz(Gaussian(0.4), Gaussian(1.0)), points)
    h = made.bind(indices(2)).expand(points, C)
    for what in ("jacobian", "parts", "potential", "stream_function"):
        np.testing.assert_allclose(getattr(h, what)(points + 0.1), getattr(made, what)(points + 0.1, points, C))
    transformed = RandomFourier(5).bind(Transformable(Gaussian(1.0), maps=[np.sin, np.cos]), points)
    with pytest.raises(UnsupportedError, match="no stream function that is known"):
        transformed.bind(indices(2)).expand(points, C).stream_function(points)


def test_what_fields_do_not_have_is_refused():
    rough = RandomFourier(5).bind(CurlFree(Matern(1.5, 1.0)), X)
    with pytest.raises(UnsupportedError, match="third derivative"):
        rough.jacobian(X, X, X)
    assert rough.potential(X, X, X).shape == (9,)
    with pytest.raises(UnsupportedError, match="no potential that is known"):
        RandomFourier(5).bind(OTHERS[1], X).potential(X, X, X)
    with pytest.raises(DataError, match="3 columns and 3 outputs"):
        rough.bind(indices(2)).gram(X[:, :2])


def ridge(kernel, Y, points=X, alpha=1e-3):
    bound = kernel.bind(indices(Y.shape[1]))
    problem = DualProblem(bound.gram(points), Square(), Y, indices(Y.shape[1]), alpha)
    return bound.expand(points, problem.primal_coef(ClosedForm().solve(problem).coef))


def test_many_waves_give_the_exact_fit():
    rng = np.random.default_rng(4)
    points = rng.uniform(-1, 1, size=(40, 2))
    Y = np.stack([points[:, 1], -points[:, 0]], axis=1) + 0.1 * rng.normal(size=(40, 2))
    kernel, new = Helmholtz(Gaussian(0.5), Gaussian(1.0)), rng.uniform(-1, 1, size=(20, 2))
    exact = ridge(kernel, Y, points).evaluate(new, np.arange(2))
    errors = []
    for size in (50, 500, 5000):
        made = RandomFourier(size, random_state=0).bind(kernel, points)
        h = ridge(made, Y, points)
        errors.append(np.sqrt(np.mean((h.evaluate(new, np.arange(2)) - exact) ** 2)))
        assert h.coef.shape == (made.n_features,)
    assert errors[2] < 0.02 * np.max(np.abs(exact))
    assert errors[2] < errors[0] / 4


def test_primal_and_dual_are_one_fit():
    Y = RNG.normal(size=(9, 3))
    waves = RandomFourier(6, random_state=0).bind(Helmholtz(Gaussian(0.5), Gaussian(1.0)), X)
    features, n = waves.features(X).reshape(27, -1), 9
    primal = scipy.linalg.solve(
        features.T @ features / n + 1e-3 * np.eye(features.shape[1]), features.T @ Y.ravel() / n
    )
    np.testing.assert_allclose(ridge(waves, Y).coef, primal, atol=1e-8)


@pytest.mark.parametrize("kernel", [*FIELDS, *OTHERS], ids=repr)
def test_all_rows_as_landmarks_give_the_exact_fit(kernel):
    made = Nystroem(9).bind(kernel, X)
    Y, new = RNG.normal(size=(9, 3)), RNG.normal(size=(5, 3))
    exact = ridge(kernel, Y).evaluate(new, np.arange(3))
    np.testing.assert_allclose(ridge(made, Y).evaluate(new, np.arange(3)), exact, atol=1e-8 * np.max(np.abs(Y)))
    few = Nystroem(4, "pivots").bind(kernel, X)
    check_operator_valued_kernel(few, indices(3), X)
    if isinstance(few, NystroemMatrixKernel):
        assert repr(few).endswith("4 landmarks)")
        if kernel_is_smooth(kernel):
            C = RNG.normal(size=(9, 3))
            np.testing.assert_allclose(
                made.jacobian(new, X, C),
                kernel.jacobian(new, X, C),
                atol=1e-6 * np.max(np.abs(made.jacobian(new, X, C))),
            )


def test_scalar_kernels_inside_are_replaced():
    decomposable = Decomposable(Gaussian(1.0), Indexed(GAMMA))
    made = RandomFourier(9, random_state=0).bind(decomposable, X)
    assert made == decomposable.replace(kernel=RandomFourier(9, random_state=0).bind(Gaussian(1.0), X))
    transformed = Transformable(Gaussian("median"), maps=[np.sin, np.cos])
    waves = RandomFourier(3000, random_state=0).bind(transformed, X)
    np.testing.assert_allclose(waves.blocks(X, X), transformed.adapt(X).blocks(X, X), atol=0.1)
    check_operator_valued_kernel(RandomFourier(8, random_state=0).bind(transformed, X), indices(2), X)
    both = RandomFourier(10, random_state=0).bind(OperatorSum(decomposable, CurlFree(Gaussian(1.0))), X)
    check_operator_valued_kernel(both, indices(3), X)
    assert isinstance(both.right, DirectedWaves)


def test_estimators_take_them():
    rng = np.random.default_rng(5)
    points = rng.uniform(-1, 1, size=(80, 2))
    Y = np.stack([np.cos(2 * points[:, 0]), np.sin(2 * points[:, 1])], axis=1) + 0.05 * rng.normal(size=(80, 2))
    kernel = RandomFourier(100, random_state=0).bind(CurlFree(Gaussian(1.0)), points)
    field = VectorFieldRegressor(kernel=kernel, alpha=1e-4).fit(points, Y)
    assert field.score(points, Y) > 0.9
    turn = field.jacobian(points) - field.jacobian(points).transpose(0, 2, 1)
    np.testing.assert_allclose(turn, 0, atol=1e-8)
    robust = VectorValuedRegressor(kernel, loss="huber", alpha=1e-4).fit(points, Y)
    assert robust.relative_gap_ <= 1e-4
    assert robust.score(points, Y) > 0.9


def test_bad_input_is_refused():
    class Odd(MatrixValuedKernel):
        def blocks(self, X, Z):
            return np.ones((len(X), len(Z), 1, 1))

    with pytest.raises(UnsupportedError, match=r"RandomFourier: .* no spectral density .*Nystroem"):
        RandomFourier(5).bind(Odd(), X)
    with pytest.raises(DataError, match="at most n_samples = 9"):
        Nystroem(10).bind(CurlFree(Gaussian()), X)
    with pytest.raises((ParameterError, ParameterTypeError), match="bounded must be True or False"):
        RandomFourier(bounded=1)
    with pytest.raises(ParameterError, match="one for each term"):
        RandomFourier(1).bind(Helmholtz(), X)
    with pytest.raises(DataError, match="on the line"):
        RandomFourier(5).bind(DivergenceFree(Gaussian(1.0)), X[:, :1])
    assert RandomFourier(5).bind(Decomposable(Constant(1.0), Gaussian()), X).kernel == Constant(1.0)
