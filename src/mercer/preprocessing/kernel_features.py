"""Kernels as transformers: columns whose inner products are kernel values, for linear models of any library."""

from __future__ import annotations

from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.exceptions import parameter_error
from mercer.features import FeatureMap, RandomFourier
from mercer.kernels import Gaussian, as_kernel

__all__ = ["KernelFeatures"]


class KernelFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Features φ(x) of a kernel, k(x, z) ≈ φ(x)·φ(z): what follows in a pipeline may be linear.

    With ridge regression behind it the model is that of kernel ridge regression with the approximated kernel. The
    estimators of mercer need no such pipeline: they take the approximated kernel itself. Prefer this for models of
    other libraries, and to look at features.

    Parameters
    ----------
    kernel : Kernel or str, optional
        k; Gaussian("standardized") by default, with one length for each column.
    approximation : FeatureMap, optional
        RandomFourier(), Nystroem(n_landmarks) or Explicit(function); RandomFourier() with 500 frequencies by default. A
        kernel with known features keeps these.
    random_state : None, int or RandomState, optional
        Seed of an approximation that has none of its own.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with known features.
    n_features_in_, feature_names_in_ : int and array
        Columns of X.

    See Also
    --------
    sklearn.kernel_approximation.RBFSampler : one cosine with a random phase for each frequency, of larger variance.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> from mercer.features import Nystroem
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(200, 1))
    >>> y = np.sin(6 * X[:, 0])
    >>> model = make_pipeline(KernelFeatures(approximation=Nystroem(20, random_state=0)), Ridge(1e-3)).fit(X, y)
    >>> model.score(X, y) > 0.99
    True
    """

    def __init__(self, kernel=None, approximation=None, *, random_state=None):
        self.kernel = kernel
        self.approximation = approximation
        self.random_state = random_state

    def fit(self, X, y=None):
        """Choose the features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : ignored
            For the API of scikit-learn.

        Returns
        -------
        KernelFeatures
            The transformer.
        """
        X = validate_data(self, X, dtype=["float64", "float32"])
        approximation = RandomFourier() if self.approximation is None else self.approximation
        if not isinstance(approximation, FeatureMap):
            allowed = "a FeatureMap: RandomFourier(), Nystroem(n_landmarks) or Explicit(function)"
            raise parameter_error(self, "approximation", approximation, allowed)
        kernel = Gaussian("standardized") if self.kernel is None else as_kernel(self.kernel, self)
        seed = None if self.random_state is None else int(check_random_state(self.random_state).randint(2**31))
        self.kernel_ = approximation.bind(kernel, X, seed)
        self._n_features_out = self.kernel_.features(X[:1]).shape[1]
        return self

    def transform(self, X):
        """Return φ(x_i) for the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples, n_features_out)
            Features, in single precision where X is.
        """
        check_is_fitted(self)
        return self.kernel_.features(validate_data(self, X, dtype=["float64", "float32"], reset=False))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.non_deterministic = self.random_state is None
        return tags
