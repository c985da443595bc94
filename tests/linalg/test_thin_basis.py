"""Eigenpairs of a thin factor from small matrices."""

import numpy as np
import pytest

from mercer.linalg import LowRank, eigh, memory
from mercer.linalg.thin_basis import thin_basis


def factor_of(spectrum, n=400, seed=0):
    rng = np.random.default_rng(seed)
    left, right = (np.linalg.qr(rng.normal(size=(size, len(spectrum))))[0] for size in (n, len(spectrum)))
    return (left * np.sqrt(spectrum)) @ right.T


@pytest.mark.parametrize("tolerance", [0.0, 1e-4])
@pytest.mark.parametrize("decay", [0.9, 0.7])
def test_it_is_the_eigendecomposition_whatever_the_blocks(decay, tolerance, monkeypatch):
    monkeypatch.setattr(memory, "BLOCK_BYTES", 8 * 40 * 33)  # 33 rows at a time
    spectrum = decay ** np.arange(40.0)
    factor = factor_of(spectrum)
    values, vectors, left_out = thin_basis(factor, tolerance)
    exact, basis = np.linalg.eigh(factor @ factor.T)
    k = len(values)
    assert k == 40 - np.count_nonzero(np.cumsum(spectrum[::-1]) <= tolerance)
    assert left_out == pytest.approx(spectrum[k:].sum(), abs=1e-14)
    np.testing.assert_allclose(values, exact[::-1][:k], atol=1e-13)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(k), atol=2e-11)
    across = np.abs(np.sum(vectors * basis[:, ::-1][:, :k], axis=0))
    np.testing.assert_allclose(across, 1.0, atol=1e-9)


def test_small_eigenvalues_that_count_are_left_to_a_qr_factorisation():
    spectrum = 10.0 ** -np.arange(14.0)
    factor = factor_of(spectrum)
    assert thin_basis(factor, 0.0) is None
    assert thin_basis(factor, 1e-5) is not None
    assert thin_basis(np.zeros((5, 2)), 0.0) is None
    assert thin_basis(np.zeros((5, 0)), 0.0) is None
    exact = eigh(LowRank(factor))
    np.testing.assert_allclose(exact.vectors.T @ exact.vectors, np.eye(14), atol=1e-13)


def test_single_precision_stays():
    values, vectors, _ = thin_basis(factor_of(0.9 ** np.arange(20.0)).astype(np.float32), 0.0)
    assert values.dtype == vectors.dtype == np.float32
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(20), atol=1e-4)
