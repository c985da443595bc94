"""The contract of a loss, tested map by map against definitions."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from mercer.exceptions import MercerError
from mercer.losses import Loss, Square, Threshold
from mercer.measures import Measure

__all__ = ["check_loss"]

#: lengths of the steps that probe inequalities: short ones see kinks, long ones wrong slopes at infinity
_SCALES = (1e-6, 1e-4, 1e-2, 0.3, 3.0, 50.0)
#: steps t of the proxes
_STEPS = (0.05, 0.5, 1.0, 4.0)


def check_loss(
    loss: Loss,
    measure: Measure | None = None,
    *,
    targets: Any = None,
    seed: int = 0,
    tolerance: float = 1e-6,
) -> None:
    """Raise an AssertionError unless each map of the loss agrees with its definition.

    ``value`` is the reference; nothing else is trusted. G ∈ ∂L(u) is checked by its
    definition L(v) ≥ L(u) + ⟨G, v − u⟩_μ at points v near and far, and from this follow the rest: u = prox(z)
    if and only if (z − u)/t ∈ ∂L(u); a = conjugate_prox(z) if and only if −a ∈ ∂L((a − z)/t); and L*(−a) =
    −⟨a, u⟩_μ − L(u) wherever −a ∈ ∂L(u), where the supremum is attained. Checked besides: convexity, rows,
    gradients by finite differences and the ``smooth`` and ``pointwise`` flags, +inf exactly where the
    supremum is infinite, the box, invariance under splitting a node in two, that a mask equals deleting
    entries, and that no map writes on its arguments. Where the loss declares a ``threshold``, its parameter exists,
    residuals below it cost the square, ½‖r‖²_μ, or nothing, as is declared, and those beyond it something else.

    Maps that a loss does not have (``gradient`` or the conjugates) are passed over.

    Parameters
    ----------
    loss : Loss
        The loss.
    measure : Measure, optional
        A measure of NumPy arrays without a mask; by default four points in (0, 1) of unequal weights.
    targets : array of shape (n, m), optional
        Targets; by default normal ones, or labels ±1 if the loss refuses those.
    seed : int, default=0
        Seed of the random points.
    tolerance : float, default=1e-6
        Allowed error, absolute for small numbers and relative for large ones.

    Raises
    ------
    AssertionError
        With the map, the definition that it breaks and by how much.

    Examples
    --------
    >>> from mercer.losses import Pinball
    >>> check_loss(Pinball())
    """
    checker = _Checker(loss, measure, targets, seed, tolerance)
    checker.check_value()
    if checker.has("gradient"):
        checker.check_gradient()
    if checker.has("prox"):
        checker.check_prox()
    if loss.has_conjugate:
        checker.check_conjugate_prox()
    if checker.has("conjugate"):
        checker.check_conjugate()
        checker.check_box()
    checker.check_splitting()
    checker.check_mask()
    checker.check_arguments()
    if loss.threshold is not None:
        checker.check_threshold(loss.threshold)
    if loss.lipschitz is not None:
        checker.check_lipschitz(loss.lipschitz)


class _Checker:
    """A loss, a measure, targets and random points, and the pairs (u, G), G ∈ ∂L(u), found on the way."""

    def __init__(self, loss: Loss, measure: Measure | None, targets: Any, seed: int, tolerance: float) -> None:
        self.loss, self.tolerance = loss, tolerance
        self.rng = np.random.default_rng(seed)
        if measure is None:
            measure = Measure(np.array([0.1, 0.35, 0.6, 0.9]), np.array([0.3, 0.2, 0.4, 0.6]))
        self.measure = measure
        self.Y = self._targets() if targets is None else np.asarray(targets, dtype=float)
        loss.check_targets(self.Y, measure)
        n = self.Y.shape[0]
        self.radii = np.resize(np.array([1.0, 0.02, 0.2, 4.0, 0.5, 30.0]), n)[:, None]
        self.verified: list[tuple[np.ndarray, np.ndarray]] = []

    def _targets(self) -> np.ndarray:
        Y = self.rng.normal(size=(12, len(self.measure)))
        try:
            self.loss.check_targets(Y, self.measure)
        except MercerError:
            return np.where(Y > 0, 1.0, -1.0)
        return Y

    def has(self, name: str) -> bool:
        """Say whether the loss gives the map, itself or through another."""
        own = getattr(type(self.loss), name) is not getattr(Loss, name)
        return own or (name == "prox" and self.loss.has_conjugate)

    def check_arguments(self) -> None:
        """No map may write on the arrays that it is given; a step of 0 is a pure projection."""
        maps = [name for name in ("value", "gradient", "conjugate") if self.has(name)]
        calls: list[tuple[str, tuple[float, ...]]] = [(name, ()) for name in maps]
        if self.has("prox"):
            calls.append(("prox", (0.5,)))
        if self.loss.has_conjugate:
            calls += [("conjugate_prox", (0.5,)), ("conjugate_prox", (0.0,))]
        for name, step in calls:
            Y, Z = self.Y.copy(), 3 * self.rng.normal(size=self.Y.shape)
            before = Z.copy()
            getattr(self.loss, name)(Y, Z, *step, self.measure)
            if not (np.array_equal(Y, self.Y) and np.array_equal(Z, before)):
                raise AssertionError(f"{self.loss!r}: {name} writes on its arguments.")

    def fail(self, name: str, what: str, error: float) -> None:
        raise AssertionError(f"{self.loss!r}: {name} {what} (error {error:.3g}).")

    def close(self, name: str, got: Any, expected: Any, what: str) -> None:
        """Fail unless two arrays agree; infinities must be in the same places."""
        got, expected = np.asarray(got), np.asarray(expected)
        if got.shape != expected.shape:
            raise AssertionError(f"{self.loss!r}: {name} has shape {got.shape}, not {expected.shape}.")
        finite = np.isfinite(expected)
        if not np.array_equal(got[~finite], expected[~finite]) or not np.all(np.isfinite(got[finite])):
            raise AssertionError(f"{self.loss!r}: {name} {what}: it is not finite at the right places.")
        error = np.abs(got[finite] - expected[finite]) / (1 + np.abs(expected[finite]))
        if error.size and error.max() > self.tolerance:
            self.fail(name, what, float(error.max()))

    def near(self, centre: np.ndarray) -> np.ndarray:
        """Random points at several distances from the rows of ``centre``."""
        return centre + self.radii * self.rng.normal(size=centre.shape)

    def points(self) -> list[np.ndarray]:
        """Predictions in general position, at the targets, and on both sides of them."""
        mixed = np.where(self.rng.random(self.Y.shape) < 0.5, self.Y, self.near(self.Y))
        return [self.near(self.Y), self.near(np.zeros_like(self.Y)), self.Y.copy(), mixed]

    def value(self, U: np.ndarray, Y: np.ndarray | None = None) -> np.ndarray:
        return self.loss.value(self.Y if Y is None else Y, U, self.measure)

    def directions(self, U: np.ndarray, G: np.ndarray) -> np.ndarray:
        """Unit directions for each row, shape (k, n, m): axes, random ones, towards the target, along G."""
        n, m = U.shape
        axes = np.broadcast_to(np.eye(m)[:, None, :], (m, n, m))
        special = np.stack([self.Y - U, G, *self.rng.normal(size=(8, n, m))])
        found = np.concatenate([axes, special])
        norms = np.sqrt(found**2 @ self.measure.weights)[..., None]
        found = np.where(norms > 1e-12, found / np.maximum(norms, 1e-12), 0.0)
        return np.concatenate([found, -found])

    def subgradient(self, name: str, U: np.ndarray, G: np.ndarray, what: str) -> None:
        """Fail unless L(v) ≥ L(u) + ⟨G, v − u⟩_μ at many v; else remember the pair."""
        if G.shape != U.shape or not (np.all(np.isfinite(G)) and np.all(np.isfinite(U))):
            raise AssertionError(f"{self.loss!r}: {name} must return finite values of shape (n, m).")
        unit = self.directions(U, G)
        k, n, m = unit.shape
        Y = np.broadcast_to(self.Y, (k, n, m)).reshape(-1, m)
        here = self.value(U)
        for scale in _SCALES:
            step = scale * unit
            there = self.value((U + step).reshape(-1, m), Y).reshape(k, n)
            linear = (G * step) @ self.measure.weights
            missing = here + linear - there
            rounding = 1e-14 * (1 + np.abs(here) + np.abs(there) + np.abs(U).max() * np.abs(G).max())
            excess = missing - self.tolerance * scale * (1 + np.abs(G).max()) - 20 * rounding
            if excess.max() > 0:
                self.fail(name, what, float(missing.max() / scale))
        self.verified.append((U, G))

    def check_value(self) -> None:
        """Shape, rows, convexity, and that a pointwise loss is a sum over nodes."""
        U = self.near(self.Y)
        values = np.asarray(self.value(U))
        if values.shape != (len(U),):
            raise AssertionError(f"{self.loss!r}: value has shape {values.shape}, not ({len(U)},).")
        rows = [self.value(U[i : i + 1], self.Y[i : i + 1])[0] for i in range(len(U))]
        self.close("value", values, rows, "of a row depends on other rows")
        for V in self.points():
            for share in (0.1, 0.5, 0.8):
                chord = share * values + (1 - share) * self.value(V)
                excess = self.value(share * U + (1 - share) * V) - chord
                if np.any(excess > self.tolerance * (1 + np.abs(chord))):
                    self.fail("value", "is not convex", float(excess.max()))
        if self.loss.pointwise:
            parts = sum(
                self.loss.value(self.Y[:, [j]], U[:, [j]], self._nodes(np.array([j]))) for j in range(len(self.measure))
            )
            self.close("value", values, parts, "is not a sum over nodes though called pointwise")

    def check_gradient(self) -> None:
        """Subgradients by their definition; where the loss is smooth also by differences, and continuous."""
        for U in self.points():
            G = np.asarray(self.loss.gradient(self.Y, U, self.measure))
            self.subgradient("gradient", U, G, "is not a subgradient of value in the geometry of L²(μ)")
        if not self.loss.smooth:
            return
        U = self.near(self.Y)
        G = self.loss.gradient(self.Y, U, self.measure)
        step = 1e-6
        for D in self.directions(U, G):
            slope = (self.value(U + step * D) - self.value(U - step * D)) / (2 * step)
            exact = (G * D) @ self.measure.weights
            error = np.abs(slope - exact) / (1 + np.abs(exact))
            if error.max() > 1e-4 + self.tolerance:
                self.fail("gradient", "differs from finite differences of value", float(error.max()))
        self._check_smooth()

    def check_lipschitz(self, constant: float) -> None:
        """‖∇L(u) − ∇L(v)‖ ≤ ℓ‖u − v‖ in L²(μ)."""
        for U in self.points():
            V = self.near(U)
            change = self.loss.gradient(self.Y, U, self.measure) - self.loss.gradient(self.Y, V, self.measure)
            allowed = constant * self.measure.norm(U - V)
            excess = self.measure.norm(change) - allowed
            if np.any(excess > self.tolerance * (1 + allowed)):
                self.fail("gradient", f"varies more than lipschitz = {constant:g} allows", float(excess.max()))

    def _check_smooth(self) -> None:
        """Bisect segments for jumps of the slope, which increases along them."""
        for start in self.points():
            left, right = start.copy(), self.near(self.Y)
            D = right - left

            def slope(U: np.ndarray, D: np.ndarray = D) -> np.ndarray:
                return (self.loss.gradient(self.Y, U, self.measure) * D) @ self.measure.weights

            low, high = slope(left), slope(right)
            for _ in range(40):
                middle = 0.5 * (left + right)
                between = slope(middle)
                first = (between - low > high - between)[:, None]
                left, right = np.where(first, left, middle), np.where(first, middle, right)
                low = np.where(first[:, 0], low, between)
                high = np.where(first[:, 0], between, high)
            jump = np.abs(high - low) / (1 + np.abs(low))
            if jump.max() > 1e-5 + self.tolerance:
                self.fail("gradient", "jumps although the loss is called smooth", float(jump.max()))

    def check_prox(self) -> None:
        """(z − u)/t ∈ ∂L(u) at u = prox(z), the condition for a minimum of t·L(u) + ½‖u − z‖²."""
        for t in _STEPS:
            for Z in self.points():
                U = np.asarray(self.loss.prox(self.Y, Z, t, self.measure))
                what = f"at t={t} does not minimise t·L(u) + ½‖u − z‖²_μ"
                self.subgradient("prox", U, (Z - U) / t, what)

    def check_conjugate_prox(self) -> None:
        """−a ∈ ∂L((a − z)/t) at a = conjugate_prox(z): a minimum of t·L*(−a) + ½‖a − z‖²."""
        for t in _STEPS:
            for Z in self.points():
                A = np.asarray(self.loss.conjugate_prox(self.Y, Z, t, self.measure))
                what = f"at t={t} does not minimise t·L*(−a) + ½‖a − z‖²_μ"
                self.subgradient("conjugate_prox", (A - Z) / t, -A, what)

    def check_conjugate(self) -> None:
        """L*(−a) = −⟨a, u⟩ − L(u) at verified pairs, ≥ it everywhere, +inf exactly where it is unbounded."""
        for U, G in self.verified:
            expected = self.measure.inner(G, U) - self.value(U)
            got = self.loss.conjugate(self.Y, -G, self.measure)
            self.close("conjugate", got, expected, "is not sup_u ⟨−a, u⟩_μ − L(u), attained where −a ∈ ∂L(u)")
        for size in (0.1, 0.5, 1.0, 3.0, 20.0):
            A = size * self.rng.normal(size=self.Y.shape)
            got = np.asarray(self.loss.conjugate(self.Y, A, self.measure))
            for U in self.points():
                lower = -self.measure.inner(A, U) - self.value(U)
                if np.any(lower - got > self.tolerance * (1 + np.abs(lower))):
                    self.fail("conjugate", "is below ⟨−a, u⟩_μ − L(u) at some u", float((lower - got).max()))
            growth = self._growth(A)
            finite = np.isfinite(got)
            if np.any(finite & (growth > 1e-3)):
                self.fail("conjugate", "must be +inf where ⟨−a, u⟩_μ − L(u) is unbounded", float(growth.max()))
            if np.any(~finite & (growth < -1e-3)):
                self.fail("conjugate", "is +inf although ⟨−a, u⟩_μ − L(u) is bounded", float(growth.min()))

    def _growth(self, A: np.ndarray) -> np.ndarray:
        """Return for each row the largest rate found at which ⟨−a, u⟩ − L(u) grows along a ray."""
        n, m = A.shape
        found = self.directions(np.zeros_like(A), A)
        more = self.rng.normal(size=(100, n, m))
        more /= np.sqrt(more**2 @ self.measure.weights)[..., None]
        unit = np.concatenate([found, more])
        k = len(unit)
        Y = np.broadcast_to(self.Y, (k, n, m)).reshape(-1, m)
        near, far = 1e5, 1e6
        rise = self.value((far * unit).reshape(-1, m), Y) - self.value((near * unit).reshape(-1, m), Y)
        rate = rise.reshape(k, n) / (far - near)
        return (-(unit * A) @ self.measure.weights - rate).max(axis=0)

    def check_box(self) -> None:
        """The box form equals the conjugate, on and off the box."""
        box = self.loss.box(self.Y, self.measure)
        if box is None:
            return
        lower = np.broadcast_to(np.asarray(box.lower), self.Y.shape)
        upper = np.broadcast_to(np.asarray(box.upper), self.Y.shape)
        inside = lower + self.rng.random(self.Y.shape) * (upper - lower)
        corner = np.where(self.rng.random(self.Y.shape) < 0.5, lower, upper)
        for A in (inside, corner, lower, upper):
            form = (0.5 * box.curvature * A * A - self.Y * A) @ self.measure.weights
            self.close("box", self.loss.conjugate(self.Y, A, self.measure), form, "is not the conjugate")
        for bound, sign in ((lower, -1), (upper, 1)):
            A = inside.copy()
            column = self.rng.integers(A.shape[1])
            A[:, column] = bound[:, column] + sign * 1e-3
            if np.any(np.isfinite(self.loss.conjugate(self.Y, A, self.measure))):
                raise AssertionError(f"{self.loss!r}: conjugate is finite outside of the box.")

    def maps(self, Y: np.ndarray, U: np.ndarray, A: np.ndarray, measure: Measure) -> dict[str, Any]:
        """All maps that the loss has, at u and z = u; the conjugate at a, given inside its domain."""
        found = {"value": self.loss.value(Y, U, measure)}
        if self.has("gradient"):
            found["gradient"] = self.loss.gradient(Y, U, measure)
        if self.has("prox"):
            found["prox"] = self.loss.prox(Y, U, 0.7, measure)
        if self.loss.has_conjugate:
            found["conjugate_prox"] = self.loss.conjugate_prox(Y, U, 0.7, measure)
        if self.has("conjugate"):
            found["conjugate"] = self.loss.conjugate(Y, A, measure)
        return found

    def _sample(self) -> tuple[np.ndarray, np.ndarray]:
        """Return a point and a dual point in the domain of the conjugate."""
        U = self.near(self.Y)
        if self.verified:
            return U, -self.verified[-1][1]
        return U, np.zeros_like(U)

    def _nodes(self, index: np.ndarray) -> Measure:
        return Measure(self.measure.points[index], self.measure.weights[index])

    def check_splitting(self) -> None:
        """A node split in two halves of its weight changes no value and duplicates its column."""
        m = len(self.measure)
        U, A = self._sample()
        whole = self.maps(self.Y, U, A, self.measure)
        for node in (0, m - 1):
            index = np.append(np.arange(m), node)
            weights = self.measure.weights[index] * np.where(index == node, 0.5, 1.0)
            split = Measure(self.measure.points[index], weights)
            for name, got in self.maps(self.Y[:, index], U[:, index], A[:, index], split).items():
                expected = whole[name] if np.ndim(whole[name]) == 1 else whole[name][:, index]
                self.close(name, got, expected, "changes when a node is split in two halves of its weight")

    def check_mask(self) -> None:
        """Masked entries are as good as deleted, whatever targets stand there."""
        U, A = self._sample()
        observed = self.rng.random(self.Y.shape) < 0.6
        observed[:, 0] = True
        observed[0, 1:] = False
        masked = self.measure.restricted(observed)
        found = self.maps(np.where(observed, self.Y, np.roll(self.Y, 1, axis=0)), U, A, masked)
        empty = {"gradient": np.zeros_like(U), "conjugate_prox": np.zeros_like(U), "prox": U}
        for name, values in empty.items():
            if name in found and not np.array_equal(np.asarray(found[name])[~observed], values[~observed]):
                raise AssertionError(
                    f"{self.loss!r}: {name} must be {'z' if name == 'prox' else '0'} at unobserved entries, "
                    "on which the loss does not depend. mercer.losses.observed_only puts zeros there."
                )
        for i, seen in enumerate(observed):
            index = np.flatnonzero(seen)
            y, u, a = (array[i : i + 1, index] for array in (self.Y, U, A))
            for name, expected in self.maps(y, u, a, self._nodes(index)).items():
                got = found[name][i : i + 1] if found[name].ndim == 1 else found[name][i : i + 1, index]
                self.close(name, got, expected, "with a mask is not as if the masked entries were deleted")

    def check_threshold(self, threshold: Threshold) -> None:
        """Below the parameter that is declared the loss is what is declared, and beyond it no longer."""
        name, inside = threshold.name, threshold.inside
        params = self.loss.get_params()
        if name not in params:
            raise AssertionError(f"{self.loss!r}: threshold names {name!r}, but its parameters are {sorted(params)}.")
        if not (isinstance(params[name], numbers.Real) and 0 <= params[name] < np.inf):
            raise AssertionError(f"{self.loss!r}: {name}, its threshold, must be a number >= 0.")
        square = Square() if inside == "square" else None
        cost = "the square loss" if square else "nothing"
        for width in (0.3, 2.0, 1e3):  # the last one is beyond all targets
            loss = self._with_threshold(name, width)
            for share in (0.01, 0.5, 0.999, 4.0):
                R = self._residuals(share * width)
                got = np.asarray(loss.value(self.Y, self.Y - R, self.measure))
                expected = square.value(R, 0 * R, self.measure) if square else np.zeros(len(R))
                if share < 1:
                    self.close("value", got, expected, f"inside {name}={width} is not {cost}, as threshold declares")
                elif np.any(np.abs(got - expected) <= self.tolerance * (1 + np.abs(expected))):
                    self.fail("value", f"is {cost} beyond {name}={width}, too, which is no threshold then", 0.0)

    def _with_threshold(self, name: str, width: float) -> Loss:
        try:
            return self.loss.replace(**{name: width})
        except MercerError as error:
            raise AssertionError(f"{self.loss!r}: {name}, its threshold, may not be {width}: {error}") from error

    def _residuals(self, size: float) -> np.ndarray:
        """Return residuals of this size in the sense of the loss: that of entries, or norms of rows."""
        R = self.rng.normal(size=self.Y.shape)
        sizes = np.asarray(self.loss.sizes(R, self.measure))
        return size * R / (sizes if sizes.ndim == 2 else sizes[:, None])
