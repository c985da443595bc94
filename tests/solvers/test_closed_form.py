"""The square loss: dense solves, paths, branches, masks, leave-one-out, and NumPy against other arrays."""

from __future__ import annotations

import array_api_strict as strict
import numpy as np
import pytest
from cvxpy_primal import LOSSES, Data, make

from mercer.linalg import Dense, Kronecker
from mercer.losses import Square
from mercer.measures import Measure
from mercer.problems import DualProblem
from mercer.solvers import ClosedForm, ProximalGradient, leave_one_out_errors

intercepts = pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
weights = pytest.mark.parametrize("weighted", [False, True], ids=["uniform", "weighted"])


def dense_ridge(data):
    """α, b and H from one dense system over the observed entries, straight from the stationarity conditions."""
    n, m = data.Y.shape
    s = np.ones(n) if data.sample_weight is None else data.sample_weight
    w = np.outer(s / s.sum(), data.weights).ravel()
    seen = ~np.isnan(data.Y.ravel())
    gram = np.kron(data.left, data.right)
    y, node = data.Y.ravel()[seen], np.tile(np.eye(m), (n, 1))[seen]
    system = gram[np.ix_(seen, seen)] * w[seen] / data.alpha + np.eye(seen.sum())
    if data.intercept:
        rows = np.hstack([system, node])
        system = np.vstack([rows, np.hstack([(node * w[seen, None]).T, np.zeros((m, m))])])
        y = np.concatenate([y, np.zeros(m)])
    solution = np.linalg.solve(system, y)
    alpha = np.zeros(n * m)
    alpha[seen] = solution[: seen.sum()]
    H = gram @ (w * alpha) / data.alpha
    return alpha.reshape(n, m), solution[seen.sum() :] if data.intercept else np.zeros(m), H.reshape(n, m)


@intercepts
@weights
@pytest.mark.parametrize("masked", [False, True])
def test_closed_form_equals_dense_solve(intercept, weighted, masked):
    """With a mask this is conjugate gradients, whose error is about the root of the gap."""
    data = make(intercept=intercept, weighted=weighted, masked=masked, n=8, m=4)
    alpha, b, H = dense_ridge(data)
    problem = data.problem(Square())
    result = ClosedForm(tol=1e-14 if masked else 1e-8).solve(problem)
    assert result.converged
    atol = 1e-7 if masked else 1e-9
    np.testing.assert_allclose(result.coef, alpha, atol=atol)
    np.testing.assert_allclose(result.intercept, b, atol=atol)
    np.testing.assert_allclose(problem.predict(result.coef), H, atol=atol)


@intercepts
@weights
def test_path_equals_separate_fits(intercept, weighted):
    problem = make(intercept=intercept, weighted=weighted).problem(Square())
    alphas = [1e-6, 1e-3, 0.1, 10.0]
    for alpha, result in zip(alphas, ClosedForm().path(problem, alphas), strict=True):
        alone = ClosedForm().solve(problem.with_alpha(alpha))
        assert result.converged
        np.testing.assert_allclose(result.coef, alone.coef, atol=1e-8)
        assert result.objective == pytest.approx(alone.objective, rel=1e-9)


@intercepts
@weights
@pytest.mark.parametrize("m", [1, 3])
def test_cholesky_branch_equals_eigen_branch(intercept, weighted, m):
    """An output Gram that is a multiple of the identity (here K_Θ = I/w) takes one factorisation."""
    data = make(intercept=intercept, weighted=weighted, m=m)
    data = Data(**{**data.__dict__, "right": np.diag(0.7 / data.weights)})
    problem = data.problem(Square())
    assert problem.gram.costs.factorisation < problem.gram.costs.decomposition
    one = ClosedForm().solve(problem)
    (other,) = ClosedForm().path(problem, [problem.alpha])  # always by eigendecompositions
    np.testing.assert_allclose(one.coef, other.coef, atol=1e-10)
    np.testing.assert_allclose(one.intercept, other.intercept, atol=1e-10)
    np.testing.assert_allclose(one.coef, dense_ridge(data)[0], atol=1e-10)


def test_general_output_gram_is_not_taken_for_a_multiple_of_the_identity():
    assert make().problem(Square()).gram.costs.factorisation == np.inf
    uneven = Data(**{**make().__dict__, "right": np.diag([1.0, 2.0, 3.0])})
    assert uneven.problem(Square()).gram.costs.factorisation == np.inf


def test_zero_output_kernel():
    data = Data(**{**make(m=1, intercept=True).__dict__, "right": np.zeros((1, 1))})
    result = ClosedForm().solve(data.problem(Square()))
    assert result.converged
    np.testing.assert_allclose(result.intercept, data.Y.mean(axis=0))


@intercepts
@weights
def test_leave_one_out_equals_refits(intercept, weighted):
    """Each row left out in turn, λn kept (λ‖h‖²/2 against the sum of the weighted losses)."""
    data = make(intercept=intercept, weighted=weighted, n=7)
    alphas = [1e-3, 0.05, 2.0]
    n = len(data.Y)
    s = np.ones(n) if data.sample_weight is None else data.sample_weight * n / data.sample_weight.sum()
    expected = np.zeros(3)
    for k, alpha in enumerate(alphas):
        for i in range(n):
            keep = np.arange(n) != i
            rest = Data(
                data.left[np.ix_(keep, keep)],
                data.right,
                data.Y[keep],
                data.points,
                data.weights,
                alpha * n / s[keep].sum(),
                s[keep],
                intercept,
            )
            A, b, _ = dense_ridge(rest)
            C = rest.problem(Square()).primal_coef(A)
            h = data.left[i, keep] @ C @ data.right + b
            expected[k] += s[i] / n * 0.5 * float(data.weights @ (data.Y[i] - h) ** 2)
    got = leave_one_out_errors(data.problem(Square()), alphas)
    np.testing.assert_allclose(got, expected, rtol=1e-8)


# -- other arrays --------------------------------------------------------------------------------------------------


def strictly(data, loss):
    as_array = strict.asarray
    return DualProblem(
        Kronecker(Dense(as_array(data.left)), Dense(as_array(data.right))),
        loss,
        as_array(data.Y),
        Measure(as_array(data.points), as_array(data.weights)),
        data.alpha,
        None if data.sample_weight is None else as_array(data.sample_weight),
        data.intercept,
    )


def same(one, other):
    assert type(other.coef).__module__.startswith("array_api_strict")
    assert other.status == one.status
    assert other.n_iter == one.n_iter
    np.testing.assert_allclose(np.from_dlpack(other.coef), one.coef, atol=1e-9)
    np.testing.assert_allclose(np.from_dlpack(other.intercept), one.intercept, atol=1e-7)
    assert other.objective == pytest.approx(one.objective, rel=1e-10)


@intercepts
@pytest.mark.parametrize("masked", [False, True])
def test_closed_form_on_strict_arrays(intercept, masked):
    data = make(intercept=intercept, weighted=True, masked=masked)
    same(ClosedForm().solve(data.problem(Square())), ClosedForm().solve(strictly(data, Square())))


@intercepts
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_proximal_gradient_on_strict_arrays(loss, intercept):
    data = make(loss, intercept=intercept, weighted=not intercept, masked=intercept)
    solver = ProximalGradient(1e-2)
    same(solver.solve(data.problem(loss)), solver.solve(strictly(data, loss)))
