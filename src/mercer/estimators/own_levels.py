"""Rows with levels (or costs) of their own, where θ is not shared by all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer._params import read_numbers
from mercer.backend import require_numpy, to_numpy
from mercer.estimators.noncrossing import DURING_FIT
from mercer.estimators.smoothness import MEAN_SCALE
from mercer.exceptions import UnsupportedError, parameter_error
from mercer.kernels import Constant
from mercer.losses import Loss
from mercer.measures import Measure
from mercer.operator_valued import BoundDecomposable, BoundKernel, BoundPairs
from mercer.problems import DualProblem, curve_problem

__all__ = ["OwnLevels"]

#: distinct levels up to which all of them are nodes of the common measure, and how many nodes there are beyond
MOST_NODES, QUANTILE_NODES = 100, 65


@dataclass(frozen=True, eq=False)
class OwnLevels:
    """Levels θ_ij, j = 1, ..., m_i of each row i: N observations in all.

    The problem has one row for each of them, and is that of curves that were observed at points of their own,

        (1/n) Σ_i s_i (1/m_i) Σ_j ℓ_{θ_ij}(y_i, h(x_i)(θ_ij) + b) + (λ/2)‖h‖².

    Parameters
    ----------
    table : array of shape (n, m)
        θ, NaN where a row has fewer than m of them.
    """

    table: np.ndarray

    @classmethod
    def read(cls, owner: Any, given: Any, X: Any, n_rows: int, sample_weight: Any) -> Self:
        """Return what was given as ``levels`` or ``costs`` of fit, for those of n rows that have a positive weight."""
        noun = f"{owner._theta}s"
        require_numpy(f"{type(owner).__name__} with {noun} of rows' own", "Convert X with numpy.asarray.", X)
        _check_settings(owner, noun)
        allowed = (
            f"numbers in (0, 1) of shape ({n_rows},) or ({n_rows}, m), with NaN where a row has fewer than m {noun}"
        )
        try:
            table = read_numbers(to_numpy(given)).astype(float)
        except (TypeError, ValueError, OverflowError) as error:
            raise parameter_error(owner, noun, given, allowed) from error
        table = table[:, None] if table.ndim == 1 else table
        if table.ndim != 2 or len(table) != n_rows or not table.shape[1]:
            raise parameter_error(owner, noun, f"shape {table.shape}", allowed)
        wrong = ~(((table > 0) & (table < 1)) | np.isnan(table)) | np.isnan(table).all(axis=1, keepdims=True)
        if np.any(wrong):
            row = int(np.flatnonzero(wrong.any(axis=1))[0])
            hint = f"This is row {row}. A row that is to have no {owner._theta} gets the weight 0."
            raise parameter_error(owner, noun, table[row].tolist(), allowed, hint)
        if sample_weight is None or np.ndim(sample_weight) == 0:
            return cls(table)
        return cls(table[np.asarray(to_numpy(sample_weight), dtype=float) > 0])

    @property
    def rows(self) -> np.ndarray:
        """The row of each observation, shape (N,)."""
        return np.nonzero(~np.isnan(self.table))[0]

    @property
    def theta(self) -> np.ndarray:
        """θ of each observation, shape (N,)."""
        return self.table[~np.isnan(self.table)]

    @property
    def measure(self) -> Measure:
        """What kernels, λ and predicted functions take for the levels of all rows.

        The distinct ones with their shares, or where they are many, equal steps of their distribution.
        """
        nodes, counts = np.unique(self.theta, return_counts=True)
        if len(nodes) > MOST_NODES:
            nodes = np.unique(np.quantile(self.theta, np.linspace(0, 1, QUANTILE_NODES)))
            return Measure(nodes, np.full(len(nodes), 1 / len(nodes)))
        return Measure(nodes, counts / counts.sum())

    def bind(self, owner: Any, shared: BoundKernel, X: Any) -> BoundPairs:
        """Return k_X·k_Θ at the observations.

        With an intercept a constant is added to k_X, and so a function b(θ) to h. It is in the space of k_Θ, and
        varies a hundred times as freely as the rest.
        """
        if not isinstance(shared, BoundDecomposable):
            hint = "Pass k_X as kernel and k_Θ as output_kernel."
            raise parameter_error(owner, "kernel", owner.kernel, f"k_X·k_Θ with {owner._theta}s of rows' own", hint)
        kernel = shared.kernel
        if owner.fit_intercept:
            kernel = kernel + Constant(MEAN_SCALE * float(np.mean(kernel.diagonal(X))))
        return BoundPairs(kernel, shared.output_kernel, self.rows, self.theta)

    def pose(
        self, bound: BoundPairs, X: Any, y: Any, loss: Loss, alpha: float, weight: Any, fit_intercept: bool
    ) -> DualProblem:
        """Return the problem whose rows are the observations."""
        Y, n = y[self.rows][:, None], len(self.table)
        settings: dict[str, Any] = {"sample_weight": weight, "fit_intercept": fit_intercept, "n_curves": n}
        return curve_problem(bound.gram(X), loss, Y, self.rows, alpha, levels=self.theta, **settings)


def _check_settings(owner: Any, noun: str) -> None:
    """Refuse settings that speak of θ which all rows share."""
    name = type(owner).__name__
    if owner.measure is not None:
        hint = f"A measure has {noun} for all rows. Leave it out, or do not pass {noun}= to fit."
        raise parameter_error(owner, "measure", owner.measure, f"None where rows have {noun} of their own", hint)
    if owner.noncrossing in DURING_FIT:
        raise UnsupportedError(
            f"{name}: noncrossing={owner.noncrossing!r} acts between {noun} that all rows share. Where rows have "
            f"{noun} of their own take 'rearrange' or None."
        )
