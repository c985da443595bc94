"""Regression whose outputs are objects: any that have a kernel."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils.metaestimators import available_if

from mercer._params import check_number
from mercer.estimators.approximation import stand_in
from mercer.estimators.candidates import EncodedCandidates, distinct_objects
from mercer.estimators.gram_outputs import GramOutputs
from mercer.estimators.interruption import interruptible, warn_of_gap
from mercer.estimators.learned_matrix import LearnedMatrix
from mercer.estimators.matrix_choice import matrix_of_sample
from mercer.estimators.max_margin import margin_problem
from mercer.estimators.object_predictions import ObjectPredictions
from mercer.estimators.object_space import ObjectSpace
from mercer.estimators.object_terms import Part, parts_of
from mercer.estimators.output_sketch import approximate_space, check_output_approximation, kernel_error
from mercer.estimators.outputs import Outputs
from mercer.estimators.partial_fit import can_stream
from mercer.estimators.progress import progress
from mercer.estimators.read_objects import read_gram_outputs, read_inputs, read_object_outputs, rows_to_fit
from mercer.estimators.reduced_rank import best_of_rank
from mercer.estimators.sample import Sample
from mercer.estimators.sample_regressor import SampleRegressor
from mercer.estimators.smoothness import Smoothness, choose_smoothness, default_kernels
from mercer.estimators.streamed_objects import StreamedObjects
from mercer.estimators.tables import column_layout
from mercer.exceptions import UnsupportedError, parameter_error
from mercer.features import FeatureMap
from mercer.kernels import Identity, Kernel, Linear, Precomputed
from mercer.kernels.objects import ObjectKernel, ObjectSum, OnVectors, as_object_kernel, take_objects
from mercer.linalg import eigh_fits
from mercer.losses import Loss, MaxMargin, Square
from mercer.operator_valued import Decomposable, Indexed, OperatorValuedKernel

__all__ = ["InputOutputKernelRegressor"]

#: lengths of the default input kernels, in units of the median distance of standardised inputs
INPUT_LENGTHS = (4.0, 2.0, 1.0, 0.5)
#: coordinates of objects whose metric is learned, which takes powers of matrices of this size
MOST_LEARNED = 300


class InputOutputKernelRegressor(ObjectPredictions, StreamedObjects, SampleRegressor):
    """Regression whose outputs are objects with a kernel: label sets, molecules, rankings, strings, graphs.

    With the features φ of the output kernel, k_Y(y, z) = ⟨φ(y), φ(z)⟩, it minimises

        (1/n) Σ_i s_i L(φ(y_i) − b − h(x_i)) + (λ/2)‖h‖²

    over functions h into the space of k_Y, in the space of the kernel k_X·I, to a relative duality gap of ``tol``, and
    predicts the candidate z whose φ(z) is closest to h(x) + b (Brouard et al., 2016; Laforgue et al., 2020). Prefer it
    where outputs hang together: a label set is found as a whole.

    Parameters
    ----------
    kernel : Kernel, ObjectKernel, OperatorValuedKernel, str or callable, default=None
        k_X. By default a Gaussian with one scale per column, whose length predicts left-out rows best; with an
        :class:`~mercer.kernels.objects.ObjectKernel` inputs are objects, too. Or a sum K = Σ_t k_t·A_t of
        ``Decomposable(k_t, l_t)``, each with what of the objects it speaks of: l_t(y, z) = ⟨φ(y), A_tφ(z)⟩ is an
        ObjectKernel, or ``Identity()`` for A_t = I (see Notes).
    output_kernel : ObjectKernel, Kernel, str or callable, default=None
        k_Y, see :mod:`mercer.kernels.objects`; "linear" by default, for outputs that are vectors, and Σ_t l_t for a sum
        of Decomposable kernels. "precomputed" where Z is the Gram matrix.
    output_matrix : "learned" or LearnedMatrix, default=None
        K = k_X·Γ in place of k_X·I, with a metric Γ of the space of k_Y that is learned from the objects, where it
        predicts rows better that it has not seen.
    alpha : float or "auto", default="auto"
        λ. "auto" takes that of ridge regression, by leave-one-out in closed form in the space of k_Y.
    loss : {"square", "huber", "epsilon_ridge", "epsilon_insensitive", "max_margin"} or Loss, default="square"
        A loss of norms; by name its threshold comes from the norms of ridge residuals. "max_margin" learns directions
        only, and is decoded by the largest ⟨h(x), φ(z)⟩.
    approximation : "auto", None, Nystroem or RandomFourier, default="auto"
        Features in place of k_X, as in :class:`VectorValuedRegressor`.
    mean_rank : int, default=None
        Values of h in a subspace of so many dimensions only, the best one for the objective of the square loss.
    output_approximation : int, SparseSketch or FeatureMap, default=None
        Replace φ(y) by its projection on the features of so many training objects, pivots of a Cholesky factorisation,
        so that only this many columns of K_Y are looked at; by that on random combinations of objects
        (:class:`SparseSketch`); or, where objects are vectors, by random features of k_Y. ``left_out_`` and
        ``output_error_`` say what this costs.
    fit_intercept : bool, default=False
        Whether to add b, free in the space of k_Y.
    solver : str or Solver, default="auto"
        See :func:`mercer.solvers.select`.
    tol : float, default=1e-4
        Bound on the relative duality gap.
    max_iter : int, default=None
        Limit on the iterations; that of the solver by default.
    warm_start : bool, default=False
        Start from the fit before, with the same rows: for paths in the threshold of the loss, or in λ.
    verbose : int, default=0
        1 reports on standard error what is computed, and the duality gap as it falls.

    Attributes
    ----------
    kernel_, output_kernel_ : Kernel or ObjectKernel
        With numbers for all that was automatic; ``output_kernel_`` is "precomputed" where Z was a Gram matrix.
    terms_ : tuple of KernelTerm
        h in the coordinates of ``space_``: one for each k_t.
    output_matrix_ : array of shape (r, r) or None
        Γ in these coordinates, where one was learned.
    alpha_, loss_ : float, Loss
        With numbers for all that was automatic.
    dual_coef_ : array of shape (n_support, r)
        c: h(x) = Σ_i Σ_t k_t(x, x_i)A_tc_i, in the coordinates of ``space_``; rows of coefficients that are 0 are left
        out. None with features in place of k_X.
    X_fit_ : array or list of n_support inputs
        Those rows. Prediction evaluates k_X with them only.
    feature_coef_ : array of shape (D, r) or None
        Of a single input kernel with explicit features φ: h(x) = φ(x)ᵀ of these; no training row is needed.
    support_ : array of int
        Their numbers among the rows of positive weight (equal rows once).
    saturated_ : array of int
        Rows on which the loss is linear.
    outputs_fit_ : sequence of objects
        Distinct training outputs of positive weight, the default candidates.
    space_ : ObjectSpace
        Coordinates of objects, ``left_out_`` the share of the trace of K_Y that they leave out. With features in place
        of k_X it has none of the training objects.
    output_error_ : float
        Root mean square of what ``output_approximation`` changes values of k_Y by, relative to that of k_Y, on a sample
        of the objects.
    approximation_ : Approximation or None
        What features in place of k_X cost.
    intercept_ : array of shape (r,)
        b.
    objective_, dual_gap_, relative_gap_, n_iter_, status_, solver_
        The certificate, and how the solver ended.

    See Also
    --------
    VectorValuedRegressor : Vectors as outputs that are related by a matrix.
    ConformalCandidates : Sets of candidates with a coverage that holds.

    Notes
    -----
    *Scores* are −½‖φ(z) − h(x) − b‖² but for a number that is the same for all candidates,
    ⟨h(x) + b, φ(z)⟩ − ½k_Y(z, z); for "max_margin" ⟨h(x), φ(z)⟩ alone. All of them are one product of matrices.

    *Gram form.* A factor F Fᵀ = K_Y holds coordinates of the φ(y_i), so that losses of norms of infinite-dimensional
    vectors are losses of rows (Laforgue et al., 2020, Theorem 6).

    *Sums of decomposable kernels.* A_t is known by its kernel on objects. Where it takes a combination of the φ(y_i) to
    something else, its compression to their span stands for it (Laforgue et al., 2020, A.5, ask that it does not).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import InputOutputKernelRegressor
    >>> X = np.linspace(0, 1, 60)[:, None]
    >>> Z = [{"low"} if x < 0.3 else {"low", "high"} if x < 0.7 else {"high"} for x in X[:, 0]]
    >>> model = InputOutputKernelRegressor(output_kernel="jaccard").fit(X, Z)
    >>> model.predict([[0.1], [0.9]])
    [{'low'}, {'high'}]
    >>> model.rank([[0.5]], [{"high"}, {"high", "low"}, set()], k=2)
    array([[1, 0]])
    """

    #: what a regression of curves lets its user choose: norms here
    geometry = None

    def __init__(
        self,
        kernel=None,
        output_kernel=None,
        *,
        output_matrix=None,
        alpha="auto",
        loss="square",
        approximation="auto",
        mean_rank=None,
        output_approximation=None,
        fit_intercept=False,
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
        self.loss = loss
        self.approximation = approximation
        self.mean_rank = mean_rank
        self.output_approximation = output_approximation
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.array_api_support = False
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags

    # -- what the parameters mean ------------------------------------------------------------------------------

    @property
    def _given_outputs(self) -> bool:
        """Whether Z is a Gram matrix."""
        return isinstance(self.output_kernel, Precomputed) or (
            isinstance(self.output_kernel, str) and self.output_kernel == "precomputed"
        )

    @property
    def _whole(self) -> bool:
        """Whether the kernel is a sum of k_t·A_t."""
        return isinstance(self.kernel, OperatorValuedKernel)

    @property
    def _pairwise(self) -> bool:
        """Whether the rows of a fit are those of a Gram matrix."""
        return self._of_objects or bool(self.__sklearn_tags__().input_tags.pairwise)

    def _part(self, name: str) -> Any:
        if name == "kernel" and (self._of_objects or self._whole):
            return Precomputed() if self._of_objects else self.kernel
        return getattr(self, name)

    def _adapted_kernel(self, X):
        if self._whole:
            return self.kernel.locate(column_layout(self)).adapt(X)
        return Precomputed() if self._of_objects else super()._adapted_kernel(X)

    def _default_kernels(self, X) -> list[Kernel]:
        return default_kernels(X, INPUT_LENGTHS)

    def _learns(self, sample: Sample) -> bool:
        return False

    def _output_kernels(self, outputs: Outputs) -> list[Any]:
        return [Identity()]

    def _learned(self) -> LearnedMatrix | None:
        """Return how Γ is to be learned, or None."""
        given = self.output_matrix
        if given is None or isinstance(given, LearnedMatrix):
            return given
        if not (isinstance(given, str) and given == "learned"):
            hint = "Objects have no coordinates of their own; operators between them are those of Decomposable kernels."
            raise parameter_error(self, "output_matrix", given, "'learned', a LearnedMatrix or None", hint)
        return LearnedMatrix()

    def _check_whole_kernel(self, kernel: OperatorValuedKernel) -> None:
        for name in ("output_matrix", "mean_rank"):
            if getattr(self, name) is not None:
                allowed = "None where kernel is a sum of Decomposable kernels"
                raise parameter_error(self, name, getattr(self, name), allowed)
        if isinstance(self.approximation, FeatureMap):
            hint = "Or give each of them features, Decomposable(features.bind(k_t, X), l_t)."
            allowed = "'auto' or None where kernel is a sum of Decomposable kernels"
            raise parameter_error(self, "approximation", self.approximation, allowed, hint)
        if self._given_outputs:
            allowed = "a kernel on objects where kernel is a sum of Decomposable kernels"
            raise parameter_error(self, "output_kernel", self.output_kernel, allowed)
        _object_kernels(kernel)

    def _check_settings(self) -> None:
        super()._check_settings()
        check_output_approximation(self)
        if self.mean_rank is not None:
            check_number(self, "mean_rank", self.mean_rank, low=1, strict=False, integer=True)
        if isinstance(self.approximation, FeatureMap) and self._of_objects:
            raise parameter_error(self, "approximation", self.approximation, "'auto' or None where inputs are objects")
        loss, name = self._loss()[0], type(self).__name__
        if not loss.coordinate_free:
            raise UnsupportedError(
                f"{name}: {loss!r} is a loss of single coordinates, and objects behind a kernel have "
                "none. Take a loss of norms, for instance Huber(1.0, 'norm')."
            )
        if isinstance(loss, MaxMargin) and self.fit_intercept:
            raise UnsupportedError(f"{name}: 'max_margin' has no intercept; leave fit_intercept out.")
        if self.mean_rank is not None and not (isinstance(loss, Square) and self._learned() is None):
            raise UnsupportedError(
                f"{name}: the best predictor of a rank is known for the square loss and k_X·I; this is {loss!r} with "
                f"output_matrix={self.output_matrix!r}. Leave mean_rank out, or take output_approximation."
            )

    def _loss(self) -> tuple[Loss, bool]:
        if isinstance(self.loss, MaxMargin) or (isinstance(self.loss, str) and self.loss == "max_margin"):
            return MaxMargin(), False
        if isinstance(self.loss, str) and self.loss not in ("square", "huber", "epsilon_ridge", "epsilon_insensitive"):
            names = "'square', 'huber', 'epsilon_ridge', 'epsilon_insensitive', 'max_margin'"
            raise parameter_error(self, "loss", self.loss, f"a Loss of norms or one of {names}")
        return super()._loss()

    def _adapted_output_kernel(self, objects: Any) -> ObjectKernel:
        given = self.output_kernel
        aspects = _object_kernels(self.kernel) if self._whole else []
        if given is None and aspects:
            given = reduce(ObjectSum, aspects)
        if given is None:
            first = objects[0] if isinstance(objects, list) and objects else None
            if isinstance(first, (str, bytes, set, frozenset, dict)):
                raise parameter_error(
                    self,
                    "output_kernel",
                    None,
                    f"a kernel on objects where outputs are no vectors (the first is a {type(first).__name__})",
                    "For instance 'jaccard' for sets, 'spectrum' for strings.",
                )
            return OnVectors(Linear())
        return as_object_kernel(given, self, "output_kernel").adapt(objects)

    def _smoothness(self, sample, kernels, output_kernels, alpha, loss, learn, families) -> Smoothness:
        """Return kernel and λ, with a metric that is learned where that was asked for."""
        chosen = choose_smoothness(sample, kernels, output_kernels, alpha, loss)
        learned, r = self._learned(), len(sample.measure)
        if learned is None or r == 1:
            return chosen
        if r > MOST_LEARNED:
            raise UnsupportedError(
                f"{type(self).__name__}: output_matrix={self.output_matrix!r} learns a matrix of all pairs of {r} "
                f"coordinates, and {MOST_LEARNED} are the most. Take output_approximation={MOST_LEARNED // 3}, say."
            )
        matrix = matrix_of_sample(sample, chosen.kernel, chosen.alpha, alpha, learned.rank)
        if matrix is None:
            return chosen
        return choose_smoothness(sample, [chosen.kernel], [Indexed(matrix)], alpha, loss)

    # -- fitting -----------------------------------------------------------------------------------------------

    def fit(self, X, y, sample_weight=None):
        """Fit the objects.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features), or sequence of objects
            Inputs; a Gram matrix with ``kernel="precomputed"``, objects where ``kernel`` is an ObjectKernel.
        y : sequence of n_samples objects
            Outputs: a list, or an array or sparse matrix whose rows are objects; their Gram matrix, shape
            (n_samples, n_samples), with ``output_kernel="precomputed"``.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights; a row of weight 2 counts as the row twice.

        Returns
        -------
        self : InputOutputKernelRegressor
        """
        self._check_settings()
        X, n, keep, weight = read_inputs(self, X, sample_weight, self._of_objects)
        objects, space, outputs = self._read_outputs(y, n, keep)
        rows = rows_to_fit(self, X, keep, self._pairwise)
        sample = Sample(rows, outputs, weight, None, None, bool(self.fit_intercept), 0.0)
        sample = sample if self._pairwise else sample.merged()
        centre, sample = sample.centred()
        if not eigh_fits(len(sample)) and self.approximation is None:
            self._afford(sample)
        with progress(self.verbose, "choosing kernel, alpha and loss, as far as they are not given"):
            chosen, loss = self._choose(sample, sample)
        taken = stand_in(self, chosen.kernel, sample.X)
        bound = sample.bind(taken.kernel, chosen.output_kernel, loss)
        margin = isinstance(loss, MaxMargin)
        problem = margin_problem(sample, bound, chosen.alpha) if margin else sample.pose(bound, loss, chosen.alpha)
        with interruptible() as interrupted:
            result = self._solve(problem, self._tolerance, interrupted)
        warn_of_gap(result, interrupted, depth=1)
        values = sample.outputs.values
        coef = problem.primal_coef(result.coef) * (values if margin else 1.0)
        if self.mean_rank is not None:
            coef = best_of_rank(taken.kernel, sample, coef, int(self.mean_rank))
        self.space_, self.left_out_, self.loss_, self.alpha_ = space, space.left_out, loss, problem.alpha
        self.kernel_ = self.kernel.adapt(X) if self._of_objects else chosen.kernel
        metric: Any = chosen.output_kernel
        self.output_matrix_ = metric.output_matrix if isinstance(metric, Indexed) else None
        self.intercept_ = np.zeros(values.shape[1]) + (0.0 if margin else result.intercept + centre)
        self.saturated_ = sample.outputs.support(problem, result.coef)[1]
        self.objective_, self.dual_gap_, self.relative_gap_ = result.objective, result.gap, result.relative_gap
        self.n_iter_, self.status_, self.solver_ = result.n_iter, result.status, result.solver
        self._keep_support(X, keep, sample, coef, parts_of(bound))
        self._keep_candidates(self._training_candidates(objects))
        self.__dict__.pop("stream_", None)
        self._compare_with(taken, sample, loss, chosen.alpha, chosen.alpha)
        if self.approximation_ is not None:  # then nothing of the size of the training rows is kept
            self.space_ = replace(space, rows=space.rows[:0])
        return self

    def _read_outputs(self, y, n: int, keep: np.ndarray) -> tuple[Any, ObjectSpace, GramOutputs]:
        """Return the outputs of the rows to keep, their space, and what they are there."""
        if self._given_outputs:
            space: ObjectSpace = read_gram_outputs(self, y, n, keep)
            self.output_kernel_, self.output_error_ = "precomputed", 0.0
            return keep, space, space.outputs
        objects = read_object_outputs(self, y, n)
        kernel: Any = self._adapted_output_kernel(objects)
        objects = objects if len(keep) == n else take_objects(objects, keep)
        space = approximate_space(kernel, objects, self.output_approximation, self._whole)
        exact = self.output_approximation is None
        self.output_kernel_, self.output_error_ = kernel, 0.0 if exact else kernel_error(kernel, objects, space)

        def operator(given: Any) -> np.ndarray:
            return space.operator(as_object_kernel(given, self, "kernel").adapt(objects))

        return objects, space, replace(space.outputs, operator=operator)

    def _warm_start(self, problem):
        coef, rows = getattr(self, "dual_coef_", None) if self.warm_start else None, problem.shape[0]
        if coef is None or coef.shape[1] != problem.shape[1] or self.support_[-1] >= rows:
            return None
        start = np.zeros(problem.shape)
        start[self.support_] = coef
        return problem.dual_array(start)

    def _keep_support(self, X, keep: np.ndarray, sample: Sample, coef: np.ndarray, parts: list[Part]) -> None:
        """Keep the rows with a coefficient, which predictions are made of: one at least."""
        support = np.flatnonzero(np.any(coef != 0, axis=1))
        support = support if len(support) else np.zeros(1, dtype=int)
        self.support_, self.dual_coef_, self.columns_ = support, coef[support], None
        if self._of_objects:
            self.X_fit_ = take_objects(X, keep[support])
        elif self._pairwise:
            self.X_fit_, self.columns_ = sample.X[np.ix_(support, support)], keep[support]
        else:
            self.X_fit_ = sample.X[support]
        if self._of_objects:
            parts = [replace(part, kernel=self.kernel_) for part in parts]
        self.terms_ = tuple(part.term(self.X_fit_, self.dual_coef_) for part in parts)
        single = len(self.terms_) == 1 and self.terms_[0].rows is None
        self.feature_coef_ = self.terms_[0].coef if single else None

    def _training_candidates(self, objects: Any) -> EncodedCandidates:
        """Return the objects of the fit, encoded."""
        space: Any = self.space_
        sizes = space.sizes if self._given_outputs else space.kernel.diagonal(objects)
        return EncodedCandidates(objects, space.rows, sizes)

    def _keep_candidates(self, candidates: EncodedCandidates) -> None:
        """Keep the distinct candidates, and whether they are vectors of 0 and 1."""
        objects = candidates.objects
        distinct = distinct_objects(objects)
        self.outputs_fit_ = take_objects(objects, distinct)
        self.candidates_ = EncodedCandidates(
            self.outputs_fit_, candidates.coordinates[distinct], candidates.sizes[distinct]
        )
        values = objects.data if scipy.sparse.issparse(objects) else objects
        numbers = not self._given_outputs and isinstance(values, np.ndarray) and values.dtype.kind in "fiub"
        self.binary_ = bool(numbers and np.all((values == 0) | (values == 1)))

    @available_if(can_stream)
    def partial_fit(self, X, y, sample_weight=None):
        """Learn from one more batch of rows, which need not be kept; their objects join the candidates.

        The first batch is fitted as by :meth:`fit` and so chooses kernels, λ, features and the coordinates of objects,
        which stay: objects that it has nothing of are learned as far as those of the first batch describe them. The
        rest is as in :meth:`VectorValuedRegressor.partial_fit`: the square loss has the model of all rows so far,
        others go on by averaged stochastic gradients, and a batch that is refused changes nothing.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows, with the columns of the first batch.
        y : sequence of n_samples objects
            Outputs.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights, comparable between batches.

        Returns
        -------
        self : InputOutputKernelRegressor
        """
        return self._partial_fit(X, y, sample_weight)


def _object_kernels(kernel: OperatorValuedKernel) -> list[ObjectKernel]:
    """Return the kernels on objects of a sum of decomposable kernels, or refuse what is none; A = I has none."""
    kernels = []
    for term in kernel.terms:
        between = isinstance(term, Decomposable) and term.output_matrix is None
        output: Any = term.output_kernel if isinstance(term, Decomposable) else None
        if not between or isinstance(output, Indexed):
            raise UnsupportedError(
                f"InputOutputKernelRegressor: {term!r} is no operator between objects. Sum Decomposable(k_X, "
                "output_kernel) with kernels on objects, for instance Decomposable(Gaussian(1.0), Jaccard())."
            )
        if not isinstance(output, Identity):
            kernels.append(as_object_kernel(output))
    return kernels
