"""Curves as outputs: functional-output regression with any loss, from any observations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer.backend import as_like, device, namespace, to_numpy
from mercer.estimators.approximation import StandIn
from mercer.estimators.column_relevance import column_shares
from mercer.estimators.conversion import open_curves
from mercer.estimators.curve_kernels import curve_kernels
from mercer.estimators.diagnosis import diagnose_curves
from mercer.estimators.mean_function import MeanFunction
from mercer.estimators.outlying import outlying_curves, warn_of_outliers
from mercer.estimators.output_kernels import default_output_kernels
from mercer.estimators.outputs import Outputs
from mercer.estimators.partial_fit import StreamedFit, can_stream
from mercer.estimators.progress import progress
from mercer.estimators.read_outputs import read_outputs
from mercer.estimators.renamed import renamed
from mercer.estimators.sample import Sample
from mercer.estimators.sample_regressor import SampleRegressor
from mercer.estimators.smooth_mean import SmoothMean
from mercer.estimators.smoothness import FEW_LENGTHS, MEAN_SCALE
from mercer.estimators.validation import (
    as_points,
    check_gram,
    check_range,
    validate_rows,
    validate_weight,
)
from mercer.exceptions import DataError, UnsupportedError, parameter_error
from mercer.kernels import Gaussian, Kernel, as_kernel
from mercer.linalg import eigh_fits
from mercer.losses import Square
from mercer.operator_valued import (
    Basis,
    BoundCoefficients,
    Decomposable,
    NystromBasis,
    OperatorValuedKernel,
    check_output_matrix,
)
from mercer.solvers import SolverResult

__all__ = ["FunctionalRegressor"]


class FunctionalRegressor(MultiOutputMixin, RegressorMixin, StreamedFit, SampleRegressor):
    """Regression with curves as outputs: on a grid, with holes, or each curve at points of its own.

    Minimises, over h in the space of the kernel (k_X(x, z) + c)·k_Θ(θ, τ)·A,

        (1/n) Σ_i s_i L(y_i − b − h(x_i)) + (λ/2)‖h‖²,

    L the square loss ½‖r‖², or a robust or sparse one, of the norm of a residual curve or point by point, to a relative
    duality gap of ``tol``. Norms are those of L²(μ), μ the grid with its weights. b is a smooth mean curve, and the
    constant c lets h correct it almost freely (see ``mean_curve``).

    Parameters
    ----------
    kernel : Kernel, str, callable or Decomposable, default=None
        k_X. By default a Gaussian with one scale per column, whose length, the median distance times 32, 8, 2, 1 or
        0.5, predicts left-out curves best in ridge regression, a shorter one by 2/n at least; columns get scales by
        evidence where that predicts them better (see Notes). Units of columns do not matter. For inputs that are
        curves (see :meth:`fit`), kernels on functions are among the candidates: of L² distances, with derivatives or
        without, of principal components, integral ones, and scales of parts; each has to be better by 15/n. Or the
        whole of K, ``Decomposable(kernel, output_kernel, output_matrix)``, and None for the other two.
    output_kernel : Kernel, str or callable, default=None
        k_Θ on Θ. By default a Gaussian whose scale, the median distance of the grid or a half to a sixteenth of it, or
        a sum of a long and a short one, predicts left-out curves best in ridge regression, among those that are no
        worse at left-out points than straight lines; no scale is below the spacing of the points. Without a grid the
        identity.
    output_matrix : array-like of shape (p, p), default=None
        A for curves in R^p, positive semi-definite; the identity by default. ``leading_components(Y, rank)`` in
        :mod:`mercer.operator_valued` is one of low rank.
    alpha : float or "auto", default="auto"
        λ. "auto" takes it from ridge regression with the same kernels, by leave-one-out in closed form; for robust
        losses curves that are outlying to a first robust fit hardly count in that. Of features that take the
        place of the kernel, with the square loss, it is then chosen anew, by all rows.
    approximation : FeatureMap, "auto" or None, default="auto"
        Features in place of k_X, for many rows: ``Nystroem(500)`` or ``RandomFourier(1000)`` of :mod:`mercer.features`.
        The fit is then exactly that of the kernel which the features make, with its certificate, and keeps no training
        rows. "auto" takes landmarks where the kernel itself would need more memory than there is, or more than about
        a minute; None never does.
    loss : {"square", "huber", "epsilon_ridge", "epsilon_insensitive"} or Loss, default="square"
        By name, κ is 1.345 times the median norm, or twice the median size at a point, of ridge residuals, and ε is
        that median; ``Huber(kappa=0.5)`` is taken literally.
    geometry : {"norm", "pointwise", "componentwise"}, default=None
        Whether a loss given by name is one of whole curves (the default), of each of their points, or of each number:
        of curves in R^p, "pointwise" is of the length of the vector at a point, "componentwise" of each component. A
        ``Loss`` has its own.
    representation : "nodes", "eigen" or Basis, default="nodes"
        "eigen" truncates k_Θ to its leading eigenfunctions; a Basis such as ``HarmonicBasis(15)`` replaces it by its
        functions and spectrum.
    truncation : {"kernel", "dual"}, default="kernel"
        What a representation truncates: k_Θ, and losses are those of whole residual curves; or, as in the papers, the
        span of the dual variables, and a loss of norms sees the projection of a residual curve only. With the square
        loss that is the same model.
    grid : array-like of shape (m,) or (m, d), or MeasureRule, default=None
        Where the columns of Y lie. An array gets trapezoid weights of sum 1 on the line, equal ones elsewhere;
        a rule such as ``Points(points, weights)`` is taken literally. Without it columns are mere outputs of
        weight 1. For curves at points of their own it says where :meth:`predict` evaluates.
    fit_intercept : bool, default=True
        Whether to add the mean curve b.
    mean_curve : {"smooth", "free"}, default="smooth"
        "smooth" is a ridge regression of the mean over curves on θ, as smooth as its standard error allows by
        leave-one-out; c is 100 times the mean of k_X(x_i, x_i). "free" is a b at each node of a grid that minimises the
        objective together with h (c = 0), straight lines between them: nothing depends on where the curves lie then,
        and derivatives are as rough as the data. Without a grid, b is free in each column.
    solver : str or Solver, default="auto"
        See :func:`mercer.solvers.select`.
    tol : float, default=1e-4
        Bound on the relative duality gap.
    max_iter : int, default=None
        Limit on the iterations; that of the solver by default.
    warm_start : bool, default=False
        Start from the last fit when the shape of the data is the same; so a fit that Ctrl-C has stopped
        goes on.
    verbose : int, default=0
        1 reports on standard error what is computed, factorisations before they begin and with an estimate of their
        time, and the duality gap as it falls, with an estimate of the time left.

    Attributes
    ----------
    encoder_ : TableEncoder or None
        How columns of text, categories, dates and missing cells of a data frame became numbers, for ``fit`` and for
        predictions; None where X was numbers. What is said below of columns of X is of the encoded ones, whose names
        are ``encoder_.get_feature_names_out()``.
    relevance_ : array of shape (n_columns,) or None
        The share of each column in the scales of ``kernel_``, in standard deviations; it sums to 1. Equal shares where
        equal scales predict better; None where no scales are learned, or the kernel is none of single columns.
    dual_coef_ : array of shape (n_rows, m·p) or (n_observations, p)
        Representer coefficients; with a basis that is orthonormal on the grid and no intercept one column for each of
        its functions, and one more.
    X_fit_ : array of shape (n_rows, n_features_in_)
        Training inputs of positive weight, equal rows once.
    intercept_ : array of shape (m·p,)
        b at the points of ``measure_``.
    mean_function_ : MeanFunction
        The mean of the fitted curves over the training rows, b and h together: ``evaluate(points)``, ``slope(points)``.
    expansion_ : Expansion
        The fitted function h: ``evaluate(X, points)``, ``slope``, ``norm``, ``state()``.
    intercept_function_ : SmoothMean, InterceptFunction or None
        b(θ): ``evaluate(points)``, ``slope(points)``; None without an intercept.
    layout_ : GridCurves or ScatteredCurves
        How curves were given, without rows of them: nodes, components, dimensions, and whether there is something
        between the nodes (``located``) or columns of Y are mere numbers.
    columns_ : array of int or None
        Of a Gram matrix, the columns that belong to rows of positive weight, where not all do.
    output_form_ : object or None
        How curves of another library came, such as scikit-fda's, so that predictions go out alike; None for arrays.
    grid_ : array of shape (m,) or (m, d)
        Where :meth:`predict` evaluates.
    approximation_ : Approximation or None
        What took the place of the kernel, and its cost in accuracy, estimated on a sample; None for the kernel itself.
        With features ``X_fit_`` and ``dual_coef_`` are None: ``expansion_`` holds all that is left.
    alpha_, loss_, kernel_, output_kernel_ : float, Loss, Kernel, Kernel
        With numbers for all that was automatic.
    measure_ : Measure
        Nodes and weights of Θ.
    support_ : array of int
        Rows of ``X_fit_`` with a coefficient that is not 0; the other curves do not change h, given b.
    n_support_ : int
        Their number.
    saturated_ : array of int
        Rows of ``X_fit_`` on whose curves the loss is linear, at a point at least. They are many where κ is small,
        as it may be where it was tuned.
    outlying_ : array of int
        Rows of ``X_fit_`` whose residual curves are too large for the rest, whatever the loss: beyond 4(1 + 5/n)
        robust standard deviations of the cube root of their mean square. None of fewer than ten. Of the square loss,
        which follows outliers, they are reliable while these are few.
    objective_, dual_gap_, relative_gap_ : float
        The certificate.
    n_iter_, status_, solver_
        How the solver ended.

    See Also
    --------
    FunctionalRegressorCV : Tunes kernels, λ and the parameter of the loss.

    Notes
    -----
    Ctrl-C in the middle of a fit keeps the best model so far: fitted, with its gap, ``status_ == "stopped"`` and a
    warning. A second one is a KeyboardInterrupt, and so is the first while kernels, λ and thresholds are chosen.

    On a complete grid the square loss takes two eigendecompositions; with holes, or scattered observations, conjugate
    gradients in their bases. Between the nodes h is given by k_Θ, and b by its own kernel, or by straight lines.

    Without a kernel of yours, from 20 complete curves and two columns on, scales of columns maximise the evidence of a
    Gaussian process for the leading principal components of the curves times a prior that draws all scales to a common
    one, on at most 300 rows. They are taken where their leave-one-out error is below 1 − 15/n of that of equal scales:
    they have seen the curves. With a robust loss, holes or scattered curves scales stay equal.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import FunctionalRegressor
    >>> rng = np.random.default_rng(0)
    >>> X, grid = rng.uniform(size=(60, 1)), np.linspace(0, 1, 25)
    >>> Y = np.sin(2 * np.pi * (grid + X)) + 0.1 * rng.normal(size=(60, 25))
    >>> Y[rng.random(Y.shape) < 0.3] = np.nan  # holes are fine
    >>> model = FunctionalRegressor(grid=grid).fit(X, Y)
    >>> model.predict([[0.5]]).shape, model.predict_at([[0.5]], [0.123, 0.5]).shape
    ((1, 25), (1, 2))
    >>> model.score(X, Y) > 0.9
    True
    """

    def __init__(
        self,
        kernel=None,
        *,
        output_kernel=None,
        output_matrix=None,
        alpha="auto",
        approximation="auto",
        loss="square",
        geometry=None,
        representation="nodes",
        truncation="kernel",
        grid=None,
        fit_intercept=True,
        mean_curve="smooth",
        solver="auto",
        tol=1e-4,
        max_iter=None,
        warm_start=False,
        verbose=0,
    ):
        self.kernel = kernel
        self.output_kernel = output_kernel
        self.output_matrix = output_matrix
        self.alpha = alpha
        self.approximation = approximation
        self.loss = loss
        self.geometry = geometry
        self.representation = representation
        self.truncation = truncation
        self.grid = grid
        self.fit_intercept = fit_intercept
        self.mean_curve = mean_curve
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.verbose = verbose

    # -- what the parameters mean ------------------------------------------------------------------------------

    _curves_become = "values"  # kernels on functions are among the candidates

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.mean_curve not in ("smooth", "free"):
            raise parameter_error(self, "mean_curve", self.mean_curve, "'smooth' or 'free'")
        if self.truncation not in ("kernel", "dual"):
            raise parameter_error(self, "truncation", self.truncation, "'kernel' or 'dual'")
        if self.truncation == "dual" and self._basis() is None:
            hint = "At the nodes nothing is truncated: pass representation='eigen' or a Basis."
            raise parameter_error(self, "truncation", self.truncation, "'kernel' without a representation", hint)

    def _check_whole_kernel(self, kernel: OperatorValuedKernel) -> None:
        if not isinstance(kernel, Decomposable):
            raise parameter_error(
                self,
                "kernel",
                kernel,
                "a Kernel, a name, a function of two arrays or a Decomposable kernel",
                "Take Decomposable(k_X, k_Θ, output_matrix), or solve with this one: select(problem).solve(problem) of "
                "mercer.solvers with problem = DualProblem(kernel.bind(measure).gram(X), loss, Y, measure, alpha).",
            )
        super()._check_whole_kernel(kernel)

    def _basis(self) -> Basis | None:
        if isinstance(self.representation, Basis):
            return self.representation
        if isinstance(self.representation, str) and self.representation in ("nodes", "eigen"):
            return NystromBasis() if self.representation == "eigen" else None
        raise parameter_error(
            self,
            "representation",
            self.representation,
            "'nodes', 'eigen' or a Basis",
            _basis_hint(self.representation),
        )

    def _output_kernels(self, outputs: Outputs) -> list[Kernel]:
        """Return the output kernel, or several to choose from."""
        given = self._part("output_kernel")
        if given is None:
            return default_output_kernels(outputs)
        kernel = as_kernel(given, self, "output_kernel")
        if kernel.pairwise:
            raise parameter_error(
                self, "output_kernel", given, "a kernel on points of Θ", "It is evaluated at any point."
            )
        return [kernel.adapt(outputs.measure.points)]

    # -- fitting -----------------------------------------------------------------------------------------------

    def fit(self, X, y, sample_weight=None):
        """Fit the curves.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features), or curves
            Inputs; columns of a data frame may hold text, categories, dates, curves and missing cells. Curves are a
            list of (points, values), with NaN or without, or scikit-fda's; ``[curves, scalars]`` are parts side by
            side, and so is a :class:`~mercer.preprocessing.CurveTable`. A Gram matrix with ``kernel="precomputed"``.
        y : array-like of shape (n_samples, m) or (n_samples, m, p), or list of (points, values[, weights])
            Curves on ``grid``, NaN where they were not observed; or for each curve the points at which it was observed,
            values of shape (m_i,) or (m_i, p), and weights if they are not 1/m_i each.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights; a row of weight 2 counts as the row twice.

        Returns
        -------
        self : FunctionalRegressor
        """
        self._check_settings()
        y, grid, output_form = open_curves(self, y, self.grid)
        X, keep, weight, columns = validate_rows(self, X, sample_weight)
        outputs = read_outputs(self, y, grid, X)
        sample = self._sample(X, outputs, keep, weight, columns)
        given = replace(sample, X=X, outputs=outputs, weight=weight)
        observed = sample
        centre, sample = sample.centred()
        if not eigh_fits(len(sample)) and self.approximation is None:
            self._afford(sample)
        with progress(self.verbose, "choosing kernels, alpha and loss, as far as they are not given"):
            chosen, loss = self._choose(sample, given)
        taken = self._with_features(chosen.kernel, sample)
        bound = sample.bind(taken.kernel, chosen.output_kernel, loss)
        alpha = self._alpha_with(taken, sample, bound, loss, chosen.alpha)
        problem, result, expansion = self._solved(sample, bound, taken, loss, alpha)
        smooth = isinstance(centre, SmoothMean)
        self._store(sample.X, bound, problem, result, 0.0 if smooth else centre, columns, expansion)
        self.kernel_ = chosen.kernel
        self.output_form_ = output_form
        self.measure_, self.loss_ = sample.measure, loss
        told = self._learns(sample) and isinstance(chosen.kernel, Gaussian)
        self.relevance_ = as_like(column_shares(chosen.kernel, sample.X), sample.X) if told else None
        self.layout_ = sample.outputs.take(np.zeros(0, dtype=int))
        self.intercept_ = centre.evaluate(sample.measure.points) if smooth else self.intercept_
        free = sample.outputs.intercept_function(self.intercept_) if sample.fit_intercept else None
        self.intercept_function_ = centre if smooth else free
        self.mean_function_: MeanFunction | None = self._mean_function(sample, taken)
        self.grid_ = sample.outputs.prediction_grid(self, grid)
        rows = sample.outputs.support(problem, to_numpy(result.coef))
        self.support_, self.saturated_ = (namespace(X).asarray(index, device=device(X)) for index in rows)
        self.n_support_ = len(rows[0])
        self._look_for_outliers(observed, self._residuals(sample, observed, bound, problem, result))
        self._compare_with(taken, sample, loss, chosen.alpha, alpha)
        return self

    @available_if(can_stream)
    def partial_fit(self, X, y, sample_weight=None):
        """Learn from one more batch of curves, which need not be kept.

        The first batch is fitted as by :meth:`fit` and so chooses kernels, λ, features and a smooth mean curve, which
        stay: ``approximation`` is features of :mod:`mercer.features`, or "auto" for 300 random frequencies (landmarks,
        where the kernel has none). With the square loss the model is that of all curves so far
        (:class:`~mercer.solvers.NormalEquations`), with ``mean_curve="free"`` as if they had come together; others go
        on from the first fit by averaged stochastic gradients (:class:`~mercer.solvers.StochasticGradient`).
        ``status_`` is "stream", gaps are not known (NaN), and ``n_samples_seen_`` counts rows. A batch that is refused
        changes nothing; after :meth:`fit` the stream begins anew.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows, with the columns of the first batch.
        y : array-like of shape (n_samples, m)
            Complete curves on the grid of the first batch.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights, comparable between batches.

        Returns
        -------
        self : FunctionalRegressor
        """
        return self._partial_fit(X, y, sample_weight)

    def _needs_all_rows(self):
        if self.representation != "nodes":
            return "it is for values at nodes: representation='nodes'."
        return super()._needs_all_rows()

    def _stream_targets(self, y, n_rows):
        X = np.zeros((n_rows, 1))
        outputs = read_outputs(self, y, self.layout_.reading_grid(self.grid_), X)
        self._check_lengths(X, outputs)
        Y, nodes = to_numpy(outputs.values).astype(float), self.measure_.points
        if not outputs.on_grid or np.shape(outputs.measure.points) != np.shape(nodes) or np.any(np.isnan(Y)):
            raise DataError(
                f"{type(self).__name__}.partial_fit: Y must be complete curves on the {len(nodes)} points of the grid "
                "of the first batch."
            )
        return Y if self._stream_fits_intercept else Y - to_numpy(self._constant_part)

    @property
    def _constant_part(self):
        """The mean curve at the nodes, where it stays that of the first batch."""
        return self.intercept_ if self.fit_intercept else np.zeros(len(self.measure_))

    @property
    def _stream_fits_intercept(self) -> bool:
        return self._mean_curve(self.layout_)[0]

    def _stream_loss(self):
        return self.loss_

    def _take_intercept(self, b):
        if self._stream_fits_intercept:
            self.intercept_, self.intercept_function_ = b, self.layout_.intercept_function(b)
        self.support_ = self.saturated_ = self.outlying_ = None
        self.mean_function_ = None  # it is that of rows

    def _mean_function(self, sample: Sample, taken: StandIn) -> MeanFunction:
        """Return the mean of the fitted curves, which keeps the rows only where the model does."""
        if taken.features is None:
            return MeanFunction(self.expansion_, self.intercept_function_, sample.X, sample.weight)
        expansion: Any = self.expansion_
        mean = expansion.averaged(sample.X, sample.weight)
        return MeanFunction(mean, self.intercept_function_, namespace(sample.X).zeros_like(sample.X[:1, :]))

    def _residuals(
        self, sample: Sample, observed: Sample, bound: Any, problem: Any, result: SolverResult
    ) -> np.ndarray:
        """Return y − f(x): from the predictions of the certificate, where they are values of curves."""
        if result.prediction is None or isinstance(bound, BoundCoefficients):
            return observed.outputs.residuals(self._evaluate, observed.X)
        fitted = result.prediction + problem.effect(result.intercept)[None, :]
        return to_numpy(sample.outputs.values) - to_numpy(fitted)

    def _look_for_outliers(self, observed: Sample, residuals: np.ndarray) -> None:
        """Name the curves that the fit is far from, and warn where they rule it."""
        outputs, weight = observed.outputs, observed.weight
        outlying = outlying_curves(outputs, residuals, weight)
        self.outlying_ = namespace(observed.X).asarray(np.flatnonzero(outlying), device=device(observed.X))
        if isinstance(self.loss_, Square) and len(outputs.measure) > 1:
            warn_of_outliers(self, outputs, residuals, outlying, weight)

    def _other_kernels(self, X) -> list[list[Kernel]]:
        """Return families of kernels on functions, where X holds curves."""
        return curve_kernels(X, self.encoder_, FEW_LENGTHS)

    def _sample(self, X, outputs: Outputs, keep, weight, columns) -> Sample:
        """Return the rows of positive weight, identical ones once; they must be two at least."""
        X, outputs, weight = self._kept(X, outputs, keep, weight, columns)
        basis = self._basis()
        free, scale = self._mean_curve(outputs)
        sample = Sample(X, outputs, weight, self._matrix(outputs), basis, free, scale, self.truncation)
        if not (basis is None or isinstance(basis, NystromBasis)):  # others do not depend on k_Θ
            sample = replace(sample, basis=basis.bind(sample.measure))
        if self.__sklearn_tags__().input_tags.pairwise:
            check_gram(self, X)
            return sample
        return sample.merged()

    def _mean_curve(self, outputs: Outputs) -> tuple[bool, float]:
        """Return whether the mean curve is free at each node, and how freely a smooth one varies (0: there is none)."""
        if not self.fit_intercept:
            return False, 0.0
        smooth = self.mean_curve == "smooth" and outputs.located and len(outputs.measure) > 1
        return (False, MEAN_SCALE) if smooth else (True, 0.0)

    def _matrix(self, outputs: Outputs):
        given = self._part("output_matrix")
        return None if given is None else check_output_matrix(self, given, outputs.n_components)

    # -- prediction --------------------------------------------------------------------------------------------

    def predict(self, X):
        """Return the curves at X on ``grid_``: shape (n_samples, m), or (n_samples, m, p) for curves in R^p.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = self._validated(X, "predict")
        values = self._evaluate(X, self._grid_points())
        shaped = self.layout_.shaped(values, len(self._grid_points()))
        return shaped if self.output_form_ is None else self.output_form_.close(shaped, self.grid_)

    def predict_at(self, X, points, *, extrapolate=False):
        """Return the curves at X at any points of Θ, shape (n_samples, k), or (n_samples, k, p) for curves in R^p.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        points : array-like of shape (k,) or (k, d)
            Within the range of what was observed, unless ``extrapolate``.
        extrapolate : bool, default=False
            Allow points beyond that range, where nothing was learned: h falls back to 0 with k_Θ, a smooth b to the
            mean of all values; a free b stays constant.
        """
        check_is_fitted(self)
        points = self._checked_points(points, extrapolate)
        return self._shape_at(self._evaluate(self._validated(X, "predict_at"), points), points)

    predict_function = renamed(predict_at, "predict_function")

    def predict_derivative(self, X, points, *, extrapolate=False):
        """Return ∂_θ of the curves at X, like :meth:`predict_at`; for Θ on the line and a smooth k_Θ.

        A mean curve that is free at the nodes is piecewise linear, and so its part of the derivative has steps.
        """
        check_is_fitted(self)
        points = self._checked_points(points, extrapolate)
        if points.shape[1] != 1:
            raise UnsupportedError(f"{type(self).__name__}: derivatives are for curves over an interval.")
        X = self._validated(X, "predict_derivative")
        values = self.expansion_.slope(X, points)
        if self.intercept_function_ is not None:
            values = values + self.intercept_function_.slope(points)[None, :]
        return self._shape_at(values, points)

    def score(self, X, y, sample_weight=None):
        """Return the integrated R²: 1 − Σ_i s_i‖y_i − f(x_i)‖² / Σ_i s_i‖y_i − ȳ‖², over observed values.

        Norms are those of the grid of the fit, ȳ is the mean curve of y; that of scattered curves is the mean at
        each shared point or, on the line, the lines through means over bins.
        """
        check_is_fitted(self)
        X = self._validated(X, "score")
        y, own, _ = open_curves(self, y, None)
        if own is not None and not self._is_grid(own):  # curves that bring another grid than that of the fit
            y = [(own, row) for row in y]
        outputs = read_outputs(self, y, self.layout_.reading_grid(self.grid_), X)
        self._check_lengths(X, outputs)
        if outputs.n_components != self.layout_.n_components:
            raise DataError(
                f"{type(self).__name__}: Y has values of {outputs.n_components} components; those of the fit had "
                f"{self.layout_.n_components}."
            )
        if not np.any(np.isfinite(to_numpy(outputs.values))):
            raise DataError(f"{type(self).__name__}: Y holds NaN only, so that there is nothing to compare with.")
        weight = None if sample_weight is None else validate_weight(sample_weight, to_numpy(X))
        errors = outputs.norms(outputs.residuals(self._evaluate, X)) ** 2
        error = float(errors.sum() if weight is None else weight @ errors)
        variation, rounding = outputs.total_variation(weight)
        return 1 - error / variation if variation > rounding else float(error <= rounding)

    def diagnose(self, X, y, sample_weight=None):
        """Return what the fit says of its own curves, which are to be given again: a CurveDiagnosis.

        Fitted, residual and left-out curves, R²(θ) in sample and left out, leverage, influence, outlying curves.

        Parameters
        ----------
        X, y, sample_weight :
            As they were given to ``fit``.
        """
        return diagnose_curves(self, X, y, sample_weight)

    def _validated(self, X, method):
        return self._valid_inputs(X, method)

    def _evaluate(self, X, points):
        """Return h + b, shape (n, k·p)."""
        h = self.expansion_.evaluate(X, points)
        return h if self.intercept_function_ is None else h + self.intercept_function_.evaluate(points)[None, :]

    def _is_grid(self, points):
        """Say whether curves that bring these points lie on the grid of the fit."""
        return np.shape(points) == tuple(self.grid_.shape) and np.allclose(points, to_numpy(self.grid_))

    def _grid_points(self):
        grid = to_numpy(self.grid_)
        return grid[:, None] if grid.ndim == 1 else grid

    def _shape_at(self, values, points):
        return values if self.layout_.n_dims < 3 else self.layout_.shaped(values, len(points))

    def _checked_points(self, points, extrapolate):
        points = as_points(type(self).__name__, points)
        if not self.layout_.located:
            raise UnsupportedError(
                f"{type(self).__name__}: the columns of Y had no grid, so that there is nothing between them. Pass "
                "grid= to the constructor."
            )
        known = np.concatenate([to_numpy(self.measure_.points), self._grid_points()])
        return check_range(type(self).__name__, points, known, extrapolate)


def _basis_hint(representation: object) -> str:
    """Return what to pass instead; a basis of scikit-fda is known by its module, which need not be there."""
    kind = representation if isinstance(representation, type) else type(representation)
    if kind.__module__.partition(".")[0] == "skfda":
        return f"One of scikit-fda goes through mercer.interop.skfda.as_basis({kind.__name__}(...))."
    return "For instance HarmonicBasis(15)."
