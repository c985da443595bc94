"""What estimators of functions of θ share: the kernel on inputs, the solver and its certificate."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from mercer._params import check_number
from mercer.backend import is_numpy
from mercer.estimators.progress import progress
from mercer.estimators.validation import check_gram, merge_duplicates
from mercer.exceptions import parameter_error
from mercer.kernels import Gaussian, Kernel, as_kernel
from mercer.solvers import Solver, plan

__all__ = ["FunctionValuedEstimator", "is_pairwise"]


class FunctionValuedEstimator(BaseEstimator):
    """A fit of :class:`~mercer.problems.DualProblem`: settings, solution and certificate.

    A subclass has the constructor parameters used here (``kernel``, ``fit_intercept``, ``solver``, ``tol``,
    ``max_iter``, ``warm_start``, ``verbose``) and makes the problem.
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = any(is_pairwise(kernel) for kernel in self._input_kernels())
        tags.array_api_support = True
        return tags

    # -- what the parameters mean ------------------------------------------------------------------------------

    def _input_kernels(self) -> list[Any]:
        """Return k_X as it was given; several where a subclass chooses among them."""
        return [self.kernel]

    def _check_settings(self) -> None:
        check_number(self, "tol", self.tol, low=0, hint="It bounds the relative duality gap.")
        if self.max_iter is not None:
            check_number(self, "max_iter", self.max_iter, low=1, strict=False, integer=True)
        if not isinstance(self.fit_intercept, (bool, np.bool_)):
            raise parameter_error(self, "fit_intercept", self.fit_intercept, "True or False")

    def _adapted_kernel(self, X) -> Kernel:
        """Return k_X with numbers for its bandwidths."""
        return (Gaussian("standardized") if self.kernel is None else as_kernel(self.kernel, self)).adapt(X)

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

    def _solve(self, problem, tol):
        given = self.solver.replace(tol=tol) if isinstance(self.solver, Solver) else self.solver
        planned = plan(given, problem, tol, self.max_iter, owner=self)
        with progress(self.verbose, type(planned.solver).__name__) as callback:
            return planned.solve(self._warm_start(problem), callback)

    def _warm_start(self, problem):
        coef = getattr(self, "dual_coef_", None) if self.warm_start else None
        if coef is None or tuple(coef.shape) != problem.shape or not is_numpy(coef, problem.Y):
            return None
        return problem.dual_array(coef)

    def _warn(self, result, depth=1) -> None:
        """Warn of too large a gap, ``depth`` calls above the caller: where the user called ``fit``."""
        if not result.converged:
            warnings.warn(result.message, ConvergenceWarning, stacklevel=2 + depth)

    def _store(self, X, bound, problem, result) -> None:
        """Keep the coefficients and the certificate of a solved problem."""
        self.X_fit_, self.alpha_ = X, problem.alpha
        self.kernel_, self.output_kernel_ = bound.kernel, bound.output_kernel
        self.dual_coef_, self.intercept_ = problem.primal_coef(result.coef), result.intercept
        self.objective_, self.dual_gap_ = result.objective, result.gap
        self.relative_gap_, self.n_iter_, self.status_ = result.relative_gap, result.n_iter, result.status
        self.solver_ = result.solver


def is_pairwise(kernel: Any) -> bool:
    """Say whether a kernel as it was given means that X holds its values."""
    return kernel.pairwise if isinstance(kernel, Kernel) else isinstance(kernel, str) and kernel == "precomputed"
