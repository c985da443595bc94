"""Kernels of images of the inputs: maps, matrices, delays."""

import numpy as np
import pytest

from mercer.exceptions import DataError, MercerError
from mercer.kernels import Gaussian, Laplacian, Matern, Precomputed
from mercer.measures import Measure
from mercer.operator_valued import Delayed, Transformable
from mercer.testing import check_operator_valued_kernel

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(6, 2)), RNG.normal(size=(4, 2))
T, U = X[:, :1], Z[:, :1]
GAMMA = np.array([[1.0, 0.5, -0.2], [0.5, 1.0, 0.1], [-0.2, 0.1, 1.0]])
MAPS = (np.sin, lambda x: x**2, np.cos)
MATRICES = RNG.normal(size=(3, 4, 2))


def outputs(p):
    return Measure(np.arange(float(p)), np.ones(p))


KERNELS = [
    (Transformable(Gaussian(1.0), MAPS), X),
    (Transformable(Laplacian("median"), [np.sin, np.cos, np.tanh]), X),
    (Transformable(Matern(2.5), MATRICES), X),
    (Delayed(Gaussian(1.0), [0.0, 0.4, -1.0]), T),
    (Delayed(Laplacian("median"), np.array([[0.0, 0.1], [1.0, 0.0], [0.2, 0.3]]), GAMMA), X),
]


@pytest.mark.parametrize(
    ("kernel", "points"), KERNELS, ids=["maps", "functions", "matrices", "delays", "delays of columns"]
)
def test_the_contract_and_positive_eigenvalues(kernel, points):
    check_operator_valued_kernel(kernel, outputs(3), points)
    kernel = kernel.adapt(points)
    blocks = kernel.blocks(points, points)
    values = np.linalg.eigvalsh(blocks.transpose(0, 2, 1, 3).reshape(18, 18))
    assert values[0] >= -1e-12 * values[-1]
    np.testing.assert_allclose(kernel.blocks(points[:2], points), blocks[:2])
    np.testing.assert_allclose(blocks.transpose(1, 0, 3, 2), blocks, atol=1e-15)
    np.testing.assert_allclose(kernel.diagonal(points), np.einsum("iiab->iab", blocks), atol=1e-15)


def test_values_compare_images():
    kernel, k = Transformable(Gaussian(1.0), MAPS), Gaussian(1.0)
    linear = Transformable(Gaussian(0.3), MATRICES)
    for a in range(3):
        for b in range(3):
            np.testing.assert_allclose(kernel.blocks(X, Z)[:, :, a, b], k(MAPS[a](X), MAPS[b](Z)), rtol=1e-13)
            expected = Gaussian(0.3)(X @ MATRICES[a].T, Z @ MATRICES[b].T)
            np.testing.assert_allclose(linear.blocks(X, Z)[:, :, a, b], expected, rtol=1e-11)


def test_delays_are_not_symmetric():
    """K_12(δ) = k(δ + a), K_21(δ) = k(δ − a): the kernel is not even, and K(δ) is not symmetric."""
    a, k = 0.7, Matern(2.5, 1.0)
    blocks, zero = Delayed(k, [a, 0.0]).blocks(T, U), np.zeros((1, 1))
    for i in range(6):
        for j in range(4):
            delta = T[i : i + 1] - U[j : j + 1]
            assert blocks[i, j, 0, 1] == pytest.approx(k(delta + a, zero)[0, 0], rel=1e-12)
            assert blocks[i, j, 1, 0] == pytest.approx(k(delta - a, zero)[0, 0], rel=1e-12)
            np.testing.assert_allclose(np.diag(blocks[i, j]), k(delta, zero)[0, 0], rtol=1e-12)
    assert np.abs(blocks[..., 0, 1] - blocks[..., 1, 0]).max() > 0.1
    coupled = Delayed(k, [a, 0.0, 0.1], GAMMA).blocks(T, U)
    np.testing.assert_allclose(coupled, Delayed(k, [a, 0.0, 0.1]).blocks(T, U) * GAMMA)


def test_rules_see_all_images():
    images = np.concatenate([X @ M.T for M in MATRICES])
    assert Transformable(Gaussian(), MATRICES).adapt(X).kernel.gamma == pytest.approx(Gaussian().adapt(images).gamma)


def test_what_is_refused():
    with pytest.raises(MercerError, match="maps must be a sequence of functions"):
        Transformable(Gaussian(1.0), [np.sin, "cos"])
    with pytest.raises(MercerError, match="maps must be a sequence of functions"):
        Transformable(Gaussian(1.0), np.eye(3))
    with pytest.raises(MercerError, match="kernel must be a Kernel on vectors"):
        Delayed(Precomputed(), [0.0, 1.0])
    with pytest.raises(DataError, match="there are 3 maps, but 2 outputs"):
        Transformable(Gaussian(1.0), MAPS).bind(outputs(2)).gram(X)
    with pytest.raises(DataError, match="each map must return an array of shape"):
        Transformable(Gaussian(1.0), [np.sin, np.sum]).blocks(X, Z)
    with pytest.raises(DataError, match="maps take vectors of 2 columns; got 1"):
        Transformable(Gaussian(1.0), MATRICES).blocks(T, U)
    with pytest.raises(MercerError, match="delays must be numbers"):
        Delayed(Gaussian(1.0), [0.0, np.nan])
    with pytest.raises(MercerError, match="delays must be numbers"):
        Delayed(Gaussian(1.0), "long")
    with pytest.raises(DataError, match=r"Pass delays of shape \(2, 2\)"):
        Delayed(Gaussian(1.0), [0.0, 1.0]).blocks(X, Z)
    with pytest.raises(DataError, match="there are 2 delays, but 3 outputs"):
        Delayed(Gaussian(1.0), [0.0, 1.0]).bind(outputs(3)).gram(T)
    with pytest.raises(DataError, match=r"output_matrix must have shape .* \(2, 2\); got \(3, 3\)"):
        Delayed(Gaussian(1.0), [0.0, 1.0], GAMMA)
