"""What scikit-learn asks of every regressor."""

import numpy as np
import pytest
from array_api_checks import run_array_api_checks
from sklearn.datasets import make_regression
from sklearn.preprocessing import StandardScaler, scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import KernelQuantileRegressor

UNAVOIDABLE = {
    "check_regressors_train": "the check itself sets alpha=0.01, which is a strong penalty for ten columns; "
    "test_regression_is_learned_without_the_alpha_of_the_check fits the same data with the default"
}


@parametrize_with_checks([KernelQuantileRegressor()], expected_failed_checks=lambda estimator: UNAVOIDABLE)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_regression_is_learned_without_the_alpha_of_the_check(dtype):
    X, y = make_regression(200, 10, n_informative=1, bias=5.0, noise=20, random_state=42)
    X, y = StandardScaler().fit_transform(X).astype(dtype), scale(y)
    model = KernelQuantileRegressor().fit(X, y)
    assert model.score(X, y) > 0.5
    assert model.predict(X).shape == y.shape
    assert model.relative_gap_ <= 1e-3


def test_scikit_learn_array_api_checks():
    run_array_api_checks("KernelQuantileRegressor(alpha=1.0, tol=1e-4, measure=Points([0.2, 0.5, 0.8]))")
