"""What a regression is made of: inputs, outputs and weights; from them and kernels to a problem."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.backend import to_numpy
from mercer.estimators.output_kernels import default_output_kernels
from mercer.estimators.outputs import Outputs, Predict
from mercer.estimators.smooth_mean import smooth_mean
from mercer.estimators.validation import first_of_equals, take_columns, take_rows
from mercer.exceptions import UnsupportedError
from mercer.kernels import Constant, Kernel
from mercer.losses import Loss, Square
from mercer.measures import Measure
from mercer.operator_valued import Basis, BoundBasis, BoundCoefficients, ExpansionKernel
from mercer.problems import DualProblem

__all__ = ["Sample"]

#: inner products of basis functions up to which they are orthonormal
ORTHONORMAL = 1e-5


@dataclass(frozen=True, eq=False)
class Sample:
    """Inputs and outputs with their weights, and how the outputs are to be represented.

    Parameters
    ----------
    X : array of shape (n, d)
        Inputs, or their Gram matrix.
    outputs : Outputs
        What was observed.
    weight : array of shape (n,) or None
        Positive weights.
    output_matrix : array of shape (p, p) or None
        A.
    basis : Basis, BoundBasis or None
        Functions that k_Θ is truncated to; a bound one does not depend on k_Θ.
    fit_intercept : bool
        Whether there is a mean curve that is free at each point.
    mean_scale : float
        How much more freely than the rest a smooth mean curve varies: k_X becomes k_X + ``mean_scale``·(mean of
        k_X(x_i, x_i)), under which a function of θ alone costs 1/``mean_scale`` of what it would cost otherwise.
        100 leaves it almost free, 0 is without one.
    truncation : {"kernel", "dual"}
        Whether the basis truncates k_Θ, or confines dual variables to its span: then a loss sees the projections of
        residual curves only, and what no function of the basis reaches costs nothing.
    """

    X: Any
    outputs: Outputs
    weight: Any = None
    output_matrix: Any = None
    basis: Basis | BoundBasis | None = None
    fit_intercept: bool = True
    mean_scale: float = 0.0
    truncation: str = "kernel"

    def __len__(self) -> int:
        return len(self.outputs)

    @property
    def measure(self) -> Measure:
        """The points of Θ that were looked at, with their weights."""
        return self.outputs.measure

    def take(self, rows: np.ndarray, pairwise: bool) -> Sample:
        """Return some of the rows; of a Gram matrix (``pairwise``) the columns, too."""
        X = take_rows(self.X, rows)
        weight = None if self.weight is None else take_rows(self.weight, rows)
        return replace(self, X=take_columns(X, rows) if pairwise else X, outputs=self.outputs.take(rows), weight=weight)

    def split(self, train: np.ndarray, test: np.ndarray, pairwise: bool) -> tuple[Sample, Any, Outputs]:
        """Return the rows to learn from, and inputs and outputs of those to predict."""
        X = take_rows(self.X, test)
        return self.take(train, pairwise), take_columns(X, train) if pairwise else X, self.outputs.take(test)

    def merged(self) -> Sample:
        """Return distinct pairs of inputs and outputs with summed weights: the same objective."""
        keep, weight = first_of_equals(self.X, self.outputs.keys, self.weight)
        if keep is None:
            return self
        return replace(self, X=take_rows(self.X, keep), outputs=self.outputs.take(keep), weight=weight)

    def centred(self) -> tuple[Any, Sample]:
        """Return the centre of the outputs, and the sample without it; without a mean curve 0 and itself.

        That of a smooth mean curve is a function of θ.
        """
        if self.mean_scale:
            weight = np.ones(len(self)) if self.weight is None else to_numpy(self.weight)
            kernels = default_output_kernels(self.outputs)
            points, values, weights = self.outputs.common_values(weight)
            doubt = self.outputs.total_variation(weight)[0] / (len(self) * weights.sum())
            mean = smooth_mean(points, values, weights, kernels, self.X, doubt)
            return mean, replace(self, outputs=self.outputs.without(mean))
        if not self.fit_intercept:
            return 0.0, self
        centre, outputs = self.outputs.centre()
        return centre, replace(self, outputs=outputs)

    def typical_size(self, residuals: np.ndarray, geometry: str) -> float:
        """Return the weighted median of the sizes of residuals, of curves or of values."""
        return self.outputs.typical_size(residuals, geometry, self.weight)

    def bind(self, kernel: Kernel, output_kernel: Kernel, loss: Loss) -> Any:
        """Return the bound kernel that represents the outputs.

        A basis truncates the output kernel. Losses of norms of complete curves without an intercept then work on
        coefficients, as many as the basis has functions, where these are orthonormal on the grid; everything else has
        the truncated kernel at the points. With the square loss both truncations have the same solution.
        """
        outputs, kernel = self.outputs, self._with_mean(kernel)
        if self.basis is not None:
            bound = self.basis.bind(self.measure, output_kernel) if isinstance(self.basis, Basis) else self.basis
            by_norm = loss.of_norms and not self.fit_intercept
            whole = self.truncation == "kernel" or isinstance(loss, Square)
            if by_norm and outputs.complete and bound.defect(self.measure) <= ORTHONORMAL:
                return BoundCoefficients(kernel, bound, self.measure, outputs.n_components, self.output_matrix, whole)
            if not whole:
                reasons = {
                    f"{loss!r} is no loss of norms: take geometry='norm'": not loss.of_norms,
                    "the mean curve is free at each node: pass grid=, for a smooth one, or fit_intercept=False": (
                        self.fit_intercept
                    ),
                    "curves have missing values, or points of their own": not outputs.complete,
                    "its functions are not orthonormal on the grid": bound.defect(self.measure) > ORTHONORMAL,
                }
                first = next(reason for reason, holds in reasons.items() if holds)
                raise UnsupportedError(
                    "truncation='dual' is for losses of norms of complete curves, functions that are orthonormal on "
                    f"the grid, and no mean curve that is free at each node. Here {first}. Or take truncation='kernel'."
                )
            output_kernel = ExpansionKernel(bound)
        return outputs.bind(kernel, output_kernel, self.output_matrix)

    def _with_mean(self, kernel: Kernel) -> Kernel:
        """Return k_X, with the constant that makes room for a smooth mean curve."""
        if not self.mean_scale:
            return kernel
        kernel = kernel if kernel.adapted else kernel.adapt(self.X)
        level = self.mean_scale * float(np.mean(to_numpy(kernel.diagonal(self.X))))
        return kernel + Constant(level) if level > 0 else kernel

    def pose(self, bound: Any, loss: Loss, alpha: float) -> DualProblem:
        """Return the problem of fitting the outputs with a bound kernel."""
        return self.outputs.pose(bound, self.X, loss, alpha, self.weight, self.fit_intercept)

    def predictor(self, bound: Any, problem: DualProblem, result: Any) -> Predict:
        """Return h + b of a solved problem as a function of inputs and points."""
        expansion = bound.expand(self.X, problem.primal_coef(result.coef))
        mean = self.outputs.intercept_function(result.intercept)

        def predict(X: Any, points: np.ndarray) -> Any:
            h = expansion.evaluate(X, points)
            return h + mean.evaluate(points)[None, :] if self.fit_intercept else h

        return predict
