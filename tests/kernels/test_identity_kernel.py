"""The identity kernel: outputs that share nothing."""

import numpy as np
import pytest

from mercer.exceptions import UnsupportedError
from mercer.kernels import Gaussian, Identity, as_kernel
from mercer.testing import check_kernel

RNG = np.random.default_rng(0)
X = RNG.integers(0, 3, size=(8, 2)).astype(float)


def test_values_are_those_of_equality():
    Z = X[[3, 1, 4]]
    expected = np.array([[float(np.array_equal(x, z)) for z in Z] for x in X])
    np.testing.assert_array_equal(Identity()(X, Z), expected)
    assert expected.sum() > 3  # there are equal rows
    np.testing.assert_array_equal(Identity()(X), np.array([[float(np.array_equal(x, z)) for z in X] for x in X]))
    np.testing.assert_array_equal(Identity().diagonal(X), np.ones(8))


def test_contract():
    check_kernel(Identity(), X)
    check_kernel(2.0 * Identity() + Gaussian(1.0), X)


def test_it_is_the_limit_of_narrow_gaussians():
    np.testing.assert_allclose(Identity()(X), Gaussian(1e4)(X), atol=1e-12)


def test_many_points():
    points = np.arange(700.0)[:, None]
    np.testing.assert_array_equal(Identity()(points), np.eye(700))
    np.testing.assert_array_equal(Identity().gram(points) @ np.ones((700, 1)), np.ones((700, 1)))


def test_names_and_derivatives():
    assert as_kernel("identity", "test", "kernel") == Identity()
    with pytest.raises(UnsupportedError, match="no derivatives"):
        Identity().derivative(X[:, :1], X[:, :1], (1, 0))


def test_strict_arrays():
    xp = pytest.importorskip("array_api_strict")
    found = Identity()(xp.asarray(X), xp.asarray(X[:3]))
    assert type(found) is type(xp.asarray(X))
    np.testing.assert_array_equal(np.from_dlpack(found), Identity()(X, X[:3]))
