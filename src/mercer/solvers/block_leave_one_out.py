"""Leaving out samples whose outputs hang together: in closed form, block by block of one matrix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer import backend
from mercer.backend import to_numpy
from mercer.exceptions import UnsupportedError
from mercer.linalg import eigh_fits
from mercer.problems import DualProblem

__all__ = ["BlockLeaveOneOut"]


class BlockLeaveOneOut:
    """Ridge residuals of samples that were left out, for any kernel and any missing entries.

    With M the whitened Gram matrix on the N observed entries, y the targets and C the columns of the intercept,

        B = A⁻¹ − A⁻¹C(CᵀA⁻¹C)⁻¹CᵀA⁻¹,    A = M + λn·I,    r_i = (B_ii)⁻¹(By)_i,

    r_i the residuals of the entries of sample i by the fit to all others, λn being kept. One eigendecomposition of M
    serves all λ; each then costs N²p, p the number of outputs. NumPy only: other arrays are converted.

    Parameters
    ----------
    problem : DualProblem
        Its loss and its λ are not used.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg import Dense, Kronecker
    >>> from mercer.losses import Square
    >>> from mercer.measures import Measure
    >>> from mercer.problems import DualProblem
    >>> gram = Kronecker(Dense(np.array([[1.0, 0.5], [0.5, 1.0]])), Dense(np.eye(1)))
    >>> Y, mu = np.array([[1.0], [3.0]]), Measure(np.zeros((1, 1)), np.ones(1))
    >>> BlockLeaveOneOut(DualProblem(gram, Square(), Y, mu, alpha=1.0)).residuals(0.5)  # 1 − 3·0.5/2, 3 − 0.5/2
    array([[0.25],
           [2.75]])
    """

    def __init__(self, problem: DualProblem) -> None:
        self.problem = problem
        observed = problem.measure.observed
        seen = np.ones(problem.shape, dtype=bool) if observed is None else to_numpy(observed)
        self._rows, self._columns = np.nonzero(seen)
        size = len(self._rows)
        if not eigh_fits(size):
            raise UnsupportedError(
                f"Leaving out samples in closed form takes eigenvectors of all {size} observed entries, which do not "
                "fit into the memory budget. Use cross-validation by folds, or fewer rows."
            )
        gram = problem.gram
        matrix = np.asarray(to_numpy(gram.entries(self._rows, self._columns)), dtype=float)
        self._values, self._vectors = backend.eigh(matrix)
        self._values = np.maximum(self._values, 0)
        entries = self._rows, self._columns
        self._root = to_numpy(gram.whiten(problem.Y * 0 + 1))[entries].astype(float)
        self._targets = self._vectors.T @ (self._root * to_numpy(problem.Y)[entries])
        constants = np.zeros((size, problem.shape[1] if problem.fit_intercept else 0))
        if problem.fit_intercept:
            constants[np.arange(size), self._columns] = self._root
        self._constants = self._vectors.T @ constants

    def errors(self, alphas: Any) -> np.ndarray:
        """Return (1/n) Σ_i s_i ½‖r_i‖² for each λ."""
        share = self.problem.share
        return np.array([0.5 * share * np.sum(self._whitened(float(alpha)) ** 2) for alpha in alphas])

    def residuals(self, alpha: float) -> np.ndarray:
        """Return r_i for one λ, shape (n, m), NaN where nothing was observed."""
        array = np.full(self.problem.shape, np.nan)
        array[self._rows, self._columns] = self._whitened(alpha) / self._root
        return array

    def _whitened(self, alpha: float) -> np.ndarray:
        """Residuals of all observed entries, times the roots of their weights."""
        gain = 1 / (self._values + alpha / self.problem.share)
        solved, pull = self._vectors @ (gain * self._targets), np.zeros((len(self._rows), 0))
        if self.problem.fit_intercept:
            small = self._constants.T @ (gain[:, None] * self._constants)
            values, vectors = np.linalg.eigh(small)
            keep = values > len(values) * np.finfo(float).eps * values[-1]
            basis = self._constants @ (vectors[:, keep] / np.sqrt(values[keep]))
            pull = self._vectors @ (gain[:, None] * basis)
            solved = solved - pull @ (basis.T @ (gain * self._targets))
        residuals = np.empty_like(solved)
        for entries in self._blocks():
            part, own = self._vectors[entries], pull[entries]
            blocks = (part * gain) @ part.transpose(0, 2, 1) - own @ own.transpose(0, 2, 1)
            residuals[entries] = _solve(blocks, solved[entries], float(gain[0]))
        return residuals

    def _blocks(self) -> Iterator[np.ndarray]:
        """Entries of samples with as many of them as others, shape (samples, entries of one)."""
        counts = np.bincount(self._rows, minlength=self.problem.shape[0])
        first = np.cumsum(counts) - counts
        for count in np.unique(counts[counts > 0]):
            yield first[counts == count][:, None] + np.arange(count)


def _solve(blocks: np.ndarray, right: np.ndarray, size: float) -> np.ndarray:
    """Return the solutions of small systems; a block that rounding has made singular is of a sample like no other."""
    values, vectors = np.linalg.eigh(blocks)
    values = np.maximum(values, 1e-14 * size)
    inner = np.einsum("kab,ka->kb", vectors, right)
    return np.einsum("kab,kb->ka", vectors, inner / values)
