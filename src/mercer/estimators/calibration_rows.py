"""Rows that calibrate: apart from those that train, by a split or by folds, and the rank that a coverage asks for."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import KFold, check_cv, train_test_split
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _num_samples

from mercer._params import check_number
from mercer.estimators.delegation import weight_parameter
from mercer.estimators.validation import as_array, float_array, own_errors
from mercer.exceptions import DataError, UnsupportedError, parameter_error
from mercer.preprocessing.curve_table import as_table

__all__ = ["SCORE_ENTRIES", "CalibrationRows", "check_rows", "take_rows_of"]

#: numbers that are ranked at once
SCORE_ENTRIES = 4_000_000


class CalibrationRows:
    """What conformal estimators share: parts of the rows, base estimators fitted on them, ranks of scores.

    The estimator has the parameters ``estimator``, ``method``, ``calibration_size``, ``cv`` and ``random_state``.
    """

    estimator: Any
    method: Any
    calibration_size: Any
    cv: Any
    random_state: Any
    n_features_in_: int
    n_calibration_: int
    estimators_: list[Any]

    def _base(self) -> Any:
        raise NotImplementedError

    def _check_method(self) -> None:
        if not (isinstance(self.method, str) and self.method in ("split", "cross")):
            raise parameter_error(self, "method", self.method, "'split' or 'cross'")
        if self.method == "cross" and isinstance(self.estimator, FrozenEstimator):
            raise UnsupportedError(
                f"{type(self).__name__}: method='cross' fits the estimator on every fold, and a FrozenEstimator is not "
                "fitted again. Use method='split' and pass rows that it has not seen."
            )

    def _check_one_model(self) -> None:
        if len(self.estimators_) > 1:
            raise UnsupportedError(
                f"{type(self).__name__}: with method='cross' all rows calibrate in fit, and others cannot take their "
                "place. Use method='split', or FrozenEstimator(fitted) as the estimator."
            )

    def _splits(self, X, y, weight: np.ndarray | None) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return (train, calibrate) rows of positive weight for each model."""
        splits = self._all_splits(X, y)
        if weight is not None:
            splits = [(train[weight[train] > 0], test[weight[test] > 0]) for train, test in splits]
        if any(len(train) == 0 or len(test) == 0 for train, test in splits):
            raise DataError(f"{type(self).__name__}: a part of the rows has positive weights nowhere.")
        return splits

    def _all_splits(self, X, y) -> list[tuple[np.ndarray, np.ndarray]]:
        rows = np.arange(_num_samples(X))
        if self.method == "split":
            size = self._calibration_size(len(rows))
            train, test = train_test_split(rows, test_size=size, random_state=self._random_state())
            return [(train, test)]
        splits = self._folds(X, y, rows)
        allowed = ""
        if not np.array_equal(np.sort(np.concatenate([rows[:0], *(test for _, test in splits)])), rows):
            allowed = "a splitter whose test folds hold every row exactly once"
        elif any(len(train) == 0 or len(test) == 0 for train, test in splits):
            allowed = "a splitter without empty folds"
        elif any(np.intersect1d(train, test).size > 0 for train, test in splits):
            allowed = "a splitter whose training rows leave out those of the test fold, which calibrate the model"
        if allowed:
            raise parameter_error(self, "cv", self.cv, allowed, "KFold is one.")
        return splits

    def _folds(self, X, y, rows) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return what the splitter gives, as numbers of rows."""
        state = self._random_state() if isinstance(self.cv, numbers.Integral) else None
        try:
            with own_errors("cv"):
                splitter: Any = check_cv(self.cv) if state is None else KFold(self.cv, shuffle=True, random_state=state)
                return [(np.asarray(rows[train]), np.asarray(rows[test])) for train, test in splitter.split(X, y)]
        except IndexError as error:
            allowed = f"folds of rows from 0 to {len(rows) - 1}"
            raise parameter_error(self, "cv", self.cv, allowed, f"{error}.") from error
        except DataError as error:
            if "groups" not in str(error):
                raise
            raise UnsupportedError(
                f"{type(self).__name__}: cv={self.cv!r} needs groups, which fit does not take. Pass its folds, "
                "cv=list(splitter.split(X, y, groups)), or calibrate a FrozenEstimator on a row of each held-out group."
            ) from error

    def _random_state(self) -> np.random.RandomState:
        """Return what scikit-learn's splitters take, which a Generator is not."""
        state = self.random_state
        if isinstance(state, np.random.Generator):
            state = int(state.integers(2**31 - 1))
        try:
            return check_random_state(state)
        except ValueError as error:
            allowed = "None, a non-negative integer, a RandomState or a numpy.random.Generator"
            raise parameter_error(self, "random_state", state, allowed) from error

    def _calibration_size(self, n: int) -> int | float:
        """Return the share or number of rows that calibrate, a float or an int of Python's."""
        size = self.calibration_size
        if isinstance(size, (int, np.integer)) and not isinstance(size, bool):
            size = int(size)
            good = 1 <= size < n
        else:
            check_number(self, "calibration_size", size, low=0, high=1, hint="It is a share or a number of rows.")
            size = float(size)
            good = math.ceil(size * n) < n
        if not good:
            raise DataError(
                f"{type(self).__name__}: calibration_size={size!r} leaves no part of n_samples = {n} to train on or to "
                "calibrate with; both need a sample at least."
            )
        return size

    def _fit_base(self, X, target, weight, train):
        """Return the base estimator, fitted on the rows ``train`` of X and their targets."""
        model = clone(self._base())
        with own_errors("X"):
            inside, _ = _safe_split(model, X, None, train)
        weights = {} if weight is None else {weight_parameter(model): weight[train]}
        return model.fit(inside, target, **weights)

    def _inputs(self, X, columns: np.ndarray | None) -> Any:
        """Return X, of a Gram matrix the columns that belong to the rows that a model was fitted on."""
        if columns is None:
            return as_table(X)
        gram = float_array(type(self).__name__, as_array(X), "X")
        if gram.ndim != 2 or gram.shape[1] != self.n_features_in_:
            raise DataError(
                f"{type(self).__name__}: a Gram matrix must have a column for each of the {self.n_features_in_} rows "
                f"given to fit, shape (n_samples, {self.n_features_in_}); got shape {gram.shape}."
            )
        return gram[:, columns]

    def _rank(self, name: str, share: float, got: float, n: int | None = None, where: str = "") -> int:
        """Return ⌈(n + 1)·share⌉, or refuse a share for which n rows (all by default) are too few."""
        n = self.n_calibration_ if n is None else n
        rank = math.ceil((n + 1) * share * (1 - 1e-12))  # (n + 1)·share that is an integer but for rounding is one
        if rank > n:
            needed = math.ceil(share / max(1 - share, np.finfo(float).tiny) * (1 - 1e-12))
            best = n / (n + 1)
            allowed = f"at most {best:.4g}" if name == "coverage" else f"between {1 - best:.4g} and {best:.4g}"
            raise parameter_error(
                self,
                name,
                float(got),
                f"{allowed} with {n} calibration rows{where}",
                f"{got:g} needs {needed:.6g} calibration rows at least: less would mean an infinite answer.",
            )
        return max(rank, 1)


def check_rows(X: Any) -> None:
    """Refuse what has no rows to be taken."""
    if not (hasattr(X, "shape") or hasattr(X, "__array__") or (isinstance(X, Sequence) and not isinstance(X, str))):
        raise DataError(f"X must have rows: an array, a data frame or a list; got {type(X).__name__}.")


def take_rows_of(X: Any, rows: np.ndarray) -> Any:
    """Return rows of X, of whatever kind X is."""
    return X if len(rows) == _num_samples(X) else _safe_indexing(X, rows)
