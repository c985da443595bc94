"""What is about to be computed, told to whoever listens: a factorisation may take minutes without a sign of life."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from mercer.backend import is_numpy

__all__ = ["CHOLESKY_WORK", "EIGH_WORK", "KERNEL_WORK", "PIVOTED_WORK", "Work", "announce", "heard_by"]

#: what takes as long as a factorisation, measured: multiplications of a product of matrices, in units of n³ ...
EIGH_WORK, CHOLESKY_WORK = 4.4, 1 / 3
#: ... of n·rank², and for one value of a kernel
PIVOTED_WORK, KERNEL_WORK = 2.5, 250.0


class Work(NamedTuple):
    """A computation that is about to begin."""

    what: str  #: such as "eigendecomposition"
    rows: int  #: of the matrix
    size: float  #: bytes of what is computed
    operations: float  #: multiplications of a product of matrices that would take as long
    bound: bool = False  #: whether that is the most it may take
    elsewhere: bool = False  #: whether another library than NumPy computes it, perhaps not on the processor


_listener: ContextVar[Callable[[Work], Any] | None] = ContextVar("listener", default=None)


@contextmanager
def heard_by(listener: Callable[[Work], Any] | None) -> Iterator[None]:
    """Let somebody hear, as ``listener(work)``, what factorisations begin in a ``with`` block of this thread.

    Parameters
    ----------
    listener : callable or None
        Called before each of them; None for silence.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg import Dense, eigh
    >>> with heard_by(lambda work: print(work.what, work.rows)):
    ...     eigen = eigh(Dense(np.eye(3)))
    eigendecomposition 3
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def announce(what: str, operator: Any, operations: float, most_columns: int | None = None) -> None:
    """Tell who listens, if anybody does, what is about to be computed of an operator: all of it, or some columns."""
    listener = _listener.get()
    if listener is not None:
        rows, columns = operator.shape[0], operator.shape[1] if most_columns is None else most_columns
        bound, elsewhere = most_columns is not None, not is_numpy(operator.like)
        listener(Work(what, rows, 8.0 * rows * columns, operations, bound, elsewhere))
