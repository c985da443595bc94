"""Which rows are near each other: a sparse graph, and the price of functions that change along its edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse
from scipy.spatial import KDTree

from mercer.backend import to_numpy
from mercer.exceptions import DataError, parameter_error
from mercer.kernels import Kernel, Restricted

__all__ = ["neighbour_graph", "read_graph", "view_price"]


def neighbour_graph(X: np.ndarray, n_neighbors: int) -> Any:
    """Return the sparse graph in which a row and its nearest neighbours, in standardised columns, have edges.

    Edges have weight 1, and are there where one of two rows is among the nearest of the other.

    Examples
    --------
    >>> import numpy as np
    >>> neighbour_graph(np.array([[0.0], [1.0], [5.0]]), 1).toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """
    n = len(X)
    if n < 2:
        return scipy.sparse.csr_array((n, n))
    scale, k = X.std(axis=0), min(n_neighbors, n - 1)
    points = X / np.where(scale > 0, scale, 1.0)
    near = KDTree(points).query(points, k + 1)[1]
    self_last = np.argsort(near == np.arange(n)[:, None], axis=1, kind="stable")  # equal points may hide a row itself
    others = np.take_along_axis(near, self_last, axis=1)[:, :k]
    edges = scipy.sparse.csr_array((np.ones(n * k), (np.repeat(np.arange(n), k), others.ravel())), shape=(n, n))
    return scipy.sparse.csr_array(edges.maximum(edges.T))


def read_graph(
    owner: object, graph: Any, n_neighbors: int, X: np.ndarray, keep: np.ndarray | None, views: Sequence[Kernel]
) -> tuple[np.ndarray, list[Any]]:
    """Return the points of the graph, (k, d), and the adjacency of each view, sparse.

    Parameters
    ----------
    owner : object
        Named in errors.
    graph : "neighbors", array or sparse matrix of shape (n, n), or callable
        As it was given; a function of the points of a view returns an adjacency.
    n_neighbors : int
        Of "neighbors".
    X : array of shape (n, d)
        Rows, with targets or without.
    keep : array of bool, shape (n,), or None
        Rows of positive weight.
    views : sequence of Kernel
        k_a; of one that is restricted to some columns the neighbours are those in these columns.
    """
    if isinstance(graph, str) and graph != "neighbors":
        allowed = "'neighbors', a symmetric matrix of shape (n_samples, n_samples), or a function of X that returns one"
        raise parameter_error(owner, "graph", graph, allowed)
    if isinstance(graph, str) or callable(graph):  # of distinct rows: a row that is repeated is one point
        points = np.unique(X if keep is None else X[keep], axis=0)
        seen = [points[:, _columns(view, points.shape[1])] for view in views]
        made = [graph(one) if callable(graph) else neighbour_graph(one, n_neighbors) for one in seen]
        return points, [_adjacency(owner, one, len(points)) for one in made]
    whole = _adjacency(owner, graph, len(X))
    if keep is not None:
        whole, X = whole[keep][:, keep], X[keep]
    return X, [whole] * len(views)


def view_price(adjacencies: Sequence[Any], agreement: float) -> Any:
    """Return M of uᵀMu = Σ_a ½ Σ_ik S^a_ik (u^a_i − u^a_k)² + γ Σ_{a<b} Σ_i (u^a_i − u^b_i)², sparse, views in turn.

    Examples
    --------
    >>> import scipy.sparse
    >>> view_price([scipy.sparse.csr_array([[0.0, 1.0], [1.0, 0.0]])], agreement=1.0).toarray()
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    laplacians = [scipy.sparse.diags_array(S.sum(axis=1)) - S for S in adjacencies]
    views, n = len(adjacencies), adjacencies[0].shape[0]
    between = views * np.eye(views) - 1
    return scipy.sparse.csr_array(
        scipy.sparse.block_diag(laplacians) + agreement * scipy.sparse.kron(between, scipy.sparse.eye_array(n))
    )


def _columns(kernel: Kernel, d: int) -> Any:
    return np.atleast_1d(to_numpy(kernel.columns)) if isinstance(kernel, Restricted) else np.arange(d)


def _adjacency(owner: object, given: Any, n: int) -> Any:
    """Return S without its diagonal, sparse: symmetric, finite and not negative."""
    name = type(owner).__name__
    try:
        S = scipy.sparse.csr_array(given if scipy.sparse.issparse(given) else to_numpy(given), dtype=float)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name}: graph must hold numbers: {error}.") from error
    if S.shape != (n, n):
        raise DataError(
            f"{name}: graph must have shape ({n}, {n}), a row and a column for each row of X, those without targets "
            f"included; got {S.shape}. graph='neighbors' makes one."
        )
    if not np.all(np.isfinite(S.data)) or np.min(S.data, initial=0.0) < 0:
        raise DataError(f"{name}: graph must be finite and not negative: larger numbers for rows more alike.")
    if abs(S - S.T).max() > 1e-9 * max(S.max(), 0.0):
        raise DataError(f"{name}: graph must be symmetric. Pass (S + S.T) / 2, or S.maximum(S.T).")
    S = (S + S.T) / 2
    return scipy.sparse.csr_array(S - scipy.sparse.diags_array(S.diagonal()))
