"""Some rows of a feature problem, as losses, proxes and bounds of rounding see them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mercer.exceptions import DataError
from mercer.losses.base import Loss
from mercer.measures import Measure
from mercer.problems.row_blocks import Block

__all__ = ["FeatureTerms", "ProblemRows", "read_factor"]

#: features that are cast to another precision at a time
CAST_NUMBERS = 2**18


def read_factor(owner: str, factor: Any, m: int, n_components: int | None) -> np.ndarray | None:
    """Return R (m, q), the identity by default; None for features whose values are matrices with m rows."""
    if n_components is not None:
        if factor is not None:
            raise DataError(f"{owner}: a kernel whose values are matrices has no factor beside it.")
        if n_components != m:
            raise DataError(f"{owner}: features of {n_components} components need as many nodes; the measure has {m}.")
        return None
    factor = np.eye(m) if factor is None else np.asarray(factor, dtype=float)
    if factor.ndim != 2 or factor.shape[0] != m or not np.all(np.isfinite(factor)):
        raise DataError(f"{owner}: factor must be finite and of shape ({m}, q); got shape {factor.shape}.")
    return factor


@dataclass(frozen=True, eq=False)
class FeatureTerms:
    """What the rows of a feature problem have in common: loss, nodes, right factor, λ and the total weight.

    It is small and knows no rows, so that it can be sent to where they live. Features are φ(x) ∈ R^D with a right
    factor R, h(x) = φ(x) C Rᵀ, or Φ(x) ∈ R^{m×D} without one, h(x) = Φ(x)C with one column.
    """

    loss: Loss
    measure: Measure
    factor: np.ndarray | None
    alpha: float
    n_rows: int = 0
    total: float = 0.0

    @property
    def share(self) -> float:
        """What a row of weight 1 has in the objective: 1/n."""
        return 1 / self.n_rows

    @property
    def scale(self) -> float:
        """1/(λn)."""
        return 1 / (self.alpha * self.n_rows)

    @property
    def n_columns(self) -> int:
        """Columns of C."""
        return 1 if self.factor is None else int(self.factor.shape[1])

    @property
    def factor_sizes(self) -> np.ndarray:
        """Lengths of the rows of R; 1 without it."""
        return np.ones(len(self.measure)) if self.factor is None else np.linalg.norm(self.factor, axis=1)

    @cached_property
    def weighted_factor(self) -> Any:
        """W R, shape (m, q); the weights without R."""
        weights = np.asarray(self.measure.weights)
        return weights if self.factor is None else weights[:, None] * self.factor

    def forward(self, features: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """Return φ(x_i) C Rᵀ, or Φ(x_i)C, shape (n, m)."""
        if self.factor is None:
            return features @ coef[:, 0]
        return (features @ coef) @ self.factor.T.astype(features.dtype, copy=False)

    def inner(self, array: np.ndarray) -> np.ndarray:
        """Return a_i W R, or a_i W: what features are multiplied by on the way back."""
        weighted = self.weighted_factor.astype(array.dtype, copy=False)
        return array * weighted if self.factor is None else array @ weighted

    def backward(self, features: np.ndarray, inner: np.ndarray) -> np.ndarray:
        """Return Σ_i φ(x_i) r_i, or Σ_i Φ(x_i)ᵀr_i as a column, of rows r_i."""
        if self.factor is None:
            return (inner.ravel() @ features.reshape(inner.size, -1))[:, None]
        return features.T @ inner

    def entries(self, features: np.ndarray, nodes: np.ndarray) -> np.ndarray:
        """Return φ(x_i) ⊗ R_j, or Φ(x_i)_j, one node j for each row, shape (n, D·q)."""
        if self.factor is None:
            return features[np.arange(len(nodes)), nodes]
        return (features[:, :, None] * self.factor[nodes][:, None, :]).reshape(len(nodes), -1)

    def rows(self, block: Block, dtype: Any = np.float64) -> ProblemRows:
        """Return some rows, in a precision."""
        return ProblemRows(self, block, dtype)

    def with_alpha(self, alpha: float) -> FeatureTerms:
        return replace(self, alpha=alpha)


class ProblemRows:
    """Rows with targets at all nodes and weights of mean 1 over all rows.

    Parameters
    ----------
    terms : FeatureTerms
        What all rows have in common.
    block : Block
        The rows; one column of targets stands for the same target at each node.
    dtype : dtype
        The precision to work in.
    """

    def __init__(self, terms: FeatureTerms, block: Block, dtype: Any = np.float64) -> None:
        self.terms, self.loss = terms, terms.loss
        self._features, self._dtype = block.features, dtype
        m = len(terms.measure)
        Y = block.Y.astype(dtype, copy=False)
        observed = None if not np.any(np.isnan(Y)) else np.broadcast_to(~np.isnan(Y), (len(Y), m))
        Y = Y if observed is None else np.where(np.isnan(Y), dtype(0), Y)
        self.Y = np.ascontiguousarray(np.broadcast_to(Y, (len(Y), m)))
        self.measure = terms.measure if observed is None else terms.measure.restricted(observed)
        weight = np.ones(len(Y)) if block.weight is None else block.weight * (terms.n_rows / terms.total)
        self.sample_weight = weight.astype(dtype, copy=False)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the dual array of all rows, which sums run over."""
        return self.terms.n_rows, self.Y.shape[1]

    @property
    def scale(self) -> float:
        return self.terms.scale

    @property
    def share(self) -> float:
        return self.terms.share

    @cached_property
    def sizes(self) -> tuple[np.ndarray, np.ndarray]:
        """Lengths of features and of rows of R, which bound the kernel."""
        lengths = np.empty(len(self.Y), dtype=self._dtype)
        for rows, features in self._chunks():
            squares = np.einsum("...j,...j->...", features, features)
            lengths[rows] = np.sqrt(squares if squares.ndim == 1 else squares.max(axis=1))
        return lengths, self.factor_sizes

    @property
    def factor_sizes(self) -> np.ndarray:
        """Lengths of the rows of R."""
        return self.terms.factor_sizes

    def cut(self, array: np.ndarray) -> np.ndarray:
        """Return the array with zeros where nothing was observed."""
        return array if self.measure.observed is None else np.where(self.measure.observed, array, 0)

    # -- maps between features and arrays ----------------------------------------------------------------------

    def predict(self, coef: np.ndarray) -> np.ndarray:
        """Return φ(x_i) C Rᵀ."""
        coef = coef.astype(self._dtype, copy=False)
        out = np.empty(self.Y.shape, dtype=self._dtype)
        for rows, features in self._chunks():
            out[rows] = self.terms.forward(features, coef)
        return out

    def along(self, array: np.ndarray) -> np.ndarray:
        """Return Σ_i s_i φ(x_i) a_i W R, shape (D, q)."""
        return self.sum_along(self.terms.inner(array.astype(self._dtype, copy=False)))

    def sum_along(self, array: np.ndarray) -> np.ndarray:
        """Return Σ_i s_i φ(x_i) a_i."""
        weighted = self.sample_weight[:, None] * array
        parts = (self.terms.backward(features, weighted[rows]) for rows, features in self._chunks())
        return sum(parts)  # type: ignore[return-value]  # there is one part at least

    def taken(self, index: np.ndarray) -> np.ndarray:
        """Return the features of some rows."""
        return np.asarray(self._features)[index].astype(self._dtype, copy=False)

    def _chunks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield features in the precision at hand: all at once, or in parts that stay in cache where they are cast."""
        features = np.asarray(self._features)
        whole = features.dtype == self._dtype
        step = len(features) if whole else max(1, CAST_NUMBERS // features[0].size)
        for start in range(0, len(features), step):
            rows = slice(start, start + step)
            yield rows, features[rows].astype(self._dtype, copy=False)

    # -- the loss ----------------------------------------------------------------------------------------------

    def value(self, U: np.ndarray) -> float:
        """Return Σ_i s_i L_i(u_i)."""
        return float(self.sample_weight @ self.loss.value(self.Y, U, self.measure))

    def slope(self, U: np.ndarray) -> np.ndarray:
        """Return the gradients ∇L_i(u_i)."""
        return self.cut(self.loss.gradient(self.Y, U, self.measure))

    def conjugate(self, A: np.ndarray) -> float:
        """Return Σ_i s_i L_i*(−a_i)."""
        return float(self.sample_weight @ self.loss.conjugate(self.Y, A, self.measure))

    def prox(self, Z: np.ndarray, t: float) -> np.ndarray:
        """Return the prox of t·Σ_i L_i*(−a_i), without the constraint of an intercept."""
        return self.cut(self.loss.conjugate_prox(self.Y, Z, t, self.measure))

    def support(self, A: np.ndarray) -> ProblemRows:
        """Return the rows seen at the nonzero entries of A only, where repairs of a sparse array may be made."""
        other = ProblemRows.__new__(ProblemRows)
        other.__dict__.update(self.__dict__)
        observed, nonzero = self.measure.observed, A != 0
        other.measure = self.measure.restricted(nonzero if observed is None else nonzero & observed)
        return other
