"""The square loss for many λ at once: objectives, coefficients and two criteria that choose λ."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mercer.backend import as_like, to_numpy
from mercer.exceptions import UnsupportedError, parameter_error
from mercer.linalg import CentredBasis, Gram
from mercer.magnitudes import check_alpha
from mercer.problems import DualProblem
from mercer.solvers.spectral_filter import ACCURACY, CompressedSpectrum, compress_spectrum

__all__ = ["OutputSpectrum", "RidgePath", "check_alphas", "input_basis", "output_spectrum"]

#: numbers of one working array of the leave-one-out pass, so that a few of them stay small
WORKING_ENTRIES = 2**21
#: output eigenvalues within this factor share their interpolation nodes
GROUP_RATIO = 8.0
#: trace of the input Gram that thin eigenbases leave out, in units of the smallest λn/τ
LEFT_OUT = 1e-4
#: least room, one minus the leverage, that a residual is divided by
LEAST_ROOM = 1e-12


class OutputSpectrum(NamedTuple):
    """Eigenvalues of the whitened output Gram and the targets in its eigenvectors."""

    values: np.ndarray  #: (m,), descending
    vectors: np.ndarray  #: (m, m)
    targets: np.ndarray  #: (n, m), whitened and without their mean where there is an intercept


class RidgePath:
    """All ridge fits of one problem from two eigendecompositions, and how well each predicts what it has not seen.

    With σ_a, τ_j the eigenvalues of the whitened Gram matrices, U and V their eigenvectors and Z = UᵀYV, the residuals
    of the fit with λ are U[Z_aj·F_aj]Vᵀ, F_aj = λn/(λn + σ_aτ_j); the intercept is handled by centring Y and the input
    Gram. In an eigenvector of the output Gram all is scalar ridge regression, with residuals r_ij and leverages
    1 − ρ_ij, ρ_ij = Σ_a U_ia² F_aj (less the intercept's share s_i/n).

    The leave-one-out pass costs some twelve products with U, not one for each λ, because F is interpolated in σ, with
    a relative accuracy of 1e-10 (:func:`~mercer.solvers.spectral_filter.compress_spectrum`). NumPy only: other arrays
    are converted.

    Parameters
    ----------
    problem : DualProblem
        On a complete grid; its loss and its λ are not used.
    alphas : array-like of float
        Values of λ.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg import Dense, Kronecker
    >>> from mercer.losses import Square
    >>> from mercer.measures import Measure
    >>> from mercer.problems import DualProblem
    >>> gram = Kronecker(Dense(np.array([[1.0, 0.5], [0.5, 1.0]])), Dense(np.eye(1)))
    >>> Y, mu = np.array([[1.0], [3.0]]), Measure(np.zeros((1, 1)), np.ones(1))
    >>> path = RidgePath(DualProblem(gram, Square(), Y, mu, alpha=1.0), [0.5, 1.0])
    >>> path.leave_one_out_errors  # e.g. y₁ = 1 is predicted by 3·0.5/(1 + λn)
    array([1.90625   , 2.06944444])
    >>> path.leave_one_out_predictions(0.5)
    array([[0.75],
           [0.25]])
    """

    def __init__(
        self,
        problem: DualProblem,
        alphas: Any,
        *,
        inputs: CentredBasis | None = None,
        outputs: OutputSpectrum | None = None,
    ) -> None:
        check_complete(problem)
        self.problem = problem
        self.alphas = check_alphas(alphas)
        self.shifts = self.alphas / problem.share  # λn
        self.outputs = output_spectrum(problem, problem.gram) if outputs is None else outputs
        if inputs is None:
            inputs = input_basis(problem, problem.gram, self.alphas, float(self.outputs.values[0]))
        self.inputs = inputs
        sigma, tau = self.inputs.values, self.outputs.values
        top = float(sigma[-1]) if len(sigma) else 0.0
        # beyond these columns the fits are zero to all digits that count: residuals are the targets
        self._active = int(np.sum(top * tau > ACCURACY * float(np.min(self.shifts))))

    # -- the fits ----------------------------------------------------------------------------------------------

    @property
    def objectives(self) -> np.ndarray:
        """Minima of (1/n) Σ_i s_i ½‖y_i − h(x_i) − b‖² + (λ/2)‖h‖², that is ⟨Y, A⟩/(2n); shape (len(alphas),)."""
        return 0.5 * self.problem.share * self._moments[0].sum(axis=1)

    @property
    def training_errors(self) -> np.ndarray:
        """(1/n) Σ_i s_i ½‖y_i − h(x_i) − b‖² of each fit, shape (len(alphas),)."""
        return 0.5 * self.problem.share * self._moments[1].sum(axis=1)

    def coef(self, alpha: float) -> Any:
        """Return the dual array A = Y − H − b of the fit with λ = ``alpha``, shape (n, m)."""
        return self._back(self._residuals(self._filter(alpha)))

    # -- prediction of what was left out -----------------------------------------------------------------------

    @property
    def generalised_errors(self) -> np.ndarray:
        """Generalised cross-validation: ½ Σ_j [(1/n) Σ_i r_ij²] / [(1/n) Σ_i ρ_ij]² for each λ."""
        _, squares, room = self._moments
        return 0.5 * self.problem.share * (squares / np.maximum(room, LEAST_ROOM) ** 2).sum(axis=1)

    @cached_property
    def leave_one_out_errors(self) -> np.ndarray:
        """(1/n) Σ_i s_i ½‖y_i − h_{−i}(x_i)‖² for each λ, that is ½(1/n) Σ_ij (r_ij/ρ_ij)², λn being kept."""
        targets = self.outputs.targets
        idle = targets[:, self._active :]
        total = np.full(len(self.alphas), float(np.sum((idle / self._idle_room[:, None]) ** 2)))
        for columns, spectrum in self._groups():
            total += self._squared_errors(columns, spectrum)
        return 0.5 * self.problem.share * total

    def leave_one_out_predictions(self, alpha: float) -> Any:
        """Return h_{−i}(x_i) + b_{−i}, the predictions of each sample without it, shape (n, m)."""
        gains = self._filter(alpha)
        return self.problem.Y - self._back(self._residuals(gains) / np.maximum(self._room(gains), LEAST_ROOM))

    def leverages(self, alpha: float) -> np.ndarray:
        """Return Σ_j (1 − ρ_ij), the trace of the derivative of the i-th fitted curve in the i-th curve, shape (n,).

        They sum to the degrees of freedom of the fit.
        """
        return np.sum(1 - self._room(self._filter(alpha)), axis=1)

    # -- in the eigenbases -------------------------------------------------------------------------------------

    @property
    def _n_idle(self) -> int:
        return len(self.outputs.values) - self._active

    @cached_property
    def _inner(self) -> np.ndarray:
        """Z = UᵀYV on the active columns, (r, q)."""
        return self.inputs.vectors.T @ self.outputs.targets[:, : self._active]

    @cached_property
    def _squares(self) -> np.ndarray:
        """U_ia², (r, n)."""
        return self.inputs.vectors.T**2

    @cached_property
    def _residual_outside(self) -> np.ndarray:
        """What no eigenvector reaches, (n, q), or (1, 1) where the basis is complete and there is but rounding."""
        if self.inputs.complete:
            return np.zeros((1, 1))
        return self.outputs.targets[:, : self._active] - self.inputs.vectors @ self._inner

    @cached_property
    def _idle_room(self) -> np.ndarray:
        """ρ_i where nothing is fitted but the intercept, (n,)."""
        constant = self.inputs.constant
        return np.maximum(np.ones(self.problem.shape[0]) if constant is None else 1 - constant**2, LEAST_ROOM)

    @cached_property
    def _room_outside(self) -> np.ndarray:
        """ρ_i − Σ_a U_ia² F_aj, (n, 1), or (1, 1)."""
        if self.inputs.complete:
            return np.zeros((1, 1))
        return (self._idle_room - np.sum(self._squares, axis=0))[:, None]

    def _filter(self, alpha: float) -> np.ndarray:
        """F_aj on the active columns, (r, q)."""
        check_alpha(self, alpha)
        shift = float(alpha) / self.problem.share
        return shift / (shift + self.inputs.values[:, None] * self.outputs.values[: self._active])

    def _room(self, gains: np.ndarray) -> np.ndarray:
        """ρ_ij, (n, m)."""
        room = self._room_outside + self._squares.T @ gains
        return np.concatenate([room, np.repeat(self._idle_room[:, None], self._n_idle, axis=1)], axis=1)

    def _residuals(self, gains: np.ndarray) -> np.ndarray:
        """Residuals in the eigenvectors of the output Gram, (n, m)."""
        active = self._residual_outside + self.inputs.vectors @ (gains * self._inner)
        return np.concatenate([active, self.outputs.targets[:, self._active :]], axis=1)

    def _back(self, array: np.ndarray) -> Any:
        """From the eigenvectors of the output Gram to values at the nodes."""
        problem = self.problem
        return problem.gram.unwhiten(as_like(array @ self.outputs.vectors.T, problem.Y))

    @cached_property
    def _moments(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Σ_i y_ij r_ij, Σ_i r_ij² and (1/n) Σ_i ρ_ij for each λ and column, (len(alphas), m)."""
        n, sigma = self.problem.shape[0], self.inputs.values
        idle = np.sum(self.outputs.targets**2, axis=0)
        products, squares = (np.tile(idle, (len(self.alphas), 1)) for _ in range(2))
        room = np.full(products.shape, float(np.mean(self._idle_room)))
        outside = np.sum(self._residual_outside**2, axis=0)
        fixed = float(np.mean(self._room_outside)) if not self.inputs.complete else 0.0
        energy = self._inner**2
        for j in range(self._active):
            t = self.shifts / self.outputs.values[j]
            gains = t[:, None] / (t[:, None] + sigma)
            beyond = outside[j if len(outside) > 1 else 0]
            room[:, j] = fixed + gains.sum(axis=1) / n
            products[:, j] = beyond + gains @ energy[:, j]
            gains *= gains
            squares[:, j] = beyond + gains @ energy[:, j]
        return products, squares, room

    def _groups(self) -> Iterator[tuple[slice, CompressedSpectrum]]:
        """Active columns of similar τ, few at a time, with interpolation nodes for all their filters."""
        tau = self.outputs.values
        start = 0
        while start < self._active:
            stop = start + int(np.sum(tau[start : self._active] * GROUP_RATIO > tau[start]))
            smallest = float(np.min(self.shifts)) / float(tau[start])
            yield slice(start, stop), compress_spectrum(self.inputs.values, smallest, len(self.alphas))
            start = stop

    def _squared_errors(self, group: slice, spectrum: CompressedSpectrum) -> np.ndarray:
        """Σ_ij (r_ij/ρ_ij)² over some columns j for each λ. Samples are the last axis of all arrays here."""
        n, vectors = self.problem.shape[0], self.inputs.vectors.T
        size = len(spectrum.nodes)
        room_parts = np.empty((size, n))
        for a, k, weights in spectrum.blocks:
            room_parts[k] = weights.T @ self._squares[a]
        total = np.zeros(len(self.alphas))
        step = max(1, WORKING_ENTRIES // (n * (size + 2 * len(self.alphas))))
        for start in range(group.start, group.stop, step):
            columns = slice(start, min(start + step, group.stop))
            residual_parts = np.empty((columns.stop - start, size, n))
            for a, k, weights in spectrum.blocks:
                weighted = self._inner[a, columns].T[:, None, :] * weights.T
                product = weighted.reshape(-1, weighted.shape[2]) @ vectors[a]
                residual_parts[:, k] = product.reshape(*weighted.shape[:2], n)
            filters = spectrum.filters(self.shifts / self.outputs.values[columns, None])
            errors, room = filters @ residual_parts, filters @ room_parts
            if not self.inputs.complete:
                errors += self._residual_outside.T[columns, None, :]
                room += self._room_outside.T
            errors /= np.maximum(room, LEAST_ROOM, out=room)
            total += np.einsum("jli,jli->l", errors, errors)
        return total


def check_complete(problem: DualProblem) -> None:
    """Refuse a mask, which couples the nodes, and kernels that do not decompose."""
    if not problem.gram.decomposes:
        raise UnsupportedError(
            "Closed-form leave-one-out and generalised cross-validation need a kernel that decomposes into "
            f"k_X(x, z)·K_Θ; the Gram operator is {problem.gram!r}. Use cross-validation by folds."
        )
    if problem.measure.observed is not None:
        raise UnsupportedError(
            "Closed-form leave-one-out and generalised cross-validation need a complete grid: missing entries couple "
            "the nodes. Use cross-validation by folds."
        )


def check_alphas(alphas: Any) -> np.ndarray:
    """Return the values of λ as an array, or refuse them."""
    values = np.atleast_1d(np.asarray(alphas, dtype=float))
    if values.ndim != 1 or not values.size or not np.all(np.isfinite(values)) or np.min(values) <= 0:
        raise parameter_error("RidgePath", "alphas", alphas, "one or more positive numbers")
    return values


def output_spectrum(problem: DualProblem, gram: Gram) -> OutputSpectrum:
    """Return the eigenpairs of the whitened output Gram, the largest first, and the targets in them."""
    targets = to_numpy(problem.gram.whiten(problem.Y)).astype(float)
    if problem.fit_intercept:
        constant = np.sqrt(to_numpy(problem.sample_weight).astype(float) / problem.shape[0])
        targets = targets - np.outer(constant, constant @ targets)
    tau, vectors = gram.output_basis()
    return OutputSpectrum(tau, vectors, targets @ vectors)


def input_basis(problem: DualProblem, gram: Gram, alphas: np.ndarray, tau: float) -> CentredBasis:
    """Return the eigenpairs of the whitened input Gram: thin where its rank is small for all λ/τ at hand."""
    smallest = float(np.min(alphas)) / problem.share  # λn
    return gram.input_basis(LEFT_OUT * smallest / max(tau, np.finfo(float).tiny), problem.fit_intercept)
