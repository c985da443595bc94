"""Any function that opens a stream of batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from mercer._params import check_number
from mercer.exceptions import DataError, parameter_error
from mercer.rows.base import Rows

__all__ = ["StreamRows"]


class StreamRows(Rows):
    """Rows from a function that opens the source anew for each pass.

    Parameters
    ----------
    function : callable
        Takes nothing, returns an iterable of (X, Y) or (X, Y, weight); the same batches at each call.
    n_rows : int, optional
        The number of rows there ought to be, where it is known: a stream that ends early is then an error already
        in the first pass.

    Examples
    --------
    >>> import numpy as np
    >>> rows = StreamRows(lambda: ((np.full((3, 1), float(k)), np.zeros(3)) for k in range(4)))
    >>> sum(batch.n_rows for batch in rows), rows.n_rows
    (12, 12)
    """

    def __init__(self, function: Callable[[], Iterable[Any]], n_rows: int | None = None) -> None:
        if not callable(function):
            hint = "An iterator is used up after one pass."
            raise parameter_error(self, "function", function, "a function that returns an iterator of batches", hint)
        if n_rows is not None:
            check_number(self, "n_rows", n_rows, low=1, strict=False, integer=True)
        self.function, self.n_rows = function, n_rows
        self._previous: Any = None

    def read(self) -> Iterator[Any]:
        source = self.function()
        if not isinstance(source, Iterable):
            raise DataError(f"StreamRows: the function must return an iterator; got {type(source).__name__}.")
        if isinstance(source, Iterator) and source is self._previous:
            raise DataError(
                "StreamRows: the function returned the iterator that it had returned before, which is used up. It must "
                "open the source anew."
            )
        self._previous = source
        return iter(source)
