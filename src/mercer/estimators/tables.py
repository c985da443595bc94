"""Data frames at the door of an estimator: text, categories, dates and missing cells become numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from mercer.kernels import ColumnLayout
from mercer.preprocessing import TableEncoder
from mercer.preprocessing.cells import is_table, needs_encoding

__all__ = ["column_layout", "encode_inputs", "encode_training"]


def encode_training(estimator: Any, X: Any, sample_weight: Any) -> tuple[np.ndarray | None, TableEncoder | None]:
    """Return a data frame that needs it as numbers, and its encoder; None twice for what is numbers already.

    scikit-learn sets ``n_features_in_`` and ``feature_names_in_``, those of the data frame.
    """
    pairwise = estimator.__sklearn_tags__().input_tags.pairwise
    if pairwise or not is_table(X) or 0 in X.shape or not needs_encoding(X):
        return None, None
    validate_data(estimator, X, skip_check_array=True)
    encoder = TableEncoder().set_output(transform="default")  # whatever scikit-learn is configured for
    encoder.fit(X, sample_weight=sample_weight)
    return encoder.transform(X), encoder


def encode_inputs(estimator: Any, X: Any) -> np.ndarray | None:
    """Return inputs for prediction as numbers, as in training; None where these were numbers already."""
    encoder = getattr(estimator, "encoder_", None)
    if encoder is None:
        return None
    if is_table(X) or np.ndim(X) == 2:
        validate_data(estimator, X, reset=False, skip_check_array=True)
    return encoder.transform(X)


def column_layout(estimator: Any) -> ColumnLayout:
    """Return where the columns that an estimator was given lie in the array that it is fitted on."""
    names = getattr(estimator, "feature_names_in_", None)
    encoder = estimator.encoder_
    widths = (1,) * estimator.n_features_in_ if encoder is None else tuple(encoder.widths_)
    return ColumnLayout(None if names is None else tuple(map(str, names)), widths)
