"""Quantiles and costs where each row has levels (or costs) of its own: the problem has a row for each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fuzz.certify import Bounds, merged, row_keys
from fuzz.draw import Case, Draw
from fuzz.exact import kernel_matrix, long
from fuzz.findings import Finding, Surprise
from fuzz.tasks import DURING_FIT, Costs, Entries, Quantiles, StoredFit, Tasks

__all__ = ["OwnCosts", "OwnQuantiles"]

#: how much more freely than the rest of h a function of θ alone varies
MEAN_SCALE = 100.0


@dataclass(frozen=True)
class OwnCase(Case):
    """A case with levels of rows' own, ``fit(levels=...)`` or ``fit(costs=...)``."""

    keyword: str
    table: np.ndarray

    def fit(self, estimator: Any) -> Any:
        return estimator.fit(self.X, self.y, sample_weight=self.weight, **{self.keyword: self.table})


def with_levels(case: Case, draw: Draw, keyword: str) -> OwnCase:
    """Return a case with levels of its rows, and without settings that speak of shared ones."""
    n, m, rng = len(case.X), draw.size(1, 4), draw.rng
    table = rng.uniform(0.001, 0.999, size=(n, m))
    match draw.size(0, 5):
        case 0:
            table = np.clip(table.round(1), 0.1, 0.9)
        case 1:
            table = np.full((n, m), 0.3)
        case 2:
            table[0, 0] = draw.one_of(1e-9, 1 - 1e-9)
    if draw.maybe(0.3):
        table[:, 1:][rng.random((n, m - 1)) < 0.4] = np.nan
    estimator = case.estimator.set_params(measure=None)
    if estimator.noncrossing in DURING_FIT:
        estimator.set_params(noncrossing=draw.one_of("rearrange", None))
    return OwnCase(estimator, case.X, case.y, case.weight, case.rng, keyword, table)


class OwnFit(StoredFit):
    """The problem and the model, an observation in each row of (N, 1) arrays."""

    def __init__(self, family: Tasks, model: Any, case: OwnCase) -> None:
        self.family, self.model, self.loss = family, model, case.estimator.loss
        X, y, pairwise = case.X, case.y, model.kernel_.pairwise
        order, s = merged(row_keys(X, np.column_stack([y, case.table]), pairwise), case.weight)
        self.X = self.given = X[order][:, order] if pairwise else X[order]
        if not np.array_equal(model.X_fit_, self.X):
            raise Surprise("rows", "X_fit_ has other rows")
        table = case.table[order]
        self.row = np.nonzero(~np.isnan(table))[0]
        self.theta = table[~np.isnan(table)]
        self.n = len(self.row)  # rows of the problem, whose weights have the mean 1
        self.s = s[self.row] / long(np.bincount(self.row)[self.row]) * (long(self.n) / len(order))
        self.w, self.m, self.lam = long(np.ones(1)), 1, long(model.alpha_)
        self.c = long(model.dual_coef_)
        if self.c.shape != (len(self.row), 1):
            raise Surprise("rows", f"dual_coef_ has shape {self.c.shape}, there are {len(self.row)} levels")
        b = long(getattr(model, "optimal_intercept_", model.intercept_))
        if np.ptp(b) != 0:
            raise Surprise("intercept", "it is not the same at all levels")
        self.b, self.y = b[:1], long(y[order])[self.row]
        self.entries = self._own(family.entries(self.y, long(self.theta), self.loss))
        K = kernel_matrix(model.kernel_, model.X_fit_, model.X_fit_)
        K = (K + K.T) / 2 + (MEAN_SCALE * np.mean(np.diag(K)) if model.fit_intercept else 0)
        nodes = self.theta[:, None]
        self.K = K[np.ix_(self.row, self.row)] * kernel_matrix(model.output_kernel_, nodes, nodes)
        self.G = long(np.ones((1, 1)))
        self.h = self.K @ self.c @ self.G
        self.unit = self.s[:, None] / (self.lam * self.n)
        self.a = self.entries.sign * self.c / self.unit

    def _own(self, shared: Entries) -> Entries:
        """Return the entries of each observation at its own level, of those at the levels of all."""
        size = (len(self.row), len(self.row))
        parts = (shared.offset, shared.sign, shared.theta, shared.low, shared.high)
        return Entries(*(np.diagonal(np.broadcast_to(part, size))[:, None] for part in parts))

    def predicted(self) -> Any:
        model = self.model
        if model.noncrossing == "rearrange" or model.kernel_.pairwise:
            return None
        levels, place = np.unique(self.theta, return_inverse=True)
        values = long(self.family.values(model, self.given, levels))
        return self.objective(values[self.row, place][:, None])


class Own(Tasks):
    """What families with levels of rows' own share: what they recompute."""

    def certify(self, model: Any, case: Case) -> tuple[Bounds, list[Finding]]:
        assert isinstance(case, OwnCase)
        fit = OwnFit(self, model, case)
        return fit.bounds(), list(fit.look())


class OwnQuantiles(Own, Quantiles):
    """KernelQuantileRegressor with levels of rows' own."""

    name = "own_levels"

    def draw(self, draw: Draw) -> OwnCase:
        return with_levels(super().draw(draw), draw, "levels")


class OwnCosts(Own, Costs):
    """CostSensitiveClassifier with costs of rows' own."""

    name = "own_costs"

    def draw(self, draw: Draw) -> OwnCase:
        return with_levels(super().draw(draw), draw, "costs")
