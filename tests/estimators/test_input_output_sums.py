"""Sums of decomposable kernels, learned metrics and fewer coordinates of objects, against cvxpy and brute force."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from mercer import InputOutputKernelRegressor, LearnedMatrix, SparseSketch, VectorValuedRegressor
from mercer.exceptions import MercerError
from mercer.features import Nystroem, RandomFourier
from mercer.kernels import Gaussian, Identity, Linear
from mercer.kernels.objects import Intersection, Jaccard, ObjectFunction, ObjectSum, OnVectors
from mercer.losses import EpsilonRidge, Huber, Square
from mercer.operator_valued import CurlFree, Decomposable, Indexed

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(24, 2)), RNG.normal(size=(7, 2))
Y = np.column_stack([np.sin(X[:, 0]), X[:, 1], X[:, 0] * X[:, 1], np.cos(X[:, 1])]) + 0.1 * RNG.normal(size=(24, 4))
SETS = [{name for name, on in zip("abc", row > 0, strict=False) if on} for row in Y]
FACTORS = [RNG.normal(size=(4, 2)), RNG.normal(size=(4, 4)) / 2]
KERNELS = [Gaussian(0.5), Linear()]


def between(A):
    """⟨y, Az⟩ as a kernel on objects."""
    return ObjectFunction(lambda left, right: np.asarray(left) @ A @ np.asarray(right).T)


def summed(outputs):
    first, second = (Decomposable(k, one) for k, one in zip(KERNELS, outputs, strict=True))
    return first + second


@pytest.mark.parametrize("loss", [Square(), EpsilonRidge(0.4), Huber(0.3, "norm")], ids=repr)
def test_a_sum_is_the_dual_of_cvxpy(loss):
    n, alpha = len(X), 0.05
    kernel = summed([between(B @ B.T) for B in FACTORS])
    model = InputOutputKernelRegressor(kernel, "linear", alpha=alpha, loss=loss, tol=1e-9).fit(X, Y)
    A = cp.Variable(Y.shape)
    value = cp.sum_squares(A) / 2 - cp.sum(cp.multiply(A, Y))
    for k, B in zip(KERNELS, FACTORS, strict=True):
        root = np.linalg.cholesky(k(X) + 1e-11 * np.eye(n))
        value = value + cp.sum_squares(root.T @ A @ B) / (2 * alpha * n)
    norms, limits = cp.norm(A, axis=1), []
    if isinstance(loss, EpsilonRidge):
        value = value + loss.epsilon * cp.sum(norms)
    if isinstance(loss, Huber):
        limits = [norms <= loss.kappa]
    problem = cp.Problem(cp.Minimize(value), limits)
    problem.solve(solver="CLARABEL")
    h = sum(k(NEW, X) @ A.value @ B @ B.T for k, B in zip(KERNELS, FACTORS, strict=True)) / (alpha * n)
    assert model.objective_ == pytest.approx(-problem.value / n, rel=1e-5)
    np.testing.assert_allclose(model.predict_mean(NEW), h, atol=2e-4)


def test_max_margin_of_a_sum_is_the_quadratic_programme():
    n, alpha = len(X), 0.02
    outputs = [between(B @ B.T) for B in FACTORS]
    model = InputOutputKernelRegressor(summed(outputs), "linear", alpha=alpha, loss="max_margin", tol=1e-9).fit(X, Y)
    product = sum(k(X) * one(Y) for k, one in zip(KERNELS, outputs, strict=True))
    root = np.linalg.cholesky(product + 1e-9 * np.eye(n))
    omega = cp.Variable(n)
    value = -cp.sum(omega) + cp.sum_squares(root.T @ omega) / (2 * alpha * n)
    problem = cp.Problem(cp.Minimize(value), [omega >= 0, omega <= 1])
    problem.solve(solver="CLARABEL")
    assert model.objective_ == pytest.approx(-problem.value / n, rel=1e-4)
    scores = sum(k(NEW, X) @ (omega.value[:, None] * one(Y, Y)) for k, one in zip(KERNELS, outputs, strict=True))
    np.testing.assert_allclose(model.score_candidates(NEW, Y), scores / (alpha * n), atol=2e-3)


def test_parts_of_vectors_with_kernels_of_their_own_are_separate_fits():
    parts = [np.diag([1.0, 1, 0, 0]), np.diag([0.0, 0, 1, 1])]
    both = InputOutputKernelRegressor(summed([between(P) for P in parts]), alpha=0.01, tol=1e-10).fit(X, Y)
    assert isinstance(both.output_kernel_, ObjectSum)  # y·z, of both parts together
    mean = np.hstack(
        [
            InputOutputKernelRegressor(k, "linear", alpha=0.01, tol=1e-10).fit(X, Y[:, part]).predict_mean(NEW)
            for k, part in zip(KERNELS, (slice(2), slice(2, 4)), strict=True)
        ]
    )
    np.testing.assert_allclose(both.score_candidates(NEW, Y), mean @ Y.T - np.sum(Y**2, axis=1) / 2, atol=1e-5)


def test_one_term_with_the_output_kernel_itself_is_the_plain_fit():
    plain = InputOutputKernelRegressor(Gaussian(0.5), Jaccard(), alpha=0.01, tol=1e-9).fit(X, SETS)
    term = InputOutputKernelRegressor(Decomposable(Gaussian(0.5), Jaccard()), alpha=0.01, tol=1e-9).fit(X, SETS)
    np.testing.assert_allclose(term.score_candidates(NEW), plain.score_candidates(NEW), atol=1e-6)
    chosen = InputOutputKernelRegressor(summed([Jaccard(), Intersection()])).fit(X, SETS)
    assert chosen.predict(NEW)[0] <= {"a", "b", "c"}
    assert len(chosen.terms_) == 2
    assert chosen.alpha_ > 0


def test_an_operator_that_leaves_the_span_is_compressed_to_it():
    kernel = Decomposable(Gaussian(0.5), between(FACTORS[1] @ FACTORS[1].T))
    few = InputOutputKernelRegressor(kernel, "linear", alpha=0.05, tol=1e-10).fit(X[:3], Y[:3])
    basis = np.linalg.qr(Y[:3].T)[0]
    inside = between(basis @ basis.T @ FACTORS[1] @ FACTORS[1].T @ basis @ basis.T)
    same = InputOutputKernelRegressor(Decomposable(Gaussian(0.5), inside), "linear", alpha=0.05, tol=1e-10)
    np.testing.assert_allclose(few.predict_mean(NEW), same.fit(X[:3], Y[:3]).predict_mean(NEW), atol=1e-8)


@pytest.mark.parametrize("learned", ["learned", LearnedMatrix(rank=2)], ids=repr)
def test_a_learned_metric_is_that_of_vectors(learned):
    rng = np.random.default_rng(1)
    inputs, new, mixture = rng.normal(size=(80, 2)), rng.normal(size=(500, 2)), rng.normal(size=(2, 5))
    outputs = np.sin(inputs) @ mixture + 0.5 * rng.normal(size=(80, 5))
    settings = {"output_matrix": learned, "fit_intercept": False, "tol": 1e-9}
    model = InputOutputKernelRegressor(Gaussian(0.3), "linear", **settings).fit(inputs, outputs)
    vectors = VectorValuedRegressor(Gaussian(0.3), **settings).fit(inputs, outputs)
    np.testing.assert_allclose(model.output_matrix_, vectors.output_matrix_)
    np.testing.assert_allclose(model.predict_mean(NEW), vectors.predict(NEW), atol=1e-6)
    plain = InputOutputKernelRegressor(Gaussian(0.3), "linear").fit(inputs, outputs)
    assert np.ptp(np.linalg.eigvalsh(model.output_matrix_)) > 0.5
    assert model.score(new, np.sin(new) @ mixture) > plain.score(new, np.sin(new) @ mixture)


def test_sketches_are_projections():
    sketch = SparseSketch(size=3, mixed=4, random_state=2)
    model = InputOutputKernelRegressor(Gaussian(0.5), "linear", alpha=0.01, output_approximation=sketch).fit(X, Y)
    indices, mixture = sketch.draw(len(Y))
    span = np.linalg.qr((mixture @ Y[indices]).T)[0]
    projected = Y @ span
    np.testing.assert_allclose(model.space_.rows @ model.space_.rows.T, projected @ projected.T, atol=1e-10)
    assert model.left_out_ == pytest.approx(1 - np.sum(projected**2) / np.sum(Y**2))
    wrong = projected @ projected.T - Y @ Y.T
    assert model.output_error_ == pytest.approx(np.linalg.norm(wrong) / np.linalg.norm(Y @ Y.T))
    others = RNG.normal(size=(5, 4))
    np.testing.assert_allclose(model.encode(others).coordinates @ model.space_.rows.T, others @ span @ projected.T)
    np.testing.assert_allclose(model.predict_mean(NEW), model.predict_mean(NEW) @ span @ span.T, atol=1e-12)


def test_sketches_of_all_objects_change_nothing():
    exact = InputOutputKernelRegressor(Gaussian(0.5), Jaccard(), alpha=0.01, tol=1e-9).fit(X, SETS)
    whole = SparseSketch(size=60, mixed=5)
    model = InputOutputKernelRegressor(Gaussian(0.5), Jaccard(), alpha=0.01, tol=1e-9, output_approximation=whole)
    np.testing.assert_allclose(model.fit(X, SETS).score_candidates(NEW), exact.score_candidates(NEW), atol=1e-6)
    assert model.left_out_ < 1e-10
    assert model.output_error_ < 1e-10
    assert exact.output_error_ == 0


def test_random_features_of_outputs_converge():
    errors = []
    for size in (20, 2000):
        given = RandomFourier(size, random_state=0)
        model = InputOutputKernelRegressor(Gaussian(0.5), Gaussian(0.3), alpha=0.01, output_approximation=given)
        model.fit(X, Y)
        kernel, rows = Gaussian(0.3)(Y), model.space_.rows
        expected = np.linalg.norm(rows @ rows.T - kernel) / np.linalg.norm(kernel)
        assert model.output_error_ == pytest.approx(expected)
        errors.append(expected)
    assert errors[1] < errors[0] / 5
    exact = InputOutputKernelRegressor(Gaussian(0.5), Gaussian(0.3), alpha=0.01).fit(X, Y)
    np.testing.assert_allclose(model.score_candidates(NEW), exact.score_candidates(NEW), atol=0.1)


@pytest.mark.parametrize("loss", ["square", "huber", "max_margin"])
def test_features_in_place_of_the_input_kernel(loss):
    exact = InputOutputKernelRegressor(Gaussian(0.5), Jaccard(), alpha=0.01, loss=loss, tol=1e-8).fit(X, SETS)
    model = InputOutputKernelRegressor(
        Gaussian(0.5), Jaccard(), alpha=0.01, loss=loss, tol=1e-8, approximation=Nystroem(len(X), random_state=0)
    ).fit(X, SETS)
    assert model.dual_coef_ is None
    assert model.approximation_.kernel_error < 1e-6
    np.testing.assert_allclose(model.score_candidates(NEW), exact.score_candidates(NEW), atol=1e-3)
    few = InputOutputKernelRegressor(Gaussian(0.5), Jaccard(), approximation=RandomFourier(50, random_state=0))
    assert 0 < few.fit(X, SETS).approximation_.kernel_error < 0.5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kernel": CurlFree(Gaussian(1.0))}, "is no operator between objects"),
        ({"kernel": Decomposable(Gaussian(1.0), Indexed(np.eye(2)))}, "is no operator between objects"),
        ({"kernel": Decomposable(Gaussian(1.0), Jaccard(), np.eye(2))}, "is no operator between objects"),
        ({"kernel": Decomposable(Gaussian(1.0), Jaccard()), "output_matrix": "learned"}, "output_matrix must be None"),
        ({"kernel": Decomposable(Gaussian(1.0), Jaccard()), "mean_rank": 1}, "mean_rank must be None"),
        ({"kernel": Decomposable(Gaussian(1.0), Jaccard()), "approximation": RandomFourier(9)}, "approximation must"),
        ({"kernel": Decomposable(Gaussian(1.0), Jaccard()), "output_kernel": "precomputed"}, "a kernel on objects"),
        ({"output_matrix": np.eye(2)}, "'learned', a LearnedMatrix or None"),
        ({"output_matrix": "learned", "mean_rank": 1}, "Leave mean_rank out"),
        ({"output_approximation": RandomFourier(9)}, "features of kernels on vectors"),
        ({"output_approximation": "many"}, "a number of landmarks"),
    ],
)
def test_what_is_refused(settings, message):
    with pytest.raises(MercerError, match=message):
        InputOutputKernelRegressor(**{"kernel": Gaussian(1.0), "output_kernel": Jaccard(), **settings}).fit(X, SETS)


def test_objects_without_features_and_the_identity():
    nothing = InputOutputKernelRegressor(summed([Jaccard(), Intersection()]), Intersection()).fit(X, [set()] * 24)
    assert nothing.objective_ == 0
    identity = InputOutputKernelRegressor(Decomposable(Gaussian(0.5), Identity()), "linear", alpha=0.01, tol=1e-9)
    plain = InputOutputKernelRegressor(Gaussian(0.5), "linear", alpha=0.01, tol=1e-9).fit(X, Y)
    np.testing.assert_allclose(identity.fit(X, Y).predict_mean(NEW), plain.predict_mean(NEW), atol=1e-6)


def test_what_else_is_refused():
    gram = Y @ Y.T
    with pytest.raises(MercerError, match="is 0 on all these objects"):
        InputOutputKernelRegressor(Decomposable(Gaussian(1.0), between(np.zeros((4, 4)))), "linear").fit(X, Y)
    with pytest.raises(MercerError, match="where outputs are a Gram matrix"):
        InputOutputKernelRegressor(output_kernel="precomputed", output_approximation=SparseSketch(3)).fit(X, gram)
    kernel = Decomposable(Gaussian(1.0), between(np.diag([1.0, -1, 0, 0])))
    with pytest.raises(MercerError, match="not positive semi-definite"):
        InputOutputKernelRegressor(kernel, OnVectors(Linear())).fit(X, Y)
    with pytest.raises(MercerError, match="that were drawn are 0"):
        InputOutputKernelRegressor(output_approximation=SparseSketch(3)).fit(X, np.zeros((24, 2)))
    with pytest.raises(MercerError, match="pass it to InputOutputKernelRegressor"):
        VectorValuedRegressor(Decomposable(Gaussian(1.0), Jaccard())).fit(X, Y)
