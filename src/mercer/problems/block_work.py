"""What a feature problem asks of a block of rows: small records that can be sent to where the block lives.

Each is called as ``work(block, state)`` and returns a state and a tuple of small arrays to be added up. A state is
a :class:`Dual`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from mercer.exceptions import DataError
from mercer.linalg import ComponentMoments, Moments
from mercer.problems.problem_rows import FeatureTerms
from mercer.problems.rounding import Rounding
from mercer.problems.row_blocks import Block, Reading

__all__ = [
    "Along",
    "Dual",
    "Gather",
    "Predict",
    "Representers",
    "Risk",
    "RiskSlope",
    "Roundings",
    "Shifted",
    "Shrunk",
    "Sizes",
    "Slope",
    "Squares",
    "Survey",
]


class Dual(NamedTuple):
    """Dual variables of the rows of a block; predictions H of some model and lengths of features where asked for."""

    A: np.ndarray
    H: Any = None
    lengths: Any = None


class Sum(NamedTuple):
    """Moments as something that is added up."""

    value: Moments

    def __add__(self, other: Any) -> Sum:
        return Sum(self.value.merge(other.value))


@dataclass(frozen=True)
class Survey(Reading):
    """Rows, weights, sum of squared targets and number of observed ones; targets are checked."""

    terms: FeatureTerms

    def __call__(self, block: Block, state: Any) -> tuple[Any, tuple]:
        m = len(self.terms.measure)
        if block.Y.shape[1] not in (1, m):
            raise DataError(f"FeatureProblem: Y must have 1 column or {m}, one for each node; got {block.Y.shape[1]}.")
        rows = replace(self.terms, n_rows=1, total=1.0).rows(block)
        self.terms.loss.check_targets(rows.Y, rows.measure)
        observed = rows.Y.size if rows.measure.observed is None else int(np.count_nonzero(rows.measure.observed))
        total = float(len(block.Y) if block.weight is None else block.weight.sum())
        return state, (len(block.Y), total, float(np.vdot(rows.Y, rows.Y)), observed)


def moments_of(features: np.ndarray, n_targets: int, weights: np.ndarray) -> Moments:
    """Return moments without rows, of features φ(x) ∈ R^D or Φ(x) ∈ R^{m×D}."""
    if features.ndim == 3:
        return ComponentMoments(features.shape[2], weights)
    return Moments(features.shape[1], n_targets)


@dataclass(frozen=True)
class Gather(Reading):
    """Moments of features and, where none is missing, of targets; weights are those of the nodes."""

    weights: np.ndarray

    def __call__(self, block: Block, state: Any) -> tuple[Any, tuple]:
        features = np.asarray(block.features)
        Y = np.nan_to_num(np.asarray(block.Y, dtype=float), nan=0.0)
        moments = moments_of(features, Y.shape[1], self.weights)
        return state, (Sum(moments.update(features, Y, block.weight)),)


@dataclass(frozen=True)
class Sizes(Reading):
    """Squared residuals and squared slopes at an intercept."""

    terms: FeatureTerms
    b: np.ndarray

    def __call__(self, block: Block, state: Any) -> tuple[Any, tuple]:
        rows = self.terms.rows(block)
        U = np.zeros(rows.Y.shape) + self.b
        s = rows.sample_weight
        parts = (rows.cut(rows.Y - U), rows.slope(U))
        return state, tuple(float(s @ rows.measure.inner(part, part)) for part in parts)


@dataclass(frozen=True)
class Slope(Reading):
    """Value of the loss at φC Rᵀ + b, and its gradients along features and in b."""

    terms: FeatureTerms
    coef: np.ndarray
    b: np.ndarray

    def __call__(self, block: Block, state: Any) -> tuple[Any, tuple]:
        rows = self.terms.rows(block)
        U = rows.predict(self.coef) + self.b
        slope = rows.slope(U)
        return state, (rows.value(U), rows.along(slope), rows.sample_weight @ slope)


@dataclass(frozen=True)
class Along:
    """Σ_i s_i φ(x_i) a_i W R, conjugates, and T of the roundings."""

    terms: FeatureTerms

    def __call__(self, block: Block, state: Dual) -> tuple[Any, tuple]:
        rows = self.terms.rows(block)
        A = np.asarray(state.A, dtype=float)
        return Dual(A, None, rows.sizes[0]), (rows.along(A), rows.conjugate(A), Rounding(rows).total(A))


@dataclass(frozen=True)
class Representers(Reading):
    """Σ_i s_i φ(x_i) a_i W."""

    terms: FeatureTerms

    def __call__(self, block: Block, state: Dual) -> tuple[Any, tuple]:
        rows = self.terms.rows(block)
        return state, (rows.sum_along(state.A * np.asarray(self.terms.measure.weights)),)


@dataclass(frozen=True)
class Predict:
    """Keep the predictions φ C Rᵀ."""

    terms: FeatureTerms
    coef: np.ndarray

    def __call__(self, block: Block, state: Dual) -> tuple[Dual, tuple]:
        return state._replace(H=self.terms.rows(block).predict(self.coef)), ()


@dataclass(frozen=True)
class Risk(Reading):
    """Value of the loss at kept predictions and an intercept."""

    terms: FeatureTerms
    b: np.ndarray

    def __call__(self, block: Block, state: Any) -> tuple[Any, tuple]:
        rows = self.terms.rows(block)
        return state, (rows.value(_shifted(rows, state, self.b)),)


@dataclass(frozen=True)
class RiskSlope(Reading):
    """Its slope in the intercept."""

    terms: FeatureTerms
    b: np.ndarray

    def __call__(self, block: Block, state: Any) -> tuple[Any, tuple]:
        rows = self.terms.rows(block)
        return state, (rows.sample_weight @ rows.slope(_shifted(rows, state, self.b)),)


@dataclass(frozen=True)
class Roundings(Reading):
    """Bounds of what rounding does to a gap and to its two values."""

    terms: FeatureTerms
    b: np.ndarray
    total: float

    def __call__(self, block: Block, state: Dual) -> tuple[Any, tuple]:
        rows = self.terms.rows(block)
        rows.sizes = state.lengths, rows.factor_sizes
        return state, tuple(Rounding(rows).bounds(state.A, state.H + self.b, self.total))


@dataclass(frozen=True)
class Shifted:
    """Σ_i s_i of A − ν projected on the domain of the conjugate, on the nonzero entries only with ``support``."""

    terms: FeatureTerms
    shift: np.ndarray
    support: bool
    keep: bool = False

    @property
    def leaves_states(self) -> bool:
        return not self.keep

    def __call__(self, block: Block, state: Dual) -> tuple[Any, tuple]:
        rows = self.terms.rows(block)
        A = np.asarray(state.A, dtype=float)
        rows = rows.support(A) if self.support else rows
        A = rows.prox(A - self.shift, 0.0)
        return Dual(A) if self.keep else state, (rows.sample_weight @ A,)


@dataclass(frozen=True)
class Shrunk:
    """Keep shrink·(A − ν), and its conjugates, infinite where a row is outside their domain."""

    terms: FeatureTerms
    shift: np.ndarray
    shrink: float

    def __call__(self, block: Block, state: Dual) -> tuple[Any, tuple]:
        rows = self.terms.rows(block)
        A = self.shrink * rows.cut(state.A - self.shift)
        return Dual(A), (rows.conjugate(A),)


@dataclass(frozen=True)
class Squares(Reading):
    """Σ a²."""

    def __call__(self, block: Block, state: Dual) -> tuple[Any, tuple]:
        return state, (float(np.vdot(state.A, state.A)),)


def _shifted(rows: Any, state: Any, b: np.ndarray) -> np.ndarray:
    return np.zeros(rows.Y.shape) + b if state is None else state.H + b
