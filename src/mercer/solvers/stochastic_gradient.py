"""Stochastic gradients over rows, points of Θ and blocks of features: fits of streams that are seen once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from mercer._params import check_number
from mercer.exceptions import DataError, UnsupportedError, parameter_error
from mercer.losses.base import Loss
from mercer.magnitudes import check_alpha
from mercer.measures import Measure
from mercer.rows import Batch
from mercer.rows.batch import read_batch
from mercer.solvers.feature_blocks import feature_blocks

__all__ = ["StochasticGradient"]

#: t₀ in units of the smoothness of the objective over λ, for which the rate is proved
START = 8.0
#: rows of a step
ROWS_OF_A_STEP = 32


class StochasticGradient:
    """Fit h = Σ_i Φ_i w_i in explicit features by averaged stochastic gradients, one pass over the rows or several.

    ::

        min_{w,b}  (1/n) Σ_i s_i L_i(h(x_i) + b) + ⟨c, b⟩_μ + (λ/2)(‖w‖² + ‖b − b₀‖²_μ)

    A step takes some rows, all points of Θ or some that are drawn from μ, and one block of features that is drawn
    (there is one block unless the features are :class:`~mercer.features.SeededFourier`'s):

        w_i ← w_i − γ_t B [ mean of Φ_i(x)ᵀ∇L + λ w_i ],    γ_t = 2/(λ(t + t₀)),    t₀ = 8𝓛/λ

    with B the number of blocks and 𝓛 = B(ℓ·sup‖K(x, x)‖ + λ), ℓ the Lipschitz constant of ∇L; for losses with bounded
    gradients ℓ is one over the typical residual of the first rows. The model is the average of the iterates with
    weights t + t₀ − 1, and its objective is above the minimum by

        E[J − J*] ≤ 2λt₀²‖w*‖²/T² + 8σ²/(λT)

    on average (σ² the variance of the gradients at the minimum), for random rows: see Notes. Steps as short as the
    papers' constant ones do not converge but to a neighbourhood. With λ = 1e-6 millions of rows are too few; prefer
    :class:`NormalEquations` for the square loss, and :class:`StreamedADMM` where rows can be read several times, which
    certify what they return.

    Parameters
    ----------
    features : Kernel, MatrixValuedKernel or SeededFeatures
        With explicit features; of matrix-valued kernels the outputs are the points of μ.
    loss : Loss
        The loss; with ``n_nodes`` one that is pointwise.
    measure : Measure
        μ, the nodes and weights of the targets.
    alpha : float
        λ > 0.
    factor : array of shape (m, q), optional
        R with K_Θ = R Rᵀ at the nodes, such as random features of them; the identity by default.
    fit_intercept : bool, default=False
        Whether there is b, which costs as a function of the kernel 1 would beyond ``offset``.
    offset : array of shape (m,), optional
        b₀; 0 by default.
    batch_size : int, default=32
        Rows of a step.
    n_nodes : int, optional
        How many nodes are drawn for a step; all by default.
    seed : int, default=0
        Of the nodes and blocks that are drawn.
    intercept_slope : array of shape (m,), optional
        c; 0 by default, and 1 for the offsets −b of level sets.

    Notes
    -----
    With scalar kernels, ``n_nodes=1`` and ``batch_size=1`` this is Algorithm 3.2 of Lambert (features in x and θ); with
    seeded blocks Algorithm 4 of Brault, for scalar and matrix-valued kernels, but that blocks are drawn, not taken in
    turn, as the proof needs. It is that of Lacoste-Julien, Schmidt and Bach (2012) with E‖G‖² ≤ 4𝓛(J − J*) + 2σ².

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.features import RandomFourier
    >>> from mercer.kernels import Gaussian
    >>> from mercer.losses import Square
    >>> from mercer.measures import Measure
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(4000, 1))
    >>> kernel = RandomFourier(30, random_state=0).bind(Gaussian(2.0), X)
    >>> fit = StochasticGradient(kernel, Square(), Measure(np.zeros((1, 1)), np.ones(1)), 1e-2, batch_size=2)
    >>> _ = fit.update((X, np.sin(3 * X[:, 0])))
    >>> fit.n_steps, bool(np.max(np.abs(fit.predict(X)[:, 0] - np.sin(3 * X[:, 0]))) < 0.3)
    (2000, True)
    """

    def __init__(
        self,
        features: Any,
        loss: Loss,
        measure: Measure,
        alpha: float,
        factor: Any = None,
        fit_intercept: bool = False,
        offset: Any = None,
        batch_size: int = ROWS_OF_A_STEP,
        n_nodes: int | None = None,
        seed: int = 0,
        intercept_slope: Any = None,
    ) -> None:
        check_loss(self, loss)
        check_alpha("StochasticGradient", alpha)
        check_number(self, "batch_size", batch_size, low=1, strict=False, integer=True)
        m = len(measure)
        if n_nodes is not None:
            check_number(self, "n_nodes", n_nodes, low=1, strict=False, integer=True)
            if not loss.pointwise:
                raise parameter_error(self, "n_nodes", n_nodes, "None for losses of norms, which see all nodes")
        self.blocks = feature_blocks(features, measure, factor)
        self.loss, self.measure, self.alpha = loss, measure, float(alpha)
        self.fit_intercept, self.batch_size, self.n_nodes = bool(fit_intercept), int(batch_size), n_nodes
        self.offset, self.intercept_slope = (
            np.zeros(m) if given is None else np.asarray(given, dtype=float) for given in (offset, intercept_slope)
        )
        for name in ("offset", "intercept_slope"):
            if getattr(self, name).shape != (m,):
                raise DataError(f"StochasticGradient: {name} must have shape ({m},); got {getattr(self, name).shape}.")
        self._weights = np.asarray(measure.weights, dtype=float)
        self._rng = np.random.default_rng(seed)
        #: what was done so far
        self.n_steps = self.n_rows = 0
        self._start: Any = None
        self._total: Any = 0.0
        self._coef: list[np.ndarray] = []
        self._means: list[np.ndarray] = []
        self._b = self._mean_b = np.zeros(m)

    # -- the model ---------------------------------------------------------------------------------------------

    @property
    def coef(self) -> list[np.ndarray]:
        """Coefficients of each block, averages of the iterates; none before the first rows."""
        return self._means

    @property
    def intercept(self) -> np.ndarray:
        """The intercept b at the nodes, shape (m,)."""
        return self.offset + self._mean_b

    def predict(self, X: Any) -> np.ndarray:
        """Return h(x) + b at the nodes, shape (n, m)."""
        if not self._means:
            raise DataError("StochasticGradient: there are no rows yet. Call update(batch) or read(rows) first.")
        X = np.asarray(X, dtype=float)
        return self._along(X, self._means) + self.intercept

    def _along(self, X: np.ndarray, coef: list[np.ndarray], nodes: Any = slice(None)) -> np.ndarray:
        return sum(self.blocks(i).forward(X, coef[i], nodes) for i in range(len(coef)))  # type: ignore[return-value]

    def position(self) -> dict[str, Any]:
        """Return where it is, to :meth:`go_on` from later, for features in one block."""
        (coef,), (average,) = self._coef, self._means
        assert self._start is not None  # there is a coefficient
        return {
            "coef": coef.copy(),
            "average": average.copy(),
            "shift": self._b,
            "mean_shift": self._mean_b,
            "n_rows": self.n_rows,
            "n_steps": self.n_steps,
            "start": self._start,
            "total": self._total,
        }

    def go_on(
        self,
        coef: Any,
        average: Any,
        shift: Any,
        mean_shift: Any,
        n_rows: int,
        n_steps: int,
        start: Any,
        total: Any,
    ) -> StochasticGradient:
        """Go on from a :meth:`position`, or from a model where ``start``, t₀, is 0.

        Where R is diagonal columns are problems of their own, and t₀ and the sum of weights may be one for each.
        """
        self._coef, self._means = [np.array(coef, dtype=float)], [np.array(average, dtype=float)]
        self._b, self._mean_b = np.array(shift, dtype=float), np.array(mean_shift, dtype=float)
        self.n_rows, self.n_steps, self._total = int(n_rows), int(n_steps), total
        self._start = start if np.any(start) else None
        return self

    # -- learning ----------------------------------------------------------------------------------------------

    def update(self, batch: Any) -> StochasticGradient:
        """Make the steps of a batch (X, Y) or (X, Y, weight), in its order; one that is refused changes nothing.

        Rows should come in random order, and weights have the mean 1 over all rows.
        """
        batch = complete_batch("StochasticGradient", batch, self.loss, self.measure)
        probe = self.blocks(0).shape(batch.X)  # other columns are refused by the features
        if self._start is None:
            self._begin(batch, probe)
        for start in range(0, batch.n_rows, self.batch_size):
            self._step(batch.part(slice(start, start + self.batch_size)))
        self.n_rows += batch.n_rows
        return self

    def read(self, rows: Iterable[Any]) -> StochasticGradient:
        """Make the steps of all batches of a source; where it fails, what was learned before is kept."""
        for batch in rows:
            self.update(batch)
        return self

    def _begin(self, batch: Batch, shape: tuple[int, ...]) -> None:
        """Choose t₀ from sizes of features and, for bounded gradients, from typical residuals."""
        n_blocks = self.blocks.n_blocks
        if not self._coef:
            self._coef = [np.zeros(shape) for _ in range(n_blocks)]
            self._means = [np.zeros_like(coef) for coef in self._coef]
        size = n_blocks * max(self.blocks(i).sizes(batch.X, self._weights) for i in range(n_blocks))
        if self.fit_intercept:
            size += 1.0
        if self.n_nodes is not None:  # a node in place of their mean
            size *= float(self._weights.sum() / self._weights.min())
        curvature = typical_curvature(self.loss, self.measure, batch.Y)
        self._start = START * n_blocks * (curvature * size + self.alpha) / self.alpha

    def _step(self, rows: Batch) -> None:
        """One step of Algorithm 4."""
        assert self._start is not None  # update has seen to it
        n_blocks, alpha = self.blocks.n_blocks, self.alpha
        time = self.n_steps + self._start
        self._average(time - 1)
        index = int(self._rng.integers(n_blocks)) if n_blocks > 1 else 0
        slope, nodes = self._slope(rows)
        block = self.blocks(index)
        gamma = 2 / (alpha * time)
        weighted = slope * self._shares(nodes)
        self._coef[index] *= 1 - gamma * n_blocks * alpha
        self._coef[index] -= (gamma * n_blocks / rows.n_rows) * block.adjoint(rows.X, weighted, nodes)
        if self.fit_intercept:
            pull = np.zeros_like(self._b)
            np.add.at(pull, nodes, np.mean(slope, axis=0) * self._shares(nodes))
            self._b = (1 - gamma * alpha) * self._b - gamma * (pull / self._weights + self.intercept_slope)
        self.n_steps += 1

    def _slope(self, rows: Batch) -> tuple[np.ndarray, np.ndarray]:
        """Return s·∇L at the nodes of a step, and these."""
        nodes = np.arange(len(self.measure))
        measure = self.measure
        if self.n_nodes is not None:
            share = self._weights / self._weights.sum()
            nodes = self._rng.choice(len(share), self.n_nodes, p=share)
            measure = Measure(np.asarray(measure.points)[nodes], self._weights[nodes])
        U = self._along(rows.X, self._coef, nodes) + (self.offset + self._b)[nodes]
        slope = np.asarray(self.loss.gradient(rows.Y[:, nodes], U, measure))
        return (slope if rows.weight is None else slope * rows.weight[:, None]), nodes

    def _shares(self, nodes: np.ndarray) -> np.ndarray:
        """Return what each node of a step counts: its weight, or an equal part of all weights where it was drawn."""
        if self.n_nodes is None:
            return self._weights
        return np.full(len(nodes), float(self._weights.sum()) / len(nodes))

    def _average(self, weight: Any) -> None:
        """Take the iterates into their weighted mean."""
        self._total = self._total + weight
        share = weight / self._total
        for mean, coef in zip(self._means, self._coef, strict=True):
            mean += share * (coef - mean)
        self._mean_b = self._mean_b + share * (self._b - self._mean_b)


def check_loss(owner: object, loss: Any) -> None:
    """Refuse what is no loss of single rows."""
    if not isinstance(loss, Loss):
        raise parameter_error(owner, "loss", loss, "a Loss", "For instance Square(), not 'square'.")
    if loss.couples_rows or not loss.has_gradient:
        raise UnsupportedError(f"{type(owner).__name__}: {loss!r} has no gradient for one row at a time.")


def complete_batch(owner: str, given: Any, loss: Loss, measure: Measure) -> Batch:
    """Return a batch in double precision with a target at each node, or say what is wrong with it."""
    batch, m = read_batch(given, owner), len(measure)
    if batch.Y.shape[1] not in (1, m):
        raise DataError(f"{owner}: Y must have 1 column or {m}; got {batch.Y.shape[1]}.")
    Y = np.ascontiguousarray(np.broadcast_to(batch.Y, (batch.n_rows, m)), dtype=float)
    if np.any(np.isnan(Y)):
        raise UnsupportedError(f"{owner}: Y must be complete; it has NaN. Drop these rows.")
    loss.check_targets(Y, measure)
    return Batch(np.asarray(batch.X, dtype=float), Y, batch.weight)


def typical_curvature(loss: Loss, measure: Measure, Y: np.ndarray) -> float:
    """Return the Lipschitz constant ℓ of ∇L, or typical gradients over typical residuals."""
    if loss.lipschitz is not None:
        return float(loss.lipschitz)
    U = np.broadcast_to(np.mean(Y, axis=0), Y.shape)
    top = float(np.sqrt(np.mean(loss.gradient(Y, U, measure) ** 2)))
    bottom = float(np.sqrt(np.mean((Y - U) ** 2)))
    return top / bottom if top > 0 and bottom > 0 else 1.0
