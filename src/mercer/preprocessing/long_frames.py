"""Long data frames, a row for each observation of a curve, as curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mercer.exceptions import DataError
from mercer.preprocessing.cells import as_objects, is_table, read_column, take_column
from mercer.preprocessing.columns import DAY

__all__ = ["LongCurves", "curves_from_long"]


class LongCurves(NamedTuple):
    """Curves of a long data frame, and whose they are.

    Attributes
    ----------
    curves : list of (points, values)
        For each id the points, increasing, and the values there; None for an id without any.
    ids : list
        The ids, in the same order.
    """

    curves: list[Any]
    ids: list[Any]


def curves_from_long(frame: Any, *, id: Any, t: Any, value: Any, ids: Sequence[Any] | None = None) -> LongCurves:
    """Return the curves of a long data frame, as inputs or as outputs of an estimator.

    Parameters
    ----------
    frame : data frame of pandas, polars or the like
        One row for each observation.
    id, t, value : column names
        Whose curve it is, where it was observed, and what; a list of names as ``value`` means curves in R^p. Dates
        count in days since 1970, durations in days.
    ids : sequence, optional
        Which curves, in which order, for instance that of the rows of a table of scalars. By default all of them, in
        the order of their first rows.

    Returns
    -------
    found : LongCurves
        ``curves``, a list of (points, values), and ``ids``. Rows without a value are left out; a curve without any is
        None, which as an input means the mean curve, and which outputs refuse.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"child": ["a", "b", "a"], "age": [2.0, 1.0, 1.5], "height": [88.0, 75.0, 82.0]})
    >>> curves, ids = curves_from_long(frame, id="child", t="age", value="height")
    >>> ids, curves[0]
    (['a', 'b'], (array([1.5, 2. ]), array([82., 88.])))
    """
    if not is_table(frame):
        raise DataError(f"curves_from_long: frame must be a data frame; got {type(frame).__name__}.")
    several = isinstance(value, (list, tuple))
    owners = as_objects(_column(frame, id))
    points = _numbers(frame, t)
    values = np.stack([_numbers(frame, name) for name in (value if several else [value])], axis=1)
    rows: dict[Any, list[int]] = {}
    for row, owner in enumerate(owners):
        if owner is None:
            raise DataError(f"curves_from_long: column {id!r} has no value in row {row}, so that it is nobody's.")
        rows.setdefault(owner, []).append(row)
    if np.isnan(points).any():
        raise DataError(
            f"curves_from_long: column {t!r} has no value in row {int(np.flatnonzero(np.isnan(points))[0])}."
        )
    asked = list(rows) if ids is None else as_objects(np.asarray(ids, dtype=object))
    seen = ~np.isnan(values).any(axis=1)

    def curve(owner: Any) -> Any:
        own = np.array([row for row in rows.get(owner, []) if seen[row]], dtype=int)
        own = own[np.argsort(points[own], kind="stable")]
        return (points[own], values[own] if several else values[own, 0]) if len(own) else None

    return LongCurves([curve(owner) for owner in asked], asked)


def _column(frame: Any, name: Any) -> Any:
    names = list(frame.columns)
    if name not in names:
        raise DataError(
            f"curves_from_long: the frame has no column {name!r}; it has {', '.join(map(repr, names[:20]))}."
        )
    return take_column(frame, names.index(name))


def _numbers(frame: Any, name: Any) -> np.ndarray:
    kind, cells = read_column(_column(frame, name), name)
    if kind not in ("numbers", "dates", "durations"):
        raise DataError(f"curves_from_long: column {name!r} holds {kind}; points and values are numbers or dates.")
    return np.asarray(cells, dtype=float) / (1.0 if kind == "numbers" else DAY)
