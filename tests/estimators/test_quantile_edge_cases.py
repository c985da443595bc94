"""Cases of the estimator that once went wrong."""

import numpy as np
import pytest

import mercer.estimators.regularisation as regularisation
from mercer import KernelQuantileRegressor
from mercer.datasets import make_sine
from mercer.exceptions import DataError
from mercer.kernels import Gaussian, Precomputed
from mercer.model_selection import crossing, integrated_pinball


def test_many_rows_of_a_precomputed_kernel(monkeypatch):
    monkeypatch.setattr(regularisation, "MOST_ROWS", 25)
    X, y = make_sine(40, random_state=0)
    kernel = Gaussian(3.0)
    ours = KernelQuantileRegressor(kernel=kernel).fit(X, y)
    theirs = KernelQuantileRegressor(kernel="precomputed").fit(kernel(X), y)
    assert theirs.alpha_ == pytest.approx(ours.alpha_)


def test_expectiles_are_equivariant_to_the_unit_of_y():
    X, y = make_sine(60, random_state=0)
    one = KernelQuantileRegressor(loss="expectile", tol=1e-8).fit(X, y)
    thousand = KernelQuantileRegressor(loss="expectile", tol=1e-8).fit(X, 1000 * y)
    levels = [0.1, 0.5, 0.9]
    np.testing.assert_allclose(thousand.predict_quantile(X, levels) / 1000, one.predict_quantile(X, levels), atol=1e-3)


def test_asymmetric_gram_behind_a_scale_is_refused():
    X, y = make_sine(20, random_state=0)
    gram = Gaussian(3.0)(X) + np.eye(20)
    gram[0, 1] += 0.3
    with pytest.raises(DataError, match="not symmetric"):
        KernelQuantileRegressor(kernel=1.0 * Precomputed(), solver="proximal_gradient").fit(gram, y)


def test_scores_refuse_what_is_no_level_or_no_table():
    y, table = np.zeros(3), np.zeros((3, 1))
    with pytest.raises(ValueError, match=r"0\.9, not 90"):
        integrated_pinball(y, table, [90])
    with pytest.raises(DataError, match="one for each level"):
        integrated_pinball(y, table, [0.5], weights=[1.0, 2.0])
    with pytest.raises(DataError, match="one column for each level"):
        crossing(y)
