"""The contract of a source of rows: each pass gives the same batches, and what is wrong with one is said by number."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

from mercer.exceptions import DataError
from mercer.rows.batch import Batch, Layout, read_batch

__all__ = ["Batch", "MappedRows", "Rows"]

_END: Any = object()


class Rows(ABC):
    """Rows (x_i, y_i[, s_i]) that are read in batches, as often as an algorithm needs to.

    Iterating is one pass. Each batch is checked: columns must be those of the first, rows must not be missing, and a
    later pass must give as many rows as the first one has; an error names the batch, and whoever added up the ones
    before keeps what they taught. A subclass gives :meth:`read`.
    """

    #: rows in all; None until a pass has seen them
    n_rows: int | None = None
    _layout: Layout | None = None

    @abstractmethod
    def read(self) -> Iterator[Any]:
        """Yield (X, Y) or (X, Y, weight), from the first batch on; called once for each pass."""

    @property
    def name(self) -> str:
        """What errors call it."""
        return type(self).__name__

    def __iter__(self) -> Iterator[Batch]:
        """Yield the batches of one pass."""
        seen = count = 0
        source = self.read()
        while True:
            where = f"{self.name}: batch {count}"
            try:
                given = next(source, _END)
            except DataError:
                raise
            except Exception as error:  # whatever a reader of files or a connection may raise
                raise DataError(f"{where} (after {seen} rows) could not be read: {error}") from error
            if given is _END:
                break
            batch = read_batch(given, where)
            self._layout = Layout.of(batch) if self._layout is None else self._layout
            self._layout.check(batch, where)
            seen, count = seen + batch.n_rows, count + 1
            if self.n_rows is not None and seen > self.n_rows:
                raise DataError(f"{where}: this pass has more than the {self.n_rows} rows there ought to be.")
            yield batch
        if not seen:
            raise DataError(f"{self.name}: there are no batches in it.")
        if self.n_rows is not None and seen < self.n_rows:
            raise DataError(
                f"{self.name}: this pass ended after {seen} of {self.n_rows} rows. Every pass must give the same "
                "batches: pass a function that opens the source anew, not an iterator that is used up."
            )
        self.n_rows = seen

    def mapped(self, function: Callable[[Any, Any], tuple[Any, Any]]) -> MappedRows:
        """Return the same rows with (X, Y) replaced by ``function(X, Y)``, batch by batch."""
        return MappedRows(self, function)


class MappedRows(Rows):
    """Rows of another source after a function of a batch: scaled, encoded, with columns chosen.

    Parameters
    ----------
    rows : Rows
        The source.
    function : callable
        (X, Y) ↦ (X, Y) with the same rows.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.rows import ArrayRows
    >>> rows = ArrayRows(np.ones((4, 1)), np.arange(4.0), batch_size=3).mapped(lambda X, Y: (10 * X, Y))
    >>> [batch.X[0, 0].item() for batch in rows]
    [10.0, 10.0]
    """

    def __init__(self, rows: Rows, function: Callable[[Any, Any], tuple[Any, Any]]) -> None:
        self.rows, self.function = rows, function

    def read(self) -> Iterator[Any]:
        for batch in self.rows:
            yield (*self.function(batch.X, batch.Y), batch.weight)
