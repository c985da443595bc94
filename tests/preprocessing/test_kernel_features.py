"""Features of kernels as transformers of scikit-learn."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer.exceptions import DataError, ParameterError, ParameterTypeError
from mercer.features import Explicit, Nystroem, RandomFourier
from mercer.kernels import Gaussian, Linear
from mercer.preprocessing import KernelFeatures

X = np.random.default_rng(0).normal(size=(50, 3))


def squares(x):
    return np.hstack([x, x**2])


@parametrize_with_checks(
    [
        KernelFeatures(approximation=RandomFourier(10), random_state=0),
        KernelFeatures(Gaussian() + Linear(), RandomFourier(10, "iid", random_state=1)),
        KernelFeatures("laplacian", Nystroem(2), random_state=0),
        KernelFeatures(approximation=Explicit(squares), random_state=0),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_it_makes_kernel_ridge_regression_linear():
    y = np.sin(X[:, 0]) + X[:, 1]
    linear = make_pipeline(KernelFeatures(Gaussian(0.3), Nystroem(50)), Ridge(0.1, fit_intercept=False)).fit(X, y)
    exact = KernelRidge(alpha=0.1, kernel="rbf", gamma=0.3).fit(X, y)
    np.testing.assert_allclose(linear.predict(X + 0.1), exact.predict(X + 0.1), atol=1e-8)


def test_names_seeds_and_defaults():
    made = KernelFeatures(random_state=0).fit(X)
    assert made.transform(X).shape == (50, 1000)
    assert list(made.get_feature_names_out()[:2]) == ["kernelfeatures0", "kernelfeatures1"]
    np.testing.assert_array_equal(KernelFeatures(random_state=0).fit_transform(X), made.transform(X))
    assert not np.array_equal(KernelFeatures().fit_transform(X), made.transform(X))
    seeded = KernelFeatures(approximation=RandomFourier(5, random_state=3), random_state=np.random.RandomState(0))
    assert seeded.fit(X).kernel_ == RandomFourier(5, random_state=3).bind(Gaussian("standardized"), X)


def test_bad_parameters_are_refused():
    with pytest.raises(
        (ParameterError, ParameterTypeError), match="KernelFeatures: approximation must be a FeatureMap"
    ):
        KernelFeatures(approximation="nystroem").fit(X)
    with pytest.raises(ParameterError, match="KernelFeatures: kernel must be"):
        KernelFeatures("gausian").fit(X)
    with pytest.raises(DataError, match="n_landmarks must be at most n_samples = 50; got 300"):
        KernelFeatures(approximation=Nystroem()).fit(X)
