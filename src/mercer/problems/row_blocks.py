"""The rows of a feature problem in blocks, on which work is done where they live."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from mercer.exceptions import DataError, UnsupportedError
from mercer.linalg import memory_budget
from mercer.linalg.memory import BLOCK_BYTES
from mercer.rows import Batch, Rows

__all__ = ["Block", "LocalBlocks", "Reading", "RowBlocks", "StoredBlocks"]

#: work(block, state) returns a new state and a tuple of small arrays, which are added up over blocks
Work = Callable[["Block", Any], tuple[Any, tuple]]


#: blocks that the memory budget has room for at least: making features takes several of their size
SHARE_OF_A_BLOCK = 16


class Block(NamedTuple):
    """Some rows: their features, targets (n, m) or (n, 1), and weights, None where all are 1.

    Features are (n, D), or (n, m, D) where kernels have matrices as values.
    """

    features: Any
    Y: np.ndarray
    weight: np.ndarray | None = None


class Reading:
    """Work that returns the states which it was given: nobody needs to bring them back."""

    leaves_states = True


class RowBlocks(ABC):
    """Rows in blocks, each with features, targets and weights, and with what an algorithm keeps of it: its state.

    An algorithm is work on each block and a sum of small arrays: only these leave the place where a block lives. Work
    changes no state but returns another one, so that a block that was lost can be done again.
    """

    @property
    @abstractmethod
    def probe(self) -> np.ndarray:
        """The features of a row, (1, D) or (1, m, D)."""

    @property
    def n_features(self) -> int:
        """D."""
        return int(self.probe.shape[-1])

    @property
    def n_components(self) -> int | None:
        """The number m of rows of features whose values are matrices, else None."""
        return int(self.probe.shape[1]) if self.probe.ndim == 3 else None

    @property
    def row_bytes(self) -> int:
        """Bytes of the features of a row."""
        return int(self.probe.nbytes)

    @abstractmethod
    def map(self, work: Work, states: Any = None, features: bool = True) -> tuple[Any, tuple]:
        """Return the new states and the sums of what ``work(block, state)`` returns, over all blocks.

        Parameters
        ----------
        work : callable
            (block, state) ↦ (state, tuple of arrays or numbers); it can be sent elsewhere. Work that leaves states as
            they are says so (:class:`Reading`); other work returns sums of D × q numbers at most.
        states : list, optional
            The states, as an earlier ``map`` returned them; None stands for None in each block.
        features : bool, default=True
            Whether the work needs features; None stands for them where it does not.
        """

    def stored(self, n_rows: int, limit: int | None = None) -> RowBlocks:
        """Return blocks that keep their features where those of ``n_rows`` fit the limit, the budget by default."""
        return self


class LocalBlocks(RowBlocks):
    """Blocks of a source of rows, in this process: features are made anew in each pass.

    Parameters
    ----------
    kernel : Kernel
        With explicit features φ, and with numbers for its parameters. Features in single precision stay so.
    rows : Rows
        The source.
    block_bytes : int, optional
        Bytes of the features of a block.
    """

    def __init__(self, kernel: Any, rows: Rows, block_bytes: int = BLOCK_BYTES) -> None:
        if not getattr(kernel, "explicit", False):
            raise UnsupportedError(
                f"Streams of rows need a kernel with explicit features; {kernel!r} has none. Approximate it by random "
                "Fourier features or by Nyström's method, or give features of your own with FeatureKernel."
            )
        self.kernel, self.rows = kernel, rows
        first = next(iter(rows))
        self._probe = np.asarray(kernel.features(first.X[:1]))
        block_bytes = min(block_bytes, memory_budget() // SHARE_OF_A_BLOCK)
        self._block_rows = max(1, block_bytes // self.row_bytes)

    @property
    def probe(self) -> np.ndarray:
        return self._probe

    def blocks(self, features: bool = True) -> Iterator[Block]:
        """Yield the blocks of one pass."""
        for batch in self.rows:
            for part in self._parts(batch):
                yield Block(np.asarray(self.kernel.features(part.X)) if features else None, part.Y, part.weight)

    def _parts(self, batch: Batch) -> Iterator[Batch]:
        n_parts = -(-batch.n_rows // self._block_rows)
        size = -(-batch.n_rows // n_parts)  # of about the same size
        return (batch.part(slice(start, start + size)) for start in range(0, batch.n_rows, size))

    def map(self, work: Work, states: Any = None, features: bool = True) -> tuple[Any, tuple]:
        return work_on(self.blocks(features), work, states)

    def stored(self, n_rows: int, limit: int | None = None) -> RowBlocks:
        size = n_rows * self.row_bytes
        if size > (memory_budget() if limit is None else limit):
            return self
        return StoredBlocks(list(self.blocks()))


class StoredBlocks(RowBlocks):
    """Blocks with their features, in memory."""

    def __init__(self, blocks: list[Block]) -> None:
        self._blocks = blocks

    @property
    def probe(self) -> np.ndarray:
        return np.asarray(self._blocks[0].features[:1])

    def map(self, work: Work, states: Any = None, features: bool = True) -> tuple[Any, tuple]:
        return work_on(iter(self._blocks), work, states)


def work_on(blocks: Iterator[Block], work: Work, states: list | None) -> tuple[list, tuple]:
    """Work on one block after the other; return the states and the sums."""
    after: list = []
    sums: tuple = ()
    for index, block in enumerate(blocks):
        if states is not None and index >= len(states):
            raise DataError(f"Block {index} was not there in earlier passes: every pass must give the same batches.")
        state = None if states is None else states[index]
        kept = state[0] if isinstance(state, tuple) else state
        if kept is not None and len(kept) != len(block.Y):
            raise DataError(
                f"Block {index} has {len(block.Y)} rows, and it had {len(kept)}: every pass must give the same batches."
            )
        state, parts = work(block, state)
        after.append(state)
        sums = add(sums, parts)
    if states is not None and len(after) != len(states):
        raise DataError(
            f"This pass had {len(after)} blocks and earlier ones {len(states)}: batches must stay the same."
        )
    return after, sums


def add(left: tuple, right: tuple) -> tuple:
    """Return the sums of two tuples of small arrays, the first of which may be empty."""
    return tuple(a + b for a, b in zip(left, right, strict=True)) if left else right
