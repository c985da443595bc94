"""Vectors as outputs: columns that are outputs of their own, NaN where an output was not observed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.backend import to_numpy
from mercer.estimators.grid_curves import GridCurves
from mercer.estimators.output_metric import OutputMetric
from mercer.exceptions import DataError
from mercer.operator_valued import Congruent, Indexed, OperatorValuedKernel

__all__ = ["VectorOutputs"]


@dataclass(frozen=True, eq=False)
class VectorOutputs(GridCurves):
    """n vectors in R^p: functions of the indices 0, ..., p − 1, of weight 1 each; NaN where nothing was observed.

    Their kernel is k_X·Γ, Γ a kernel of indices, or any operator-valued one.

    Parameters
    ----------
    metric : OutputMetric, optional
        Q of the norm rᵀQ⁻¹r; values are in its coordinates, in which kernels of the outputs as they were given are put
        by :meth:`bind`. The identity of these coordinates is :class:`~mercer.kernels.Identity`.
    """

    metric: OutputMetric | None = None

    def check(self, owner: object, X: Any, keep: np.ndarray | None = None) -> None:
        """Refuse rows, and outputs, without an observation in the rows to keep (all by default)."""
        name, missing = type(owner).__name__, np.isnan(to_numpy(self.values))
        keep = np.ones(len(self), dtype=bool) if keep is None else keep
        empty = np.flatnonzero(np.all(missing, axis=1) & keep)
        if len(empty):
            raise DataError(
                f"{name}: row {int(empty[0])} of Y has no observation (only NaN). Leave out such rows, or let "
                "SemiSupervisedRegressor learn from their inputs."
            )
        never = np.flatnonzero(np.all(missing[keep], axis=0))
        if len(never):
            raise DataError(
                f"{name}: output {int(never[0])} of Y was never observed (only NaN in rows of positive weight). Leave "
                "out its column, or add rows in which it was."
            )

    def bind(self, kernel: Any, output_kernel: Any, output_matrix: Any) -> Any:
        """Return the kernel of the p outputs."""
        metric = self.metric
        if isinstance(kernel, OperatorValuedKernel):
            whole: Any = kernel
            return (whole if metric is None else Congruent(whole, metric.inverse)).bind(self.nodes)
        if metric is not None and isinstance(output_kernel, Indexed):
            output_kernel = Indexed(metric.of_matrix(np.asarray(to_numpy(output_kernel.output_matrix))))
        return super().bind(kernel, output_kernel, output_matrix)
