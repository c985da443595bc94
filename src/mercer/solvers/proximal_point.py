"""Proximal points of a box dual, each by semismooth Newton steps in the primal."""

from __future__ import annotations

import numpy as np

from mercer.problems.box_sums import balancing_shift
from mercer.solvers.box_primal import BoxPrimal
from mercer.solvers.newton_system import NewtonSystem
from mercer.solvers.stagnation import Stagnation

__all__ = ["ProximalPoint"]

#: slope at the end of a full step, as a share of that at its start, up to which the step is taken as it is
OVERSHOOT = 0.2
#: steps in which the slope along them has to halve; where it does not, rounding has spoilt them
SLOPES_TO_HALVE = 12
#: slope at which a line search ends, in the same unit, and its steps
SEARCHED, SEARCH_STEPS = 0.02, 40


class ProximalPoint:
    """Maximise the dual less (κ/2)‖a − ā‖², ā the centre: its primal is smooth, and piecewise quadratic.

    The dual array of coordinates C and an intercept b is a = clip(V), V = (R + κā)/(κ + c), R = Y − ΦC − bE. With
    gradients G = C − Φ*a and g (the sums of a), a Newton step changes the free entries {lower < V < upper} linearly;
    at G = 0 and g = 0 the array a is the proximal point of ā.

    Parameters
    ----------
    primal : BoxPrimal
        The problem.
    system : NewtonSystem
        Its Newton steps.
    centre : array of shape (n, m)
        ā, in the box.
    C, b : array
        Coordinates and intercept to start from.
    kappa : float
        κ ≥ 0, positive where the box has no curvature.
    """

    def __init__(
        self, primal: BoxPrimal, system: NewtonSystem, centre: np.ndarray, C: np.ndarray, b: np.ndarray, kappa: float
    ) -> None:
        self.primal, self.system = primal, system
        self.C, self.b, self.centre = C, b, centre
        self._start = C, b
        self.residual = primal.residual(C, b)
        self.n_free = 0
        self._centre_on(centre, kappa)

    def _centre_on(self, centre: np.ndarray, kappa: float) -> None:
        """Set ā and κ, and the intercept such that sums are right, as b hardly moves where no entry is free."""
        primal = self.primal
        self.centre, self.kappa, self.steepness = centre, kappa, kappa + primal.curvature
        self.n_steps, self._crawls = 0, Stagnation(SLOPES_TO_HALVE)
        V = kappa * centre
        V += self.residual
        V /= self.steepness
        problem, intercept = primal.problem, primal.intercept
        if intercept is not None and intercept.separable:
            mean = intercept.mean(problem)
            shift = balancing_shift(V, primal.lower, primal.upper, problem.sample_weight, mean)
            V -= shift
            self.b = self.b + self.steepness * shift
        self._arrive(V)

    def _arrive(self, V: np.ndarray) -> None:
        """Set V, a and the gradients there."""
        self.V, self.A = V, self.primal.clip(V)
        self.G = self.C - self.primal.features(self.A)
        self.g = self.primal.slope_of_intercept(self.A, self.b)

    def move_on(self, kappa: float) -> None:
        """Make the present point the centre, with another κ."""
        R = self.steepness * self.V
        R -= self.kappa * self.centre
        self.residual, self._start = R, (self.C, self.b)
        self._centre_on(self.A, kappa)

    def start_again(self, kappa: float) -> None:
        """Go back to where the present centre was taken, with another κ."""
        self.C, self.b = self._start
        self._centre_on(self.centre, kappa)

    @property
    def inexactness(self) -> float:
        """How much of a gap the gradients may be responsible for."""
        return self.primal.inexactness(self.G, self.g)

    def step(self) -> bool:
        """Take a Newton step, shorter where the function rises again; return False where none leads on."""
        primal, C, b, V = self.primal, self.C, self.b, self.V
        rows, columns = np.nonzero(primal.free(V))
        self.n_free = len(rows)
        solved = self.system.solve(rows, columns, self.steepness, self.G, self.g)
        if solved is None:
            return False
        change, db = solved
        moved = np.zeros(V.shape, dtype=V.dtype)
        moved[rows, columns] = change / (primal.problem.sample_weight[rows] * self.system.weights[columns])
        dC = primal.features(moved)
        dC -= self.G
        dV = primal.lift(dC)
        dV += primal.effect(db)
        dV *= -1 / self.steepness
        before = float(np.vdot(self.G, dC) + self.g @ db)
        self.n_steps += 1
        finite = np.isfinite(before) and bool(np.all(np.isfinite(dV)))
        if not finite or before >= 0 or self._crawls(self.n_steps, -before):
            return False
        self.C, self.b = C + dC, b + db
        self._arrive(V + dV)
        after = float(np.vdot(self.G, dC) + self.g @ db)
        if after > OVERSHOOT * abs(before):
            length = self._search(V, dV, before, after, float(np.vdot(dC, dC)) + primal.penalty * float(db @ db))
            self.C, self.b = C + length * dC, b + length * db
            self._arrive(V + length * dV)
        return True

    def _search(self, V: np.ndarray, dV: np.ndarray, before: float, after: float, curvature: float) -> float:
        """Return where the slope along a step vanishes; only entries that are inside the box on the way matter."""
        primal, end = self.primal, self.V
        beyond = ((primal.lower >= V) & (primal.lower >= end)) | ((primal.upper <= V) & (primal.upper <= end))
        rows, columns = np.nonzero(~beyond)
        start, change = V[rows, columns], dV[rows, columns]
        lower, upper = primal.lower[rows, columns], primal.upper[rows, columns]
        weight = primal.problem.sample_weight[rows] * self.system.weights[columns] * (-self.steepness) * change
        base = float(weight @ np.clip(start, lower, upper))

        def slope(length: float) -> float:
            return before + length * curvature - (float(weight @ np.clip(start + length * change, lower, upper)) - base)

        left, right, at_left, at_right, length = 0.0, 1.0, before, after, 1.0
        for k in range(SEARCH_STEPS):
            length = left - at_left * (right - left) / (at_right - at_left) if k % 3 else (left + right) / 2
            value = slope(length)
            if abs(value) <= SEARCHED * abs(before) or right - left < 1e-6:
                break
            if value < 0:
                left, at_left = length, value
            else:
                right, at_right = length, value
        return length
