"""Losses of vectors at points: each map against its definition, and what p = 1, p columns and geometry mean."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.exceptions import MercerError, UnsupportedError
from mercer.linalg import Dense, Kronecker
from mercer.losses import EpsilonInsensitive, EpsilonRidge, Huber, Square, VectorLoss
from mercer.measures import Measure
from mercer.problems import DualProblem
from mercer.solvers import ADMM, LBFGS, ClosedForm, ProximalGradient, largest_epsilon, largest_kappa, loss_path
from mercer.testing import check_loss
from mercer.testing.losses import _Checker

NORMS = [Huber(0.7), EpsilonRidge(0.3), EpsilonInsensitive(0.3), EpsilonInsensitive(0.0)]
RNG = np.random.default_rng(0)
W = np.array([0.3, 0.5, 0.2])
MU = Measure(np.repeat([0.1, 0.5, 0.8], 2), np.repeat(W, 2))


@pytest.mark.parametrize("loss", NORMS, ids=repr)
def test_one_component_is_the_pointwise_loss(loss):
    check_loss(VectorLoss(loss, 1))
    pointwise = loss.replace(geometry="pointwise")
    Y, U = RNG.normal(size=(2, 5, 6))
    np.testing.assert_allclose(VectorLoss(loss, 1).value(Y, U, MU), pointwise.value(Y, U, MU))
    assert pointwise.of_vectors(1) is pointwise


@pytest.mark.parametrize("loss", NORMS, ids=repr)
def test_maps_keep_the_contract(loss):
    """But that single columns cannot be split or deleted."""
    vectors = VectorLoss(loss, 2)
    checker = _Checker(vectors, MU, None, 0, 1e-6)
    checker.check_value()
    checker.check_gradient()
    checker.check_prox()
    checker.check_conjugate_prox()
    checker.check_conjugate()
    checker.check_arguments()
    checker.check_threshold(vectors.threshold)
    assert vectors.box(checker.Y, MU) is None


@pytest.mark.parametrize("loss", NORMS, ids=repr)
def test_values_are_those_of_lengths(loss):
    Y, U = RNG.normal(size=(2, 5, 6))
    lengths = np.sqrt(((Y - U).reshape(5, 3, 2) ** 2).sum(axis=2))
    vectors = loss.replace(geometry="pointwise").of_vectors(2)
    of_numbers = loss.replace(geometry="pointwise")
    expected = of_numbers.value(lengths, 0 * lengths, Measure(np.arange(3.0), W))
    np.testing.assert_allclose(vectors.value(Y, U, MU), expected)
    np.testing.assert_allclose(vectors.sizes(Y - U, MU), np.repeat(lengths, 2, axis=1))
    assert vectors.dual_bound == loss.dual_bound
    assert (vectors.smooth, vectors.sparse, vectors.growth) == (loss.smooth, loss.sparse, loss.growth)
    assert not vectors.of_norms
    found = vectors.for_residuals(0.5).loss
    name = loss.threshold.name
    assert getattr(found, name) == pytest.approx(getattr(of_numbers.for_residuals(0.5), name))


@pytest.mark.parametrize("loss", NORMS, ids=repr)
def test_masked_components_are_left_out(loss):
    Y, U = RNG.normal(size=(2, 4, 6))
    observed = np.ones((4, 6), dtype=bool)
    observed[:, 1] = observed[:, 4] = observed[:, 5] = False
    masked, vectors = MU.restricted(observed), VectorLoss(loss, 2)
    seen = [0, 2, 3]
    # a node with one component left is a number, one with none is nothing
    value = VectorLoss(loss, 1).value(Y[:, [0]], U[:, [0]], Measure(np.zeros(1), W[:1]))
    value = value + vectors.value(Y[:, 2:4], U[:, 2:4], Measure(np.zeros(2), W[[1, 1]]))
    holes = np.where(observed, Y, np.nan)
    np.testing.assert_allclose(vectors.value(holes, U, masked), value)
    np.testing.assert_array_equal(vectors.prox(holes, U, 0.7, masked)[~observed], U[~observed])
    for found in (vectors.gradient(holes, U, masked), vectors.conjugate_prox(holes, U, 0.7, masked)):
        assert np.all(found[~observed] == 0)
        assert np.all(np.isfinite(found[:, seen]))


def test_geometries_of_vectors():
    assert Huber(0.3, "pointwise").of_vectors(3) == VectorLoss(Huber(0.3), 3)
    for loss in (Huber(0.3), Huber(0.3, "componentwise"), Square()):
        assert loss.of_vectors(3) is loss
    assert [Huber(0.3, g).compares for g in ("norm", "pointwise", "componentwise")] == [
        "norm",
        "pointwise",
        "componentwise",
    ]
    Y, U = RNG.normal(size=(2, 5, 6))
    by_number, by_point = (Huber(0.3, g).value(Y, U, MU) for g in ("componentwise", "pointwise"))
    np.testing.assert_array_equal(by_number, by_point)  # without components columns are points


@pytest.mark.parametrize("arguments", [(Huber(0.3, "pointwise"), 2), ("huber", 2), (Huber(0.3), 0), (Huber(0.3), 1.5)])
def test_what_is_refused(arguments):
    with pytest.raises(MercerError, match=r"VectorLoss: (loss|n_components) must be"):
        VectorLoss(*arguments)


def test_columns_must_be_those_of_points():
    with pytest.raises(MercerError, match="p = 4 columns for each point; got 6"):
        VectorLoss(Huber(0.3), 4).value(np.zeros((2, 6)), np.zeros((2, 6)), MU)


def problem(loss, intercept=False, holes=False):
    rng = np.random.default_rng(1)
    x, theta = rng.uniform(size=7), np.array([0.1, 0.5, 0.8])
    right = np.kron(np.exp(-3 * (theta[:, None] - theta) ** 2), [[1.0, 0.5], [0.5, 2.0]])
    Y = rng.normal(size=(7, 6))
    if holes:
        Y[0, 1] = Y[2, 2] = Y[2, 3] = np.nan
    gram = Kronecker(Dense(np.exp(-4 * (x[:, None] - x) ** 2)), Dense(right))
    return DualProblem(gram, loss, Y, MU, 0.05, None, intercept)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", NORMS[:3], ids=repr)
def test_solvers_agree(loss, intercept):
    posed = problem(VectorLoss(loss, 2), intercept, holes=True)
    solvers = [ADMM(1e-7, 50_000), ProximalGradient(1e-5, 50_000)] + ([LBFGS(1e-7)] if loss.smooth else [])
    found = [solver.solve(posed) for solver in solvers]
    assert all(one.converged for one in found)
    for one in found:
        assert one.objective == pytest.approx(found[0].objective, rel=2e-5)


def test_paths_of_thresholds():
    posed = problem(VectorLoss(Huber(1.0), 2), intercept=True)
    top = largest_kappa(posed)
    above, below = loss_path(posed, posed.loss.threshold.name, [top * (1 + 1e-6), 0.5 * top], tol=1e-10)
    np.testing.assert_allclose(np.max(posed.loss.sizes(above.coef, MU)), top, rtol=1e-3)
    assert np.max(posed.loss.sizes(below.coef, MU)) <= 0.5 * top * (1 + 1e-9)
    tube = problem(VectorLoss(EpsilonRidge(0.1), 2), intercept=True)
    with pytest.raises(UnsupportedError, match=r"EpsilonRidge\(\) takes several of them together"):
        largest_epsilon(tube)
    first, second = loss_path(tube, "loss__epsilon", [10.0, 0.1])
    assert first.objective == pytest.approx(0, abs=1e-8)
    assert second.converged


def test_errors_speak_of_the_loss_that_was_asked_for():
    assert VectorLoss(Huber(1.0), 2).named == Huber(1.0)
    with pytest.raises(UnsupportedError, match=r"the loss is Huber\(kappa=2\)"):
        ClosedForm().check(problem(VectorLoss(Huber(2.0), 2)))
