"""Tables at the door of an estimator: text, categories, dates, curves and missing cells become numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.exceptions import DataError, UnsupportedError
from mercer.kernels import ColumnLayout
from mercer.preprocessing import TableEncoder
from mercer.preprocessing.cells import is_table, needs_encoding
from mercer.preprocessing.curve_table import CurveTable, as_table, note_columns

__all__ = ["column_layout", "encode_inputs", "encode_training"]


def encode_training(estimator: Any, X: Any, sample_weight: Any) -> tuple[np.ndarray | None, TableEncoder | None]:
    """Return a table that needs it as numbers, and its encoder; None twice for what is numbers already.

    ``n_features_in_`` and ``feature_names_in_`` are set, those of the table. Curves become values on a grid where the
    estimator has a kernel for them, scores of principal components where its own default is for tables.
    """
    X = as_table(X)
    if estimator.__sklearn_tags__().input_tags.pairwise:
        if isinstance(X, CurveTable):
            raise UnsupportedError(
                f"{type(estimator).__name__}: with kernel='precomputed' X is a Gram matrix; got curves. Pass the "
                "values of the kernel, or another kernel."
            )
        return None, None
    if not is_table(X) or 0 in X.shape or not needs_encoding(X):
        return None, None
    note_columns(estimator, X, reset=True)
    encoder = TableEncoder(curves=estimator._curves_become).set_output(transform="default")  # whatever is configured
    encoder.fit(X, sample_weight=sample_weight)
    return encoder.transform(X), encoder


def encode_inputs(estimator: Any, X: Any) -> np.ndarray | None:
    """Return inputs for prediction as numbers, as in training; None where these were numbers already."""
    encoder, X = getattr(estimator, "encoder_", None), as_table(X)
    if encoder is None:
        if isinstance(X, CurveTable):
            raise DataError(
                f"{type(estimator).__name__} was fitted on a table of numbers; now X holds curves. Pass values in the "
                "same columns, or fit on curves."
            )
        return None
    if is_table(X):
        note_columns(estimator, X, reset=False)
    return encoder.transform(X)


def column_layout(estimator: Any) -> ColumnLayout:
    """Return where the columns that an estimator was given lie in the array that it is fitted on."""
    names = getattr(estimator, "feature_names_in_", None)
    encoder = estimator.encoder_
    widths = (1,) * estimator.n_features_in_ if encoder is None else tuple(encoder.widths_)
    return ColumnLayout(None if names is None else tuple(map(str, names)), widths)
