"""Which columns of X matter for curves: Gaussians whose scales come from the evidence of principal components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.linalg

from mercer.backend import to_numpy
from mercer.estimators.row_order import canonical_order
from mercer.estimators.sample import Sample
from mercer.kernels import Gaussian, Kernel
from mercer.stages.relevance import EVIDENCE_ROWS, choose_relevance, one_thread

__all__ = ["column_shares", "learned_kernels", "tells_columns"]

#: curves from which on scales of columns are learned
FEWEST_CURVES = 20
#: principal components that have this share of the variance count, and no more of them than that
EXPLAINED, MOST_COMPONENTS = 0.95, 5


def tells_columns(sample: Sample) -> bool:
    """Whether scales of columns can be learned: from enough complete curves, for two columns at least."""
    return sample.X.shape[1] > 1 and len(sample) >= FEWEST_CURVES and sample.outputs.complete


def learned_kernels(sample: Sample, lengths: Sequence[float]) -> list[Kernel]:
    """Return Gaussians with learned scales of columns, of falling length; none where there is nothing to learn.

    The scales s maximise the evidence of a Gaussian process for the principal components of the curves in L²(μ) that
    have 95 % of their variance, five at most: standardised, with parameters in common, each raised to the power of its
    variance over that of the first. With z the columns times √s the kernel is exp(−‖z − z'‖²/(m·length)²), m the median
    distance.
    """
    X = to_numpy(sample.X).astype(float)
    alike = _equal_scales(X)
    varying = X.min(axis=0) < X.max(axis=0)
    if varying.sum() < 2:
        return []
    Z = (X - X.mean(axis=0))[:, varying] * np.sqrt(alike[varying])
    Z /= np.sqrt(np.mean(Z**2))
    curves, weight = _curves(sample)
    place = canonical_order(X, np.sum(curves**2, axis=1))
    rows = place[np.random.default_rng(0).permutation(len(place))[:EVIDENCE_ROWS]]
    weight = weight[rows] / weight[rows].mean()
    scores, variances = _principal_scores(curves[rows], weight)
    if len(variances) == 0:
        return []
    with one_thread():
        found = choose_relevance(Z[rows], scores, weight, importance=variances / variances[0])
    gamma = np.zeros(len(alike))
    gamma[varying] = alike[varying] * found.scales
    unit: Any = Gaussian("median").adapt((X - X.mean(axis=0)) * np.sqrt(gamma))
    gamma *= float(unit.gamma)
    return [Gaussian(gamma / length**2) for length in lengths]


def column_shares(kernel: Any, X: Any) -> np.ndarray:
    """Return the share of each column in the scales of a Gaussian for standardised columns, shape (d,)."""
    alike = _equal_scales(to_numpy(X).astype(float))
    scales = np.divide(np.asarray(kernel.gamma), alike, out=np.zeros(len(alike)), where=alike > 0)
    return scales / scales.sum()


def _equal_scales(X: np.ndarray) -> np.ndarray:
    """Return γ of the columns of equal scale, in proportion to 1/variance; 0 for constant columns among others."""
    kernel: Any = Gaussian("standardized").adapt(X)
    return np.asarray(kernel.gamma)


def _curves(sample: Sample) -> tuple[np.ndarray, np.ndarray]:
    """Return values times the roots of the weights of their nodes, about their mean, and the weights of rows."""
    values = to_numpy(sample.outputs.values).astype(float)
    values = values * np.sqrt(np.repeat(to_numpy(sample.measure.weights), sample.outputs.n_components))
    weight = np.ones(len(values)) if sample.weight is None else to_numpy(sample.weight).astype(float)
    return values - np.average(values, axis=0, weights=weight), weight


def _principal_scores(curves: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of the leading principal components, of mean square 1, and their variances."""
    n = len(curves)
    largest = float(np.max(np.abs(curves)))
    if largest == 0:
        return curves[:, :0], np.zeros(0)
    weighted = np.sqrt(weight / n)[:, None] * (curves / largest)
    total = float(np.sum(weighted**2))
    few = min(MOST_COMPONENTS, n)
    values, U = scipy.linalg.eigh(weighted @ weighted.T, subset_by_index=(n - few, n - 1))
    values, U = values[::-1], U[:, ::-1]
    enough = 1 + int(np.searchsorted(np.cumsum(values), EXPLAINED * total))
    keep = np.flatnonzero(values[:enough] > np.finfo(float).eps * n * values[0])
    directions = weighted.T @ U[:, keep] / np.sqrt(values[keep])
    return (curves / largest) @ directions / np.sqrt(values[keep]), values[keep]
