"""L-BFGS in features, over blocks of rows: smooth losses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from mercer._params import check_number
from mercer.problems import Block, FeatureProblem
from mercer.problems.block_work import Dual
from mercer.problems.problem_rows import FeatureTerms
from mercer.solvers.feature_ridge import FeatureBasis
from mercer.solvers.stagnation import Stagnation
from mercer.solvers.streamed import Looks, StreamedResult, StreamedSolver

__all__ = ["StreamedLBFGS"]

#: steps in which the best gap has to halve
STEPS_THAT_HALVE_IT = 200


@dataclass(eq=False, repr=False)
class StreamedLBFGS(StreamedSolver):
    """Minimise the primal over C and b with SciPy's L-BFGS-B, one pass over the rows for each value and gradient.

    Coordinates are those in which the Hessian of the square loss is the identity (eigenvectors of the mean product of
    features, divided by roots of στ + λ), so that tens of passes do for smooth losses: Huber, expectiles, smoothed
    quantiles. Dual variables are −∇L at the model, made feasible.

    Parameters
    ----------
    tol : float, default=1e-4
        Bound on the relative duality gap.
    max_iter : int, default=1000
        Limit on the number of steps.
    history : int, default=20
        Number of past steps that shape the next one.
    check_every : int, default=5
        Steps between two looks at the gap.
    memory : int, optional
        Bytes of features that may be kept: the memory budget by default.
    """

    tol: float = 1e-4
    max_iter: int = 1000
    history: int = 20
    check_every: int = 5
    memory: int | None = None

    requires = "a FeatureProblem and a smooth loss with a conjugate"

    def _check(self) -> None:
        super()._check()
        for name in ("history", "check_every"):
            check_number(self, name, getattr(self, name), low=1, strict=False, integer=True)
        if self.memory is not None:
            check_number(self, "memory", self.memory, low=0, strict=False, integer=True)

    def check(self, problem: Any) -> None:
        super().check(problem)
        if not problem.loss.smooth:
            raise self.refuse(
                f"{problem.loss.named!r} is not", "Use StreamedADMM, or a smoothed loss such as MoreauPinball."
            )
        if not problem.loss.has_conjugate:
            raise self.refuse(f"{problem.loss.named!r} defines none", "Give it conjugate and conjugate_prox.")

    def _stream(self, problem: FeatureProblem, init: Any, looks: Looks) -> StreamedResult:
        run = _Run(problem, looks, self.check_every)
        options = {"maxcor": self.history, "maxiter": self.max_iter, "maxfun": 10 * self.max_iter, "ftol": 0, "gtol": 0}
        last = minimize(
            run.objective, run.start(init), jac=True, method="L-BFGS-B", callback=run.after_step, options=options
        )
        run.look(last.x)
        status = "max_iter" if run.count >= self.max_iter else "stalled"
        return looks.result(max(run.count, 1), status)


class _Run:
    """One minimisation: scaled coordinates and intercept as the flat vector that SciPy moves."""

    def __init__(self, problem: FeatureProblem, looks: Looks, check_every: int) -> None:
        self.problem, self.looks, self.check_every, self.count = problem, looks, check_every, 0
        self.basis = FeatureBasis(problem)
        curvature = 1 / problem.unit  # of the loss
        self.scale = 1 / np.sqrt(curvature * self.basis.sizes + problem.alpha)
        self.intercept_scale = 1 / np.sqrt(curvature * np.asarray(problem.measure.weights))
        self.crawls = Stagnation(STEPS_THAT_HALVE_IT)
        self.seen: Any = None

    def start(self, init: Any) -> np.ndarray:
        """Coordinates of a model, those of the intercept alone without one."""
        if init is None:
            coef, b = np.zeros(self.scale.shape), self.problem.null_model[1]
        else:
            coef, b = self.basis.coordinates(np.asarray(init[0], dtype=float)) / self.scale, np.asarray(init[1])
            b = b + self.basis.offset(np.asarray(init[0], dtype=float))
        return np.concatenate([coef.ravel(), b / self.intercept_scale]) if self.problem.fit_intercept else coef.ravel()

    def split(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return C and b."""
        size = math.prod(self.scale.shape)
        coef = self.basis.coef(self.scale * x[:size].reshape(self.scale.shape))
        if not self.problem.fit_intercept:
            return coef, np.zeros(self.problem.shape[1])
        return coef, self.intercept_scale * x[size:] - self.basis.offset(coef)

    def objective(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return value and gradient in the scaled coordinates."""
        value, gradient, slope = self.problem.value_and_gradient(*self.split(x))
        if not self.problem.fit_intercept:
            return value, (self.scale * self.basis.coordinates(gradient)).ravel()
        # b moves with C, as features are less their mean
        gradient = gradient - self.basis.adjoint(slope / np.asarray(self.problem.measure.weights))
        inner = self.scale * self.basis.coordinates(gradient)
        return value, np.concatenate([inner.ravel(), self.intercept_scale * slope])

    def look(self, x: np.ndarray) -> bool:
        """Look at the gap; return whether to stop."""
        coef, b = self.split(x)
        states, _ = self.problem.blocks.map(Slopes(self.problem.terms, coef, b))
        return self.looks.done(states, coef, b, self.count)

    def after_step(self, intermediate_result: Any) -> None:
        self.count += 1
        if self.count % self.check_every and not self.looks.monitor.must_stop():
            return
        if self.look(intermediate_result.x) or self.crawls(self.count, self.looks.gap):
            raise StopIteration


@dataclass(frozen=True)
class Slopes:
    """The dual variables −∇L of a model."""

    terms: FeatureTerms
    coef: np.ndarray
    b: np.ndarray

    def __call__(self, block: Block, state: Any) -> tuple[Dual, tuple]:
        rows = self.terms.rows(block)
        return Dual(-rows.slope(rows.predict(self.coef) + self.b)), ()
