"""Conjugate gradients: the solution, the reported residual, preconditioning and giving up."""

import numpy as np
import pytest

from mercer.backend import to_numpy
from mercer.linalg import Dense, Kronecker, conjugate_gradient

strict = pytest.importorskip("array_api_strict")

RNG = np.random.default_rng(0)
BASIS = np.linalg.qr(RNG.normal(size=(40, 40)))[0]
SPECTRUM = np.logspace(0, 4, 40)
MATRIX = (BASIS * SPECTRUM) @ BASIS.T
RHS = RNG.normal(size=(40, 2))


@pytest.mark.parametrize("xp", [np, strict], ids=["numpy", "strict"])
def test_the_solution(xp):
    matrix, rhs = xp.asarray(MATRIX), xp.asarray(RHS)
    x, n_iter, residual = conjugate_gradient(lambda v: matrix @ v, rhs, tolerance=1e-12)
    assert isinstance(x, type(rhs))
    assert residual <= 1e-12
    assert 0 < n_iter < 1000
    np.testing.assert_allclose(to_numpy(x), np.linalg.solve(MATRIX, RHS), atol=1e-9)


def test_the_reported_residual_is_the_true_one():
    for tolerance in (1e-2, 1e-6):
        x, n_iter, residual = conjugate_gradient(lambda v: MATRIX @ v, RHS, tolerance=tolerance)
        truth = np.linalg.norm(RHS - MATRIX @ x) / np.linalg.norm(RHS)
        assert residual == pytest.approx(truth, rel=1e-3)
        assert residual <= tolerance
        shorter = conjugate_gradient(lambda v: MATRIX @ v, RHS, tolerance=tolerance, max_iter=n_iter - 1)
        assert shorter[2] > tolerance  # it stopped as soon as it could
        assert shorter[1] == n_iter - 1


def test_as_many_steps_as_distinct_eigenvalues():
    matrix = (BASIS * np.repeat([1.0, 5.0, 30.0, 100.0], 10)) @ BASIS.T
    assert conjugate_gradient(lambda v: matrix @ v, RHS[:, 0], tolerance=1e-10)[1] == 4


def test_preconditioning():
    plain = conjugate_gradient(lambda v: MATRIX @ v, RHS, tolerance=1e-8)
    inverse = (BASIS / SPECTRUM) @ BASIS.T
    exact = conjugate_gradient(lambda v: MATRIX @ v, RHS, precondition=lambda r: inverse @ r, tolerance=1e-8)
    assert exact[1] == 1
    rough = (BASIS / (SPECTRUM * RNG.uniform(0.5, 2, 40))) @ BASIS.T
    better = conjugate_gradient(lambda v: MATRIX @ v, RHS, precondition=lambda r: rough @ r, tolerance=1e-8)
    assert better[1] < plain[1] / 2
    for x, _, residual in (plain, exact, better):
        assert residual <= 1e-8
        np.testing.assert_allclose(MATRIX @ x, RHS, atol=1e-7 * np.linalg.norm(RHS))


def test_a_start_is_used():
    solution = np.linalg.solve(MATRIX, RHS)
    x, n_iter, residual = conjugate_gradient(lambda v: MATRIX @ v, RHS, init=solution, tolerance=1e-8)
    assert n_iter == 0
    assert residual <= 1e-8
    np.testing.assert_array_equal(x, solution)
    kept = np.ones_like(RHS)
    conjugate_gradient(lambda v: MATRIX @ v, RHS, init=kept)
    np.testing.assert_array_equal(kept, 1.0)


def test_giving_up_is_told():
    x, n_iter, residual = conjugate_gradient(lambda v: MATRIX @ v, RHS, tolerance=1e-12, max_iter=3)
    assert n_iter == 3
    assert residual > 1e-12
    assert np.all(np.isfinite(x))


@pytest.mark.parametrize("diagonal", [[0.0, 0.0], [0.0, 1.0], [1.0, -1.0], [-1.0, -2.0]])
def test_maps_that_are_not_positive_definite_end_with_a_residual(diagonal):
    x, _, residual = conjugate_gradient(lambda v: np.array(diagonal) * v, np.array([1.0, 1.0]))
    assert np.all(np.isfinite(x))
    assert residual > 1e-3


def test_zero_right_hand_side():
    x, n_iter, residual = conjugate_gradient(lambda v: MATRIX @ v, 0 * RHS, init=RHS)
    assert (n_iter, residual) == (0, 0.0)
    np.testing.assert_array_equal(x, 0)


def test_whitened_kronecker_system():
    s, w = RNG.uniform(0.2, 2.0, 6), RNG.uniform(0.1, 1.0, 4)
    left, right = (lambda F: F @ F.T)(RNG.normal(size=(6, 6))), (lambda F: F @ F.T)(RNG.normal(size=(4, 4)))
    operator = Kronecker(Dense(left), Dense(right), s, w)
    rhs = RNG.normal(size=(6, 4))
    whitened = conjugate_gradient(
        lambda v: operator.whiten(operator @ operator.unwhiten(v)) + 0.5 * v, operator.whiten(rhs), tolerance=1e-13
    )[0]
    explicit = np.kron(left @ np.diag(s), right @ np.diag(w)) + 0.5 * np.eye(24)
    np.testing.assert_allclose(operator.unwhiten(whitened).ravel(), np.linalg.solve(explicit, rhs.ravel()), atol=1e-9)
