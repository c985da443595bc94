"""SemiSupervisedRegressor against the problem that it says to solve."""

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import kneighbors_graph
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import SemiSupervisedRegressor, VectorValuedRegressor
from mercer.estimators.row_graph import neighbour_graph, view_price
from mercer.exceptions import DataError, MercerError
from mercer.kernels import Gaussian, Laplacian, Linear, Polynomial
from mercer.losses import EpsilonInsensitive, Huber, Square
from mercer.operator_valued import CurlFree
from tests.cvxpy_primal import Data, factor, minimise, total_loss

RNG = np.random.default_rng(0)
N, U = 9, 12
X = RNG.uniform(-1, 1, (N + U, 2))
ORDER = RNG.permutation(N + U)
Y = np.column_stack([np.sin(3 * X[:, 0]), X[:, 0] * X[:, 1]]) + 0.2 * RNG.normal(size=(N + U, 2))
Y[ORDER[N:]] = np.nan
SEEN = np.sort(ORDER[:N])
GRAPH = neighbour_graph(X, 4)
NEW = RNG.uniform(-1, 1, (5, 2))
VIEWS = [Gaussian(2.0).restrict(0), Laplacian(1.0).restrict(1)]


@parametrize_with_checks([SemiSupervisedRegressor()])
def test_estimator_checks(estimator, check):
    check(estimator)


def test_the_graph_of_neighbours():
    S = neighbour_graph(X * [1.0, 100.0], 3).toarray()  # units of columns do not matter
    distances = np.linalg.norm((X[:, None] - X) / X.std(axis=0), axis=2)
    near = np.argsort(distances, axis=1)[:, 1:4]
    expected = np.zeros_like(S)
    np.put_along_axis(expected, near, 1.0, axis=1)
    np.testing.assert_array_equal(S, np.maximum(expected, expected.T))
    u = RNG.normal(size=2 * len(S))
    views = u.reshape(2, -1)
    within = sum(np.sum(S * (v[:, None] - v) ** 2) / 2 for v in views)
    price = view_price([scipy.sparse.csr_array(S)] * 2, 0.7)
    assert u @ price @ u == pytest.approx(within + 0.7 * np.sum((views[0] - views[1]) ** 2))


@pytest.mark.parametrize("views", [[Gaussian(2.0)], VIEWS], ids=["one view", "two views"])
def test_the_dual_system_of_manifold_regularisation(views):
    """Spec 3.12 with its errata: ((1/N)VᵀVPK + λ_M MK + λI)u = (1/N)(⊕Vᵀy_i ⊕ 0) for V = wᵀ and each output."""
    alpha, strength, n, v = 0.03, 0.8, N + U, len(views)
    w = np.array([1.0]) if v == 1 else np.array([0.3, 0.6])
    M = view_price([GRAPH] * v, 0.5).toarray()
    K = scipy.linalg.block_diag(*(view(X) for view in views))
    labelled = np.zeros((n, n))
    labelled[SEEN, SEEN] = 1.0
    right = np.kron(w[:, None], np.where(np.isnan(Y), 0.0, Y)) / N
    left = np.kron(np.outer(w, w), labelled) @ K / N + strength * alpha * M @ K + alpha * np.eye(v * n)
    coef = np.linalg.solve(left, right)
    expected = np.hstack([weight * view(NEW, X) for weight, view in zip(w, views, strict=True)]) @ coef
    model = SemiSupervisedRegressor(
        views if v > 1 else views[0],
        graph=GRAPH,
        strength=strength,
        agreement=0.5,
        view_weights=w,
        alpha=alpha,
        fit_intercept=False,
    ).fit(X, Y)
    np.testing.assert_allclose(model.predict(NEW), expected, atol=1e-8)
    assert model.X_fit_.shape == (N, 2)
    assert (model.strength_, model.alpha_) == (strength, alpha)


def test_primal_is_dual():
    """Spec 3.12, algorithm 6: (P + λM̃)θ = Y for explicit features, 1/N included."""
    alpha, strength = 0.02, 0.4

    def features(Z):
        return np.column_stack([np.ones(len(Z)), np.sqrt(2) * Z, Z**2, np.sqrt(2) * Z[:, :1] * Z[:, 1:]])

    L = np.diag(GRAPH.sum(axis=1)) - GRAPH.toarray()
    Phi = features(X)
    P = Phi[SEEN].T @ Phi[SEEN] / N
    smooth = np.eye(6) + strength * Phi.T @ L @ Phi
    theta = np.linalg.solve(P + alpha * smooth, Phi[SEEN].T @ Y[SEEN] / N)
    model = SemiSupervisedRegressor(
        Polynomial(2, 1.0, 1.0), graph=GRAPH, strength=strength, alpha=alpha, fit_intercept=False
    )
    np.testing.assert_allclose(model.fit(X, Y).predict(NEW), features(NEW) @ theta, atol=1e-7)


@pytest.mark.parametrize("loss", [Square(), Huber(0.2), EpsilonInsensitive(0.1, "componentwise")], ids=repr)
@pytest.mark.parametrize("matrix", [None, np.array([[1.0, 0.6], [0.6, 0.8]])], ids=["identity", "matrix"])
def test_cvxpy(loss, matrix):
    """With weights, an intercept, a missing target; the graph measures differences in the norm of Γ⁻¹."""
    alpha, strength, s = 0.05, 0.7, RNG.uniform(0.5, 2.0, N + U)
    targets = Y.copy()
    targets[SEEN[2], 1] = np.nan
    model = SemiSupervisedRegressor(
        Gaussian(2.0), graph=GRAPH, strength=strength, output_matrix=matrix, alpha=alpha, loss=loss, tol=1e-9
    ).fit(X, targets, s)
    gamma = np.eye(2) if matrix is None else matrix
    L = np.diag(GRAPH.sum(axis=1)) - GRAPH.toarray()
    data = Data(np.eye(N), np.eye(2), targets[SEEN], np.arange(2), np.ones(2), alpha, s[SEEN], True)
    B, b = cp.Variable((N + U, 2)), cp.Variable((1, 2))
    plain = factor(Gaussian(2.0)(X)) @ B  # h = plain·√Γ
    H = plain @ factor(gamma).T
    norm = cp.sum_squares(B) + strength * cp.sum_squares(factor(L).T @ plain)
    predicted = H[SEEN] + np.ones((N, 1)) @ b
    value = minimise(total_loss(loss, data, predicted) + alpha / 2 * norm)
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    assert model.relative_gap_ <= 1e-9
    np.testing.assert_allclose(model.predict(X), H.value + b.value, atol=2e-3)


def test_without_strength_it_is_the_ordinary_fit():
    plain = VectorValuedRegressor(Gaussian(1.0), output_matrix="learned", alpha=0.01).fit(X[SEEN], Y[SEEN])
    model = SemiSupervisedRegressor(Gaussian(1.0), output_matrix="learned", alpha=0.01, strength=0.0).fit(X, Y)
    np.testing.assert_allclose(model.predict(NEW), plain.predict(NEW), atol=1e-9)
    np.testing.assert_allclose(
        model.predict(NEW, return_std=True)[1], plain.predict(NEW, return_std=True)[1], atol=1e-8
    )


def test_deviations_are_those_of_the_process_of_its_kernel():
    model = SemiSupervisedRegressor(Gaussian(1.0), alpha=0.01, strength=2.0, fit_intercept=False).fit(X, Y)
    k, shift = model.kernel_, 0.01 * N
    cross = k(NEW, X[SEEN])
    inner = np.linalg.inv(k(X[SEEN]) + shift * np.eye(N))
    variance = model.signal_variance_ * (np.diag(k(NEW)) - np.einsum("ia,ab,ib->i", cross, inner, cross))
    std = model.predict(NEW, return_std=True)[1]
    np.testing.assert_allclose(std, np.sqrt(variance)[:, None] * np.ones(2), rtol=1e-6)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_the_choice_has_the_greatest_evidence(intercept, missing):
    """By the density of the targets, with a nearly flat prior of b: no other strength or λ nearby is likelier."""
    targets = Y.copy()
    if missing:
        targets[SEEN[0], 1] = np.nan
    model = SemiSupervisedRegressor(Gaussian(2.0), graph=GRAPH, fit_intercept=intercept).fit(X, targets)

    def evidence(strength, alpha):
        K = model.kernel_.replace(strength=strength)(X[SEEN]) + alpha * N * np.eye(N)
        K = K + 1e5 * intercept
        squares, volume, count = 0.0, 0.0, 0
        for y in targets[SEEN].T:
            seen = ~np.isnan(y)
            part = K[np.ix_(seen, seen)]
            y = y[seen] - (y[seen].mean() if intercept else 0.0)
            squares += y @ np.linalg.solve(part, y)
            volume += np.linalg.slogdet(part)[1]
            count += seen.sum() - intercept
        return -(count * np.log(squares) + volume) / 2

    best = evidence(model.strength_, model.alpha_)
    steps = [(10, 1), (0.1, 1), (1, 10**0.25), (1, 10**-0.25)]
    others = [evidence(c * model.strength_, a * model.alpha_) for c, a in steps if 1e-8 < a * model.alpha_ < 10]
    assert best >= max(others) - 1e-4


def test_rows_without_targets_help_where_classes_are_clusters():
    X, label = make_moons(200, noise=0.08, random_state=1)
    few = np.random.default_rng(1).choice(200, 10, replace=False)
    codes = np.full((200, 2), np.nan)
    codes[few] = np.eye(2)[label[few]]
    right = np.mean(SemiSupervisedRegressor().fit(X, codes).predict(X).argmax(axis=1) == label)
    alone = np.mean(VectorValuedRegressor().fit(X[few], codes[few]).predict(X).argmax(axis=1) == label)
    assert right > 0.97 > 0.9 > alone


def test_a_robust_loss_bears_wrong_targets():
    X, label = make_moons(300, noise=0.1, random_state=1)
    few = np.random.default_rng(1).choice(300, 60, replace=False)
    y = np.full(300, np.nan)
    y[few] = label[few] + 0.2 * np.random.default_rng(2).normal(size=60)
    y[few[:5]] += 20
    robust, square = (SemiSupervisedRegressor(loss=loss).fit(X, y).predict(X) for loss in ("huber", "square"))
    assert np.mean((robust - label) ** 2) < 0.05 < 0.5 * np.mean((square - label) ** 2)


def test_views_that_agree_on_rows_without_targets():
    """Two views of two classes, each a pair of moons of its own: where one is in doubt the other is not."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 200)
    frames = []
    for _ in range(2):
        angle = rng.uniform(0, np.pi, 200)
        turned = np.column_stack([1 - np.cos(angle), 0.5 - np.sin(angle)])
        moon = np.where(label[:, None] == 0, np.column_stack([np.cos(angle), np.sin(angle)]), turned)
        frames.append(moon + 0.2 * rng.normal(size=(200, 2)))
    inputs, y = np.hstack(frames), np.where(np.arange(200) < 8, 2.0 * label - 1, np.nan)
    views = [Gaussian(3.0).restrict([0, 1]), Gaussian(3.0).restrict([2, 3])]
    base = SemiSupervisedRegressor(views).fit(inputs, y)
    agreed, alone = (
        np.mean((clone(base).set_params(agreement=g).fit(inputs, y).predict(inputs) > 0) == label) for g in (10.0, 0.0)
    )
    assert np.mean((base.predict(inputs) > 0) == label) > 0.97
    assert agreed > 0.99 > alone
    frame = pd.DataFrame(inputs, columns=list("abcd"))
    named = clone(base).set_params(kernel=[Gaussian(3.0).restrict(["a", "b"]), Gaussian(3.0).restrict(["c", "d"])])
    np.testing.assert_allclose(named.fit(frame, y).predict(frame), base.predict(inputs), atol=1e-8)


def test_graphs_as_they_are_given():
    base = SemiSupervisedRegressor(Gaussian(1.0), alpha=0.01, strength=1.0, n_neighbors=4)
    default = base.fit(X, Y).predict(NEW)
    for graph in (GRAPH, GRAPH.toarray(), GRAPH + scipy.sparse.eye_array(N + U), lambda Z: neighbour_graph(Z, 4)):
        np.testing.assert_allclose(clone(base).set_params(graph=graph).fit(X, Y).predict(NEW), default, atol=1e-9)
    connectivity = kneighbors_graph(X, 4)
    clone(base).set_params(graph=connectivity.maximum(connectivity.T)).fit(X, Y)  # scikit-learn's, a matrix
    # a row of weight 0 leaves the graph, and weights are repetitions
    weight = np.ones(N + U)
    weight[[SEEN[0], ORDER[N]]] = 0
    few = weight > 0
    dropped = clone(base).set_params(graph=GRAPH).fit(X, Y, weight).predict(NEW)
    alone = clone(base).set_params(graph=GRAPH[few][:, few]).fit(X[few], Y[few]).predict(NEW)
    np.testing.assert_allclose(dropped, alone, atol=1e-9)
    again = clone(base).fit(np.vstack([X, X[SEEN[:2]]]), np.vstack([Y, Y[SEEN[:2]]])).predict(NEW)
    weight = np.ones(N + U)
    weight[SEEN[:2]] = 2
    np.testing.assert_allclose(clone(base).fit(X, Y, weight).predict(NEW), again, atol=1e-9)


def test_searches_see_rows_without_targets():
    search = GridSearchCV(SemiSupervisedRegressor(Gaussian(1.0), alpha=0.01), {"strength": [0.0, 1.0]}, cv=2)
    assert np.isfinite(search.fit(X, Y).best_score_)


@pytest.mark.parametrize(
    ("params", "y", "message"),
    [
        ({"graph": np.eye(5)}, Y, r"graph must have shape \(21, 21\), a row and a column for each row of X"),
        ({"graph": -np.ones((21, 21))}, Y, "not negative"),
        ({"graph": np.triu(np.ones((21, 21)))}, Y, "symmetric"),
        ({"graph": [["a"]]}, Y, "hold numbers"),
        ({"graph": "nearest"}, Y, "'neighbors'"),
        ({"n_neighbors": 0}, Y, "n_neighbors"),
        ({"strength": -1.0}, Y, "strength"),
        ({"strength": "large"}, Y, "strength"),
        ({"agreement": -1.0}, Y, "agreement"),
        ({"kernel": "precomputed"}, Y, "kernel on vectors"),
        ({"kernel": CurlFree(Gaussian(1.0))}, Y, "not an operator-valued kernel"),
        ({"kernel": []}, Y, "list of kernels"),
        ({"kernel": [None, Linear()]}, Y, "list of kernels"),
        ({"view_weights": [1.0, 2.0]}, Y, "view_weights"),
        ({}, np.full((21, 2), np.nan), "no row of Y has a target"),
        ({}, np.where(np.arange(21)[:, None] == SEEN[0], Y, np.nan), "n_samples = 1"),
        ({}, np.where(np.arange(2) == 1, np.nan, Y), "output 1 of Y was never observed"),
        ({}, Y[:-1], "inconsistent numbers"),
    ],
)
def test_refusals(params, y, message):
    with pytest.raises(MercerError, match=message):
        SemiSupervisedRegressor(**params).fit(X, y)


def test_what_the_ordinary_estimator_says_of_such_rows():
    with pytest.raises(DataError, match="SemiSupervisedRegressor"):
        VectorValuedRegressor().fit(X, Y)
