"""What estimators of functions of θ share: the kernel on inputs, the solver and its certificate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer._params import check_number
from mercer.backend import is_numpy
from mercer.estimators.approximation import Approximation, StandIn, check_approximation
from mercer.estimators.interruption import Interruption
from mercer.estimators.progress import opening, progress
from mercer.estimators.streamed_fit import fit_streamed
from mercer.estimators.summary import SummarisedEstimator
from mercer.estimators.tables import column_layout
from mercer.estimators.validation import check_gram, merge_duplicates, validate_inputs
from mercer.exceptions import MercerError, parameter_error
from mercer.kernels import Gaussian, Kernel, as_kernel
from mercer.operator_valued import Decomposable, OperatorValuedKernel
from mercer.solvers import Solver, StreamedADMM, plan

__all__ = ["LENIENCE", "ROUGH_ROWS", "CertifiedEstimator", "is_pairwise", "refuse_whole_kernel"]

#: rows of a rough choice of λ, and how many times it a fit has to be too large to be refused
ROUGH_ROWS, LENIENCE = 100, 3.0


class CertifiedEstimator(SummarisedEstimator):
    """A fit of :class:`~mercer.problems.DualProblem`: settings, solution and certificate.

    A subclass has the constructor parameters used here (``kernel``, ``fit_intercept``, ``solver``, ``tol``,
    ``max_iter``, ``warm_start``, ``verbose``) and makes the problem; one that takes features in place of the kernel has
    ``approximation``, too.
    """

    #: of a subclass without such a parameter
    approximation: Any = None
    approximation_: Approximation | None = None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = any(is_pairwise(kernel) for kernel in self._input_kernels())
        tags.array_api_support = True
        return tags

    # -- what the parameters mean ------------------------------------------------------------------------------

    def _input_kernels(self) -> list[Any]:
        """Return k_X as it was given; several where a subclass chooses among them."""
        return [self.kernel]

    @property
    def _curves_become(self) -> str:
        """What input curves become: scores, for the default of tables, or values on a grid for a kernel of the user."""
        return "scores" if all(kernel is None for kernel in self._input_kernels()) else "values"

    def _check_settings(self) -> None:
        check_number(self, "tol", self.tol, low=0, hint="It bounds the relative duality gap.")
        if self.max_iter is not None:
            check_number(self, "max_iter", self.max_iter, low=1, strict=False, integer=True)
        self._check_intercept()
        check_approximation(self)
        for kernel in self._input_kernels():
            if isinstance(kernel, OperatorValuedKernel):
                self._check_whole_kernel(kernel)

    def _check_intercept(self) -> None:
        if not isinstance(self.fit_intercept, (bool, np.bool_)):
            raise parameter_error(self, "fit_intercept", self.fit_intercept, "True or False")

    def _check_whole_kernel(self, kernel: OperatorValuedKernel) -> None:
        """Refuse an operator-valued kernel where k_X was expected, or parts of a kernel beside it."""
        if isinstance(kernel, Decomposable) and not isinstance(kernel.output_kernel, Kernel):
            hint = "With a kernel on objects pass it to InputOutputKernelRegressor."
            raise parameter_error(self, "kernel", kernel, "one of functions or vectors", hint)
        params = self.get_params(deep=False)
        for name in ("output_kernel", "output_matrix"):
            if params.get(name) is not None:
                raise parameter_error(
                    self,
                    name,
                    params[name],
                    "None where kernel is an OperatorValuedKernel",
                    "Say it there, Decomposable(kernel, output_kernel, output_matrix), or pass k_X alone as kernel.",
                )

    def _part(self, name: str) -> Any:
        """Return "kernel", "output_kernel" or "output_matrix" as it was given: alone, or within a Decomposable."""
        return getattr(self.kernel if isinstance(self.kernel, Decomposable) else self, name)

    def _given_kernel(self) -> Kernel:
        """Return k_X; a Gaussian with one scale per column by default."""
        given = self._part("kernel")
        return Gaussian("standardized") if given is None else as_kernel(given, self)

    def _adapted_kernel(self, X) -> Kernel:
        """Return k_X with numbers for its bandwidths, and for columns that it names."""
        return self._given_kernel().locate(column_layout(self)).adapt(X)

    # -- fitting -----------------------------------------------------------------------------------------------

    def _merge(self, X, y, weight):
        """Return the rows to fit on: a Gram matrix as it is, other data with identical rows once."""
        if self.__sklearn_tags__().input_tags.pairwise:
            check_gram(self, X)
            return X, y, weight
        return merge_duplicates(X, y, weight)

    @property
    def _tolerance(self) -> float:
        """The bound on the relative gap: that of a Solver object where one is given."""
        return self.solver.tol if isinstance(self.solver, Solver) else self.tol

    def _solve(self, problem, tol, interrupted: Interruption):
        """Return the solution of a problem; once ``interrupted``, the best one so far."""
        given = self.solver.replace(tol=tol) if isinstance(self.solver, Solver) else self.solver
        with progress(self.verbose, opening(self, problem)) as told:
            planned = plan(given, problem, tol, self.max_iter, owner=self)
            told.say(f"{planned.solver!r}: preparing the Gram operator")
            return planned.solve(self._warm_start(problem), told.looks(planned.solver), interrupted)

    def _solve_streamed(self, bound, X, Y, weight, loss, alpha, fit_intercept, interrupted: Interruption):
        """Return the solution in features of which not all rows fit into memory, with its dual array as ``coef``.

        Returned are also the problem and the fitted function.
        """
        with progress(self.verbose, f"{type(self).__name__}: {len(X)} rows of features, some at a time") as told:
            looks = told.looks(StreamedADMM(tol=self._tolerance))
            settings = self.solver, self._tolerance, self.max_iter, looks, interrupted
            problem, coef, dual, result = fit_streamed(bound, X, Y, weight, loss, alpha, fit_intercept, *settings)
        return problem, replace(result, coef=dual), bound.of_features(coef)

    def _warm_start(self, problem):
        coef = getattr(self, "dual_coef_", None) if self.warm_start else None
        if coef is None or tuple(coef.shape) != problem.shape or not is_numpy(coef, problem.Y):
            return None
        return problem.dual_array(coef)

    def _store(
        self, X, bound, problem, result, centre: Any = 0.0, columns: np.ndarray | None = None, expansion: Any = None
    ):
        """Become the model of a solved problem: the one way from there to a fitted estimator, which is returned.

        Parameters
        ----------
        X : array of shape (n, d)
            The rows of the problem.
        bound : BoundKernel
            The kernel that the problem was posed with.
        problem, result : DualProblem, SolverResult
            The problem and its solution.
        centre : float or array, default=0.0
            What was taken off the targets; it belongs to the intercept.
        columns : array of int, optional
            Columns of a Gram matrix that belong to the rows of X; all by default.
        expansion : Expansion, optional
            The fitted function, where it is known already.
        """
        self.X_fit_, self.alpha_, self.columns_, self.approximation_ = X, problem.alpha, columns, None
        self.kernel_, self.output_kernel_ = bound.kernel, bound.output_kernel
        self.dual_coef_ = None if expansion is not None else problem.primal_coef(result.coef)
        self.intercept_ = result.intercept + centre
        self.expansion_ = bound.expand(X, self.dual_coef_) if expansion is None else expansion
        self.objective_, self.dual_gap_ = result.objective, result.gap
        self.relative_gap_, self.n_iter_, self.status_ = result.relative_gap, result.n_iter, result.status
        self.solver_ = result.solver
        return self

    def _leave_rows(self, stand_in: StandIn, X: Any, Y: Any, alpha: float | None, own: float | None = None) -> None:
        """Say what was approximated; a model of features needs none of the training rows.

        Parameters
        ----------
        stand_in : StandIn
            The kernel, and what took its place.
        X : array of shape (n, d)
            Training rows.
        Y : array of shape (n, m) or None
            Their targets, for a comparison with the kernel itself.
        alpha : float or None
            λ of a ridge regression that is about as smooth.
        own : float, optional
            That of the features, if they have one of their own.
        """
        self.approximation_ = stand_in.compared(X, Y, alpha, own)
        if self.approximation_ is not None:
            self.kernel_, self.X_fit_, self.dual_coef_ = stand_in.exact, None, None

    # -- evaluation --------------------------------------------------------------------------------------------

    def _valid_inputs(self, X, method="predict"):
        """Return X for prediction, of the array library of the fit."""
        return validate_inputs(self, X, self.expansion_.like, self.columns_, method)


def refuse_whole_kernel(owner: object, name: str, kernel: OperatorValuedKernel, hint: str) -> MercerError:
    """Return the error for an operator-valued kernel that was given where k_X is asked for."""
    allowed = "k_X alone: a Kernel, a name or a function of two arrays, not an operator-valued kernel"
    return parameter_error(owner, name, kernel, allowed, hint)


def is_pairwise(kernel: Any) -> bool:
    """Say whether a kernel as it was given means that X holds its values."""
    if isinstance(kernel, (Kernel, OperatorValuedKernel)):
        return kernel.pairwise
    return isinstance(kernel, str) and kernel == "precomputed"
