"""Which outputs are alike, learned from the data: only where that predicts rows that were not looked at better."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._params import Params, check_number
from mercer.backend import cholesky_solve
from mercer.solvers.output_covariance import covariance_of_entries, covariance_of_rows

__all__ = ["LearnedMatrix", "learn_output_matrix"]

#: shares of the identity that learned matrices are shrunk by
SHRINKAGES = (0.0, 0.03, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85)
#: parts of the rows, each predicted by fits to the others that know nothing of it
QUARTERS = 4
#: standard errors by which a learned matrix has to be better than the identity
CLEARLY = 1.5


@dataclass(eq=False, repr=False)
class LearnedMatrix(Params):
    """Ask for an output matrix Γ that is learned: ``VectorValuedRegressor(output_matrix=LearnedMatrix(rank=3))``.

    Parameters
    ----------
    rank : int, optional
        Rank of Γ; without it Γ has full rank, or is the identity where that predicts as well.

    Examples
    --------
    >>> LearnedMatrix(rank=3)
    LearnedMatrix(rank=3)
    """

    rank: int | None = None

    def _check(self) -> None:
        if self.rank is not None:
            check_number(self, "rank", self.rank, low=1, strict=False, integer=True)


def learn_output_matrix(
    K: np.ndarray,
    Y: np.ndarray,
    weight: np.ndarray,
    shifts: np.ndarray,
    start: float,
    centred: bool,
    rank: int | None = None,
) -> np.ndarray | None:
    """Return Γ of trace p, or None where the identity predicts rows that were left out as well.

    The matrix Γ̂ of greatest evidence is shrunk, Γ = (1 − t)Γ̂ + tI (of a given rank within its own span). A quarter of
    the rows at a time is predicted from the others, from which Γ̂ is learned, too, so that its errors pretend nothing;
    t is the best with its best λ, and stands against the identity with its best λ only where it is better by 1.5
    standard errors of the differences between rows.

    Parameters
    ----------
    K : array of shape (n, n)
        The Gram matrix of the inputs.
    Y : array of shape (n, p)
        Targets, NaN where nothing was observed.
    weight : array of shape (n,)
        Weights of mean 1.
    shifts : array of float
        λn to choose from.
    start : float
        λn for the identity.
    centred : bool
        Whether there is an intercept.
    rank : int, optional
        Rank of Γ.
    """
    n, p = Y.shape
    if p == 1:
        return None
    kind = _Observed if np.any(np.isnan(Y)) else _Complete
    shares = SHRINKAGES if rank is None else (*SHRINKAGES, 1.0)
    errors = np.full((1 + len(shares), len(shifts), n), np.nan)
    for train, test in _folds(Y):
        fold = kind(K, Y, weight, train, test, centred)
        learned = fold.learn(start, rank)
        for c, matrix in enumerate([np.eye(p), *(shrunk(learned, share, rank) for share in shares)]):
            errors[c][:, test] = fold.errors(matrix, shifts)
    errors = errors[:, :, ~np.isnan(errors[0, 0])]
    if not errors.size:
        return None if rank is None else kind(K, Y, weight, np.arange(n), np.arange(0), centred).learn(start, rank)
    best = np.argmin(errors.mean(axis=2), axis=1)
    each = errors[np.arange(len(best)), best]  # (candidates, rows)
    choice = 1 + int(np.argmin(each[1:].mean(axis=1)))
    gain = each[0] - each[choice]
    if rank is None and gain.mean() <= CLEARLY * gain.std() / np.sqrt(len(gain)):
        return None
    learned = kind(K, Y, weight, np.arange(n), np.arange(0), centred).learn(start, rank)
    return shrunk(learned, shares[choice - 1], rank)


def shrunk(matrix: np.ndarray, share: float, rank: int | None = None) -> np.ndarray:
    """Return (1 − t)Γ + tP of trace p, P the identity, or that of the span of Γ where it has a rank of its own."""
    p = len(matrix)
    target = np.eye(p)
    if rank is not None and rank < p:
        kept = np.linalg.eigh(matrix)[1][:, -rank:]
        target = kept @ kept.T * (p / rank)
    trace = float(np.trace(matrix))  # 0 where nothing but noise was found
    return (1 - share) * matrix * (p / trace) + share * target if trace > 0 else target


def _folds(Y: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield rows to learn from and rows to predict, the same for the same number of rows."""
    rows = np.random.default_rng(0).permutation(len(Y))
    for k in range(QUARTERS):
        test = np.sort(rows[k::QUARTERS])
        train = np.sort(np.setdiff1d(rows, test))
        if len(test) and np.all(np.any(~np.isnan(Y[train]), axis=0)):
            yield train, test


class _Complete:
    """Rows of which everything is known: all in the eigenvectors of the Gram matrix."""

    def __init__(self, K: Any, Y: Any, weight: Any, train: np.ndarray, test: np.ndarray, centred: bool) -> None:
        root = np.sqrt(weight[train])
        inner, cross = K[np.ix_(train, train)], K[np.ix_(test, train)]
        mean = weight[train] @ Y[train] / weight[train].sum() if centred else np.zeros(Y.shape[1])
        gram = inner * root[:, None] * root
        if centred:
            unit = root / np.linalg.norm(root)
            cross = cross - weight[train] @ inner / weight[train].sum()
            along = gram @ unit
            gram = gram - np.outer(unit, along) - np.outer(along, unit) + (unit @ along) * np.outer(unit, unit)
        sigma, U = np.linalg.eigh(gram)
        keep = sigma > len(sigma) * np.finfo(float).eps * sigma[-1]
        keep[: int(centred)] = False  # the constant itself, but for rounding
        self.sigma = np.concatenate([sigma[keep], np.zeros(len(sigma) - keep.sum() - centred)])
        rest = root[:, None] * (Y[train] - mean)
        inside = U[:, keep].T @ rest
        outside = rest - U[:, keep] @ inside
        self.cross, self.inside = (cross * root) @ U[:, keep], inside
        # rows without signal have noise only; any orthogonal basis of their span has the same sums of squares
        self.Z = np.concatenate([inside, _few_rows(outside, len(self.sigma) - len(inside))])
        self.targets, self.weight = Y[test] - mean, weight[test]

    def learn(self, shift: float, rank: int | None) -> np.ndarray:
        """Return Γ of greatest evidence."""
        return covariance_of_rows(self.sigma, self.Z, shift, rank).matrix

    def errors(self, matrix: np.ndarray, shifts: np.ndarray) -> np.ndarray:
        """Return s_i‖r_i‖² of the rows to predict for each λn, shape (len(shifts), n_test)."""
        tau, V = np.linalg.eigh(matrix)
        tau, inside, targets = np.maximum(tau, 0), self.inside @ V, self.targets @ V
        sigma = self.sigma[: len(inside)]
        gains = [tau / (sigma[:, None] * tau + shift) for shift in shifts]
        predicted = self.cross @ np.concatenate([gain * inside for gain in gains], axis=1)
        rest = targets[:, None, :] - predicted.reshape(len(targets), len(shifts), -1)
        return self.weight * np.sum(rest**2, axis=2).T


class _Observed:
    """Rows with missing targets: all in the observed entries."""

    def __init__(self, K: Any, Y: Any, weight: Any, train: np.ndarray, test: np.ndarray, centred: bool) -> None:
        self.p, seen = Y.shape[1], ~np.isnan(Y)
        mass = weight[train] @ seen[train]
        mean = weight[train] @ np.where(seen, Y, 0.0)[train] / mass if centred else np.zeros(self.p)
        rows, self.columns = np.nonzero(seen[train])
        own, self.test_columns = np.nonzero(seen[test])
        root = np.sqrt(weight[train][rows])
        self.K = K[np.ix_(train[rows], train[rows])] * root[:, None] * root
        self.cross = K[np.ix_(test[own], train[rows])] * root
        self.y = root * (Y[train] - mean)[rows, self.columns]
        self.targets, self.own = (Y[test] - mean)[own, self.test_columns], own
        self.weight = weight[test]

    def learn(self, shift: float, rank: int | None) -> np.ndarray:
        """Return Γ of greatest evidence."""
        return covariance_of_entries(self.K, self.columns, self.y, self.p, shift, rank).matrix

    def errors(self, matrix: np.ndarray, shifts: np.ndarray) -> np.ndarray:
        """Return s_i‖r_i‖² of what was observed of the rows to predict, shape (len(shifts), n_test)."""
        gram = self.K * matrix[np.ix_(self.columns, self.columns)]
        cross = self.cross * matrix[np.ix_(self.test_columns, self.columns)]
        squares = np.empty((len(shifts), len(self.weight)))
        for k, shift in enumerate(shifts):
            rest = self.targets - cross @ cholesky_solve(gram + shift * np.eye(len(gram)), self.y[:, None])[:, 0]
            squares[k] = np.bincount(self.own, rest**2, len(self.weight))
        return self.weight * squares


def _few_rows(matrix: np.ndarray, n_rows: int) -> np.ndarray:
    """Return a matrix of some number of rows with the same MᵀM, as far as its rank allows."""
    values, vectors = np.linalg.eigh(matrix.T @ matrix)
    factor = (np.sqrt(np.maximum(values, 0)) * vectors).T[::-1][:n_rows]
    return np.concatenate([factor, np.zeros((n_rows - len(factor), matrix.shape[1]))])
