"""A kernel of indices."""

import numpy as np

from mercer.kernels import Tabulated

TABLE = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 1.0]])


def test_values_and_contract():
    points = np.array([[2.0], [0.0], [1.0], [1.0]])
    np.testing.assert_array_equal(Tabulated(TABLE)(points), TABLE[np.ix_([2, 0, 1, 1], [2, 0, 1, 1])])
    np.testing.assert_array_equal(Tabulated(TABLE).diagonal(points), [1.0, 2.0, 3.0, 3.0])
    np.testing.assert_array_equal(Tabulated(TABLE)(points, points[:1]), TABLE[[2, 0, 1, 1], 2][:, None])
    np.testing.assert_allclose(
        (2.0 * Tabulated(TABLE)).gram(points) @ np.ones((4, 1)), 2 * Tabulated(TABLE)(points) @ np.ones((4, 1))
    )
    assert Tabulated(TABLE) == Tabulated(TABLE.copy())
