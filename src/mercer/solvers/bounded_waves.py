"""Waves whose coefficients are bounded one by one: the variant of features for which consistency is proved."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._params import check_number
from mercer.exceptions import DataError, UnsupportedError, parameter_error
from mercer.features import DirectedWaves, FourierKernel
from mercer.losses.base import Loss
from mercer.measures import Measure
from mercer.problems import Block
from mercer.problems.problem_rows import FeatureTerms, ProblemRows, read_factor
from mercer.rows.batch import read_batch

__all__ = ["BoundedWaves", "WaveFit"]

#: steps between two looks at the gap, and products that find the norm of the features
LOOK, NORM_STEPS = 20, 50
#: from the better of mean and last iterate it goes on anew once the gap is this part of that at the last such start
RESTART = 0.5


@dataclass(frozen=True)
class WaveFit:
    """h(x) = φ(x) C Rᵀ with ‖C_j‖ ≤ M/√D for each frequency, and how far it is from the best such function.

    ``coef`` is C (n_features, q); ``objective`` and ``gap`` are those of the mean loss, the latter relative to the
    larger of optimum and its bound as ``relative_gap``.
    """

    kernel: Any
    terms: FeatureTerms
    coef: np.ndarray
    objective: float
    gap: float
    relative_gap: float
    n_iter: int
    converged: bool

    def predict(self, X: Any) -> np.ndarray:
        """Return h(x) at the nodes, shape (n, m)."""
        return self.terms.forward(np.asarray(self.kernel.features(np.asarray(X, dtype=float))), self.coef)


class BoundedWaves:
    """Fit D waves with coefficients that are bounded one by one, in place of a penalty (Brault, 2017, equation 7.7).

    ::

        min_C  (1/n) Σ_i s_i L_i(φ(x_i) C Rᵀ)      such that  ‖C_j‖ ≤ M/√D for each frequency j

    C_j are the coefficients of cosine and sine of a frequency, in all columns. For D → ∞ and frequencies drawn
    independently (``RandomFourier(D, "iid")``) these are the functions with a spectral density that is at most M times
    that of the kernel: a sup-norm where ridge regression has a mean square, ‖h‖ ≤ M. For this problem, and not for
    ridge regression with features, the risk of the fit is proved to come to that of the best such function, at a rate
    of n^(−1/2) + D^(−1/2) (:func:`~mercer.guarantees.consistency_bound`). Prefer ridge regression
    (:class:`NormalEquations`) where nothing is to be proved: it is solved in closed form.

    Any loss with a conjugate will do. The primal-dual method of Chambolle and Pock is restarted from means of its
    iterates where these are better, and stops on the duality gap,

        (1/n) Σ_i s_i [L_i(h_i) + L_i*(−a_i)] + (M/√D) Σ_j ‖(1/n) Σ_i s_i φ_j(x_i) a_i W R‖.

    Parameters
    ----------
    kernel : FourierKernel or DirectedWaves
        What ``RandomFourier.bind`` makes of one kernel.
    measure : Measure
        Nodes and weights of the targets.
    loss : Loss
        A loss with a conjugate.
    bound : float
        M.
    factor : array of shape (m, q), optional
        R, RRᵀ = K_Θ or Γ; the identity by default. DirectedWaves have none.
    tol : float, default=1e-3
        Bound on the relative gap.
    max_iter : int, default=20000
        Steps at most.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.features import RandomFourier
    >>> from mercer.kernels import Gaussian
    >>> from mercer.losses import Huber
    >>> from mercer.measures import Measure
    >>> X = np.linspace(-1, 1, 100)[:, None]
    >>> y = np.sin(3 * X[:, 0]) + 0.3 * np.random.default_rng(0).normal(size=100)
    >>> waves = RandomFourier(50, "iid", random_state=0).bind(Gaussian(4.0), X)
    >>> solver = BoundedWaves(waves, Measure(np.zeros((1, 1)), np.ones(1)), Huber(0.5), bound=3.0)
    >>> fit = solver.fit(X, y)
    >>> bool(np.max(np.abs(fit.predict(X)[:, 0] - np.sin(3 * X[:, 0]))) < 0.3), fit.converged
    (True, True)
    """

    def __init__(
        self,
        kernel: Any,
        measure: Measure,
        loss: Loss,
        bound: float,
        factor: Any = None,
        tol: float = 1e-3,
        max_iter: int = 20_000,
    ) -> None:
        if not isinstance(kernel, (FourierKernel, DirectedWaves)):
            allowed = "the waves that RandomFourier.bind makes of one kernel"
            raise parameter_error(self, "kernel", kernel, allowed, "Terms of a sum have frequencies of their own.")
        if not isinstance(loss, Loss):
            raise parameter_error(self, "loss", loss, "a Loss", "For instance Square(), not 'square'.")
        if not loss.has_conjugate:
            raise UnsupportedError(f"BoundedWaves: {loss!r} does not give its conjugate, which bounds the optimum.")
        check_number(self, "bound", bound, low=0, hint="It is the largest density of h relative to that of the kernel.")
        check_number(self, "tol", tol, low=0)
        check_number(self, "max_iter", max_iter, low=1, strict=False, integer=True)
        self.kernel, self.measure, self.loss = kernel, measure, loss
        self.bound, self.tol, self.max_iter = float(bound), float(tol), int(max_iter)
        n_components = None if isinstance(kernel, FourierKernel) else int(kernel.directions.shape[2])
        self.factor = read_factor("BoundedWaves", factor, len(measure), n_components)

    @property
    def radius(self) -> float:
        """M/√D, the largest ‖C_j‖."""
        return self.bound / math.sqrt(self.kernel.frequencies.shape[1])

    @property
    def _frequency(self) -> np.ndarray:
        """Which frequency each feature belongs to."""
        n = self.kernel.frequencies.shape[1]
        if isinstance(self.kernel, FourierKernel):
            return np.tile(np.arange(n), 2)
        if len(self.kernel.places) != 1:
            raise UnsupportedError(f"BoundedWaves: features of {self.kernel!r} have several frequencies each.")
        return np.asarray(self.kernel.places)[0] % n

    def sizes(self, coef: np.ndarray) -> np.ndarray:
        """Return ‖C_j‖ of each frequency, shape (D,)."""
        squares = np.bincount(self._frequency, np.sum(coef**2, axis=1), self.kernel.frequencies.shape[1])
        return np.sqrt(squares)

    def project(self, coef: np.ndarray) -> np.ndarray:
        """Return the nearest coefficients within the bound."""
        shrink = self.radius / np.maximum(self.sizes(coef), self.radius)
        return coef * shrink[self._frequency][:, None]

    def fit(self, X: Any, Y: Any, sample_weight: Any = None) -> WaveFit:
        """Return the fit of rows X (n, d) and targets Y (n, m) or (n,), the same at all nodes; NaN was not observed."""
        batch = read_batch((X, Y, sample_weight), "BoundedWaves")
        m, n = len(self.measure), batch.n_rows
        if batch.Y.shape[1] not in (1, m):
            raise DataError(f"BoundedWaves: Y must have 1 column or {m}; got {batch.Y.shape[1]}.")
        self.loss.check_targets(np.broadcast_to(batch.Y, (n, m)), self.measure)
        weight = None if batch.weight is None else batch.weight.astype(float)
        total = float(n) if weight is None else float(weight.sum())
        features = np.asarray(self.kernel.features(batch.X.astype(float)))
        terms = FeatureTerms(self.loss, self.measure, self.factor, 1.0, n, total)
        rows = terms.rows(Block(features, batch.Y.astype(float), weight))
        return self._solve(terms, rows, np.zeros((features.shape[-1], terms.n_columns)))

    def _solve(self, terms: FeatureTerms, rows: ProblemRows, start: np.ndarray) -> WaveFit:
        """Return the fit by restarted primal-dual steps."""
        C, A = start, rows.prox(np.zeros(rows.Y.shape), 0.0)
        length, balance = _norm(rows, C), 1.0
        worst = null = rows.share * rows.value(rows.predict(C))
        best, primal, dual = C, null, self._dual(rows, A)
        first = mean = (C, A)
        done = since = 0
        while _relative(primal - dual, primal, dual, null) > self.tol and done < self.max_iter:
            # the step of C is balance/length, that of A its inverse: their product is 1/length²
            ahead = self.project(C + balance / length * rows.share * rows.along(A))
            A = rows.prox(A - rows.predict(2 * ahead - C) / (balance * length), 1 / (balance * length))
            C, done, since = ahead, done + 1, since + 1
            mean = tuple(old + (new - old) / since for old, new in zip(mean, (C, A), strict=True))
            if done % LOOK:
                continue
            gaps = []
            for one in ((C, A), mean):
                H = rows.predict(one[0])
                value, lower = rows.share * rows.value(H), self._dual(rows, one[1])
                if rows.loss.smooth:  # at the optimum A is minus the slope
                    lower = max(lower, self._dual(rows, -rows.slope(H)))
                best, primal, dual = (one[0] if value < primal else best), min(value, primal), max(lower, dual)
                gaps.append(value - lower)
            if min(gaps) <= RESTART * worst or since > done / 2:
                worst, (C, A) = min(gaps), mean if gaps[1] < gaps[0] else (C, A)
                moved = [float(np.linalg.norm(new - old)) for old, new in zip(first, (C, A), strict=True)]
                if min(moved) > 0:
                    balance = math.sqrt(balance * moved[0] / (moved[1] * math.sqrt(rows.share)))
                first, mean, since = (C, A), (C, A), 0
        relative = _relative(primal - dual, primal, dual, null)
        return WaveFit(self.kernel, terms, best, primal, primal - dual, relative, done, relative <= self.tol)

    def _dual(self, rows: ProblemRows, A: np.ndarray) -> float:
        """Return −(1/n) Σ_i s_i L_i*(−a_i) − (M/√D) Σ_j ‖(1/n) Σ_i s_i φ_j(x_i) a_i W R‖, a bound from below."""
        image = rows.share * rows.along(A)
        return -rows.share * rows.conjugate(A) - self.radius * float(self.sizes(image).sum())


def _norm(rows: ProblemRows, like: np.ndarray) -> float:
    """Return a bound of the norm of C ↦ (φ(x_i) C Rᵀ)_i in the mean of squares over rows, by the power method."""
    C, size = np.random.default_rng(0).normal(size=like.shape), 1.0
    for _ in range(NORM_STEPS):
        C /= np.linalg.norm(C)
        C = rows.share * rows.along(rows.predict(C))
        size = float(np.linalg.norm(C))
    return 1.05 * math.sqrt(size) or 1.0


def _relative(gap: float, primal: float, dual: float, null: float) -> float:
    """Return the gap in units of the objective; 0 where 0 is optimal and costs nothing."""
    size = max(abs(primal), abs(dual), 1e-6 * abs(null))
    return gap / size if size > 0 else 0.0
