"""Kernels under norms with a further price."""

import numpy as np
import pytest
import scipy.sparse

from mercer.exceptions import MercerError, UnsupportedError
from mercer.kernels import Gaussian, Laplacian, Matern, Penalised, Precomputed, penalised_kernel
from mercer.linalg import memory_limit
from mercer.testing import check_kernel

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(20, 3)), RNG.normal(size=(6, 3))
A = RNG.normal(size=(20, 20))
M = A @ A.T / 20


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Gaussian(0.001), Laplacian(1.0), Matern(1.5, 2.0)])
@pytest.mark.parametrize("strength", [0.0, 0.3, 1e4])
def test_the_formula_of_one_view(kernel, strength):
    """k̃ = k − k(·, X)(I + cMK)⁻¹cM k(X, ·)."""
    K, k = kernel(X), kernel(NEW, X)
    expected = kernel(NEW) - k @ np.linalg.solve(np.eye(20) + strength * M @ K, strength * M @ k.T)
    ours = penalised_kernel([kernel], [1.0], X, M, strength)
    np.testing.assert_allclose(ours(NEW), expected, atol=1e-6)
    np.testing.assert_allclose(ours.diagonal(NEW), np.diag(ours(NEW)), atol=1e-12)
    check_kernel(ours)


def test_the_formula_of_two_views():
    """Σ_a w_a h_a, with the norm of all views together: wᵀ(K⁻¹ + cM)⁻¹w in blocks."""
    views, w = [Gaussian(0.5).restrict([0, 1]), Laplacian(1.0).restrict(2)], np.array([0.7, -0.2])
    B = RNG.normal(size=(40, 40))
    coupling = scipy.sparse.csr_array(B @ B.T / 40)
    K = scipy.linalg.block_diag(*(view(X) for view in views))
    k = np.hstack([weight * view(NEW, X) for weight, view in zip(w, views, strict=True)])
    plain = sum(weight**2 * view(NEW) for weight, view in zip(w, views, strict=True))
    expected = plain - k @ np.linalg.solve(np.eye(40) + 3.0 * coupling @ K, 3.0 * coupling @ k.T)
    ours = penalised_kernel(views, w, X, coupling, 3.0)
    np.testing.assert_allclose(ours(NEW), expected, atol=1e-9)
    check_kernel(ours)


def test_what_is_refused():
    with pytest.raises(MercerError, match=r"matrix must have shape \(20, 20\)"):
        penalised_kernel([Gaussian(1.0)], [1.0], X, np.eye(3))
    ours = penalised_kernel([Gaussian(1.0)], [1.0], X, M)
    with pytest.raises(MercerError, match="strength"):
        ours.replace(strength=-1.0)
    with pytest.raises(MercerError, match="kernels on vectors"):
        Penalised([Precomputed()], [1.0], X, [20], np.eye(20), np.ones(20))
    with memory_limit(2**11), pytest.raises(UnsupportedError, match="fewer rows without targets"):
        penalised_kernel([Laplacian(100.0)], [1.0], X, M)
