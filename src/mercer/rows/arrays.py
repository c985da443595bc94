"""Arrays, or memory maps larger than memory, in batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer._params import check_number
from mercer.exceptions import DataError
from mercer.rows.base import Rows

__all__ = ["ArrayRows"]

#: rows of a batch where nobody says
BATCH_SIZE = 2**15


class ArrayRows(Rows):
    """Rows of arrays, sliced batch by batch: a memory map is never read as a whole.

    Parameters
    ----------
    X : array of shape (n, d)
        Inputs; whatever can be sliced by rows, such as ``numpy.load(..., mmap_mode="r")``.
    Y : array of shape (n,) or (n, m)
        Targets.
    weight : array of shape (n,), optional
        Weights of rows.
    batch_size : int, default=32768
        Rows of a batch.

    Examples
    --------
    >>> import numpy as np
    >>> rows = ArrayRows(np.ones((5, 2)), np.arange(5.0), batch_size=2)
    >>> [batch.n_rows for batch in rows]
    [2, 2, 1]
    """

    def __init__(self, X: Any, Y: Any, weight: Any = None, batch_size: int = BATCH_SIZE) -> None:
        check_number(self, "batch_size", batch_size, low=1, strict=False, integer=True)
        parts = {"X": X, "Y": Y} | ({} if weight is None else {"weight": weight})
        for name, array in parts.items():
            if not getattr(array, "shape", ()):
                raise DataError(f"ArrayRows: {name} must be an array with rows; got {type(array).__name__}.")
        if len({array.shape[0] for array in parts.values()}) > 1:
            lengths = ", ".join(f"{name} {array.shape[0]}" for name, array in parts.items())
            raise DataError(f"ArrayRows: all parts must have the same number of rows; got {lengths}.")
        self.X, self.Y, self.weight, self.batch_size = X, Y, weight, int(batch_size)
        self.n_rows = int(X.shape[0])

    def read(self) -> Iterator[Any]:
        for start in range(0, self.X.shape[0], self.batch_size):
            rows = slice(start, start + self.batch_size)
            X, Y = np.asarray(self.X[rows]), np.asarray(self.Y[rows])
            yield X, Y, None if self.weight is None else np.asarray(self.weight[rows])
