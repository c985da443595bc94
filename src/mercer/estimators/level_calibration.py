"""Offsets of level sets by rows that were not trained on: the fractions of outliers are then those of new rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from mercer.estimators.level_model import LevelModel
from mercer.problems import DualProblem
from mercer.solvers import SolverResult
from mercer.stages import new_levels

__all__ = ["UnseenRows", "calibrated_offsets", "new_quantiles", "splits", "unseen_rows"]

#: folds, each of which is judged by a fit on the others
FOLDS = 5
#: rows that are enough to judge: where there are more, not all folds are judged
JUDGED_ROWS = 10_000


class UnseenRows(NamedTuple):
    """Rows, and h(x)(θ_j) there, (n_rows, n_levels), by a fit that has not seen them, with its offsets (n_levels,)."""

    rows: np.ndarray
    scores: np.ndarray
    offset: np.ndarray


def splits(n: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield rows to train on and rows to judge: five folds, of which as many are judged as have 10 000 rows together.

    The folds are random but always the same, so that the same data give the same model.

    Examples
    --------
    >>> [(len(train), len(judged)) for train, judged in splits(11)]
    [(8, 3), (9, 2), (9, 2), (9, 2), (9, 2)]
    >>> [(len(train), len(judged)) for train, judged in splits(50_000)]
    [(40000, 10000)]
    """
    order = np.random.default_rng(0).permutation(n)
    folds = np.array_split(order, min(FOLDS, n)) if n > 1 else []
    for judged in folds[: math.ceil(len(folds) * JUDGED_ROWS / n)]:
        train = np.ones(n, dtype=bool)
        train[judged] = False
        yield np.flatnonzero(train), np.sort(judged)


def unseen_rows(
    model: LevelModel, X: np.ndarray, weight: np.ndarray | None, solve: Callable[[DualProblem], SolverResult]
) -> Iterator[UnseenRows]:
    """Yield the rows that are judged in each split, with their scores by the model fitted to the others."""

    def take(rows: np.ndarray, train: np.ndarray) -> Any:
        return X[np.ix_(rows, train)] if model.kernel.pairwise else X[rows]

    for train, judged in splits(len(X)):
        seen = take(train, train)
        problem = model.problem(seen, None if weight is None else weight[train])
        result = solve(problem)
        h = model.expand(seen, model.coef(problem, result.coef))
        scores = h.evaluate(take(judged, train), model.measure.points)
        yield UnseenRows(judged, scores, -problem.effect(result.intercept))


def calibrated_offsets(
    unseen: list[UnseenRows], offset: np.ndarray, weight: np.ndarray | None, levels: np.ndarray
) -> np.ndarray:
    """Return offsets that a new row falls short of with the probability of the level, from those of the whole fit.

    Scores are compared in units of the offset of their own fit, which shrinks a little as rows are added; where an
    offset is not positive, which takes kernels with negative values or a penalty, they are compared as they are.

    Examples
    --------
    >>> import numpy as np
    >>> unseen = [UnseenRows(np.arange(3), np.array([[0.6], [0.2], [0.4]]), np.array([0.5]))]
    >>> calibrated_offsets(unseen, np.array([0.25]), None, np.array([0.5]))
    array([0.2])
    """
    positive = (offset > 0) & np.all([part.offset > 0 for part in unseen], axis=0)
    scores = np.concatenate([part.scores / np.where(positive, part.offset, 1.0) for part in unseen])
    rows = np.concatenate([part.rows for part in unseen])
    weights = np.ones(len(rows)) if weight is None else weight[rows]
    return np.where(positive, offset, 1.0) * new_quantiles(scores, weights, levels)


def new_quantiles(values: np.ndarray, weight: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Return, for each column, what a new value falls short of with the probability of its level.

    Values have the levels of :func:`~mercer.stages.new_levels`, k/(n + 1) for the k-th smallest of n, and quantiles
    between these are interpolated. Where nothing was seen, beyond the outer levels, the extreme values are returned.

    Examples
    --------
    >>> import numpy as np
    >>> new_quantiles(np.array([[3.0, 3.0], [1.0, 1.0], [2.0, 2.0]]), np.ones(3), np.array([0.25, 0.625]))
    array([1. , 2.5])
    """
    share, quantiles = weight / weight.sum(), []
    for column, level in zip(values.T, levels, strict=True):
        order = np.argsort(column, kind="stable")
        quantiles.append(np.interp(level, new_levels(share[order]), column[order]))
    return np.array(quantiles)
