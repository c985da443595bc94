"""Inputs for labels: warped columns with scales by evidence, and the kernel on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._state import Stateful
from mercer.kernels import Gaussian, Kernel, Linear
from mercer.stages.relevance import Relevance, cross_fitted_relevance
from mercer.stages.together import choose_warps
from mercer.stages.warps import ColumnWarp

__all__ = ["LabelInputs", "learn_label_inputs"]


@dataclass(frozen=True)
class LabelInputs(Stateful):
    """Warped columns times the roots of their scales, and the kernel that takes them.

    Attributes
    ----------
    columns : ColumnWarp
        The warp of each column; those that do not vary are left out.
    relevance : Relevance
        The scales s of the others, and the variances g and l of the two parts of the kernel.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> order = rng.permutation(200)
    >>> inputs, parts = learn_label_inputs(X, np.sign(X[:, 0] ** 2 - 0.5), None, order, order % 3)
    >>> bool(inputs.share(3)[0] > 0.8), len(parts)
    (True, 3)
    >>> inputs(X[:4]).shape
    (4, 3)
    """

    columns: ColumnWarp
    relevance: Relevance

    @classmethod
    def alike(cls, columns: ColumnWarp) -> LabelInputs:
        """Return the inputs whose scales are all 1/d, for a smooth kernel alone: distances are about √2."""
        d = len(columns.kept)
        return cls(columns, Relevance(np.full(d, 1 / d), smooth=1.0, linear=0.0, noise=np.nan))

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return the rows as :attr:`kernel` takes them, z = √s·T(x)."""
        return self.relevance.scaled(self.columns(X))

    @property
    def kernel(self) -> Kernel:
        """k(z, z') = (g·exp(−½‖z − z'‖²) + l·⟨z, z'⟩)/(g + l·Σ_k s_k): at training rows k(z, z) is 1 on average.

        The constant part is left to an intercept.
        """
        smooth, linear = self.relevance.smooth, self.relevance.linear
        if linear == 0:
            return Gaussian(0.5)
        size = smooth + linear * float(self.relevance.scales.sum())
        return smooth / size * Gaussian(0.5) + linear / size * Linear()

    def share(self, d: int) -> np.ndarray:
        """Return the share of each of d columns in the scales, shape (d,); it sums to 1."""
        scales = self.relevance.scales
        return self.columns.among_all(scales / scales.sum(), d)


def learn_label_inputs(
    X: np.ndarray, signs: np.ndarray, weight: np.ndarray | None, order: np.ndarray, fold: np.ndarray
) -> tuple[LabelInputs, list[LabelInputs]]:
    """Learn warps and scales from the evidence of a Gaussian process for labels ±1, as if they were numbers.

    Returned are the inputs for all rows, and those whose scales were learned without each of the folds. The former
    have the geometric means of the latter's parameters and those of all rows, which vary less from sample to sample.

    Parameters
    ----------
    X : array of shape (n, d)
        Inputs.
    signs : array of shape (n,)
        Labels, −1 and 1.
    weight : array of shape (n,), optional
        Positive weights; only their ratios matter.
    order, fold : arrays of int, shape (n,)
        The rows in random order, and the fold of each of them.
    """
    weight = None if weight is None else weight / weight.mean()
    columns, target, start = choose_warps(X, signs, weight, target_powers=(False,))
    found = cross_fitted_relevance(columns(X), target(signs), weight, order, fold, start)
    mean = Relevance.of_vector(np.mean([relevance.vector for relevance in found], axis=0))
    return LabelInputs(columns, mean), [LabelInputs(columns, relevance) for relevance in found[:-1]]
