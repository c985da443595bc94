"""Positive systems whose matrices have lost digits."""

import numpy as np
import pytest

from mercer.exceptions import DataError
from mercer.linalg import positive_solver


def test_definite_systems_are_solved():
    matrix = np.array([[2.0, 0.5], [0.5, 1.0]])
    for rhs in (np.array([1.0, -2.0]), np.array([[1.0, 0.0, 2.0], [-2.0, 1.0, 0.0]])):
        np.testing.assert_allclose(positive_solver(matrix, 1e-15)(rhs), np.linalg.solve(matrix, rhs))


def test_eigenvalues_that_rounding_made_negative_are_raised():
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    solve = positive_solver(turn @ np.diag([2.0, -1e-9]) @ turn.T, 1e-8)
    np.testing.assert_allclose(solve(turn[:, 0]), turn[:, 0] / 2, rtol=1e-6)
    several = np.outer(turn[:, 0], [4.0, 2.0])
    np.testing.assert_allclose(solve(several), several / 2, rtol=1e-6)


def test_infinite_systems_are_refused():
    with pytest.raises(DataError, match="not finite"):
        positive_solver(np.array([[np.inf]]), 1e-15)
