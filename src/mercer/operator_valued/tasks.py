"""Matrices Γ that say which outputs are alike: given, of low rank, or from a graph of tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from mercer._params import check_number
from mercer.backend import as_like, to_numpy
from mercer.exceptions import DataError, parameter_error
from mercer.kernels import Kernel, parameter_slopes
from mercer.operator_valued.components import check_output_matrix

__all__ = ["Indexed", "graph_matrix", "low_rank_matrix", "task_similarities"]


@dataclass(eq=False, repr=False)
class Indexed(Kernel):
    """k(a, b) = Γ_ab on the indices 0, ..., p − 1: the output kernel of vectors, as functions of their index.

    ``Decomposable(k, Indexed(Γ))`` is the kernel k(x, z)Γ on vectors in R^p, bound to ``Measure(np.arange(p),
    np.ones(p))``.

    Parameters
    ----------
    output_matrix : array of shape (p, p)
        Γ, symmetric and positive semi-definite.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.measures import Measure
    >>> from mercer.operator_valued import Decomposable
    >>> kernel = Decomposable(Gaussian(1.0), Indexed([[1.0, 0.5], [0.5, 1.0]]))
    >>> kernel.bind(Measure(np.arange(2.0), np.ones(2))).gram(np.array([[0.0]])).to_dense()
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    output_matrix: Any

    def _check(self) -> None:
        check_output_matrix(self, self.output_matrix)

    def _index(self, points: Any) -> np.ndarray:
        """Return points as indices, or refuse what is none."""
        p, values = len(self.output_matrix), to_numpy(points)
        if values.shape[1] != 1 or not np.all((values == np.round(values)) & (values >= 0) & (values < p)):
            raise DataError(
                f"Indexed: points are the indices 0, ..., {p - 1} of the rows of output_matrix, one a row; got "
                f"{np.array2string(values.ravel(), threshold=6)}. A matrix or a graph has as many rows as there are "
                "outputs."
            )
        return values[:, 0].astype(int)

    def _evaluate(self, X, Z):
        matrix = check_output_matrix(self, self.output_matrix)
        return as_like(matrix[np.ix_(self._index(X), self._index(Z))], X)

    def _diagonal(self, X):
        return as_like(np.diagonal(check_output_matrix(self, self.output_matrix))[self._index(X)], X)

    def restrict(self, columns):
        raise parameter_error(self, "columns", columns, "left out", "Indices have one column.")


@parameter_slopes.register
def _of_indexed(kernel: Indexed, X: np.ndarray, slope: np.ndarray) -> dict[str, np.ndarray]:
    """∂V/∂Γ_ab, entries taken as independent."""
    p, index = len(kernel.output_matrix), kernel._index(X)
    found = np.zeros((p, p))
    np.add.at(found, np.ix_(index, index), slope)
    return {"output_matrix": found}


def graph_matrix(adjacency: Any, *, ridge: float = 0.0, n_outputs: int | None = None) -> np.ndarray:
    """Return Γ = (L + ridge·I)⁻¹ for the Laplacian L = diag(Σ_b M_ab) − M of a graph of tasks.

    With ``ridge = 0`` it is the pseudo-inverse L†: ‖h‖² is then ½ Σ_ab M_ab ‖h_a − h_b‖², which draws tasks together,
    and functions h whose outputs sum to 0 (in each connected part of the graph) are all there are; an intercept carries
    what tasks have in common. A small ``ridge`` lets them have a function in common, at the price ridge·‖h_a‖².

    Parameters
    ----------
    adjacency : array or sparse matrix of shape (p, p)
        M ≥ 0, symmetric: how alike two tasks are. Its diagonal does not matter.
    ridge : float, default=0.0
        Not negative.
    n_outputs : int, optional
        p, where it is known, to be compared with.

    Examples
    --------
    >>> import numpy as np
    >>> graph_matrix(np.array([[0.0, 1.0], [1.0, 0.0]]))
    array([[ 0.25, -0.25],
           [-0.25,  0.25]])
    """
    check_number("graph_matrix", "ridge", ridge, low=0, strict=False)
    dense = adjacency.toarray() if scipy.sparse.issparse(adjacency) else adjacency
    try:
        M = np.asarray(to_numpy(dense), dtype=float)
    except (TypeError, ValueError) as error:
        raise DataError(f"graph_matrix: adjacency must hold numbers: {error}.") from error
    if M.ndim != 2 or M.shape[0] != M.shape[1] or len(M) != (len(M) if n_outputs is None else n_outputs):
        p = "p" if n_outputs is None else n_outputs
        raise DataError(
            f"graph_matrix: adjacency must have shape ({p}, {p}), a row and a column for each task; got {M.shape}."
        )
    if not np.all(np.isfinite(M)) or np.min(M, initial=0.0) < 0:
        raise DataError("graph_matrix: adjacency must be finite and not negative: larger numbers for tasks more alike.")
    if np.max(np.abs(M - M.T), initial=0.0) > 1e-9 * np.max(M, initial=0.0):
        raise DataError("graph_matrix: adjacency must be symmetric. Pass (M + M.T) / 2.")
    M = (M + M.T) / 2
    np.fill_diagonal(M, 0.0)
    if ridge == 0 and not np.any(M):
        raise DataError("graph_matrix: no two tasks are connected, so that L = 0. Pass ridge > 0, or edges.")
    values, vectors = np.linalg.eigh(np.diag(M.sum(axis=1)) - M)
    small = values <= len(M) * np.finfo(float).eps * values[-1]
    if ridge > 0:
        inverse = 1 / (np.where(small, 0.0, values) + ridge)
    else:
        inverse = np.where(small, 0.0, 1 / np.where(small, 1.0, values))
    return (vectors * inverse) @ vectors.T


def task_similarities(Y: Any, gamma: Any = "median") -> np.ndarray:
    """Return M_ab = exp(−γ‖y^a − y^b‖) for the columns of Y: a graph of tasks from their targets.

    Parameters
    ----------
    Y : array of shape (n, p)
        Targets. Of columns with missing values (NaN) the rows are compared that both have, and the sum of squares is
        scaled to n rows; columns without a row in common are not connected.
    gamma : float or "median", default="median"
        γ > 0; the median of the distances gives γ = 1/median.

    Examples
    --------
    >>> import numpy as np
    >>> task_similarities(np.array([[0.0, 0.0, 3.0], [0.0, 0.0, 4.0]]), gamma=0.2).round(3)
    array([[1.   , 1.   , 0.368],
           [1.   , 1.   , 0.368],
           [0.368, 0.368, 1.   ]])
    """
    Y = np.asarray(to_numpy(Y), dtype=float)
    if Y.ndim != 2:
        raise DataError(f"task_similarities: Y must have shape (n, p); got {Y.shape}.")
    if np.any(np.isinf(Y)):
        raise DataError("task_similarities: Y must not contain infinity; NaN says that a target is missing.")
    seen = ~np.isnan(Y)
    together = (seen.T.astype(float)) @ seen
    squares = np.array([np.nansum((Y - column[:, None]) ** 2, axis=0) for column in Y.T])
    apart = np.where(together > 0, len(Y) * squares / np.maximum(together, 1), np.inf)
    distances = np.sqrt(np.maximum(apart, 0.0))
    if isinstance(gamma, str) and gamma == "median":
        others = distances[np.triu_indices(len(distances), 1)]
        positive = others[(others > 0) & np.isfinite(others)]
        gamma = 1 / float(np.median(positive)) if positive.size else 1.0
    check_number("task_similarities", "gamma", gamma, low=0, hint="Or 'median'.")
    return np.exp(-float(gamma) * distances)


def low_rank_matrix(matrix: Any, rank: int) -> np.ndarray:
    """Return the positive semi-definite matrix of some rank that is nearest to Γ: its leading eigenpairs.

    Examples
    --------
    >>> import numpy as np
    >>> low_rank_matrix(np.array([[2.0, 1.0], [1.0, 2.0]]), rank=1)
    array([[1.5, 1.5],
           [1.5, 1.5]])
    """
    matrix = check_output_matrix("low_rank_matrix", matrix)
    check_number("low_rank_matrix", "rank", rank, low=1, high=len(matrix), strict=False, integer=True)
    values, vectors = np.linalg.eigh(matrix)
    leading = vectors[:, -rank:] * np.sqrt(np.maximum(values[-rank:], 0.0))
    return leading @ leading.T
