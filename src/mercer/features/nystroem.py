"""Nyström features: a kernel seen from a few landmarks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._params import check_number
from mercer.backend import as_like, is_numpy, namespace
from mercer.exceptions import DataError, parameter_error
from mercer.features.feature_map import DifferentiableFeatures, FeatureMap, check_random_state
from mercer.features.landmarks import SELECTIONS, candidates, inverse_root
from mercer.kernels.base import Kernel, as_points
from mercer.linalg.memory import BLOCK_BYTES
from mercer.operator_valued import MatrixExpansion, MatrixValuedKernel

__all__ = ["Nystroem", "NystroemKernel", "NystroemMatrixKernel"]


@dataclass(eq=False, repr=False)
class NystroemKernel(DifferentiableFeatures):
    """k̃(x, z) = k(x, Z) k(Z, Z)⁻¹ k(Z, z), with the features k(x, Z)·U Λ^{-½} of M landmarks Z, k(Z, Z) = UΛUᵀ.

    k̃ is k on the span of the sections k(z, ·) of the landmarks, and nowhere more: k̃(x, x) ≤ k(x, x).
    :class:`Nystroem` makes it.

    Parameters
    ----------
    kernel : Kernel
        k, with numbers for its parameters.
    landmarks : array of shape (M, d)
        Z.
    root : array of shape (M, r)
        U Λ^{-½}, without the directions whose eigenvalue is rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> NystroemKernel(Gaussian(1.0), np.array([[0.0]]), np.array([[1.0]])).features(np.array([[0.0], [1.0]])).round(3)
    array([[1.   ],
           [0.368]])
    """

    kernel: Kernel
    landmarks: Any
    root: Any

    def __repr__(self) -> str:
        return f"NystroemKernel({self.kernel!r}, {len(self.landmarks)} landmarks)"

    @property
    def differentiable(self) -> bool:
        """Whether k is."""
        return self.kernel.differentiable

    @property
    def n_features(self) -> int:
        """r, at most M."""
        return int(self.root.shape[1])

    def locate(self, layout):
        return self  # columns are numbers already

    def features(self, X: Any) -> Any:
        """Return φ(x_i), shape (n, r), some rows at a time, in the dtype of X."""
        X = as_points(self, X)
        landmarks, root = as_like(self.landmarks, X), as_like(self.root, X)
        if not is_numpy(X):
            return self.kernel(X, landmarks) @ root
        out = np.empty((len(X), self.n_features), dtype=X.dtype)
        step = max(1, BLOCK_BYTES // (8 * len(landmarks)))
        for start in range(0, len(X), step):
            np.matmul(self.kernel(X[start : start + step], landmarks), root, out=out[start : start + step])
        return out

    def slopes(self, X: Any) -> Any:
        """Return ∂φ(x_i)/∂x_ib at (i, b), shape (n, d, r)."""
        X = as_points(self, X)
        slopes = self.kernel.gradient(X, as_like(self.landmarks, X))
        return namespace(X).permute_dims(slopes, (0, 2, 1)) @ as_like(self.root, X)


@dataclass(eq=False, repr=False)
class Nystroem(FeatureMap):
    """Nyström features, k̃(x, z) = k(x, Z) k(Z, Z)⁻¹ k(Z, z) with landmarks Z, for any kernel on points.

    The fit with k̃ looks for h among the sections of the landmarks, with the norm of k. Prefer it to
    :class:`RandomFourier` where the spectrum of the kernel falls fast (smooth kernels of few columns), and for kernels
    without a spectral density, categories and functions of one's own included. Featurising n rows costs nM kernel
    values and O(nM²) operations; with all distinct rows as landmarks k̃ is k on them.

    Parameters
    ----------
    n_landmarks : int, default=300
        M, at most the number of rows; where fewer rows are distinct, all of these are taken.
    selection : {"uniform", "leverage", "kmeans", "pivots"}, default="uniform"
        ``"uniform"``: rows at random. ``"leverage"``: at random by their ridge leverage scores, which are large for
        rows that others are unlike. ``"pivots"``: greedily, the row that those before explain least, so that no row is
        explained badly. ``"kmeans"``: centres of clusters, which are no rows: not for categories. Of very many rows
        those are looked at that a draw has left: 20 for each landmark, and 20 000 at least.
    random_state : None, int or numpy.random.Generator
        Seed of the draws. None draws others each time.

    References
    ----------
    Williams and Seeger (2001); k-means: Zhang, Tsang and Kwok (2008); leverage: Musco and Musco (2017).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> kernel = Nystroem(60, selection="pivots").bind(Gaussian(0.1), X)
    >>> kernel
    NystroemKernel(Gaussian(gamma=0.1), 60 landmarks)
    >>> bool(np.max(np.abs(kernel(X) - Gaussian(0.1)(X))) < 1e-6)
    True
    """

    n_landmarks: int = 300
    selection: str = "uniform"
    random_state: Any = None

    def _check(self) -> None:
        check_number(self, "n_landmarks", self.n_landmarks, low=1, strict=False, integer=True)
        if self.selection not in SELECTIONS:
            raise parameter_error(self, "selection", self.selection, " or ".join(map(repr, SELECTIONS)))
        check_random_state(self, self.random_state)

    def _scalar(self, kernel, X, rng):
        landmarks = self._landmarks(kernel, X, rng)
        root = inverse_root(np.asarray(kernel(landmarks)))
        if root.shape[1] == 0:
            raise DataError(f"Nystroem: {kernel!r} is 0 at all landmarks.")
        return NystroemKernel(kernel, landmarks, root)

    def _matrix_valued(self, kernel, X, rng):
        landmarks = self._landmarks(TraceKernel(kernel), X, rng)
        values = kernel.blocks(landmarks, landmarks)
        m, p = values.shape[0], values.shape[2]
        return NystroemMatrixKernel(kernel, landmarks, inverse_root(values.transpose(0, 2, 1, 3).reshape(m * p, m * p)))

    def check_rows(self, n_rows: int) -> None:
        if self.n_landmarks > n_rows:
            raise DataError(
                f"Nystroem: n_landmarks must be at most n_samples = {n_rows}; got {self.n_landmarks}. With "
                f"so few rows the exact kernel costs no more: leave it away, or pass n_landmarks={n_rows}."
            )

    def limited(self, n_rows: int) -> Nystroem:
        return self.replace(n_landmarks=min(self.n_landmarks, n_rows))

    def _landmarks(self, kernel: Kernel, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        self.check_rows(len(X))
        rows = candidates(X, self.n_landmarks, rng)
        few = len(rows) <= self.n_landmarks
        return rows if few else SELECTIONS[self.selection](kernel, rows, self.n_landmarks, rng)


@dataclass(eq=False, repr=False)
class TraceKernel(Kernel):
    """The scalar kernel tr K(x, z)/p, by which landmarks of a matrix-valued kernel are chosen."""

    kernel: Any

    def _evaluate(self, X, Z):
        return np.einsum("ijaa->ij", self.kernel.blocks(X, Z)) / max(1, self.kernel.diagonal(X[:1]).shape[1])

    def _diagonal(self, X):
        return np.mean(np.einsum("iaa->ia", self.kernel.diagonal(X)), axis=1)


@dataclass(eq=False, repr=False)
class NystroemMatrixKernel(MatrixValuedKernel):
    """K̃(x, z) = K(x, Z)K(Z, Z)⁻¹K(Z, z) for a kernel whose values are p × p matrices, with features K(x, Z)·U Λ^{-½}.

    Functions are Σ_j K(·, z_j)c_j over M landmarks, with all that K knows of these: derivatives, potentials, parts.

    Parameters
    ----------
    kernel : MatrixValuedKernel
        K, with numbers for its parameters.
    landmarks : array of shape (M, d)
        Z.
    root : array of shape (M·p, r)
        U Λ^{-½}, without the directions whose eigenvalue is rounding.
    """

    kernel: MatrixValuedKernel
    landmarks: Any
    root: Any

    def __repr__(self) -> str:
        return f"NystroemMatrixKernel({self.kernel!r}, {len(self.landmarks)} landmarks)"

    @property
    def explicit(self) -> bool:
        """Always: the features are known."""
        return True

    def adapt(self, X):
        """Return a copy: all parameters are numbers."""
        return self.replace()

    def locate(self, layout):
        return self

    def require_outputs(self, X, n_outputs):
        self.kernel.require_outputs(X, n_outputs)

    def features(self, X):
        """Return Φ(x_i), shape (n, p, r)."""
        values = self.kernel.blocks(np.asarray(X, dtype=float), self.landmarks)
        n, m, p, _ = values.shape
        return (values.transpose(0, 2, 1, 3).reshape(n * p, m * p) @ self.root).reshape(n, p, -1)

    def blocks(self, X, Z):
        left, right = self.features(X), self.features(Z)
        n, p, r = left.shape
        products = left.reshape(n * p, r) @ right.reshape(-1, r).T
        return products.reshape(n, p, len(Z), p).transpose(0, 2, 1, 3)

    def of_features(self, coef: Any, n_outputs: int) -> MatrixExpansion:
        """Return the function of coefficients of the features as a sum over the landmarks."""
        return MatrixExpansion(self.kernel, self.landmarks, (self.root @ coef).reshape(len(self.landmarks), n_outputs))

    def feature_coef(self, expansion: Any) -> np.ndarray:
        return np.linalg.lstsq(self.root, np.ravel(expansion.coef), rcond=None)[0]

    def _over_landmarks(self, X: Any, coef: Any) -> np.ndarray:
        return (self.root @ self.adjoint(X, coef)).reshape(len(self.landmarks), -1)

    def jacobian(self, X, Z, C):
        return self.kernel.jacobian(X, self.landmarks, self._over_landmarks(Z, C))

    def parts(self, X, Z, C):
        return self.kernel.parts(X, self.landmarks, self._over_landmarks(Z, C))

    def potential(self, X, Z, C):
        return self.kernel.potential(X, self.landmarks, self._over_landmarks(Z, C))

    def stream_function(self, X, Z, C):
        return self.kernel.stream_function(X, self.landmarks, self._over_landmarks(Z, C))
