"""Random ingredients of a fit: inputs, targets, weights, kernels, measures, λ; one case in eight has extreme values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.stats

from mercer.kernels import (
    Constant,
    ExponentiatedChiSquared,
    Gaussian,
    Identity,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    Precomputed,
    RationalQuadratic,
)
from mercer.measures import GaussLegendre, Halton, MonteCarlo, Points, Sobol, Trapezoid

__all__ = ["Case", "Draw"]

#: share of cases with extreme values, and of the ingredients of such a case that are extreme
EXTREME_CASES = 1 / 8
EXTREME_INGREDIENTS = 0.45
#: units of ordinary data, and their odds
UNITS = (1.0, 1e-12, 1e12, 1e-6, 1e6)
UNIT_ODDS = (0.7, 0.075, 0.075, 0.075, 0.075)
LARGEST = 1e308
#: kinds of inputs, and of targets with their odds
INPUTS = (
    *("normal", "uniform", "integer", "binary", "constant", "collinear"),
    *("offset", "mixed", "repeated", "grid", "near"),
)
TARGETS = {
    "normal": 0.22,
    "smooth": 0.2,
    "ties": 0.15,
    "constant": 0.05,
    "offset": 0.11,
    "heavy": 0.1,
    "binary": 0.05,
    "outlier": 0.1,
    "zero": 0.02,
}


@dataclass(frozen=True, eq=False)
class Case:
    """An estimator and what it is fitted to; ``rng`` draws what is looked at after the fit."""

    estimator: Any
    X: np.ndarray
    y: Any
    weight: np.ndarray | None
    rng: np.random.Generator

    def fit(self, estimator: Any) -> Any:
        """Fit an estimator to the data of this case."""
        return estimator.fit(self.X, self.y, sample_weight=self.weight)


class Draw:
    """Draws the ingredients of one case."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.extreme = bool(rng.random() < EXTREME_CASES)

    # -- numbers -----------------------------------------------------------------------------------------------

    def maybe(self, chance: float) -> bool:
        """Return True with this chance."""
        return bool(self.rng.random() < chance)

    def one_of(self, *options: Any, odds: Any = None) -> Any:
        """Return one of the options."""
        return options[self.rng.choice(len(options), p=odds)]

    def size(self, low: int, high: int) -> int:
        """Return an integer from low to high, both included."""
        return int(self.rng.integers(low, high + 1))

    def magnitude(self, low: float, high: float) -> float:
        """Return 10 to a power between low and high."""
        return float(10 ** self.rng.uniform(low, high))

    def _extremely(self) -> bool:
        return self.extreme and self.maybe(EXTREME_INGREDIENTS)

    def in_units(self, values: np.ndarray, *extremes: float) -> np.ndarray:
        """Return the values in another unit: that of extreme cases is one of ``extremes``."""
        unit = self.one_of(*extremes) if self._extremely() else self.one_of(*UNITS, odds=UNIT_ODDS)
        with np.errstate(over="ignore", under="ignore"):
            return np.clip(values * unit, -LARGEST, LARGEST)

    # -- data --------------------------------------------------------------------------------------------------

    def inputs(self, n: int, d: int) -> np.ndarray:
        """Return X of shape (n, d), with all that data sets bring along."""
        rng, X = self.rng, self.rng.normal(size=(n, d))
        match self.one_of(*INPUTS):
            case "uniform":
                X = rng.uniform(size=(n, d))
            case "integer":
                X = rng.integers(-2, 3, size=(n, d)).astype(float)
            case "binary":
                X = rng.integers(0, 2, size=(n, d)).astype(float)
            case "constant":
                X[:, rng.integers(d)] = self.one_of(0.0, 1.0, 1e8, -3.3)
            case "collinear":
                X[:, -1] = X[:, 0] * self.one_of(1.0, -2.0, 1e6)
            case "offset":
                X = X + self.magnitude(2, 12)
            case "mixed":
                X = X * 10 ** rng.uniform(-8, 8, size=d)
            case "repeated":
                X = X[rng.integers(0, max(1, n // 3), size=n)]
            case "grid":
                X = np.linspace(0, 1, n)[:, None] * np.ones((1, d))
            case "near":
                X[-1] = X[0] * (1 + 1e-15)
        return self.in_units(X, 1e-310, 1e-300, 1e-150, 1e150, 1e300, 1e308)

    def gram(self, n: int) -> np.ndarray:
        """Return a Gram matrix, for kernels on precomputed values."""
        Z = self.rng.normal(size=(n, 3))
        return np.exp(-0.5 * ((Z[:, None] - Z[None]) ** 2).sum(axis=2)) * self.one_of(1.0, 1e-8, 1e8)

    def targets(self, n: int) -> np.ndarray:
        """Return y of shape (n,)."""
        rng, y = self.rng, self.rng.normal(size=n)
        match self.one_of(*TARGETS, odds=list(TARGETS.values())):
            case "smooth":
                y = np.sin(3 * y) + 0.01 * rng.normal(size=n)
            case "ties":
                y = rng.integers(0, 3, size=n).astype(float)
            case "constant":
                y = np.full(n, self.one_of(0.0, 1.0, -7.3, 1e10))
            case "offset":
                y = y + self.magnitude(2, 12) * self.one_of(1, -1)
            case "heavy":
                y = rng.standard_t(1, size=n)
            case "binary":
                y = rng.integers(0, 2, size=n).astype(float)
            case "outlier":
                y[rng.integers(n)] = self.one_of(1e3, 1e6, -1e9)
            case "zero":
                y = np.zeros(n)
        return self.in_units(y, 1e-320, 1e-310, 1e-300, 1e-150, 1e150, 1e300)

    def weights(self, n: int) -> np.ndarray | None:
        """Return sample weights, or None."""
        rng, s = self.rng, self.rng.uniform(0.1, 2, size=n)
        if self._extremely():
            return self.one_of(s * 1e-300, s * 1e300, s * 1e-320 + 1e-321, 10 ** rng.uniform(-300, 300, size=n))
        match self.one_of(
            "none", "uniform", "zeros", "counts", "unit", "mixed", odds=(0.45, 0.15, 0.15, 0.1, 0.1, 0.05)
        ):
            case "none":
                return None
            case "zeros":
                s[1:][rng.random(n - 1) < 0.3] = 0
            case "counts":
                s = rng.integers(1, 4, size=n).astype(float)
            case "unit":
                s = s * self.magnitude(-30, 30)
            case "mixed":
                s = 10 ** rng.uniform(-8, 8, size=n)
        return s

    # -- settings ----------------------------------------------------------------------------------------------

    def alpha(self) -> Any:
        """Return λ, or "auto"."""
        if self._extremely():
            return self.one_of(5e-324, 1e-300, 1e-150, 1e-20, 1e20, 1e150, 1e300, 1.7e308)
        return "auto" if self.maybe(0.35) else self.magnitude(-8, 3)

    def tol(self) -> float:
        """Return a bound on the relative gap."""
        return self.one_of(1e-3, 1e-2, 1e-5, 1e-7, 0.5, odds=(0.55, 0.15, 0.15, 0.1, 0.05))

    def kernel(self, d: int, depth: int = 0) -> Any:
        """Return a kernel on d columns; None, the default, in a quarter of all cases."""
        size = self.magnitude(-3, 3)
        if self._extremely():
            return Gaussian(self.one_of(1e-300, 1e300, 1e-12, 1e12))
        match self.size(0, 11 if depth else 15):
            case 0 | 1:
                return Gaussian(self.one_of("median", "standardized", size))
            case 2:
                return Gaussian([self.one_of(size, 0.0, odds=(0.8, 0.2)) for _ in range(d)])
            case 3 | 4:
                return Laplacian(self.one_of("median", "standardized", size))
            case 5 | 6:
                return Matern(self.one_of(0.5, 1.5, 2.5), self.one_of("median", "standardized", size))
            case 7:
                return RationalQuadratic(size, self.one_of("median", self.magnitude(-3, 3)))
            case 8:
                return Periodic(size, self.magnitude(-3, 3))
            case 9:
                return self.one_of(Linear(), Polynomial(self.size(1, 4), size, self.one_of(0.0, 1.0)))
            case 10:
                return self.one_of(Constant(size), Identity())
            case 11:
                if depth > 1:
                    return Gaussian(size).restrict([int(self.rng.integers(d))])
                left, right = self.kernel(d, depth + 1), self.kernel(d, depth + 1)
                return self.one_of(left + right, left * right, 2.5 * left)
        return None

    def inputs_and_kernel(self, n: int, d: int) -> tuple[np.ndarray, Any]:
        """Return X and a kernel for it, one in ten on histograms or on precomputed values."""
        if self.maybe(0.05):
            return self.gram(n), Precomputed()
        if self.maybe(0.05):
            return np.abs(self.inputs(n, d)), ExponentiatedChiSquared(self.magnitude(-3, 3))
        return self.inputs(n, d), self.kernel(d)

    def output_kernel(self, *, smooth: bool = False) -> Any:
        """Return a kernel on the line, or None in two of five cases; ``smooth`` ones have derivatives."""
        if self.maybe(0.4):
            return None
        size = self.magnitude(-2, 4)
        options = [
            Gaussian("median"),
            Gaussian(size),
            Matern(self.one_of(1.5, 2.5), size),
            Constant(1.0),
            Linear(),
            Polynomial(2),
            Periodic(1.0, 1.0),
            Gaussian(5.0) + Constant(1.0),
            Gaussian(1e-12),
        ]
        rough = [Laplacian(size), Matern(0.5, size), Identity()]
        return self.one_of(*options, *(() if smooth else rough))

    def levels(self) -> Any:
        """Return a rule with points in (0, 1), or None."""
        m, rng = self.size(1, 7), self.rng
        uneven = Points(rng.uniform(0.05, 0.95, size=m).round(1), rng.uniform(0, 2, size=m) + 1e-3)
        outer = Points([1e-9, 0.5, 1 - 1e-9], [self.magnitude(-12, 12) for _ in range(3)])
        return self.one_of(
            None,
            GaussLegendre(m),
            Points(np.sort(rng.uniform(0.01, 0.99, size=m))),
            uneven,
            Trapezoid(m + 1, scipy.stats.uniform(0.05, 0.9)),
            MonteCarlo(m),
            self.one_of(Sobol(m), Halton(m)),
            outer,
            odds=(0.2, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1),
        )
