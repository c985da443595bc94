"""The loss of rows that were held out, as a function of kernels and λ with slopes, and its descent."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing

from mercer.estimators.kernel_coordinates import KernelCoordinates
from mercer.estimators.value_slopes import value_slopes
from mercer.problems import AddedRows

__all__ = ["SEARCH_PARTS", "SEARCH_TOL", "HeldOutSearch"]

#: parts of the rows, in order: one is held out from the search, and of the others two and two predict each other
SEARCH_PARTS = 5
#: weights of added rows, relative to those of the fit: a smaller one where the larger one says too little, and the last
#: one for losses that are compared and reported; and the relative duality gap of all these fits
ADDED_SHARES, SEARCH_TOL = (1e-2, 1e-3, 1e-4), 1e-8
#: part of the loss of held-out rows that the lower bound of it has to be
TIGHT = 0.9
#: the largest change of a coordinate: numbers by a factor of a thousand
FARTHEST_STEP = float(np.log(1e3))


class HeldOutSearch:
    """Minimises the loss of halves of the rows that are predicted from each other, over the numbers in kernels and λ.

    Parameters
    ----------
    estimator : CertifiedEstimator
        With numbers for all that it chooses; its λ is that of all rows.
    coordinates : KernelCoordinates
        The numbers.
    X, y : arrays or data frames
        Rows, in random order, of which the first fifth tells when to stop.
    weight : array of shape (n,)
        Their weights.
    total : float
        The weight of all rows, which the final fit will have: λ times weight is the same in all fits.

    Attributes
    ----------
    history : dict of arrays
        ``"value"``, the loss of the halves, and ``"held_out_loss"``, that outside, after each step.
    best : int
        The step with the least held-out loss.
    found : array
        The coordinates there.
    """

    def __init__(
        self, estimator: Any, coordinates: KernelCoordinates, X: Any, y: Any, weight: np.ndarray, total: float
    ):
        self.estimator, self.coordinates, self.X, self.y = estimator, coordinates, X, y
        self.weight, self.total, self.added = weight, total, AddedRows(ADDED_SHARES[0])
        parts = np.array_split(np.arange(len(weight)), SEARCH_PARTS)
        self.outside, halves = parts[0], (np.concatenate(parts[1:3]), np.concatenate(parts[3:5]))
        self.pairs = (halves, halves[::-1])
        self.steps = [np.zeros(coordinates.size)]
        self.values: list[float] = []
        self.losses: list[float] = []
        self.tight = True

    def run(self, max_iter: int, patience: int) -> None:
        """Go down by L-BFGS until the loss outside has not fallen for ``patience`` steps.

        Where added rows have changed the fit to their own advantage, which they can if λ is small, so that the lower
        bound has left their loss behind, they get a smaller weight, and the descent goes on from the best step.
        """
        start = self.steps.pop()
        self._look(start, self.value_and_slope(start)[0])

        def look(intermediate_result: Any) -> None:
            tight = self._look(intermediate_result.x, float(intermediate_result.fun))
            if not tight or len(self.losses) - 1 - self.best >= patience or len(self.losses) > max_iter:
                raise StopIteration

        for share in ADDED_SHARES:
            self.added = AddedRows(share)
            bounds = [(-FARTHEST_STEP, FARTHEST_STEP)] * self.coordinates.size
            options = {"maxiter": max_iter, "maxfun": 3 * max_iter}
            minimize(self.value_and_slope, self.found, jac=True, bounds=bounds, callback=look, options=options)
            if self.tight or len(self.losses) > max_iter:
                break

    @property
    def best(self) -> int:
        return int(np.argmin(self.losses)) if self.losses else 0

    @property
    def found(self) -> np.ndarray:
        return self.steps[self.best]

    @property
    def history(self) -> dict[str, np.ndarray]:
        return {"value": np.array(self.values), "held_out_loss": np.array(self.losses)}

    def value_and_slope(self, flat: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the mean over both halves of the loss of the other one, and its slope in the coordinates."""
        params = self.coordinates.parameters(flat)
        value, slope = 0.0, np.zeros(len(flat))
        for train, other in self.pairs:
            without, with_them = self._fit(params, train), self._fit(params, train, other)
            value += self.added.difference(with_them.objective_, without.objective_) / len(self.pairs)
            slopes = self._difference_of_slopes(with_them, without, train)
            slope += self.coordinates.slopes(flat, slopes) / len(self.pairs)
        return value, slope

    def _difference_of_slopes(self, with_them: Any, without: Any, train: np.ndarray) -> dict[str, Any]:
        ends = value_slopes(with_them), value_slopes(without)
        found = {name: self.added.difference(ends[0][name], ends[1][name]) for name in self.coordinates.start}
        if "alpha" in found:
            slope = self.added.alpha_difference(*(float(end["alpha"]) for end in ends))
            found["alpha"] = slope * self.total / self.weight[train].sum()
        return found

    def _look(self, flat: np.ndarray, value: float) -> bool:
        """Keep a step with the loss outside, and say whether the criterion is near the losses of the halves."""
        params, report = self.coordinates.parameters(flat), AddedRows(ADDED_SHARES[-1])
        inside: list[float] = []
        outside: list[float] = []
        for train, other in self.pairs:
            without = self._fit(params, train).objective_
            for found, rows in ((inside, other), (outside, self.outside)):
                found.append(report.difference(self._fit(params, train, rows, report).objective_, without))
        self.steps.append(np.array(flat))
        self.values.append(float(np.mean(inside)))
        self.losses.append(float(np.mean(outside)))
        self.tight = value >= TIGHT * self.values[-1]
        return self.tight

    def _fit(
        self,
        params: dict[str, Any],
        train: np.ndarray,
        others: np.ndarray | None = None,
        added: AddedRows | None = None,
    ) -> Any:
        """Return the fit to some rows, to which others are added with a small weight."""
        model = clone(self.estimator).set_params(**params)
        alpha, weight, rows = model.alpha * self.total / self.weight[train].sum(), self.weight[train], train
        if others is not None:
            added, rows = added or self.added, np.concatenate([train, others])
            alpha, weight = added.alpha(alpha), added.weights(self.weight[rows], np.arange(len(rows)) >= len(train))
        with warnings.catch_warnings():  # a gap that is not quite reached is of no concern here
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.set_params(alpha=alpha).fit(_safe_indexing(self.X, rows), _safe_indexing(self.y, rows), weight)
        return model
