"""Kernels, losses, rules and solvers against their contracts, with random settings: the library's and your own."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats

from fuzz.check import LIMIT, Family, Hang, time_limit
from fuzz.draw import Draw
from fuzz.findings import Finding, Report, place_of
from mercer.exceptions import MercerError
from mercer.kernels import (
    Constant,
    ExponentiatedChiSquared,
    FeatureKernel,
    FunctionalGaussian,
    FunctionKernel,
    Gaussian,
    Identity,
    IntegralGaussian,
    IntegralLaplacian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    Precomputed,
    RationalQuadratic,
)
from mercer.losses import (
    CostSensitiveHinge,
    EpsilonInsensitive,
    EpsilonRidge,
    Expectile,
    Huber,
    Loss,
    MoreauHinge,
    MoreauPinball,
    OneClassHinge,
    Pinball,
    Square,
    WeightedHuber,
    WeightedMoreauHinge,
)
from mercer.measures import GaussLegendre, Grid, Halton, Measure, MeasureRule, MonteCarlo, Points, Sobol, Trapezoid
from mercer.solvers import ADMM, LBFGS, ClosedForm, InteriorPoint, ProximalGradient, SemismoothNewton, Solver
from mercer.testing import check_kernel, check_loss, check_measure, check_solver

__all__ = ["OWN_PARTS", "Contracts", "check_part"]

#: the parts of the library; solvers of level sets take no other problem, and run in the family of that name
OWN_PARTS: tuple[Any, ...] = (
    Gaussian(1.0),
    Gaussian("standardized"),
    Laplacian(1.0),
    Matern(0.5, 1.0),
    Matern(1.5, 1.0),
    Matern(2.5, "median"),
    RationalQuadratic(1.0, 1.0),
    Periodic(1.0, 1.0),
    Linear(),
    Polynomial(2),
    Polynomial(3),
    Constant(1.0),
    Identity(),
    ExponentiatedChiSquared(1.0),
    IntegralGaussian(),
    IntegralLaplacian(),
    FunctionalGaussian(),
    Precomputed(),
    FunctionKernel(lambda X, Z: (1 + X @ Z.T) ** 2),
    FeatureKernel(lambda X: np.hstack([X, np.sin(X)])),
    Gaussian(1.0) + 0.5 * Linear(),
    Gaussian(1.0) * Polynomial(2),
    Gaussian(1.0).restrict([0]),
    Square(),
    Pinball(),
    MoreauPinball(0.3),
    WeightedHuber(0.5),
    Expectile(),
    Huber(0.3, "norm"),
    Huber(0.3, "pointwise"),
    EpsilonRidge(0.2, "norm"),
    EpsilonRidge(0.2, "pointwise"),
    EpsilonInsensitive(0.2, "norm"),
    EpsilonInsensitive(0.2, "pointwise"),
    CostSensitiveHinge(),
    MoreauHinge(0.3),
    WeightedMoreauHinge(0.3),
    OneClassHinge(),
    GaussLegendre(5),
    GaussLegendre(8, scipy.stats.beta(2, 3)),
    Trapezoid(12),
    MonteCarlo(20),
    Sobol(16),
    Halton(15),
    Points([0.1, 0.5, 0.9]),
    Points([0.5, 0.2], [2.0, 1.0]),
    Grid([0.0, 0.2, 1.0]),
    ADMM(),
    ClosedForm(),
    InteriorPoint(),
    SemismoothNewton(),
    LBFGS(),
    ProximalGradient(tol=1e-3),
)
#: sizes of points, parameters and targets differ from those that a part came with by a factor up to this
SPREAD = 3.0


class Contracts(Family):
    """One part a seed, by turns."""

    name = "contracts"

    def __init__(self, parts: tuple[Any, ...] = OWN_PARTS) -> None:
        self.parts = parts

    def run(self, seed: int) -> Report:
        return check_part(self.parts[seed % len(self.parts)], self.generator(seed))

    def draw(self, draw):
        raise NotImplementedError

    certify = look = draw


def check_part(part: Any, rng: np.random.Generator) -> Report:
    """Check a kernel, a loss, a rule or a solver (or the class of one) against its contract, with random settings."""
    part = part() if isinstance(part, type) else part
    draw, report = Draw(rng), Report("failed")
    start = time.perf_counter()
    try:
        varied = part if isinstance(part, Solver) else _vary(part, draw)
        with time_limit(LIMIT), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _contract(part)(varied, draw, int(rng.integers(2**31)))
        report.outcome = "kept"
    except Hang as error:
        report.findings.append(Finding("hang", place_of(error), f"the contract of {part!r}"))
    except AssertionError as error:
        report.findings.append(Finding("broken contract", type(part).__name__, str(error)))
    except Exception as error:
        report.findings.append(Finding("foreign exception", place_of(error), f"{part!r}: {error}"))
    report.seconds = time.perf_counter() - start
    return report


def _vary(part: Any, draw: Draw) -> Any:
    """Return the part with other positive numbers for its parameters, as far as it takes them."""
    for name, value in part.get_params(deep=False).items():
        if isinstance(value, float) and value > 0 and draw.maybe(0.7):
            try:
                part = part.replace(**{name: value * SPREAD ** draw.rng.uniform(-1, 1)})
            except MercerError:  # nu = 1.5 and the like
                continue
    return part


def _contract(part: Any) -> Callable[[Any, Draw, int], None]:
    for base, contract in ((Kernel, _kernel), (Loss, _loss), (MeasureRule, _rule), (Solver, _solver)):
        if isinstance(part, base):
            return contract
    raise TypeError(f"a Kernel, a Loss, a MeasureRule or a Solver has a contract; {part!r} is none of them")


def _kernel(kernel: Any, draw: Draw, seed: int) -> None:
    """Check a kernel at the default points, or at others: few or many, in one to four columns."""
    X = None
    if not kernel.pairwise and draw.maybe(0.6):
        X = SPREAD ** draw.rng.uniform(-1, 1) * draw.rng.uniform(0, 2, size=(draw.size(5, 20), draw.size(1, 4)))
    check_kernel(kernel, X, seed=seed)


def _loss(loss: Any, draw: Draw, seed: int) -> None:
    """Check a loss with a measure of one to six points."""
    m = draw.size(1, 6)
    points, weights = np.sort(draw.rng.uniform(0.02, 0.98, size=m)), draw.rng.uniform(0.1, 1.0, size=m)
    check_loss(loss, Measure(points, weights) if draw.maybe(0.8) else None, seed=seed)


def _rule(rule: Any, draw: Draw, seed: int) -> None:
    """Check a rule with random points of another seed."""
    check_measure(rule, seed=seed)


def _solver(solver: Any, draw: Draw, seed: int) -> None:
    """Check a solver on a battery of random problems, all losses that it takes."""
    check_solver(solver, seed=seed)
