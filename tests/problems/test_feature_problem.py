"""Feature problems: what is added up over blocks is the problem in memory."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.exceptions import DataError, MercerError, UnsupportedError
from mercer.kernels import FeatureKernel, Gaussian
from mercer.linalg import Dense, Kronecker, LowRank
from mercer.losses import EpsilonInsensitive, Huber, MoreauPinball, Pinball, Square
from mercer.measures import Measure
from mercer.problems import DualProblem, FeatureProblem, LocalBlocks, StoredBlocks
from mercer.problems.block_sums import bracketed_minimum
from mercer.problems.block_work import Dual
from mercer.rows import ArrayRows, StreamRows

N, D, M = 60, 8, 3
RNG = np.random.default_rng(0)
X, FREQUENCIES = RNG.normal(size=(N, 2)), RNG.normal(size=(2, D // 2))
KERNEL = FeatureKernel(lambda X: np.hstack([np.cos(X @ FREQUENCIES), np.sin(X @ FREQUENCIES)]) + 0.5)
Y, WEIGHT = RNG.normal(size=(N, M)) + X[:, :1] + 4, RNG.uniform(0.5, 2.0, N)
MU = Measure(np.array([0.2, 0.5, 0.9]), RNG.uniform(0.1, 1.0, M))
FACTOR = RNG.normal(size=(M, 2))
LOSSES = [Pinball(), MoreauPinball(), Square(), Huber(), EpsilonInsensitive()]


def problems(loss, weight=WEIGHT, intercept=True, targets=Y, alpha=1e-2, size=17):
    gram = Kronecker(LowRank(KERNEL.features(X)), Dense(FACTOR @ FACTOR.T))
    whole = DualProblem(gram, loss, targets, MU, alpha, weight, intercept)
    rows = ArrayRows(X, targets, weight, batch_size=size)
    return whole, FeatureProblem((KERNEL, rows), loss, MU, alpha, FACTOR, intercept)


def blocks_of(array, size=17):
    return [Dual(array[start : start + size]) for start in range(0, len(array), size)]


def missing():
    return np.where(np.random.default_rng(1).random(Y.shape) < 0.2, np.nan, Y)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weighted"])
@pytest.mark.parametrize("targets", [Y, missing()], ids=["complete", "missing"])
def test_the_certificate_is_that_of_the_dual_problem(loss, intercept, weight, targets):
    whole, parts = problems(loss, weight, intercept, targets)
    start = 0.2 * np.random.default_rng(2).normal(size=Y.shape)
    A = whole.feasible(start)
    states = parts.feasible(blocks_of(start))
    np.testing.assert_allclose(np.vstack([state.A for state in states]), A, atol=1e-10)
    ours, theirs = parts.view(states, accuracy=0.0).certificate, whole.certificate(A)
    assert ours.gap > 0
    rough = intercept and loss == EpsilonInsensitive()  # whose best intercept is not worth its passes
    for name in ("primal", "dual", "reference", "gap"):
        accuracy = 1e-5 if rough and name != "dual" else 1e-10
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), rel=accuracy), name
    assert ours.rounding == pytest.approx(theirs.rounding, rel=0.05)  # ties at kinks
    assert parts.unit == pytest.approx(whole.unit, rel=0.05)  # the intercept may be elsewhere in an interval


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_model_of_a_dual_array_is_the_same_function(loss):
    whole, parts = problems(loss)
    A = whole.feasible(0.2 * np.random.default_rng(2).normal(size=Y.shape))
    view = parts.view(blocks_of(A))
    expected = whole.predict(A) + whole.best_intercept(whole.predict(A))
    np.testing.assert_allclose(
        parts.predict(KERNEL.features(X), view.coef, view.intercept), expected, atol=2e-4 if loss == Pinball() else 1e-4
    )
    representers = parts.primal_coef(blocks_of(A))
    np.testing.assert_allclose(representers, KERNEL.features(X).T @ whole.primal_coef(A), atol=1e-10)
    np.testing.assert_allclose(representers @ FACTOR, view.coef, atol=1e-10)


@pytest.mark.parametrize("loss", [Square(), Huber(), MoreauPinball()], ids=repr)
def test_gradients_are_those_of_differences(loss):
    _, problem = problems(loss)
    rng = np.random.default_rng(3)
    C, b, dC, db = (rng.normal(size=shape) for shape in ((D, 2), M, (D, 2), M))
    _, gradient, slope = problem.value_and_gradient(C, b)
    step = 1e-6
    difference = (problem.value(C + step * dC, b + step * db) - problem.value(C - step * dC, b - step * db)) / (
        2 * step
    )
    assert np.vdot(gradient, dC) + slope @ db == pytest.approx(difference, rel=1e-5)


def test_any_model_bounds_any_dual_array():
    _, problem = problems(Pinball())
    rng = np.random.default_rng(4)
    states = problem.feasible(blocks_of(0.3 * rng.normal(size=Y.shape)))
    C, b = 0.1 * rng.normal(size=(D, 2)), rng.normal(size=M)
    view = problem.view(states, C, b, given=True)
    assert view.certificate.primal == pytest.approx(problem.value(C, b), rel=1e-12)
    assert view.certificate.primal > view.certificate.dual
    assert problem.view(states, C, b, accuracy=0.0).certificate.primal < view.certificate.primal


def test_blocks_do_not_matter_and_features_may_be_kept():
    _, problem = problems(Huber(), size=60)
    small = FeatureProblem(
        LocalBlocks(KERNEL, ArrayRows(X, Y, WEIGHT), block_bytes=7 * 8 * D), Huber(), MU, 1e-2, FACTOR, True
    )
    C, b = np.ones((D, 2)), np.ones(M)
    assert small.value(C, b) == pytest.approx(problem.value(C, b), rel=1e-13)
    kept = small.stored(8 * N * D)
    assert isinstance(kept.blocks, StoredBlocks)
    assert small.stored(8 * N * D - 1) is small
    assert kept.value(C, b) == small.value(C, b)
    np.testing.assert_allclose(kept.moments.scatter, problem.moments.scatter, atol=1e-11)


def test_nothing_of_the_size_of_all_features_is_made():
    largest = []

    def features(X):
        largest.append(len(X))
        return np.hstack([X**0, X])

    problem = FeatureProblem(
        LocalBlocks(FeatureKernel(features), ArrayRows(X, Y[:, :1]), block_bytes=10 * 8 * 4), Huber(),
        Measure(np.zeros((1, 1)), np.ones(1)), 1e-2, fit_intercept=True,
    )  # fmt: skip
    problem.view(problem.feasible(blocks_of(np.zeros((N, 1)), 10)))
    assert max(largest) <= 10


def test_one_column_of_targets_stands_at_each_node():
    one = FeatureProblem((KERNEL, ArrayRows(X, Y[:, 0])), Pinball(), MU, 1e-2, FACTOR, True)
    all_of_them = FeatureProblem((KERNEL, ArrayRows(X, np.tile(Y[:, :1], M))), Pinball(), MU, 1e-2, FACTOR, True)
    assert one.value(np.ones((D, 2)), np.ones(M)) == all_of_them.value(np.ones((D, 2)), np.ones(M))


def test_batches_that_change_between_passes_are_refused():
    sizes = iter([30, 30, 20, 20])
    rows = StreamRows(lambda size=None: ((X[k : k + s], Y[k : k + s]) for s in [next(sizes)] for k in range(0, N, s)))
    problem = FeatureProblem((KERNEL, rows), Huber(), MU, 1e-2, FACTOR)
    with pytest.raises(DataError, match="batches"):
        problem.feasible([Dual(np.zeros((30, M)))] * 2)


def test_bad_input_is_refused():
    rows = ArrayRows(X, Y)
    with pytest.raises(UnsupportedError, match="explicit features"):
        FeatureProblem((Gaussian(1.0), rows), Huber(), MU, 1e-2)
    with pytest.raises(MercerError, match="a Loss"):
        FeatureProblem((KERNEL, rows), "huber", MU, 1e-2)
    with pytest.raises(MercerError, match="alpha"):
        FeatureProblem((KERNEL, rows), Huber(), MU, 0.0)
    with pytest.raises(DataError, match="factor must be finite and of shape"):
        FeatureProblem((KERNEL, rows), Huber(), MU, 1e-2, np.ones((2, 2)))
    with pytest.raises(DataError, match="Y must have 1 column or 3"):
        FeatureProblem((KERNEL, ArrayRows(X, Y[:, :2])), Huber(), MU, 1e-2)
    with pytest.raises(MercerError, match="levels"):
        FeatureProblem((KERNEL, ArrayRows(X, Y[:, 0])), Pinball(), Measure(np.array([1.5]), np.ones(1)), 1e-2)


def test_a_bracketed_minimum_of_kinks_and_of_curves():
    targets = np.array([[1.0, 5.0], [2.0, 5.0], [4.0, 7.0]])
    b = bracketed_minimum(lambda b: np.sum(np.sign(b - targets), axis=0), np.zeros(2), 0.1, np.ones(2), 0.0)
    np.testing.assert_allclose(b, [2.0, 5.0], atol=1e-12)
    calls = []

    def slope(b):
        calls.append(b)
        return np.exp(b) - 3

    rough = bracketed_minimum(slope, np.zeros(1), 1.0, np.ones(1), 1e-2)
    few = len(calls)
    exact = bracketed_minimum(slope, np.zeros(1), 1.0, np.ones(1), 0.0)
    assert exact[0] == pytest.approx(np.log(3), abs=1e-13)
    assert len(calls) - few > few
    value = np.exp(rough) - 3 * rough - (3 - 3 * np.log(3))
    assert 0 <= value[0] <= 1e-2
