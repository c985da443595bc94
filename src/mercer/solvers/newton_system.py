"""The Newton systems of a box dual, on its free entries only."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import get_blas_funcs, get_lapack_funcs

from mercer.linalg import positive_solver
from mercer.solvers.box_primal import BoxPrimal

__all__ = ["NewtonSystem"]

#: part of the typical prediction that coordinates outside the primal form may change
LEFT_OUT_OF_CROSS = 1e-4
#: damping of an intercept at nodes without free entries, where its slope is all that is known, and elsewhere
DAMPED, UNDAMPED = 1.0, 1e-12


class _Free(NamedTuple):
    """The free entries M."""

    rows: np.ndarray
    columns: np.ndarray
    root: np.ndarray  #: D = √ω
    design: np.ndarray | None  #: D Eᵀ, shape (|M|, k), where there is an intercept


class NewtonSystem:
    """Newton steps of min_{C,b} ½‖C‖² + Σ ω φ(Y − ΦC − bE), φ piecewise quadratic with curvature 1/κ on free entries.

    With D = √ω, K = ΦΦ* between the free entries M, and gradients G in C and g in b, the step is the solution of
    either of two systems, the cheaper of which is taken:

        dual, of size |M|      (κI + D K_MM D) x + D Eᵀδb = D (ΦG)_M,     E D x − P δb = g
        primal, of size rank   (I + FᵀF/κ) δC + Fᵀ(D Eᵀδb)/κ = −G,  …     F = D Φ_M

    with x = D δa and P the penalty of b. A Kronecker product makes K_MM a Hadamard product of two small Gram
    matrices. The primal form takes the coordinates with the largest eigenvalues (a hyperbolic cross of a product);
    what the others do to predictions is negligible beside a Newton step.

    Parameters
    ----------
    primal : BoxPrimal
        The problem.
    """

    def __init__(self, primal: BoxPrimal) -> None:
        self.primal, problem = primal, primal.problem
        self.weights = problem.measure.weights
        order = np.argsort(primal.spectrum, axis=None)
        tail = np.cumsum(primal.spectrum.ravel()[order])
        self.cross = np.sort(order[min(int(np.searchsorted(tail, LEFT_OUT_OF_CROSS * problem.unit)), len(order) - 1) :])
        self._gathers = problem.gram.costs.entry < primal.spectral.entry_width

    # -- prices ------------------------------------------------------------------------------------------------

    def cost(self, size: int) -> float:
        """Return the multiplications of a step with ``size`` free entries."""
        return min(self._dual_cost(size), self._primal_cost(size)) + 3 * self.primal.pass_cost

    def _dual_cost(self, size: int) -> float:
        width = min(self.primal.problem.gram.costs.entry, self.primal.spectral.entry_width)
        return 2 * size**2 * (width + 10.0) + size**3 / 3

    def _primal_cost(self, size: int) -> float:
        p = len(self.cross)
        return size * p**2 + 12.0 * size * p + p**3 / 3

    # -- steps -------------------------------------------------------------------------------------------------

    def solve(
        self, rows: np.ndarray, columns: np.ndarray, kappa: float, G: np.ndarray, g: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Return ω δa on the free entries (rows, columns), and δb; None where rounding makes a system indefinite."""
        if not len(rows):
            none = np.zeros(0, dtype=G.dtype)
            return none, -g if self.primal.intercept is None else -g / self._damping(columns, kappa, DAMPED)
        form = self._primal if self._primal_cost(len(rows)) < self._dual_cost(len(rows)) else self._dual
        return form(self._free(rows, columns), kappa, G, g)

    def _free(self, rows: np.ndarray, columns: np.ndarray) -> _Free:
        problem = self.primal.problem
        root = np.sqrt(problem.sample_weight[rows] * self.weights[columns]).astype(problem.Y.dtype, copy=False)
        return _Free(rows, columns, root, self._design(columns, root))

    def _design(self, columns: np.ndarray, root: np.ndarray) -> np.ndarray | None:
        intercept = self.primal.intercept
        if intercept is None:
            return None
        if intercept.design is not None:
            return np.asfortranarray(intercept.design.T[columns] * root[:, None])
        design = np.zeros((len(columns), len(self.weights)), dtype=root.dtype, order="F")
        design[np.arange(len(columns)), columns] = root
        return design

    def _damping(self, columns: np.ndarray, kappa: float, size: float = UNDAMPED) -> np.ndarray:
        """Return what is added to the diagonal of the system for b: its penalty, and something where M is empty."""
        intercept = self.primal.intercept
        assert intercept is not None  # whose system it is
        if intercept.design is not None:
            own = intercept.design**2 @ self.weights
            return self.primal.penalty + (size / kappa) * own
        empty = np.bincount(columns, minlength=len(self.weights)) == 0
        return self.primal.penalty + np.where(empty, DAMPED, size) * self.weights / kappa

    def _dual(self, free: _Free, kappa: float, G: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        primal, (rows, columns, root, design) = self.primal, free
        if self._gathers:
            matrix = primal.problem.gram.entries(rows, columns)
            matrix *= primal.problem.scale
        else:
            matrix = primal.spectral.entry_block(rows, columns)
            matrix *= primal.problem.scale * root[:, None]
            matrix *= root
        matrix.flat[:: len(rows) + 1] += kappa
        target = root * primal.lifted_entries(G, rows, columns)
        factor = _cholesky(matrix)
        if factor is None:
            return None
        if design is None:
            return root * _back(factor, _forth(factor, target[:, None]))[:, 0], np.zeros_like(g)
        halves = _forth(factor, np.column_stack([design, target]))
        E, z = halves[:, :-1], halves[:, -1]
        inner = E.T @ E
        inner.flat[:: len(g) + 1] += self._damping(columns, kappa)
        delta = positive_solver(inner, np.finfo(inner.dtype).eps * float(inner.trace()))(E.T @ z - g)
        return root * _back(factor, (z - E @ delta)[:, None])[:, 0], delta

    def _primal(self, free: _Free, kappa: float, G: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        primal, (rows, columns, root, design) = self.primal, free
        F = primal.spectral.entry_features(rows, columns, self.cross)  # (p, |M|)
        F *= root * np.sqrt(primal.problem.scale / kappa)
        (syrk,) = get_blas_funcs(("syrk",), (F,))
        matrix = syrk(1.0, F.T, trans=1, lower=1)
        matrix.flat[:: len(F) + 1] += 1
        factor = _cholesky(matrix.T)
        if factor is None:
            return None
        kept = G.ravel()[self.cross]
        if design is None:
            along = -_back(factor, _forth(factor, kept[:, None]))[:, 0]
            return -(along @ F) * root / np.sqrt(kappa), np.zeros_like(g)
        design = design / np.sqrt(kappa)
        halves = _forth(factor, np.column_stack([F @ design, kept]))
        E, z = halves[:, :-1], halves[:, -1]
        inner = design.T @ design - E.T @ E
        inner.flat[:: len(g) + 1] += self._damping(columns, kappa)
        delta = positive_solver(inner, np.finfo(inner.dtype).eps * float(inner.trace()))(E.T @ z - g)
        along = -_back(factor, (z + E @ delta)[:, None])[:, 0]
        return -(along @ F + design @ delta) * root / np.sqrt(kappa), delta


def _cholesky(matrix: np.ndarray) -> np.ndarray | None:
    """Return the lower factor of a symmetric matrix (C order; it is overwritten), None where there is none."""
    (potrf,) = get_lapack_funcs(("potrf",), (matrix,))
    factor, failed = potrf(matrix.T, lower=1, clean=0, overwrite_a=1)
    return None if failed else factor


def _forth(factor: np.ndarray, columns: Any) -> np.ndarray:
    """Return L⁻¹ of columns."""
    (trsm,) = get_blas_funcs(("trsm",), (factor,))
    return trsm(1.0, factor, columns, lower=1)


def _back(factor: np.ndarray, columns: Any) -> np.ndarray:
    """Return L⁻ᵀ of columns."""
    (trsm,) = get_blas_funcs(("trsm",), (factor,))
    return trsm(1.0, factor, columns, lower=1, trans_a=1)
