"""Vectors from few rows with targets and many without: functions that change little between rows that are near."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._params import check_number
from mercer.backend import eigh, to_numpy
from mercer.estimators.certified import refuse_whole_kernel
from mercer.estimators.row_graph import read_graph, view_price
from mercer.estimators.sample import Sample
from mercer.estimators.smoothness import ALPHAS, KERNEL_ROWS, Smoothness, default_kernels, some_rows
from mercer.estimators.tables import column_layout
from mercer.estimators.validation import take_rows
from mercer.estimators.vector_outputs import VectorOutputs
from mercer.estimators.vector_valued import VectorValuedRegressor
from mercer.exceptions import DataError, parameter_error
from mercer.kernels import Kernel, Penalised, as_kernel, penalised_kernel
from mercer.operator_valued import OperatorValuedKernel

__all__ = ["SemiSupervisedRegressor"]

#: lengths of default kernels, in units of the median distance
GRAPH_LENGTHS = (8.0, 2.0, 1.0, 0.5, 0.25)
#: strengths to choose from, in units of the number of points over the energy of functions drawn from the plain kernel
STRENGTHS = (0.0, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)


class SemiSupervisedRegressor(VectorValuedRegressor):
    """Regression with vectors as outputs from few rows with targets and many without (NaN).

    Minimises, over h in the space of k_X·Γ and b ∈ R^p, with N rows that have targets and a graph of all n rows,

        (1/N) Σ_{i≤N} s_i L(y_i − b − h(x_i)) + (λ/2)(‖h‖² + c·½ Σ_ik S_ik ‖h(x_i) − h(x_k)‖²),

    the last norm that of Γ†, the usual one for Γ = I: functions that change where rows are dense cost more, and what is
    known of few rows goes on along clusters and curved surfaces. With several views, kernels k_a on columns of their
    own, h = Σ_a w_a h_a, each ‖h_a‖² and its graph count, and so does γ c Σ_{a<b} Σ_i ‖h_a(x_i) − h_b(x_i)‖²: views
    should agree on rows without targets. That is the problem of :class:`VectorValuedRegressor` with another kernel (see
    Notes); losses, missing targets, certificates and standard deviations are those there.

    Parameters
    ----------
    kernel : Kernel, str or callable, or list of them, default=None
        k_X, or the k_a of several views, as a rule restricted to columns: ``[Gaussian().restrict([0, 1]),
        Gaussian().restrict(["weight"])]``. By default a Gaussian with one scale per column and a length by evidence.
    graph : "neighbors", matrix of shape (n_samples, n_samples) or callable, default="neighbors"
        S, symmetric and not negative, dense or sparse: how near two rows are. "neighbors" has edges of weight 1 from
        each distinct row to its nearest ones in standardised columns (of a view in its own); a function gets the
        distinct rows in these columns.
    n_neighbors : int, default=10
        Of "neighbors".
    strength : float or "auto", default="auto"
        c ≥ 0; "auto" by evidence, 0 being one of the choices. λ_M = λc in Brault (2017, appendix B).
    view_weights : array-like of shape (n_views,), default=None
        w; the mean of the views by default.
    agreement : float, default=1.0
        γ ≥ 0.
    output_matrix, alpha, loss, geometry, metric, fit_intercept, solver, tol, max_iter, warm_start, verbose :
        As those of :class:`VectorValuedRegressor`; alpha="auto" is by evidence, too.

    Attributes
    ----------
    kernel_ : Penalised
        k̃, with numbers for all that was automatic.
    strength_ : float
        c.
    X_fit_ : array of shape (n_rows, n_features_in_)
        Rows with targets; what ``kernel_`` needs of the others is in it.
    alpha_, loss_, output_matrix_, metric_, dual_coef_, intercept_, expansion_, posterior_, signal_variance_, \
noise_variance_, support_, saturated_, objective_, dual_gap_, relative_gap_, n_iter_, status_, solver_
        As in :class:`VectorValuedRegressor`.

    See Also
    --------
    VectorValuedRegressor : Without a graph; rows without any target are refused there, as they say nothing.

    Notes
    -----
    ‖h‖² + c uᵀMu, u = h(x_1), ..., h(x_n), is the squared norm of the space of another kernel, k̃ = k − k(·, X)(I +
    cMK)⁻¹cM k(X, ·) (Sindhwani, Niyogi and Belkin, 2005), of the mean of several views likewise: so this is an ordinary
    kernel, and the problem has as many rows as there are targets. M is sparse and K is factorised, so that the price is
    O(nr²), r the rank of K, once for each length of the kernel. ``sample_weight`` weighs losses; rows of weight 0 are
    left out, from the graph, too.

    *Choice.* Length, c and λ have the greatest evidence, the marginal likelihood of the Gaussian process, as for
    independent outputs, on at most 500 rows. Errors of left-out rows are too few numbers to choose three parameters by:
    with 8 labels on two moons the squared error was 1.75 of that of the mean, by evidence 0.25, without a graph 0.60.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from mercer import SemiSupervisedRegressor
    >>> X, label = make_moons(200, noise=0.08, random_state=0)
    >>> Y = np.full((200, 2), np.nan)
    >>> few = np.random.default_rng(0).choice(200, 10, replace=False)
    >>> Y[few] = np.eye(2)[label[few]]  # ten rows have targets
    >>> model = SemiSupervisedRegressor().fit(X, Y)
    >>> float(np.mean(model.predict(X).argmax(axis=1) == label)) > 0.98
    True
    """

    _no_stream = "its graph is that of all rows. Fit them at once, or a VectorValuedRegressor to those with targets."

    def __init__(
        self,
        kernel=None,
        *,
        graph="neighbors",
        n_neighbors=10,
        strength="auto",
        view_weights=None,
        agreement=1.0,
        output_matrix=None,
        alpha="auto",
        loss="square",
        geometry=None,
        metric=None,
        fit_intercept=True,
        solver="auto",
        tol=1e-4,
        max_iter=None,
        warm_start=False,
        verbose=0,
    ):
        super().__init__(
            kernel,
            output_matrix=output_matrix,
            alpha=alpha,
            approximation=None,
            loss=loss,
            geometry=geometry,
            metric=metric,
            fit_intercept=fit_intercept,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            warm_start=warm_start,
            verbose=verbose,
        )
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.strength = strength
        self.view_weights = view_weights
        self.agreement = agreement

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.array_api_support = False  # graphs are SciPy's
        return tags

    # -- what the parameters mean ------------------------------------------------------------------------------

    def _input_kernels(self) -> list[Any]:
        return list(self.kernel) if isinstance(self.kernel, (list, tuple)) else [self.kernel]

    def _check_settings(self) -> None:
        super()._check_settings()
        for kernel in self._input_kernels():
            if isinstance(kernel, OperatorValuedKernel):
                raise refuse_whole_kernel(
                    self, "kernel", kernel, "Γ is output_matrix; for other kernels there is no k̃."
                )
        if self.__sklearn_tags__().input_tags.pairwise:
            allowed = "a kernel on vectors, or several"
            raise parameter_error(self, "kernel", self.kernel, allowed, "Pass rows, those without targets included.")
        if isinstance(self.kernel, (list, tuple)) and (not self.kernel or any(k is None for k in self.kernel)):
            hint = "One for each view: [Gaussian().restrict([0, 1]), Gaussian().restrict([2])]."
            raise parameter_error(self, "kernel", self.kernel, "a kernel, or a list of kernels", hint)
        if not (isinstance(self.strength, str) and self.strength == "auto"):
            check_number(self, "strength", self.strength, low=0, strict=False, hint="Or 'auto'.")
        check_number(self, "n_neighbors", self.n_neighbors, low=1, strict=False, integer=True)
        check_number(self, "agreement", self.agreement, low=0, strict=False)

    def _views(self) -> list[Kernel]:
        """Return the k_a as they were given, columns by number; none for the default."""
        given = [as_kernel(kernel, self) for kernel in self._input_kernels() if kernel is not None]
        return [kernel.locate(column_layout(self)) for kernel in given]

    def _weights(self, n_views: int) -> np.ndarray:
        """Return w."""
        if self.view_weights is None:
            return np.full(n_views, 1 / n_views)
        weights = np.asarray(to_numpy(self.view_weights))
        if weights.shape != (n_views,) or weights.dtype.kind not in "iuf" or not np.all(np.isfinite(weights)):
            allowed = f"a finite number for each of {n_views} kernels"
            raise parameter_error(self, "view_weights", self.view_weights, allowed)
        return weights

    def _adapted_kernel(self, X):
        return self._views()[0].adapt(X)  # in the place of the candidates, which are those of the sample

    def _learns(self, sample: Sample) -> bool:
        return False

    def _afford(self, sample: Sample) -> None:
        """Nothing: what takes memory is the factor of the kernel, which is refused where it is made."""

    # -- the sample --------------------------------------------------------------------------------------------

    def _sample(self, X, outputs: VectorOutputs, keep, weight, columns) -> Sample:
        """Return the rows with targets, and the kernels to choose from, which know the others."""
        self._check_lengths(X, outputs)
        seen = np.flatnonzero(~np.all(np.isnan(to_numpy(outputs.values)), axis=1))
        if not len(seen):
            raise DataError(f"{type(self).__name__}: no row of Y has a target (only NaN); two are needed at least.")
        rows = np.asarray(to_numpy(X), dtype=float)
        candidates = self._candidates(rows, keep)
        keep, weight = (None if part is None else take_rows(part, seen) for part in (keep, weight))
        sample = super()._sample(take_rows(X, seen), outputs.take(seen), keep, weight, None)
        fields = {field.name: getattr(sample, field.name) for field in dataclasses.fields(sample)}
        return _GraphSample(**fields, kernels=tuple(candidates))

    def _candidates(self, X: np.ndarray, keep: np.ndarray | None) -> list[Penalised]:
        """Return k̃ for each length and strength to choose from."""
        views = self._views()
        points, graphs = read_graph(self, self.graph, self.n_neighbors, X, keep, views or [as_kernel("gaussian")])
        families = [views] if views else [[kernel] for kernel in default_kernels(points, GRAPH_LENGTHS)]
        price = view_price(graphs, float(self.agreement))
        candidates = []
        for family in families:
            base = penalised_kernel(family, self._weights(len(family)), points, price)
            energy = float(np.sum(base.energies))
            unit = len(points) / energy if energy > 0 else 0.0  # no edges, no price
            strengths = [unit * s for s in STRENGTHS] if isinstance(self.strength, str) else [float(self.strength)]
            candidates += [dataclasses.replace(base, strength=strength) for strength in strengths]
        return candidates

    def _smoothness(self, sample, kernels, output_kernels, alpha, loss, learn, families) -> Smoothness:
        kernel, shift = _most_evident(sample, alpha)
        chosen = Smoothness(kernel, output_kernels[0], shift / len(sample) if alpha is None else alpha)
        learned = self._learned()
        if learned is None or len(sample.measure) == 1:
            return chosen
        return super()._smoothness(sample, [kernel], output_kernels, chosen.alpha, loss, None, [])

    def fit(self, X, y, sample_weight=None):
        """Fit the vectors.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Inputs, with targets and without.
        y : array-like of shape (n_samples, p) or (n_samples,)
            Vectors; NaN where an output was not observed, rows of NaN where there are no targets.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights of the losses; rows of weight 0 are left out.

        Returns
        -------
        self : SemiSupervisedRegressor
        """
        super().fit(X, y, sample_weight)
        self.strength_ = float(self.kernel_.strength)
        return self


@dataclass(frozen=True, eq=False)
class _GraphSample(Sample):
    """Rows with targets, and input kernels to choose from that know of other rows."""

    kernels: tuple[Penalised, ...] = ()


def _most_evident(sample: _GraphSample, alpha: float | None) -> tuple[Penalised, float]:
    """Return the kernel and λn of greatest evidence, as for independent outputs."""
    few = some_rows(sample, False, KERNEL_ROWS)
    X, Y = to_numpy(few.X), to_numpy(few.outputs.values).astype(float)
    weight = np.ones(len(few)) if few.weight is None else to_numpy(few.weight).astype(float)
    root = np.sqrt(weight / weight.mean())
    shifts = ALPHAS * len(few) if alpha is None else np.array([alpha * len(sample)])
    found = np.array([_misfits(kernel(X), Y, root, sample.fit_intercept, shifts) for kernel in sample.kernels])
    place, which = np.unravel_index(int(np.argmin(found)), found.shape)
    return sample.kernels[place], float(shifts[which])


def _misfits(K: np.ndarray, Y: np.ndarray, root: np.ndarray, centred: bool, shifts: np.ndarray) -> np.ndarray:
    """Return −log evidence for each λn but for constants, σ² being the best: columns of Y are independent.

    With an intercept it is that of contrasts, as b has a flat prior. Columns with the same missing values share one
    eigendecomposition.
    """
    squares, volumes, count = np.zeros(len(shifts)), np.zeros(len(shifts)), 0
    patterns, group = np.unique(~np.isnan(Y), axis=1, return_inverse=True)
    for k, seen in enumerate(patterns.T):
        rows, columns = np.flatnonzero(seen), np.flatnonzero(group == k)
        basis = np.eye(len(rows))
        if centred:
            basis = np.linalg.qr(np.column_stack([root[rows], basis[:, 1:]]))[0][:, 1:]
        values, vectors = eigh(basis.T @ (K[np.ix_(rows, rows)] * root[rows][:, None] * root[rows]) @ basis)
        targets = vectors.T @ (basis.T @ (root[rows][:, None] * Y[np.ix_(rows, columns)]))
        spread = np.maximum(values, 0.0)[:, None] + shifts  # (contrasts, λ)
        squares += np.sum(targets**2, axis=1) @ (1 / spread)
        volumes += len(columns) * np.sum(np.log(spread), axis=0)
        count += targets.size
    return (count * np.log(np.maximum(squares, np.finfo(float).tiny)) + volumes) / 2
