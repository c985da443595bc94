"""A transformer of tables to numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import (
    _check_feature_names_in,
    _check_sample_weight,
    _num_samples,
    check_is_fitted,
    validate_data,
)

from mercer._params import check_number
from mercer.exceptions import DataError, parameter_error
from mercer.preprocessing.cells import is_table, take_column
from mercer.preprocessing.columns import learn_column
from mercer.preprocessing.curve_column import CurveColumn
from mercer.preprocessing.curve_pairs import on_grid
from mercer.preprocessing.curve_table import CurveTable, as_table, note_columns

__all__ = ["TableEncoder"]


class TableEncoder(TransformerMixin, BaseEstimator):
    """Tables of numbers, booleans, text, categories, dates and missing cells as arrays of numbers.

    What each column becomes is decided by its training rows:

    ==================  ==============================================================================================
    a column of         becomes
    ==================  ==============================================================================================
    numbers, booleans   itself, 0 and 1 for booleans
    text, categories    an indicator for each category seen, in sorted order; of more than ``max_categories`` the most
                        frequent ones have one each, and all others share one
    dates               days since the first of the training rows
    durations           days
    curves              scores of their leading principal components, a tenth as many as curves, but from 3 to 15, or
                        their values on one grid (see ``curves``)
    ==================  ==============================================================================================

    A missing cell is a category of its own among categories. Among numbers, dates and durations it is the mean of
    the training cells, and, if cells were missing in training, a further column says where. A category
    that was never seen has no indicator: all are 0. A column without any value in the training rows is left out.

    Curves are tuples (points, values), or a column of scikit-fda's; see :class:`CurveTable` for tables of curves
    without a data frame. Each may have points of its own, and holes: the curve on the grid is its conditional
    expectation, given what was observed, in a population that is learned from the training curves.

    The estimators of mercer do this by themselves with data frames that need it (their ``encoder_``). As the first
    step of a Pipeline it takes arrays with missing cells, too, or another ``max_categories``.

    Parameters
    ----------
    max_categories : int, default=30
        How many categories of a column have an indicator of their own.
    curves : {"scores", "values"}, default="scores"
        What curves become. Values are for kernels on functions.

    Attributes
    ----------
    columns_ : list
        What was learned of each column of the table.
    widths_ : list of int
        How many encoded columns each of them has, one after the other.
    n_features_in_, feature_names_in_ : int, array of str
        The columns of the table; their names if it was a data frame that has some.

    Notes
    -----
    Columns are told by their types: numbers that are codes should have the type "category" (``frame.astype({"zip":
    "category"})``). Times without a zone are taken for UTC. Rows of weight 0 are not learned from.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [30.0, None, 50.0], "town": ["Oslo", "Rome", "Oslo"], "new": [True, False, True]})
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.get_feature_names_out()
    array(['age', 'age=(missing)', 'town=Oslo', 'town=Rome', 'new'], dtype=object)
    >>> encoder.transform(table)
    array([[30.,  0.,  1.,  0.,  1.],
           [40.,  1.,  0.,  1.,  0.],
           [50.,  0.,  1.,  0.,  1.]])
    >>> encoder.transform(table.assign(town="Paris"))[0]
    array([30.,  0.,  0.,  0.,  1.])
    """

    def __init__(self, max_categories=30, curves="scores"):
        self.max_categories = max_categories
        self.curves = curves

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags

    def fit(self, X, y=None, sample_weight=None):
        """Learn what the columns hold.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            The table.
        y : Ignored
            Present for the conventions of scikit-learn.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights; a row of weight 2 counts as the row twice in means and frequencies.

        Returns
        -------
        self : TableEncoder
        """
        check_number(self, "max_categories", self.max_categories, low=1, strict=False, integer=True)
        if self.curves not in ("scores", "values"):
            raise parameter_error(self, "curves", self.curves, "'scores' or 'values'")
        X = self._read(X, reset=True)
        weight = _check_sample_weight(sample_weight, np.empty((_num_samples(X), 1)), dtype=np.float64)
        rows = np.flatnonzero(weight > 0)
        columns = []
        for place, name in enumerate(self._names()):
            column = take_column(X, place)
            column = column if len(rows) == len(weight) else _take_rows(column, rows)
            columns.append(learn_column(column, name, weight[rows], int(self.max_categories), self.curves))
        widths = [len(column.labels("")) for column in columns]
        if sum(widths) == 0:
            raise DataError("No column of X has a value in a row of positive weight: there is nothing to learn from.")
        self.columns_, self.widths_ = columns, widths
        return self

    def transform(self, X):
        """Return the table as numbers, shape (n_samples, n_features_out).

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = self._read(X, reset=False)
        parts = []
        for place, (name, column) in enumerate(zip(self._names(), self.columns_, strict=True)):
            parts.append(column.encode(take_column(X, place), name))
            if np.isinf(parts[-1]).any():
                raise DataError(f"Column {name!r} contains infinity. Leave out such rows, or make the cells missing.")
        return np.concatenate(parts, axis=1)

    def get_feature_names_out(self, input_features=None):
        """Return the names of the encoded columns: that of the column, with "=" and a category where it has some.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns of the table; ``feature_names_in_`` by default, and x0, x1, ... without them.
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        labels = [column.labels(str(name)) for name, column in zip(names, self.columns_, strict=True)]
        return np.array([label for each in labels for label in each], dtype=object)

    def _read(self, X: Any, reset: bool) -> Any:
        """Return the table, a data frame or an array, with as many columns, and names, as there have to be."""
        X = as_table(X)
        if not reset and (grid := self._grid_of_rows(X)) is not None:
            X = CurveTable([on_grid(grid, np.asarray(X, dtype=float))])
        if is_table(X):
            note_columns(self, X, reset)
            if 0 in X.shape:
                raise DataError(
                    f"Found a table with {X.shape[0]} sample(s) and {X.shape[1]} feature(s), while a minimum of 1 is "
                    "required."
                )
            return X
        if isinstance(X, (list, tuple)):  # rows of text and numbers must not become rows of text
            X = np.asarray(X, dtype=object)
        return validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=False)

    def _grid_of_rows(self, X: Any) -> np.ndarray | None:
        """Return the grid of the fit where X are values there: an array with a column for each point; else None."""
        only = self.columns_[0] if len(self.columns_) == 1 else None
        if not isinstance(only, CurveColumn) or isinstance(X, CurveTable) or np.ndim(X) != 2:
            return None
        return only.points if np.shape(X)[1] == len(only.points) else None

    def _names(self) -> list[Any]:
        """Return names of columns, for messages: their places where they have none."""
        return list(getattr(self, "feature_names_in_", range(self.n_features_in_)))


def _take_rows(column: Any, rows: np.ndarray) -> Any:
    return column.iloc[rows] if hasattr(column, "iloc") else column[rows]
