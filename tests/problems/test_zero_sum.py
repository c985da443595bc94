"""Proxes under a constraint on sums: against cvxpy's projections, and by their optimality conditions."""

import cvxpy as cp
import numpy as np
import pytest

from mercer.linalg import Dense, Kronecker
from mercer.losses import EpsilonInsensitive, Huber, Pinball
from mercer.measures import Measure
from mercer.problems import DualProblem
from mercer.problems.zero_sum import zero_sum

N, M = 9, 3
RNG = np.random.default_rng(0)
MEASURE = Measure(np.array([0.2, 0.5, 0.9]), np.array([0.3, 0.5, 0.4]))
S = RNG.uniform(0.5, 2.0, N)
Y, Z = RNG.normal(size=(2, N, M))


@pytest.mark.parametrize("mean", [0.0, np.array([0.1, -0.2, 0.05])], ids=["zero", "given"])
def test_projection_on_a_box_with_given_sums(mean):
    theta = MEASURE.locations

    def prox(array):
        return np.clip(array, theta - 1, theta)

    found, shift = zero_sum(prox, Z, S, MEASURE, pointwise=True, mean=mean)
    np.testing.assert_allclose(S @ found / S.sum(), mean + np.zeros(M), atol=1e-12)
    np.testing.assert_allclose(found, prox(Z - shift), atol=1e-14)
    A = cp.Variable((N, M))
    metric = np.outer(S, MEASURE.weights)
    constraints = [
        np.tile(theta - 1, (N, 1)) <= A,
        np.tile(theta, (N, 1)) >= A,
        S.sum() * (mean + np.zeros(M)) == S @ A,
    ]
    cp.Problem(cp.Minimize(cp.sum(cp.multiply(metric, cp.square(A - Z)))), constraints).solve(solver=cp.CLARABEL)
    np.testing.assert_allclose(found, A.value, atol=1e-5)


@pytest.mark.parametrize("loss", [Huber(0.5), EpsilonInsensitive(0.3), Huber(0.5, "pointwise"), Pinball()], ids=repr)
@pytest.mark.parametrize("t", [0.3, 5.0])
def test_the_prox_of_a_loss_on_arrays_of_zero_sum(loss, t):
    """prox_g on a subspace is prox_g(Z − ν) with ν such that the constraint holds: no feasible array is better."""

    def prox(array):
        return loss.conjugate_prox(Y, array, t, MEASURE)

    found, _ = zero_sum(prox, Z, S, MEASURE, pointwise=loss.pointwise)
    np.testing.assert_allclose(S @ found, 0, atol=1e-9)

    def value(A):
        return S @ (t * loss.conjugate(Y, A, MEASURE) + MEASURE.inner(A - Z, A - Z) / 2)

    assert np.isfinite(value(found))
    for _ in range(200):
        move = RNG.normal(size=(N, M))
        move -= S @ move / S.sum()
        for size in (1e-3, 1e-1):
            assert value(found + size * move) >= value(found) - 1e-9


@pytest.mark.parametrize("far", [0.0, 1e7])
def test_roots_of_norms_stop_where_rounding_does(far):
    """Far from zero the shift, and with it the mean, is known to fewer digits; looking for more would take for ever."""
    loss, calls = EpsilonInsensitive(0.3), 0

    def prox(array):
        nonlocal calls
        calls += 1
        return loss.conjugate_prox(Y, array - far, 0.3, MEASURE)

    found, shift = zero_sum(prox, Z, S, MEASURE, pointwise=False)
    assert calls <= 200  # thousands without the limit
    np.testing.assert_allclose(S @ found / S.sum(), 0, atol=1e-14 + 1e-15 * far)
    np.testing.assert_allclose(shift, -far + np.zeros(M), atol=1 + 1e-15 * far)


def test_a_prox_comes_with_its_intercept():
    """The multipliers over t are the intercept: −a is in the subdifferential of the loss at (a − z)/t + b."""
    loss, t = Huber(0.5), 0.7
    problem = DualProblem(Kronecker(Dense(np.eye(N)), Dense(np.eye(M))), loss, Y, MEASURE, 1.0, S, fit_intercept=True)
    A, b = problem.prox_and_intercept(Z, t, np.zeros(M))
    np.testing.assert_allclose(A, problem.conjugate_prox(Z, t), atol=1e-9)
    np.testing.assert_allclose(-A, loss.gradient(Y, (A - Z) / t + b, MEASURE), atol=1e-9)
