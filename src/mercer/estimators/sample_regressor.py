"""What regressions of several numbers share: the loss, and kernels, λ and thresholds by the errors of ridge fits."""

from __future__ import annotations

import difflib
import math
from abc import abstractmethod
from typing import Any

from mercer.backend import is_numpy, to_numpy
from mercer.estimators.approximation import GUESSED_SHARE, ROUNDED_SHARE, StandIn, stand_in
from mercer.estimators.certified import LENIENCE, ROUGH_ROWS, CertifiedEstimator
from mercer.estimators.column_relevance import learned_kernels, tells_columns
from mercer.estimators.interruption import interruptible, warn_of_gap
from mercer.estimators.outliers import without_outliers
from mercer.estimators.outputs import Outputs
from mercer.estimators.regularisation import alpha_of_features
from mercer.estimators.sample import Sample
from mercer.estimators.smoothness import (
    FEW_LENGTHS,
    Smoothness,
    choose_smoothness,
    default_kernels,
    per_deviation,
    ridge_residuals,
    some_rows,
)
from mercer.estimators.streamed_fit import must_stream
from mercer.estimators.validation import take_columns, take_rows
from mercer.exceptions import DataError, parameter_error
from mercer.features import FeatureMap
from mercer.kernels import Kernel
from mercer.losses import LOSSES, Loss, Square, as_loss, loss_names
from mercer.magnitudes import check_alpha
from mercer.operator_valued import BoundBasis, BoundDecomposable, BoundMatrixKernel
from mercer.solvers import afford

__all__ = ["SampleRegressor"]


class SampleRegressor(CertifiedEstimator):
    """A regression of a :class:`~mercer.estimators.sample.Sample`: what is automatic is chosen before the fit.

    A subclass has the constructor parameters ``alpha``, ``loss`` and ``geometry`` beside those of
    :class:`~mercer.estimators.certified.CertifiedEstimator`, and says which output kernels there are.
    """

    @abstractmethod
    def _output_kernels(self, outputs: Outputs) -> list[Any]:
        """Return the output kernel, or several to choose from."""

    def _default_kernels(self, X: Any) -> list[Kernel]:
        """Return input kernels to choose from where none is given, from smooth to rough."""
        return default_kernels(X, FEW_LENGTHS)

    def _other_kernels(self, X: Any) -> list[list[Kernel]]:
        """Return families of input kernels of other kinds, each from smooth to rough, that must be better by more."""
        return []

    def _check_settings(self) -> None:
        super()._check_settings()
        if isinstance(self.alpha, str):
            if self.alpha != "auto":
                raise parameter_error(self, "alpha", self.alpha, "a positive number or 'auto'")
        else:
            check_alpha(self, self.alpha, "Or pass alpha='auto'.")

    def _loss(self) -> tuple[Loss, bool]:
        """Return the loss, and whether its threshold is to be taken from the data."""
        names = loss_names(indexed_by=None)
        if isinstance(self.loss, str) and self.loss in names:
            if self.geometry not in (None, "norm", "pointwise", "componentwise"):
                allowed = "'norm', 'pointwise', 'componentwise' or None"
                raise parameter_error(self, "geometry", self.geometry, allowed)
            fixed = self.geometry is None or "geometry" not in LOSSES[self.loss]().get_params()
            loss = as_loss(self.loss, **({} if fixed else {"geometry": self.geometry}))
            return loss, loss.threshold is not None
        if not isinstance(self.loss, Loss):
            close = difflib.get_close_matches(str(getattr(self.loss, "__name__", self.loss)).lower(), names, n=1)
            raise parameter_error(
                self,
                "loss",
                self.loss,
                "a Loss or one of " + ", ".join(map(repr, names)),
                f"Did you mean {close[0]!r}?" if close else "",
            )
        loss = as_loss(self.loss, **({} if self.geometry is None else {"geometry": self.geometry}))
        if loss.indexed_by is not None:
            raise parameter_error(
                self,
                "loss",
                loss,
                "a loss of curves",
                f"The points of this one are {loss.indexed_by}s: see KernelQuantileRegressor and "
                "CostSensitiveClassifier.",
            )
        return loss, False

    def _afford(self, sample: Sample) -> None:
        """Refuse at once a fit that clearly does not fit into the memory budget: with what few rows choose."""
        pairwise = self.__sklearn_tags__().input_tags.pairwise
        rows = some_rows(sample, pairwise, ROUGH_ROWS)
        loss, automatic = self._loss()
        if automatic:
            loss = loss.for_residuals(rows.typical_size(to_numpy(rows.outputs.values), loss.compares))
        given = self._part("kernel") is not None
        kernels = [self._adapted_kernel(sample.X)] if given else self._default_kernels(sample.X)
        alpha = None if isinstance(self.alpha, str) else float(self.alpha)
        learn = self._learned_kernels if self._learns(sample) else None
        chosen = choose_smoothness(rows, kernels, self._output_kernels(rows.outputs), alpha, loss, learn)
        if alpha is None and not loss.smooth:
            chosen = chosen._replace(alpha=per_deviation(rows, loss, chosen.alpha))
        lenience = LENIENCE if isinstance(self.alpha, str) else 1.0
        bound = sample.bind(chosen.kernel, chosen.output_kernel, loss)
        afford(self.solver, sample.pose(bound, loss, lenience * chosen.alpha), self._tolerance)

    def _choose(self, sample: Sample, given: Sample) -> tuple[Smoothness, Loss]:
        """Return kernels with numbers for their bandwidths, λ, and the loss with its threshold.

        ``sample`` has centred outputs and the rows to fit; ``given`` all rows as they came, of which folds are made.
        """
        loss, automatic = self._loss()
        alpha = None if isinstance(self.alpha, str) else float(self.alpha)
        default = self._part("kernel") is None
        kernels = self._default_kernels(sample.X) if default else [self._adapted_kernel(sample.X)]
        output_kernels = self._output_kernels(sample.outputs)
        if isinstance(sample.basis, BoundBasis):  # which does not depend on k_Θ
            output_kernels = output_kernels[:1]

        learn = self._learned_kernels if self._learns(sample) else None
        families = self._other_kernels(sample.X) if default else []

        def choose(sample):
            return self._smoothness(sample, kernels, output_kernels, alpha, loss, learn, families)

        settled = len(kernels) == len(output_kernels) == 1 and alpha is not None and not automatic
        if settled or not math.isfinite(loss.dual_bound):
            chosen, tame = choose(sample), sample
        else:
            chosen, tame = without_outliers(some_rows(sample, kernels[0].pairwise), choose, loss.compares)
        if automatic:
            loss = loss.for_residuals(tame.typical_size(ridge_residuals(tame, chosen, loss), loss.compares))
        if alpha is None and not loss.smooth:
            chosen = chosen._replace(alpha=per_deviation(sample, loss, chosen.alpha))
        return chosen, loss

    def _with_features(self, kernel: Any, sample: Sample) -> StandIn:
        """Return k_X with what takes its place: features, where these are asked for or needed."""
        if isinstance(self.approximation, FeatureMap) or (sample.outputs.on_grid and sample.basis is None):
            self._check_features(sample)
            share = ROUNDED_SHARE if isinstance(self._loss()[0], Square) else GUESSED_SHARE
            return stand_in(self, kernel, sample.X, True, share)
        return StandIn(kernel, kernel, None)

    def _alpha_with(self, taken: StandIn, sample: Sample, bound: Any, loss: Loss, alpha: float) -> float:
        """Return λ: where features took the place of the kernel, and λ was to be chosen, one of their own."""
        chooses = isinstance(self.alpha, str) and taken.features is not None and isinstance(loss, Square)
        if not (chooses and isinstance(bound, BoundDecomposable) and is_numpy(sample.X) and sample.outputs.complete):
            return alpha
        values, weight = to_numpy(sample.outputs.values), sample.weight
        return alpha_of_features(bound, sample.X, values, weight, sample.fit_intercept, alpha)

    def _solved(self, sample: Sample, bound: Any, taken: StandIn, loss: Loss, alpha: float) -> tuple[Any, Any, Any]:
        """Return the problem, its solution, and the fitted function where not all features fitted into memory."""
        with interruptible() as interrupted:
            if (
                taken.features is not None
                and isinstance(bound, (BoundDecomposable, BoundMatrixKernel))
                and must_stream(bound.kernel, sample.X)
            ):
                values = to_numpy(sample.outputs.values)
                free = sample.fit_intercept
                solved = self._solve_streamed(bound, sample.X, values, sample.weight, loss, alpha, free, interrupted)
            else:
                problem = sample.pose(bound, loss, alpha)
                solved = problem, self._solve(problem, self._tolerance, interrupted), None
        warn_of_gap(solved[1], interrupted, depth=2)
        return solved

    def _check_features(self, sample: Sample) -> None:
        """Refuse features that were asked for where they are of no use."""
        if isinstance(self.approximation, FeatureMap) and not sample.outputs.on_grid:
            allowed = "'auto' or None for curves at points of their own"
            hint = "What takes time there are pairs of observations; put the curves on a grid, with NaN for holes."
            raise parameter_error(self, "approximation", self.approximation, allowed, hint)

    def _compare_with(self, taken: StandIn, sample: Sample, loss: Loss, alpha: float, own: float) -> None:
        """Say what features, with λ of their ``own``, cost in accuracy, and leave the rows behind."""
        values = to_numpy(sample.outputs.values) if taken.features is not None and sample.outputs.complete else None
        unit = 1.0 if loss.smooth or values is None else sample.typical_size(values, loss.compares)
        self._leave_rows(taken, sample.X, values, alpha * unit, own * unit)

    def _smoothness(self, sample, kernels, output_kernels, alpha, loss, learn, families) -> Smoothness:
        """Return what :func:`~mercer.estimators.smoothness.choose_smoothness` does."""
        return choose_smoothness(sample, kernels, output_kernels, alpha, loss, learn, families)

    def _learns(self, sample: Sample) -> bool:
        """Whether scales of columns are learned: where no kernel is given, and curves are whole and no outliers."""
        if self._part("kernel") is not None or not tells_columns(sample):
            return False
        return not math.isfinite(self._loss()[0].dual_bound)

    def _learned_kernels(self, sample: Sample) -> list[Kernel]:
        """Return input kernels with scales of columns from the curves."""
        return learned_kernels(sample, FEW_LENGTHS)

    def _kept(self, X, outputs: Any, keep, weight, columns) -> tuple[Any, Any, Any]:
        """Return the rows of positive weight, columns of a Gram matrix included; they must be two at least."""
        self._check_lengths(X, outputs)
        outputs.check(self, X, keep)
        if keep is not None:
            X, outputs, weight = take_rows(X, keep), outputs.take(keep), take_rows(weight, keep)
            if columns is not None:
                X = take_columns(X, columns)
        if len(outputs) < 2:
            raise DataError(
                f"{type(self).__name__}: n_samples = {len(outputs)}; a regression needs two curves or vectors of "
                "positive weight at least."
            )
        return X, outputs, weight

    def _check_lengths(self, X, outputs: Outputs) -> None:
        if len(outputs) != X.shape[0]:
            raise DataError(
                f"{type(self).__name__}: X and Y have inconsistent numbers of samples, {X.shape[0]} and {len(outputs)}."
            )
