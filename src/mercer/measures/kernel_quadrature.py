"""Kernel quadrature: few points and weights that integrate the functions of an RKHS nearly best."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls
from scipy.stats import qmc

from mercer._params import check_number
from mercer.backend import to_numpy
from mercer.exceptions import parameter_error
from mercer.measures.measure import Measure
from mercer.measures.rules import MeasureRule, _UnitRule

__all__ = ["KernelQuadrature"]

#: equally weighted points that stand for μ, and among which those of the rule are chosen
QUADRATURE_CANDIDATES = 1024
#: what a constant function may cost less than others, so that weights sum to 1 nearly by themselves
CONSTANT_SHARE = 100.0
#: added to the diagonal of matrices, relative to their size, before they are factorised
QUADRATURE_JITTER = 1e-12


@dataclass(eq=False, repr=False)
class KernelQuadrature(_UnitRule):
    """Points and weights that minimise the worst error sup {|∫ f dμ − Σ_j w_j f(θ_j)|: ‖f‖_k ≤ 1}, step by step.

    In each step the candidate at which the error has the steepest slope joins, and all weights are solved for anew,
    none of them negative (which would destroy convexity). For functions of smoothness r in d dimensions the error of
    the best points is O(m^(−r/d)); :meth:`error` says what it is. Prefer it where something is known of the functions,
    such as a length, or Θ has more than one dimension and points are dear; :class:`GaussLegendre` is best for smooth
    functions on an interval.

    Parameters
    ----------
    kernel : Kernel
        k, with numbers for its parameters.
    size : int, default=20
        Most points; fewer are taken where further ones have no weight.
    distribution : frozen scipy.stats distribution, optional
        The law of each coordinate; uniform on [0, 1] by default.
    dimension : int, default=1
        Dimension of Θ.

    Examples
    --------
    >>> from mercer.kernels import Matern
    >>> rule = KernelQuadrature(Matern(2.5, 0.5), 8)
    >>> mu = rule.build()
    >>> round(float(mu.integrate(np.exp(mu.points.T))[0]), 2)  # e − 1 = 1.718
    1.72
    >>> rule.error(mu) < 0.2 * rule.error(rule.replace(size=3))
    True
    """

    kernel: Any
    size: int = 20
    distribution: Any = None
    dimension: int = 1

    def _check(self) -> None:
        super()._check()
        check_number(self, "dimension", self.dimension, low=1, strict=False, integer=True)
        ready = callable(self.kernel) and getattr(self.kernel, "adapted", False) and not self.kernel.pairwise
        if not ready:
            hint = "For instance Matern(2.5, 0.5) or Gaussian(10.0)."
            raise parameter_error(self, "kernel", self.kernel, "a Kernel with numbers for its parameters", hint)

    def unit_nodes(self, rng):
        """Return the points as ``nodes`` does for the uniform measure."""
        return self._chosen(self._candidates())

    def nodes(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        candidates = self._candidates()
        if self.distribution is not None:
            candidates = np.asarray(self.distribution.ppf(candidates), dtype=float)
        return self._chosen(candidates)

    def error(self, measure: Measure | MeasureRule) -> float:
        """Return the worst error of a measure for functions with ‖f‖_k ≤ 1, μ being as many equally weighted points."""
        measure = measure.build() if isinstance(measure, MeasureRule) else measure
        candidates = self._candidates()
        if self.distribution is not None:
            candidates = np.asarray(self.distribution.ppf(candidates), dtype=float)
        points, w = to_numpy(measure.points), to_numpy(measure.weights)
        gram, across, mean = (self._kernel(a, b) for a, b in ((points,) * 2, (points, candidates), (candidates,) * 2))
        return math.sqrt(max(float(w @ gram @ w - 2 * w @ across.mean(axis=1) + mean.mean()), 0.0))

    def _kernel(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        return to_numpy(self.kernel(X, Z))

    def _candidates(self) -> np.ndarray:
        """Return points that stand for the uniform measure on the unit cube."""
        if self.dimension == 1:
            return ((np.arange(QUADRATURE_CANDIDATES) + 0.5) / QUADRATURE_CANDIDATES)[:, None]
        points = qmc.Sobol(self.dimension, scramble=False).random(QUADRATURE_CANDIDATES)
        return (points + 0.5 / QUADRATURE_CANDIDATES) % 1.0

    def _chosen(self, candidates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        gram = self._kernel(candidates, candidates)
        gram = gram + CONSTANT_SHARE * float(np.mean(np.diagonal(gram)))
        means = gram.mean(axis=1)
        taken: list[int] = []
        weights = np.zeros(0)
        for _ in range(int(self.size)):
            slope = means - gram[:, taken] @ weights
            slope[taken] = -np.inf
            taken.append(int(np.argmax(slope)))
            weights = _best_weights(gram[np.ix_(taken, taken)], means[taken])
        return candidates[taken], weights / weights.sum()


def _best_weights(gram: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Return argmin wᵀKw/2 − wᵀz over w ≥ 0."""
    root = cholesky(gram + QUADRATURE_JITTER * np.trace(gram) * np.eye(len(gram)))
    return nnls(root, solve_triangular(root, means, trans=1))[0]
