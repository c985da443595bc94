"""Entries that a measure observes: residuals and means over them."""

from __future__ import annotations

from typing import Any

from mercer.backend import namespace
from mercer.measures import Measure

__all__ = ["node_mean", "observed_only", "residual"]


def observed_only(values: Any, measure: Measure) -> Any:
    """Return the values with zeros at the entries that the measure does not observe, whatever stood there."""
    if measure.observed is None:
        return values
    xp = namespace(values)
    return xp.where(measure.observed, values, xp.zeros_like(values))


def residual(Y: Any, U: Any, measure: Measure) -> Any:
    """Return r = y − u, a fresh array that is zero at unobserved entries, also where y is NaN there."""
    return observed_only(Y - U, measure)


def node_mean(array: Any, sample_weight: Any, measure: Measure) -> Any:
    """Return Σ_i s_i a_ij / Σ_i s_i over the observed entries of each node, 0 where there are none; shape (m,)."""
    xp = namespace(array)
    if measure.observed is None:
        return sample_weight @ array / xp.sum(sample_weight)
    total = sample_weight @ xp.astype(measure.observed, array.dtype)
    return sample_weight @ observed_only(array, measure) / xp.where(total > 0, total, xp.ones_like(total))
