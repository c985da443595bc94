"""The primal problem from its definition, in cvxpy atoms: shares no formula with ``mercer``."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache

import cvxpy as cp
import numpy as np

from mercer.linalg import Dense, Kronecker
from mercer.losses import (
    CostSensitiveHinge,
    EpsilonInsensitive,
    EpsilonRidge,
    Expectile,
    Huber,
    MoreauHinge,
    MoreauPinball,
    Pinball,
    Square,
    WeightedHuber,
    WeightedMoreauHinge,
)
from mercer.measures import Measure
from mercer.problems import DualProblem

HINGES = (CostSensitiveHinge, MoreauHinge, WeightedMoreauHinge)
LOSSES = [
    Square(),
    Pinball(),
    MoreauPinball(0.3),
    WeightedHuber(0.5),
    Expectile(),
    *(Huber(0.3, g) for g in ("norm", "pointwise")),
    *(EpsilonRidge(0.2, g) for g in ("norm", "pointwise")),
    *(EpsilonInsensitive(0.2, g) for g in ("norm", "pointwise")),
    CostSensitiveHinge(),
    MoreauHinge(0.4),
    WeightedMoreauHinge(0.4),
]


@dataclass(frozen=True)
class Data:
    """Everything that defines a small problem, as plain NumPy."""

    left: np.ndarray
    right: np.ndarray
    Y: np.ndarray
    points: np.ndarray
    weights: np.ndarray
    alpha: float = 0.05
    sample_weight: np.ndarray | None = None
    intercept: bool = False
    n_components: int = 1

    def problem(self, loss):
        """The same for mercer."""
        return DualProblem(
            Kronecker(Dense(self.left), Dense(self.right)),
            loss,
            self.Y,
            Measure(self.points, self.weights),
            self.alpha,
            self.sample_weight,
            self.intercept,
        )


def make(loss=None, intercept=False, weighted=False, masked=False, n=6, m=3, alpha=0.05, seed=0):
    """A random problem whose targets suit the loss."""
    rng = np.random.default_rng(seed)
    x, points = rng.uniform(size=n), np.sort(rng.uniform(0.1, 0.9, m))
    Y = np.sin(4 * x)[:, None] * (1 + points) + 0.6 * rng.normal(size=(n, m))
    if isinstance(loss, HINGES):
        Y = np.where(np.median(Y) < Y, 1.0, -1.0)
    if masked:
        Y[0, 1] = Y[3, 0] = Y[4, m - 1] = np.nan
    return Data(
        np.exp(-4 * (x[:, None] - x) ** 2),
        np.exp(-3 * (points[:, None] - points) ** 2),
        Y,
        points,
        rng.uniform(0.2, 0.7, m),
        alpha,
        rng.uniform(0.5, 3.0, n) if weighted else None,
        intercept,
    )


def factor(K):
    """F with F Fᵀ = K."""
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0))


def row_loss(loss, u, y, theta, w, nodes=None):
    """L(u) for one sample on its observed nodes: u an expression, the rest arrays; entries of a node are a vector."""
    r = y - u
    if isinstance(loss, Square):
        return cp.sum(cp.multiply(w / 2, cp.square(r)))
    if isinstance(loss, Pinball):
        return pinball(r, theta, w)
    if isinstance(loss, MoreauPinball):
        v = cp.Variable(len(y))
        return pinball(v, theta, w) + cp.sum(cp.multiply(w, cp.square(r - v))) / (2 * loss.kappa)
    if isinstance(loss, WeightedHuber):
        up, down = (cp.huber(cp.pos(s * r), loss.kappa) / (2 * loss.kappa) for s in (1, -1))
        return cp.sum(cp.multiply(w * theta, up) + cp.multiply(w * (1 - theta), down))
    if isinstance(loss, Expectile):
        up, down = (cp.square(cp.pos(s * r)) / 2 for s in (1, -1))
        return cp.sum(cp.multiply(w * theta, up) + cp.multiply(w * (1 - theta), down))
    if isinstance(loss, HINGES):
        cost = w * np.where(y > 0, theta, 1 - theta)
        if isinstance(loss, CostSensitiveHinge):
            return cp.sum(cp.multiply(cost, cp.pos(1 - cp.multiply(y, u))))
        v = cp.Variable(len(y))
        near = cost if isinstance(loss, WeightedMoreauHinge) else w
        hinge = cp.sum(cp.multiply(cost, cp.pos(1 - cp.multiply(y, v))))
        return hinge + cp.sum(cp.multiply(near, cp.square(u - v))) / (2 * loss.kappa)
    if loss.geometry == "pointwise" and nodes is not None:
        groups = [np.flatnonzero(nodes == node) for node in np.unique(nodes)]
        w = np.array([w[group[0]] for group in groups])
        size = cp.hstack([cp.norm(r[group], 2) for group in groups])
    else:
        size = cp.norm(cp.multiply(np.sqrt(w), r), 2) if loss.geometry == "norm" else cp.abs(r)

    def outer(f):
        return f if loss.geometry == "norm" else cp.sum(cp.multiply(w, f))

    if isinstance(loss, Huber):
        return outer(cp.huber(size, loss.kappa) / 2)
    excess = cp.pos(size - loss.epsilon)
    return outer(cp.square(excess) / 2 if isinstance(loss, EpsilonRidge) else excess)


def pinball(r, theta, w):
    """Σ_j w_j max(θ_j r_j, (θ_j − 1) r_j)."""
    return cp.sum(cp.multiply(w, cp.maximum(cp.multiply(theta, r), cp.multiply(theta - 1, r))))


def total_loss(loss, data, U):
    """(1/Σs) Σ_i s_i L_i(u_i) for an (n, m) expression or array."""
    s = np.ones(len(data.Y)) if data.sample_weight is None else data.sample_weight
    terms = []
    for i, y in enumerate(data.Y):
        seen = np.flatnonzero(~np.isnan(y))
        if len(seen):
            nodes = seen // data.n_components
            terms.append(s[i] * row_loss(loss, U[i, seen], y[seen], data.points[seen], data.weights[seen], nodes))
    return sum(terms) / s.sum()


def minimise(objective, constraints=()):
    """Solve as precisely as CLARABEL can."""
    problem = cp.Problem(cp.Minimize(objective), list(constraints))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tight = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}
        problem.solve(solver="CLARABEL", **tight)
    assert problem.status in ("optimal", "optimal_inaccurate"), problem.status
    return float(problem.value)


def solve(loss, data):
    """Return the optimal value, h at the data and b, over h = F_X B F_Θᵀ with ‖h‖ = ‖B‖."""
    n, m = data.Y.shape
    B, b = cp.Variable((n, m)), cp.Variable(m)
    H = factor(data.left) @ B @ factor(data.right).T
    U = H + np.ones((n, 1)) @ cp.reshape(b, (1, m), order="C") if data.intercept else H
    value = minimise(total_loss(loss, data, U) + data.alpha / 2 * cp.sum_squares(B))
    return value, H.value, b.value if data.intercept else np.zeros(m)


@cache
def _reference(index, intercept, weighted, masked):
    loss = LOSSES[index]
    data = make(loss, intercept, weighted, masked)
    return data, solve(loss, data)


def reference(loss, intercept=False, weighted=False, masked=False):
    """The standard problem for a loss of ``LOSSES`` and its solution (kept)."""
    return _reference([repr(each) for each in LOSSES].index(repr(loss)), intercept, weighted, masked)
