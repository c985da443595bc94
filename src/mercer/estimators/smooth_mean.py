"""A smooth mean curve: what all curves have in common, before anything depends on inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._state import Stateful
from mercer.backend import as_like, namespace, to_numpy
from mercer.estimators.regularisation import TIE
from mercer.kernels import Kernel
from mercer.linalg import positive_solver
from mercer.operator_valued.expansion import column_of
from mercer.operator_valued.representers import NodeRepresenters

__all__ = ["SmoothMean", "smooth_mean"]

#: penalties to choose from, in units of the mean eigenvalue of the kernel matrix
PENALTIES = np.logspace(-10, 1, 23)
#: points that choose kernel and penalty
MOST_POINTS = 200
#: least share of a value that counts as not explained by itself
LEAST_UNEXPLAINED = 1e-9


@dataclass(frozen=True, eq=False)
class SmoothMean(Stateful):
    """b(θ) = level + Σ_j c_j k(θ_j, θ), with values in R^p.

    Parameters
    ----------
    level : array of shape (p,)
        The mean of all values, to which b returns far from the points.
    representers : NodeRepresenters
        k(θ_j, ·), m functions.
    coef : array of shape (m, p)
        c.
    """

    level: Any
    representers: NodeRepresenters
    coef: Any

    def evaluate(self, points: Any) -> Any:
        """Return b at points of shape (k,) or (k, d), shape (k·p,)."""
        section = self.representers.values(as_like(column_of(points), self.coef))
        return namespace(self.coef).reshape(section.T @ self.coef + self.level[None, :], (-1,))

    def slope(self, points: Any) -> Any:
        """Return b' at points of the line, shape (k·p,)."""
        section = self.representers.slopes(as_like(column_of(points), self.coef))
        return namespace(self.coef).reshape(section.T @ self.coef, (-1,))


def smooth_mean(
    points: np.ndarray,
    values: np.ndarray,
    weights: np.ndarray,
    kernels: Sequence[Kernel],
    like: Any,
    doubt: float = 0.0,
) -> SmoothMean:
    """Return the ridge regression of values on points whose left-out values are predicted best.

    Minimises Σ_j w_j |v_j − level − g(θ_j)|² + ρ‖g‖² over g in the space of k; ρ and k are chosen by leave-one-out in
    closed form: the smoothest ones whose mean squared error is at most the least one and ``doubt``.

    Parameters
    ----------
    points : array of shape (m, d)
        θ_j.
    values : array of shape (m, p)
        v_j.
    weights : array of shape (m,)
        w_j > 0.
    kernels : sequence of Kernel
        Candidates for k, smooth ones first, with numbers for their parameters.
    like : array
        Of the library of the result.
    doubt : float, default=0.0
        Variance of the values around what they are means of.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> theta = np.linspace(0, 1, 30)[:, None]
    >>> b = smooth_mean(theta, np.sin(6 * theta), np.ones(30), [Gaussian(1.0), Gaussian(10.0)], theta)
    >>> bool(abs(b.evaluate(np.array([[0.51]])) - np.sin(3.06)) < 1e-3)
    True
    """
    points, values, weights = _distinct(points, values, weights)
    level = weights @ values / weights.sum()
    rest = values - level
    rest[np.abs(rest) <= 8 * np.finfo(float).eps * np.abs(level)] = 0.0
    some = np.unique(np.linspace(0, len(points) - 1, MOST_POINTS).round().astype(int))
    errors = np.array([_left_out(kernel, points[some], rest[some], weights[some]) for kernel in kernels])
    good = np.argwhere(errors <= errors.min() * (1 + TIE) + doubt).tolist()
    which, place = min(good, key=lambda one: (one[0], -one[1]))
    coef = _ridge(kernels[which], float(PENALTIES[place]), points, rest, weights)
    representers = NodeRepresenters(kernels[which], as_like(points, like))
    return SmoothMean(as_like(level, like), representers, as_like(coef, like))


def _distinct(points: np.ndarray, values: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return each point once, with the mean of its values and the sum of weights: twins would predict each other."""
    distinct, which = np.unique(points, axis=0, return_inverse=True)
    mass = np.bincount(which.ravel(), weights=weights)
    sums = np.zeros((len(distinct), values.shape[1]))
    np.add.at(sums, which.ravel(), weights[:, None] * values)
    return distinct, sums / mass[:, None], mass


def _whitened(kernel: Kernel, points: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return W^½ K W^½ and W^½, weights of mean 1."""
    root = np.sqrt(weights / weights.mean())
    return root[:, None] * to_numpy(kernel(points)) * root, root


def _left_out(kernel: Kernel, points: np.ndarray, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the mean squared error of left-out values for each penalty."""
    matrix, root = _whitened(kernel, points, weights)
    spectrum, vectors = np.linalg.eigh(matrix)
    spectrum, targets = np.maximum(spectrum, 0.0), root[:, None] * values
    inner, errors = vectors.T @ targets, np.empty(len(PENALTIES))
    for k, penalty in enumerate(PENALTIES * max(float(spectrum.mean()), np.finfo(float).tiny)):
        shrink = penalty / (penalty + spectrum)
        residual, room = vectors @ (shrink[:, None] * inner), (vectors**2) @ shrink
        errors[k] = np.sum((residual / np.maximum(room, LEAST_UNEXPLAINED)[:, None]) ** 2) / len(points)
    return errors


def _ridge(kernel: Kernel, penalty: float, points: np.ndarray, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the coefficients of the ridge regression, shape (m, p)."""
    matrix, root = _whitened(kernel, points, weights)
    shift = penalty * max(float(np.mean(np.diagonal(matrix))), np.finfo(float).tiny)
    matrix[np.diag_indices_from(matrix)] += shift
    return root[:, None] * positive_solver(matrix, np.finfo(float).eps * float(np.trace(matrix)))(
        root[:, None] * values
    )
