"""Rows of Dask collections, on the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from itertools import groupby, pairwise
from typing import Any

import numpy as np

from mercer.exceptions import DataError, MercerError, RowsLostError, UnsupportedError, parameter_error
from mercer.rows import Batch, Rows
from mercer.rows.batch import read_batch

__all__ = ["DaskRows", "client_of", "delayed_chunks", "mapped", "speaking"]

#: a chunk as it came: X, y, weights or None, and its name for messages
Chunk = tuple[Any, Any, Any, str]


class DaskRows(Rows):
    """Rows of ``dask.array`` or ``dask.dataframe`` collections, computed once and held by the workers.

    Contiguous chunks go to the same worker. What does not fit into its memory is spilled to disk, as Dask does; what a
    worker takes with it when it dies is read again. Iterating brings one chunk after the other to this process.

    Parameters
    ----------
    X : dask array of shape (n, d) or dask DataFrame
        Inputs. Chunks of rows may be of unknown size; columns of an array are put together.
    Y : dask array of shape (n,) or (n, m), dask Series or DataFrame
        Targets, in as many chunks as X, or with known chunk sizes. Empty chunks are left out.
    weight : dask array of shape (n,) or dask Series, optional
        Weights of rows.
    client : distributed.Client, optional
        Who speaks to the cluster; the current one by default.
    """

    def __init__(self, X: Any, Y: Any, weight: Any = None, client: Any = None) -> None:
        self.client = client_of(client)
        parts = _aligned({"X": X, "Y": Y} | ({} if weight is None else {"weight": weight}))
        with speaking(self.client):
            owners = _owners(self.client, len(parts))
            chunks = _placed(self.client, owners, parts)
            sizes = self.client.gather(mapped(self.client, owners, _length, chunks))
        kept = [k for k, size in enumerate(sizes) if size]
        self.chunks: list[Any] = [chunks[k] for k in kept]
        self.sizes: list[int] = [sizes[k] for k in kept]
        self.owners: list[str] = [owners[k] for k in kept]
        if not self.chunks:
            raise DataError(f"DaskRows: none of the {len(sizes)} chunks has a row.")
        self.n_rows = sum(self.sizes)

    def read(self) -> Iterator[Any]:
        for chunk in self.chunks:
            with speaking(self.client):
                X, Y, weight, _ = chunk.result()
            yield np.asarray(X), np.asarray(Y), weight

    def sample(self, n: int) -> tuple[Any, Any, Any]:
        """Return X, Y and weights (or None) of ``n`` rows at equal steps as they came, or of all if there are fewer."""
        n_rows = sum(self.sizes)
        rows = np.unique(np.linspace(0, n_rows - 1, min(n, n_rows)).round().astype(int))
        starts = np.concatenate([[0], np.cumsum(self.sizes)])
        wanted = [rows[(rows >= a) & (rows < b)] - a for a, b in pairwise(starts)]
        with speaking(self.client):
            found = self.client.gather(mapped(self.client, self.owners, _taken, self.chunks, wanted))
        found = [part for part in found if len(part[0])]
        X, Y, weight = (_joined([part[k] for part in found]) for k in range(3))
        return X, Y, weight

    def batches(self, encode: Callable[[Any, Any, Any], tuple[Any, Any, Any]] | None = None) -> tuple[list, list]:
        """Return a future of a :class:`~mercer.rows.Batch` for each chunk, and the worker that it is meant for.

        They are made by ``encode(X, Y, weight)`` on the workers.
        """
        with speaking(self.client):
            sent = self.client.submit(_same, encode, pure=False)
            made = mapped(self.client, self.owners, _encoded, self.chunks, [sent] * len(self.chunks))
            sizes = self.client.gather(mapped(self.client, self.owners, _batch_length, made))
        kept = [k for k, size in enumerate(sizes) if size]
        return [made[k] for k in kept], [self.owners[k] for k in kept]


def client_of(client: Any) -> Any:
    """Return a client that speaks to a cluster, by default the current one."""
    try:
        import distributed
    except ImportError as error:
        raise UnsupportedError("dask.distributed is not installed: pip install 'mercer[dask]'.") from error
    if client is None:
        try:
            client = distributed.get_client()
        except ValueError as error:
            hint = "For instance client=distributed.Client(), with workers of this machine."
            raise UnsupportedError(f"There is no client that speaks to a cluster of Dask: pass one. {hint}") from error
    if not isinstance(client, distributed.Client):
        raise parameter_error("DaskRows", "client", client, "a distributed.Client or None")
    if client.status != "running":
        raise RowsLostError(
            f"The client of Dask is {client.status}: rows on its cluster cannot be reached. Open another."
        )
    return client


@contextmanager
def speaking(client: Any) -> Iterator[None]:
    """Say in our words what goes wrong between a client and its cluster; errors in the data pass."""
    import distributed

    gone = (CancelledError, distributed.comm.CommClosedError, distributed.client.ClosedClientError)
    try:
        yield
    except MercerError:
        raise
    except distributed.KilledWorker as error:
        raise RowsLostError(
            f"Workers died again and again at the same task, most likely as their memory was too small for it: {error} "
            "Take smaller chunks, fewer features, or workers with more memory."
        ) from error
    except gone as error:
        raise RowsLostError(
            f"The cluster of Dask cannot be reached any more (its client is {client.status}): {error}."
        ) from error


# -- collections ------------------------------------------------------------------------------------------------------


def _aligned(given: dict[str, Any]) -> list[list[Any]]:
    """Return the delayed chunks of all collections, chunk by chunk, or say why they do not belong together."""
    import dask.array

    first = given["X"]
    arrays = {name: one for name, one in given.items() if isinstance(one, dask.array.Array)}
    for name, one in given.items():
        if name not in arrays and not hasattr(one, "to_delayed"):
            hint = "dask.array.from_array(X, chunks=...) makes one of an array."
            raise parameter_error("DaskRows", name, one, "a dask array or a dask DataFrame", hint)
    for name, one in arrays.items():
        if one.ndim not in ((2,) if name == "X" else (1, 2)):
            raise DataError(f"DaskRows: X must have shape (n, d) and Y (n,) or (n, m); {name} has {one.ndim} axes.")
        known = name != "X" and "X" in arrays and not np.isnan([first.shape[0], one.shape[0]]).any()
        if known and one.shape[0] != first.shape[0]:
            raise DataError(f"DaskRows: X has {first.shape[0]} rows and {name} has {one.shape[0]}.")
        rows = first.chunks[0] if known else one.chunks[0]
        arrays[name] = one.rechunk({0: rows} if known and rows != one.chunks[0] else {})
        if one.ndim == 2 and len(one.chunks[1]) > 1:
            arrays[name] = arrays[name].rechunk({1: -1})
    delayed = {name: delayed_chunks(arrays.get(name, one)) for name, one in given.items()}
    counts = {name: len(chunks) for name, chunks in delayed.items()}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise DataError(
            f"DaskRows: chunks must belong together; their numbers differ: {listed}. Sizes of some are unknown: call "
            "compute_chunk_sizes() of arrays, or to_dask_array(lengths=True) of data frames, and pass arrays."
        )
    return [list(chunk) for chunk in zip(*delayed.values(), strict=True)]


def delayed_chunks(collection: Any) -> list[Any]:
    """Return one delayed object for each chunk of rows.

    Data frames are simplified only (columns that nobody uses are not read): Dask's last optimisation puts small files
    together, as many as the columns at hand suggest, so that X and y of the same table would come in different chunks.
    """
    if hasattr(collection, "simplify"):
        return list(collection.simplify().to_delayed(optimize_graph=False))
    return np.ravel(collection.to_delayed()).tolist()


def _owners(client: Any, n_chunks: int) -> list[str]:
    """Return the address of a worker for each chunk: contiguous chunks have the same one, all about as many."""
    addresses = sorted(client.nthreads()) or [""]
    return [addresses[k * len(addresses) // n_chunks] for k in range(n_chunks)]


def _placed(client: Any, owners: list[str], parts: list[list[Any]]) -> list[Any]:
    """Return futures of chunks, each on its worker as long as that lives."""
    import dask

    opened = dask.delayed(_opened, pure=False)
    futures: list[Any] = []
    for owner, index in groupby(range(len(parts)), owners.__getitem__):
        chunks = [opened(f"chunk {k}", *parts[k]) for k in index]
        futures += client.compute(chunks, optimize_graph=False, **_preferred(owner))
    return futures


def mapped(client: Any, owners: list[str], function: Any, *columns: list[Any], priority: int = 0) -> list[Any]:
    """Return futures of a function of each chunk, on the workers that are meant for them as long as these live.

    Left to itself, Dask moves chunks to a worker that waits for its own tasks to be handed out.
    """
    futures: list[Any] = []
    for owner, index in groupby(range(len(owners)), owners.__getitem__):
        chunks = list(index)
        given = [[column[k] for k in chunks] for column in columns]
        futures += client.map(function, *given, pure=False, priority=priority, **_preferred(owner))
    return futures


def _preferred(owner: str) -> dict[str, Any]:
    return {"workers": [owner], "allow_other_workers": True} if owner else {}


# -- what workers do --------------------------------------------------------------------------------------------------


def _opened(name: str, X: Any, Y: Any, weight: Any = None) -> Chunk:
    """Return a chunk whose parts belong together; X stays a data frame where it is one."""
    Y, weight = np.asarray(Y), None if weight is None else np.asarray(weight, dtype=float)
    lengths = {"X": len(X), "Y": len(Y)} | ({} if weight is None else {"weight": len(weight)})
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{part} {length}" for part, length in lengths.items())
        raise DataError(f"DaskRows: {name} has parts of different numbers of rows: {listed}.")
    return X, Y, weight, name


def _encoded(chunk: Chunk, encode: Any) -> Batch | None:
    """Return a chunk as numbers, None where no row is left."""
    X, Y, weight, name = chunk
    try:
        X, Y, weight = (X, Y, weight) if encode is None else encode(X, Y, weight)
    except MercerError as error:
        raise type(error)(f"{name}: {error}") from error
    except ValueError as error:  # scikit-learn's, of data
        raise DataError(f"{name}: {error}") from error
    return read_batch((X, Y, weight), f"DaskRows: {name}") if len(X) else None


def _taken(chunk: Chunk, rows: np.ndarray) -> tuple[Any, Any, Any]:
    X, Y, weight, _ = chunk
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows], Y[rows], None if weight is None else weight[rows]


def _joined(parts: list[Any]) -> Any:
    if parts[0] is None:
        return None
    if not hasattr(parts[0], "iloc"):
        return np.concatenate(parts)
    import pandas

    return pandas.concat(parts, ignore_index=True)


def _length(chunk: Chunk) -> int:
    return len(chunk[0])


def _batch_length(batch: Batch | None) -> int:
    return 0 if batch is None else batch.n_rows


def _same(value: Any) -> Any:
    return value
