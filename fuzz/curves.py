"""FunctionalRegressor: curves on a grid, with holes, or at points of their own, in R^p.

Whatever the layout, a fit is one of single observations: each belongs to a curve, has a weight within it, and shares an
intercept with a group of others (those at its node, or all of its component).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fuzz.certify import Bounds, cancelled, merged, rounding_floor, row_keys
from fuzz.check import Family, all_finite
from fuzz.draw import Case, Draw
from fuzz.exact import conjugate, kernel_matrix, long, loss_slope, loss_value, radius
from fuzz.findings import Finding, Surprise
from mercer import FunctionalRegressor
from mercer.estimators.smooth_mean import SmoothMean
from mercer.kernels import Gaussian, Identity
from mercer.losses import EpsilonInsensitive, EpsilonRidge, Huber, Square
from mercer.operator_valued import HarmonicBasis, NystromBasis

__all__ = ["Curves"]

#: a correction of a smooth mean curve costs a hundredth of the rest
MEAN_SCALE = 100
#: what bases may be off from orthonormal where functions dual to them are taken
NEARLY_ORTHONORMAL = 1e-3
#: shares of a curve beyond a basis that are rounding, and have no direction
NO_REST = 1e-12
#: dual variables may be larger than the loss allows by this share
BOX_TOLERANCE = 1e-6
LOSSES = {"huber": Huber, "epsilon_ridge": EpsilonRidge, "epsilon_insensitive": EpsilonInsensitive}


class Curves(Family):
    """FunctionalRegressor."""

    name = "curves"

    # -- drawing -----------------------------------------------------------------------------------------------

    def draw(self, draw: Draw) -> Case:
        rng, n, m = draw.rng, draw.one_of(draw.size(1, 4), draw.size(2, 40), odds=(0.15, 0.85)), draw.size(1, 12)
        p = draw.one_of(1, 2, 3, odds=(0.6, 0.2, 0.2))
        layout = draw.one_of("grid", "holes", "scattered", "plane", "columns", odds=(0.4, 0.2, 0.2, 0.1, 0.1))
        X, kernel = draw.inputs_and_kernel(n, draw.size(1, 4))
        grid = rng.uniform(size=(m, draw.size(2, 3))) if layout == "plane" else np.sort(rng.uniform(size=m))
        Y = self._draw_curves(draw, n, grid if layout != "plane" else grid[:, 0], p)
        y: Any = Y[:, :, 0] if p == 1 and draw.maybe(0.8) else Y
        if layout == "holes":
            y = np.where(rng.random((n, m) + (1,) * (y.ndim - 2)) < 0.3, np.nan, y)
        if layout == "scattered":
            y = [_scattered(draw, grid, Y[i]) for i in range(n)]
        loss, geometry = self._draw_loss(draw, Y)
        basis = draw.one_of(HarmonicBasis(draw.size(1, 7)), NystromBasis(), "eigen")
        factor = rng.normal(size=(p, draw.size(1, p)))
        plane = draw.one_of(None, Gaussian(3.0), Identity())
        estimator = FunctionalRegressor(
            kernel,
            output_kernel=plane if layout == "plane" else draw.output_kernel(),
            output_matrix=factor @ factor.T if p > 1 and draw.maybe(0.4) else None,
            alpha=draw.alpha(),
            loss=loss,
            geometry=geometry,
            representation=basis if layout != "plane" and draw.maybe(0.3) else "nodes",
            grid={"columns": None, "scattered": draw.one_of(None, np.linspace(0, 1, 5))}.get(layout, grid),
            fit_intercept=draw.maybe(0.7),
            mean_curve="smooth" if draw.maybe(0.7) else "free",
            solver=self._draw_solver(draw, loss, geometry),
            tol=draw.one_of(1e-4, 1e-2, 1e-6, 1e-8, odds=(0.6, 0.2, 0.1, 0.1)),
        )
        return Case(estimator, X, y, draw.weights(n), rng)

    def _draw_curves(self, draw: Draw, n: int, grid: np.ndarray, p: int) -> np.ndarray:
        """Return curves of shape (n, m, p)."""
        rng = draw.rng
        Y = np.sin(3 * grid) * rng.normal(size=(n, 1)) + 0.1 * rng.normal(size=(n, len(grid)))
        match draw.one_of(
            "plain", "constant", "outlier", "offset", "ties", "zero", odds=(0.5, 0.05, 0.2, 0.15, 0.07, 0.03)
        ):
            case "constant":
                Y = np.full(Y.shape, draw.one_of(0.0, 1.0, 1e8))
            case "outlier":
                Y[rng.integers(n)] *= draw.one_of(1e3, 1e6, 1e9)
            case "offset":
                Y = Y + draw.magnitude(2, 10)
            case "ties":
                Y = np.round(Y)
            case "zero":
                Y = 0 * Y
        Y = draw.in_units(Y, 1e-320, 1e-300, 1e-150, 1e150, 1e300)
        alike = draw.maybe(0.5)
        return np.stack([Y, *(Y / (k + 1) if alike else rng.permuted(Y, axis=0) for k in range(1, p))], axis=2)

    def _draw_loss(self, draw: Draw, Y: np.ndarray) -> tuple[Any, str | None]:
        """Return a loss and a geometry, by name or literally."""
        name = draw.one_of("square", *LOSSES, odds=(0.3, 0.3, 0.2, 0.2))
        geometry = draw.one_of("norm", "pointwise", "componentwise")
        if name == "square":
            return draw.one_of("square", Square()), None
        if draw.maybe(0.5):
            return name, geometry
        with np.errstate(over="ignore"):
            spread = float(np.std(Y))
        threshold = draw.magnitude(-2, 1) * (spread if 1e-290 < spread < 1e290 else 1.0)
        return LOSSES[name](threshold, geometry), None

    def _draw_solver(self, draw: Draw, loss: Any, geometry: str | None) -> str:
        options = ["admm", "proximal_gradient"]
        kind = loss if isinstance(loss, str) else {Square: "square"}.get(type(loss), type(loss).__name__)
        if kind == "square":
            options = ["closed_form", "admm", "lbfgs", "proximal_gradient"]
        elif kind in ("huber", "Huber", "epsilon_ridge", "EpsilonRidge"):
            options += ["lbfgs"]
        if kind in ("huber", "Huber") and "componentwise" in (geometry, getattr(loss, "geometry", None)):
            options += ["interior_point"]
        return "auto" if draw.maybe(0.5) else draw.one_of(*options)

    # -- certificates ------------------------------------------------------------------------------------------

    def certify(self, model: Any, case: Case) -> tuple[Bounds, list[Finding]]:
        found: list[Finding] = []
        read = _read_scattered if isinstance(case.y, list) else _read_grid
        observations, c = read(model, case, found)
        return observations.bounds(model, c, found), found

    # -- predictions -------------------------------------------------------------------------------------------

    def look(self, model: Any, case: Case) -> Iterator[Finding]:
        X, rng = case.X[:3], case.rng
        found = {"predict": model.predict(X), "score": model.score(case.X, case.y)}
        if model.layout_.located and model.measure_.points.shape[1] == 1:
            nodes = model.measure_.points[:, 0]
            found["predict_at"] = model.predict_at(X, rng.uniform(nodes.min(), nodes.max(), size=4))
        for name, values in found.items():
            if not all_finite(values):
                yield Finding("not finite", "", name)


def _scattered(draw: Draw, grid: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return one curve at points of its own: points, values and perhaps weights."""
    k = draw.size(1, len(grid) + 1)
    shared = draw.rng.choice(np.linspace(0, 1, 4), size=k)
    points = draw.rng.uniform(size=k) if draw.maybe(0.8) else shared
    values = np.column_stack([np.interp(points, grid, column) for column in Y.T])
    values = values[:, 0] if Y.shape[1] == 1 else values
    return (points, values) if draw.maybe(0.8) else (points, values, draw.rng.uniform(0.1, 2, size=k))


@dataclass(frozen=True)
class Observations:
    """Single values of curves: of which curve and place on it they are, their weight, their group, how 𝐊 acts on them.

    ``size`` are roots of the diagonal of 𝐊.

    A place is a point of one curve, with a value for each component; groups share an intercept.
    """

    value: Any
    curve: np.ndarray
    place: np.ndarray
    weight: Any
    group: np.ndarray
    s: Any
    gram: Callable[[Any], Any]
    size: Any

    def by_curve(self, entries: Any) -> Any:
        """Return Σ_k e_k v_k of each curve."""
        return _sums(self.curve, self.weight * entries, len(self.s))

    def sizes(self, loss: Any, entries: Any) -> tuple[Any, Any]:
        """Return what a loss takes the size of, and its weights: numbers, vectors at places, or curves."""
        geometry = "componentwise" if isinstance(loss, Square) else loss.geometry
        each = self.s[self.curve] * self.weight
        if geometry == "componentwise":
            return np.abs(entries), each
        if geometry == "norm":
            return np.sqrt(self.by_curve(entries * entries)), self.s
        first = np.unique(self.place, return_index=True)[1]
        return np.sqrt(_sums(self.place, entries * entries)), each[first]

    def bounds(self, model: Any, c: Any, found: list[Finding]) -> Bounds:
        """Return objective and bound of the model with representer coefficients c."""
        loss, lam, total = model.loss_, long(model.alpha_), self.s.sum()
        each = self.s[self.curve] * self.weight

        def largest(entries):
            return np.max(self.sizes(loss, entries)[0]) / radius(loss)

        def mean(function, entries):  # of a function of sizes
            sizes, weights = self.sizes(loss, entries)
            return np.sum(weights * function(loss, sizes)) / total

        h, stored = self.gram(c), c
        free = model.fit_intercept and not _smooth(model)
        b = long(model.intercept_)[self.group] if free else long(0)
        primal = mean(loss_value, self.value - h - b) + lam / 2 * np.sum(c * h)

        a = c * lam * total / each
        excess = largest(a)
        if excess > 1 + BOX_TOLERANCE:
            found.append(Finding("box", "", f"dual variables are {float(excess):.8f} times as large as they may be"))
        centre = long(0)
        if free:
            mass = _sums(self.group, each)
            centre = (_sums(self.group, each * self.value) / mass)[self.group]
            a = a - (_sums(self.group, each * a) / mass)[self.group]
        a = a / max(largest(a), 1)
        c = a * each / (lam * total)
        dual = (
            np.sum(each * a * (self.value - centre)) / total - mean(conjugate, a) - lam / 2 * np.sum(c * self.gram(c))
        )

        mass = max(np.max(self.by_curve(np.ones_like(self.weight))), 1)
        slope = mean(loss_slope, self.value - h - b) * mass
        curved = isinstance(loss, (Square, Huber, EpsilonRidge))
        floor = rounding_floor(self.value, slope, mass, lam, curved=curved)
        null = mean(loss_value, self.value - centre)
        return Bounds(primal, dual, null, floor, cancelled=cancelled(stored, self.size, slope, lam))


def _sums(groups: np.ndarray, values: Any, length: int | None = None) -> Any:
    """Return the sums over groups, in extended precision."""
    sums = np.zeros(groups.max() + 1 if length is None else length, dtype=np.longdouble)
    np.add.at(sums, groups, values)
    return sums


def _output_matrix(model: Any, p: int) -> Any:
    return np.eye(p, dtype=np.longdouble) if model.output_matrix is None else long(model.output_matrix)


def _input_gram(model: Any) -> Any:
    K = kernel_matrix(model.kernel_, model.X_fit_, model.X_fit_)
    return (K + K.T) / 2 + (MEAN_SCALE * np.mean(np.diag(K)) if _smooth(model) else 0)


def _smooth(model: Any) -> bool:
    """Whether the mean curve is a function that was taken off, and a constant was added to k_X."""
    return isinstance(model.intercept_function_, SmoothMean)


def _less(values: Any, mean: Any) -> Any:
    """Return values less a smooth mean curve; what is left of equal ones is rounding, and 0 to the fit."""
    rest = values - mean
    return np.where(np.abs(rest) <= 8 * np.finfo(float).eps * np.abs(mean), 0, rest)


def _check_rows(model: Any, X: np.ndarray, order: np.ndarray) -> None:
    if not np.array_equal(model.X_fit_, X[order][:, order] if model.kernel_.pairwise else X[order]):
        raise Surprise("rows", "X_fit_ has other rows")


def _read_grid(model: Any, case: Case, found: list[Finding]) -> tuple[Observations, Any]:
    """Return the observations of curves on a grid, and their coefficients."""
    Y = case.y.reshape(len(case.y), -1)
    p = case.y.shape[2] if case.y.ndim == 3 else 1
    order, s = merged(row_keys(case.X, Y, model.kernel_.pairwise), case.weight)
    _check_rows(model, case.X, order)
    Y, w, nodes = long(Y[order]), np.repeat(long(model.measure_.weights), p), model.measure_.points
    if _smooth(model):
        Y = _less(Y, long(model.intercept_))
    K, c, A = _input_gram(model), long(model.dual_coef_), _output_matrix(model, p)
    if hasattr(model.expansion_.representers, "basis"):
        basis = model.expansion_.representers.basis
        functions = np.kron(long(basis.evaluate(nodes)), np.eye(p, dtype=np.longdouble))
        c = _coefficients_at_nodes(functions, c, Y, w)
        G = functions @ np.kron(np.diag(long(basis.spectrum)), A) @ functions.T
    else:
        G = np.kron(kernel_matrix(model.output_kernel_, nodes, nodes), A)
    observed = ~np.isnan(Y)
    if np.any(c[~observed] != 0):
        found.append(Finding("box", "", "dual variables are not 0 where nothing was observed"))
    curve, column = np.nonzero(observed)

    def gram(entries):
        full = np.zeros(Y.shape, dtype=np.longdouble)
        full[observed] = entries
        return (K @ full @ G)[observed]

    size = np.sqrt(np.outer(np.diag(K), np.diag(G)))[observed]
    place = np.unique(curve * Y.shape[1] + column // p, return_inverse=True)[1]
    return Observations(Y[observed], curve, place, w[column], column, s, gram, size), c[observed]


def _coefficients_at_nodes(functions: Any, c: Any, Y: Any, w: Any) -> Any:
    """Return the coefficients at the nodes of a fit in an orthonormal basis, whose last column is the rest.

    Functions of tiny eigenvalues are orthonormal to half of the digits only; those dual to them give the same h.
    """
    duals = functions @ _inverse_near_identity((functions * w[:, None]).T @ functions)
    rest = Y - (Y * w) @ duals @ functions.T
    length = np.sqrt(np.sum(w * rest * rest, axis=1, keepdims=True))
    beyond = length > NO_REST * np.sqrt(np.sum(w * Y * Y, axis=1, keepdims=True))
    direction = np.where(beyond, rest / np.where(beyond, length, 1), 0)
    return (c[:, :-1] @ duals.T + c[:, -1:] * direction) * w


def _inverse_near_identity(matrix: Any) -> Any:
    """Return the inverse of a matrix I + E by Newton's iteration, in extended precision; I where E is not small."""
    identity = np.eye(len(matrix), dtype=np.longdouble)
    inverse = identity
    if np.max(np.abs(matrix - identity)) > NEARLY_ORTHONORMAL:
        return inverse
    for _ in range(5):
        inverse = inverse @ (2 * identity - matrix @ inverse)
    return inverse


def _read_scattered(model: Any, case: Case, found: list[Finding]) -> tuple[Observations, Any]:
    """Return the observations of curves at points of their own, and their coefficients."""
    X, curves = case.X, [_complete(*curve) for curve in case.y]
    inputs = row_keys(X, np.zeros((len(X), 0)), model.kernel_.pairwise)
    order, s = merged([(x, *(part.tobytes() for part in y)) for x, y in zip(inputs, curves, strict=True)], case.weight)
    _check_rows(model, X, order)
    points, values, weights = (np.concatenate(parts) for parts in zip(*(curves[i] for i in order), strict=True))
    row = np.repeat(np.arange(len(order)), [len(curves[i][0]) for i in order])
    c = long(model.dual_coef_)
    if c.shape != values.shape:
        raise Surprise("rows", f"dual_coef_ has shape {c.shape}, observations {values.shape}")
    if _smooth(model):
        values = _less(values, long(model.intercept_function_.evaluate(points)).reshape(values.shape))
    K = _input_gram(model)
    pairs = K[np.ix_(row, row)] * kernel_matrix(model.output_kernel_, points, points)
    p = values.shape[1]
    A = _output_matrix(model, p)

    def gram(entries):
        return (pairs @ entries.reshape(-1, p) @ A).ravel()

    size = np.sqrt(np.outer(np.diag(pairs), np.diag(A))).ravel()
    group = np.tile(np.arange(p), len(row))
    weight = np.repeat(long(weights), p)
    place = np.repeat(np.arange(len(row)), p)
    return Observations(long(values).ravel(), np.repeat(row, p), place, weight, group, s, gram, size), c.ravel()


def _complete(points: np.ndarray, values: np.ndarray, weights: np.ndarray | None = None) -> tuple[np.ndarray, ...]:
    """Return points (k, d), values (k, p) and weights of one curve."""
    k = len(points)
    return points.reshape(k, -1), values.reshape(k, -1), np.full(k, 1 / k) if weights is None else weights
