"""A table whose columns may hold curves: functions together with numbers, text or anything else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from mercer.exceptions import DataError
from mercer.preprocessing.cells import is_table, take_column
from mercer.preprocessing.curve_pairs import as_pairs, is_pairs, on_grid
from mercer.preprocessing.providers import provider_of

__all__ = ["CurveTable", "as_table", "note_columns"]


class CurveTable:
    """Parts side by side, of which some are curves: what estimators and :class:`TableEncoder` take as X.

    A list of parts, ``fit([curves, scalars], y)``, means the same to the estimators of mercer. Tools that take some
    rows of X, such as ``cross_val_score`` or ``GridSearchCV``, would take parts of a list for rows: they need this
    table, or a data frame with a column of curves.

    Parameters
    ----------
    parts : sequence or dict of parts
        Each of as many rows: curves, that is a list of (points, values) pairs, a tuple (grid, values) with values of
        shape (n_samples, n_points) and NaN for what is missing, or functional data of scikit-fda; or an array of shape
        (n_samples,) or (n_samples, k), or a data frame. Keys are names of columns.

    Attributes
    ----------
    columns : list of str
        Names of the columns: keys and names of columns of data frames, x0, x1, ... without them.
    named : bool
        Whether they are the user's.
    shape : tuple
        Rows and columns; a curve counts as one.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.linspace(0, 1, 4)
    >>> curves = np.array([[0.0, 1.0, np.nan, 3.0], [3.0, 2.0, 1.0, 0.0], [1.0, 1.0, 1.0, 2.0]])
    >>> table = CurveTable({"growth": (t, curves), "age": [30, 40, 50]})
    >>> table
    CurveTable(3 rows: growth, age)
    >>> table[[0, 2]].shape
    (2, 2)
    """

    def __init__(self, parts: Mapping[str, Any] | Sequence[Any]):
        named = isinstance(parts, Mapping)
        items = list(parts.items()) if isinstance(parts, Mapping) else [(None, part) for part in parts]
        columns = [column for name, part in items for column in _open(name, part)]
        lengths = [len(cells) for _, cells in columns]
        if not columns or len(set(lengths)) > 1:
            raise DataError(f"CurveTable: parts need the same number of rows; they have {lengths}.")
        self.named = named or all(name is not None for name, _ in columns)
        self.columns = [str(name) if self.named else f"x{k}" for k, (name, _) in enumerate(columns)]
        self.cells = [cells for _, cells in columns]
        self.shape = (lengths[0], len(columns))

    @property
    def dtypes(self) -> list[Any]:
        """The types of the columns."""
        return [cells.dtype for cells in self.cells]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        """Return some rows; with a pair of keys, [:, k], column k."""
        rows, place = key if isinstance(key, tuple) else (key, ...)
        if place is not Ellipsis:
            return self.cells[place][rows]
        taken = CurveTable.__new__(CurveTable)
        rows = slice(rows, rows + 1) if isinstance(rows, (int, np.integer)) else rows
        taken.cells = [_take(cells, rows) for cells in self.cells]
        taken.named, taken.columns = self.named, self.columns
        taken.shape = (len(taken.cells[0]), self.shape[1])
        return taken

    def __repr__(self) -> str:
        return f"CurveTable({self.shape[0]} rows: {', '.join(self.columns)})"


def _take(cells: Any, rows: Any) -> Any:
    return cells.iloc[rows] if hasattr(cells, "iloc") else cells[rows]


def _open(name: str | None, part: Any) -> list[tuple[str | None, Any]]:
    """Return the columns of a part, each with its name or None."""
    provider = provider_of(part)
    if provider is not None:
        opened = provider.open_inputs(part)
        return [(_joined(name, own, len(opened)), as_pairs(pairs)) for own, pairs in opened]
    if isinstance(part, CurveTable) or is_table(part):
        own = part.columns if not isinstance(part, CurveTable) or part.named else [None] * part.shape[1]
        return [(_joined(name, each, part.shape[1]), take_column(part, k)) for k, each in enumerate(own)]
    if _is_sampled(part):
        return [(name, as_pairs(on_grid(part[0], np.asarray(part[1], dtype=float))))]
    if is_pairs(part):
        return [(name, as_pairs(part))]
    array = part if hasattr(part, "dtype") else np.asarray(part)
    if array.ndim == 1:
        return [(name, array)]
    if array.ndim != 2:
        raise DataError(f"CurveTable: a part that is no curves has shape (n,) or (n, k); got {tuple(array.shape)}.")
    return [(_joined(name, str(k), array.shape[1]), array[:, k]) for k in range(array.shape[1])]


def _joined(name: str | None, own: Any, many: int) -> str | None:
    """Return the name of one of several columns of a part."""
    if name is None or own is None or many == 1:
        return (None if own is None else str(own)) if name is None else name
    return f"{name} {own}"


def _is_sampled(part: Any) -> bool:
    """Say whether a part is (grid, values): curves as rows of an array."""
    if not (isinstance(part, tuple) and len(part) == 2 and np.ndim(part[0]) == 1):
        return False
    shape = np.shape(part[1])
    if len(shape) == 2 and shape[1] != len(part[0]):
        raise DataError(f"CurveTable: a grid of {len(part[0])} points comes with values of shape {shape}.")
    return len(shape) == 2


def _is_functional(part: Any) -> bool:
    table = isinstance(part, CurveTable) or provider_of(part) is not None
    return table or is_pairs(part) or _is_sampled(part)


def as_table(X: Any) -> Any:
    """Return inputs that are curves, alone or among other parts, as a CurveTable; anything else as it is."""
    if isinstance(X, CurveTable):
        return X
    if provider_of(X) is not None or is_pairs(X):
        return CurveTable([X])
    if isinstance(X, Mapping) and any(map(_is_functional, X.values())):
        return CurveTable(X)
    if isinstance(X, list) and any(map(_is_functional, X)):
        return CurveTable(X)
    return X


def note_columns(estimator: Any, X: Any, reset: bool) -> None:
    """Let an estimator note the number and the names of the columns of a table, or compare them with those of fit."""
    if not isinstance(X, CurveTable):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return
    names = np.array(X.columns, dtype=object) if X.named else None
    if reset:
        estimator.n_features_in_ = X.shape[1]
        if names is not None:
            estimator.feature_names_in_ = names
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        return
    known = getattr(estimator, "feature_names_in_", None)
    if X.shape[1] != estimator.n_features_in_:
        raise DataError(
            f"X has {X.shape[1]} columns, of which a curve is one; {type(estimator).__name__} was fitted on "
            f"{estimator.n_features_in_}."
        )
    if names is not None and known is not None and names.tolist() != known.tolist():
        raise DataError(f"X has columns {names.tolist()}; those of the fit were {known.tolist()}, in this order.")
