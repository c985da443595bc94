"""Fits and predictions on a Dask cluster, whose workers keep the rows: what is exchanged has the size of features."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._params import check_number
from mercer.estimators.block_fit import StreamedFit
from mercer.exceptions import parameter_error
from mercer.interop.dask_blocks import DaskBlocks
from mercer.interop.dask_rows import DaskRows, delayed_chunks

__all__ = ["DaskBlocks", "DaskRows", "fit", "predict"]

#: rows that choices are made on where nobody says
SAMPLE_ROWS = 5000


def fit(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None, client: Any = None, n_sample: int = SAMPLE_ROWS
) -> Any:
    """Fit an estimator to Dask collections, with the certificate of a fit in memory.

    All that is chosen (bandwidths, landmarks or frequencies, ``alpha="auto"``, thresholds, encodings of columns) is
    chosen by the estimator itself on ``n_sample`` rows at equal steps; with no more rows than that it is what ``fit``
    would choose. Then the problem with these features is solved on all rows, to the ``tol`` of the estimator: by normal
    equations for the square loss, otherwise by ADMM and the like, whose dual variables stay with their rows. What
    comes back is an ordinary estimator: it predicts arrays, and is saved as any other.

    Parameters
    ----------
    estimator : KernelQuantileRegressor, CostSensitiveClassifier or VectorValuedRegressor
        With ``approximation`` a FeatureMap, or "auto" for landmarks. Quantiles are those of ``stages="joint"``.
    X, y : dask array or DataFrame
        Inputs and targets; see :class:`DaskRows`. Columns of a data frame may hold text and categories.
    sample_weight : dask array or Series of shape (n,), optional
        Weights of rows.
    client : distributed.Client, optional
        The current one by default.
    n_sample : int, default=5000
        Rows of the sample, which come to this process.

    Returns
    -------
    estimator
        Itself, fitted. Where a fit fails it is left as it was; where the cluster is lost in the middle, it is the best
        model that was looked at, with ``status_ == "stopped"`` and a warning.
    """
    check_number("fit", "n_sample", n_sample, low=10, strict=False, integer=True)
    rows = DaskRows(X, y, sample_weight, client)
    learned = StreamedFit(estimator, *rows.sample(int(n_sample)))
    blocks = DaskBlocks(learned.kernel, rows, learned.encode)
    del rows  # as they came; what is left are numbers
    return learned.fit(blocks)


def predict(method: Callable[..., Any], X: Any, *args: Any, **kwargs: Any) -> Any:
    """Return what a method of a fitted estimator says of the rows of a Dask collection, as a lazy array.

    Parameters
    ----------
    method : callable
        Such as ``model.predict`` or ``model.predict_quantile``: rows in, one array with as many rows out.
    X : dask array of shape (n, d) or dask DataFrame
        Inputs.
    *args, **kwargs
        What the method takes beside them, ``predict(model.predict_quantile, X, [0.1, 0.9])``.

    Returns
    -------
    dask array of shape (n,) or (n, k)
    """
    import dask.array

    array = isinstance(X, dask.array.Array)
    if not array and not hasattr(X, "map_partitions"):
        raise parameter_error("predict", "X", X, "a dask array or a dask DataFrame")
    row = np.zeros((1, X.shape[1])) if array else X._meta_nonempty.iloc[:1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a row that is nobody's
        like = np.asarray(method(row, *args, **kwargs))
    told = _Told(method, args, kwargs, like[:0])
    if not array:
        parts = [dask.delayed(told)(part) for part in delayed_chunks(X)]
        made = [dask.array.from_delayed(one, (np.nan, *like.shape[1:]), meta=like[:0]) for one in parts]
        return dask.array.concatenate(made, allow_unknown_chunksizes=True)
    X = X.rechunk({1: -1})
    if like.ndim == 1:
        return X.map_blocks(told, drop_axis=1, dtype=like.dtype, meta=like[:0])
    columns = {"chunks": (X.chunks[0], *((size,) for size in like.shape[1:]))}
    new = {"new_axis": list(range(2, like.ndim))} if like.ndim > 2 else {}
    return X.map_blocks(told, dtype=like.dtype, meta=like[:0], **columns, **new)


class _Told:
    """A method with its arguments; of a chunk without rows it says nothing."""

    def __init__(self, method: Callable[..., Any], args: tuple, kwargs: dict[str, Any], empty: np.ndarray) -> None:
        self.method, self.args, self.kwargs, self.empty = method, args, kwargs, empty

    def __call__(self, X: Any) -> np.ndarray:
        return np.asarray(self.method(X, *self.args, **self.kwargs)) if len(X) else self.empty
