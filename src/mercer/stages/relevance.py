"""Which columns matter: scales of a Gaussian process prior by evidence, shrunk towards one common scale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas, lapack
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from mercer._state import Stateful
from mercer.kernels import Constant, Gaussian, Kernel, Linear

__all__ = ["Relevance", "choose_relevance", "cross_fitted_relevance", "one_thread"]

#: rows that the evidence is computed from, and steps of its maximisation
EVIDENCE_ROWS, EVIDENCE_STEPS = 300, 20
#: variance of the constant part: an intercept that is almost free, for targets of unit variance
CONSTANT_VARIANCE = 10.0
#: standard deviations of the logarithms of the common scale and of what columns differ from it
COMMON_DEVIATION, SINGLE_DEVIATION = 2.0, 1.4
#: means and standard deviations of the logarithms of the smooth part, the linear part and the noise
PRIORS = ((0.0, 1.5), (0.0, 1.5), (-1.5, 1.5))
#: of the logarithms: how far scales may move, and the bounds of the two parts and the noise
SCALE_LIMITS, PART_LIMITS = (-14.0, 8.0), ((-8.0, 5.0), (-8.0, 4.0), (-9.0, 3.0))
#: what is added to the diagonal for rounding
JITTER = 1e-8


@dataclass(frozen=True)
class Relevance(Stateful):
    """Parameters of k(x, z) = 10 + g·exp(−½ Σ_k s_k (x_k − z_k)²) + l·Σ_k s_k x_k z_k, and the variance of noise.

    Attributes
    ----------
    scales : array of shape (d,)
        s: large where a function varies much along a column, near 0 where a column does not matter.
    smooth, linear : float
        g and l, the variances of the two parts.
    noise : float
        v, the variance of noise of a row of weight 1.
    loss : float
        Minus the logarithm of posterior density and evidence, from the rows that were used; smaller is better.
    """

    scales: np.ndarray
    smooth: float
    linear: float
    noise: float
    loss: float = np.nan

    @property
    def kernel(self) -> Kernel:
        """The kernel, on standardised columns multiplied by √s."""
        return Constant(CONSTANT_VARIANCE) + self.smooth * Gaussian(0.5) + self.linear * Linear()

    def scaled(self, Z: np.ndarray) -> np.ndarray:
        """Return the columns times √s, as :attr:`kernel` takes them."""
        return Z * np.sqrt(self.scales)

    @property
    def vector(self) -> np.ndarray:
        """Logarithms of all parameters."""
        return np.log(np.concatenate([self.scales, [self.smooth, self.linear, self.noise]]))

    @classmethod
    def of_vector(cls, vector: np.ndarray, loss: float = np.nan) -> Relevance:
        """Undo :attr:`vector`."""
        *scales, smooth, linear, noise = np.exp(vector)
        return cls(np.array(scales), float(smooth), float(linear), float(noise), loss)


def one_thread() -> threadpool_limits:
    """Return a context in which BLAS has one thread: small matrices wait for further ones longer than they gain."""
    return threadpool_limits(limits=1, user_api="blas")


def choose_relevance(
    Z: np.ndarray,
    t: np.ndarray,
    weight: np.ndarray | None = None,
    rows: np.ndarray | None = None,
    start: Relevance | None = None,
    steps: int = EVIDENCE_STEPS,
    importance: np.ndarray | None = None,
) -> Relevance:
    """Return the parameters of the largest posterior density: evidence of the Gaussian process times a prior.

    The evidence is that of t ~ N(0, k(Z, Z) + v·diag(1/weight)) on some of the rows. A priori the logarithms of the
    scales are log(1/d) + μ + δ_k, μ ~ N(0, 2²) common to all columns and δ_k ~ N(0, 1.4²): columns have scales of
    their own only as far as the data say so. (The leave-one-out error, minimised instead, overfits small data.)

    Parameters
    ----------
    Z : array of shape (n, d)
        Standardised columns.
    t : array of shape (n,) or (n, c)
        Standardised targets; several columns have the same parameters, and their evidences are multiplied.
    weight : array of shape (n,), optional
        Weights of mean 1.
    rows : array of int, optional
        Rows to learn from, in random order; the first 300 of them are used.
    start : Relevance, optional
        Where to begin.
    steps : int, default=20
        Limit on the steps of L-BFGS-B.
    importance : array of shape (c,), optional
        Powers to which the evidences of the columns of t are raised; 1 each by default.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> Z = rng.normal(size=(200, 4))
    >>> t = np.sin(2 * Z[:, 0]) + 0.1 * rng.normal(size=200)
    >>> found = choose_relevance(Z, t)
    >>> bool(found.scales[0] > 20 * found.scales[1:].max())
    True
    """
    n, d = Z.shape
    rows = np.random.default_rng(0).permutation(n) if rows is None else rows
    rows = np.sort(rows[:EVIDENCE_ROWS])
    noise = np.ones(len(rows)) if weight is None else 1 / weight[rows]
    centre = -np.log(d)
    first = np.concatenate([np.full(d, centre), [mean for mean, _ in PRIORS]])
    targets = t[rows].reshape(len(rows), -1)
    importance = np.ones(targets.shape[1]) if importance is None else importance
    loss = _posterior(Z[rows], targets * np.sqrt(importance), float(importance.sum()), noise, centre)
    bounds = [(centre + SCALE_LIMITS[0], centre + SCALE_LIMITS[1])] * d + list(PART_LIMITS)
    found = minimize(
        loss,
        first if start is None else start.vector,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": steps},
    )
    return Relevance.of_vector(found.x, float(found.fun))


def cross_fitted_relevance(
    Z: np.ndarray,
    t: np.ndarray,
    weight: np.ndarray | None,
    order: np.ndarray,
    fold: np.ndarray,
    start: Relevance | None = None,
) -> tuple[Relevance, ...]:
    """Return parameters that were learned without each of the folds, then those of all rows.

    Parameters
    ----------
    Z, t, weight, start
        As :func:`choose_relevance` takes them; ``start`` is for the parameters of all rows.
    order : array of int, shape (n,)
        The rows in random order.
    fold : array of int, shape (n,)
        The fold of each row: 0, 1, …
    """
    with one_thread():
        parts = [choose_relevance(Z, t, weight, order[fold[order] != k]) for k in range(int(fold.max()) + 1)]
        return *parts, choose_relevance(Z, t, weight, start=start)


def _posterior(
    Z: np.ndarray, T: np.ndarray, count: float, noise: np.ndarray, centre: float
) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """Return p ↦ minus the logarithm of evidence and prior, and its gradient in p, the logarithms of parameters.

    T are the targets times the roots of their importance, ``count`` is the sum of the latter, q.
    G = ½(qC⁻¹ − C⁻¹TTᵀC⁻¹) is the gradient of the former in the matrix C. Only its products with symmetric matrices
    count, so that the half of C⁻¹ that LAPACK computes stands for all of it. With M = G ∘ exp(−½Σ…) the gradient in all
    s_k is one product: Σ_ij M_ij (z_ik − z_jk)² = Σ_i m_i z_ik² − 2z_kᵀMz_k, m the sums of rows and columns of M.
    """
    n, d = Z.shape
    diagonal = np.arange(n)
    squares = Z * Z
    L, F, C, product = np.empty((4, n, n))

    def loss(p: np.ndarray) -> tuple[float, np.ndarray]:
        scales, (smooth, linear, variance) = np.exp(p[:d]), np.exp(p[d:])
        A = Z * np.sqrt(scales)
        np.matmul(A, A.T, out=L)
        half = 0.5 * L[diagonal, diagonal]
        np.subtract(L, half, out=F)
        np.subtract(F, half[:, None], out=F)
        np.exp(F, out=F)
        np.multiply(F, smooth, out=C)
        np.add(C, np.multiply(L, linear, out=product), out=C)
        np.add(C, CONSTANT_VARIANCE, out=C)
        C[diagonal, diagonal] += variance * noise + JITTER
        factor, failed = lapack.dpotrf(C.T, lower=1, overwrite_a=1)
        if failed:
            return 1e10, np.zeros_like(p)
        solved = lapack.dpotrs(factor, T, lower=1)[0]
        value = 0.5 * float(np.vdot(T, solved)) + count * float(np.log(factor[diagonal, diagonal]).sum())
        G = lapack.dpotri(factor, lower=1, overwrite_c=1)[0]
        if count != 1:
            G *= count
        G[diagonal, diagonal] *= 0.5
        for column in solved.T:
            G = blas.dger(-0.5, column, column, a=G, overwrite_a=1)
        G = G.T
        in_parts = smooth * np.vdot(G, F), linear * np.vdot(G, L), variance * float(G[diagonal, diagonal] @ noise)
        in_scales = linear * np.sum(Z * (G @ Z), axis=0)
        M = np.multiply(G, F, out=G)
        in_scales += smooth * (np.sum(Z * (M @ Z), axis=0) - 0.5 * ((M.sum(axis=0) + M.sum(axis=1)) @ squares))
        prior, slope = _prior(p, d, centre)
        return value + prior, np.concatenate([scales * in_scales, in_parts]) + slope

    return loss


def _prior(p: np.ndarray, d: int, centre: float) -> tuple[float, np.ndarray]:
    """Return minus the logarithm of the prior density, but for a constant, and its gradient."""
    common = float(np.mean(p[:d] - centre))
    single = p[:d] - centre - common
    means, deviations = np.array(PRIORS).T
    rest = (p[d:] - means) / deviations
    value = 0.5 * float(np.sum((single / SINGLE_DEVIATION) ** 2) + (common / COMMON_DEVIATION) ** 2 + rest @ rest)
    return value, np.concatenate([single / SINGLE_DEVIATION**2 + common / COMMON_DEVIATION**2 / d, rest / deviations])
