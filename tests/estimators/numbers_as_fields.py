"""Fields for scikit-learn's checks, whose targets are numbers."""

from __future__ import annotations

import numpy as np

from mercer import VectorFieldRegressor

__all__ = ["MULTIOUTPUT", "NumbersAsFields"]

#: why a check of scikit-learn cannot hold
MULTIOUTPUT = {"check_regressor_multioutput": "it has five outputs for ten columns, which is no field"}


class NumbersAsFields(VectorFieldRegressor):
    """The checks of scikit-learn have one output and any number of columns: here it is the mean of all components."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X, self._fields(X, y), sample_weight)

    def partial_fit(self, X, y, sample_weight=None):
        return super().partial_fit(X, self._fields(X, y), sample_weight)

    @staticmethod
    def _fields(X, y):
        values = y if y is None else np.asarray(y)
        if values is not None and (values.ndim == 1 or values.shape[1] == 1):
            columns = (X if hasattr(X, "shape") else np.asarray(X)).shape[-1]
            y = np.tile(values.reshape(-1, 1), (1, columns))
        return y

    def predict(self, X):
        return super().predict(X).mean(axis=1)

    def score(self, X, y, sample_weight=None):
        return 1 - np.mean((self.predict(X) - np.ravel(y)) ** 2) / np.var(y)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = True
        tags.regressor_tags.poor_score = True  # a field with equal components is no gradient
        return tags
