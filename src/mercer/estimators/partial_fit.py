"""``partial_fit``: models of features that learn from one batch of rows after the other, and keep none of them."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from mercer.backend import to_numpy
from mercer.estimators.intercept_function import InterceptFunction
from mercer.estimators.noncrossing import DURING_FIT
from mercer.estimators.streams import GradientStream, SquareStream
from mercer.estimators.validation import is_foreign, read_weight
from mercer.exceptions import DataError, UnsupportedError, parameter_error
from mercer.features import FeatureMap, Nystroem, RandomFourier
from mercer.linalg import representer_coef, right_factor
from mercer.losses import Loss, Square
from mercer.measures import Measure
from mercer.operator_valued import FeatureExpansion, MatrixValuedKernel

__all__ = ["StreamedFit", "StreamedLevels", "can_stream", "stream_column"]

#: frequencies, or landmarks where a kernel has none, that "auto" takes for a stream
STREAM_FEATURES = 300


def can_stream(model: Any) -> bool:
    """Say whether an estimator has ``partial_fit``, and why where its settings leave it none.

    The reason is the cause of the AttributeError that follows.
    """
    name = f"{type(model).__name__}.partial_fit"
    if reason := model._needs_all_rows():
        raise UnsupportedError(f"{name}: {reason}")
    pairwise = model.__sklearn_tags__().input_tags.pairwise
    if model.approximation is None or pairwise:
        raise parameter_error(
            model,
            "approximation",
            model.approximation,
            "'auto' or features such as RandomFourier(500) for partial_fit, and kernel no Gram matrix",
            "A model that goes on without its rows has features in place of the kernel.",
        )
    return True


class StreamedFit:
    """An estimator that goes on learning from further batches, in the features that the first one has fixed."""

    measure_: Measure
    loss_: Loss
    expansion_: Any
    approximation_: Any
    stream_: SquareStream | GradientStream
    #: why an estimator that derives from one that streams does not
    _no_stream: ClassVar[str] = ""

    def _needs_all_rows(self) -> str:
        """Return what of the settings needs all rows at once, and what to do; nothing where none does."""
        return self._no_stream

    @abstractmethod
    def _stream_targets(self, y: Any, n_rows: int) -> np.ndarray:
        """Return the targets of a later batch, one column for all nodes or one for each."""

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Learn from a batch; one that is refused changes nothing."""
        if not hasattr(self, "stream_"):
            first = self._first_fit(X, y, sample_weight)
            first._begin_stream(X, y, sample_weight)
            owner: Any = self
            settings = owner.get_params(deep=False)
            for name, value in vars(first).items():
                if name not in settings:
                    setattr(self, name, value)
            return self
        self._learn(X, y, sample_weight)
        return self

    def _begin_stream(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Become a stream that has had its first batch."""
        self.stream_ = self._new_stream()
        self._learn(X, y, sample_weight)

    def _first_fit(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """Return a fit of the first batch, which chooses kernels, λ and features."""
        name = f"{type(self).__name__}.partial_fit"
        if is_foreign(X):
            raise UnsupportedError(f"{name} takes NumPy arrays and data frames; convert X with numpy.asarray.")
        owner: Any = self
        if isinstance(owner.approximation, FeatureMap):
            return clone(owner).fit(X, y, sample_weight)
        try:
            return clone(owner).set_params(approximation=_frequencies()).fit(X, y, sample_weight)
        except UnsupportedError:  # a kernel without spectral density
            rows = np.shape(to_numpy(X))[0] if sample_weight is None else int(np.sum(np.asarray(sample_weight) > 0))
            landmarks = Nystroem(min(STREAM_FEATURES, rows), random_state=0)
            return clone(owner).set_params(approximation=landmarks).fit(X, y, sample_weight)

    def _new_stream(self) -> SquareStream | GradientStream:
        """Return what the stream has to remember, before its first row."""
        measure = self._stream_measure()
        kernel, factor, start = self._in_features(measure)
        intercept = self._stream_fits_intercept
        b = np.array(to_numpy(self._stream_intercept), dtype=float) if intercept else np.zeros(len(measure))
        if isinstance(self._stream_loss(), Square):
            return SquareStream(kernel, measure, factor, intercept, b)
        given = kernel, measure, factor, intercept, b, self._stream_loss(), self._stream_alpha
        return GradientStream(*given, start, start, np.zeros_like(b), np.zeros_like(b))

    def _in_features(self, measure: Measure) -> tuple[Any, np.ndarray | None, np.ndarray]:
        """Return the kernel that features make, R, and C of the fitted function; no R for values that are matrices."""
        expansion, kernel = self.expansion_, self.approximation_.kernel
        if isinstance(expansion, FeatureExpansion) and expansion.n_components == 1:
            values = to_numpy(expansion.representers.values(measure.points))
            factor = right_factor(values, measure.weights)
            onto = np.linalg.lstsq(factor, values.T, rcond=None)[0]
            return expansion.kernel, factor, to_numpy(expansion.coef) @ onto.T
        if isinstance(kernel, MatrixValuedKernel):
            return kernel, None, kernel.feature_coef(expansion)
        raise UnsupportedError(
            f"{type(self).__name__}.partial_fit is for one value at each node, and kernels k_X·k_Θ or with matrices as "
            f"values; this fit has {type(expansion).__name__}. Fit all rows at once."
        )

    def _take_coef(self, coef: np.ndarray) -> None:
        """Take over C."""
        self.expansion_ = self._of_features(coef)

    def _of_features(self, coef: np.ndarray) -> Any:
        """Return the function of coefficients C."""
        stream = self.stream_
        if stream.factor is None:
            return stream.kernel.of_features(np.ravel(coef), len(stream.measure))
        return replace(self.expansion_, coef=representer_coef(coef, stream.factor, stream.measure.weights))

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Add a batch, and become the model of all rows so far."""
        owner: Any = self
        X = np.asarray(owner._valid_inputs(X, "partial_fit"), dtype=float)
        Y = self._stream_targets(y, len(X))
        weight = None if sample_weight is None else read_weight(sample_weight, X)
        if weight is not None:
            X, Y, weight = X[weight > 0], Y[weight > 0], weight[weight > 0]
        stream: Any = self.stream_
        weight = np.ones(len(X)) if weight is None else weight
        self.stream_, coef, b, objective = stream.after((X, Y, weight), self._stream_alpha)
        self._take_coef(coef)
        self._take_intercept(b)
        self.objective_, self.dual_gap_, self.relative_gap_ = objective, math.nan, math.nan
        self.n_samples_seen_ = self.stream_.n_rows
        self.status_, self.n_iter_ = "stream", self.stream_.n_steps
        self.X_fit_ = self.dual_coef_ = None

    # -- what estimators have in common, and a subclass may know better ----------------------------------------

    def _store(self, *args: Any, **settings: Any) -> Any:
        self.__dict__.pop("stream_", None)  # a fit forgets it
        parent: Any = super()
        return parent._store(*args, **settings)

    @property
    def _stream_alpha(self) -> float:
        """λ."""
        owner: Any = self
        return float(owner.alpha_)

    @property
    def _stream_fits_intercept(self) -> bool:
        """Whether later batches move b."""
        owner: Any = self
        return bool(owner.fit_intercept)

    @property
    def _stream_intercept(self) -> Any:
        """The intercept of the first fit, in the problem."""
        owner: Any = self
        return owner.intercept_

    def _stream_measure(self) -> Measure:
        return self.measure_

    @abstractmethod
    def _stream_loss(self) -> Loss:
        """Return the loss with numbers for its parameters."""

    @abstractmethod
    def _take_intercept(self, b: np.ndarray) -> None:
        """Take over b at the nodes."""


class StreamedLevels(StreamedFit):
    """The same for functions of θ in (0, 1)."""

    noncrossing: Any

    def _needs_all_rows(self) -> str:
        if self.noncrossing in DURING_FIT:
            return f"noncrossing={self.noncrossing!r} needs all rows. Take 'rearrange' or None."
        return super()._needs_all_rows()

    def _stream_loss(self) -> Loss:
        owner: Any = self
        loss: Loss = owner._loss()
        return loss

    def _take_intercept(self, b: np.ndarray) -> None:
        self.intercept_ = b
        self.intercept_function_ = InterceptFunction(b, self.measure_)


def stream_column(owner: object, y: Any, n_rows: int) -> np.ndarray:
    """Return finite numbers, one for each row, as a column."""
    values = np.asarray(to_numpy(y))
    name = f"{type(owner).__name__}.partial_fit"
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape != (n_rows,) or values.dtype.kind not in "fiub" or not np.all(np.isfinite(values)):
        raise DataError(f"{name}: y must be {n_rows} finite numbers, one for each row; got shape {values.shape}.")
    return values.astype(float)[:, None]


def _frequencies() -> RandomFourier:
    return RandomFourier(STREAM_FEATURES, random_state=0)
