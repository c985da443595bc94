"""Every conditional quantile of y given x, from one fit."""

from __future__ import annotations

import math
import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer._params import check_number
from mercer.backend import is_numpy, namespace, require_numpy, to_numpy
from mercer.estimators.infinite_task import InfiniteTaskEstimator, as_generator
from mercer.estimators.own_levels import OwnLevels
from mercer.estimators.partial_fit import StreamedLevels, can_stream, stream_column
from mercer.estimators.progress import progress
from mercer.estimators.regularisation import CHOOSING, MOST_ROWS, choose_alpha, mean_deviation
from mercer.estimators.shape import Residuals, fit_shape
from mercer.estimators.staged_quantiles import fit_stages, staged_grid, staged_quantiles
from mercer.estimators.validation import TrainingRows, validate_inputs, validate_training
from mercer.exceptions import ExtrapolationWarning, UnsupportedError, parameter_error
from mercer.features import FeatureMap
from mercer.kernels import Kernel
from mercer.losses import Pinball, as_loss
from mercer.model_selection.quantile_scores import d2_integrated_pinball
from mercer.quantile_function import QuantileFunction, check_levels
from mercer.stages import Stages

__all__ = ["KernelQuantileRegressor"]

#: fewer rows than these have no residuals to learn a spread from; the joint model takes them
FEWEST_ROWS = 10
#: how far from the training range, in standard deviations, inputs have to be for a warning
FAR_AWAY = 2.0
#: what progress says of the stages
STAGES = "choosing scales by evidence; location, spread and shape in stages"
#: the certificate of a shape that does not depend on x: levels are those of the residuals, and nothing is optimised
UNSHAPED = {
    "alpha_": math.inf,
    "objective_": 0.0,
    "dual_gap_": 0.0,
    "relative_gap_": 0.0,
    "n_iter_": 1,
    "status_": "converged",
    "solver_": None,
}
#: what a joint fit has and one in stages has not
JOINT_ONLY = (
    "kernel_",
    "output_kernel_",
    "dual_coef_",
    "intercept_",
    "expansion_",
    "intercept_function_",
    "slopes_",
    "box_",
)


class KernelQuantileRegressor(RegressorMixin, StreamedLevels, InfiniteTaskEstimator):
    """All conditional quantiles of y given x in one model; any level in (0, 1) can be asked for at prediction.

    Without a kernel and λ of yours the model is fitted in stages (``stages="separate"``),

        q_θ(x) = T⁻¹(f(x) + σ(x)·[b(θ) + h(x)(θ)]),

    a monotone warp T of y, a location f with one scale per column, chosen by the evidence of a Gaussian process, a
    spread σ learned from residuals of rows that had no hand in their prediction, the quantiles b of what is left, and
    a shape h, where held-out loss asks for one. It is sharp, and its intervals cover what they say on new rows.

    With ``kernel`` or ``alpha``, or ``stages="joint"``, it is the model of the papers: over h in the space of the
    kernel k_X(x, z)·k_Θ(θ, τ) and a free intercept b(θ) at the nodes θ_j of a measure on the levels it minimises

        Σ_j w_j (1/n) Σ_i s_i pinball_{θ_j}(y_i − h(x_i)(θ_j) − b(θ_j)) + (λ/2)‖h‖²,

    where pinball_θ(r) = max(θr, (θ − 1)r), to a relative duality gap of ``tol``. It is one convex problem with a
    certificate, exact training coverage and guarantees of monotony. Its spread is learned from residuals of the rows
    that were fitted: with many columns or a small λ they vanish, and outer quantiles are too near on new rows; tune λ
    (:class:`KernelQuantileRegressorCV`) and calibrate (:class:`ConformalQuantileRegressor`). The shape h of the stages
    is this problem, on standardised residuals with weights σ.

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
    approximation : FeatureMap, "auto" or None, default="auto"
        Features in place of k_X, for many rows: ``Nystroem(500)`` or ``RandomFourier(1000)`` of :mod:`mercer.features`.
        The fit is then exactly that of the kernel which the features make, with its certificate, and keeps no training
        rows. "auto" takes landmarks where the kernel itself would need more memory than there is, or more than about
        a minute (in stages: of the shape); None never does.
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
    crossing_anchors : array-like or data frame of shape (n_anchors, n_features), default=None
        Inputs at which falls are charged ("penalty", by their mean) or forbidden ("constraint"), in place of the
        training inputs: those where predictions will be asked for, or the corners of a design.
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
    stages : {"auto", "joint", "separate"}, default="auto"
        "separate" learns location, spread and shape one after the other, as above; "joint" solves one problem. "auto"
        is "separate" where kernel, output_kernel, alpha, approximation, loss, fit_intercept and noncrossing are left as
        they are, for
        NumPy data of at least ten rows; arrays of other libraries (JAX's, PyTorch's) have the joint model, of which
        ``jax.jit`` and ``jax.grad`` take predictions.

    Attributes
    ----------
    encoder_ : TableEncoder or None
        How columns of text, categories, dates and missing cells of a data frame became numbers, for ``fit`` and for
        predictions; None where X was numbers. What is said below of columns of X is of the encoded ones, whose names
        are ``encoder_.get_feature_names_out()``.
    stages_ : Stages or None
        T, f, σ and b of a model in stages: ``target``, ``location``, ``spread``, ``levels``, and ``columns``, the warp
        of inputs. None for a joint model.
    shape_ : KernelQuantileRegressor or None
        The joint model of standardised residuals; None where held-out loss asks for none, h = 0. Of a model in stages
        objective, gap, λ, status and solver below are those of the shape (0, ∞ and "converged" without one: levels are
        then quantiles of residuals, and nothing is optimised); coefficients, intercept and kernels are found there.
    relevance_ : array of shape (n_columns,)
        Of a model in stages, the share of each column in the scales of its location; it sums to 1. Columns are those
        of X, or the encoded ones, with the names ``encoder_.get_feature_names_out()``.
    dual_coef_ : array of shape (n_rows, n_nodes)
        Representer coefficients c: h(x)(θ) = Σ_ij k_X(x, x_i) c_ij k_Θ(θ_j, θ), over the rows of ``X_fit_``. Where
        slopes were constrained, further columns hold the coefficients of ∂₁k_Θ(τ_q, θ), τ = ``slopes_``.
    X_fit_ : array of shape (n_rows, n_features_in_)
        Training rows of positive weight, identical pairs (x, y) once; then ``crossing_anchors``, or those of a
        guarantee.
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
    approximation_ : Approximation or None
        What took the place of the kernel, and its cost in accuracy, estimated on a sample; None for the kernel itself.
        With features ``X_fit_`` and ``dual_coef_`` are None: ``expansion_`` holds all that is left.
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

    In stages, scales come from at most 300 rows, f from all of them (from 1 200 rows on in the span of 600; of more
    than 50 000 rows so many, drawn at random, are used). Levels are
    at the positions θ(n + 1) of residuals; beyond the outermost of them tails are exponential, with the mean excess of
    the outer tenth, and asking for such a level warns. Far from the rows σ grows with the variance of f. Inputs more
    than half a standard deviation from the training range are moved there; more than two, that warns. Likewise T is a
    power within half a standard deviation of the training range of y, and straight beyond.

    Beyond the outer nodes (0.0034 and 0.9966 by default) the joint quantile function is constant: nothing is
    extrapolated, and asking for such a level warns.

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

    stages_: Stages | None
    shape_: KernelQuantileRegressor | None

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
        approximation="auto",
        measure=None,
        loss="pinball",
        fit_intercept=True,
        noncrossing="rearrange",
        crossing_penalty=1.0,
        crossing_anchors=None,
        solver="auto",
        tol=1e-3,
        max_iter=None,
        random_state=None,
        warm_start=False,
        verbose=0,
        stages="auto",
    ):
        self.kernel = kernel
        self.output_kernel = output_kernel
        self.alpha = alpha
        self.approximation = approximation
        self.measure = measure
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.noncrossing = noncrossing
        self.crossing_penalty = crossing_penalty
        self.crossing_anchors = crossing_anchors
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.stages = stages

    # -- fitting -----------------------------------------------------------------------------------------------

    def fit(self, X, y, sample_weight=None, levels=None):
        """Fit all quantiles.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Inputs; columns of a data frame may hold text, categories, dates and missing cells. A Gram matrix with
            ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights; a row of weight 2 counts as the row twice. (With ``kernel="precomputed"`` and
            ``alpha="auto"``, λ is chosen as if copies were different rows.)
        levels : array-like of shape (n_samples,) or (n_samples, m), optional
            Levels in (0, 1) of each row's own, in place of ``measure``: those at which an observation is to count, NaN
            where a row has fewer than m, or numbers drawn at random, ``rng.uniform(size=(n, 3))``, which take the
            place of the integral over all levels. The model is then the joint one, a problem with a row for each of
            the N levels in all:

                (1/n) Σ_i s_i (1/m_i) Σ_j pinball_{θ_ij}(y_i − h(x_i)(θ_ij) − b) + (λ/2)‖h‖².

            b is a number; a function of the level that varies a hundred times as freely as the rest of h comes with h.
            ``dual_coef_`` has the shape (N, 1), and ``measure_`` is the distribution of all levels.

        Returns
        -------
        self : KernelQuantileRegressor
        """
        self._check_settings()
        rows = validate_training(self, X, y, sample_weight)
        if levels is not None:
            return self._fit_levels(rows, OwnLevels.read(self, levels, rows.X, np.shape(y)[0], sample_weight))
        X, y, weight = self._merge(rows.X, rows.y, rows.weight)
        if self._in_stages(X, y, weight):
            return self._fit_stages(X, y, weight)
        bound, taken = self._with_features(self._operator_valued_kernel(X, self._measure(X)), X)
        loss = self._loss()
        Y, centre = self._targets(y, weight, bound.measure)

        def choose(rows: int = MOST_ROWS) -> float:
            return choose_alpha(self, self.alpha, bound, loss.growth, X, y, weight, self.fit_intercept, rows)

        self._afford(X, Y, weight, bound, loss, choose)
        with progress(self.verbose and isinstance(self.alpha, str), CHOOSING):
            alpha = choose()
        return self._fit_function(X, Y, weight, bound, taken, loss, alpha, centre, rows.columns)

    def _fit_levels(self, rows: TrainingRows, own: OwnLevels) -> Self:
        """Fit rows with levels of their own."""
        if self.stages == "separate":
            hint = "Stages have levels that all rows share."
            raise parameter_error(self, "stages", self.stages, "'auto' or 'joint' with levels of rows' own", hint)
        X, table, weight = self._merge(rows.X, np.column_stack([rows.y, own.table]), rows.weight)
        y, table = table[:, 0], table[:, 1:]
        centre = _centre(y, weight) if self.fit_intercept else 0.0

        def choose(bound, loss) -> float:
            return choose_alpha(self, self.alpha, bound, loss.growth, X, y, weight, self.fit_intercept)

        return self._fit_own(X, y - centre, weight, table, choose, centre, rows.columns)

    @available_if(can_stream)
    def partial_fit(self, X, y, sample_weight=None):
        """Learn from one more batch of rows, which need not be kept.

        The first batch is fitted as by :meth:`fit` and so chooses kernel, λ and features, which stay: ``approximation``
        is features of :mod:`mercer.features`, or "auto" for 300 random frequencies (landmarks, where the kernel has
        none).
        Later rows are learned by averaged stochastic gradients (:class:`~mercer.solvers.StochasticGradient`), from that
        fit on: they refine it, and one fit of all rows is more exact where these can be kept.

        ``status_`` is "stream", gaps are not known (NaN), and ``n_samples_seen_`` counts rows. A batch that is refused
        changes nothing; after :meth:`fit` the stream begins anew.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows, with the columns of the first batch.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights, comparable between batches.

        Returns
        -------
        self : KernelQuantileRegressor
        """
        return self._partial_fit(X, y, sample_weight)

    def _stream_targets(self, y, n_rows):
        return stream_column(self, y, n_rows)

    def _check_settings(self) -> None:
        super()._check_settings()
        stages = self.stages
        if not (isinstance(stages, str) and stages in ("auto", "joint", "separate")):
            raise parameter_error(self, "stages", stages, "'auto', 'joint' or 'separate'")
        if stages == "separate" and not self._plain:
            raise UnsupportedError(
                f"{type(self).__name__}: stages='separate' chooses kernels and alpha itself, for the pinball loss with "
                "fit_intercept=True and noncrossing='rearrange'. Leave kernels, alphas, approximation, loss, "
                "fit_intercept and noncrossing (and folds and scoring, where it is cross-validated) as they are by "
                "default, or take stages='joint'."
            )

    @property
    def _plain(self) -> bool:
        """Whether nothing was asked for that only the joint model has."""
        parts = self.kernel is None and self.output_kernel is None and isinstance(self.alpha, str)
        loss = isinstance(as_loss(self.loss), Pinball)
        parts = parts and not isinstance(self.approximation, FeatureMap)
        return parts and self.alpha == "auto" and loss and bool(self.fit_intercept) and self.noncrossing == "rearrange"

    def _in_stages(self, X, y, weight) -> bool:
        """Whether to fit in stages: by default, where nothing else was asked for and there are rows to learn from."""
        if not self._plain or self.stages == "joint":
            return False
        if not is_numpy(X):
            if self.stages == "separate":
                remedy = "Convert X and y with numpy.asarray, or take stages='joint', which 'auto' is for such arrays."
                require_numpy(f"{type(self).__name__}: stages='separate'", remedy, X)
            return False
        return len(y) >= FEWEST_ROWS and mean_deviation(y, weight, True)[1] > 0

    def _fit_stages(self, X, y, weight):
        """Become the model q_θ(x) = T⁻¹(f(x) + σ(x)·[b(θ) + h(x)(θ)]) of parts that are learned one after the other."""
        self.__dict__.pop("stream_", None)
        self.measure_ = self._measure(X)
        with progress(self.verbose, STAGES):
            self.stages_, self.shape_ = fit_stages(X, y, weight, self._learn_shape)
        for name in JOINT_ONLY:  # of an earlier fit of the joint model
            self.__dict__.pop(name, None)
        shape = self.shape_
        self.X_fit_, self.columns_, self.approximation_ = X, None, None
        self.relevance_ = self.stages_.relevance(int(X.shape[1]))
        self.grid_, self.rearranged_ = staged_grid(to_numpy(self.measure_.locations)), True
        for name in ("alpha_", "objective_", "dual_gap_", "relative_gap_", "n_iter_", "status_", "solver_"):
            setattr(self, name, getattr(shape, name) if shape is not None else UNSHAPED[name])
        return self

    def _learn_shape(self, rest: Residuals) -> KernelQuantileRegressor | None:
        """Return the joint model of standardised residuals, None where h = 0."""
        return fit_shape(rest, self._joint, self.measure_)

    def _joint(self, kernel: Kernel, alpha: float) -> KernelQuantileRegressor:
        settings = ("approximation", "measure", "solver", "tol", "max_iter", "random_state")
        parts = {name: getattr(self, name) for name in settings}
        return KernelQuantileRegressor(kernel, alpha=alpha, stages="joint", **parts)

    def _store(
        self, X, bound, problem, result, centre: Any = 0.0, columns: np.ndarray | None = None, expansion: Any = None
    ):
        self.stages_ = self.shape_ = None
        self.__dict__.pop("relevance_", None)  # of an earlier fit, in stages
        return super()._store(X, bound, problem, result, centre, columns, expansion)

    def _evaluate(self, X, theta):
        if self.stages_ is None:
            return super()._evaluate(X, theta)
        far = self.stages_.columns.beyond(X) > FAR_AWAY
        if np.any(far):
            warnings.warn(
                f"{type(self).__name__}: {np.sum(far)} of {len(X)} rows are more than {FAR_AWAY:g} standard deviations "
                "from the range of the training rows. Predictions there are those at its edge, and may be too sharp.",
                ExtrapolationWarning,
                stacklevel=4,
            )
        return staged_quantiles(self.stages_, self.shape_, X, np.asarray(theta))

    def _valid_inputs(self, X, method="predict"):
        if self.stages_ is None:
            return super()._valid_inputs(X, method)
        return validate_inputs(self, X, self.X_fit_, None, method)

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
        self._warn_of_levels(levels)
        return self._quantiles(X, levels)

    def predict_at(self, X, levels):
        """Return :meth:`predict_quantile`, under the name that all estimators have for values at several θ."""
        return self.predict_quantile(X, levels)

    def _quantiles(self, X, levels: np.ndarray):
        if self.rearranged_:
            return self.predict_function(X)(levels)
        return self._evaluate(self._valid_inputs(X), levels)

    def _warn_of_levels(self, levels: np.ndarray) -> None:
        """Warn of levels about which the data say nothing."""
        known = to_numpy(self.grid_) if self.stages_ is None else self.stages_.levels.levels
        beyond = levels[(levels < known[0] * (1 - 1e-9)) | (1 - levels < (1 - known[-1]) * (1 - 1e-9))]
        if len(beyond) == 0:
            return
        if self.stages_ is None:
            reason = "lie beyond the outer levels that were trained on, and get the quantiles of these"
            remedy = "Train on further levels, measure=Points([...]), or leave kernel and alpha to the estimator."
        else:
            reason = f"lie beyond the outermost of {len(known)} residuals, and rest on an assumption about tails"
            remedy = "See Notes; more rows say more."
        shown = ", ".join(f"{level:.3g}" for level in beyond[:3])
        message = f"{type(self).__name__}: levels such as {shown} {reason}. {remedy}"
        warnings.warn(message, ExtrapolationWarning, stacklevel=3)

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
        predicted = self._quantiles(X, nodes)
        return d2_integrated_pinball(y, predicted, nodes, weights, sample_weight)


def _centre(y: Any, weight: Any) -> float:
    """The weighted mean of y, taken off before the fit so that a large offset costs no digits."""
    xp = namespace(y)
    return float(xp.mean(y)) if weight is None else float(xp.sum(weight * y) / xp.sum(weight))
