"""How steeply, at least, h(x)(θ) rises on a whole box of inputs: a proof from values on a grid.

Between the points of a grid with steps r_a, multilinear interpolation of a function f errs by at most
Σ_a r_a²/8·sup|∂_a²f|. For f = ∂_θ h the reproducing property bounds these suprema: with Gaussian kernels exp(−γ_a u²)
on inputs and exp(−γ u²) on θ,

    |∂_a² ∂_θ h(x)(τ)| ≤ √12·γ_a ‖∂_θ h(·)(τ)‖,      |∂_θ³ h(x)(θ)| ≤ √120·γ^{3/2} ‖h‖,

because ‖∂_a² k(x, ·)‖² = ∂⁴κ(0) = 12γ_a² and ‖∂_θ³ k(θ, ·)‖² = 120γ³. An interpolant is nowhere below the grid values
around it, so that their minimum less the error is a lower bound of ∂_θ h on the cell. (The second-order form of the
covering argument of Aubin-Frankowski and Szabó, 2020.)
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from mercer.exceptions import DataError, UnsupportedError
from mercer.kernels import Gaussian, Kernel
from mercer.operator_valued import KernelExpansion, NodeRepresenters

__all__ = ["Cover", "check_cover"]

#: most points of the grid of inputs
MOST_INPUTS = 40_000
#: most points of the grid of θ
MOST_LEVELS = 2_000
#: entries of slopes that are made at a time
SLOPE_ENTRIES = 2**22


def check_cover(kernel: Kernel, output_kernel: Kernel, dimension: int) -> None:
    """Refuse what the proof does not cover, with what does."""
    remedy = "Use noncrossing='rearrange', whose predictions never cross either, or 'constraint'."
    if dimension > 2:
        raise UnsupportedError(
            f"noncrossing='guarantee' covers boxes of one or two columns; X has {dimension} of them. {remedy}"
        )
    if not (isinstance(kernel, Gaussian) and isinstance(output_kernel, Gaussian)):
        raise UnsupportedError(
            "noncrossing='guarantee' is proved for Gaussian kernels on inputs and levels; got "
            f"{kernel!r} and {output_kernel!r}. {remedy}"
        )


@dataclass(frozen=True, eq=False)
class Cover:
    """A box of inputs and the cells between neighbouring nodes.

    Parameters
    ----------
    low, high : arrays of shape (d,)
        Corners of the box, d ≤ 2.
    nodes : array of shape (m,)
        Sorted, distinct.
    """

    low: np.ndarray
    high: np.ndarray
    nodes: np.ndarray

    def inputs(self, per_column: int) -> np.ndarray:
        """Return a grid of inputs over the box, ends included, shape (g, d)."""
        sides = zip(self.low, self.high, strict=True)
        axes = [np.linspace(low, high, per_column if high > low else 1) for low, high in sides]
        return np.array(list(itertools.product(*axes)))

    @np.errstate(over="ignore", invalid="ignore")  # what is not finite is refused
    def lowest_slopes(self, h: KernelExpansion, accuracy: float) -> tuple[np.ndarray, np.ndarray]:
        """Return for each cell a lower bound of ∂_θ h over the box, and the inputs where it is nearly taken.

        Parameters
        ----------
        h : KernelExpansion
            A function of Gaussian kernels (see :func:`check_cover`).
        accuracy : float
            Error of the bound that grids are chosen for, as long as they are not too large.

        Returns
        -------
        lowest : array of shape (m − 1,)
        where : array of shape (m − 1, d)
        """
        norm = h.norm
        theta, step = self._levels(h, norm, accuracy)
        section = h.representers.slopes(theta.reshape(-1, 1))
        sections = h.coef @ section
        gram = h.kernel(h.X)
        sizes = np.sqrt(np.maximum(np.einsum("ik,ik->k", sections, gram @ sections), 0.0))  # ‖∂_θ h(·)(τ)‖
        gamma = np.broadcast_to(_gamma(h.kernel), self.low.shape)
        spread = float(gamma @ (self.high - self.low) ** 2)
        per_column = self._per_column(math.sqrt(12) / 8 * spread * float(sizes.max()), accuracy)
        inputs = self.inputs(per_column)
        error_inputs = math.sqrt(12) / 8 * spread / (per_column - 1) ** 2 * sizes
        error_levels = _third_derivative(h) / 8 * step**2 * norm
        lowest: Any = np.full(theta.size, np.inf)
        where: Any = np.zeros(theta.size, dtype=int)
        rows = max(1, SLOPE_ENTRIES // max(theta.size, len(h.X)))
        for start in range(0, len(inputs), rows):
            slopes = h.kernel(inputs[start : start + rows], h.X) @ sections
            index = slopes.argmin(axis=0)
            smallest = slopes[index, np.arange(theta.size)]
            where = np.where(smallest < lowest, index + start, where)
            lowest = np.minimum(lowest, smallest)
        rounding = 8 * np.finfo(float).eps * (np.abs(h.coef).sum(axis=0) @ np.abs(section))  # coefficients cancel
        lowest, where = (array.reshape(theta.shape) for array in (lowest - error_inputs - rounding, where))
        if not np.all(np.isfinite(lowest)):
            raise DataError(
                "noncrossing='guarantee': slopes of the fitted functions overflow. Scale y and the columns of X, or "
                "take a larger alpha."
            )
        worst = lowest.argmin(axis=1)
        cell = np.arange(len(theta))
        return lowest[cell, worst] - error_levels, inputs[where[cell, worst]]

    def _levels(self, h: KernelExpansion, norm: float, accuracy: float) -> tuple[np.ndarray, np.ndarray]:
        """Return levels by cell, ends included, shape (m − 1, k), and their steps in each cell."""
        widths = np.diff(self.nodes)
        wanted = float(widths.max()) * np.sqrt(np.divide(_third_derivative(h) / 8 * norm, accuracy))
        parts = _whole(wanted, 2, max(2, MOST_LEVELS // len(widths)))
        return self.nodes[:-1, None] + widths[:, None] * np.linspace(0, 1, parts + 1), widths / parts

    def _per_column(self, factor: float, accuracy: float) -> int:
        return _whole(2 + np.sqrt(np.divide(factor, accuracy)), 9, round(MOST_INPUTS ** (1 / len(self.low))))


def _whole(wanted: float, least: int, most: int) -> int:
    """Return the next whole number within bounds; the upper one for infinity and NaN."""
    return max(math.ceil(wanted), least) if wanted < most else most


def _gamma(kernel: Any) -> np.ndarray:
    """Return γ of a Gaussian, one number or one for each column."""
    return np.asarray(kernel.gamma, dtype=float).squeeze()


def _third_derivative(h: KernelExpansion) -> float:
    """Return √120·γ^{3/2}, the largest |∂_θ³ h(x)(θ)| of a function of norm 1."""
    return math.sqrt(120) * float(_gamma(cast(NodeRepresenters, h.representers).kernel)) ** 1.5
