"""Parameters of kernels as one flat array of numbers that may have any values, for algorithms that follow slopes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.backend import to_numpy

__all__ = ["KernelCoordinates"]

#: parameters that may have any sign, by the last word of their names; "output_matrix" is a factor times its transpose
FREE = ("frequencies", "matrix")
FACTORED = "output_matrix"


@dataclass(frozen=True)
class KernelCoordinates:
    """How parameters p follow from a flat array u, which is 0 at the parameters to start from.

    Positive numbers are p·exp(u); where one is 0 (a column that is ignored) it stays so. Frequencies and matrices of
    linear functions are p + r·u, r their root mean square; an output matrix Γ = LLᵀ becomes (L + r·u)(L + r·u)ᵀ.

    Parameters
    ----------
    start : dict of str to array
        The parameters to start from.

    Examples
    --------
    >>> at = KernelCoordinates.of({"alpha": 0.1, "kernel__gamma": np.array([1.0, 2.0])})
    >>> at.parameters(np.array([0.0, 0.0, np.log(3)]))
    {'alpha': 0.1, 'kernel__gamma': array([1., 6.])}
    >>> at.slopes(np.zeros(3), {"alpha": 5.0, "kernel__gamma": np.array([1.0, 1.0])})
    array([0.5, 1. , 2. ])
    """

    start: dict[str, np.ndarray]

    @classmethod
    def of(cls, params: dict[str, Any]) -> KernelCoordinates:
        """Return the coordinates around some parameters."""
        found = {name: np.asarray(to_numpy(value), dtype=float) for name, value in params.items()}
        return cls({name: _root(value) if name == FACTORED else value for name, value in found.items()})

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return sum(value.size for value in self.start.values())

    def parameters(self, flat: np.ndarray) -> dict[str, Any]:
        """Return the parameters, numbers as such."""
        moved = {name: self._moved(name, step) for name, step in self._parts(flat)}
        moved = {name: value @ value.T if name == FACTORED else value for name, value in moved.items()}
        return {name: value if value.ndim else float(value) for name, value in moved.items()}

    def slopes(self, flat: np.ndarray, slopes: dict[str, Any]) -> np.ndarray:
        """Return the slope of a value in u from those in the parameters."""
        found = [np.zeros(0)]
        for name, step in self._parts(flat):
            slope, value = np.asarray(slopes[name], dtype=float), self._moved(name, step)
            if name == FACTORED:
                slope = (slope + slope.T) @ value
            factor = self._unit(name) if self._is_free(name) else value
            # a length that is infinite has a slope of 0 and stays what it is
            found.append(np.where(slope == 0, 0.0, slope * np.where(np.isfinite(factor), factor, 0.0)).ravel())
        return np.concatenate(found)

    def _parts(self, flat: np.ndarray) -> list[tuple[str, np.ndarray]]:
        ends = np.cumsum([value.size for value in self.start.values()])[:-1]
        steps = np.split(flat, ends)
        return [(name, step.reshape(self.start[name].shape)) for name, step in zip(self.start, steps, strict=True)]

    def _moved(self, name: str, step: np.ndarray) -> np.ndarray:
        start = self.start[name]
        return start + self._unit(name) * step if self._is_free(name) else start * np.exp(step)

    def _unit(self, name: str) -> float:
        return float(np.sqrt(np.mean(self.start[name] ** 2))) or 1.0

    @staticmethod
    def _is_free(name: str) -> bool:
        return name == FACTORED or name.rpartition("__")[2] in FREE


def _root(matrix: np.ndarray) -> np.ndarray:
    """Return a symmetric L with LL = Γ."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
