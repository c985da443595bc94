"""Quantiles and costs: h(x)(θ) + b(θ) at the nodes of a measure on (0, 1), with or without slopes in θ."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fuzz.certify import Bounds, cancelled, meet_sums, merged, rounding_floor, row_keys
from fuzz.check import Family, all_finite
from fuzz.draw import LARGEST, Case, Draw
from fuzz.exact import conjugate, kernel_matrix, long, loss_slope, loss_value, slope_matrix
from fuzz.findings import Finding, Surprise
from mercer import CostSensitiveClassifier, KernelQuantileRegressor
from mercer.kernels import Gaussian
from mercer.losses import (
    CostSensitiveHinge,
    Expectile,
    MoreauHinge,
    MoreauPinball,
    Pinball,
    WeightedHuber,
    WeightedMoreauHinge,
)
from mercer.solvers import ADMM, LBFGS, InteriorPoint, ProximalGradient

__all__ = ["Costs", "Quantiles"]

DURING_FIT = ("penalty", "constraint", "guarantee")
#: by how much dual variables may leave their box, and slopes fall below 0, in their units
BOX_TOLERANCE = 1e-6
SLOPE_TOLERANCE = 1e-7
#: rounding of functions that are promised to rise, in units of their largest value
RISE_TOLERANCE = 1e-12
#: weights of the three slopes in a cell of levels: Simpson's rule
SIMPSON = np.array([1, 4, 1]) / 6


@dataclass(frozen=True)
class Entries:
    """The loss at all rows and nodes: f(r) with r = offset − sign·(h + b), dual variables sign·a within a box."""

    offset: Any
    sign: Any
    theta: Any
    low: Any
    high: Any


class Tasks(Family):
    """What quantiles and costs share."""

    # -- drawing -----------------------------------------------------------------------------------------------

    @abstractmethod
    def draw_loss(self, draw: Draw, spread: float) -> Any:
        """Draw a loss for targets of some spread."""

    @abstractmethod
    def draw_targets(self, draw: Draw, n: int) -> np.ndarray:
        """Draw targets."""

    def draw(self, draw: Draw) -> Case:
        n = draw.one_of(draw.size(1, 4), draw.size(1, 21), draw.size(1, 60), odds=(0.15, 0.75, 0.1))
        X, kernel = draw.inputs_and_kernel(n, draw.size(1, 5))
        y = self.draw_targets(draw, n)
        with np.errstate(over="ignore"):
            spread = float(np.std(y))
        loss = self.draw_loss(draw, spread if 1e-100 < spread < 1e100 else 1.0)
        noncrossing = draw.one_of("rearrange", None, *DURING_FIT, odds=(0.38, 0.3, 0.14, 0.14, 0.04))
        sloped = noncrossing in DURING_FIT
        output_kernel = draw.output_kernel(smooth=sloped)
        if noncrossing == "guarantee":
            X = X[:, :2]
            kernel = draw.one_of(None, Gaussian(draw.magnitude(-3, 3)))
            output_kernel = draw.one_of(None, Gaussian(draw.magnitude(-2, 2)))
        parameters = {
            "kernel": kernel,
            "output_kernel": output_kernel,
            "alpha": draw.alpha(),
            "measure": draw.levels(),
            "loss": loss,
            "fit_intercept": noncrossing in ("constraint", "guarantee") or draw.maybe(0.8),
            "noncrossing": noncrossing,
            "crossing_penalty": draw.magnitude(-3, 4),
            "solver": self._draw_solver(draw, loss, sloped),
            "tol": max(draw.tol(), 1e-3 if sloped else 0.0),
            "max_iter": draw.size(1, 20) if draw.maybe(0.05) else None,
            "random_state": 0,
        }
        return Case(self.estimator(**parameters), X, y, draw.weights(n), draw.rng)

    def _draw_solver(self, draw: Draw, loss: Any, sloped: bool) -> Any:
        boxed = isinstance(loss, (Pinball, MoreauPinball, CostSensitiveHinge, MoreauHinge))
        options = ["admm", ADMM(tol=1e-5), ADMM(tol=1e-3, max_iter=3)]
        options += ["interior_point", InteriorPoint(tol=1e-7), "semismooth_newton"] if boxed else []
        options += ["lbfgs", LBFGS(tol=1e-5)] if loss.smooth and not sloped else []
        options += [] if sloped else [draw.one_of("proximal_gradient", ProximalGradient(tol=1e-3))]
        if draw.maybe(0.02):  # perhaps one that refuses
            options = ["closed_form", "lbfgs", "interior_point"]
        return "auto" if draw.maybe(0.5) else draw.one_of(*options)

    # -- certificates ------------------------------------------------------------------------------------------

    @abstractmethod
    def entries(self, y: Any, theta: Any, loss: Any) -> Entries:
        """Return the loss at all entries, shape (n, m)."""

    @abstractmethod
    def constants(self, y: Any) -> Any:
        """Return intercepts of which one is the best, or nearly so."""

    def certify(self, model: Any, case: Case) -> tuple[Bounds, list[Finding]]:
        fit = StoredFit(self, model, case)
        return fit.bounds(), list(fit.look())

    # -- predictions -------------------------------------------------------------------------------------------

    @abstractmethod
    def values(self, model: Any, X: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """Return what the model predicts, shape (n, len(theta))."""

    def look(self, model: Any, case: Case) -> Iterator[Finding]:
        rng, X = case.rng, case.X
        kept = X if case.weight is None else X[np.asarray(case.weight) > 0]  # a guarantee is one for their box
        near = kept[rng.integers(0, len(kept), size=5)]
        rows = near
        if not model.kernel_.pairwise:
            with np.errstate(over="ignore"):
                rows = np.concatenate([near, np.clip(1.7 * near + 0.1 * np.abs(X).max(), -LARGEST, LARGEST)])
        theta = np.sort(rng.uniform(1e-6, 1 - 1e-6, size=7))
        values = self.values(model, rows, theta)
        if not all_finite(values):
            yield Finding("not finite", "", "predictions")
        elif model.noncrossing == "rearrange":
            yield from _rising(values, 0.0)
        elif model.noncrossing == "guarantee" and model.slopes_ is not None:
            yield from _rising(values[: len(near)], RISE_TOLERANCE)


def _rising(values: np.ndarray, tolerance: float) -> Iterator[Finding]:
    fall = float(np.max(-np.diff(values, axis=1)))
    if fall > tolerance * np.max(np.abs(values)):
        yield Finding("crossing", "", f"predictions fall by {fall / np.max(np.abs(values)):.1e} of their size")


class StoredFit:
    """The problem and the model as public attributes have them, in extended precision."""

    def __init__(self, family: Tasks, model: Any, case: Case) -> None:
        self.family, self.model, self.loss = family, model, case.estimator.loss
        X, y, pairwise = case.X, case.y, model.kernel_.pairwise
        order, self.s = merged(row_keys(X, y[:, None], pairwise), case.weight)
        self.n = len(order)
        self.X = self.given = X[order][:, order] if pairwise else X[order]
        anchors = len(model.X_fit_) - self.n if model.noncrossing == "guarantee" else 0
        if getattr(model, "inputs_", None) is not None:  # rows as a learned kernel takes them
            self.X = model.inputs_(self.X)
        if not np.array_equal(model.X_fit_[: len(model.X_fit_) - anchors], self.X):
            raise Surprise("rows", "X_fit_ has other rows")
        self.theta, self.w = long(model.measure_.points[:, 0]), long(model.measure_.weights)
        self.m, self.lam = len(self.theta), long(model.alpha_)
        # a certificate is that of the optimal intercept, from which thresholds of decisions may have been taken off
        self.c, self.b = long(model.dual_coef_), long(getattr(model, "optimal_intercept_", model.intercept_))
        self.y = long(y[order])
        self.entries = family.entries(self.y, self.theta, self.loss)
        K = kernel_matrix(model.kernel_, model.X_fit_, model.X_fit_)
        self.K, self.G = (K + K.T) / 2, self._output_gram()
        self.h = self.K @ self.c @ self.G
        # dual variables from coefficients: c = s a w/(λn)
        self.unit = self.s[:, None] * self.w / (self.lam * self.n)
        self.a = self.entries.sign * self.c[: self.n, : self.m] / self.unit

    def _output_gram(self) -> Any:
        kernel, nodes = self.model.output_kernel_, self.theta[:, None]
        G = kernel_matrix(kernel, nodes, nodes)
        if self.model.slopes_ is None:
            return G
        tau = long(self.model.slopes_)
        mixed, both = slope_matrix(kernel, nodes, tau, False), slope_matrix(kernel, tau, tau, True)
        return np.block([[G, mixed], [mixed.T, both]])

    # -- primal ------------------------------------------------------------------------------------------------

    def residuals(self, values: Any) -> Any:
        return self.entries.offset - self.entries.sign * values

    def risk(self, values: Any) -> Any:
        """Return the mean loss of h + b at rows and nodes."""
        return self.mean(loss_value(self.loss, self.residuals(values), self.entries.theta))

    def mean(self, entries: Any) -> Any:
        return np.sum(self.s[:, None] * self.w * entries) / self.n

    def falls(self) -> Any:
        """Return what falling costs, at the price of the penalty."""
        if self.model.slopes_ is None or self.model.noncrossing != "penalty":
            return long(0)
        fall = np.maximum(-self.slopes[: self.n], 0)
        return long(self.model.crossing_penalty) * np.sum(self.s[:, None] * self.shares * fall) / self.n

    @property
    def shares(self) -> Any:
        """Return the weights of the slopes: the mean over levels, by Simpson's rule in each cell."""
        tau = self.model.slopes_[:, 0].reshape(-1, 3)
        widths = long(tau[:, 2] - tau[:, 0])
        return (widths[:, None] / widths.sum() * SIMPSON).ravel()

    @property
    def intercept_slopes(self) -> Any:
        """Return M of shape (m, q): b has the slopes bM, by straight lines through the nodes."""
        nodes, place, counts = np.unique(self.model.measure_.points[:, 0], return_inverse=True, return_counts=True)
        cell = np.searchsorted(nodes, self.model.slopes_[:, 0], side="right") - 1
        cell = np.clip(cell, 0, len(nodes) - 2)
        mean = long(place.ravel()[:, None] == np.arange(len(nodes))) / counts
        return (mean[:, cell + 1] - mean[:, cell]) / np.diff(long(nodes))[cell]

    @property
    def slopes(self) -> Any:
        """Return the slopes of h + b, at all rows of ``X_fit_``."""
        return self.h[:, self.m :] + self.b @ self.intercept_slopes

    def objective(self, values: Any) -> Any:
        return self.risk(values) + self.falls() + self.lam / 2 * np.sum(self.c * self.h)

    # -- dual --------------------------------------------------------------------------------------------------

    def feasible(self) -> tuple[Any, Any]:
        """Return coefficients and dual variables of a dual array in its box, in balance with the intercept."""
        e, c = self.entries, np.zeros_like(self.c)
        low, high = np.minimum(e.sign * e.low, e.sign * e.high), np.maximum(e.sign * e.low, e.sign * e.high)
        A, target = e.sign * self.a, np.zeros(self.m, dtype=np.longdouble)
        if self.model.slopes_ is not None:
            most = self.most_slope_coef()
            c[:, self.m :] = np.clip(self.c[:, self.m :], 0, most)
            target = -(c[:, self.m :].sum(axis=0) @ self.intercept_slopes.T) * self.lam * self.n / self.w
        if self.model.fit_intercept:
            shrunk = self._attainable(target, low, high)
            c[:, self.m :] *= shrunk
            A = meet_sums(A * shrunk, self.s, low, high, target * shrunk)
        else:
            A = np.clip(A, low, high)
        c[: self.n, : self.m] = A * self.unit
        return c, e.sign * A

    def most_slope_coef(self) -> Any:
        """Return the bound on coefficients of slopes: their price."""
        if self.model.noncrossing != "penalty":
            return np.inf
        return long(self.model.crossing_penalty) * self.s[:, None] * self.shares / (self.lam * self.n)

    def _attainable(self, target: Any, low: Any, high: Any) -> Any:
        """Return the largest t ≤ 1 with which t·target is a sum of dual variables in their box."""
        if not np.all(np.isfinite(low)):
            return long(1)
        bound = np.where(target > 0, self.s @ high, self.s @ low)
        return np.min(np.where(target == 0, 1, np.minimum(bound / np.where(target == 0, 1, target), 1)))

    def bounds(self) -> Bounds:
        e = self.entries
        values = self.h[: self.n, : self.m] + self.b
        primal = self.objective(values)
        c, a = self.feasible()
        centre = self.mean(e.offset) / self.mean(np.ones_like(e.offset)) if self.model.fit_intercept else 0
        offset = e.offset - centre * (e.sign == 1).all()  # labels are not centred: their sign is not constant
        dual = self.mean(a * offset - conjugate(self.loss, a, e.theta)) - self.lam / 2 * np.sum(
            c * (self.K @ c @ self.G)
        )
        slope = self.mean(loss_slope(self.loss, self.residuals(values), e.theta))
        curved = isinstance(self.loss, Expectile)
        floor = rounding_floor(e.offset, slope, self.w.sum(), self.lam, curved=curved)
        size = np.sqrt(np.diag(self.K)[:, None] * np.diag(self.G))
        return Bounds(primal, dual, self.null(), floor, self.predicted(), cancelled(self.c, size, slope, self.lam))

    def null(self) -> Any:
        """Return the objective of the best constants, one for each node."""
        constants = self.family.constants(self.y) if self.model.fit_intercept else [long(0)]
        losses = [loss_value(self.loss, self.residuals(b), self.entries.theta) for b in constants]
        return np.sum(self.w * np.min([self.s @ one for one in losses], axis=0)) / self.n

    def predicted(self) -> Any:
        """Return the objective with the predictions that a user gets, where they are h + b."""
        shifted = not np.array_equal(self.b, long(self.model.intercept_))
        if shifted or self.model.noncrossing == "rearrange" or self.model.kernel_.pairwise:
            return None
        return self.objective(long(self.family.values(self.model, self.given, self.model.measure_.points[:, 0])))

    def look(self) -> Iterator[Finding]:
        """Look at boxes and slopes."""
        outside = float(np.max(np.maximum(self.entries.low - self.a, self.a - self.entries.high)))
        if outside > BOX_TOLERANCE:
            yield Finding("box", "", f"dual variables are outside by {outside:.1e}")
        if self.model.slopes_ is None:
            return
        c, most = self.c[:, self.m :], self.most_slope_coef()
        outside = float(np.max(np.maximum(-c, c - most)) / max(np.max(np.abs(c)), long(1e-4000)))
        if outside > BOX_TOLERANCE:
            yield Finding("box", "", f"those of slopes by {outside:.1e}, in units of the largest")
        if self.model.noncrossing in ("constraint", "guarantee"):
            size = np.max(np.abs(self.h[:, self.m :])) + np.max(np.abs(self.b @ self.intercept_slopes))
            size = max(size, np.max(np.abs(self.y)))
            if np.min(self.slopes) < -SLOPE_TOLERANCE * size:
                yield Finding("crossing", "", f"a slope is {float(np.min(self.slopes) / size):.1e} of the largest")


class Quantiles(Tasks):
    """KernelQuantileRegressor."""

    name = "quantiles"
    estimator = KernelQuantileRegressor

    def draw(self, draw):
        case = super().draw(draw)
        case.estimator.set_params(stages="joint")  # one problem, whose certificate is recomputed
        return case

    def draw_loss(self, draw, spread):
        kappa = draw.magnitude(-3, 2) * (spread if draw.maybe(0.8) else 1.0)
        options = (Pinball(), MoreauPinball(kappa), WeightedHuber(kappa), Expectile())
        return draw.one_of(*options, odds=(0.55, 0.15, 0.15, 0.15))

    def draw_targets(self, draw, n):
        return draw.targets(n)

    def entries(self, y, theta, loss):
        ones = np.ones((len(y), len(theta)), dtype=np.longdouble)
        unbounded = isinstance(loss, Expectile)
        low, high = (-np.inf, np.inf) if unbounded else (theta - 1, theta)
        return Entries(y[:, None] * ones, ones, theta, low * ones, high * ones)

    def constants(self, y):
        return [*np.unique(y), np.mean(y)]

    def values(self, model, X, theta):
        return model.predict_quantile(X, theta)

    def look(self, model, case):
        yield from super().look(model, case)
        near = case.X[:5]
        found = {"score": model.score(case.X, case.y)} if len(case.X) > 1 else {}
        if case.estimator.loss.quantiles:
            found["predict_mean"] = model.predict_mean(near)
            found["predict_cdf"] = model.predict_cdf(near, float(np.median(case.y)))
            found["predict_interval"] = model.predict_interval(near, 0.8)
            found["sample"] = model.sample(near, 3, random_state=0)
            if model.noncrossing == "rearrange":
                yield from _rising(found["predict_interval"], 0.0)
            if np.any(found["predict_cdf"] < 0) or np.any(found["predict_cdf"] > 1):
                yield Finding("predictions", "", "predict_cdf is not in [0, 1]")
        for name, values in found.items():
            if not all_finite(values):
                yield Finding("not finite", "", name)


class Costs(Tasks):
    """CostSensitiveClassifier."""

    name = "costs"
    estimator = CostSensitiveClassifier

    def draw_loss(self, draw, spread):
        kappa = draw.magnitude(-3, 2)
        options = (CostSensitiveHinge(), MoreauHinge(kappa), WeightedMoreauHinge(kappa))
        return draw.one_of(*options, odds=(0.6, 0.2, 0.2))

    def draw_targets(self, draw, n):
        y = np.where(draw.rng.random(n) < draw.one_of(0.5, 0.1), 1.0, -1.0)
        y[:2] = (-1.0, 1.0)[:n]
        return y

    def entries(self, y, theta, loss):
        sign = y[:, None] * np.ones(len(theta), dtype=np.longdouble)
        cost = np.where(sign > 0, theta, 1 - theta)
        return Entries(np.ones_like(sign), sign, cost, np.zeros_like(sign), cost)

    def constants(self, y):
        return [long(-1), long(0), long(1)]

    def values(self, model, X, theta):
        return model.predict_at(X, theta)
