"""Output matrices of greatest evidence, against the evidence itself."""

import numpy as np
import pytest

from mercer.solvers.output_covariance import covariance_of_entries, covariance_of_rows


@pytest.fixture
def process():
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(60, 1))
    K = np.exp(-20 * (x - x.T) ** 2)
    gamma = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 0.5]])
    F = np.linalg.cholesky(K + 1e-9 * np.eye(60)) @ rng.normal(size=(60, 3)) @ np.linalg.cholesky(gamma).T
    return K, F + 0.3 * rng.normal(size=F.shape), gamma


def log_evidence(K, columns, y, matrix, noise):
    A = K * matrix[np.ix_(columns, columns)] + noise * np.eye(len(y))
    return -0.5 * np.linalg.slogdet(A)[1] - 0.5 * y @ np.linalg.solve(A, y)


def entries(K, Y):
    rows, columns = np.nonzero(~np.isnan(Y))
    return K[np.ix_(rows, rows)], columns, Y[rows, columns]


def spectral(K, Y):
    sigma, U = np.linalg.eigh(K)
    return np.maximum(sigma, 0), U.T @ Y


@pytest.mark.parametrize("missing", [False, True])
def test_no_matrix_nearby_has_more_evidence(process, missing):
    K, Y, gamma = process
    if missing:
        Y[np.random.default_rng(1).random(Y.shape) < 0.4] = np.nan
    K, columns, y = entries(K, Y)
    found = covariance_of_entries(K, columns, y, 3, 0.1)
    best = log_evidence(K, columns, y, *found)
    assert best > log_evidence(K, columns, y, gamma, 0.09)
    rng = np.random.default_rng(2)
    for _ in range(20):
        step = 0.05 * rng.normal(size=(3, 3))
        other = (np.eye(3) + step) @ found.matrix @ (np.eye(3) + step).T
        assert log_evidence(K, columns, y, other, found.noise * np.exp(0.1 * rng.normal())) < best + 1e-3


def test_rows_and_entries_agree(process):
    K, Y, _ = process
    for rank in (None, 1):
        one, other = covariance_of_rows(*spectral(K, Y), 0.1, rank), covariance_of_entries(*entries(K, Y), 3, 0.1, rank)
        np.testing.assert_allclose(one.matrix, other.matrix, atol=1e-8)
        assert one.noise == pytest.approx(other.noise)
    assert np.linalg.matrix_rank(one.matrix, tol=1e-8) == 1
