"""What learners over θ in (0, 1) share: a measure on θ, functions that do not cross, and the evaluation of h + b."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state

from mercer.backend import as_like, device, namespace, to_numpy
from mercer.estimators.approximation import StandIn, stand_in
from mercer.estimators.certified import LENIENCE, ROUGH_ROWS, CertifiedEstimator
from mercer.estimators.intercept_function import InterceptFunction
from mercer.estimators.interruption import Interruption, interruptible, warn_of_gap
from mercer.estimators.monotone_fit import MonotoneFit
from mercer.estimators.noncrossing import DURING_FIT, check_noncrossing
from mercer.estimators.own_levels import OwnLevels
from mercer.estimators.progress import progress
from mercer.estimators.regularisation import CHOOSING, mean_deviation
from mercer.estimators.streamed_fit import must_stream
from mercer.estimators.tables import column_layout
from mercer.estimators.validation import validate_inputs
from mercer.exceptions import parameter_error
from mercer.features import FeatureMap
from mercer.interpolation import refine
from mercer.kernels import Gaussian, Kernel, as_kernel
from mercer.linalg import eigh_fits
from mercer.losses import Loss, as_loss
from mercer.measures import GaussLegendre, MeasureRule
from mercer.operator_valued import BoundDecomposable, BoundKernel, Decomposable, OperatorValuedKernel
from mercer.problems import DualProblem
from mercer.solvers import SolverResult, afford

__all__ = ["InfiniteTaskEstimator", "as_generator"]


class InfiniteTaskEstimator(CertifiedEstimator):
    """h(x)(θ) + b(θ) for every θ in (0, 1): the fit of :class:`~mercer.problems.DualProblem` and its evaluation.

    A subclass says what θ is (``_theta``), has the constructor parameters used here, turns its targets into the
    (n, m) array that its loss expects, and offers predictions in the words of its users. Beside these words there is
    one for all, ``predict_at(X, θ)``, with which whatever draws or scores functions of θ may ask: values at all rows
    and all θ, shape (n, m), for a number or an array of θ in any order, trained on or not. Detectors, regressors of
    curves and calibrated quantiles have it, too.
    """

    #: what θ is called, also by the losses that are allowed (``Loss.indexed_by``)
    _theta: ClassVar[str]
    #: names of the losses that are allowed, for messages
    _losses: ClassVar[str]
    #: what goes wrong at the ends of (0, 1), for messages
    _ends: ClassVar[str]

    # -- what the parameters mean ------------------------------------------------------------------------------

    def _check_settings(self) -> None:
        super()._check_settings()
        check_noncrossing(self)
        if not (self.measure is None or isinstance(self.measure, MeasureRule)):
            raise parameter_error(
                self,
                "measure",
                self.measure,
                "a MeasureRule",
                f"For a list of {self._theta}s pass Points([0.1, 0.5, 0.9]).",
            )

    def _measure(self, X):
        rule = GaussLegendre(20) if self.measure is None else self.measure
        measure = rule.build(X, as_generator(self, self.random_state))
        points = to_numpy(measure.points)
        if points.shape[1] != 1 or not np.all((points > 0) & (points < 1)):
            raise parameter_error(
                self,
                "measure",
                points.ravel() if points.shape[1] == 1 else points,
                f"a rule whose points are {self._theta}s strictly between 0 and 1",
                f"{self._ends} take GaussLegendre(20), or Trapezoid(20, scipy.stats.uniform(0.05, 0.9)).",
            )
        return measure

    def _operator_valued_kernel(self, X, measure, learned: Kernel | None = None) -> BoundKernel:
        """Return K, bound to the measure, with numbers for all its parameters; k_X as given, unless it was learned."""
        if isinstance(self.kernel, OperatorValuedKernel):
            if not self.kernel.continuous:
                allowed = f"a kernel whose functions are known at every {self._theta}"
                hint = f"The outputs of this one are vectors. For {self._theta}s take Decomposable(k_X, k_Θ)."
                raise parameter_error(self, "kernel", self.kernel, allowed, hint)
            kernel = self.kernel.locate(column_layout(self)).adapt(X)
        else:
            inputs = self._adapted_kernel(X) if learned is None else learned
            kernel = Decomposable(inputs, self._given_output_kernel())
        return kernel.bind(measure, n_components=1)

    def _given_output_kernel(self) -> Kernel:
        """Return k_Θ, which has to be known everywhere."""
        given = self.output_kernel
        kernel = Gaussian("median") if given is None else as_kernel(given, self, "output_kernel")
        if kernel.pairwise:
            hint = f"It is evaluated at any {self._theta}."
            raise parameter_error(self, "output_kernel", given, f"a kernel on {self._theta}s", hint)
        return kernel

    def _loss(self) -> Loss:
        loss = as_loss(self.loss)
        if loss.indexed_by != self._theta:
            raise parameter_error(
                self,
                "loss",
                loss,
                f"a loss indexed by {self._theta}s: {self._losses}",
                f'A loss of your own says so with the class attribute indexed_by = "{self._theta}".',
            )
        return loss

    # -- fitting -----------------------------------------------------------------------------------------------

    def _with_features(self, bound: BoundKernel, X: Any) -> tuple[BoundKernel, StandIn]:
        """Return the bound kernel with features in place of k_X where these are asked for or needed."""
        if not isinstance(bound, BoundDecomposable) or self.noncrossing == "guarantee":
            if isinstance(self.approximation, FeatureMap):
                allowed = "'auto' or None for this kernel, or for noncrossing='guarantee'"
                hint = "Features take the place of k_X in k_X·k_Θ, and a guarantee is about Gaussian kernels."
                raise parameter_error(self, "approximation", self.approximation, allowed, hint)
            return bound, StandIn(bound.kernel, bound.kernel, None)
        streams = self.noncrossing not in DURING_FIT
        taken = stand_in(self, bound.kernel, X, streams)
        return replace(bound, kernel=taken.kernel), taken

    def _afford(self, X, Y, weight, bound, loss, alpha: Callable[[int], float]) -> None:
        """Refuse at once, before λ is chosen, a fit that clearly does not fit into the memory budget.

        ``alpha`` is λ, or its choice from a number of rows: of few of them, and then three times as large.
        """
        if not eigh_fits(X.shape[0]):
            rough = alpha(ROUGH_ROWS) * (LENIENCE if isinstance(self.alpha, str) else 1.0)
            problem = DualProblem(bound.gram(X), loss, Y, bound.measure, rough, weight, self.fit_intercept)
            afford(self.solver, problem, self._tolerance)

    def _fit_function(
        self, X, Y, weight, bound, taken: StandIn, loss, alpha, centre: float = 0.0, columns: np.ndarray | None = None
    ) -> Self:
        """Solve for h and b with targets Y of shape (n, m), warn where tol was not reached, and become that model.

        ``taken`` is what the kernel is made of (:meth:`_with_features`), ``centre`` was taken off the targets and is
        added to b, and ``columns`` are those of :meth:`_store`.
        """
        rows, expansion = X, None
        problem: Any
        with interruptible() as interrupted:
            if self.noncrossing in DURING_FIT and len(np.unique(to_numpy(bound.measure.locations))) > 1:
                fit = MonotoneFit(bound, loss, X, Y, weight, alpha, self.fit_intercept, centre)
                X, bound, problem, result = self._fit_monotone(fit, interrupted)
            elif taken.features is not None and must_stream(bound.kernel, X):
                one = Y[:, :1] if loss.indexed_by == "level" else Y
                solved = self._solve_streamed(bound, X, one, weight, loss, alpha, self.fit_intercept, interrupted)
                problem, result, expansion = solved
            else:
                problem = DualProblem(bound.gram(X), loss, Y, bound.measure, alpha, weight, self.fit_intercept)
                result = self._solve(problem, self._tolerance, interrupted)
        warn_of_gap(result, interrupted, depth=2)
        self._store(X, bound, problem, result, centre, columns, expansion)
        unit = mean_deviation(Y[:, 0], weight, True)[1] if taken.features is not None else 1.0
        self._leave_rows(taken, rows, Y[:, :1], alpha * unit ** (2 - loss.growth))
        return self

    def _fit_own(self, X, y, weight, table, choose: Callable[..., float], centre: float, columns) -> Self:
        """Solve where each row has levels (or costs) of its own, and become that model.

        ``table`` are θ of the rows of X, NaN for none; ``choose(bound, loss)`` is λ, with the kernel bound to the
        levels that all rows have together; ``centre`` was taken off y.
        """
        own, loss = OwnLevels(table), self._loss()
        shared, taken = self._with_features(self._operator_valued_kernel(X, own.measure), X)
        bound = own.bind(self, shared, X)
        with progress(self.verbose and isinstance(self.alpha, str), CHOOSING):
            alpha = choose(shared, loss)
        problem = own.pose(bound, X, y, loss, alpha, weight, bool(self.fit_intercept))
        if not eigh_fits(problem.shape[0]):
            afford(self.solver, problem, self._tolerance)
        with interruptible() as interrupted:
            result = self._solve(problem, self._tolerance, interrupted)
        warn_of_gap(result, interrupted, depth=2)
        coef, everywhere = problem.primal_coef(result.coef), np.repeat(result.intercept, len(own.measure))
        self._store(X, shared, problem, replace(result, intercept=everywhere), centre, columns, bound.expand(X, coef))
        self.dual_coef_, self.kernel_, self.approximation_ = coef, taken.exact, taken.compared(X, None, None)
        return self

    def _fit_monotone(
        self, fit: MonotoneFit, interrupted: Interruption
    ) -> tuple[Any, BoundKernel, DualProblem, SolverResult]:
        """Solve for h and b that do not fall in θ; return what :meth:`_fit_function` does."""
        if self.noncrossing == "guarantee":
            problem, X, result = fit.guarantee(self._solve, self._tolerance, interrupted)
            return X, fit.bound, problem, result
        price = self.crossing_penalty if self.noncrossing == "penalty" else math.inf
        anchors = None if self.crossing_anchors is None else self._valid_anchors(fit.X)
        problem, rows = fit.problem(price, anchors, alone=anchors is not None)
        return rows, fit.bound, problem, self._solve(problem, self._tolerance, interrupted)

    def _valid_anchors(self, X: np.ndarray) -> np.ndarray:
        """Return ``crossing_anchors`` as the kernel takes inputs."""
        return validate_inputs(self, self.crossing_anchors, X, None, "fit")

    def _store(
        self, X, bound, problem, result, centre: Any = 0.0, columns: np.ndarray | None = None, expansion: Any = None
    ):
        super()._store(X, bound, problem, result, centre, columns, expansion)
        self.measure_, self.slopes_ = bound.measure, bound.slopes
        self.intercept_function_ = InterceptFunction(self.intercept_, self.measure_)
        self.grid_ = as_like(_grid(bound), X)
        self.rearranged_ = self.noncrossing == "rearrange"
        guaranteed = self.noncrossing == "guarantee" and bound.slopes is not None
        self.box_ = np.stack([X.min(axis=0), X.max(axis=0)]) if guaranteed else None
        return self

    # -- evaluation --------------------------------------------------------------------------------------------

    def _evaluate(self, X, theta):
        """Return h(x)(θ) + b(θ) as it was learned, θ beyond the outer nodes moved to them.

        Within ``box_`` functions rise, and a fall is rounding: a running maximum over θ takes it away.
        """
        grid = to_numpy(self.grid_)
        inside = np.clip(theta, grid[0], grid[-1])
        distinct, column = np.unique(inside, return_inverse=True)  # equal θ have equal values, to the last digit
        points = distinct[:, None]
        values = self.expansion_.evaluate(X, points) + self.intercept_function_.evaluate(points)[None, :]
        if self.box_ is not None:
            rows = np.all((self.box_[0] <= X) & (self.box_[1] >= X), axis=1)
            values[rows] = np.maximum.accumulate(values[rows], axis=1)
        xp = namespace(values)
        return xp.take(values, xp.asarray(column, device=device(values)), axis=1)


def _grid(bound: Any) -> np.ndarray:
    """Return θ on which predicted functions are represented: nodes, and points between those that k_Θ links.

    Where k_Θ is so rough that h falls to 0 between two nodes, nothing was learned there, and a straight line is drawn.
    """
    nodes, grid = np.unique(to_numpy(bound.measure.locations)), refine(bound.measure.locations)
    if len(nodes) == 1:
        return grid
    linked = bound.carries_constants(((nodes[1:] + nodes[:-1]) / 2)[:, None])
    cell = np.clip(np.searchsorted(nodes, grid, side="right") - 1, 0, len(nodes) - 2)
    return grid[linked[cell] | np.isin(grid, nodes)]


def as_generator(owner: object, state: Any) -> np.random.Generator:
    """Return a Generator for what scikit-learn calls a random state, or for a Generator."""
    if isinstance(state, np.random.Generator):
        return state
    allowed = "None, a non-negative integer, a RandomState or a numpy.random.Generator"
    return np.random.default_rng(as_random_state(owner, state, allowed).randint(2**31 - 1))


def as_random_state(
    owner: object, state: Any, allowed: str = "None, a non-negative integer or a RandomState"
) -> np.random.RandomState:
    """Return a RandomState for what scikit-learn calls a random state."""
    try:
        return check_random_state(state)
    except ValueError as error:
        raise parameter_error(owner, "random_state", state, allowed) from error
