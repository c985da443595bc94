"""Online learning with a kernel itself: stochastic gradients of a stream, on no more rows than a budget."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from mercer._params import check_number
from mercer.exceptions import DataError, UnsupportedError, parameter_error
from mercer.losses.base import Loss
from mercer.magnitudes import check_alpha
from mercer.operator_valued import BoundDecomposable, BoundKernel, BoundMatrixKernel
from mercer.operator_valued.base import Expansion
from mercer.rows import Batch
from mercer.solvers.stochastic_gradient import START, check_loss, complete_batch, typical_curvature

__all__ = ["BudgetedGradient"]


class BudgetedGradient:
    """Fit h = Σ_i K(·, x_i)c_i to a stream by stochastic gradients in the space of K, with a budget of rows.

    ::

        min_{h,b}  E L(h(x) + b) + (λ/2)(‖h‖² + ‖b − b₀‖²_μ)
        h ← (1 − γ_tλ)h − γ_t mean of K(·, x)∇L(h(x) + b)

    so that a step lets all coefficients decay by 1 − γ_tλ and adds c = −γ_tW∇L for each of its rows; one that comes
    again adds to its own. With a constant rate γ and one row a step this is NORMA (Kivinen, Smola and Williamson,
    2004), for operator-valued kernels ONORMA, whose model is the last iterate: it follows what changes. Without a rate,
    γ_t = 2/(λ(t + t₀)) and the model is the average of the iterates, as in :class:`StochasticGradient`, with what is
    proved there.

    Beyond the budget the term with the least norm ‖K(·, x_i)c_i‖ is projected on the one other row that comes nearest
    to it. ``truncation`` is a bound of the norm of all that was lost in this, decay included: |h°(x) − h(x)| is at most
    ``truncation``·√k(x, x), with h° of the same gradients and all terms. A step costs as many kernel values as there
    are rows. Prefer features, and :class:`StochasticGradient` or :class:`NormalEquations`, where the kernel has good
    ones; this is for kernels without, and for streams that drift.

    Parameters
    ----------
    kernel : BoundDecomposable or BoundMatrixKernel
        An operator-valued kernel that was bound to a measure, ``Decomposable(k, output_kernel).bind(measure)`` or
        ``CurlFree(k).bind(measure)``, with numbers for its parameters.
    loss : Loss
        The loss.
    alpha : float
        λ > 0.
    budget : int, default=500
        Rows that are kept at most.
    rate : float, optional
        γ, constant, with γλ < 1; decreasing by default.
    fit_intercept : bool, default=False
        Whether there is b, which costs as a function of the kernel 1 would beyond ``offset``.
    offset : array of shape (m,), optional
        b₀; 0 by default.
    batch_size : int, default=1
        Rows of a step.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian, Identity
    >>> from mercer.losses import Huber
    >>> from mercer.measures import Measure
    >>> from mercer.operator_valued import Decomposable
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(2000, 1))
    >>> bound = Decomposable(Gaussian(4.0), Identity()).bind(Measure(np.zeros((1, 1)), np.ones(1)))
    >>> fit = BudgetedGradient(bound, Huber(0.5), 1e-3, budget=50, rate=0.3).update((X, np.sin(3 * X[:, 0])))
    >>> fit.n_kept, bool(np.max(np.abs(fit.predict(X)[:, 0] - np.sin(3 * X[:, 0]))) < 0.2)
    (50, True)
    """

    def __init__(
        self,
        kernel: BoundKernel,
        loss: Loss,
        alpha: float,
        budget: int = 500,
        rate: float | None = None,
        fit_intercept: bool = False,
        offset: Any = None,
        batch_size: int = 1,
    ) -> None:
        if not isinstance(kernel, (BoundDecomposable, BoundMatrixKernel)) or kernel.slopes is not None:
            hint = "Decomposable(kernel, output_kernel).bind(measure), or that of a MatrixValuedKernel."
            raise parameter_error(self, "kernel", kernel, "a bound kernel with values at nodes", hint)
        if kernel.pairwise:
            raise UnsupportedError("BudgetedGradient: of a precomputed kernel no values with later rows are known.")
        check_loss(self, loss)
        check_alpha("BudgetedGradient", alpha)
        for name, value in (("budget", budget), ("batch_size", batch_size)):
            check_number(self, name, value, low=1, strict=False, integer=True)
        if rate is not None:
            check_number(self, "rate", rate, low=0, high=1 / alpha)
        self.kernel: Any = kernel
        self.loss, self.alpha = loss, float(alpha)
        self.budget, self.rate, self.batch_size = int(budget), rate, int(batch_size)
        self.fit_intercept, m = bool(fit_intercept), len(kernel.measure)
        self.offset = np.zeros(m) if offset is None else np.asarray(offset, dtype=float)
        if self.offset.shape != (m,):
            raise DataError(f"BudgetedGradient: offset must have shape ({m},); got {self.offset.shape}.")
        self._weights = np.asarray(kernel.measure.weights, dtype=float)
        self._outputs = np.eye(m)
        if isinstance(kernel, BoundDecomposable):
            self._outputs = np.asarray(kernel.output_gram().to_dense())
        #: what was done so far
        self.n_steps = self.n_rows = 0
        self._start: float | None = None
        self._total = 0.0
        self._X: Any = None
        # each in the last iterate, and in the mean of all
        self._coef = self._means = np.zeros((0, m))
        self._b = self._mean_b = np.zeros(m)
        self._left_out = self._mean_left_out = 0.0

    # -- the model ---------------------------------------------------------------------------------------------

    @property
    def averages(self) -> bool:
        """Whether the model is the average of the iterates."""
        return self.rate is None

    @property
    def n_kept(self) -> int:
        """The number of rows that the model is made of."""
        return len(self._coef)

    @property
    def expansion(self) -> Expansion:
        """The fitted function h."""
        self._ask()
        return self.kernel.expand(self._X, self._means if self.averages else self._coef)

    @property
    def intercept(self) -> np.ndarray:
        """The intercept b at the nodes, shape (m,)."""
        return self.offset + (self._mean_b if self.averages else self._b)

    @property
    def truncation(self) -> float:
        """A bound of the norm of all that h has lost to the budget; 0 within it."""
        return self._mean_left_out if self.averages else self._left_out

    def predict(self, X: Any) -> np.ndarray:
        """Return h(x) + b at the nodes, shape (n, m)."""
        return np.asarray(self.kernel.observe(self.expansion, np.asarray(X, dtype=float))) + self.intercept

    def _ask(self) -> None:
        if self._X is None:
            raise DataError("BudgetedGradient: there are no rows yet. Call update(batch) or read(rows) first.")

    # -- learning ----------------------------------------------------------------------------------------------

    def update(self, batch: Any) -> BudgetedGradient:
        """Make the steps of a batch (X, Y) or (X, Y, weight), in its order; one that is refused changes nothing.

        Weights have the mean 1 over all rows.
        """
        batch = complete_batch("BudgetedGradient", batch, self.loss, self.kernel.measure)
        if self._X is not None and batch.X.shape[1] != self._X.shape[1]:
            raise DataError(
                f"BudgetedGradient: X has {batch.X.shape[1]} columns; that of earlier batches had {self._X.shape[1]}."
            )
        if self._start is None:
            size = self._largest(batch.X) + self.fit_intercept
            curvature = typical_curvature(self.loss, self.kernel.measure, batch.Y)
            self._start = START * (curvature * size + self.alpha) / self.alpha
        for start in range(0, batch.n_rows, self.batch_size):
            self._step(batch.part(slice(start, start + self.batch_size)))
        self.n_rows += batch.n_rows
        return self

    def read(self, rows: Iterable[Any]) -> BudgetedGradient:
        """Make the steps of all batches of a source; where it fails, what was learned before is kept."""
        for batch in rows:
            self.update(batch)
        return self

    def begin(self, X: Any, coef: Any, intercept: Any) -> BudgetedGradient:
        """Start from a model Σ_i K(·, x_i)c_i + b, with as many of its rows as the budget has."""
        self._X, self._coef = np.array(X, dtype=float), np.array(coef, dtype=float)
        self._means, self.offset = self._coef.copy(), np.array(intercept, dtype=float)
        self._truncate()
        return self

    def _step(self, rows: Batch) -> None:
        assert self._start is not None  # update has seen to it
        time = self.n_steps + self._start
        self._average(time - 1)
        gamma = 2 / (self.alpha * time) if self.rate is None else self.rate
        slope = self._slope(rows)
        self._coef = (1 - gamma * self.alpha) * self._coef
        self._left_out *= 1 - gamma * self.alpha
        for x, c in zip(rows.X, -(gamma / rows.n_rows) * self._weights * slope, strict=True):
            self._add(x, c)
        if self.fit_intercept:
            self._b = (1 - gamma * self.alpha) * self._b - gamma * np.mean(slope, axis=0)
        self.n_steps += 1
        self._truncate()

    def _slope(self, rows: Batch) -> np.ndarray:
        """Return s·∇L at the last iterate."""
        measure = self.kernel.measure
        U = np.zeros((rows.n_rows, len(measure))) + self.offset + self._b
        if self._X is not None:
            U += np.asarray(self.kernel.observe(self.kernel.expand(self._X, self._coef), rows.X))
        slope = np.asarray(self.loss.gradient(rows.Y, U, measure))
        return slope if rows.weight is None else slope * rows.weight[:, None]

    def _add(self, x: np.ndarray, c: np.ndarray) -> None:
        """Add a term, to that of the same row where there is one."""
        if self._X is None:
            self._X = np.empty((0, len(x)))
        same = np.flatnonzero(np.all(x == self._X, axis=1))
        if len(same):
            self._coef[same[0]] += c
            return
        self._X = np.concatenate([self._X, x[None]])
        self._coef = np.concatenate([self._coef, c[None]])
        self._means = np.concatenate([self._means, np.zeros((1, len(c)))])

    def _truncate(self) -> None:
        """Replace the smallest terms, one by one, by what another row can do of them; remember what it cannot."""
        while len(self._coef) > self.budget:
            out = int(np.argmin(self._squares(self._X, self._coef)))
            x, terms = self._X[out : out + 1], np.stack([self._coef[out], self._means[out]])
            self._X, self._coef, self._means = (
                np.delete(array, out, axis=0) for array in (self._X, self._coef, self._means)
            )
            place, moved, left = self._projected(x, terms)
            self._coef[place] += moved[0]
            self._means[place] += moved[1]
            self._left_out += left[0]
            self._mean_left_out += left[1]

    def _projected(self, x: np.ndarray, terms: np.ndarray) -> tuple[int, np.ndarray, np.ndarray]:
        """Return which row comes nearest to the first of K(·, x)c, coefficients there of all, and norms of the rest."""
        kernel, X = self.kernel.kernel, self._X
        if not isinstance(self.kernel, BoundMatrixKernel):
            values, sizes = np.asarray(kernel(x, X))[0], np.asarray(kernel.diagonal(X))
            place = int(np.argmax(values**2 / sizes))
            moved = (values[place] / sizes[place]) * terms
        else:
            values, sizes = np.asarray(kernel.blocks(X, x))[:, 0], np.asarray(kernel.diagonal(X))
            image = values @ terms[0]
            solved = np.linalg.solve(sizes, image[:, :, None])[:, :, 0]
            place = int(np.argmax(np.sum(image * solved, axis=1)))
            moved = np.linalg.solve(sizes[place], values[place] @ terms.T).T
        twice = np.concatenate([x, x])
        squares = self._squares(twice, terms) - self._squares(np.concatenate([X[place : place + 1]] * 2), moved)
        return place, moved, np.sqrt(np.maximum(squares, 0.0))

    def _average(self, weight: float) -> None:
        """Take the iterates into their weighted mean."""
        self._total += weight
        share = weight / self._total
        self._means = self._means + share * (self._coef - self._means)
        self._mean_b = self._mean_b + share * (self._b - self._mean_b)
        self._mean_left_out += share * (self._left_out - self._mean_left_out)

    # -- sizes of terms ----------------------------------------------------------------------------------------

    def _squares(self, X: np.ndarray, C: np.ndarray) -> np.ndarray:
        """Return ‖K(·, x_i)c_i‖² = ⟨c_i, K(x_i, x_i)c_i⟩."""
        values = np.asarray(self.kernel.kernel.diagonal(X))
        if values.ndim == 1:
            return np.maximum(values * np.sum((C @ self._outputs) * C, axis=1), 0.0)
        return np.maximum(np.einsum("ij,ijk,ik->i", C, values, C), 0.0)

    def _largest(self, X: np.ndarray) -> float:
        """Return the largest ‖K(x, x)‖ of some rows, in the geometry of μ."""
        values, root = np.asarray(self.kernel.kernel.diagonal(X)), np.sqrt(self._weights)
        if values.ndim == 1:
            return float(values.max()) * float(np.linalg.norm(root[:, None] * self._outputs * root, 2))
        return float(np.linalg.norm(root[:, None] * values * root, ord=2, axis=(1, 2)).max())
