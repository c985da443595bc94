"""How many frequencies an accuracy takes, and how far features are from their kernel."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from mercer._params import check_number
from mercer.backend import to_numpy
from mercer.exceptions import DataError, UnsupportedError, parameter_error
from mercer.features.directed_waves import DirectedWaves
from mercer.features.feature_map import exact_features
from mercer.features.field_waves import FieldTerm, terms_of_matrix
from mercer.features.fourier_kernel import FourierKernel
from mercer.features.spectra import spectrum, terms_of
from mercer.kernels import Kernel, Sum
from mercer.kernels.base import as_points
from mercer.operator_valued import MatrixValuedKernel

__all__ = ["FeatureCounts", "KernelError", "kernel_error", "suggest_n_features"]

#: rows whose pairs are looked at
SCALAR_ROWS, MATRIX_ROWS = 400, 100
#: constant of the covering argument, safe for every number of columns (8√2 is not for 2, 3 and 4)
COVERING = 20.0


class FeatureCounts(NamedTuple):
    """Numbers of frequencies for one accuracy, from the least to the most that is asked of it."""

    root_mean_square: int  #: the standard error is the tolerance, in the mean of squares over pairs of rows
    all_pairs: int  #: no pair of rows has a larger error, with the confidence
    everywhere: float  #: nor has any pair of points of a ball around the rows; infinite where there is no bound


class KernelError(NamedTuple):
    """How far features are from their kernel, in units of the kernel and over pairs of rows."""

    largest: float  #: the largest error
    root_mean_square: float  #: the root of the mean squared error
    predicted: float  #: what independent frequencies have for the latter; NaN for other features


class _Moments(NamedTuple):
    """What bounds need of the error of D frequencies."""

    variance: np.ndarray  #: D·Var at pairs of rows, in operator norm
    most_variance: float  #: a bound of it everywhere
    bound: float  #: of the largest deviation that one frequency can make, times D
    slope: float  #: of D times the mean Lipschitz constant
    size: float  #: the largest ‖K(x, x)‖
    n_outputs: int


def suggest_n_features(kernel: Any, X: Any, tolerance: float = 0.05, confidence: float = 0.95) -> FeatureCounts:
    """Return how many frequencies of :class:`RandomFourier` an accuracy of the kernel takes.

    Errors are ‖K̃(x, z) − K(x, z)‖ in operator norm, in units of the largest ‖K(x, x)‖. The first number is exact for
    independent frequencies, from

        D·Var k̃(δ) = ½(k(0)² + k(0)k(2δ)) − k(δ)²        and        D·Var K̃(δ) = (c/2)(K(0) + K(2δ)) − K(δ)²

    for scalar kernels and for bounded features of fields, c = E‖ω‖². The second is Bernstein's bound with the largest
    of these variances among the rows looked at, and a union bound over all pairs; the third the uniform bound of Brault
    (2017, Corollary 5.3) with constants for which its proof holds: 20 in place of 8√2, and ε/2 in the exponent. Bounds
    are far from sharp; what a fit loses is less still. Orthogonal and quasi-random frequencies do better, which is not
    counted on.

    Parameters
    ----------
    kernel : Kernel or MatrixValuedKernel
        A kernel that RandomFourier takes; of fields CurlFree, DivergenceFree, Helmholtz, their sums and multiples by
        numbers.
    X : array of shape (n, d)
        Rows; of more than 400 (100 for fields) so many are looked at, at equal steps.
    tolerance : float, default=0.05
        The error that is allowed.
    confidence : float, default=0.95
        Probability of the second and third number, between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> suggest_n_features(Gaussian(0.2), X, tolerance=0.1)
    FeatureCounts(root_mean_square=32, all_pairs=1540, everywhere=34584)
    """
    check_number("suggest_n_features", "tolerance", tolerance, low=0)
    check_number("suggest_n_features", "confidence", confidence, low=0, high=1)
    kernel, X = _ready("suggest_n_features", kernel, X)
    rows = _some(X, SCALAR_ROWS if isinstance(kernel, Kernel) else MATRIX_ROWS)
    moments = _moments(kernel, rows)
    if moments.size == 0:
        return FeatureCounts(0, 0, 0)
    error, risk, p, d = tolerance * moments.size, 1 - confidence, moments.n_outputs, X.shape[1]
    typical = float(np.mean(moments.variance)) / error**2
    pairs = max(len(X) * (len(X) - 1) / 2, 1.0)
    spread = float(np.max(moments.variance)) + moments.bound * error / 3
    every = 2 * spread * math.log(2 * p * pairs / risk) / error**2
    diameter = 2 * float(np.max(np.linalg.norm(X - np.mean(X, axis=0), axis=1)))
    ratio = max(moments.slope * diameter / error, 1.0)
    factor = math.log(COVERING * ratio * p ** (1 / (d + 1)) / risk) if math.isfinite(ratio) else math.inf
    uniform = 8 * (d + 1) * (moments.most_variance + moments.bound * error / 6) * factor / error**2
    return FeatureCounts(
        max(1, math.ceil(typical)),
        max(1, math.ceil(every)),
        max(1, math.ceil(uniform)) if math.isfinite(uniform) else uniform,
    )


def kernel_error(features: Any, kernel: Any, X: Any) -> KernelError:
    """Return how far a kernel with known features is from the kernel that it approximates, over pairs of rows.

    Parameters
    ----------
    features : Kernel or MatrixValuedKernel
        What :meth:`FeatureMap.bind` returned.
    kernel : Kernel or MatrixValuedKernel
        What it was made for.
    X : array of shape (n, d)
        Rows, as a rule others than it was made for; of more than 400 (100 for matrices) so many are looked at.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.features import RandomFourier
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> made = RandomFourier(400, "iid", random_state=0).bind(Gaussian(0.2), X)
    >>> error = kernel_error(made, Gaussian(0.2), X)
    >>> error.largest < 0.15, 0.5 < error.root_mean_square / error.predicted < 2
    (True, True)
    """
    kernel, X = _ready("kernel_error", kernel, X)
    if isinstance(kernel, Kernel) != isinstance(features, Kernel) or not features.explicit:
        raise parameter_error("kernel_error", "features", features, "what FeatureMap.bind returned for the kernel")
    rows = _some(X, SCALAR_ROWS if isinstance(kernel, Kernel) else MATRIX_ROWS)
    if isinstance(kernel, Kernel):
        errors = np.abs(features(rows) - kernel(rows))
    else:
        errors = np.linalg.norm(features.blocks(rows, rows) - kernel.blocks(rows, rows), ord=2, axis=(2, 3))
    n_frequencies, predicted = _count(features), math.nan
    if n_frequencies:
        try:
            predicted = math.sqrt(float(np.mean(_moments(kernel, rows).variance)) / n_frequencies)
        except UnsupportedError:  # no formula for it
            predicted = math.nan
    return KernelError(float(np.max(errors)), float(np.sqrt(np.mean(errors**2))), predicted)


def _ready(owner: str, kernel: Any, X: Any) -> tuple[Any, np.ndarray]:
    if not isinstance(kernel, (Kernel, MatrixValuedKernel)):
        raise parameter_error(owner, "kernel", kernel, "a Kernel or a MatrixValuedKernel")
    X = np.asarray(to_numpy(as_points(kernel, X)), dtype=float)
    if len(X) == 0:
        raise DataError(f"{owner}: X has no rows.")
    return kernel.adapt(X), X


def _some(X: np.ndarray, size: int) -> np.ndarray:
    return X if len(X) <= size else X[np.linspace(0, len(X) - 1, size).astype(int)]


def _count(features: Any) -> int:
    """Return the number of frequencies that features are made of."""
    if isinstance(features, Sum):
        return _count(features.left) + _count(features.right)
    return int(features.frequencies.shape[1]) if isinstance(features, (FourierKernel, DirectedWaves)) else 0


def _moments(kernel: Any, rows: np.ndarray) -> _Moments:
    return _scalar_moments(kernel, rows) if isinstance(kernel, Kernel) else _field_moments(kernel, rows)


def _scalar_moments(kernel: Kernel, rows: np.ndarray) -> _Moments:
    """Terms of mass m share frequencies by mass: one frequency of a term counts M/D, M the sum of the masses."""
    terms = [term for term in terms_of(kernel) if exact_features(term) is None]
    spectra = [spectrum(term, rows.shape[1]) for term in terms]
    total = math.fsum(one.mass for one in spectra)
    variance, moment = np.zeros((len(rows), len(rows))), 0.0
    for term, one in zip(terms, spectra, strict=True):
        logs = any(np.any(np.isfinite(wave.shift)) for wave in one.waves)
        twice = np.ones_like(variance) if logs else np.asarray(term(2 * rows)) / one.mass  # k(2δ), at most 1
        variance += one.mass * total * ((1 + twice) / 2 - (np.asarray(term(rows)) / one.mass) ** 2)
        square = math.fsum(float(np.sum(wave.law.second_moment)) for wave in one.waves)
        moment = max(moment, math.inf if logs else square)
    size = float(np.max(kernel.diagonal(rows), initial=0.0))
    return _Moments(np.maximum(variance, 0), total**2, 2 * total, total * math.sqrt(moment), size, 1)


def _field_moments(kernel: MatrixValuedKernel, rows: np.ndarray) -> _Moments:
    """Terms share frequencies by trace: one of a term with the share s and the mass m counts m/(sD)."""
    d = rows.shape[1]
    terms = [FieldTerm(term, d, bounded=True) for term in terms_of_matrix(kernel, d)]
    if any(not term.plain for term in terms):
        raise UnsupportedError(
            f"{kernel!r}: variances of features are known for CurlFree, DivergenceFree, Helmholtz, their sums and "
            "their multiples by numbers. kernel_error(features, kernel, X) measures those of others."
        )
    total = math.fsum(term.trace for term in terms)
    variance, most, bound, slope = np.zeros((len(rows), len(rows), d, d)), 0.0, 0.0, 0.0
    origin = np.zeros((1, d))
    for term in terms:
        weight = term.mass**2 * total / term.trace
        own: Any = term.term.kernel
        once, twice, zero = own.blocks(rows, rows), own.blocks(2 * rows, 2 * rows), own.blocks(origin, origin)[0, 0]
        variance += weight * (term.second_moment / 2 * (zero + twice) - once @ once)
        most += weight * term.second_moment * float(np.linalg.norm(zero, 2))
        largest = term.mass * total / term.trace * term.second_moment
        bound = max(bound, largest)
        slope = max(slope, largest * math.sqrt(float(np.sum(term.waves[0].law.second_moment))))
    size = float(np.linalg.norm(kernel.blocks(origin, origin)[0, 0], 2))
    return _Moments(np.linalg.norm(variance, ord=2, axis=(2, 3)), most, bound + size, slope, size, d)
