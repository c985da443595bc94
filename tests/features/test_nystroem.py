"""Nyström features: exact with all rows, better with chosen ones, refused with too many."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from mercer.exceptions import DataError, ParameterError, ParameterTypeError, UnsupportedError
from mercer.features import Explicit, Nystroem, NystroemKernel
from mercer.kernels import (
    Categorical,
    Constant,
    FeatureKernel,
    FunctionKernel,
    Gaussian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
)
from mercer.testing import check_kernel

RNG = np.random.default_rng(0)
X = RNG.uniform(0.1, 1.6, size=(30, 3))
SELECTIONS = ["uniform", "leverage", "kmeans", "pivots"]


def minimum(x, z):
    return np.minimum(x[:, :1], z[:, :1].T)


@pytest.mark.parametrize(
    "kernel",
    [Gaussian("median"), Matern(0.5), Polynomial(2), FunctionKernel(minimum), Gaussian() * Linear() + 1.0],
    ids=repr,
)
@pytest.mark.parametrize("selection", SELECTIONS)
def test_what_it_makes_is_a_kernel(kernel, selection):
    made = Nystroem(8, selection, random_state=0).bind(kernel, X)
    check_kernel(made, X)
    assert isinstance(made, NystroemKernel)
    assert len(made.landmarks) == 8
    assert made.differentiable == kernel.differentiable
    # an orthogonal projection in the space of k: what is left out is a kernel, too, and 0 at the landmarks
    left = kernel.adapt(X)(X) - made(X)
    assert np.linalg.eigvalsh(left)[0] > -1e-8
    np.testing.assert_allclose(made(made.landmarks), kernel.adapt(X)(made.landmarks), atol=1e-8)
    assert Nystroem(8, selection, random_state=0).bind(kernel, X) == made
    assert clone(made) == made
    if kernel != FunctionKernel(minimum):
        assert pickle.loads(pickle.dumps(made)) == made
    assert repr(made).endswith("8 landmarks)")


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("kernel", [Gaussian(2.0), Matern(0.5, 1.0), Polynomial(2)], ids=repr)
def test_with_all_rows_it_is_the_kernel(kernel, selection):
    made = Nystroem(30, selection).bind(kernel, X)
    np.testing.assert_allclose(made(X), kernel(X), atol=1e-10 * np.max(kernel(X)))


def test_null_directions_are_dropped():
    made = Nystroem(30).bind(Polynomial(2), X)  # 10 monomials
    assert made.n_features == 10
    new = RNG.normal(size=(5, 3))
    np.testing.assert_allclose(made(new), Polynomial(2)(new), rtol=1e-6)
    assert Nystroem(20).bind(Gaussian(1.0), np.tile(X[:4], (6, 1))).n_features == 4  # distinct rows


def test_categories_have_landmarks_too():
    codes = RNG.integers(0, 4, size=(30, 1)).astype(float)
    kernel = Categorical()
    made = Nystroem(30).bind(kernel, codes)
    np.testing.assert_allclose(made(codes), kernel(codes), atol=1e-12)


def test_chosen_landmarks_have_smaller_errors():
    # a crowd and a few rows far from it
    rng = np.random.default_rng(0)
    points = np.concatenate([0.1 * rng.normal(size=(400, 2)), rng.normal(scale=3.0, size=(40, 2))])
    kernel = Gaussian(1.0)

    def errors(selection):
        made = [Nystroem(30, selection, random_state=seed).bind(kernel, points) for seed in range(5)]
        left = [kernel.diagonal(points) - one.diagonal(points) for one in made]
        return np.mean(left), np.max(left)

    uniform, leverage, kmeans, pivots = map(errors, SELECTIONS)
    assert max(leverage[0], kmeans[0]) < 0.6 * uniform[0]
    assert pivots[1] < 0.4 * uniform[1]


def test_columns_that_a_kernel_ignores_move_no_centre():
    made = Nystroem(5, "kmeans", random_state=0).bind(Gaussian([1.0, 0.0, 1.0]), X)
    np.testing.assert_allclose(made.landmarks[:, 1], np.mean(X[:, 1]))


def test_kernels_with_known_features_stay():
    assert Nystroem(5).bind(Constant(2.0), X) == Constant(2.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_landmarks": 0}, "n_landmarks must be an integer >= 1; got 0"),
        ({"selection": "random"}, "selection must be 'uniform' or 'leverage'"),
        ({"random_state": 1.5}, "random_state must be None"),
    ],
)
def test_bad_parameters_are_refused(arguments, message):
    with pytest.raises((ParameterError, ParameterTypeError), match=message):
        Nystroem(**arguments)


def test_bad_input_is_refused():
    with pytest.raises(DataError, match=r"at most n_samples = 30; got 31.*n_landmarks=30"):
        Nystroem(31).bind(Gaussian(), X)
    with pytest.raises(UnsupportedError, match="given by its values"):
        Nystroem(5).bind(Precomputed(), X @ X.T)
    with pytest.raises(DataError, match="is 0 at all landmarks"):
        Nystroem(5).bind(Linear(), 0 * X)


def squares(x):
    return np.hstack([x, x**2])


def test_features_of_ones_own():
    assert Explicit(squares).bind(Gaussian(), X) == FeatureKernel(squares)
    with pytest.raises(ParameterError, match=r"(?s)Explicit: function .*kernel=Linear\(\)"):
        Explicit(X)
    with pytest.raises((ParameterError, ParameterTypeError), match="function must be a function of points"):
        Explicit("sin")
    with pytest.raises(DataError, match="row of features for each row"):
        Explicit(np.sum).bind(Gaussian(), X)
