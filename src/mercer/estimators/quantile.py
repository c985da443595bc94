"""Every conditional quantile of y given x, from one fit."""

from __future__ import annotations

from typing import Any

from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mercer._params import check_number
from mercer.backend import namespace, to_numpy
from mercer.estimators.infinite_task import InfiniteTaskEstimator, as_generator
from mercer.estimators.progress import progress
from mercer.estimators.regularisation import CHOOSING, MOST_ROWS, choose_alpha
from mercer.estimators.validation import validate_training
from mercer.exceptions import UnsupportedError
from mercer.model_selection.quantile_scores import d2_integrated_pinball
from mercer.quantile_function import QuantileFunction, check_levels

__all__ = ["KernelQuantileRegressor"]


class KernelQuantileRegressor(RegressorMixin, InfiniteTaskEstimator):
    """All conditional quantiles of y given x in one model, with a certificate of optimality.

    Minimises, over h in the space of the kernel k_X(x, z)·k_Θ(θ, τ) and a free intercept b(θ) at the nodes θ_j of a
    measure on the levels,

        Σ_j w_j (1/n) Σ_i s_i pinball_{θ_j}(y_i − h(x_i)(θ_j) − b(θ_j)) + (λ/2)‖h‖²,

    where pinball_θ(r) = max(θr, (θ − 1)r), to a relative duality gap of ``tol``. The levels are learned
    jointly, so that any level in (0, 1) can be asked for at prediction.

    Parameters
    ----------
    kernel : Kernel, str, callable or OperatorValuedKernel, default=None
        k_X. By default a Gaussian with one scale per column, times the median distance: units of columns do not matter.
        Strings such as "gaussian", "laplacian", "matern", "linear", "precomputed" are understood. To tune a parameter
        of it, pass the record, ``kernel=Gaussian()``, and search over ``kernel__gamma``. Or the whole of K,
        ``Decomposable(Gaussian(), Gaussian(5.0))``, with ``output_kernel=None``.
    output_kernel : Kernel, str or callable, default=None
        k_Θ on levels. By default a Gaussian whose scale is the median distance of the levels.
    alpha : float or "auto", default="auto"
        λ. "auto" takes it from a closed-form leave-one-out error of the square loss (see Notes).
    measure : MeasureRule, default=None
        Which levels are trained on, and their weights; by default ``GaussLegendre(20)`` on (0, 1).
        ``Points([0.1, 0.5, 0.9])`` trains on three levels.
    loss : str or Loss, default="pinball"
        The pinball loss, or another one whose parameter is a level (``MoreauPinball(1e-2)``, ``Expectile()``).
    fit_intercept : bool, default=True
        Whether to add b(θ). With it, and ``noncrossing=None``, the training coverage at the nodes is exact.
    noncrossing : {"rearrange", "penalty", "constraint", "guarantee", None}, default="rearrange"
        "rearrange" sorts each predicted quantile function on a fine grid of levels: predictions never cross.
        The next three act on h + b while fitting, through its slope in θ; they need an output kernel with derivatives.
        "penalty" adds ``crossing_penalty`` times the mean fall (−∂_θ(h + b))₊ over the training inputs and the levels.
        "constraint" forbids to fall at the training inputs, at both ends and in the middle of the cells between levels.
        "guarantee" makes h + b increasing in θ for all x in the box of the training inputs and all θ (Gaussian
        kernels, one or two columns). None leaves h + b as it is.
    crossing_penalty : float, default=1.0
        Price of a unit of fall with ``noncrossing="penalty"``; from some finite price on nothing falls at the anchors.
    solver : str or Solver, default="auto"
        "auto" (see :func:`mercer.solvers.select`), "admm", "interior_point", "proximal_gradient", "lbfgs", or a Solver
        with settings of its own.
    tol : float, default=1e-3
        Bound on the relative duality gap; a Solver object brings its own.
    max_iter : int, default=None
        Limit on the iterations; that of the solver by default, and always that of a Solver object.
    random_state : int, RandomState or None, default=None
        For random measures (MonteCarlo, Sobol, Halton).
    warm_start : bool, default=False
        Start from the last fit when the numbers of rows and levels are the same; so a fit that Ctrl-C has stopped
        goes on.
    verbose : int, default=0
        1 reports on standard error what is computed, factorisations before they begin and with an estimate of their
        time, and the duality gap as it falls, with an estimate of the time left.

    Attributes
    ----------
    dual_coef_ : array of shape (n_rows, n_nodes)
        Representer coefficients c: h(x)(θ) = Σ_ij k_X(x, x_i) c_ij k_Θ(θ_j, θ), over the rows of ``X_fit_``. Where
        slopes were constrained, further columns hold the coefficients of ∂₁k_Θ(τ_q, θ), τ = ``slopes_``.
    X_fit_ : array of shape (n_rows, n_features_in_)
        Training rows of positive weight, identical pairs (x, y) once; then the anchors of a guarantee.
    columns_ : array of int or None
        Of a Gram matrix, the columns that belong to rows of positive weight, where not all do.
    slopes_ : array of shape (n_slopes, 1) or None
        Levels τ at which slopes were represented, with ``noncrossing`` acting in the fit.
    expansion_ : Expansion
        The fitted function h: ``evaluate(X, points)``, ``slope``, ``norm``, ``state()``. With a kernel of explicit
        features (:class:`~mercer.kernels.FeatureKernel`) it holds no training rows.
    intercept_ : array of shape (n_nodes,)
        b at the nodes; piecewise linear in between, constant beyond.
    intercept_function_ : InterceptFunction
        b(θ), through ``intercept_``.
    rearranged_ : bool
        Whether predicted functions are sorted, with ``noncrossing="rearrange"`` in the fit.
    box_ : array of shape (2, n_features_in_) or None
        Lowest and highest inputs between which predicted functions rise by proof, with ``noncrossing="guarantee"``.
    alpha_ : float
        λ that was used.
    kernel_, output_kernel_ : Kernel
        With numbers for their bandwidths. (An OperatorValuedKernel that has no such factors is ``kernel_`` itself.)
    measure_ : Measure
        Nodes and weights.
    grid_ : array of shape (n_grid,)
        Levels on which predicted quantile functions are represented and sorted.
    objective_, dual_gap_, relative_gap_ : float
        Value of the objective, and how far it may be from the optimum, absolutely and relatively.
    n_iter_, status_, solver_ : int, str, Solver
        How the solver ended.

    Notes
    -----
    Ctrl-C in the middle of a fit keeps the best model so far: fitted, with its gap, ``status_ == "stopped"`` and a
    warning. A second one is a KeyboardInterrupt, and so is the first while λ is chosen or rows are checked.

    Beyond the outer nodes (0.0034 and 0.9966 by default) the quantile function is constant: nothing is extrapolated.

    ``alpha="auto"`` minimises the leave-one-out error of the square loss with the same kernels, in closed form, over
    λ from 1e-6 to 10, and divides by the mean absolute deviation of y, so that neither the unit nor the origin of y
    matters (a parameter of the loss such as κ has the unit of y). It is a sound start; tune ``alpha`` by
    cross-validation where a fit matters.

    The cost is that of the numerical ranks r and q of the two Gram matrices: for smooth kernels in few dimensions
    r and q are small (tens), the n × n matrix is never formed, and a step takes O(n·m·(r + q)).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelQuantileRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(200, 1))
    >>> y = X[:, 0] + X[:, 0] * rng.normal(size=200)
    >>> model = KernelQuantileRegressor().fit(X, y)
    >>> model.predict_quantile([[0.2], [0.8]], levels=[0.1, 0.5, 0.9]).shape
    (2, 3)
    >>> bool(model.relative_gap_ <= 1e-3)
    True
    """

    _theta = "level"
    _losses = "'pinball', 'moreau_pinball', 'm-quantile', 'expectile'"
    _ends = (
        "Levels are probabilities: 0.9, not 90. Trapezoid includes the ends 0 and 1, whose quantiles are not estimable;"
    )

    def __init__(
        self,
        kernel=None,
        *,
        output_kernel=None,
        alpha="auto",
        measure=None,
        loss="pinball",
        fit_intercept=True,
        noncrossing="rearrange",
        crossing_penalty=1.0,
        solver="auto",
        tol=1e-3,
        max_iter=None,
        random_state=None,
        warm_start=False,
        verbose=0,
    ):
        self.kernel = kernel
        self.output_kernel = output_kernel
        self.alpha = alpha
        self.measure = measure
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.noncrossing = noncrossing
        self.crossing_penalty = crossing_penalty
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose

    # -- fitting -----------------------------------------------------------------------------------------------

    def fit(self, X, y, sample_weight=None):
        """Fit all quantiles.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs; a Gram matrix with ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights; a row of weight 2 counts as the row twice. (With ``kernel="precomputed"`` and
            ``alpha="auto"``, λ is chosen as if copies were different rows.)

        Returns
        -------
        self : KernelQuantileRegressor
        """
        self._check_settings()
        rows = validate_training(self, X, y, sample_weight)
        X, y, weight = self._merge(rows.X, rows.y, rows.weight)
        bound = self._operator_valued_kernel(X, self._measure(X))
        loss = self._loss()
        Y, centre = self._targets(y, weight, bound.measure)

        def choose(rows: int = MOST_ROWS) -> float:
            return choose_alpha(self, self.alpha, bound, loss.growth, X, y, weight, self.fit_intercept, rows)

        self._afford(X, Y, weight, bound, loss, choose)
        with progress(self.verbose and isinstance(self.alpha, str), CHOOSING):
            alpha = choose()
        solved = self._fit_function(X, Y, weight, bound, loss, alpha, centre)
        return self._store(*solved, centre, rows.columns)

    def _targets(self, y, weight, measure):
        """Return y at every node, shape (n, m), and what was taken off it: its mean where there is an intercept."""
        centre = _centre(y, weight) if self.fit_intercept else 0.0
        return namespace(y).broadcast_to((y - centre)[:, None], (y.shape[0], len(measure))), centre

    # -- prediction --------------------------------------------------------------------------------------------

    def predict_function(self, X):
        """Return the quantile functions at X, as a :class:`~mercer.QuantileFunction`.

        It is sorted with ``noncrossing="rearrange"``.
        """
        check_is_fitted(self)
        X = self._valid_inputs(X)
        grid = to_numpy(self.grid_)
        function = QuantileFunction(grid, self._evaluate(X, grid))
        return function.rearranged() if self.rearranged_ else function

    def predict_quantile(self, X, levels):
        """Return quantiles at any levels in (0, 1), shape (n_samples, n_levels).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        levels : float or array-like of shape (n_levels,)
            Also levels that were not trained on.
        """
        check_is_fitted(self)
        levels = check_levels(self, levels)
        if self.rearranged_:
            return self.predict_function(X)(levels)
        return self._evaluate(self._valid_inputs(X), levels)

    def predict(self, X):
        """Return the conditional median, shape (n_samples,); the mean where the loss has expectiles.

        If all levels of ``measure`` are on one side of 0.5, it is the quantile at the nearest of them (see Notes).
        """
        return self.predict_quantile(X, [0.5])[:, 0]

    def _check_quantiles(self, method: str) -> None:
        loss = self._loss()
        if not loss.quantiles:
            raise UnsupportedError(
                f"{type(self).__name__}.{method} reads predictions as quantiles, but levels of {loss!r} are "
                "no probabilities. Use predict_quantile or predict_function, or loss='pinball'."
            )

    def predict_interval(self, X, coverage=0.9):
        """Return central intervals of nominal ``coverage``, shape (n_samples, 2).

        For several coverages at once use :meth:`predict_quantile` with the levels (1 ± coverage)/2. As all that speaks
        of probabilities, it refuses expectiles and M-quantiles.
        """
        self._check_quantiles("predict_interval")
        check_number(self, "coverage", coverage, low=0, high=1, hint="It is a probability: 0.9, not 90.")
        return self.predict_quantile(X, [(1 - coverage) / 2, (1 + coverage) / 2])

    def predict_mean(self, X):
        """Return the conditional mean ∫₀¹ Q(θ) dθ, shape (n_samples,)."""
        self._check_quantiles("predict_mean")
        return self.predict_function(X).mean()

    def predict_cdf(self, X, y):
        """Return P(Y ≤ y | x).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : float or array-like of shape (n_samples,) or (n_samples, k)
            One number for all rows, or one or k numbers for each of them.

        Returns
        -------
        array of shape (n_samples,), or (n_samples, k)
        """
        self._check_quantiles("predict_cdf")
        return self.predict_function(X).cdf(y)

    def sample(self, X, size=1, random_state=None):
        """Return draws from the conditional distribution, shape (n_samples, size)."""
        self._check_quantiles("sample")
        check_number(self, "size", size, low=1, strict=False, integer=True)
        return self.predict_function(X).sample(int(size), as_generator(self, random_state))

    def score(self, X, y, sample_weight=None):
        """Return D², the share of the integrated pinball loss that the model explains.

        1 − loss(model)/loss(quantiles of y), both integrated over the levels of ``measure_``; 1 is perfect, 0 as good
        as the unconditional quantiles of the scored y.
        """
        check_is_fitted(self)
        nodes, weights = to_numpy(self.measure_.locations), to_numpy(self.measure_.weights)
        predicted = self.predict_quantile(X, nodes)
        return d2_integrated_pinball(y, predicted, nodes, weights, sample_weight)


def _centre(y: Any, weight: Any) -> float:
    """The weighted mean of y, taken off before the fit so that a large offset costs no digits."""
    xp = namespace(y)
    return float(xp.mean(y)) if weight is None else float(xp.sum(weight * y) / xp.sum(weight))
