"""Kernels on small labelled graphs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from mercer._params import check_number
from mercer.exceptions import DataError
from mercer.kernels.objects.counts import CountKernel

__all__ = ["Graph", "WeisfeilerLehman"]


class Graph(NamedTuple):
    """An undirected graph: a label for each node, and edges as pairs of numbers of nodes, or triples with a label.

    Examples
    --------
    >>> import numpy as np
    >>> Graph.from_adjacency(np.array([[0, 1], [1, 0]]), labels="CO")
    Graph(labels=['C', 'O'], edges=[(0, 1)])
    """

    labels: Sequence[Hashable]
    edges: Sequence[tuple]

    @classmethod
    def from_adjacency(cls, adjacency: Any, labels: Sequence[Hashable] | None = None) -> Graph:
        """Return the graph of a symmetric matrix whose entries but 0 are edges; nodes are alike by default."""
        matrix = np.asarray(adjacency)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or np.any((matrix != 0) != (matrix.T != 0)):
            raise DataError(f"Graph: an adjacency matrix is square and symmetric; got shape {matrix.shape}.")
        first, second = np.nonzero(np.triu(matrix))
        names: list[Hashable] = [0] * len(matrix) if labels is None else list(labels)
        return cls(names, list(zip(first.tolist(), second.tolist(), strict=True)))


@dataclass(eq=False, repr=False)
class WeisfeilerLehman(CountKernel):
    """Neighbourhoods in common: the kernel of the Weisfeiler–Lehman test of isomorphism (Shervashidze et al., 2011).

    k(G, H) = Σ_u c_u(G)c_u(H) over labels u: those of the nodes, then those in which a node carries the labels of its
    neighbours, ``iterations`` times over. Objects are :class:`Graph` or pairs (labels, edges). Neighbourhoods are told
    apart by 64 bits of a hash, two different ones being taken for the same with a probability of 1e-19. Wrap it in
    :class:`Normalised`: large graphs have many nodes.

    Parameters
    ----------
    iterations : int, default=3
        Radius of the largest neighbourhood.

    Examples
    --------
    >>> path, triangle = Graph("CCC", [(0, 1), (1, 2)]), Graph("CCC", [(0, 1), (1, 2), (0, 2)])
    >>> WeisfeilerLehman(iterations=1)([path, triangle])  # three alike, then two ends and a middle
    array([[14., 12.],
           [12., 18.]])
    """

    iterations: int = 3

    def _check(self) -> None:
        check_number(self, "iterations", self.iterations, low=0, strict=False, integer=True)

    def _counts(self, one):
        labels, neighbours = _read_graph(one)
        names = [_digest(repr(label)) for label in labels]
        counts: Counter = Counter((0, name) for name in names)
        for step in range(1, int(self.iterations) + 1):
            names = [
                _digest(repr((name, sorted((edge, names[other]) for other, edge in around))))
                for name, around in zip(names, neighbours, strict=True)
            ]
            counts.update((step, name) for name in names)
        return counts


def _read_graph(one: Any) -> tuple[list, list[list[tuple[int, str]]]]:
    """Return labels and, for each node, its neighbours with the labels of the edges; or refuse what is no graph."""
    if isinstance(one, (str, bytes)) or not isinstance(one, Sequence) or len(one) != 2:
        raise DataError("WeisfeilerLehman: a graph is Graph(labels, edges), or a pair of these.")
    labels = [label.item() if isinstance(label, np.generic) else label for label in one[0]]
    neighbours: list[list[tuple[int, str]]] = [[] for _ in labels]
    for edge in one[1]:
        if len(edge) not in (2, 3):
            raise DataError(f"WeisfeilerLehman: edges are pairs of nodes, or triples with a label; got {edge!r}.")
        a, b, *rest = edge
        if not (0 <= int(a) < len(labels) and 0 <= int(b) < len(labels)):
            raise DataError(
                f"WeisfeilerLehman: edge {tuple(edge)} joins nodes that are not there ({len(labels)} nodes)."
            )
        name = repr(rest[0]) if rest else ""
        neighbours[int(a)].append((int(b), name))
        if int(a) != int(b):
            neighbours[int(b)].append((int(a), name))
    return labels, neighbours


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()
