"""Feature problems of kernels whose values are matrices: the problem of the same kernel in memory."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.exceptions import DataError, UnsupportedError
from mercer.features import Nystroem, RandomFourier
from mercer.kernels import Gaussian
from mercer.linalg import ComponentMoments
from mercer.losses import EpsilonInsensitive, Huber, Pinball, Square
from mercer.measures import Measure
from mercer.operator_valued import CurlFree, Helmholtz
from mercer.problems import DualProblem, FeatureProblem
from mercer.problems.block_work import Dual
from mercer.rows import ArrayRows
from mercer.solvers import (
    ADMM,
    ClosedForm,
    NormalEquations,
    SemismoothNewton,
    StreamedADMM,
    StreamedClosedForm,
    StreamedLBFGS,
    StreamedNewton,
    select_streamed,
)

N, ALPHA = 60, 1e-2
RNG = np.random.default_rng(0)
X, WEIGHT = RNG.uniform(-1, 1, size=(N, 2)), RNG.uniform(0.5, 2.0, N)
Y = np.stack([np.sin(3 * X[:, 0]), X[:, 0] * X[:, 1]], axis=1) + 0.2 * RNG.normal(size=(N, 2)) + 1.0
MU = Measure(np.array([0.2, 0.7]), np.array([1.0, 0.4]))  # levels of the pinball loss, indices of no other
KERNELS = [
    RandomFourier(9, random_state=0).bind(CurlFree(Gaussian(1.0)), X),
    RandomFourier(8, random_state=0).bind(Helmholtz(Gaussian(1.0), Gaussian(0.5)), X),
    Nystroem(6, random_state=0).bind(CurlFree(Gaussian(1.0)), X),
]
LOSSES = [Square(), Huber(0.3), Huber(0.3, "pointwise"), EpsilonInsensitive(0.1), EpsilonInsensitive(0.1, "pointwise")]


def problems(kernel, loss, intercept=True, weight=WEIGHT, targets=Y):
    whole = DualProblem(kernel.bind(MU).gram(X), loss, targets, MU, ALPHA, weight, intercept)
    return whole, FeatureProblem((kernel, ArrayRows(X, targets, weight, 17)), loss, MU, ALPHA, None, intercept)


def blocks_of(array):
    return [Dual(array[start : start + 17]) for start in range(0, N, 17)]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("intercept", [True, False])
def test_the_certificate_is_that_of_the_dual_problem(kernel, loss, intercept):
    whole, parts = problems(kernel, loss, intercept)
    start = 0.2 * np.random.default_rng(2).normal(size=Y.shape)
    A, states = whole.feasible(start), parts.feasible(blocks_of(start))
    np.testing.assert_allclose(np.vstack([state.A for state in states]), A, atol=1e-9)
    view = parts.view(states, accuracy=0.0)
    ours, theirs = view.certificate, whole.certificate(A)
    rough = intercept and isinstance(loss, EpsilonInsensitive) and not loss.pointwise
    for name in ("primal", "dual"):
        accuracy = 1e-5 if rough and name == "primal" else 1e-9
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), rel=accuracy), name
    assert ours.rounding == pytest.approx(theirs.rounding, rel=0.5)
    np.testing.assert_allclose(parts.predict(kernel.features(X), view.coef, 0.0), whole.predict(A), atol=1e-9)
    np.testing.assert_allclose(parts.primal_coef(states), view.coef, atol=1e-10)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("intercept", [True, False])
def test_solvers_agree_with_those_in_memory(kernel, intercept):
    cases = [
        (Square(), StreamedClosedForm(1e-8), ClosedForm()),
        (Huber(0.3), StreamedLBFGS(1e-6), ADMM(1e-8)),
        (EpsilonInsensitive(0.1), StreamedADMM(1e-5), ADMM(1e-7)),
        (Pinball(), StreamedNewton(1e-6), SemismoothNewton(1e-7)),
    ]
    for loss, solver, reference in cases:
        whole, parts = problems(kernel, loss, intercept)
        result, exact = solver.solve(parts), reference.solve(whole)
        assert result.converged, (loss, result.message)
        assert abs(result.objective - exact.objective) <= result.gap + exact.gap + 1e-12
        assert parts.value(result.coef, result.intercept) == pytest.approx(result.objective, rel=1e-9)
        assert type(select_streamed("auto", parts, solver.tol)) is type(solver)


def test_missing_components():
    holes = np.where(np.arange(2 * N).reshape(N, 2) % 7 == 0, np.nan, Y)
    whole, parts = problems(KERNELS[0], Huber(0.3), targets=holes)
    result, exact = StreamedLBFGS(1e-6).solve(parts), ADMM(1e-8).solve(whole)
    assert abs(result.objective - exact.objective) <= result.gap + exact.gap


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("intercept", [True, False])
def test_normal_equations_are_the_ridge_fit_of_all_rows(kernel, intercept):
    exact = ClosedForm().solve(problems(kernel, Square(), intercept)[0])
    first, second = (NormalEquations(kernel, MU, None, intercept) for _ in range(2))
    for start in range(0, 40, 20):
        first.update((X[start : start + 20], Y[start : start + 20], WEIGHT[start : start + 20]))
    second.update((X[40:], Y[40:], WEIGHT[40:]))
    both = first.merge(second)
    both.update((X[:7], Y[:7])).downdate((X[:7], Y[:7]))
    fit = both.solve([ALPHA]).fit(ALPHA)
    assert fit.objective == pytest.approx(exact.objective, rel=1e-9)
    assert fit.coef.shape == (kernel.features(X[:1]).shape[2], 1)
    moments = both.moments
    again = NormalEquations(kernel, MU, None, intercept)
    again.resume(moments.n_rows, moments.total, moments.mean, moments.scatter)
    np.testing.assert_array_equal(again.solve([ALPHA]).fit(ALPHA).coef, fit.coef)


def test_generalised_errors_of_all_lambdas():
    kernel, alphas = KERNELS[0], np.array([1e-3, 1e-2, 1e-1])
    path = NormalEquations(kernel, MU, None, False).update((X, Y)).solve(alphas)
    root = np.sqrt(MU.weights)
    features = (kernel.features(X) * root[:, None]).reshape(2 * N, -1)
    targets = (Y * root).ravel()
    for alpha, error in zip(alphas, path.generalised_errors, strict=True):
        hat = features @ np.linalg.solve(features.T @ features + alpha * N * np.eye(features.shape[1]), features.T)
        mean = np.sum((targets - hat @ targets) ** 2) / N
        assert error == pytest.approx(0.5 * mean / (1 - np.trace(hat) / (2 * N)) ** 2, rel=1e-8)
    with pytest.raises(UnsupportedError, match="generalised_errors"):
        path.leave_one_out_errors(ArrayRows(X, Y))


def test_moments_of_components_are_those_about_their_means():
    features, weight = KERNELS[1].features(X), np.array([1.0, 0.3])
    moments = ComponentMoments(features.shape[2], weight)
    for start in range(0, N, 13):
        rows = slice(start, start + 13)
        moments.update(features[rows] + 100.0, Y[rows] - 50.0, WEIGHT[rows])
    expected = np.zeros_like(moments.scatter)
    for a in range(2):
        rows = np.column_stack([features[:, a] + 100.0, Y[:, a] - 50.0])
        rows = rows - np.average(rows, axis=0, weights=WEIGHT)
        expected += weight[a] * rows.T @ (WEIGHT[:, None] * rows)
    np.testing.assert_allclose(moments.scatter, expected, atol=1e-9)
    with pytest.raises(DataError, match="components; got"):
        moments.update(features[:, :1], Y)


def test_what_does_not_fit_is_refused():
    rows = ArrayRows(X, Y)
    with pytest.raises(DataError, match="no factor beside it"):
        FeatureProblem((KERNELS[0], rows), Huber(), MU, ALPHA, np.eye(2))
    with pytest.raises(DataError, match="2 components need as many nodes; the measure has 3"):
        FeatureProblem((KERNELS[0], ArrayRows(X, np.ones((N, 3)))), Huber(), Measure(np.arange(3.0), np.ones(3)), ALPHA)
    with pytest.raises(UnsupportedError, match="explicit features"):
        FeatureProblem((CurlFree(Gaussian(1.0)), rows), Huber(), MU, ALPHA)
