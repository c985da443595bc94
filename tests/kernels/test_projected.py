"""Kernels of linear functions of the columns."""

import numpy as np
import pytest

from mercer.exceptions import MercerError
from mercer.kernels import FeatureKernel, Gaussian, Projected

RNG = np.random.default_rng(0)
X, Z, M = RNG.normal(size=(5, 4)), RNG.normal(size=(3, 4)), RNG.normal(size=(4, 2))


def test_it_is_the_kernel_after_the_map():
    np.testing.assert_allclose(Projected(Gaussian(0.7), M)(X, Z), Gaussian(0.7)(X @ M, Z @ M))
    np.testing.assert_allclose(Projected(Gaussian("median"), M)(X), Gaussian("median")(X @ M))
    explicit = FeatureKernel(lambda points: points**2)
    np.testing.assert_allclose(Projected(explicit, M).features(X), (X @ M) ** 2)
    np.testing.assert_allclose(Projected(explicit, M)(X), (X @ M) ** 2 @ ((X @ M) ** 2).T)


def test_slopes_are_those_of_differences():
    kernel, step = Projected(Gaussian(0.7), M), 1e-5
    for a in range(4):
        ahead, behind = (kernel(X + d * np.eye(4)[a], Z) for d in (step, -step))
        np.testing.assert_allclose(kernel.gradient(X, Z)[:, :, a], (ahead - behind) / (2 * step), atol=1e-8)
        ahead, behind = (kernel.gradient(X, Z + d * np.eye(4)[a]) for d in (step, -step))
        found = kernel.cross_hessian(X, Z)[:, :, :, a]
        np.testing.assert_allclose(found, (ahead - behind) / (2 * step), atol=1e-8)


@pytest.mark.parametrize("matrix", [[1.0], [[np.nan]], [["a"]], np.zeros((4, 0))])
def test_matrices_are_checked(matrix):
    with pytest.raises(MercerError, match="matrix must be finite numbers of shape"):
        Projected(Gaussian(), matrix)


def test_other_errors():
    with pytest.raises(MercerError, match="matrix has 4 rows, but the points have 3 columns"):
        Projected(Gaussian(1.0), M)(X[:, :3])
    with pytest.raises(MercerError, match="kernel must be a kernel on vectors"):
        Projected("gaussian", M)
