"""Kernels for inputs that are known to be functions, alone or with scalars: what curves may be compared by."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add, mul
from typing import Any

import numpy as np

from mercer.backend import to_numpy
from mercer.kernels import Gaussian, IntegralGaussian, Kernel, Projected, median_distance
from mercer.measures import Points
from mercer.preprocessing import TableEncoder
from mercer.preprocessing.curve_column import CurveColumn

__all__ = ["curve_kernels"]

#: columns of a part of the table, and its curves if it has some
Part = tuple[np.ndarray, CurveColumn | None]

#: how many times the scale of one part is that of the others, where it is thought to matter more
EMPHASIS = 4.0
#: share of the variance of curves that principal components have to have, and the most of them
COMPARED_SHARE, MOST_COMPARED = 0.999, 30


def curve_kernels(X: Any, encoder: TableEncoder | None, lengths: Sequence[float]) -> list[list[Kernel]]:
    """Return families of kernels, each of falling length, for a table with columns of curves; none for others.

    Parts of the table are its curves, each one by itself, and its other columns together; all have the same mean square
    distance. Curves are compared

    - by values, standardised at each point, as the columns of any table: that is the default, and not returned here;
    - in L², exp(−γ‖x − z‖²);
    - by the integral kernel ∫ exp(−γ(x(t) − z(t))²) dt, times a Gaussian of what is no curve;
    - in L² with their derivatives, ‖x − z‖² + ρ‖x' − z'‖², both terms alike in mean;
    - by scores of principal components, each divided by the root of its standard deviation;

    and where there are several parts, in L² with one of them that matters more, and as a sum over parts.
    """
    parts = _parts(encoder)
    if not any(curve is not None for _, curve in parts):
        return []
    X = to_numpy(X).astype(float)
    plain = [_l2(X, *part) for part in parts]
    families = [_joined(X, parts, plain, lengths), _integral(X, parts, plain, lengths)]
    for change in (_with_derivative, _components):
        blocks = [
            one if curve is None else change(X, columns, curve)
            for (columns, curve), one in zip(parts, plain, strict=True)
        ]
        families.append(_joined(X, parts, blocks, lengths))
    if len(parts) > 1:
        for k in range(len(parts)):
            heavy = [np.sqrt(EMPHASIS) * one if j == k else one for j, one in enumerate(plain)]
            families.append(_joined(X, parts, heavy, lengths))
        families.append(_summed(X, parts, plain, lengths))
    return families


def _parts(encoder: TableEncoder | None) -> list[Part]:
    """Return the encoded columns of each curve, and of all that is none."""
    if encoder is None:
        return []
    ends = np.cumsum(encoder.widths_)
    places = [np.arange(end - width, end) for end, width in zip(ends, encoder.widths_, strict=True)]
    curves: list[Part] = [
        (own, each) for own, each in zip(places, encoder.columns_, strict=True) if isinstance(each, CurveColumn)
    ]
    others = [own for own, each in zip(places, encoder.columns_, strict=True) if not isinstance(each, CurveColumn)]
    scalars = np.concatenate([np.zeros(0, dtype=int), *others])
    return [*curves, (scalars, None)] if len(scalars) else curves


def _l2(X: np.ndarray, columns: np.ndarray, curve: CurveColumn | None) -> np.ndarray:
    """Return a matrix after which Euclidean distances are those of L², or of standardised scalars; (width, r)."""
    if curve is None:
        deviation = X[:, columns].std(axis=0)
        return _normed(X, columns, np.diag(np.divide(1.0, deviation, out=np.zeros(len(columns)), where=deviation > 0)))
    return _normed(X, columns, np.diag(np.sqrt(curve.weights)))


def _with_derivative(X: np.ndarray, columns: np.ndarray, curve: CurveColumn) -> np.ndarray:
    """Return one after which they are those of functions and derivatives, by differences of neighbours."""
    values = _l2(X, columns, curve)
    if curve.points.ndim == 2 or len(curve.points) < 3:
        return values
    steps = np.diff(curve.points)
    slopes = np.diff(np.eye(len(columns)), axis=0).T / np.sqrt(steps)  # ∫ (x')² is the sum of (Δx)²/Δt
    return np.hstack([values, _normed(X, columns, slopes)]) / np.sqrt(2)


def _components(X: np.ndarray, columns: np.ndarray, curve: CurveColumn) -> np.ndarray:
    """Return one that makes scores of principal components, divided by the roots of their standard deviations."""
    root = np.sqrt(curve.weights)
    centred = X[:, columns] - X[:, columns].mean(axis=0)
    _, sizes, directions = np.linalg.svd(centred * root, full_matrices=False)
    shares = np.cumsum(sizes**2)
    keep = min(1 + int(np.searchsorted(shares, COMPARED_SHARE * shares[-1])), MOST_COMPARED, len(sizes))
    keep = int(np.sum(sizes[:keep] > 0))
    if keep == 0:
        return _l2(X, columns, curve)
    return _normed(X, columns, (root * directions[:keep] / np.sqrt(sizes[:keep, None])).T)


def _normed(X: np.ndarray, columns: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return the matrix scaled so that rows have mean square 1 after it, about their mean."""
    size = float(np.sqrt(np.mean(np.sum(((X[:, columns] - X[:, columns].mean(axis=0)) @ matrix) ** 2, axis=1))))
    return matrix / size if size > 0 else matrix


def _joined(X: np.ndarray, parts: list, blocks: list[np.ndarray], lengths: Sequence[float]) -> list[Kernel]:
    """Return Gaussians of all parts, each after its block; of the columns themselves where all blocks are diagonal."""
    matrix = np.zeros((X.shape[1], sum(block.shape[1] for block in blocks)))
    start = 0
    for (columns, _), block in zip(parts, blocks, strict=True):
        matrix[columns, start : start + block.shape[1]] = block
        start += block.shape[1]
    gamma = 1 / median_distance((X - X.mean(axis=0)) @ matrix) ** 2
    if np.array_equal(np.count_nonzero(matrix, axis=0) <= 1, np.ones(matrix.shape[1], dtype=bool)):
        scales = np.sum(matrix**2, axis=1)
        return [Gaussian(gamma * scales / length**2) for length in lengths]
    return [Projected(Gaussian(gamma / length**2), matrix) for length in lengths]


def _integral(X: np.ndarray, parts: list, blocks: list[np.ndarray], lengths: Sequence[float]) -> list[Kernel]:
    """Return products of integral Gaussians of curves, and Gaussians of what is none."""
    kernels = []
    for length in lengths:
        factors: list[Kernel] = []
        for (columns, curve), block in zip(parts, blocks, strict=True):
            if curve is None:
                kernel = _restricted(X, columns, block, length)
            else:
                rule = Points(curve.points, curve.weights)
                unit: Any = IntegralGaussian("median", rule).adapt(X[:, columns])
                kernel = IntegralGaussian(unit.gamma / length**2, rule)
                kernel = kernel if len(parts) == 1 else kernel.restrict(columns)
            factors.append(kernel)
        kernels.append(reduce(mul, factors))
    return kernels


def _summed(X: np.ndarray, parts: list, blocks: list[np.ndarray], lengths: Sequence[float]) -> list[Kernel]:
    """Return sums of Gaussians, one for each part."""
    return [
        reduce(add, [_restricted(X, columns, block, length) for (columns, _), block in zip(parts, blocks, strict=True)])
        for length in lengths
    ]


def _restricted(X: np.ndarray, columns: np.ndarray, block: np.ndarray, length: float) -> Kernel:
    """Return a Gaussian of one part, after its diagonal block."""
    gamma = 1 / median_distance((X[:, columns] - X[:, columns].mean(axis=0)) @ block) ** 2
    return Gaussian(gamma * np.diag(block) ** 2 / length**2).restrict(columns)
