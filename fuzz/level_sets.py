"""LevelSetDetector: regions for all fractions of outliers, levels alone or coupled, offsets free or penalised."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fuzz.certify import Bounds, meet_sums, merged, row_keys, solve
from fuzz.check import Family, all_finite
from fuzz.draw import Case, Draw
from fuzz.exact import kernel_matrix, long
from fuzz.findings import Finding, Surprise
from mercer import LevelSetDetector
from mercer.measures import GaussLegendre, MonteCarlo, Points

__all__ = ["LevelSets"]

#: by how much dual variables may leave their box, in units of its width
BOX_TOLERANCE = 1e-6
#: offsets are stored a billionth lower, so that rows on the boundary are inliers; that costs this share of their size
MARGIN = 4e-9
#: sums of weights of outliers are rounded
FRACTION_TOLERANCE = 1e-6


class LevelSets(Family):
    """LevelSetDetector."""

    name = "level_sets"
    arrays = ("dual_coef_", "offset_", "optimal_offset_")

    def draw(self, draw: Draw) -> Case:
        n = draw.one_of(draw.size(1, 4), draw.size(1, 60), odds=(0.1, 0.9))
        X, kernel = draw.inputs_and_kernel(n, draw.size(1, 4))
        penalised, coupled = draw.maybe(0.3), draw.maybe(0.3)
        alpha = draw.alpha() if penalised else 0.0
        fractions = Points(np.sort(draw.rng.uniform(0.01, 1, size=draw.size(1, 5))))
        rules = (fractions, Points([0.5, 0.1, 0.5, 1.0]), GaussLegendre(draw.size(1, 6)), Points([1e-9, 1e-3, 0.5]))
        estimator = LevelSetDetector(
            kernel,
            output_kernel=draw.output_kernel(),
            offset_kernel=draw.output_kernel(),
            alpha=draw.magnitude(-4, 3) if alpha == "auto" else alpha,
            coupling=draw.magnitude(-5, 3) if coupled else 0.0,
            measure=draw.one_of(None, None, *rules, MonteCarlo(4)),
            nested=draw.maybe(0.3),
            calibration=draw.one_of(None, "cross", odds=(0.7, 0.3)),
            tol=draw.one_of(1e-3, 1e-1, 1e-5, 1e-7, odds=(0.6, 0.15, 0.15, 0.1)),
            random_state=0,
        )
        return Case(estimator, X, None, draw.weights(n), draw.rng)

    def certify(self, model: Any, case: Case) -> tuple[Bounds, list[Finding]]:
        s, fit = _weights(model, case), model.X_fit_
        theta, eta, t = long(model.measure_.points[:, 0]), long(model.measure_.weights), long(model.optimal_offset_)
        n, levels = len(s), theta[:, None]
        alpha, coupling = long(model.alpha), long(model.coupling_)
        K = kernel_matrix(model.kernel_, fit, fit)
        K = (K + K.T) / 2
        c = long(model.dual_coef_)
        high = s[:, None] / (n * theta)  # of d = s a/n, whose columns sum to 1 where offsets are free
        # d η = c (cI + K_Θ diag(η)), and sections h(·)(θ_j) have the coefficients B = c K_Θ; alone, d = c = B
        K_theta = kernel_matrix(model.output_kernel_, levels, levels)
        mixing = coupling * np.eye(len(theta), dtype=np.longdouble) + K_theta * eta

        def sections(d):
            """Return the coefficients of h and of its sections."""
            if coupling == 0:
                return d, d
            c = solve(mixing.T, (d * eta).T).T
            return c, c @ K_theta

        d = c @ mixing / eta if coupling > 0 else c
        B = c @ K_theta if coupling > 0 else c
        found = []
        outside = float(np.max(np.maximum(-d, d - high) / high))
        if outside > BOX_TOLERANCE:
            found.append(Finding("box", "", f"dual variables are outside by {outside:.1e} of its width"))

        h = K @ B
        half_norm = np.sum(eta * B * h) / 2 + (coupling * np.sum(c * h) / 2 if coupling > 0 else 0)

        def objective(values):  # of h − t
            return np.sum(eta * (np.sum(high * np.maximum(-values, 0), axis=0) - t)) + half_norm + price(d)

        def price(d):
            if alpha == 0:
                return long(0)
            v = eta * (1 - d.sum(axis=0))  # t = K_b v/α
            return v @ kernel_matrix(model.offset_kernel_, levels, levels) @ v / (2 * alpha)

        repaired = np.clip(d, 0, high)
        if alpha == 0:
            ones = np.ones(n, dtype=np.longdouble)
            repaired = meet_sums(repaired, ones, 0 * high, high, np.ones(len(theta), dtype=np.longdouble))
        dual = -np.sum(eta * repaired * (K @ sections(repaired)[1])) / 2 - price(repaired)
        predicted = None
        if not model.nested and not model.kernel_.pairwise:
            values = long(model.predict_at(fit, model.measure_.points[:, 0]))
            predicted = objective(values + long(model.offset_) - t)
        primal = objective(h - t)
        null = np.mean(np.diag(K)) * eta.sum() / 2
        floor = MARGIN * np.max(np.abs(t)) * np.sum(eta / theta)
        return Bounds(primal, dual, null, floor, predicted), found

    def look(self, model: Any, case: Case) -> Iterator[Finding]:
        X = case.X
        levels = np.unique(model.measure_.points[:, 0])
        decisions = np.column_stack([model.decision_function(X, level) for level in levels])
        scores = model.score_samples(X)
        if not all_finite(decisions) or not all_finite(scores):
            yield Finding("not finite", "", "predictions")
            return
        outliers = np.column_stack([model.predict(X, level) == -1 for level in levels])
        if model.nested and np.any(outliers[:, :-1] & ~outliers[:, 1:]):
            yield Finding("crossing", "", "sets are not nested")
        if model.alpha == 0 and model.calibration is None:
            weight = np.ones(len(X)) if case.weight is None else case.weight / np.max(case.weight)
            excess = weight @ outliers / weight.sum() - levels
            if np.any(excess > FRACTION_TOLERANCE * levels + FRACTION_TOLERANCE**1.5):
                worst = int(np.argmax(excess))
                yield Finding("outlier fraction", "", f"{excess[worst]:.1e} above the level {levels[worst]:.3g}")


def _weights(model: Any, case: Case) -> Any:
    """Return the weights of the rows of ``X_fit_``, which are sorted, of mean 1."""
    X, fit, pairwise = case.X, model.X_fit_, model.kernel_.pairwise
    order, s = merged(row_keys(X, np.zeros((len(X), 0)), pairwise), case.weight)
    if pairwise:
        if not np.array_equal(fit, X[order][:, order]):
            raise Surprise("rows", "X_fit_ is another matrix")
        return s
    weights = dict(zip(row_keys(X[order], np.zeros((len(s), 0)), False), s, strict=True))
    keys = row_keys(fit, np.zeros((len(fit), 0)), False)
    if sorted(keys) != sorted(weights):
        raise Surprise("rows", "X_fit_ has other rows")
    return long([weights[key] for key in keys])
