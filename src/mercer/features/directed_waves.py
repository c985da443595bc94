"""Kernels with p × p values that are finite sums of waves with directions: Fourier features of fields and delays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.exceptions import DataError
from mercer.features.fourier_kernel import write_waves
from mercer.linalg import DirectedFactor, FeatureGram, Gram, lift
from mercer.linalg.memory import BLOCK_BYTES
from mercer.operator_valued import MatrixValuedKernel

__all__ = ["DirectedWaves"]


@dataclass(eq=False, repr=False)
class DirectedWaves(MatrixValuedKernel):
    """K̃(x, z) = Φ(x)Φ(z)ᵀ with Φ(x)_aρ = Σ_t φ_{q_t(ρ)}(x) b_tρa, φ = [cos⟨ω_j, x⟩, sin⟨ω_j, x⟩] and vectors b in R^p.

    The functions are h(x) = Σ_q φ_q(x) T_q with T = Σ_ρ w_ρ b_ρ, of shape (2D, p), and r coefficients w; no training
    row is needed. :meth:`forward` and :meth:`adjoint` are one product with φ, some rows at a time: O(nD(d + p)). What K
    offers of fields its waves have, too, exactly for h: derivatives, and since T_q = (part along ω) + (part across ω),
    the parts without rotation and without sources, potential and stream function. :class:`RandomFourier` makes it.

    Parameters
    ----------
    kernel : MatrixValuedKernel
        What is approximated.
    frequencies : array of shape (d, D)
        ω, one a column.
    centre : array of shape (d,)
        What is taken off x.
    places : array of int of shape (t, r)
        q_t(ρ), 0, …, D − 1 for cosines and D, …, 2D − 1 for sines.
    directions : array of shape (t, r, p)
        b.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.features import RandomFourier
    >>> from mercer.kernels import Gaussian
    >>> from mercer.operator_valued import CurlFree
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> kernel = RandomFourier(400, random_state=0).bind(CurlFree(Gaussian(0.5)), X)
    >>> kernel
    DirectedWaves(CurlFree(kernel=Gaussian(gamma=0.5)), 400 frequencies)
    >>> bool(np.max(np.abs(kernel.blocks(X, X) - CurlFree(Gaussian(0.5)).blocks(X, X))) < 0.2)
    True
    """

    kernel: MatrixValuedKernel
    frequencies: Any
    centre: Any
    places: Any
    directions: Any

    def __repr__(self) -> str:
        return f"DirectedWaves({self.kernel!r}, {self.frequencies.shape[1]} frequencies)"

    @property
    def explicit(self) -> bool:
        """Always: the features are known."""
        return True

    @property
    def n_features(self) -> int:
        """The number of coefficients, r."""
        return int(self.places.shape[1])

    def adapt(self, X):
        """Return a copy: all parameters are numbers."""
        return self.replace()

    def locate(self, layout):
        return self

    def require_outputs(self, X, n_outputs):
        p = self.directions.shape[2]
        if n_outputs != p or X.ndim != 2 or X.shape[1] != len(self.frequencies):
            raise DataError(
                f"{self!r} was made for inputs of {len(self.frequencies)} columns and {p} outputs; got inputs of shape "
                f"{tuple(X.shape)} and {n_outputs} outputs."
            )

    def features(self, X):
        """Return Φ(x_i), shape (n, p, r); products with it need no more than the waves."""
        factor = self._factor(self._waves(X))
        return factor.factor.reshape(len(X), self.directions.shape[2], -1)

    def feature_gram(self, X: Any) -> Gram:
        """Return the Gram operator ΦΦᵀ, of which the waves of all rows are stored: 2nD numbers."""
        return FeatureGram(self._factor(self._waves(X)))

    def _factor(self, waves: np.ndarray) -> DirectedFactor:
        return DirectedFactor(waves, np.asarray(self.places), np.asarray(self.directions))

    def _waves(self, X: Any) -> np.ndarray:
        """Return φ(x_i), shape (n, 2D)."""
        X = np.asarray(X, dtype=float)
        self.require_outputs(X, self.directions.shape[2])
        out = np.empty((len(X), 2 * self.frequencies.shape[1]))
        write_waves(X - self.centre, self.frequencies, 1.0, out)
        return out

    def _by_blocks(self, X: Any) -> Any:
        """Yield slices of rows and their waves."""
        step = max(1, BLOCK_BYTES // (16 * self.frequencies.shape[1]))
        for start in range(0, len(X), step):
            yield slice(start, start + step), self._waves(X[start : start + step])

    def vectors(self, coef: Any) -> np.ndarray:
        """Return T = Σ_ρ w_ρ b_ρ, what each wave is multiplied by, shape (2D, p)."""
        size = 2 * self.frequencies.shape[1]
        return np.asarray(lift(self.places, self.directions, size) @ coef).reshape(size, -1)

    def forward(self, X, coef):
        return self._along(X, self.vectors(coef))

    def adjoint(self, X, array):
        size = 2 * self.frequencies.shape[1]
        total = np.zeros((size, self.directions.shape[2]))
        for rows, waves in self._by_blocks(X):
            total += waves.T @ array[rows]
        return lift(self.places, self.directions, size).T @ total.ravel()

    def _along(self, X: Any, vectors: np.ndarray) -> np.ndarray:
        """Return Σ_q φ_q(x_i) T_q, some rows at a time."""
        out = np.empty((len(X), vectors.shape[1]))
        for rows, waves in self._by_blocks(X):
            np.matmul(waves, vectors, out=out[rows])
        return out

    def blocks(self, X, Z):
        left = self.features(X)
        right = left if Z is X else self.features(Z)
        n, p, r = left.shape
        products = left.reshape(n * p, r) @ right.reshape(-1, r).T
        return products.reshape(n, p, len(Z), p).transpose(0, 2, 1, 3)

    def products(self, X, Z, factor=None):
        if factor is not None:
            return super().products(X, Z, factor)
        return lambda C: self.forward(X, self.adjoint(Z, C))

    def diagonal(self, X):
        p = self.directions.shape[2]
        features = self.features(np.asarray(X, dtype=float))
        return (features @ features.transpose(0, 2, 1)).reshape(len(X), p, p)

    # -- fields ------------------------------------------------------------------------------------------------

    def jacobian(self, X, Z, C):
        return self.jacobian_of(X, self.adjoint(Z, C))

    def parts(self, X, Z, C):
        return self.parts_of(X, self.adjoint(Z, C))

    def potential(self, X, Z, C):
        return self.potential_of(X, self.adjoint(Z, C))

    def stream_function(self, X, Z, C):
        return self.stream_function_of(X, self.adjoint(Z, C))

    def jacobian_of(self, X: Any, coef: Any) -> np.ndarray:
        """Return ∂h_a(x_i)/∂x_b at (i, a, b) for the function of coefficients w, where functions of K have slopes."""
        self._ask("jacobian")
        vectors, p = self._turned(self.vectors(coef)), self.directions.shape[2]
        both = np.concatenate([self.frequencies, self.frequencies], axis=1).T
        return self._along(X, (vectors[:, :, None] * both[:, None, :]).reshape(len(vectors), -1)).reshape(len(X), p, -1)

    def parts_of(self, X: Any, coef: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the parts of h without rotation and without sources: T_q along ω_q, and across it."""
        self._ask("parts")
        vectors = self.vectors(coef)
        units = self._over_square(self.frequencies)
        both = np.concatenate([self.frequencies, self.frequencies], axis=1).T
        along = np.sum(np.concatenate([units, units], axis=1).T * vectors, axis=1)[:, None] * both
        return self._along(X, along), self._along(X, vectors - along)

    def potential_of(self, X: Any, coef: Any) -> np.ndarray:
        """Return u(x_i) whose gradient is the part of h without rotation: waves of amplitude ⟨T, ω⟩/‖ω‖²."""
        self._ask("potential")
        return self._integral(X, coef, self.frequencies)

    def stream_function_of(self, X: Any, coef: Any) -> np.ndarray:
        """Return ψ(x_i) of the part without sources in the plane: waves of amplitude ⟨T, (ω₂, −ω₁)⟩/‖ω‖²."""
        self._ask("stream_function")
        return self._integral(X, coef, np.stack([self.frequencies[1], -self.frequencies[0]]))

    def _integral(self, X: Any, coef: Any, across: np.ndarray) -> np.ndarray:
        """Return Σ_j sin⟨ω_j, x⟩ κ_j − cos⟨ω_j, x⟩ κ′_j, κ = ⟨T, a⟩/‖a‖² for cosines, κ′ for sines."""
        units, vectors = self._over_square(across), self.vectors(coef)
        amplitudes = np.sum(np.concatenate([units, units], axis=1).T * vectors, axis=1)
        half = len(amplitudes) // 2
        return self._along(X, np.concatenate([-amplitudes[half:], amplitudes[:half]])[:, None])[:, 0]

    @staticmethod
    def _over_square(vectors: np.ndarray) -> np.ndarray:
        squares = np.sum(vectors**2, axis=0)
        return vectors / np.where(squares > 0, squares, 1.0)

    @staticmethod
    def _turned(vectors: np.ndarray) -> np.ndarray:
        """Return T′ with Σ φ′T = Σ φT′: the cosine of a derivative comes from a sine."""
        half = len(vectors) // 2
        return np.concatenate([vectors[half:], -vectors[:half]])

    def _ask(self, method: str) -> None:
        """Refuse what functions of the approximated kernel have not."""
        origin = np.asarray(self.centre)[None, :]
        getattr(self.kernel, method)(origin, origin, np.zeros((1, self.directions.shape[2])))
