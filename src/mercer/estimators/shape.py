"""The shape of standardised residuals: whether it depends on x, and the joint model that says how."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mercer.kernels import Gaussian, Kernel, Matern
from mercer.measures import Measure
from mercer.model_selection.quantile_scores import integrated_pinball
from mercer.stages import ResidualLevels

__all__ = ["Residuals", "fit_shape", "shape_kernels", "shape_may_depend", "unshaped_scores"]

#: rows from which on a shape is tried, and those that its λ is chosen from
SHAPE_ROWS, SHAPE_CHOICE_ROWS = 50, 600
#: λ that are tried for the shape, the first one first: the others if it is better than no shape at all
FIRST_ALPHA, OTHER_ALPHAS = 0.1, (1.0, 0.01)
#: relative gain in held-out loss below which the shape does not depend on x
SHAPE_MARGIN = 0.005
SHAPE_FOLDS = 3


class Residuals(NamedTuple):
    """Features u of rows, residuals e = (T(y) − f)/σ that the row had no hand in, and weights, which have σ in them."""

    features: np.ndarray
    standard: np.ndarray
    weight: np.ndarray

    def part(self, rows: np.ndarray) -> Residuals:
        """Return some rows."""
        return Residuals(*(column[rows] for column in self))


def shape_kernels(d: int) -> list[Kernel]:
    """Return kernels of d features of unit variance, from rough to smooth; the third is the default."""
    return [Matern(1.5, d**0.5), *(Gaussian(0.5 / (d * length**2)) for length in (0.5, 1.0, 2.0))]


def fit_shape(rest: Residuals, joint: Callable[[Kernel, float], Any], measure: Measure) -> Any:
    """Return the joint model of the shape, with λ by held-out loss; None for a shape that does not depend on x.

    Parameters
    ----------
    rest : Residuals
        What is left of the targets.
    joint : callable (kernel, alpha) -> estimator
        Makes the unfitted joint model.
    measure : Measure
        The levels that it is trained on.
    """
    if not shape_may_depend(rest, measure):
        return None
    kernel = shape_kernels(rest.features.shape[1])[2]
    alpha = _choose_alpha(_some(rest), kernel, joint, measure)
    return None if alpha is None else joint(kernel, alpha).fit(rest.features, rest.standard, sample_weight=rest.weight)


def _some(rest: Residuals) -> Residuals:
    return rest.part(np.random.default_rng(4).permutation(len(rest.standard))[:SHAPE_CHOICE_ROWS])


def shape_may_depend(rest: Residuals, measure: Measure) -> bool:
    """Say whether rows alike in x are alike in the levels that they exceed: Σ_{i≠j} k(x_i, x_j)⟨g_i, g_j⟩ > 0.

    g_i(θ) = θ − 1[e_i ≤ b(θ)], times the weight of the row, is the slope of the loss in h(x_i)(θ) at h = 0. Were the
    shape the same everywhere the sum would be about 0 (the independence criterion of Gretton et al., 2005); if it is
    below, no function of the space lowers the loss of rows that it was not learned from.
    """
    if len(rest.standard) < SHAPE_ROWS:
        return False
    features, standard, weight = _some(rest)
    levels, share = measure.locations, weight / weight.sum()
    slopes = levels - (standard[:, None] <= ResidualLevels.learn(standard, weight)(levels))
    slopes = share[:, None] * (slopes - share @ slopes)
    K = shape_kernels(features.shape[1])[2](features, features)
    K = K - share @ K
    K = K - (K @ share)[:, None]
    np.fill_diagonal(K, 0.0)
    return float(np.vdot(slopes * measure.weights, K @ slopes)) > 0


def unshaped_scores(rest: Residuals, measure: Measure, folds: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Return minus the loss of quantiles that are the same for all x, on the test rows of each fold."""
    return -np.array([_loss(rest.part(test), _unshaped(rest.part(train), measure), measure) for train, test in folds])


def _unshaped(rest: Residuals, measure: Measure) -> np.ndarray:
    return ResidualLevels.learn(rest.standard, rest.weight)(measure.locations)[None, :]


def _loss(rest: Residuals, predicted: np.ndarray, measure: Measure) -> float:
    predicted = np.broadcast_to(predicted, (len(rest.standard), predicted.shape[1]))
    return float(integrated_pinball(rest.standard, predicted, measure.locations, measure.weights, rest.weight))


def _choose_alpha(rest: Residuals, kernel: Kernel, joint: Callable, measure: Measure) -> float | None:
    """Return λ of the shape by held-out loss, None for a shape that does not depend on x."""
    fold = np.arange(len(rest.standard)) % SHAPE_FOLDS
    parts = [(rest.part(fold != k), rest.part(fold == k)) for k in range(SHAPE_FOLDS)]

    def loss(predict: Callable[[Residuals, Residuals], np.ndarray]) -> float:
        each = [_loss(test, predict(train, test), measure) for train, test in parts]
        return float(np.average(each, weights=[test.weight.sum() for _, test in parts]))

    def shaped(alpha: float) -> Callable[[Residuals, Residuals], np.ndarray]:
        def predict(train: Residuals, test: Residuals) -> np.ndarray:
            model = joint(kernel, alpha).set_params(tol=2e-2).fit(*train)
            return model.predict_quantile(test.features, measure.locations)

        return predict

    unshaped = loss(lambda train, test: _unshaped(train, measure))
    losses = {FIRST_ALPHA: loss(shaped(FIRST_ALPHA))}
    if losses[FIRST_ALPHA] < unshaped:
        losses |= {alpha: loss(shaped(alpha)) for alpha in OTHER_ALPHAS}
    best = min(losses, key=lambda alpha: losses[alpha])
    return best if losses[best] < (1 - SHAPE_MARGIN) * unshaped else None
