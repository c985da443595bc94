"""Where decision values are cut: logistic regression of labels on decisions of fits that have not seen them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from mercer._state import Stateful

__all__ = ["LogisticLinks"]

#: price of a squared slope against the mean loss, for decisions of unit variance: finite where classes do not overlap
SLOPE_PRICE = 1e-7
#: wrong rows that weigh as much as the belief that thresholds are 0
BELIEVED_ERRORS = 2.0
#: how far thresholds may be beyond all decisions: the margin of the hinge loss
THRESHOLD_MARGIN = 1.0
#: limits on Newton's steps and on the halvings of one of them, and the decrease of the loss that is none
LINK_STEPS, LINK_HALVINGS, NO_DECREASE = 50, 30, 1e-7


@dataclass(frozen=True)
class LogisticLinks(Stateful):
    """P(positive | x) = 1/(1 + exp(−a − c·d)) at each of several costs, d the decision value of x there (Platt, 2000).

    Attributes
    ----------
    level, slope : arrays of shape (n_costs,)
        a and c.
    loss : array of shape (n_costs,)
        The mean of −log P(label | x) over the rows.
    lowest, highest : arrays of shape (n_costs,)
        The range of the decisions.
    wrong : array of shape (n_costs,)
        How many rows have a decision of the wrong sign.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> d = rng.normal(size=(2000, 1))
    >>> signs = np.where(rng.uniform(size=2000) < expit(3 * (d[:, 0] - 0.5)), 1.0, -1.0)
    >>> links = LogisticLinks.learn(d, signs)
    >>> links.thresholds(np.array([0.5]), np.ones(1)).round(1)
    array([0.5])
    """

    level: np.ndarray
    slope: np.ndarray
    loss: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray
    wrong: np.ndarray

    @classmethod
    def learn(cls, decisions: np.ndarray, signs: np.ndarray, weight: np.ndarray | None = None) -> LogisticLinks:
        """Maximise the likelihood at each cost.

        Parameters
        ----------
        decisions : array of shape (n, n_costs)
            Decision values of rows, from fits that have not seen them.
        signs : array of shape (n,)
            Labels, −1 and 1; both are there.
        weight : array of shape (n,), optional
            Positive weights of rows, of mean 1.
        """
        weight = np.ones(len(signs)) if weight is None else weight
        wrong = weight @ ((decisions > 0) != (signs[:, None] > 0))
        level, slope, loss = _logistic(decisions, signs > 0, weight / weight.sum())
        return cls(level, slope, loss, decisions.min(axis=0), decisions.max(axis=0), wrong)

    def thresholds(self, costs: np.ndarray, share: np.ndarray) -> np.ndarray:
        """Return t(θ): rows whose decision at the cost θ exceeds it are to be called positive, shape (n_costs,).

        The decision of least expected cost is "positive" where P(positive | x) exceeds 1 − θ, hence where d exceeds
        (log((1 − θ)/θ) − a)/c, for all or no rows if that is beyond the decisions. Few wrong rows say little about a
        and c: t(θ) is that times e/(e + 2), e the number of wrong rows, its mean over the costs.

        Parameters
        ----------
        costs, share : arrays of shape (n_costs,)
            θ in (0, 1), and the weights of the mean over them.
        """
        wrong = float(self.wrong @ share / share.sum())
        cut = (np.log((1 - costs) / costs) - self.level) / np.maximum(self.slope, SLOPE_PRICE)
        return (
            wrong
            / (wrong + BELIEVED_ERRORS)
            * np.clip(cut, self.lowest - THRESHOLD_MARGIN, self.highest + THRESHOLD_MARGIN)
        )


def _logistic(D: np.ndarray, positive: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a, c and the loss of the logistic regression on each column, by Newton's method, all columns at once."""
    centre = weight @ D
    spread = np.sqrt(weight @ (D - centre) ** 2)
    rounding = 8 * np.finfo(float).eps * np.max(np.abs(D), axis=0)
    spread = np.where(spread > rounding, spread, 1.0)
    Z, sign = (D - centre) / spread, np.where(positive, 1.0, -1.0)[:, None]
    share = float(weight @ positive)
    p = np.stack([np.full(D.shape[1], np.log(share / (1 - share))), np.zeros(D.shape[1])])
    value, gradient, hessian = _loss(p, Z, sign, weight)
    for _ in range(LINK_STEPS):
        aa, ac, cc = hessian
        step = np.stack([cc * gradient[0] - ac * gradient[1], aa * gradient[1] - ac * gradient[0]]) / (aa * cc - ac**2)
        for _ in range(LINK_HALVINGS):
            new, *slopes = _loss(p - step, Z, sign, weight)
            rises = new > value
            if not np.any(rises):
                break
            step = np.where(rises, step / 2, step)
        step = np.where(rises, 0.0, step)
        decrease = np.max(np.where(rises, 0.0, value - new))
        p = p - step
        value, gradient, hessian = (new, *slopes) if not np.any(rises) else _loss(p, Z, sign, weight)
        if decrease < NO_DECREASE:
            break
    return p[0] - p[1] * centre / spread, p[1] / spread, value - 0.5 * SLOPE_PRICE * p[1] ** 2


def _loss(
    p: np.ndarray, Z: np.ndarray, sign: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the mean of log(1 + exp(−s(a + cz))) and the price of c, the gradient and the second derivatives."""
    wrong = expit(-sign * (p[0] + p[1] * Z))  # the probability of the other label
    value = weight @ -np.log1p(-np.minimum(wrong, 1 - 1e-16)) + 0.5 * SLOPE_PRICE * p[1] ** 2
    G, W = -sign * wrong, wrong * (1 - wrong)
    gradient = np.stack([weight @ G, weight @ (G * Z) + SLOPE_PRICE * p[1]])
    WZ = W * Z
    return value, gradient, np.stack([weight @ W + SLOPE_PRICE, weight @ WZ, weight @ (WZ * Z) + SLOPE_PRICE])
