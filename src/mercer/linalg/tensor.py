"""T ⊗ A on vectors of (node, component) entries: two small matrices instead of a large one."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import backend
from mercer.backend import is_numpy, machine_epsilon, namespace, to_numpy
from mercer.linalg.eigen import Eigen, congruence, eigh, norm2
from mercer.linalg.operators import PSD, Dense, LinearOperator

__all__ = ["Tensor", "complete_eigenbasis"]


class Tensor(LinearOperator):
    """T ⊗ A for a positive semi-definite operator T (m×m) and matrix A (p×p), on vectors with the component last.

    The output Gram of functions with values in R^p. Its eigenpairs are products of those of T and A.

    Parameters
    ----------
    nodes : LinearOperator
        T.
    components : array of shape (p, p)
        A, symmetric and positive semi-definite.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg import Dense
    >>> Tensor(Dense(np.array([[2.0]])), np.array([[1.0, 0.5], [0.5, 1.0]])).to_dense()
    array([[2., 1.],
           [1., 2.]])
    """

    tags = PSD

    def __init__(self, nodes: LinearOperator, components: Any) -> None:
        self.nodes, self.components = nodes, components

    @property
    def shape(self):
        size = self.nodes.shape[0] * self.components.shape[0]
        return (size, size)

    @property
    def like(self):
        return self.components

    @property
    def adjoint(self):
        return self

    def apply(self, array):
        xp = namespace(array)
        m, p = self.nodes.shape[0], self.components.shape[0]
        mixed = self.components @ xp.reshape(array, (m, p, -1))
        return xp.reshape(self.nodes @ xp.reshape(mixed, (m, -1)), tuple(array.shape))

    def diagonal(self):
        xp = namespace(self.components)
        return xp.reshape(self.nodes.diagonal()[:, None] * xp.linalg.diagonal(self.components)[None, :], (-1,))

    def _dense(self):
        return _product(self.nodes.to_dense(), self.components)


def _product(left: Any, right: Any) -> Any:
    """Return the Kronecker product of two matrices."""
    xp = namespace(left)
    rows, columns = left.shape[0] * right.shape[0], left.shape[1] * right.shape[1]
    return xp.reshape(left[:, None, :, None] * right[None, :, None, :], (rows, columns))


@norm2.register
def _(operator: Tensor, steps: int = 60) -> float:
    return norm2(operator.nodes, steps) * norm2(Dense(operator.components))


@congruence.register
def _(operator: Tensor, scale: Any) -> LinearOperator:
    by_node = namespace(scale).reshape(scale, (operator.nodes.shape[0], -1))
    xp = namespace(scale)
    if bool(xp.all(by_node == by_node[:, :1])):
        return Tensor(congruence(operator.nodes, by_node[:, 0]), operator.components)
    nodes, components = by_node[:, 0], by_node[0, :] / by_node[0, 0]
    other = xp.max(xp.abs(by_node - nodes[:, None] * components[None, :]))
    if float(other) > 8 * machine_epsilon(scale) * float(xp.max(xp.abs(by_node))):  # no product of weights
        return Dense(operator.to_dense() * scale[:, None] * scale[None, :], operator.tags)
    return Tensor(congruence(operator.nodes, nodes), components[:, None] * operator.components * components[None, :])


@eigh.register
def _(operator: Tensor, tolerance: float = 0.0, max_rank_share: float = 0.25) -> Eigen:
    """Products of eigenpairs; half of the tolerance goes to those of T, the rest to small products."""
    trace = float(
        namespace(operator.components).sum(namespace(operator.components).linalg.diagonal(operator.components))
    )
    nodes = eigh(operator.nodes, tolerance / (2 * trace) if trace > 0 else 0.0, max_rank_share)
    components = eigh(Dense(operator.components))
    xp = namespace(nodes.values)
    values = xp.reshape(nodes.values[:, None] * components.values[None, :], (-1,))
    order = xp.argsort(values, descending=True)
    values = xp.take(values, order)
    size = int(values.shape[0])
    top = float(values[0]) if size else 0.0
    tail = xp.flip(xp.cumulative_sum(xp.flip(values)))
    small = (tail <= tolerance / 2) | (values <= operator.shape[0] * machine_epsilon(values) * top)
    kept = max(size - int(xp.sum(xp.astype(small, xp.int64))), min(size, 1) if top > 0 else 0)
    vectors = xp.take(_product(nodes.vectors, components.vectors), order[:kept], axis=1)
    if is_numpy(vectors):
        vectors = np.ascontiguousarray(vectors)
    left_out = (float(tail[kept]) if kept < size else 0.0) + nodes.trace_left_out * trace
    return Eigen(values[:kept], vectors, left_out)


def complete_eigenbasis(operator: LinearOperator) -> tuple[np.ndarray, np.ndarray]:
    """Return all eigenvalues, the largest first and none below 0, and an orthonormal basis of eigenvectors (NumPy)."""
    if isinstance(operator, Tensor):
        parts = [complete_eigenbasis(part) for part in (operator.nodes, Dense(operator.components))]
        values = np.multiply.outer(parts[0][0], parts[1][0]).ravel()
        order = np.argsort(-values, kind="stable")
        return values[order], np.ascontiguousarray(_product(parts[0][1], parts[1][1])[:, order])
    values, vectors = backend.eigh(to_numpy(operator.to_dense()).astype(float))
    return np.maximum(values[::-1], 0), np.ascontiguousarray(vectors[:, ::-1])
