"""Quantiles in stages: location and spread first, then the shape of what is left by the joint problem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.estimators.row_order import canonical_order
from mercer.interpolation import refine
from mercer.kernels import Gaussian
from mercer.measures import GaussLegendre
from mercer.model_selection.quantile_scores import integrated_pinball
from mercer.stages import ResidualLevels, Stages, learn_stages

__all__ = ["fit_stages", "staged_grid", "staged_quantiles"]

#: rows from which on a shape is tried, and those that its λ is chosen from
SHAPE_ROWS, SHAPE_CHOICE_ROWS = 50, 600
#: λ that are tried for the shape, the first one first: the others if it is better than no shape at all
FIRST_ALPHA, OTHER_ALPHAS = 0.1, (1.0, 0.01)
#: relative gain in held-out loss below which the shape does not depend on x
SHAPE_MARGIN = 0.005
SHAPE_FOLDS = 3
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
    X: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray | None,
    joint: Callable[[Gaussian, float], Any],
    nodes: np.ndarray,
) -> tuple[Stages, Any]:
    """Learn all stages, and the joint model of the shape, None where it does not depend on x.

    Parameters
    ----------
    X, y, weight
        Rows, targets that are not all equal, and weights or None.
    joint : callable (kernel, alpha) -> estimator
        Makes the unfitted joint model of the shape.
    nodes : array of shape (m,)
        The levels that it is trained on.
    """
    order = canonical_order(X, y)
    order = order[np.sort(np.random.default_rng(6).permutation(len(y))[:ALL_ROWS])]
    X, y, weight = X[order], y[order], None if weight is None else weight[order]
    stages = learn_stages(X, y, weight)
    if len(y) < SHAPE_ROWS:
        return stages, None
    # pinball(y − f − σu) = σ·pinball(e − u): rows have the weight of their spread
    standard, sigma = stages.standardised()
    features = stages.training_features(X, y)
    share = sigma if weight is None else sigma * weight
    kernel = Gaussian(0.5 / features.shape[1])
    alpha = _choose_alpha(kernel, features, standard, share, joint, nodes)
    shape = None if alpha is None else joint(kernel, alpha).fit(features, standard, sample_weight=share)
    return stages, shape


def _choose_alpha(kernel, features, standard, share, joint, nodes) -> float | None:
    """Return λ of the shape by held-out loss, None for a shape that does not depend on x."""
    rows = np.random.default_rng(4).permutation(len(standard))[:SHAPE_CHOICE_ROWS]
    features, standard, share = features[rows], standard[rows], share[rows]
    if not _shape_depends(kernel(features, features), standard, share, nodes):
        return None
    fold = np.arange(len(rows)) % SHAPE_FOLDS
    measure = np.full(len(nodes), 1 / len(nodes))

    def loss(predict: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> float:
        losses = []
        for k in range(SHAPE_FOLDS):
            test = fold == k
            predicted = predict(~test, test)
            losses.append(
                integrated_pinball(standard[test], predicted, nodes, measure, share[test]) * share[test].sum()
            )
        return float(np.sum(losses) / share.sum())

    def constant(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        return np.tile(ResidualLevels.learn(standard[train], share[train])(nodes), (test.sum(), 1))

    def shaped(alpha: float) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        def predict(train: np.ndarray, test: np.ndarray) -> np.ndarray:
            model = joint(kernel, alpha).set_params(tol=2e-2)
            return model.fit(features[train], standard[train], share[train]).predict_quantile(features[test], nodes)

        return predict

    unshaped = loss(constant)
    losses = {FIRST_ALPHA: loss(shaped(FIRST_ALPHA))}
    if losses[FIRST_ALPHA] < unshaped:
        losses |= {alpha: loss(shaped(alpha)) for alpha in OTHER_ALPHAS}
    best = min(losses, key=lambda alpha: losses[alpha])
    return best if losses[best] < (1 - SHAPE_MARGIN) * unshaped else None


def _shape_depends(K: np.ndarray, standard: np.ndarray, share: np.ndarray, nodes: np.ndarray) -> bool:
    """Say whether rows alike in x are alike in the levels that they exceed: Σ_{i≠j} k(x_i, x_j)⟨g_i, g_j⟩ > 0.

    g_i(θ) = θ − 1[e_i ≤ b(θ)], times the weight of the row, is the slope of the loss in h(x_i)(θ) at h = 0. Were the
    shape the same everywhere the sum would be about 0 (the independence criterion of Gretton et al., 2005); if it is
    below, no function of the space lowers the loss of rows that it was not learned from.
    """
    mean = share / share.sum()
    slopes = share[:, None] * (nodes - (standard[:, None] <= ResidualLevels.learn(standard, share)(nodes)))
    slopes -= share[:, None] * (slopes.sum(axis=0) / share.sum())
    K = K - mean @ K
    K = K - (K @ mean)[:, None]
    np.fill_diagonal(K, 0.0)
    return float(np.vdot(slopes, K @ slopes)) > 0
