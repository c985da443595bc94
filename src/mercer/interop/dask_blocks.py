"""Blocks of rows on the workers of a Dask cluster: work goes to them, and sums of small arrays come back."""

from __future__ import annotations

import warnings
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from mercer.exceptions import DataError
from mercer.interop.dask_rows import DaskRows, mapped, speaking
from mercer.problems import Block, LocalBlocks, RowBlocks, StoredBlocks
from mercer.problems.row_blocks import Work, add
from mercer.rows import Batch, Rows

__all__ = ["DaskBlocks"]

#: tuples of sums that are added up in one task
FAN_IN = 8
#: share of the workers' memory that features may take where nobody says; Dask spills from 0.6 on
SHARE_OF_WORKERS = 0.3
#: bytes of what every task gets with it
SMALL = 2**14
#: tasks that set memory free come first
FIRST = 10


class DaskBlocks(RowBlocks):
    """Blocks of rows that live on the workers, with what algorithms keep of them: :class:`RowBlocks` of a cluster.

    One chunk of rows is one task of a pass; it is worked on some rows at a time. Sums are added up on each worker,
    then between workers, in an order that does not depend on who does it, so that a worker that dies changes no digit:
    its chunks are read again, and their states are worked out again from the first pass on, at the cost of the passes
    so far. Between machines goes what has the size of the sums, and the work itself, once to each worker.

    Parameters
    ----------
    kernel : Kernel
        With explicit features.
    rows : DaskRows
        The rows.
    encode : callable, optional
        (X, Y, weight) ↦ (X, Y, weight), what makes numbers of a chunk.
    """

    def __init__(self, kernel: Any, rows: DaskRows, encode: Any = None) -> None:
        self.client = rows.client
        self._places, self._owners = rows.batches(encode)
        if not self._places:
            raise DataError("DaskBlocks: no row is left; all have the weight 0.")
        with speaking(self.client):
            first = self.client.submit(_first_row, self._places[0], pure=False).result()
            self._kernel = self._sent(kernel)
        self._probe = LocalBlocks(kernel, _Read(first)).probe

    @property
    def probe(self) -> np.ndarray:
        return self._probe

    def map(self, work: Work, states: Any = None, features: bool = True) -> tuple[Any, tuple]:
        n, client = len(self._places), self.client
        before = [None] * n if states is None else states
        with speaking(client):
            common = [[self._sent(work)] * n, [self._kernel] * n, before, [features] * n]
            if getattr(work, "leaves_states", False):
                return before, self._added(mapped(client, self._owners, _summed, self._places, *common))
            done = mapped(client, self._owners, _worked, self._places, *common)
            return done, self._added(mapped(client, self._owners, _sums, done, priority=FIRST))

    def stored(self, n_rows: int, limit: int | None = None) -> RowBlocks:
        size = n_rows * self.row_bytes
        with speaking(self.client):
            if size > (self._memory() if limit is None else limit):
                return self
            n = len(self._places)
            other = object.__new__(DaskBlocks)
            other.__dict__.update(self.__dict__)
            other._places = mapped(self.client, self._owners, _featurised, self._places, [self._kernel] * n)
        return other

    def _sent(self, value: Any) -> Any:
        """Return what tasks take for a value: itself if small, else a future, of which each worker gets one copy."""
        import cloudpickle

        if len(cloudpickle.dumps(value)) <= SMALL:
            return value
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")
            return self.client.submit(_same, value, pure=False)

    def _added(self, sums: list[Any]) -> tuple:
        """Add up sums on each worker, then between them, in a fixed order."""
        groups = [list(index) for _, index in groupby(range(len(sums)), self._owners.__getitem__)]
        totals = [self._tree([sums[k] for k in group], 1)[0] for group in groups]
        del sums
        return _total(self.client.gather(self._tree(totals, FAN_IN)))

    def _tree(self, parts: list[Any], few: int) -> list[Any]:
        """Return at most ``few`` futures with the same sum."""
        while len(parts) > few:
            fans = [parts[start : start + FAN_IN] for start in range(0, len(parts), FAN_IN)]
            parts = [self.client.submit(_total, fan, pure=False, priority=FIRST) for fan in fans]
        return parts

    def _memory(self) -> float:
        """Bytes that features may take on all workers together."""
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        return SHARE_OF_WORKERS * sum(worker["memory_limit"] or np.inf for worker in workers)


class _Done(NamedTuple):
    """States of the blocks of a chunk, and sums over them."""

    states: list
    sums: tuple


class _Read(Rows):
    """One batch that was checked when it was read."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch

    def read(self) -> Any:
        return iter([self.batch])

    def __iter__(self) -> Any:
        return self.read()


def _worked(place: Any, work: Work, kernel: Any, before: _Done | None, features: bool) -> _Done:
    """Work on the blocks of a chunk, whose features are there already or are made."""
    local = StoredBlocks(place) if isinstance(place, list) else LocalBlocks(kernel, _Read(place))
    return _Done(*local.map(work, None if before is None else before.states, features))


def _summed(*given: Any) -> tuple:
    return _worked(*given).sums


def _featurised(batch: Batch, kernel: Any) -> list[Block]:
    return list(LocalBlocks(kernel, _Read(batch)).blocks())


def _first_row(batch: Batch) -> Batch:
    return batch.part(slice(0, 1))


def _sums(done: _Done) -> tuple:
    return done.sums


def _total(parts: list[tuple]) -> tuple:
    total: tuple = ()
    for part in parts:
        total = add(total, part)
    return total


def _same(value: Any) -> Any:
    return value
