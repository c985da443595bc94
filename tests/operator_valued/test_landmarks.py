"""Landmarks: the same predictions from few rows, or none where they would change."""

import numpy as np
import pytest

from mercer.kernels import Gaussian, Laplacian, Precomputed
from mercer.operator_valued import landmarks
from mercer.operator_valued.expansion import Expansion, expand_rows
from mercer.operator_valued.landmarks import compress
from mercer.operator_valued.representers import NodeRepresenters

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def few_rows_are_many(monkeypatch):
    monkeypatch.setattr(landmarks, "ALL_KEPT", 2000)


REPRESENTERS = NodeRepresenters(Gaussian(5.0), np.linspace(0, 1, 3)[:, None])


@pytest.mark.parametrize("columns", [1, 2])
def test_predictions_are_those_of_all_rows(columns):
    X, c, Z = RNG.normal(size=(4000, columns)), RNG.normal(size=(4000, 3)), RNG.normal(size=(300, columns))
    kernel = Gaussian(0.5)
    few = compress(kernel, X, c)
    assert few is not None
    assert len(few.rows) < 400
    inside = Z[np.all(np.abs(Z) < 2, axis=1)]
    exact = kernel(inside, X) @ c
    np.testing.assert_allclose(kernel(inside, few.rows) @ few.coef, exact, atol=1e-9 * np.max(np.abs(exact)))
    far = kernel(10 * Z, X) @ c
    np.testing.assert_allclose(kernel(10 * Z, few.rows) @ few.coef, far, atol=1e-6 * np.max(np.abs(exact)))


def test_rows_that_are_few_or_far_from_dependent_are_kept():
    X, c = RNG.normal(size=(3000, 2)), RNG.normal(size=(3000, 1))
    assert compress(Gaussian(0.5), X[:1999], c[:1999]) is None
    assert compress(Laplacian(1.0), X, c) is None
    assert compress(Gaussian(1e4), X, c) is None
    assert compress(Precomputed(), np.eye(3000), c) is None


def test_coefficients_that_cancel_too_much_are_kept():
    X = np.linspace(-1, 1, 3000)[:, None]
    c = np.cos(np.pi * X / 2) ** 8
    c[::2] *= -1  # sums of neighbours vanish
    assert compress(Gaussian(1.0), X, c) is None


def test_outliers_among_the_rows_become_landmarks():
    X, c = RNG.normal(size=(5000, 1)), RNG.normal(size=(5000, 1))
    X[::50] += 100.0
    few = compress(Gaussian(0.5), X, c)
    assert few is not None
    exact = Gaussian(0.5)(X, X) @ c
    np.testing.assert_allclose(Gaussian(0.5)(X, few.rows) @ few.coef, exact, atol=1e-9 * np.max(np.abs(exact)))


def test_an_expansion_over_landmarks_is_made_again_from_its_state():
    X, c = RNG.normal(size=(3000, 1)), RNG.normal(size=(3000, 3))
    h = expand_rows(Gaussian(0.5), X, c, REPRESENTERS, 1, None)
    assert len(h.X) < 100
    again = Expansion.from_state(h.state())
    np.testing.assert_array_equal(again.evaluate(X[:5], [0.3]), h.evaluate(X[:5], [0.3]))
