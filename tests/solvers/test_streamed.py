"""Solvers over blocks of rows: as good as those in memory, and as cvxpy."""

from __future__ import annotations

import cvxpy
import numpy as np
import pytest

from mercer.exceptions import DataError, MercerError, UnsupportedError
from mercer.features import Nystroem, RandomFourier
from mercer.kernels import FeatureKernel, Gaussian
from mercer.linalg import Dense, Kronecker, LowRank
from mercer.losses import (
    CostSensitiveHinge,
    EpsilonInsensitive,
    Expectile,
    Huber,
    MoreauPinball,
    Pinball,
    Square,
    WeightedHuber,
)
from mercer.measures import Measure
from mercer.problems import DualProblem, FeatureProblem
from mercer.rows import ArrayRows, StreamRows
from mercer.solvers import (
    ADMM,
    ClosedForm,
    NormalEquations,
    RidgePath,
    SemismoothNewton,
    StreamedADMM,
    StreamedLBFGS,
    StreamedNewton,
)

N, D, M = 120, 10, 3
RNG = np.random.default_rng(0)
X, FREQUENCIES = RNG.normal(size=(N, 2)), RNG.normal(size=(2, D // 2))


def waves(X):
    return (np.hstack([np.cos(X @ FREQUENCIES), np.sin(X @ FREQUENCIES)]) + 0.5).astype(X.dtype)


KERNEL = FeatureKernel(waves)
Y, WEIGHT = RNG.normal(size=(N, M)) + X[:, :1] + 4, RNG.uniform(0.5, 2.0, N)
MU = Measure(np.array([0.2, 0.5, 0.9]), RNG.uniform(0.1, 1.0, M))
FACTOR = RNG.normal(size=(M, 2))
ALPHA = 1e-2


def streamed(loss, targets=Y, weight=WEIGHT, intercept=True, inputs=X, size=50):
    return FeatureProblem((KERNEL, ArrayRows(inputs, targets, weight, size)), loss, MU, ALPHA, FACTOR, intercept)


def in_memory(loss, targets=Y, weight=WEIGHT, intercept=True):
    gram = Kronecker(LowRank(KERNEL.features(X)), Dense(FACTOR @ FACTOR.T))
    return DualProblem(gram, loss, targets, MU, ALPHA, weight, intercept)


def holes():
    return np.where(np.random.default_rng(1).random(Y.shape) < 0.2, np.nan, Y)


def close(result, reference, tol):
    assert result.converged, result.message
    assert result.relative_gap <= tol
    least = reference.objective - reference.gap
    assert least - 1e-12 <= result.objective <= reference.objective + tol * abs(reference.objective)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", [Pinball(), Huber(), EpsilonInsensitive(), Square()], ids=repr)
def test_admm_agrees_with_the_solvers_in_memory(loss, intercept):
    solver = SemismoothNewton(tol=1e-6) if loss == Pinball() else ADMM(tol=1e-6)
    reference = solver.solve(in_memory(loss, intercept=intercept))
    close(StreamedADMM(tol=1e-4).solve(streamed(loss, intercept=intercept)), reference, 1e-4)


@pytest.mark.parametrize("loss", [Huber(), MoreauPinball(), Expectile(), WeightedHuber()], ids=repr)
@pytest.mark.parametrize("intercept", [True, False])
def test_lbfgs_agrees_with_the_solvers_in_memory(loss, intercept):
    reference = ADMM(tol=1e-7).solve(in_memory(loss, intercept=intercept))
    result = StreamedLBFGS(tol=1e-6).solve(streamed(loss, intercept=intercept))
    close(result, reference, 1e-6)
    assert result.n_iter <= 100


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("targets", [Y, holes()], ids=["complete", "missing"])
@pytest.mark.parametrize("loss", [Pinball(), MoreauPinball()], ids=repr)
def test_newton_steps_reach_small_gaps(loss, targets, intercept):
    reference = SemismoothNewton(tol=1e-8).solve(in_memory(loss, targets, intercept=intercept))
    result = StreamedNewton(tol=1e-7).solve(streamed(loss, targets, intercept=intercept))
    close(result, reference, 1e-7)
    assert result.n_iter <= 200


@pytest.mark.parametrize("alpha", [0.3, 3.0])
def test_newton_steps_move_an_intercept_that_no_free_entry_holds(alpha):
    """With a large λ the model is hardly more than b, and few rows are near it."""
    problem = streamed(Pinball()).with_alpha(alpha)
    reference = SemismoothNewton(tol=1e-9).solve(in_memory(Pinball()).with_alpha(alpha))
    result = StreamedNewton(tol=1e-7).solve(problem)
    close(result, reference, 1e-7)
    assert result.n_iter <= 80


def test_proximal_points_that_are_too_far_become_nearer():
    """Long features and a small λ: Newton steps from a poor start do not end in time, with a larger κ they do."""
    long = FeatureKernel(lambda X: 30 * waves(X))
    signs = np.sign(Y - 4)
    problem = FeatureProblem((long, ArrayRows(X, signs, WEIGHT, 50)), CostSensitiveHinge(), MU, 1e-5, FACTOR, False)
    gram = Kronecker(LowRank(long.features(X)), Dense(FACTOR @ FACTOR.T))
    reference = SemismoothNewton(tol=1e-8).solve(DualProblem(gram, CostSensitiveHinge(), signs, MU, 1e-5, WEIGHT))
    close(StreamedNewton(tol=1e-6).solve(problem), reference, 1e-6)


def test_missing_entries_and_labels():
    for loss, targets in ((Huber(), holes()), (CostSensitiveHinge(), np.sign(Y - 4))):
        reference = SemismoothNewton if loss == CostSensitiveHinge() else ADMM
        close(
            StreamedADMM(tol=1e-4).solve(streamed(loss, targets)),
            reference(tol=1e-6).solve(in_memory(loss, targets)),
            1e-4,
        )


@pytest.mark.parametrize("intercept", [True, False])
def test_admm_agrees_with_cvxpy(intercept):
    C, b = cvxpy.Variable((D, 2)), cvxpy.Variable(M)
    features, levels = KERNEL.features(X), np.array([0.2, 0.5, 0.9])
    shift = np.ones((N, 1)) @ cvxpy.reshape(b, (1, M), order="C") if intercept else 0
    residual = Y - features @ C @ FACTOR.T - shift
    s = WEIGHT / WEIGHT.sum()
    losses = cvxpy.maximum(residual @ np.diag(levels), residual @ np.diag(levels - 1))
    goal = s @ losses @ np.asarray(MU.weights) + ALPHA / 2 * cvxpy.sum_squares(C)
    optimum = cvxpy.Problem(cvxpy.Minimize(goal)).solve(solver="CLARABEL")
    result = StreamedADMM(tol=1e-4).solve(streamed(Pinball(), intercept=intercept))
    assert result.objective == pytest.approx(optimum, rel=1e-4)
    np.testing.assert_allclose(result.coef @ FACTOR.T, C.value @ FACTOR.T, atol=0.2)


def test_the_objective_is_that_of_the_model():
    problem = streamed(Pinball())
    result = StreamedADMM(tol=1e-3).solve(problem)
    assert problem.value(result.coef, result.intercept) == pytest.approx(result.objective, rel=1e-12)
    view = problem.view(result.states, result.coef, result.intercept, given=True)
    assert view.certificate.gap == pytest.approx(result.gap, rel=1e-9)


@pytest.mark.parametrize("features", [RandomFourier(8, random_state=0), Nystroem(8, random_state=0)], ids=repr)
def test_approximated_kernels_stream(features):
    kernel = features.bind(Gaussian(0.5), X)
    gram = Kronecker(LowRank(kernel.features(X)), Dense(FACTOR @ FACTOR.T))
    reference = ADMM(tol=1e-7).solve(DualProblem(gram, Huber(), Y, MU, ALPHA, WEIGHT, True))
    problem = FeatureProblem((kernel, ArrayRows(X, Y, WEIGHT, 50)), Huber(), MU, ALPHA, FACTOR, True)
    close(StreamedLBFGS(tol=1e-6).solve(problem), reference, 1e-6)


@pytest.mark.parametrize("solver", [StreamedADMM(tol=1e-3), StreamedLBFGS(tol=1e-3)], ids=repr)
def test_features_kept_or_not_give_the_same_model(solver):
    problem = streamed(Huber())
    kept, anew = solver.solve(problem), solver.replace(memory=0).solve(problem)
    np.testing.assert_array_equal(kept.coef, anew.coef)
    assert kept.n_iter == anew.n_iter


@pytest.mark.parametrize("solver", [StreamedADMM(tol=1e-4), StreamedLBFGS(tol=1e-4)], ids=repr)
def test_a_model_to_start_from_saves_steps(solver):
    problem = streamed(Huber())
    first = solver.solve(problem)
    again = solver.solve(problem, init=(first.coef, first.intercept))
    assert again.converged
    assert again.n_iter <= first.n_iter
    with pytest.raises(DataError, match="init must be"):
        solver.solve(problem, init=(first.coef[:, :1], first.intercept))


def test_single_precision_features_are_certified_in_double():
    exact = StreamedADMM(tol=1e-3).solve(streamed(Pinball()))
    single = StreamedADMM(tol=1e-3).solve(streamed(Pinball(), inputs=X.astype(np.float32)))
    assert single.converged
    assert single.objective == pytest.approx(exact.objective, rel=2e-3)


def test_a_perfect_intercept_and_a_stop():
    result = StreamedADMM().solve(streamed(Pinball(), np.full(Y.shape, 3.0)))
    assert result.converged
    assert not result.coef.any()
    np.testing.assert_allclose(result.intercept, 3.0)
    stopped = StreamedADMM(tol=1e-9).solve(streamed(Pinball()), interrupted=lambda: True)
    assert stopped.status == "stopped"
    assert np.isfinite(stopped.gap)
    assert StreamedADMM(tol=1e-9, max_iter=12).solve(streamed(Pinball())).status == "max_iter"
    seen = []
    StreamedADMM(tol=1e-9).solve(streamed(Pinball()), callback=lambda n, certificate: seen.append(n) or len(seen) == 2)
    assert len(seen) == 2


def test_refusals_name_what_to_use():
    with pytest.raises(UnsupportedError, match="StreamedADMM"):
        StreamedLBFGS().solve(streamed(Pinball()))
    with pytest.raises(UnsupportedError, match="DualProblem"):
        StreamedADMM().solve(in_memory(Pinball()))
    with pytest.raises(UnsupportedError, match="quadratic on a box"):
        StreamedNewton().solve(streamed(EpsilonInsensitive()))
    with pytest.raises(MercerError, match="memory"):
        StreamedADMM(memory=-1)


# -- normal equations ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [FACTOR, np.eye(M), RNG.normal(size=(M, 5))], ids=["thin", "identity", "wide"])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weighted"])
@pytest.mark.parametrize("intercept", [True, False])
def test_normal_equations_are_the_closed_form(factor, weight, intercept):
    gram = Kronecker(LowRank(KERNEL.features(X)), Dense(factor @ factor.T))
    problem = DualProblem(gram, Square(), Y, MU, ALPHA, weight, intercept)
    alphas = [1e-3, ALPHA, 1.0]
    rows = ArrayRows(X, Y, weight, batch_size=33)
    path = NormalEquations(KERNEL, MU, factor, intercept).read(rows).solve(alphas)
    reference = ClosedForm().solve(problem)
    fit = path.fit(ALPHA)
    expected = problem.predict(reference.coef) + reference.intercept
    np.testing.assert_allclose(KERNEL.features(X) @ fit.coef @ factor.T + fit.intercept, expected, atol=1e-10)
    assert fit.objective == pytest.approx(reference.objective, rel=1e-10)
    from_memory = RidgePath(problem, alphas)
    for name in ("objectives", "training_errors", "generalised_errors"):
        np.testing.assert_allclose(getattr(path, name), getattr(from_memory, name), rtol=1e-10, err_msg=name)
    np.testing.assert_allclose(path.leave_one_out_errors(rows), from_memory.leave_one_out_errors, rtol=1e-8)


def test_update_merge_downdate():
    whole = NormalEquations(KERNEL, MU, FACTOR).update((X, Y))
    parts = [NormalEquations(KERNEL, MU, FACTOR).update((X[k::3], Y[k::3])) for k in range(3)]
    a, b, c = parts
    empty = NormalEquations(KERNEL, MU, FACTOR)
    taken = NormalEquations(KERNEL, MU, FACTOR).update((X, Y)).update((X[:20], Y[:20])).downdate((X[:20], Y[:20]))
    for one in (a.merge(b).merge(c), a.merge(b.merge(c)), empty.merge(whole), taken):
        assert one.n_rows == N
        np.testing.assert_allclose(one.solve(ALPHA).fit(ALPHA).coef, whole.solve(ALPHA).fit(ALPHA).coef, atol=1e-12)
    assert a.n_rows == N // 3  # merging changes nothing


def test_what_a_broken_stream_taught_is_kept():
    def stream():
        yield X[:50], Y[:50]
        yield X[50:, :1], Y[50:]

    equations = NormalEquations(KERNEL, MU, FACTOR)
    with pytest.raises(DataError, match="batch 1: X has 1 columns"):
        equations.read(StreamRows(stream))
    assert equations.n_rows == 50
    expected = NormalEquations(KERNEL, MU, FACTOR).update((X[:50], Y[:50])).solve(ALPHA).fit(ALPHA)
    np.testing.assert_array_equal(equations.solve(ALPHA).fit(ALPHA).coef, expected.coef)


def test_an_offset_costs_the_intercept_no_digits():
    plain, far = (
        NormalEquations(KERNEL, MU, FACTOR).update((X, Y + shift)).solve(ALPHA).fit(ALPHA) for shift in (0, 1e6)
    )
    np.testing.assert_allclose(far.coef, plain.coef, atol=1e-8)


def test_normal_equations_refuse_what_they_cannot_do():
    equations = NormalEquations(KERNEL, MU, FACTOR)
    with pytest.raises(DataError, match="no rows"):
        equations.solve(ALPHA)
    with pytest.raises(DataError, match="no rows to take"):
        equations.downdate((X, Y))
    with pytest.raises(DataError, match="3 columns"):
        equations.update((X, Y[:, 0]))
    with pytest.raises(UnsupportedError, match="complete targets"):
        equations.update((X, holes()))
    assert equations.n_rows == 0
    with pytest.raises(DataError, match="same features"):
        equations.merge(NormalEquations(KERNEL, MU, FACTOR, fit_intercept=False))
    with pytest.raises(MercerError, match="alphas"):
        equations.update((X, Y)).solve([0.0])
