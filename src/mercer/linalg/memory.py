"""How much memory one operation may take: a share of the machine's, unless the user says otherwise."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path

from mercer._params import check_number
from mercer.exceptions import UnsupportedError

__all__ = ["BLOCK_BYTES", "PAIR_BLOCK", "beyond_budget", "in_words", "memory_budget", "memory_limit", "row_blocks"]

#: share of the memory of the machine that an operation may take
MACHINE_SHARE = 0.5
#: size in bytes of blocks of numbers that are made, used and thrown away
BLOCK_BYTES = 2**25
#: pairs of rows at a time of which a few numbers each are made: they stay in the cache
PAIR_BLOCK = 2**17
#: what is assumed where the machine does not tell, in bytes
UNKNOWN = 2**33
#: where Linux says how much memory a container may take
CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")

_limit: ContextVar[int | None] = ContextVar("memory_limit", default=None)


def memory_budget() -> int:
    """Return the bytes that one operation may take: half of the machine's (or container's) memory by default.

    Matrices that would need more are refused with a remedy, or replaced by products where an algorithm can do with
    them. :func:`memory_limit` sets another budget.

    Examples
    --------
    >>> with memory_limit(2**30):
    ...     memory_budget()
    1073741824
    """
    limit = _limit.get()
    return int(MACHINE_SHARE * _machine_memory()) if limit is None else limit


@contextmanager
def memory_limit(size: int) -> Iterator[None]:
    """Set the budget, in bytes, for what is computed inside a ``with`` block of this thread.

    Parameters
    ----------
    size : int
        Bytes, for instance ``4 * 2**30``.
    """
    check_number("memory_limit", "size", size, low=1, strict=False, integer=True, hint="It is a number of bytes.")
    token = _limit.set(int(size))
    try:
        yield
    finally:
        _limit.reset(token)


def beyond_budget(size: float, what: str, remedy: str) -> UnsupportedError:
    """Return the error for an operation that needs more bytes than the budget has."""
    return UnsupportedError(
        f"{what} would need {in_words(size)}, more than the memory budget of {in_words(memory_budget())}. "
        f"{remedy} (mercer.linalg.memory_limit sets another budget.)"
    )


def in_words(size: float) -> str:
    """Return a number of bytes as people say it.

    Examples
    --------
    >>> in_words(3 * 2**30), in_words(2**20 / 2)
    ('3.0 GiB', '0.5 MiB')
    """
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 / 10 else f"{size / 2**20:.2g} MiB"


@cache
def _machine_memory() -> int:
    """Return what the machine or the container has; it does not change, and asking takes longer than a small fit."""
    sizes = [_physical_memory(), _container_memory()]
    return min((size for size in sizes if size is not None), default=UNKNOWN)


def _physical_memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not a POSIX system
        return None


def _container_memory() -> int | None:
    try:
        return int(CONTAINER_LIMIT.read_text())
    except (OSError, ValueError):  # no container, or "max"
        return None


def row_blocks(n: int, width: int) -> Iterator[slice]:
    """Yield slices of n rows whose arrays of so many columns are small beside what else is in memory.

    Examples
    --------
    >>> [part.stop for part in row_blocks(3, 1)]
    [3]
    """
    rows = max(1, BLOCK_BYTES // (8 * max(width, 1)))
    for start in range(0, n, rows):
        yield slice(start, min(start + rows, n))
