"""How smooth a regression should be: kernels and λ by the errors of ridge regression on left-out curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from mercer.backend import to_numpy
from mercer.estimators.between_nodes import FEW_CURVES, carries_between
from mercer.estimators.regularisation import MOST_ROWS, TIE
from mercer.estimators.sample import Sample
from mercer.kernels import Gaussian, Kernel
from mercer.linalg import Gram, affordable_rows
from mercer.losses import Loss, Square
from mercer.operator_valued import OperatorValuedKernel
from mercer.solvers import ClosedForm, generalised_errors, kernel_grid_errors, leave_one_out_errors

__all__ = [
    "COMPARED_TOL",
    "FEW_LENGTHS",
    "KERNEL_ROWS",
    "MANY_LENGTHS",
    "MEAN_SCALE",
    "PRICE_OF_ROUGHNESS",
    "Smoothness",
    "block_rows",
    "carried",
    "choose_smoothness",
    "default_alphas",
    "default_kernels",
    "per_deviation",
    "ridge_residuals",
    "smoothest",
    "smoothness_errors",
    "some_rows",
]

#: λ to choose from, in closed form
ALPHAS = np.logspace(-8, 1, 37)
#: λ to choose from where each of them takes a solve
FEW_ALPHAS = np.logspace(-6, 0, 7)
#: rows that an automatic choice looks at where each λ takes a solve
INCOMPLETE_ROWS = 150
#: observed values that a choice looks at where samples are left out as blocks of one matrix of all of them
LEFT_OUT_ENTRIES = 1000
#: rows that choose among several input kernels, each of which takes an eigendecomposition
KERNEL_ROWS = 500
#: lengths of the default input kernels, in units of the median distance of standardised inputs: for a quick choice,
#: and from nearly linear to rough
FEW_LENGTHS = (32.0, 8.0, 2.0, 1.0, 0.5)
MANY_LENGTHS = (32.0, 8.0, 2.0, 1.0, 0.5, 0.25)
#: learned kernels have seen the curves, and of several other kinds one is better by chance: with n curves their error
#: must be below 1 − 15/n of that of the others
PRICE_OF_LEARNING = 15.0
#: an input kernel that is rougher than another one must be better by 2/n, as a parameter is in Akaike's criterion
PRICE_OF_ROUGHNESS = 2.0
#: prior variance of a smooth mean curve, in units of that of the deviations from it
MEAN_SCALE = 100.0
#: relative gap of the ridge regressions that are compared
COMPARED_TOL = 1e-3


class Smoothness(NamedTuple):
    """What is chosen by the errors of ridge regression."""

    kernel: Kernel
    output_kernel: Kernel
    alpha: float


def default_kernels(X: Any, lengths: Sequence[float], bandwidth: str = "standardized") -> list[Kernel]:
    """Return the candidates for k_X where none is given: Gaussians with one scale per column, of falling length."""
    unit: Any = Gaussian(bandwidth).adapt(X)
    return [Gaussian(unit.gamma / length**2) for length in lengths]


def choose_smoothness(
    sample: Sample,
    kernels: Sequence[Kernel],
    output_kernels: Sequence[Kernel],
    alpha: float | None,
    loss: Loss,
    learn: Callable[[Sample], list[Kernel]] | None = None,
    families: Sequence[Sequence[Kernel]] = (),
) -> Smoothness:
    """Return the kernels and λ (where ``alpha`` is None) whose ridge regression predicts left-out curves best.

    Input kernels come from smooth to rough, and a rougher one must be better by 2/n; input and output kernels are
    chosen in turn. Of many rows, some at equal steps
    are used: 2 000 with a complete grid, of which 500 choose among input kernels, and 150 without one, where each λ
    takes a solve, and candidates are fewer. Kernels that do not decompose look at 1 000 values, and so do mere columns
    some of which are missing. ``families`` are input kernels of other kinds, each from smooth to rough; with the best
    output kernel of the others they must be better by 15/n, one family after the other. ``learn`` makes further input
    kernels of the rows, which must predict better by more than learning may pretend.
    """
    if len(kernels) == len(output_kernels) == 1 and alpha is not None:
        return Smoothness(kernels[0], output_kernels[0], alpha)
    if not sample.outputs.complete:
        kernels, output_kernels = kernels[::2], output_kernels[::2]
        families = [family[::2] for family in families]
    alphas = default_alphas(sample) if alpha is None else np.array([alpha])
    sample = some_rows(sample, kernels[0].pairwise, block_rows(sample, kernels[0]))
    few = some_rows(sample, kernels[0].pairwise, KERNEL_ROWS) if len(kernels) > 1 else sample
    errors = _searched(few, kernels, output_kernels, alphas, loss)
    i, j, k = carried(few, kernels, output_kernels, alphas, errors)
    kernel, error = kernels[i], float(errors[i, j, k])
    candidates = [(family, PRICE_OF_LEARNING) for family in families]
    for family, price in [*candidates, ([] if learn is None else learn(sample), PRICE_OF_LEARNING)]:
        if len(family) == 0:
            continue
        theirs = smoothness_errors(few, family, [output_kernels[j]], alphas[::2], loss)
        theirs = _without_needless_roughness(theirs, len(few))
        if theirs.min() < (1 - price / len(few)) * error:
            kernel, error = family[smoothest(theirs)[0]], float(theirs.min())
    if kernel is not kernels[i]:
        output_kernels = output_kernels[max(j - 1, 0) : j + 2]
    if kernel is not kernels[i] or len(few) < len(sample):
        errors = smoothness_errors(sample, [kernel], output_kernels, alphas, loss)
        _, j, k = carried(few, [kernel], output_kernels, alphas, errors)
    return Smoothness(kernel, output_kernels[j], float(alphas[k]))


def default_alphas(sample: Sample) -> np.ndarray:
    """Return λ to choose from: fewer where each takes a solve."""
    return ALPHAS if sample.outputs.complete or not sample.outputs.located else FEW_ALPHAS


def block_rows(sample: Sample, kernel: Any) -> int | None:
    """Return how many rows a choice looks at where they are left out as blocks of one matrix; else None."""
    whole = isinstance(kernel, OperatorValuedKernel)
    if not whole and (sample.outputs.complete or sample.outputs.located):
        return None
    return max(INCOMPLETE_ROWS // 5, int(LEFT_OUT_ENTRIES * len(sample) / max(sample.outputs.n_observed, 1)))


def _in_blocks(sample: Sample) -> bool:
    """Whether values are missing, but so few are there that rows are left out in closed form."""
    return not sample.outputs.located and sample.outputs.n_observed <= 2 * LEFT_OUT_ENTRIES


def some_rows(sample: Sample, pairwise: bool, most: int | None = None) -> Sample:
    """Return as many rows as an automatic choice looks at, or ``most``, at equal steps."""
    most = most or (MOST_ROWS if sample.outputs.complete else INCOMPLETE_ROWS)
    most = min(most, affordable_rows())
    if len(sample) <= most:
        return sample
    return sample.take(np.unique(np.linspace(0, len(sample) - 1, most).round().astype(int)), pairwise)


def smoothest(errors: np.ndarray) -> tuple[int, int, int]:
    """Return where errors of shape (kernels, output kernels, λ) are least: of ties the first kernels, the largest λ."""
    as_good = np.argwhere(errors <= np.nanmin(errors) * (1 + TIE)).tolist()
    i, j, k = min(as_good, key=lambda place: (place[0], place[1], -place[2]))
    return i, j, k


def _searched(
    sample: Sample, kernels: Sequence[Kernel], output_kernels: Sequence[Kernel], alphas: np.ndarray, loss: Loss
) -> np.ndarray:
    """Return errors of the best input kernel with all output kernels; those of others are infinite.

    Which input kernel is best hardly depends on the output kernel, so that not all pairs are looked at: the best one
    with two output kernels, of a long and a medium scale, first, and again with the one that is best for that.
    """
    if min(len(kernels), len(output_kernels)) == 1:
        errors = smoothness_errors(sample, kernels, output_kernels, alphas, loss)
        return _without_needless_roughness(errors, len(sample))
    errors = np.full((len(kernels), len(output_kernels), len(alphas)), np.inf)
    best, looked_at, added = -1, set(), {1, len(output_kernels) // 2}
    while added:
        columns = sorted(added)
        errors[:, columns] = smoothness_errors(sample, kernels, [output_kernels[j] for j in columns], alphas, loss)
        looked_at |= added
        compared = _without_needless_roughness(errors[:, sorted(looked_at)], len(sample))
        found = int(np.argmin(compared.min(axis=(1, 2))))
        if found == best:
            break
        best = found
        rest = [j for j in range(len(output_kernels)) if j not in looked_at]
        if rest:
            others = [output_kernels[j] for j in rest]
            errors[best, rest] = smoothness_errors(sample, [kernels[best]], others, alphas, loss)[0]
        added = {int(np.argmin(np.nanmin(errors[best], axis=1)))} - looked_at
    errors[np.arange(len(kernels)) != best] = np.inf
    return errors


def _without_needless_roughness(errors: np.ndarray, n: int) -> np.ndarray:
    """Return errors of n curves, infinite but for the first input kernel that is nearly as good as the best one."""
    least = np.nanmin(errors, axis=(1, 2))
    first = int(np.argmax(least <= least.min() * (1 + PRICE_OF_ROUGHNESS / n)))
    return np.where((np.arange(len(errors)) == first)[:, None, None], errors, np.inf)


def carried(
    sample: Sample,
    kernels: Sequence[Kernel],
    output_kernels: Sequence[Kernel],
    alphas: np.ndarray,
    errors: np.ndarray,
) -> tuple[int, int, int]:
    """Return where errors are least among the output kernels that are good between the nodes, too.

    Errors of left-out curves are those at the nodes. Each output kernel, with the input kernel and λ that are best for
    it, is asked for values at left-out nodes as well; if none is as good there as straight lines, the best one there is
    taken.
    """
    if errors.shape[1] == 1 or not sample.outputs.complete:
        return smoothest(errors)
    few = some_rows(sample, kernels[0].pairwise, FEW_CURVES)
    left, between = errors.copy(), {}
    while np.any(np.isfinite(left)):
        i, j, k = smoothest(left)
        good, between[i, j, k] = carries_between(few, kernels[i], output_kernels[j], float(alphas[k]))
        if good:
            return i, j, k
        left[:, j] = np.inf
    return min(between, key=lambda place: between[place])


def smoothness_errors(
    sample: Sample,
    kernels: Sequence[Kernel],
    output_kernels: Sequence[Kernel],
    alphas: np.ndarray,
    loss: Loss,
    criterion: str = "leave_one_out",
) -> np.ndarray:
    """Return errors of ridge regression on left-out curves, shape (kernels, output kernels, λ).

    On a complete grid they are those of leave-one-out or generalised cross-validation, in closed form, each Gram matrix
    decomposed once; otherwise curves are left out by halves, or in blocks of one matrix where they are few.
    """
    complete = sample.outputs.complete
    if not (complete or (_in_blocks(sample) and criterion == "leave_one_out")):
        return np.array([[_left_out_halves(sample, k, t, alphas, loss) for t in output_kernels] for k in kernels])
    bounds = [[sample.bind(kernel, k, loss) for k in output_kernels] for kernel in kernels]
    if complete and all(bound.nodal for row in bounds for bound in row):
        inputs = [row[0].kernel.gram(sample.X) for row in bounds]
        outputs = [bound.output_gram() for bound in bounds[0]]
        problem = sample.pose(bounds[0][0], Square(), 1.0)
        return kernel_grid_errors(problem, inputs, outputs, alphas, criterion=criterion)
    errors = generalised_errors if criterion == "generalised" else leave_one_out_errors
    return np.array([[errors(sample.pose(bound, Square(), 1.0), alphas) for bound in row] for row in bounds])


def _left_out_halves(
    sample: Sample, kernel: Kernel, output_kernel: Kernel, alphas: np.ndarray, loss: Loss
) -> np.ndarray:
    """Return the mean squared error on each half of the curves of a fit to the other half, for each λ."""
    n, errors = len(sample), np.zeros(len(alphas))
    for side in (0, 1):
        train, test = np.arange(side, n, 2), np.arange(1 - side, n, 2)
        inside, X_test, outside = sample.split(train, test, kernel.pairwise)
        weight = 1.0 if sample.weight is None else to_numpy(sample.weight)[test]
        bound = inside.bind(kernel, output_kernel, loss)
        problem = inside.pose(bound, Square(), 1.0)
        for k, result in enumerate(ClosedForm(tol=COMPARED_TOL).path(problem, alphas.tolist())):
            predict = inside.predictor(bound, problem.with_alpha(float(alphas[k])), result)
            errors[k] += np.sum(weight * outside.norms(outside.residuals(predict, X_test)) ** 2)
    return errors / n


def ridge_residuals(sample: Sample, chosen: Smoothness, loss: Loss, gram: Gram | None = None) -> np.ndarray:
    """Return y − f(x) of ridge regression, in the layout of the outputs, bound as for the loss.

    ``gram`` is its Gram operator, with what is known of that already.
    """
    bound = sample.bind(chosen.kernel, chosen.output_kernel, loss)
    ridge = sample.pose(bound, Square(), chosen.alpha)
    if gram is not None:
        ridge = ridge.with_gram(gram)
    result = ClosedForm(tol=COMPARED_TOL).solve(ridge)
    return sample.outputs.residuals(sample.predictor(bound, ridge, result), sample.X)


def per_deviation(sample: Sample, loss: Loss, alpha: float) -> float:
    """Return λ for a loss that grows like |r|: divided by the typical size of the (centred) curves."""
    return alpha / sample.typical_size(to_numpy(sample.outputs.values), loss.compares)
