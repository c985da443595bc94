"""Vectors as outputs: several numbers at once, related or not, with any operator-valued kernel and any loss."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer.backend import as_like, device, namespace, to_numpy
from mercer.estimators.column_relevance import column_shares
from mercer.estimators.feature_posterior import FeaturePosterior
from mercer.estimators.gaussian_posterior import GaussianPosterior
from mercer.estimators.learned_matrix import LearnedMatrix
from mercer.estimators.matrix_choice import matrix_of_sample
from mercer.estimators.output_metric import read_metric
from mercer.estimators.outputs import Outputs
from mercer.estimators.partial_fit import StreamedFit, can_stream
from mercer.estimators.progress import progress
from mercer.estimators.read_outputs import read_outputs
from mercer.estimators.refined_length import refined_length
from mercer.estimators.sample import Sample
from mercer.estimators.sample_regressor import SampleRegressor
from mercer.estimators.smoothness import Smoothness, choose_smoothness
from mercer.estimators.tables import column_layout
from mercer.estimators.validation import check_gram, validate_rows, validate_weight
from mercer.estimators.vector_outputs import VectorOutputs
from mercer.exceptions import DataError, UnsupportedError, parameter_error
from mercer.kernels import Identity, Kernel
from mercer.linalg import eigh_fits
from mercer.losses import Loss, Square
from mercer.operator_valued import Decomposable, Indexed, MatrixValuedKernel, OperatorValuedKernel, check_output_matrix

__all__ = ["VectorValuedRegressor"]


class VectorValuedRegressor(MultiOutputMixin, RegressorMixin, StreamedFit, SampleRegressor):
    """Regression with vectors as outputs: independent or related, some of them missing, with any loss.

    Minimises, over h in the space of an operator-valued kernel K(x, z) ∈ R^{p×p} and b ∈ R^p,

        (1/n) Σ_i s_i L(y_i − b − h(x_i)) + (λ/2)‖h‖²,

    L the square loss ½‖r‖², or a robust or sparse one, of the norm of a residual or of each component, to a relative
    duality gap of ``tol``. With the square loss it is kernel ridge regression, cokriging, a Gaussian process.

    Parameters
    ----------
    kernel : Kernel, str, callable or OperatorValuedKernel, default=None
        k_X, whose kernel is K = k_X·Γ; or the whole of K, such as a
        :class:`~mercer.operator_valued.MatrixValuedKernel` that does not decompose. By default a Gaussian with one
        scale per column, whose length predicts left-out rows best in ridge regression (from a grid, then by the slope
        of their error); columns get scales by evidence where that predicts them better, as in
        :class:`FunctionalRegressor`.
    output_matrix : array-like of shape (p, p), "learned" or LearnedMatrix, default=None
        Γ, positive semi-definite: which outputs are alike. The identity by default. "learned" is of greatest evidence,
        shrunk to the identity as far as rows that were left out ask for (see Notes); ``LearnedMatrix(rank=3)`` is of
        low rank.
    alpha : float or "auto", default="auto"
        λ. "auto" takes it from ridge regression with the same kernel, by leave-one-out in closed form; for robust
        losses rows that are outlying to a first robust fit hardly count in that. Of features that take the
        place of the kernel, with the square loss, it is then chosen anew, by all rows.
    approximation : FeatureMap, "auto" or None, default="auto"
        Features in place of the kernel, for many rows: ``Nystroem(500)`` or ``RandomFourier(1000)`` of
        :mod:`mercer.features`.
        The fit is then exactly that of the kernel which the features make, with its certificate, and keeps no training
        rows. "auto" takes landmarks where the kernel itself would need more memory than there is, or more than about
        a minute; None never does.
    loss : {"square", "huber", "epsilon_ridge", "epsilon_insensitive"} or Loss, default="square"
        By name, κ is 1.345 times the median norm, or twice the median size of a component, of ridge residuals, and ε is
        that median; ``Huber(kappa=0.5)`` is taken literally.
    geometry : {"norm", "componentwise"}, default=None
        Whether a loss given by name is one of the norm of a residual (the default), or of each component.
    metric : array-like of shape (p, p) or (p,), or "variance", default=None
        Q of the norm ‖r‖² = rᵀQ⁻¹r in which residuals are measured, the covariance of the noise as it were; an array of
        shape (p,) is its diagonal, "variance" the variances of the outputs, so that their units do not matter. Losses
        of components, and missing targets, need a diagonal Q.
    fit_intercept : bool, default=True
        Whether to add b, free in R^p.
    solver : str or Solver, default="auto"
        See :func:`mercer.solvers.select`.
    tol : float, default=1e-4
        Bound on the relative duality gap.
    max_iter : int, default=None
        Limit on the iterations; that of the solver by default.
    warm_start : bool, default=False
        Start from the last fit when the shape of the data is the same.
    verbose : int, default=0
        1 reports on standard error what is computed, and the duality gap as it falls.

    Attributes
    ----------
    kernel_ : Kernel or OperatorValuedKernel
        k_X, or K, with numbers for all that was automatic.
    output_matrix_ : array of shape (p, p) or None
        Γ; None where the kernel does not decompose.
    metric_ : array of shape (p, p) or None
        Q.
    approximation_ : Approximation or None
        What took the place of the kernel, and its cost in accuracy, estimated on a sample; None for the kernel itself.
        With features ``X_fit_`` and ``dual_coef_`` are None: ``expansion_`` holds all that is left.
    alpha_, loss_ : float, Loss
        With numbers for all that was automatic.
    dual_coef_ : array of shape (n_rows, p)
        Representer coefficients c: h(x) = Σ_i K(x, x_i)c_i.
    X_fit_ : array of shape (n_rows, n_features_in_)
        Training inputs of positive weight, equal rows of data once.
    intercept_ : array of shape (p,)
        b.
    expansion_ : Expansion
        The fitted function h: ``evaluate(X, indices)``, ``norm``, ``state()``.
    posterior_ : GaussianPosterior, FeaturePosterior or None
        Of the square loss: ``covariance(X)``, ``deviation(X)``.
    signal_variance_, noise_variance_ : float or None
        Of the square loss: σ² of greatest evidence and σ²λn, see Notes.
    relevance_ : array of shape (n_columns,) or None
        The share of each column in the scales of ``kernel_``; None where no scales are learned.
    support_, saturated_ : array of int
        Rows of ``X_fit_`` with a coefficient that is not 0, and those on which the loss is linear.
    layout_ : VectorOutputs
        How vectors were given, without rows of them.
    encoder_ : TableEncoder or None
        How columns of text, categories, dates and missing cells of a data frame became numbers.
    columns_ : array of int or None
        Of a Gram matrix, the columns that belong to rows of positive weight, where not all do.
    objective_, dual_gap_, relative_gap_, n_iter_, status_, solver_
        The certificate, and how the solver ended.

    See Also
    --------
    FunctionalRegressor : Curves, with something between their points.
    ConformalFunctionalRegressor : Boxes around the predicted vectors that cover at any sample size.

    Notes
    -----
    *A Gaussian process.* For the square loss h is the mean of a process of covariance σ²K, observed with noise of
    covariance σ²λnQ/s_i, given the data; b has a flat prior. ``predict(X, return_std=True)`` is its standard deviation,
    without the noise of a new observation, whose variance is ``noise_variance_`` times the diagonal of Q. σ² is that of
    greatest evidence, 2·objective/(λ·(N − p)) with N observed numbers (N without an intercept). So
    ``GaussianProcessRegressor(ConstantKernel(σ²) * k, alpha=σ²λn, optimizer=None)`` of scikit-learn has the same mean
    and standard deviation as a fit without intercept.

    *Learned Γ.* On at most 500 rows (400 observed values where some are missing) Γ̂ maximises the evidence, and
    (1 − t)Γ̂ + tI, of trace p, is taken with the t that predicts quarters of the rows best from the others, Γ̂ learned
    from these alone. It must beat the identity by 1.5 standard errors of the difference.

    *Leave-one-out* is exact and in closed form: from two eigendecompositions where the kernel decomposes and all
    targets are there; otherwise from the matrix of all observed values, 1 000 of them at most.

    *Missing targets* (NaN) are tasks that were not observed: norms are those of what was. A row with one number only is
    a row of one task.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import VectorValuedRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(80, 1))
    >>> Y = np.hstack([np.sin(6 * X), np.sin(6 * X) + X, np.cos(6 * X)]) + 0.1 * rng.normal(size=(80, 3))
    >>> Y[::3, 0] = np.nan  # not all were observed
    >>> model = VectorValuedRegressor(output_matrix="learned").fit(X, Y)
    >>> mean, std = model.predict([[0.5]], return_std=True)
    >>> mean.shape, std.shape, model.score(X, Y) > 0.9
    ((1, 3), (1, 3), True)
    """

    posterior_: Any

    def __init__(
        self,
        kernel=None,
        *,
        output_matrix=None,
        alpha="auto",
        approximation="auto",
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
        self.kernel = kernel
        self.output_matrix = output_matrix
        self.alpha = alpha
        self.approximation = approximation
        self.loss = loss
        self.geometry = geometry
        self.metric = metric
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.verbose = verbose

    # -- what the parameters mean ------------------------------------------------------------------------------

    @property
    def _whole(self) -> bool:
        """Whether the kernel is an operator-valued one that need not decompose."""
        return isinstance(self.kernel, OperatorValuedKernel) and not isinstance(self.kernel, Decomposable)

    def _adapted_kernel(self, X):
        if self._whole:
            return self.kernel.locate(column_layout(self)).adapt(X)
        return super()._adapted_kernel(X)

    def _part(self, name: str) -> Any:
        return self.kernel if self._whole and name == "kernel" else super()._part(name)

    def _learned(self) -> LearnedMatrix | None:
        """Return how Γ is to be learned, or None."""
        given = self.output_matrix
        if isinstance(given, str):
            if given != "learned":
                raise parameter_error(self, "output_matrix", given, "an array, 'learned', a LearnedMatrix or None")
            return LearnedMatrix()
        return given if isinstance(given, LearnedMatrix) else None

    def _given_matrix(self, p: int) -> Any:
        """Return Γ as it was given, shape (p, p), or None."""
        if isinstance(self.kernel, Decomposable):
            index = np.zeros((1, 1))
            matrix, outputs = self.kernel.output_matrix, self.kernel.output_kernel
            if matrix is not None:
                matrix = float(to_numpy(outputs.adapt(index)(index))[0, 0]) * np.asarray(to_numpy(matrix), dtype=float)
            elif not isinstance(outputs, Identity):
                indices = np.arange(float(p))[:, None]
                matrix = to_numpy(outputs.adapt(indices)(indices))
            return None if matrix is None else check_output_matrix(self, matrix, p)
        if self.output_matrix is None or self._learned() is not None:
            return None
        return check_output_matrix(self, self.output_matrix, p)

    def _output_kernels(self, outputs: Outputs) -> list[Kernel]:
        p = len(outputs.measure)
        learned, matrix = self._learned(), self._given_matrix(p)
        if learned is not None and learned.rank is not None and learned.rank > p:
            raise parameter_error(self, "output_matrix", learned, f"of rank {p} at most, the number of outputs")
        return [Identity() if matrix is None else Indexed(matrix)]

    def _smoothness(self, sample, kernels, output_kernels, alpha, loss, learn, families) -> Smoothness:
        """Return kernels and λ, with an output matrix that is learned where that was asked for."""
        chosen = self._ridge_choice(sample, kernels, output_kernels, alpha, loss, learn, families)
        learned = self._learned()
        if learned is None or len(sample.measure) == 1:
            return chosen
        matrix = matrix_of_sample(sample, chosen.kernel, chosen.alpha, alpha, learned.rank)
        if matrix is None:
            return chosen
        if sample.outputs.metric is not None:  # output kernels are in the coordinates of the user
            factor = sample.outputs.metric.factor
            matrix = factor @ matrix @ factor.T
        return self._ridge_choice(sample, [chosen.kernel], [Indexed(matrix)], alpha, loss, None, [])

    def _ridge_choice(self, sample, kernels, output_kernels, alpha, loss, learn, families) -> Smoothness:
        """Return the kernels and λ whose ridge regression predicts rows best that it has not seen."""
        chosen = choose_smoothness(sample, kernels, output_kernels, alpha, loss, learn, families)
        return self._refined(sample, chosen, alpha, loss) if len(kernels) > 1 else chosen

    def _refined(self, sample: Sample, chosen: Smoothness, alpha: float | None, loss: Loss) -> Smoothness:
        """Return what was chosen among default kernels with a length between theirs, where that is better."""
        return refined_length(sample, chosen, alpha, loss)

    # -- fitting -----------------------------------------------------------------------------------------------

    def fit(self, X, y, sample_weight=None):
        """Fit the vectors.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Inputs; columns of a data frame may hold text, categories, dates and missing cells. A Gram matrix with
            ``kernel="precomputed"``.
        y : array-like of shape (n_samples, p) or (n_samples,)
            Vectors, NaN where an output was not observed.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights; a row of weight 2 counts as the row twice.

        Returns
        -------
        self : VectorValuedRegressor
        """
        self._check_settings()
        X, keep, weight, columns = validate_rows(self, X, sample_weight)
        sample = self._sample(X, self._read(y, X), keep, weight, columns)
        centre, sample = sample.centred()
        if not (self._whole or eigh_fits(len(sample))) and self.approximation is None:
            self._afford(sample)
        with progress(self.verbose, "choosing kernels, alpha and loss, as far as they are not given"):
            chosen, loss = self._choose(sample, sample)
        taken = self._with_features(chosen.kernel, sample)
        bound = sample.bind(taken.kernel, chosen.output_kernel, loss)
        alpha = self._alpha_with(taken, sample, bound, loss, chosen.alpha)
        problem, result, expansion = self._solved(sample, bound, taken, loss, alpha)
        self._store(sample.X, bound, problem, result, centre, columns, expansion)
        self.posterior_: Any = None
        self.signal_variance_ = self.noise_variance_ = None
        rows = sample.outputs.support(problem, to_numpy(result.coef))
        self.support_, self.saturated_ = (namespace(X).asarray(index, device=device(X)) for index in rows)
        self.kernel_, self.loss_ = chosen.kernel, loss
        self.relevance_ = as_like(column_shares(chosen.kernel, sample.X), sample.X) if self._learns(sample) else None
        if expansion is None:
            self._store_process(sample, bound, problem, taken.features is not None)
        self._leave_metric(sample, chosen._replace(kernel=taken.kernel, alpha=alpha))
        self._compare_with(taken, sample, loss, chosen.alpha, alpha)
        return self

    @available_if(can_stream)
    def partial_fit(self, X, y, sample_weight=None):
        """Learn from one more batch of rows, which need not be kept.

        The first batch is fitted as by :meth:`fit` and so chooses kernel, λ and features, which stay: ``approximation``
        is features of :mod:`mercer.features`, or "auto" for 300 random frequencies (landmarks, where the kernel has
        none).
        With the square loss the model is that of all rows so far (:class:`~mercer.solvers.NormalEquations`), as if they
        had come together; others go on from the first fit by averaged stochastic gradients
        (:class:`~mercer.solvers.StochasticGradient`).

        ``status_`` is "stream", gaps are not known (NaN), and ``n_samples_seen_`` counts rows. A batch that is refused
        changes nothing; after :meth:`fit` the stream begins anew.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows, with the columns of the first batch.
        y : array-like of shape (n_samples, p) or (n_samples,)
            Vectors, complete.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights, comparable between batches.

        Returns
        -------
        self : VectorValuedRegressor
        """
        return self._partial_fit(X, y, sample_weight)

    def _needs_all_rows(self):
        if self.metric is not None:
            return "a metric needs all rows. Scale the outputs, and leave metric=None."
        return super()._needs_all_rows()

    def _stream_targets(self, y, n_rows):
        like = np.zeros((n_rows, self.n_features_in_))
        outputs = self._read(y, like)
        self._check_lengths(like, outputs)
        Y = to_numpy(outputs.values).astype(float)
        p = len(self.layout_.nodes)
        if Y.shape[1] != p or np.any(np.isnan(Y)):
            what = "some are missing (NaN)" if Y.shape[1] == p else f"got {Y.shape[1]}"
            raise DataError(f"{type(self).__name__}.partial_fit: Y must have all of {p} outputs; {what}.")
        return Y

    def _stream_measure(self):
        return self.layout_.measure

    def _stream_loss(self):
        return self.loss_

    def _take_intercept(self, b):
        self.intercept_ = b
        self.support_ = self.saturated_ = None
        self.posterior_ = self.signal_variance_ = self.noise_variance_ = None

    def _read(self, y, like) -> VectorOutputs:
        """Return the vectors as they were given."""
        outputs = read_outputs(self, y, None, like)
        if not outputs.on_grid or outputs.n_dims == 3:
            raise DataError(
                f"{type(self).__name__}: Y must be an array of shape (n_samples, p), NaN where an output was not "
                "observed. For curves, or vectors at points of their own, see FunctionalRegressor."
            )
        return VectorOutputs(outputs.values, outputs.measure, 1, outputs.n_dims, located=False)

    def _sample(self, X, outputs: VectorOutputs, keep, weight, columns) -> Sample:
        """Return the rows of positive weight, identical ones once, in the coordinates of the metric."""
        X, outputs, weight = self._kept(X, outputs, keep, weight, columns)
        metric = read_metric(self, self.metric, outputs.values)
        if metric is not None:
            if not (metric.diagonal or self._loss()[0].of_norms):
                allowed = "diagonal for a loss of components"
                raise parameter_error(self, "metric", self.metric, allowed, "Pass its diagonal, or geometry='norm'.")
            if self._whole and not isinstance(self.kernel, MatrixValuedKernel):
                raise UnsupportedError(f"{type(self).__name__}: a metric needs a MatrixValuedKernel, or k_X·Γ.")
            outputs = replace(outputs, values=metric.of_rows(outputs.values), metric=metric)
        sample = Sample(X, outputs, weight, None, None, bool(self.fit_intercept), 0.0)
        if self.__sklearn_tags__().input_tags.pairwise:
            check_gram(self, X)
            return sample
        return self._distinct(sample)

    def _distinct(self, sample: Sample) -> Sample:
        """Return equal rows of inputs and outputs once, with their weights together."""
        return sample.merged()

    def _store_process(self, sample: Sample, bound, problem, approximated: bool) -> None:
        """Keep what the Gaussian process of the square loss needs; its variance is that of greatest evidence.

        With features in place of the kernel it does without the rows, which it cannot where targets are missing.
        """
        if not isinstance(problem.loss, Square) or (self._whole and not isinstance(self.kernel_, MatrixValuedKernel)):
            return
        outputs: Any = sample.outputs
        p = problem.shape[1]
        known = outputs.n_observed - (p if sample.fit_intercept else 0)
        shift = problem.shift
        self.signal_variance_ = problem.signal_variance(self.objective_, known)
        self.noise_variance_ = shift * self.signal_variance_
        metric = outputs.metric
        matrix = None if self._whole else to_numpy(bound.output_gram().to_dense()).astype(float)
        weight = to_numpy(problem.sample_weight).astype(float)
        rest = {
            "matrix": matrix,
            "shift": shift,
            "variance": self.signal_variance_,
            "factor": None if metric is None else metric.factor,
            "centred": sample.fit_intercept,
        }
        if matrix is not None and bound.kernel.explicit and outputs.complete:
            self.posterior_ = FeaturePosterior.of_rows(bound.kernel, sample.X, weight, **rest)
        elif not approximated:
            observed = ~np.isnan(to_numpy(outputs.values))
            self.posterior_ = GaussianPosterior(
                kernel=bound.kernel, X=sample.X, weight=weight, observed=observed, **rest
            )

    def _leave_metric(self, sample: Sample, chosen: Smoothness) -> None:
        """Become the model in the coordinates of the user."""
        vectors: Any = sample.outputs
        metric, p = vectors.metric, len(sample.measure)
        self.layout_: VectorOutputs = vectors.take(np.zeros(0, dtype=int))
        self.metric_ = None if metric is None else metric.matrix
        matrix = np.eye(p) if metric is None else metric.matrix
        if isinstance(chosen.output_kernel, Indexed):
            matrix = np.asarray(to_numpy(chosen.output_kernel.output_matrix), dtype=float)
        self.output_matrix_ = None if self._whole else matrix
        if metric is None:
            return
        outputs = replace(vectors, metric=None)
        bound = outputs.bind(chosen.kernel, Indexed(matrix), None)
        self.intercept_ = as_like(metric.factor, self.intercept_) @ self.intercept_
        inverse = as_like(metric.inverse.copy(), self.intercept_)
        if self.dual_coef_ is None:  # of features that were not in memory together
            expansion: Any = self.expansion_
            self.expansion_ = bound.of_features(expansion.coef @ inverse)
            return
        self.dual_coef_ = self.dual_coef_ @ inverse
        self.expansion_ = bound.expand(sample.X, self.dual_coef_)

    def _warm_start(self, problem):
        return None if self.metric is not None else super()._warm_start(problem)

    # -- prediction --------------------------------------------------------------------------------------------

    def predict(self, X, return_std=False, return_cov=False):
        """Return the vectors at X, and how sure they are.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        return_std : bool, default=False
            Whether to return the standard deviation of the Gaussian process, too (square loss).
        return_cov : bool, default=False
            Whether to return its covariance matrices, too (square loss).

        Returns
        -------
        mean : array of shape (n_samples, p), or (n_samples,) as y was given
        std : array of the same shape, only with ``return_std``
        cov : array of shape (n_samples, p, p), only with ``return_cov``
            The covariance of the outputs of one row; rows by themselves.
        """
        check_is_fitted(self)
        if return_std and return_cov:
            raise DataError(f"{type(self).__name__}: ask for one of return_std and return_cov; the latter has both.")
        X = self._valid_inputs(X, "predict")
        mean = self.layout_.shaped(self._evaluate(X), len(self.layout_.nodes))
        if not (return_std or return_cov):
            return mean
        if self.posterior_ is None:
            of_features = "" if self.approximation_ is None else ", an approximation and missing targets"
            raise UnsupportedError(
                f"{type(self).__name__}: standard deviations are those of the Gaussian process of the square loss; "
                f"this fit has {self.loss_!r}{of_features}. ConformalFunctionalRegressor has boxes for any loss."
            )
        if return_cov:
            return mean, as_like(self.posterior_.covariance(X), mean)
        return mean, self.layout_.shaped(as_like(self.posterior_.deviation(X), mean), len(self.layout_.nodes))

    def score(self, X, y, sample_weight=None):
        """Return R² of all outputs together, 1 − Σ_i s_i‖y_i − f(x_i)‖² / Σ_i s_i‖y_i − ȳ‖², over observed values.

        Norms are those of ``metric``.
        """
        check_is_fitted(self)
        X = self._valid_inputs(X, "score")
        outputs, metric = self._read(y, X), self.layout_.metric
        self._check_lengths(X, outputs)
        if outputs.values.shape[1] != len(self.layout_.nodes):
            raise DataError(
                f"{type(self).__name__}: Y has {outputs.values.shape[1]} outputs; those of the fit were "
                f"{len(self.layout_.nodes)}."
            )
        if not outputs.n_observed:
            raise DataError(f"{type(self).__name__}: Y holds NaN only, so that there is nothing to compare with.")
        predicted = self._evaluate(X)
        if metric is not None:
            outputs = outputs.with_values(metric.of_rows(outputs.values))
            predicted = metric.of_rows(predicted)
        weight = None if sample_weight is None else validate_weight(sample_weight, to_numpy(X))
        errors = outputs.norms(to_numpy(outputs.values) - to_numpy(predicted)) ** 2
        error = float(errors.sum() if weight is None else weight @ errors)
        variation, rounding = outputs.total_variation(weight)
        return 1 - error / variation if variation > rounding else float(error <= rounding)

    def _evaluate(self, X):
        """Return h + b, shape (n, p)."""
        return self.expansion_.evaluate(X, self.layout_.nodes.points) + self.intercept_[None, :]
