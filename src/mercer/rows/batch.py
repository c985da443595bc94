"""One batch of rows, as arrays, and what all batches of a source have in common."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer.exceptions import DataError

__all__ = ["Batch", "Layout", "read_batch"]


class Batch(NamedTuple):
    """Some rows: inputs X (n, d), targets Y (n, m) and weights (n,), None where all rows weigh 1."""

    X: np.ndarray
    Y: np.ndarray
    weight: np.ndarray | None = None

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0])

    def part(self, rows: slice) -> Batch:
        """Return some of the rows."""
        return Batch(self.X[rows], self.Y[rows], None if self.weight is None else self.weight[rows])


class Layout(NamedTuple):
    """Numbers of columns of X and Y, and whether rows have weights: the same in all batches."""

    n_inputs: int
    n_targets: int
    weighted: bool

    @classmethod
    def of(cls, batch: Batch) -> Layout:
        return cls(int(batch.X.shape[1]), int(batch.Y.shape[1]), batch.weight is not None)

    def check(self, batch: Batch, where: str) -> None:
        """Refuse a batch of another kind."""
        other = Layout.of(batch)
        for name, here, there in (("X", self.n_inputs, other.n_inputs), ("Y", self.n_targets, other.n_targets)):
            if here != there:
                raise DataError(f"{where}: {name} has {there} columns, and it had {here} in the batches before.")
        if self.weighted != other.weighted:
            has, had = ("weights", "none") if other.weighted else ("no weights", "them")
            raise DataError(f"{where}: its rows have {has}, and those of the batches before had {had}.")


def read_batch(given: Any, where: str) -> Batch:
    """Return (X, Y) or (X, Y, weight) as a batch of numbers, or say what is wrong with it."""
    if not isinstance(given, (tuple, list)) or len(given) not in (2, 3):
        raise DataError(f"{where}: a batch must be (X, Y) or (X, Y, weight); got {type(given).__name__}.")
    X, Y = (_numbers(values, name, where) for values, name in zip(given[:2], "XY", strict=True))
    weight = None if len(given) == 2 or given[2] is None else _numbers(given[2], "weight", where)
    Y = Y[:, None] if Y.ndim == 1 else Y
    if X.ndim != 2 or Y.ndim != 2:
        raise DataError(f"{where}: X must have shape (n, d) and Y (n,) or (n, m); got {X.shape} and {Y.shape}.")
    if not X.shape[0]:
        raise DataError(f"{where}: it has no rows. Leave empty batches out.")
    if Y.shape[0] != X.shape[0]:
        raise DataError(f"{where}: X has {X.shape[0]} rows and Y has {Y.shape[0]}.")
    if not np.all(np.isfinite(X)):
        raise DataError(f"{where}: X must be finite; it has NaN or infinite values.")
    if np.any(np.isinf(Y)):
        raise DataError(f"{where}: Y must be finite (NaN marks entries that were not observed).")
    if weight is not None:
        if weight.shape != X.shape[:1]:
            raise DataError(f"{where}: weights must have shape {X.shape[:1]}; got {weight.shape}.")
        if not np.all(np.isfinite(weight)) or not np.all(weight > 0):
            raise DataError(f"{where}: weights must be positive and finite; drop rows of weight 0.")
    return Batch(X, Y, weight)


def _numbers(values: Any, name: str, where: str) -> np.ndarray:
    """Return an array of floats; what is no number is refused, and single precision stays so."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise DataError(f"{where}: {name} must hold numbers; its type is {array.dtype}. Encode it first.")
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)
