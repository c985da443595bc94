"""The skewed χ² kernel: its formula, its group, its spectral law, its domain."""

import numpy as np
import pytest

from mercer.exceptions import DataError, MercerError
from mercer.kernels import SkewedChiSquared, as_kernel
from mercer.testing import check_kernel

RNG = np.random.default_rng(0)
C = np.array([0.5, 2.0, 0.0])
X, Z = RNG.gamma(2.0, size=(8, 3)), RNG.gamma(2.0, size=(5, 3))
K = SkewedChiSquared(C)


def test_the_contract():
    check_kernel(K, X)
    check_kernel(SkewedChiSquared(0.0), X)
    check_kernel(SkewedChiSquared() + 2.0 * SkewedChiSquared(0.1).restrict([0, 2]), X)
    assert as_kernel("skewed_chi2") == SkewedChiSquared()


def test_the_formula():
    a, b = X[:, None, :] + C, Z[None, :, :] + C
    np.testing.assert_allclose(K(X, Z), np.prod(2 * np.sqrt(a * b) / (a + b), axis=2), rtol=1e-13)
    ratio = a / b  # δ + c with δ = x ⊙ z⁻¹
    np.testing.assert_allclose(K(X, Z), np.prod(2 / (np.sqrt(ratio) + 1 / np.sqrt(ratio)), axis=2), rtol=1e-13)
    far = np.array([[1e300, 1.0, 1.0]])
    assert 0 <= K(far, X).max() < 1e-140


def test_it_is_invariant_on_its_group():
    def product(x, z):
        return (x + C) * (z + C) - C

    shift = RNG.gamma(2.0, size=3)
    np.testing.assert_allclose(K(product(X, shift), product(Z, shift)), K(X, Z), rtol=1e-12)
    inverse = 1 / (X + C) - C
    np.testing.assert_allclose(product(X, inverse), np.broadcast_to(1 - C, X.shape), rtol=1e-12)
    np.testing.assert_allclose(K.coordinates(product(X, Z[:1])), K.coordinates(X) + K.coordinates(Z[:1]), atol=1e-12)


def test_it_is_the_mean_of_cosines_of_hyperbolic_secant_frequencies():
    """Bochner: ω = log tan(πu/2)/π has the density sech(πω) and variance ¼."""
    omega = np.log(np.tan(np.pi * RNG.uniform(size=(200_000, 3)) / 2)) / np.pi
    np.testing.assert_allclose(omega.var(axis=0), 0.25, rtol=0.02)
    delta = K.coordinates(X[:1]) - K.coordinates(Z)
    np.testing.assert_allclose(np.cos(delta @ omega.T).mean(axis=1), K(X[:1], Z)[0], atol=0.01)


def test_what_is_refused():
    with pytest.raises(DataError, match=r"X must be > −skew in each column.*Pass a larger skew"):
        SkewedChiSquared(0.5)(np.array([[0.1, -0.5]]))
    with pytest.raises(DataError, match="Z must be > −skew"):
        K(X, -Z)
    with pytest.raises(DataError, match="X must be > −skew"):
        K.diagonal(-X)
    with pytest.raises(DataError, match="skew has 3 values, one per column"):
        K(X[:, :2])
    for skew in (-1.0, "much", [1.0, -1.0], np.inf):
        with pytest.raises(MercerError, match="skew must be"):
            SkewedChiSquared(skew)
