"""What VectorValuedRegressor refuses, and what it says then."""

import numpy as np
import pytest

from mercer import LearnedMatrix, VectorValuedRegressor
from mercer.exceptions import DataError, MercerError, UnsupportedError
from mercer.kernels import Gaussian
from mercer.operator_valued import Indexed
from tests.estimators.turning_kernel import Turning

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(20, 2)), rng.normal(size=(20, 2))
HOLES = np.where(rng.random(Y.shape) < 0.2, np.nan, Y)
NEVER = np.where(np.arange(2) == 1, np.nan, Y)
EMPTY = np.where(np.arange(20)[:, None] == 4, np.nan, Y)


@pytest.mark.parametrize(
    ("params", "y", "message"),
    [
        ({"output_matrix": np.eye(3)}, Y, r"shape \(n_components, n_components\) = \(2, 2\)"),
        ({"output_matrix": -np.eye(2)}, Y, "positive semi-definite"),
        ({"output_matrix": [[1.0, 0.5], [0.2, 1.0]]}, Y, "symmetric"),
        ({"output_matrix": "learn"}, Y, "'learned'"),
        ({"output_matrix": LearnedMatrix(rank=3)}, Y, "rank 2 at most"),
        ({"kernel": Turning(), "output_matrix": np.eye(2)}, Y, "None where kernel is an OperatorValuedKernel"),
        ({"kernel": Turning()}, np.hstack([Y, Y]), "as many points as outputs"),
        ({"metric": np.eye(3)}, Y, r"of shape \(2, 2\) or \(2,\)"),
        ({"metric": [1.0, 0.0]}, Y, "positive definite"),
        ({"metric": [[1.0, 0.5], [0.2, 1.0]]}, Y, "symmetric"),
        ({"metric": "deviation"}, Y, "'variance'"),
        ({"metric": [[1.0, 0.5], [0.5, 1.0]]}, HOLES, "diagonal"),
        ({"metric": [[1.0, 0.5], [0.5, 1.0]], "loss": "huber", "geometry": "componentwise"}, Y, "diagonal"),
        ({}, NEVER, "output 1 of Y was never observed"),
        ({}, EMPTY, "row 4 of Y has no observation"),
        ({}, Y[:-1], "inconsistent numbers"),
        ({}, np.ones((20, 2, 2)), "FunctionalRegressor"),
        ({}, [(np.arange(3.0), np.ones(3))] * 20, "FunctionalRegressor"),
        ({"alpha": -1.0}, Y, "alpha"),
        ({"loss": "hubert"}, Y, "Did you mean 'huber'"),
        ({"loss": "huber", "geometry": "rowwise"}, Y, "'norm'"),
    ],
)
def test_refusals(params, y, message):
    with pytest.raises(MercerError, match=message):
        VectorValuedRegressor(**params).fit(X, y)


def test_what_a_fit_does_not_know():
    robust = VectorValuedRegressor(Gaussian(1.0), alpha=0.1, loss="huber").fit(X, Y)
    with pytest.raises(UnsupportedError, match="square loss"):
        robust.predict(X, return_std=True)
    model = VectorValuedRegressor(Gaussian(1.0), alpha=0.1).fit(X, Y)
    with pytest.raises(DataError, match="one of return_std and return_cov"):
        model.predict(X, return_std=True, return_cov=True)
    with pytest.raises(DataError, match="3 outputs"):
        model.score(X, np.ones((20, 3)))
    gram = VectorValuedRegressor("precomputed", alpha=0.1).fit(X @ X.T, Y)
    with pytest.raises(UnsupportedError, match="precomputed"):
        gram.predict(X @ X.T, return_std=True)


@pytest.mark.parametrize("matrix", [np.ones(3), [[1.0, 2.0], [2.0, 1.0]], [[1.0, 0.0], [0.5, 1.0]], "text"])
def test_tables_that_are_no_kernels(matrix):
    with pytest.raises(MercerError, match=r"output_matrix must (have shape|be symmetric|be positive|hold numbers)"):
        Indexed(matrix)


def test_points_that_are_no_indices():
    with pytest.raises(DataError, match=r"indices 0, \.\.\., 1"):
        Indexed(np.eye(2))(np.array([[0.5]]))
