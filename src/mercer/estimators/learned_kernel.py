"""The kernel of costs where none is given: scales by evidence; then kernel, λ and thresholds by held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.estimators.certified import ROUGH_ROWS
from mercer.estimators.row_order import canonical_order
from mercer.exceptions import UnsupportedError
from mercer.kernels import Kernel
from mercer.linalg import eigh_fits
from mercer.losses import Loss
from mercer.measures import Measure
from mercer.model_selection.choice import falls
from mercer.model_selection.path import solve_path
from mercer.operator_valued import BoundKernel
from mercer.problems import DualProblem
from mercer.stages import LabelInputs, LogisticLinks, learn_label_inputs

__all__ = ["FEWEST_OF_A_CLASS", "LEARNING", "LabelledRows", "LearnedKernel"]

#: what progress says of it
LEARNING = "choosing scales of columns by evidence, kernel and alpha by held-out rows"

#: rows of a class from which on a kernel is learned
FEWEST_OF_A_CLASS = 5
#: parts of the rows: what judges one of them was learned on the others
COST_FOLDS = 3
#: rows that kernel and λ are chosen from; more would cost more than the fit
HELD_OUT_ROWS = 1000
#: λ that are tried, for kernels of mean 1 at equal points, from large to small
COST_ALPHAS = tuple(float(alpha) for alpha in np.logspace(-1.5, -4, 5))
#: relative duality gap of the fits that are compared
COMPARISON_TOL = 2e-2


@dataclass(frozen=True)
class LearnedKernel:
    """What held-out rows say.

    Attributes
    ----------
    inputs : LabelInputs
        The inputs, which bring their kernel.
    alpha : float
        λ.
    thresholds : array of shape (n_nodes,)
        What decision values at each node have to exceed.
    """

    inputs: LabelInputs
    alpha: float
    thresholds: np.ndarray


@dataclass(frozen=True)
class LabelledRows:
    """Rows with labels ±1 in an order of their own, dealt to folds, and the inputs among which is chosen.

    Attributes
    ----------
    X, signs, weight : arrays of shapes (n, d), (n,) and (n,), or None for equal weights
        The rows.
    order, fold : arrays of int, shape (n,)
        The rows in random order, in which classes are mixed evenly, and the fold of each of them.
    candidates : tuple of pairs
        Inputs that may be chosen, each with those that were learned without each of the folds.
    """

    X: np.ndarray
    signs: np.ndarray
    weight: np.ndarray | None
    order: np.ndarray
    fold: np.ndarray
    candidates: tuple[tuple[LabelInputs, list[LabelInputs]], ...]

    @classmethod
    def learn(cls, X: np.ndarray, signs: np.ndarray, weight: np.ndarray | None) -> LabelledRows:
        """Learn inputs with one scale per column; those with one scale for all are the alternative."""
        place = canonical_order(np.column_stack([X, signs]), np.zeros(len(signs)))
        X, signs, weight = X[place], signs[place], None if weight is None else weight[place]
        order, fold = _deal(signs)
        inputs, parts = learn_label_inputs(X, signs, weight, order, fold)
        alike = LabelInputs.alike(inputs.columns)
        return cls(X, signs, weight, order, fold, ((inputs, parts), (alike, [alike] * COST_FOLDS)))

    def affordable(self, check: Callable[[LabelledRows], None]) -> LabelledRows:
        """Return the rows with those candidates that ``check`` does not refuse; where it refuses all, so does this."""
        kept, refusal = [], None
        for candidate in self.candidates:
            try:
                check(replace(self, candidates=(candidate,)))
                kept.append(candidate)
            except UnsupportedError as error:
                refusal = error
        if refusal is not None and not kept:
            raise refusal
        return replace(self, candidates=tuple(kept))

    def choose(
        self,
        owner: Any,
        bind: Callable[[Kernel], BoundKernel],
        loss: Loss,
        most_rows: int = HELD_OUT_ROWS,
    ) -> LearnedKernel:
        """Return inputs and λ of the least loss in rows that neither the fit nor its inputs have seen, and thresholds.

        The loss is the cost of errors, over its mean over all that are compared, plus the logarithmic loss of
        :class:`~mercer.stages.LogisticLinks`, over its own. Where classes hardly overlap, few rows make errors and the
        least cost is often an accident; all rows have a hand in the logarithm. λ below one that clearly costs more
        than a larger one are not tried. As fits to two of three folds are compared, λ is multiplied by 2/3: so
        C = 1/(λn), what a row may weigh, stays the same.

        Parameters
        ----------
        owner : CostSensitiveClassifier
            Whose solver and intercept are used.
        bind : callable
            Makes of k_X the whole kernel, bound to the measure on costs.
        loss : Loss
            The loss.
        most_rows : int
            Of more rows so many are used; fewer, where their kernel matrix would not fit into the memory budget.
        """
        while most_rows > ROUGH_ROWS and not eigh_fits(most_rows):
            most_rows //= 2
        rows = self.order[:most_rows]
        folds = [rows[self.fold[rows] == k] for k in range(COST_FOLDS)]
        held_out = np.concatenate(folds)
        weight = None if self.weight is None else self.weight[held_out] / self.weight[held_out].mean()
        measure = bind(self.candidates[0][0].kernel).measure
        tried, costs, links = [], [], []
        for inputs, parts in self.candidates:
            paths = [self._path(owner, bind, loss, part, rows, k) for k, part in enumerate(parts)]
            table: list[list[float]] = []
            for alpha, decisions in zip(COST_ALPHAS, zip(*paths, strict=True), strict=True):
                tried.append((inputs, alpha * (1 - 1 / COST_FOLDS)))
                table.append([self._cost(part, fold, measure) for part, fold in zip(decisions, folds, strict=True)])
                costs.append(np.average(table[-1], weights=[len(fold) for fold in folds]))
                links.append(LogisticLinks.learn(np.concatenate(decisions), self.signs[held_out], weight))
                if falls(-np.array(table)):
                    break
        losses = np.array([link.loss @ measure.weights for link in links])
        best = int(np.argmin(_over_mean(np.array(costs)) + _over_mean(losses)))
        return LearnedKernel(*tried[best], links[best].thresholds(measure.locations, measure.weights))

    def _path(self, owner, bind, loss, inputs, rows, k) -> Iterator[np.ndarray]:
        """Yield, for each λ, the decisions in those of the rows that are of fold k, of a fit to the others."""
        train, test = rows[self.fold[rows] != k], rows[self.fold[rows] == k]
        Z, bound = inputs(self.X[train]), bind(inputs.kernel)
        measure = bound.measure
        targets = np.broadcast_to(self.signs[train, None], (len(train), len(measure)))
        weight = None if self.weight is None else self.weight[train]
        problem = DualProblem(bound.gram(Z), loss, targets, measure, COST_ALPHAS[0], weight, owner.fit_intercept)
        new = inputs(self.X[test])
        results = solve_path(problem, COST_ALPHAS, owner.solver, COMPARISON_TOL, owner.max_iter, owner)
        for alpha, result in zip(COST_ALPHAS, results, strict=True):
            function = bound.expand(Z, problem.with_alpha(alpha).primal_coef(result.coef))
            yield function.evaluate(new, measure.points) + result.intercept

    def _cost(self, decisions: np.ndarray, rows: np.ndarray, measure: Measure) -> float:
        """Return the mean cost of errors of some rows, over all costs."""
        positive, theta = self.signs[rows, None] > 0, measure.locations
        wrong = np.where(positive, theta, 1 - theta) * ((decisions > 0) != positive)
        return float(np.average(wrong @ measure.weights, weights=None if self.weight is None else self.weight[rows]))


def _over_mean(values: np.ndarray) -> np.ndarray:
    """Return values over their mean; zeros are left as they are."""
    return values / (values.mean() or 1.0)


def _deal(signs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows in random order, some of each class first and both mixed evenly, and the fold of each row.

    It does not matter which class is the positive one.
    """
    shuffled = np.random.default_rng(0).permutation(len(signs))
    fold, place = np.empty(len(signs), dtype=int), np.empty(len(signs))
    for sign in (-1, 1):
        rows = shuffled[signs[shuffled] == sign]
        rank = np.arange(len(rows))
        fold[rows] = rank % COST_FOLDS
        place[rows] = np.where(rank < FEWEST_OF_A_CLASS, 0.0, (rank + 0.5) / len(rows))
    return shuffled[np.argsort(place[shuffled], kind="stable")], fold
