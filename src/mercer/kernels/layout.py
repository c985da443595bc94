"""Where the columns of a table lie in the array that it was encoded as."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer.backend import to_numpy
from mercer.exceptions import DataError

__all__ = ["ColumnLayout", "column_names"]


class ColumnLayout(NamedTuple):
    """Names of the columns of a table, None without any, and how many columns of an array each of them has.

    Examples
    --------
    >>> layout = ColumnLayout(("age", "town", "income"), (1, 3, 1))
    >>> layout.take(["income", "town"])
    ([4, 1, 2, 3], ColumnLayout(names=('income', 'town'), widths=(1, 3)))
    """

    names: tuple[str, ...] | None
    widths: tuple[int, ...]

    @property
    def plain(self) -> bool:
        """Whether the array is the table itself."""
        return all(width == 1 for width in self.widths)

    def take(self, columns: Any) -> tuple[Any, ColumnLayout]:
        """Return where some columns of the table, by name or by place, lie in the array, and their own layout."""
        asked = column_names(columns)
        places = self._places(columns) if asked is None else [self._place(name) for name in asked]
        names = None if self.names is None else tuple(self.names[place] for place in places)
        layout = ColumnLayout(names, tuple(self.widths[place] for place in places))
        if asked is None and self.plain:
            return columns, layout
        starts = np.concatenate([[0], np.cumsum(self.widths)]).tolist()
        positions = [k for place in places for k in range(starts[place], starts[place + 1])]
        if not positions:
            raise DataError(f"Restricted: columns {columns!r} have no value in the training rows; leave them out.")
        return positions, layout

    def _place(self, name: str) -> int:
        if self.names is None:
            raise DataError(
                f"Restricted: columns are given by name, such as {name!r}, but those of X have no names. Fit on a data "
                "frame whose columns have names, or restrict to numbers of columns."
            )
        if name not in self.names:
            shown = ", ".join(map(repr, self.names[:20])) + (", ..." if len(self.names) > 20 else "")
            raise DataError(f"Restricted: X has no column {name!r}; it has {shown}.")
        return self.names.index(name)

    def _places(self, columns: Any) -> list[int]:
        places, d = np.atleast_1d(to_numpy(columns)), len(self.widths)
        if np.any(places >= d) or np.any(places < -d):
            raise DataError(f"Restricted: columns are {places.tolist()}, but the points have {d} columns.")
        return (places % d).tolist()


def column_names(columns: Any) -> list[str] | None:
    """Return the names if columns are given by name, one or several; None otherwise."""
    if isinstance(columns, str):
        return [columns]
    given = np.asarray(columns if isinstance(columns, (list, tuple)) else to_numpy(columns), dtype=object)
    named = given.ndim == 1 and given.size > 0 and all(isinstance(each, str) for each in given)
    return [str(each) for each in given] if named else None
