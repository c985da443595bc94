"""Smoothness and thresholds by ridge regression: kernels and λ by left-out curves, κ and ε by residuals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mercer.backend import as_like, to_numpy
from mercer.estimators.functional_model import (
    CurveSample,
    curve_norms,
    residuals_of,
    squared_errors,
    typical_size,
)
from mercer.estimators.validation import take_columns, take_rows
from mercer.kernels import Gaussian, Identity, Kernel
from mercer.losses import EpsilonInsensitive, EpsilonRidge, Huber, Loss, Square
from mercer.measures import Measure
from mercer.operator_valued import BoundComponents
from mercer.solvers import ClosedForm, generalised_errors, kernel_grid_errors, leave_one_out_errors, select

__all__ = [
    "LENGTHS",
    "Smoothness",
    "choose_smoothness",
    "default_alphas",
    "default_kernels",
    "default_output_kernels",
    "per_deviation",
    "ridge_residuals",
    "smoothest",
    "smoothness_errors",
    "some_rows",
    "with_threshold",
    "without_outliers",
]

#: λ to choose from, in closed form
ALPHAS = np.logspace(-8, 1, 37)
#: λ to choose from where each of them takes a solve
FEW_ALPHAS = np.logspace(-6, 0, 7)
#: rows that an automatic choice looks at with a complete grid, and without one
MOST_ROWS, FEW_ROWS = 2000, 150
#: rows that choose among several input kernels, each of which takes an eigendecomposition
KERNEL_ROWS = 500
#: lengths of the default input kernel, in units of the median distance of standardised inputs
LENGTHS = (8.0, 2.0, 1.0, 0.5)
#: scales of the default output kernel, as divisors of the median distance of the grid
DIVISORS = (1.0, 2.0, 4.0, 8.0, 16.0)
#: errors that differ by less than this, relatively, are equal but for rounding
TIE = 1e-6
#: κ in units of the median size of ridge residuals: 1.345 standard deviations of Gaussian noise (Huber, 1981), which
#: are 1.345 median norms of curves, as norms vary little, and twice the median size of single values
KAPPA, KAPPA_POINTWISE = 1.345, 2.0
#: ε in these units: half of the residuals are within
EPSILON = 1.0
#: how often data are tamed and smoothness chosen anew; the first times decide
ROUNDS = 3


class Smoothness(NamedTuple):
    """What is chosen by the errors of ridge regression."""

    kernel: Kernel
    output_kernel: Kernel
    alpha: float


def default_output_kernels(nodes: Measure, has_grid: bool) -> list[Kernel]:
    """Return the candidates for k_Θ where none is given: identity for mere columns, Gaussians of falling scale."""
    if not has_grid or len(nodes) == 1:
        return [Identity()]
    widest: Any = Gaussian("median").adapt(nodes.points)
    return [Gaussian(float(widest.gamma) * divisor**2) for divisor in DIVISORS]


def default_kernels(X: Any, lengths: Sequence[float]) -> list[Kernel]:
    """Return the candidates for k_X where none is given: Gaussians with one scale per column, of falling length."""
    unit: Any = Gaussian("standardized").adapt(X)
    return [Gaussian(unit.gamma / length**2) for length in lengths]


def choose_smoothness(
    sample: CurveSample,
    kernels: Sequence[Kernel],
    output_kernels: Sequence[Kernel],
    alpha: float | None,
    loss: Loss,
) -> Smoothness:
    """Return the kernels and λ (where ``alpha`` is None) whose ridge regression predicts left-out curves best.

    Of many rows, some at equal steps are used: 2 000 with a complete grid, of which 500 choose among input kernels, and
    150 without one, where each λ takes a solve, and candidates are fewer.
    """
    if len(kernels) == len(output_kernels) == 1 and alpha is not None:
        return Smoothness(kernels[0], output_kernels[0], alpha)
    if not sample.curves.complete:
        kernels, output_kernels = kernels[::2], output_kernels[::2]
    alphas = default_alphas(sample) if alpha is None else np.array([alpha])
    sample = some_rows(sample, kernels[0].pairwise)
    few = some_rows(sample, kernels[0].pairwise, KERNEL_ROWS) if len(kernels) > 1 else sample
    i, j, k = smoothest(smoothness_errors(few, kernels, output_kernels, alphas, loss))
    if len(few) < len(sample):
        _, j, k = smoothest(smoothness_errors(sample, [kernels[i]], output_kernels, alphas, loss))
    return Smoothness(kernels[i], output_kernels[j], float(alphas[k]))


def default_alphas(sample: CurveSample) -> np.ndarray:
    """Return λ to choose from: fewer where each takes a solve."""
    return ALPHAS if sample.curves.complete else FEW_ALPHAS


def some_rows(sample: CurveSample, pairwise: bool, most: int | None = None) -> CurveSample:
    """Return as many rows as an automatic choice looks at, or ``most``, at equal steps."""
    most = most or (MOST_ROWS if sample.curves.complete else FEW_ROWS)
    if len(sample) <= most:
        return sample
    return sample.take(np.unique(np.linspace(0, len(sample) - 1, most).round().astype(int)), pairwise)


def without_outliers(
    sample: CurveSample, choose: Callable[[CurveSample], Smoothness], pointwise: bool
) -> tuple[Smoothness, CurveSample]:
    """Choose the smoothness as outliers allow: chosen by ridge regression alone it would follow them.

    In turn, the smoothness is chosen, a Huber regression is fitted with it, and the data that the next choice looks at
    are tamed: curves whose residual r is beyond κ get the weight (κ/‖r‖)², with which they count no more than others in
    squared errors; or (``pointwise``) values whose residual is beyond κ are moved to the distance κ of the fit. Returns
    the choice and the tamed sample.
    """
    chosen, tame = choose(sample), sample
    for _ in range(ROUNDS):
        residuals, kappa = _robust_fit(sample, tame, chosen, pointwise)
        if pointwise:
            beyond = residuals - np.clip(residuals, -kappa, kappa)
            values = sample.curves.values - as_like(np.nan_to_num(beyond), sample.X)
            tame = replace(sample, curves=replace(sample.curves, values=values))
        else:
            sizes = curve_norms(sample.curves, residuals)
            trust = np.maximum((kappa / np.maximum(sizes, kappa)) ** 2, np.finfo(float).eps)
            weight = as_like(trust, sample.X)
            tame = replace(sample, weight=weight if sample.weight is None else sample.weight * weight)
        chosen = choose(tame)
    return chosen, tame


def _robust_fit(
    sample: CurveSample, tame: CurveSample, chosen: Smoothness, pointwise: bool
) -> tuple[np.ndarray, float]:
    """Return the residuals of a Huber regression with the κ of the tamed sample, and κ in proportion to them."""
    loss: Loss = Huber(geometry="pointwise" if pointwise else "norm")
    loss = with_threshold(loss, typical_size(tame, ridge_residuals(tame, chosen, loss), pointwise))
    bound = sample.bind(chosen.kernel, chosen.output_kernel, loss)
    problem = sample.pose(bound, loss, chosen.alpha)
    result = select(problem, 1e-2).solve(problem)
    residuals = residuals_of(sample.predictor(bound, problem, result), sample.X, sample.curves)
    factor = KAPPA_POINTWISE if pointwise else KAPPA
    return residuals, factor * typical_size(sample, residuals, pointwise)


def ridge_residuals(sample: CurveSample, chosen: Smoothness, loss: Loss) -> np.ndarray:
    """Return y − f(x) of ridge regression, in the layout of the curves."""
    bound = sample.bind(chosen.kernel, chosen.output_kernel, loss)
    ridge = sample.pose(bound, Square(), chosen.alpha)
    return residuals_of(sample.predictor(bound, ridge, ClosedForm(tol=1e-3).solve(ridge)), sample.X, sample.curves)


def smoothest(errors: np.ndarray) -> tuple[int, int, int]:
    """Return where errors of shape (kernels, output kernels, λ) are least: of ties the first kernels, the largest λ."""
    as_good = np.argwhere(errors <= np.nanmin(errors) * (1 + TIE)).tolist()
    i, j, k = min(as_good, key=lambda place: (place[0], place[1], -place[2]))
    return i, j, k


def smoothness_errors(
    sample: CurveSample,
    kernels: Sequence[Kernel],
    output_kernels: Sequence[Kernel],
    alphas: np.ndarray,
    loss: Loss,
    criterion: str = "leave_one_out",
) -> np.ndarray:
    """Return errors of ridge regression on left-out curves, shape (kernels, output kernels, λ).

    On a complete grid they are those of leave-one-out or generalised cross-validation, in closed form, each Gram matrix
    decomposed once; otherwise curves are left out by halves.
    """
    bounds = [[sample.bind(kernel, k, loss) for k in output_kernels] for kernel in kernels]
    if not sample.curves.complete:
        return np.array([[_left_out_halves(sample, k, t, alphas, loss) for t in output_kernels] for k in kernels])
    if all(isinstance(bound, BoundComponents) for row in bounds for bound in row):
        grams = [bound.gram(sample.X) for bound in bounds[0]]
        inputs = [row[0].kernel.gram(sample.X) for row in bounds]
        problem = sample.pose(bounds[0][0], Square(), 1.0)
        return kernel_grid_errors(problem, inputs, [gram.right for gram in grams], alphas, criterion=criterion)
    errors = generalised_errors if criterion == "generalised" else leave_one_out_errors
    return np.array([[errors(sample.pose(bound, Square(), 1.0), alphas) for bound in row] for row in bounds])


def _left_out_halves(
    sample: CurveSample, kernel: Kernel, output_kernel: Kernel, alphas: np.ndarray, loss: Loss
) -> np.ndarray:
    """Return the mean squared error on each half of the curves of a fit to the other half, for each λ."""
    n, errors = len(sample), np.zeros(len(alphas))
    for side in (0, 1):
        train, test = np.arange(side, n, 2), np.arange(1 - side, n, 2)
        inside, outside = sample.take(train, kernel.pairwise), sample.curves.take(test)
        X_test = take_rows(sample.X, test)
        X_test = take_columns(X_test, train) if kernel.pairwise else X_test
        weight = 1.0 if sample.weight is None else to_numpy(sample.weight)[test]
        bound = inside.bind(kernel, output_kernel, loss)
        problem = inside.pose(bound, Square(), 1.0)
        for k, result in enumerate(ClosedForm(tol=1e-3).path(problem, alphas)):
            predict = inside.predictor(bound, problem.with_alpha(float(alphas[k])), result)
            errors[k] += np.sum(weight * squared_errors(predict, X_test, outside))
    return errors / n


def with_threshold(loss: Loss, typical: float) -> Loss:
    """Return the loss with κ or ε in proportion to the typical size of ridge residuals: of curves, or of values."""
    if isinstance(loss, Huber):
        return loss.replace(kappa=(KAPPA_POINTWISE if loss.pointwise else KAPPA) * typical)
    if isinstance(loss, (EpsilonRidge, EpsilonInsensitive)):
        return loss.replace(epsilon=EPSILON * typical)
    return loss


def per_deviation(sample: CurveSample, loss: Loss, alpha: float) -> float:
    """Return λ for a loss that grows like |r|: divided by the typical size of the (centred) curves."""
    return alpha / typical_size(sample, to_numpy(sample.curves.values), loss.pointwise)
