"""Quantiles in stages: location and spread first, then the shape of what is left by the joint problem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.estimators.row_order import canonical_order
from mercer.estimators.shape import Residuals
from mercer.interpolation import refine
from mercer.measures import GaussLegendre
from mercer.stages import Stages, learn_stages

__all__ = ["fit_stages", "staged_grid", "staged_quantiles"]

#: of more rows so many are learned from, drawn at random
ALL_ROWS = 50_000
#: the outermost level of predicted functions
OUTERMOST = 1e-6


def staged_quantiles(stages: Stages, shape: Any, X: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Return q_θ(x) = T⁻¹(f(x) + σ(x)·[b(θ) + h(x)(θ)]) at rows and levels, shape (n, len(levels)).

    Parameters
    ----------
    stages : Stages
        T, f, σ and, where the shape does not depend on x, b.
    shape : KernelQuantileRegressor or None
        b + h, the joint model of standardised residuals given the features of the spread; None where h = 0. Beyond its
        outer levels tails are those of the residuals.
    X, levels : arrays of shape (n, d) and (m,)
        Rows and levels in (0, 1).
    """
    f, sigma, features = stages.parts(X)
    standard = stages.levels(levels)[None, :]
    if shape is not None:
        nodes = shape.measure_.locations
        inside = np.clip(levels, nodes.min(), nodes.max())
        tail = standard - stages.levels(inside)[None, :]
        standard = shape.predict_quantile(features, inside) + tail
    return stages.target.inverse(f[:, None] + sigma[:, None] * standard)


def staged_grid(nodes: np.ndarray) -> np.ndarray:
    """Return levels on which predicted functions are represented: dense in (0, 1), and further and further out."""
    inner = refine(np.concatenate([nodes, GaussLegendre(20).build(np.zeros((1, 1))).locations]))
    tail = np.geomspace(OUTERMOST, inner[0], 13)[:-1]
    return np.unique(np.concatenate([tail, inner, 1 - tail]))


def fit_stages(
    X: np.ndarray, y: np.ndarray, weight: np.ndarray | None, learn_shape: Callable[[Residuals], Any]
) -> tuple[Stages, Any]:
    """Learn all stages, and the joint model of the shape, None where it does not depend on x.

    Parameters
    ----------
    X, y, weight
        Rows, targets that are not all equal, and weights or None.
    learn_shape : callable Residuals -> estimator or None
        Chooses and fits the joint model of the shape.
    """
    order = canonical_order(X, y)
    order = order[np.sort(np.random.default_rng(6).permutation(len(y))[:ALL_ROWS])]
    X, y, weight = X[order], y[order], None if weight is None else weight[order]
    stages = learn_stages(X, y, weight)
    # pinball(y − f − σu) = σ·pinball(e − u): rows have the weight of their spread
    standard, sigma = stages.standardised()
    rest = Residuals(stages.training_features(X, y), standard, sigma if weight is None else sigma * weight)
    return stages, learn_shape(rest)
