"""Ridge fits in features for all λ from one eigendecomposition, and how well each predicts what it has not seen."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from mercer.exceptions import UnsupportedError
from mercer.linalg import Moments
from mercer.magnitudes import check_alpha
from mercer.measures import Measure
from mercer.rows import Rows
from mercer.solvers.ridge_path import LEAST_ROOM, check_alphas

__all__ = ["FeatureFit", "FeaturePath"]


class FeatureFit(NamedTuple):
    """h(x) = φ(x) C Rᵀ + b: coefficients C (D, q), b (m,), and the minimum that they attain."""

    alpha: float
    coef: np.ndarray
    intercept: np.ndarray
    objective: float


class FeaturePath:
    """The fits of :class:`NormalEquations` for several λ.

    With the mean product of features QΣQᵀ, W^½R = Ψτ^½Vᵀ (W the weights of the nodes) and P = Qᵀ(mean of φᵀy)W^½Ψ all
    is scalar: C = Q[P_ab √τ_b/(σ_aτ_b + λ)]Vᵀ. With an intercept, products are about the mean and b = ȳ − φ̄CRᵀ. Thus
    objectives and generalised cross-validation need no data; leave-one-out errors take one pass.

    Parameters
    ----------
    kernel : Kernel
        With explicit features.
    moments : Moments
        Of features and targets.
    measure, factor, fit_intercept
        Those of :class:`NormalEquations`.
    alphas : array-like of float
        Values of λ.
    """

    def __init__(
        self,
        kernel: Any,
        moments: Moments,
        measure: Measure,
        factor: np.ndarray | None,
        fit_intercept: bool,
        alphas: Any,
    ) -> None:
        self.kernel, self.measure, self.factor, self.fit_intercept = kernel, measure, factor, fit_intercept
        self.alphas = check_alphas(alphas)
        self.n_rows, self.total = moments.n_rows, moments.total
        self.feature_mean = moments.feature_mean if fit_intercept else np.zeros_like(moments.feature_mean)
        self.target_mean = moments.target_mean if fit_intercept else np.zeros_like(moments.target_mean)
        products, cross, squares = moments.products(fit_intercept)
        root = np.sqrt(np.asarray(measure.weights, dtype=float))
        self.n_components = 1
        if factor is None:  # all components are one column, which has their weights already
            self.n_components, root, factor = len(root), np.ones(1), np.ones((1, 1))
        psi, size, self._turn = np.linalg.svd(root[:, None] * factor, full_matrices=len(root) > factor.shape[1])
        self._outputs = root[:, None] * psi  # W^½Ψ, (m, m)
        self.tau = np.zeros(len(root))
        self.tau[: len(size)] = size**2
        sigma, self._vectors = scipy.linalg.eigh(products, driver="evd", overwrite_a=True, check_finite=False)
        self.sigma = np.maximum(sigma, 0.0)
        self._inner = self._vectors.T @ (cross @ self._outputs)
        self._energy = np.einsum("jb,jk,kb->b", self._outputs, squares, self._outputs)

    # -- the fits ----------------------------------------------------------------------------------------------

    def fit(self, alpha: float) -> FeatureFit:
        """Return the fit with λ = ``alpha``, one of ``alphas`` or not."""
        check_alpha(self, alpha)
        coordinates = self._coordinates(float(alpha))[:, : len(self._turn)]
        coef = self._vectors @ (coordinates @ self._turn)
        mean = self.feature_mean @ coef
        intercept = self.target_mean - (mean[:, 0] if self.factor is None else mean @ self.factor.T)
        return FeatureFit(float(alpha), coef, intercept, float(self._objective(float(alpha))))

    @property
    def objectives(self) -> np.ndarray:
        """Minima of the objective, shape (len(alphas),)."""
        return np.array([self._objective(alpha) for alpha in self.alphas])

    @property
    def training_errors(self) -> np.ndarray:
        """(1/n) Σ_i s_i ½‖y_i − h(x_i) − b‖² of each fit."""
        return np.array([0.5 * self._squares(alpha).sum() for alpha in self.alphas])

    def _coordinates(self, alpha: float) -> np.ndarray:
        """P_ab √τ_b/(σ_aτ_b + λ), (D, m)."""
        return self._inner * np.sqrt(self.tau) / (self.sigma[:, None] * self.tau + alpha)

    def _objective(self, alpha: float) -> float:
        fitted = np.sum(self._inner**2 * (self.tau / (self.sigma[:, None] * self.tau + alpha)))
        return 0.5 * max(float(np.sum(self._energy) - fitted), 0.0)

    def _squares(self, alpha: float) -> np.ndarray:
        """Mean squared residuals in the eigenvectors of the output Gram, (m,)."""
        denominator = self.sigma[:, None] * self.tau + alpha
        share = self.tau / denominator
        fitted = np.sum(self._inner**2 * share * (1 + alpha / denominator), axis=0)
        return np.maximum(self._energy - fitted, 0.0)

    # -- prediction of what was left out -----------------------------------------------------------------------

    @property
    def generalised_errors(self) -> np.ndarray:
        """Generalised cross-validation: ½ Σ_j [(1/n) Σ_i r_ij²] / [(1/n) Σ_i ρ_ij]² for each λ."""
        return np.array([0.5 * np.sum(self._squares(alpha) / self._mean_room(alpha) ** 2) for alpha in self.alphas])

    def _mean_room(self, alpha: float) -> np.ndarray:
        """One minus the mean leverage, (m,)."""
        signal = self.sigma[:, None] * self.tau
        used = np.sum(signal / (signal + alpha), axis=0) / self.n_components + self.fit_intercept
        return np.maximum(1 - used / self.n_rows, LEAST_ROOM)

    def leave_one_out_errors(self, rows: Rows) -> np.ndarray:
        """Return (1/n) Σ_i s_i ½‖y_i − h_{−i}(x_i)‖² for each λ, λn being kept, from one more pass.

        Rows that are a sample of those of the fit give the mean over the sample.
        """
        if self.factor is None:
            raise UnsupportedError(
                "FeaturePath: left-out rows of a kernel whose values are matrices are not in closed form here. "
                "generalised_errors are; leave_one_out_errors of mercer.solvers takes such kernels in memory."
            )
        errors, weight = np.zeros(len(self.alphas)), 0.0
        for batch in rows:
            for start in range(0, batch.n_rows, self._rows_at_a_time):
                part = batch.part(slice(start, start + self._rows_at_a_time))
                s = np.ones(part.n_rows) if part.weight is None else part.weight.astype(float)
                features = np.asarray(self.kernel.features(part.X), dtype=float) - self.feature_mean
                targets = (part.Y - self.target_mean) @ self._outputs
                errors += s @ self._left_out(features @ self._vectors, targets, s / self.total)
                weight += float(s.sum())
        return 0.5 * errors / weight

    @property
    def _rows_at_a_time(self) -> int:
        widest = max(len(self.sigma), len(self.tau))
        return max(1, 2**22 // widest)

    @cached_property
    def _groups(self) -> tuple[np.ndarray, np.ndarray]:
        """Distinct τ, and which of them each column has."""
        return np.unique(self.tau, return_inverse=True)

    def _left_out(self, features: np.ndarray, targets: np.ndarray, share: np.ndarray) -> np.ndarray:
        """Return ‖y_i − h_{−i}(x_i)‖² for some rows and all λ, (rows, len(alphas))."""
        values, group = self._groups
        squares = features * features
        errors = np.empty((len(features), len(self.alphas)))
        for k, alpha in enumerate(self.alphas):
            filters = values / (self.sigma[:, None] * values + alpha)
            room = 1 - share[:, None] * (squares @ filters + self.fit_intercept)
            residual = targets - features @ (self._coordinates(alpha) * np.sqrt(self.tau))
            residual /= np.maximum(room, LEAST_ROOM)[:, group]
            errors[:, k] = np.einsum("ij,ij->i", residual, residual)
        return errors
