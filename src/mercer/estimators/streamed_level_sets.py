"""Level sets that go on learning: regions and offsets move with each batch of rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer.estimators.partial_fit import StreamedFit
from mercer.losses import Loss, OneClassHinge
from mercer.magnitudes import SMALLEST_SPREAD
from mercer.measures import Measure
from mercer.solvers.stochastic_gradient import ROWS_OF_A_STEP, START

__all__ = ["StreamedLevelSets"]


#: spread of h where rows are alike, or all unlike, in units of its size
LEAST_SPREAD = 1e-3


class StreamedLevelSets(StreamedFit):
    """The stream of free offsets t = −b at levels of their own: 𝐊 = k_X·diag(1/η), λ = 1, and −t_j is a cost of b.

    Levels are problems of their own, each with its t₀.
    """

    offset_: np.ndarray
    optimal_offset_: np.ndarray
    n_calibration_: int

    def _needs_all_rows(self) -> str:
        for name in ("alpha", "coupling"):
            if getattr(self, name) != 0:
                return f"{name}={getattr(self, name)!r} couples levels, which needs all rows. Take {name}=0."
        return super()._needs_all_rows()

    def _begin_stream(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Start from the fit of the first batch, which counts as t₀ steps: those of its rows at least."""
        owner: Any = self
        X = np.asarray(owner._valid_inputs(X, "partial_fit"), dtype=float)
        n_rows = len(X) if sample_weight is None else int(np.sum(np.asarray(sample_weight) > 0))
        levels = self.measure_.locations
        h = self.expansion_.evaluate(X, self.measure_.points)
        size = np.mean(np.abs(h), axis=0)
        least = np.where(size > 0, np.maximum(LEAST_SPREAD * size, SMALLEST_SPREAD), 1.0)
        curvature = 1 / np.maximum(np.std(h, axis=0), least)  # of the mean loss: one over typical residuals
        start = np.maximum(START * (2 * curvature + 1), n_rows / ROWS_OF_A_STEP)
        stream: Any = self._new_stream()
        slope = np.ones(len(levels))  # −t_j is what offsets cost
        self.stream_ = replace(stream, n_rows=n_rows, start=start, total=start**2 / 2, intercept_slope=slope)
        self.n_samples_seen_ = n_rows

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        seen = self.n_samples_seen_
        super()._learn(X, y, sample_weight)
        self.n_calibration_ += self.n_samples_seen_ - seen

    def _stream_targets(self, y: Any, n_rows: int) -> np.ndarray:
        return np.zeros((n_rows, 1))

    def _stream_loss(self) -> Loss:
        return OneClassHinge()

    @property
    def _stream_alpha(self) -> float:
        return 1.0

    @property
    def _stream_fits_intercept(self) -> bool:
        return True

    @property
    def _stream_intercept(self) -> Any:
        return -self.offset_

    def _in_features(self, measure: Measure) -> tuple[Any, np.ndarray | None, np.ndarray]:
        root = np.sqrt(measure.weights)  # the problem has the kernel k_X·diag(1/η) and λ = 1
        expansion: Any = self.expansion_
        return expansion.kernel, np.diag(1 / root), expansion.coef * root

    def _of_features(self, coef: np.ndarray) -> Any:
        return replace(self.expansion_, coef=coef / np.sqrt(self.measure_.weights))

    def _take_intercept(self, b: np.ndarray) -> None:
        self.offset_ = self.optimal_offset_ = -b
