"""``partial_fit``: models of features that learn from one batch of rows after the other, and keep none of them."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from mercer._state import Stateful
from mercer.backend import to_numpy
from mercer.estimators.certified import CertifiedEstimator
from mercer.estimators.intercept_function import InterceptFunction
from mercer.estimators.noncrossing import DURING_FIT
from mercer.estimators.validation import is_foreign, read_weight
from mercer.exceptions import DataError, UnsupportedError, parameter_error
from mercer.features import FeatureMap, Nystroem, RandomFourier
from mercer.kernels import Kernel
from mercer.linalg import Moments, representer_coef, right_factor
from mercer.losses import Loss, Square
from mercer.measures import Measure
from mercer.operator_valued import Decomposable, FeatureExpansion, OperatorValuedKernel
from mercer.solvers import NormalEquations, StochasticGradient

__all__ = ["StreamedFit", "StreamedLevels", "can_stream", "stream_column"]

#: frequencies, or landmarks where a kernel has none, that "auto" takes for a stream
STREAM_FEATURES = 300


def can_stream(model: Any) -> bool:
    """Say whether an estimator has ``partial_fit``, and why where its settings leave it none.

    Those that derive from one that has may not. The reason is the cause of the AttributeError that follows.
    """
    if not model._streams:
        return False
    name = f"{type(model).__name__}.partial_fit"
    pairwise = model.__sklearn_tags__().input_tags.pairwise
    if model.approximation is None or pairwise:
        raise parameter_error(
            model,
            "approximation",
            model.approximation,
            "'auto' or features such as RandomFourier(500) for partial_fit, and kernel no Gram matrix",
            "A model that goes on without its rows has features in place of the kernel.",
        )
    if isinstance(model.kernel, OperatorValuedKernel) and not isinstance(model.kernel, Decomposable):
        raise UnsupportedError(f"{name} is for scalar kernels on inputs; got {model.kernel!r}. Fit all rows at once.")
    if getattr(model, "noncrossing", None) in DURING_FIT:
        raise UnsupportedError(f"{name}: noncrossing={model.noncrossing!r} needs all rows. Take 'rearrange' or None.")
    if getattr(model, "metric", None) is not None:
        raise UnsupportedError(f"{name}: a metric needs all rows. Scale the outputs, and leave metric=None.")
    if getattr(model, "representation", "nodes") != "nodes":
        raise UnsupportedError(f"{name} is for values at nodes: representation='nodes'.")
    return True


class StreamedFit(CertifiedEstimator):
    """An estimator that goes on learning from further batches, in the features that the first one has fixed."""

    measure_: Measure
    loss_: Loss
    stream_: SquareStream | GradientStream
    #: whether there is ``partial_fit``
    _streams: ClassVar[bool] = True

    @abstractmethod
    def _stream_targets(self, y: Any, n_rows: int) -> np.ndarray:
        """Return the targets of a later batch, one column for all nodes or one for each."""

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Learn from a batch; one that is refused changes nothing."""
        if not hasattr(self, "stream_"):
            first = self._first_fit(X, y, sample_weight)
            first.stream_ = first._new_stream()
            first._learn(X, y, sample_weight)
            settings = self.get_params(deep=False)
            for name, value in vars(first).items():
                if name not in settings:
                    setattr(self, name, value)
            return self
        self._learn(X, y, sample_weight)
        return self

    def _first_fit(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """Return a fit of the first batch, which chooses kernels, λ and features."""
        name = f"{type(self).__name__}.partial_fit"
        if is_foreign(X):
            raise UnsupportedError(f"{name} takes NumPy arrays and data frames; convert X with numpy.asarray.")
        given = self.approximation
        if isinstance(given, FeatureMap):
            return clone(self).fit(X, y, sample_weight)
        try:
            return clone(self).set_params(approximation=_frequencies()).fit(X, y, sample_weight)
        except UnsupportedError:  # a kernel without spectral density
            rows = np.shape(to_numpy(X))[0] if sample_weight is None else int(np.sum(np.asarray(sample_weight) > 0))
            landmarks = Nystroem(min(STREAM_FEATURES, rows), random_state=0)
            return clone(self).set_params(approximation=landmarks).fit(X, y, sample_weight)

    def _new_stream(self) -> SquareStream | GradientStream:
        """Return what the stream has to remember, before its first row."""
        expansion: Any = self.expansion_
        if not isinstance(expansion, FeatureExpansion) or expansion.n_components > 1:
            raise UnsupportedError(
                f"{type(self).__name__}.partial_fit is for a scalar kernel on inputs and values at nodes; this fit has "
                f"{type(expansion).__name__}. Fit all rows at once."
            )
        measure = self._stream_measure()
        factor = right_factor(to_numpy(expansion.representers.values(measure.points)), measure.weights)
        intercept = self._stream_fits_intercept
        b = np.array(to_numpy(self._stream_intercept), dtype=float) if intercept else np.zeros(len(measure))
        if isinstance(self._stream_loss(), Square):
            return SquareStream(expansion.kernel, measure, factor, intercept, b)
        coef = np.linalg.lstsq(factor, to_numpy(expansion.representers.values(measure.points)).T, rcond=None)[0]
        start = to_numpy(expansion.coef) @ coef.T
        return GradientStream(
            expansion.kernel, measure, factor, intercept, b, self._stream_loss(), self.alpha_, start, start
        )

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Add a batch, and become the model of all rows so far."""
        X = np.asarray(self._valid_inputs(X, "partial_fit"), dtype=float)
        Y = self._stream_targets(y, len(X))
        weight = None if sample_weight is None else read_weight(sample_weight, X)
        if weight is not None:
            X, Y, weight = X[weight > 0], Y[weight > 0], weight[weight > 0]
        stream: Any = self.stream_
        weight = np.ones(len(X)) if weight is None else weight
        self.stream_, coef, b, objective = stream.after((X, Y, weight), self.alpha_)
        expansion: Any = self.expansion_
        coef = representer_coef(coef, stream.factor, stream.measure.weights)
        self.expansion_ = replace(expansion, coef=coef)
        self._take_intercept(b)
        self.objective_, self.dual_gap_, self.relative_gap_ = objective, math.nan, math.nan
        self.n_samples_seen_ = self.stream_.n_rows
        self.status_, self.n_iter_ = "stream", self.stream_.n_steps
        self.X_fit_ = self.dual_coef_ = None

    # -- what estimators have in common, and a subclass may know better ----------------------------------------

    def _store(self, *args: Any, **settings: Any) -> Any:
        self.__dict__.pop("stream_", None)  # a fit forgets it
        return super()._store(*args, **settings)

    @property
    def _stream_fits_intercept(self) -> bool:
        """Whether later batches move b."""
        return bool(self.fit_intercept)

    @property
    def _stream_intercept(self) -> Any:
        """The intercept of the first fit, in the problem."""
        return self.intercept_

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


@dataclass(frozen=True, eq=False)
class SquareStream(Stateful):
    """What the square loss remembers of rows: their moments.

    Parameters
    ----------
    kernel : Kernel
        With explicit features.
    measure : Measure
        Nodes of the targets.
    factor : array of shape (m, q)
        R.
    fit_intercept : bool
        Whether there is b.
    b : array of shape (m,)
        Of the first fit.
    n_rows, total, mean, scatter
        Those of :class:`~mercer.linalg.Moments`.
    """

    kernel: Kernel
    measure: Measure
    factor: np.ndarray
    fit_intercept: bool
    b: np.ndarray
    n_rows: int = 0
    total: float = 0.0
    mean: Any = None
    scatter: Any = None

    @property
    def n_steps(self) -> int:
        """Solves."""
        return 1

    def after(self, batch: tuple, alpha: float) -> tuple[SquareStream, np.ndarray, np.ndarray, float]:
        """Return the stream with a batch more, and C, b and objective of its model."""
        equations = NormalEquations(self.kernel, self.measure, self.factor, self.fit_intercept)
        if self.n_rows:
            m = len(self.measure)
            equations.moments = Moments.restored(self.n_rows, self.total, self.mean, self.scatter, m)
        moments: Any = equations.update(batch).moments
        fit = equations.solve([alpha]).fit(alpha)
        grown = replace(self, n_rows=moments.n_rows, total=moments.total, mean=moments.mean, scatter=moments.scatter)
        return grown, fit.coef, fit.intercept, fit.objective


@dataclass(frozen=True, eq=False)
class GradientStream(Stateful):
    """Where averaged stochastic gradients are.

    Parameters
    ----------
    kernel, measure, factor, fit_intercept, b
        Those of :class:`SquareStream`.
    loss : Loss
        The loss.
    alpha : float
        λ.
    coef, average : array of shape (D, q)
        C of the last step, and its mean.
    shift, mean_shift : array of shape (m,)
        b less that of the first fit, and its mean.
    n_rows, n_steps, start, total
        Rows, steps, t₀ and the sum of weights so far.
    """

    kernel: Kernel
    measure: Measure
    factor: np.ndarray
    fit_intercept: bool
    b: np.ndarray
    loss: Loss
    alpha: float
    coef: np.ndarray
    average: np.ndarray
    shift: Any = None
    mean_shift: Any = None
    n_rows: int = 0
    n_steps: int = 0
    start: float = 0.0
    total: float = 0.0

    def after(self, batch: tuple, alpha: float) -> tuple[GradientStream, np.ndarray, np.ndarray, float]:
        """Return the stream with a batch more, and C, b and objective (unknown) of its model."""
        learner = StochasticGradient(
            self.kernel, self.loss, self.measure, self.alpha, self.factor, self.fit_intercept, self.b
        )
        b, mean_b = (np.zeros(len(self.measure)) if one is None else one for one in (self.shift, self.mean_shift))
        learner.go_on(self.coef, self.average, b, mean_b, self.n_rows, self.n_steps, self.start, self.total)
        learner.update(batch)
        grown = replace(self, **learner.position())
        return grown, grown.average, self.b + grown.mean_shift, math.nan


def _frequencies() -> RandomFourier:
    return RandomFourier(STREAM_FEATURES, random_state=0)
