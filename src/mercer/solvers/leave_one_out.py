"""Model choice for the square loss in closed form: leave-one-out and generalised cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.backend import as_like, positive_inverse, to_numpy
from mercer.exceptions import DataError, parameter_error
from mercer.linalg import LinearOperator
from mercer.problems import DualProblem
from mercer.solvers.block_leave_one_out import BlockLeaveOneOut
from mercer.solvers.ridge_path import RidgePath, check_alphas, check_complete, input_basis, output_spectrum

__all__ = ["generalised_errors", "kernel_grid_errors", "leave_one_out_errors", "leave_one_out_predictions"]

CRITERIA = ("leave_one_out", "generalised")


def leave_one_out_errors(problem: DualProblem, alphas: Any) -> np.ndarray:
    """Return the mean leave-one-out error (1/n) Σ_i s_i ½‖y_i − h_{−i}(x_i)‖² for each λ.

    The problem decouples over the eigenvectors of the output Gram; in each of them the error of a left-out
    sample is its residual over one minus its leverage, λn being kept when a sample is left out. The intercept is
    handled by centring the input Gram. Cost: two eigendecompositions and, for all λ together, less than the larger one.
    Where the kernel does not decompose, or entries are missing, residuals of a sample are those of
    :class:`~mercer.solvers.block_leave_one_out.BlockLeaveOneOut`, at the price of an eigendecomposition of the matrix
    on all observed entries.

    Parameters
    ----------
    problem : DualProblem
        Its loss and its λ are not used.
    alphas : array-like of float
        Values of λ.

    Returns
    -------
    ndarray of shape (len(alphas),)

    See Also
    --------
    RidgePath : The same with objectives and coefficients of all fits.
    """
    if _in_blocks(problem):
        return BlockLeaveOneOut(problem).errors(check_alphas(alphas))
    return RidgePath(problem, alphas).leave_one_out_errors


def generalised_errors(problem: DualProblem, alphas: Any) -> np.ndarray:
    """Return the generalised cross-validation error ½ Σ_j [(1/n) Σ_i r_ij²] / [1 − (1/n) Σ_i leverage_ij]² for each λ.

    r_ij and leverage_ij are those in the j-th eigenvector of the output Gram, whitened (squares carry the
    sample weights and those of μ): leave-one-out with leverages replaced by their mean over the samples. The mean
    is taken for each eigenvector and not over all of them, so that splitting a node, which adds an eigenvector
    without leverage, changes nothing. The intercept adds one to the sum of leverages. Prefer it where single samples of
    great leverage make leave-one-out errors erratic; beyond the two eigendecompositions it costs next to nothing
    (Golub, Heath and Wahba, 1979).

    Parameters
    ----------
    problem : DualProblem
        On a complete grid; its loss and its λ are not used.
    alphas : array-like of float
        Values of λ.

    Returns
    -------
    ndarray of shape (len(alphas),)
    """
    return RidgePath(problem, alphas).generalised_errors


def leave_one_out_predictions(problem: DualProblem) -> Any:
    """Return h_{−i}(x_i) + b_{−i} at the nodes, (n, m): each sample predicted from the others by the square loss.

    λ is that of the problem; λn is kept when a sample is left out. NaN where nothing was observed.
    """
    if _in_blocks(problem):
        return as_like(to_numpy(problem.Y) - BlockLeaveOneOut(problem).residuals(problem.alpha), problem.Y)
    if problem.gram.columns_alike:
        return as_like(to_numpy(problem.Y) - _alike_residuals(problem), problem.Y)
    return RidgePath(problem, [problem.alpha]).leave_one_out_predictions(problem.alpha)


def kernel_grid_errors(
    problem: DualProblem,
    inputs: Sequence[LinearOperator],
    outputs: Sequence[LinearOperator],
    alphas: Any,
    *,
    criterion: str = "leave_one_out",
) -> np.ndarray:
    """Return the errors of every pair of input and output kernels for every λ.

    Each Gram matrix is decomposed once, whatever the number of pairs: with I input and O output kernels the price is
    that of I + O eigendecompositions and I·O passes over them.

    Parameters
    ----------
    problem : DualProblem
        Targets, measure, sample weights and intercept; its own Gram operators, loss and λ are not used.
    inputs, outputs : sequences of LinearOperator
        Gram operators K_X (n×n) and K_Θ (m×m), without weights.
    alphas : array-like of float
        Values of λ.
    criterion : {"leave_one_out", "generalised"}, default="leave_one_out"
        Which error.

    Returns
    -------
    ndarray of shape (len(inputs), len(outputs), len(alphas))

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.linalg import Dense, Kronecker
    >>> from mercer.losses import Square
    >>> from mercer.measures import GaussLegendre
    >>> from mercer.problems import DualProblem
    >>> X, mu = np.linspace(0, 1, 40)[:, None], GaussLegendre(5).build()
    >>> Y = np.sin(6 * X + mu.points.T) + 0.1 * np.random.default_rng(0).normal(size=(40, 5))
    >>> inputs = [Gaussian(gamma).gram(X) for gamma in (1e-2, 10.0, 1e4)]
    >>> outputs = [Dense(Gaussian(gamma)(mu.points)) for gamma in (1.0, 1e3)]
    >>> problem = DualProblem(Kronecker(inputs[0], outputs[0]), Square(), Y, mu, alpha=1.0)
    >>> errors = kernel_grid_errors(problem, inputs, outputs, np.logspace(-6, 0, 7))
    >>> errors.shape, [int(k) for k in np.unravel_index(errors.argmin(), errors.shape)]
    ((3, 2, 7), [1, 0, 3])
    """
    if criterion not in CRITERIA:
        raise parameter_error("kernel_grid_errors", "criterion", criterion, " or ".join(map(repr, CRITERIA)))
    check_complete(problem)
    alphas = check_alphas(alphas)
    _check_operators("inputs", inputs, problem.shape[0])
    _check_operators("outputs", outputs, problem.shape[1])
    rights = [output_spectrum(problem, problem.gram.with_factors(right=right)) for right in outputs]
    largest = max(float(right.values[0]) for right in rights)
    errors = np.empty((len(inputs), len(rights), len(alphas)))
    for i, left in enumerate(inputs):
        basis = input_basis(problem, problem.gram.with_factors(left=left), alphas, largest)
        for j, right in enumerate(rights):
            path = RidgePath(problem, alphas, inputs=basis, outputs=right)
            errors[i, j] = path.leave_one_out_errors if criterion == "leave_one_out" else path.generalised_errors
    return errors


def _alike_residuals(problem: DualProblem) -> np.ndarray:
    """Residuals (By)_i/B_ii of samples that were left out, where all outputs have one matrix B: one inverse."""
    root = np.sqrt(to_numpy(problem.sample_weight).astype(float))
    matrix = to_numpy(problem.gram.column_operator().to_dense()) * root[:, None] * root
    matrix[np.diag_indices_from(matrix)] += 1 / problem.scale
    inverse = positive_inverse(matrix)
    if problem.fit_intercept:
        pull = inverse @ root
        inverse -= np.outer(pull, pull / (root @ pull))
    room = np.maximum(np.diagonal(inverse), np.finfo(float).tiny)
    return inverse @ (root[:, None] * to_numpy(problem.Y)) / (root * room)[:, None]


def _in_blocks(problem: DualProblem) -> bool:
    """Whether outputs of one sample hang together, so that it is left out as a block of entries."""
    return not problem.gram.decomposes or problem.measure.observed is not None


def _check_operators(name: str, operators: Sequence[LinearOperator], size: int) -> None:
    """Refuse operators that do not fit."""
    if len(operators) == 0:
        raise parameter_error("kernel_grid_errors", name, operators, "one Gram operator or more")
    for operator in operators:
        if not isinstance(operator, LinearOperator):
            raise parameter_error(
                "kernel_grid_errors", name, operator, "Gram operators", "For instance kernel.gram(X)."
            )
        if operator.shape != (size, size):
            raise DataError(f"kernel_grid_errors: {name} must have shape {(size, size)}; got {operator!r}.")
