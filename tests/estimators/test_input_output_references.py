"""InputOutputKernelRegressor against oracles, cvxpy, explicit vectors and brute force."""

from __future__ import annotations

from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from mercer import CandidateLists, InputOutputKernelRegressor
from mercer.kernels import FunctionKernel, Gaussian, Linear
from mercer.kernels.objects import (
    Centred,
    FeatureGaussian,
    Intersection,
    Normalised,
    ObjectFunction,
    OnVectors,
    PairFunction,
    Spectrum,
    Tanimoto,
)
from mercer.losses import (
    EpsilonInsensitive,
    EpsilonRidge,
    ExponentialNorm,
    Huber,
    MaxMargin,
    Norm,
    Power,
    Square,
)
from mercer.operator_valued import Decomposable
from mercer.solvers import ProximalGradient

#: the inputs of O6, with its kernel and λ
T4 = np.array([[0.0], [0.3], [0.7], [1.0]])
Y4 = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, -0.5]])
ORACLES = [
    (EpsilonRidge(0.5), [[0.369463, 0.274689], [0.432813, 0.460670], [0.475996, 0.405037], [0.407669, 0.160458]]),
    (Huber(0.4), [[0.517026, 0.269913], [0.490489, 0.513802], [0.496158, 0.315555], [0.456218, -0.108325]]),
    (
        EpsilonInsensitive(0.2),
        [[0.830148, 0.105595], [0.615979, 0.669296], [0.564141, 0.474391], [0.524370, -0.301490]],
    ),
]
RNG = np.random.default_rng(0)
N = 22
X = RNG.uniform(size=(N, 2))
Z = (RNG.random((N, 5)) < 0.2 + 0.6 * X[:, :1]).astype(float)
NEW = RNG.uniform(size=(8, 2))
EXACT = {"alpha": 0.05, "tol": 1e-9, "max_iter": 50_000}
LOSSES = [Square(), EpsilonRidge(0.5), Huber(0.4), EpsilonInsensitive(0.4)]


def regressor(kernel="linear", **settings):
    return InputOutputKernelRegressor(Gaussian(2.0), kernel, **{**EXACT, **settings})


@pytest.mark.parametrize("gram", [False, True])
@pytest.mark.parametrize(("loss", "expected"), ORACLES, ids=lambda one: repr(one)[:20])
def test_oracles_o6(loss, expected, gram):
    """As vectors and behind their Gram matrix."""
    if not gram:
        model = regressor(alpha=0.1, tol=1e-12, loss=loss).fit(T4, Y4)
        np.testing.assert_allclose(model.predict_mean(T4), expected, atol=2e-6)
    model = regressor("precomputed", alpha=0.1, tol=1e-12, loss=loss).fit(T4, Y4 @ Y4.T)
    scores = model.score_candidates(T4, (Y4 @ Y4.T, np.sum(Y4**2, axis=1)))
    np.testing.assert_allclose(scores, np.array(expected) @ Y4.T - np.sum(Y4**2, axis=1) / 2, atol=5e-6)


def primal(K, F, loss, alpha, weight=None):
    """The value and the predictions of cvxpy, over representer coefficients."""
    n, r = F.shape
    s = np.ones(n) if weight is None else weight / weight.mean()
    root = np.linalg.cholesky(K + 1e-11 * np.eye(n))
    B = cp.Variable((n, r))
    H = root @ B
    norms = cp.norm(F - H, 2, axis=1)
    per_row = {
        Square: lambda: 0.5 * norms**2,
        EpsilonRidge: lambda: 0.5 * cp.pos(norms - getattr(loss, "epsilon", 0.0)) ** 2,
        Huber: lambda: cp.huber(norms, getattr(loss, "kappa", 1.0)) / 2,
        EpsilonInsensitive: lambda: cp.pos(norms - getattr(loss, "epsilon", 0.0)),
        MaxMargin: lambda: cp.pos(1 - cp.sum(cp.multiply(F, H), axis=1)),
    }[type(loss)]()
    problem = cp.Problem(cp.Minimize(s @ per_row / n + alpha / 2 * cp.sum_squares(B)))
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    return problem.value, H.value


@pytest.mark.parametrize("weight", [None, RNG.uniform(0.5, 2, N)], ids=["uniform", "weights"])
@pytest.mark.parametrize("loss", [*LOSSES, MaxMargin()], ids=repr)
def test_fits_are_those_of_cvxpy(loss, weight):
    kernel = FeatureGaussian(OnVectors(Linear()), gamma=0.3)
    K_Y = kernel(Z)
    values, vectors = np.linalg.eigh(K_Y)
    F = vectors[:, values > 1e-12] * np.sqrt(values[values > 1e-12])
    value, H = primal(Gaussian(2.0)(X), F, loss, 0.05, weight)
    model = regressor(kernel, loss=loss).fit(X, Z, sample_weight=weight)
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    sizes = 0.0 if isinstance(loss, MaxMargin) else 0.5
    np.testing.assert_allclose(model.score_candidates(X, Z), H @ F.T - sizes, atol=2e-4)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_vectors_by_features_by_landmarks_and_by_gram_matrix_are_one_fit(loss, fit_intercept):
    settings = {"loss": loss, "fit_intercept": fit_intercept}
    explicit = regressor("linear", **settings).fit(X, Z)
    hidden = regressor(ObjectFunction(lambda A, B: np.asarray(A) @ np.asarray(B).T), **settings).fit(X, Z)
    given = regressor("precomputed", **settings).fit(X, Z @ Z.T)
    assert type(explicit.space_) is not type(hidden.space_) is not type(given.space_)
    scores = explicit.score_candidates(NEW, Z)
    np.testing.assert_allclose(hidden.score_candidates(NEW, Z), scores, atol=1e-4)
    np.testing.assert_allclose(given.score_candidates(NEW, (Z @ Z.T, np.sum(Z**2, axis=1))), scores, atol=1e-4)
    np.testing.assert_allclose(hidden.score(NEW, Z[:8]), explicit.score(NEW, Z[:8]), atol=1e-4)


def test_limits_are_ridge_regression_in_closed_form():
    beta = np.linalg.solve(Gaussian(2.0)(X) + EXACT["alpha"] * N * np.eye(N), Gaussian(2.0)(X, NEW))
    expected = beta.T @ Z
    for loss in ("square", EpsilonRidge(0.0), Huber(1e3)):
        np.testing.assert_allclose(regressor(loss=loss).fit(X, Z).predict_mean(NEW), expected, atol=1e-5)
    zero = regressor(loss=EpsilonRidge(10.0)).fit(X, Z)
    np.testing.assert_array_equal(zero.predict_mean(NEW), np.zeros((8, 5)))


def test_max_margin_is_the_quadratic_programme_of_the_product_of_kernels():
    kernel = Normalised(OnVectors(Linear() + 1.0))
    quadratic = Gaussian(2.0)(X) * kernel(Z)
    omega = cp.Variable(N)
    root = np.linalg.cholesky(quadratic + 1e-11 * np.eye(N)).T
    objective = cp.sum(omega) - cp.sum_squares(root @ omega) / (2 * 0.05 * N)
    problem = cp.Problem(cp.Maximize(objective), [omega >= 0, omega <= 1])
    problem.solve(solver="CLARABEL")
    model = regressor(kernel, loss="max_margin").fit(X, Z)
    assert model.objective_ == pytest.approx(problem.value / N, rel=1e-6)
    expected = (Gaussian(2.0)(NEW, X) * omega.value) @ kernel(Z) / (0.05 * N)
    np.testing.assert_allclose(model.score_candidates(NEW, Z), expected, atol=1e-3)


@given(st.integers(0, 10_000), st.sampled_from(["square", "max_margin"]))
def test_decoding_is_the_argmax_of_brute_force(seed, loss):
    rng = np.random.default_rng(seed)
    objects = ["".join(rng.choice(list("ab"), rng.integers(1, 5))) for _ in range(12)]
    others = ["".join(rng.choice(list("ab"), rng.integers(0, 5))) for _ in range(9)]
    inputs, new = rng.uniform(size=(12, 2)), rng.uniform(size=(4, 2))
    kernel = Spectrum(2, shorter=True)
    model = InputOutputKernelRegressor(Gaussian(2.0), kernel, alpha=0.01, loss=loss, tol=1e-8).fit(inputs, objects)
    coef = model.dual_coef_ @ np.linalg.pinv(model.space_.rows)  # on the training objects
    weights = Gaussian(2.0)(new, model.X_fit_) @ coef
    half = 0.0 if loss == "max_margin" else 0.5
    inner = weights @ kernel(objects, others) - half * kernel.diagonal(others)
    scores = model.score_candidates(new, others)
    np.testing.assert_allclose(scores, inner, atol=1e-5 * max(1, np.abs(inner).max()))
    assert model.predict(new, others) == [others[j] for j in scores.argmax(axis=1)]
    for k in (1, 3, 9, 20):
        expected = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        np.testing.assert_array_equal(model.rank(new, others, k), expected)
    lists = CandidateLists([others[i : i + 3] for i in range(4)])
    own = [scores[i, i : i + 3] for i in range(4)]
    for found, one in zip(model.score_candidates(new, lists), own, strict=True):
        np.testing.assert_allclose(found, one, atol=1e-9)
    assert model.predict(new, lists) == [others[i + int(np.argmax(one))] for i, one in enumerate(own)]
    by_index = CandidateLists.of(others, [range(i, i + 3) for i in range(4)])
    assert model.predict(new, by_index) == model.predict(new, lists)
    for found, one in zip(model.rank(new, lists, 2), own, strict=True):
        np.testing.assert_array_equal(found, np.argsort(-one, kind="stable")[:2])


@pytest.mark.parametrize("loss", ["square", "max_margin"])
@pytest.mark.parametrize("kernel", [OnVectors(Linear()), Normalised(OnVectors(Linear()))], ids=repr)
def test_label_vectors_are_the_best_of_all(kernel, loss):
    model = regressor(kernel, loss=loss, alpha=1e-3).fit(X, Z)
    everything = np.array(list(product([0.0, 1.0], repeat=5)))
    scores = model.score_candidates(NEW, everything)
    found = model.predict_labels(NEW)
    position = found @ (2 ** np.arange(5)[::-1])
    np.testing.assert_allclose(scores[np.arange(8), position], scores.max(axis=1), atol=1e-12)
    few = regressor(kernel, loss=loss, alpha=1e-3, output_approximation=5).fit(X, Z)  # landmarks in place of features
    np.testing.assert_array_equal(few.predict_labels(NEW), found)


def test_the_best_predictor_of_a_rank():
    """No function with values in a line or a plane has a smaller objective, wherever one starts from."""
    from scipy.optimize import minimize

    K, n = Gaussian(2.0)(X), N
    for fit_intercept in (False, True):
        P = np.eye(n) - (1 / n if fit_intercept else 0)

        def value(C, P=P):
            return 0.5 * np.sum((P @ (Z - K @ C)) ** 2) / n + 0.05 / 2 * np.sum(C * (K @ C))

        model = regressor(mean_rank=2, fit_intercept=fit_intercept).fit(X, Z)
        C = model.dual_coef_
        assert np.linalg.matrix_rank(C, tol=1e-8) == 2
        assert np.linalg.matrix_rank(regressor().fit(X, Z).dual_coef_, tol=1e-8) == 5

        def objective(flat, value=value):
            return value(flat[: 2 * n].reshape(n, 2) @ flat[2 * n :].reshape(2, 5))

        best = min(
            minimize(objective, np.random.default_rng(seed).normal(size=2 * n + 10), method="L-BFGS-B").fun
            for seed in range(3)
        )
        assert value(C) <= best + 1e-5
        assert value(C) == pytest.approx(best, rel=1e-2)


def test_outputs_of_few_landmarks_are_projections():
    kernel = FeatureGaussian(OnVectors(Linear()), gamma=0.3)
    model = regressor(kernel, output_approximation=6).fit(X, Z)
    K = kernel(Z)
    chosen = [int(np.flatnonzero((row == Z).all(axis=1))[0]) for row in model.space_.landmarks]
    projected = K[:, chosen] @ np.linalg.solve(K[np.ix_(chosen, chosen)], K[chosen])
    np.testing.assert_allclose(model.space_.rows @ model.space_.rows.T, projected, atol=1e-8)
    assert model.left_out_ == pytest.approx(1 - np.trace(projected) / np.trace(K), abs=1e-9)
    assert regressor(kernel).fit(X, Z).left_out_ < 1e-12


def test_inputs_that_are_objects():
    words = ["".join(RNG.choice(list("abc"), 4)) for _ in range(N)]
    kernel = Normalised(Spectrum(2, shorter=True))
    direct = InputOutputKernelRegressor(kernel, "linear", loss="epsilon_ridge", alpha=0.01).fit(words, Z)
    gram = InputOutputKernelRegressor("precomputed", "linear", loss="epsilon_ridge", alpha=0.01).fit(kernel(words), Z)
    np.testing.assert_allclose(direct.predict_mean(words[:5]), gram.predict_mean(kernel(words[:5], words)), atol=1e-12)
    assert direct.kernel_ == kernel
    centred = InputOutputKernelRegressor(Centred(kernel), "linear", alpha=0.01).fit(words, Z)
    assert centred.kernel_.reference == words


def test_sparse_expansions_evaluate_fewer_kernel_values():
    counted = []

    def count(A, B):
        counted.append(len(A) * len(B))
        return Spectrum(1, shorter=True)(A, B)

    words = ["".join(RNG.choice(list("abcd"), 6)) for _ in range(40)]
    targets = np.array([[word.count(letter) for letter in "ab"] for word in words], dtype=float)
    model = InputOutputKernelRegressor(ObjectFunction(count), "linear", loss=EpsilonRidge(1.0), alpha=1e-4)
    model.fit(words, targets)
    assert 0 < len(model.support_) < 30
    counted.clear()
    model.predict_mean(words[:3])
    assert sum(counted) == 3 * len(model.support_)
    counted.clear()
    centred = InputOutputKernelRegressor(
        Centred(ObjectFunction(count)), "linear", loss=EpsilonRidge(1.0), alpha=1e-4
    ).fit(words, targets)
    counted.clear()
    centred.predict_mean(words[:3])
    own = len(centred.support_)
    assert sum(counted) == 3 * own + 40 * (3 + own)  # the mean of all pairs is known
    dense = InputOutputKernelRegressor("precomputed", "linear", loss=EpsilonRidge(1.0), alpha=1e-4)
    dense.fit(Spectrum(1, shorter=True)(words), targets)
    np.testing.assert_allclose(
        dense.predict_mean(Spectrum(1, shorter=True)(words[:3], words)), model.predict_mean(words[:3]), atol=1e-9
    )


def test_sparse_expansions_of_vectors_and_of_sums():
    counted = []

    def count(A, B):
        counted.append(len(A) * len(B))
        return Gaussian(2.0)(A, B)

    loss, new = EpsilonInsensitive(0.6), RNG.uniform(size=(3, 2))
    for kernel in (FunctionKernel(count), Decomposable(FunctionKernel(count), OnVectors(Linear()))):
        model = InputOutputKernelRegressor(kernel, "linear", loss=loss, alpha=1e-2).fit(X, Z)
        assert 0 < len(model.support_) < N
        counted.clear()
        model.predict(new)
        assert sum(counted) == 3 * len(model.support_)


@pytest.mark.parametrize("losses", [(EpsilonRidge(0.4), EpsilonRidge(0.38)), (Huber(0.3), Huber(0.29))], ids=repr)
def test_paths_start_from_the_fit_before(losses):
    rng = np.random.default_rng(4)
    X, Z = rng.normal(size=(60, 2)), rng.normal(size=(60, 3))
    solver = ProximalGradient(max_iter=100_000, check_every=1)
    model = InputOutputKernelRegressor(Gaussian(0.5), "linear", alpha=1e-3, solver=solver.replace(tol=1e-5))
    cold = clone(model).set_params(loss=losses[1]).fit(X, Z)
    warm = model.set_params(loss=losses[0], warm_start=True).fit(X, Z).set_params(loss=losses[1]).fit(X, Z)
    assert warm.n_iter_ < cold.n_iter_
    assert warm.objective_ == pytest.approx(cold.objective_, rel=2e-5)
    for alpha in (2e-3, 1e-3):
        warm.set_params(alpha=alpha).fit(X, Z)
    assert warm.objective_ == pytest.approx(cold.objective_, rel=2e-5)
    assert clone(warm).set_params(kernel=Gaussian(0.5)).fit(X[:30], Z[:30]).status_ == "converged"
    margin = InputOutputKernelRegressor(Gaussian(0.5), "linear", alpha=1e-3, loss="max_margin", warm_start=True)
    assert margin.fit(X, Z).fit(X, Z).status_ == "converged"


def test_scores_in_blocks_are_ranked_like_all_together(monkeypatch):
    rng = np.random.default_rng(3)
    X, Z = rng.normal(size=(30, 2)), rng.integers(0, 2, size=(30, 5))  # many ties
    model = InputOutputKernelRegressor(Gaussian(1.0), "linear", alpha=0.1).fit(X, Z)
    new, library = rng.normal(size=(10, 2)), model.encode(rng.integers(0, 2, size=(50, 5)))
    monkeypatch.setattr("mercer.estimators.ranking.RANKED_ROWS", 3)
    order = np.argsort(-model.score_candidates(new, library), axis=1, kind="stable")
    np.testing.assert_array_equal(model.rank(new, library, 7), order[:, :7])
    np.testing.assert_array_equal(model.predict(new, library), library.objects[order[:, 0]])
    in_blocks = model.truth_rank(new, library.objects[order[:, 4]], library)
    monkeypatch.undo()
    np.testing.assert_array_equal(in_blocks, model.truth_rank(new, library.objects[order[:, 4]], library))


def test_ranks_of_the_truth():
    model = regressor("linear").fit(X, Z)
    scores = model.score_candidates(NEW, Z)
    truth = np.array([3, 1, 4, 1, 5, 9, 2, 6])
    found = model.truth_rank(NEW, Z[truth], Z)
    for i, j in enumerate(truth):
        higher = np.sum(scores[i] > scores[i, j] + 1e-9)
        tied = np.sum(np.abs(scores[i] - scores[i, j]) <= 1e-9)
        assert found[i] == 1 + higher + (tied - 1) / 2
    lists = CandidateLists.of(Z, [[j, 0, 7] for j in truth])
    assert np.all(model.truth_rank(NEW, Z[truth], lists) <= 3)
    constant = regressor("linear", loss=EpsilonRidge(50.0)).fit(X, np.eye(5)[np.arange(N) % 5])
    np.testing.assert_array_equal(constant.truth_rank(NEW, np.eye(5)[:1].repeat(8, axis=0)), np.full(8, 3.0))


def test_r2_in_the_space_of_the_kernel():
    model = regressor("linear").fit(X, Z)
    R = Z[:8] - model.predict_mean(NEW)
    total = np.sum((Z[:8] - Z[:8].mean(axis=0)) ** 2)
    assert model.score(NEW, Z[:8]) == pytest.approx(1 - np.sum(R**2) / total)


def test_alpha_and_kernel_by_leave_one_out_in_the_space_of_the_outputs():
    sets = [frozenset(np.flatnonzero(row)) for row in Z]
    K_Y = Intersection()(sets)
    model = InputOutputKernelRegressor(Gaussian(2.0), "intersection").fit(X, sets)
    errors = {}
    for alpha in np.logspace(-8, 1, 37):
        total = 0.0
        for i in range(N):
            keep = np.arange(N) != i
            K = Gaussian(2.0)(X[keep])
            beta = np.linalg.solve(K + alpha * N * np.eye(N - 1), Gaussian(2.0)(X[keep], X[[i]]))[:, 0]
            total += K_Y[i, i] - 2 * beta @ K_Y[keep, i] + beta @ K_Y[np.ix_(keep, keep)] @ beta
        errors[alpha] = total
    assert model.alpha_ == pytest.approx(min(errors, key=errors.get), rel=1e-6)


def test_weights_are_repetitions():
    weight = np.array([2.0, 0.0, 1.0, *np.ones(N - 3)])
    rows = np.repeat(np.arange(N), weight.astype(int))
    once = regressor(PairFunction(np.dot), loss=Huber(0.4)).fit(X, Z, sample_weight=weight)
    twice = regressor(PairFunction(np.dot), loss=Huber(0.4)).fit(X[rows], Z[rows])
    np.testing.assert_allclose(once.score_candidates(NEW, Z), twice.score_candidates(NEW, Z), atol=1e-6)
    gram = Gaussian(2.0)(X)
    given = InputOutputKernelRegressor("precomputed", "precomputed", loss=Huber(0.4), **EXACT)
    given.fit(gram, Z @ Z.T, sample_weight=weight)
    scores = given.score_candidates(Gaussian(2.0)(NEW, X), (Z @ Z.T, np.sum(Z**2, axis=1)))
    np.testing.assert_allclose(scores, once.score_candidates(NEW, Z), atol=1e-6)


def test_fingerprints_packed_or_not():
    B = (RNG.random((N, 20)) < 0.4).astype(np.uint8)
    plain = regressor(Tanimoto()).fit(X, B)
    packed = regressor(Tanimoto(packed=True)).fit(X, np.packbits(B, axis=1))
    np.testing.assert_allclose(
        plain.score_candidates(NEW, B), packed.score_candidates(NEW, np.packbits(B, axis=1)), atol=1e-9
    )


@pytest.mark.parametrize("loss", [Norm(0.7), Power(1.5), Power(3.0), ExponentialNorm(0.5)], ids=repr)
def test_further_losses_of_norms(loss):
    model = regressor(loss=loss, tol=1e-7).fit(X, Z)
    root = np.linalg.cholesky(Gaussian(2.0)(X) + 1e-11 * np.eye(N))
    B = cp.Variable((N, 5))
    norms = cp.norm(Z - root @ B, 2, axis=1)
    size = {
        Norm: lambda: 0.7 * norms,
        Power: lambda: cp.power(norms, getattr(loss, "power", 1)) / getattr(loss, "power", 1),
        ExponentialNorm: lambda: 0.5 * (cp.exp(norms) - 1),
    }[type(loss)]()
    problem = cp.Problem(cp.Minimize(cp.sum(size) / N + 0.05 / 2 * cp.sum_squares(B)))
    problem.solve(solver="CLARABEL")
    assert model.status_ == "converged"
    assert model.objective_ == pytest.approx(problem.value, rel=1e-5)
