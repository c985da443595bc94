"""Regression whose outputs are objects: any that have a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils.validation import check_is_fitted

from mercer._params import check_number
from mercer.estimators.interruption import interruptible, warn_of_gap
from mercer.estimators.label_search import best_labels
from mercer.estimators.max_margin import margin_problem
from mercer.estimators.object_space import CandidateLists, EncodedCandidates, given_space, object_space
from mercer.estimators.outputs import Outputs
from mercer.estimators.progress import progress
from mercer.estimators.ranking import best_first, truth_ranks
from mercer.estimators.reduced_rank import best_of_rank
from mercer.estimators.sample import Sample
from mercer.estimators.sample_regressor import SampleRegressor
from mercer.estimators.smoothness import default_kernels
from mercer.estimators.validation import (
    check_gram,
    is_foreign,
    take_columns,
    take_rows,
    validate_inputs,
    validate_rows,
    validate_weight,
)
from mercer.exceptions import DataError, UnsupportedError, parameter_error
from mercer.kernels import Identity, Kernel, Linear, Precomputed
from mercer.kernels.gram import kernel_product
from mercer.kernels.objects import Normalised, ObjectKernel, OnVectors, as_object_kernel, as_objects, take_objects
from mercer.linalg import eigh_fits
from mercer.losses import Loss, MaxMargin, Square

__all__ = ["InputOutputKernelRegressor"]

#: lengths of the default input kernels, in units of the median distance of standardised inputs
INPUT_LENGTHS = (4.0, 2.0, 1.0, 0.5)


class InputOutputKernelRegressor(SampleRegressor):
    """Regression whose outputs are objects with a kernel: label sets, molecules, rankings, strings, graphs.

    With the features φ of the output kernel, k_Y(y, z) = ⟨φ(y), φ(z)⟩, it minimises

        (1/n) Σ_i s_i L(φ(y_i) − b − h(x_i)) + (λ/2)‖h‖²

    over functions h into the space of k_Y, in the space of the kernel k_X·I, to a relative duality gap of ``tol``, and
    predicts the candidate z whose φ(z) is closest to h(x) + b (Brouard et al., 2016; Laforgue et al., 2020). Prefer it
    where outputs hang together: a label set is found as a whole.

    Parameters
    ----------
    kernel : Kernel, ObjectKernel, str or callable, default=None
        k_X. By default a Gaussian with one scale per column, whose length predicts left-out rows best; with an
        :class:`~mercer.kernels.objects.ObjectKernel` inputs are objects, too.
    output_kernel : ObjectKernel, Kernel, str or callable, default=None
        k_Y, see :mod:`mercer.kernels.objects`; "linear" by default, for outputs that are vectors. "precomputed" where
        Z is the Gram matrix.
    alpha : float or "auto", default="auto"
        λ. "auto" takes that of ridge regression, by leave-one-out in closed form in the space of k_Y.
    loss : {"square", "huber", "epsilon_ridge", "epsilon_insensitive", "max_margin"} or Loss, default="square"
        A loss of norms; by name its threshold comes from the norms of ridge residuals. "max_margin" learns directions
        only, and is decoded by the largest ⟨h(x), φ(z)⟩.
    mean_rank : int, default=None
        Values of h in a subspace of so many dimensions only, the best one for the objective of the square loss.
    output_rank : int, default=None
        Replace φ(y) by its projection on the features of so many training objects, pivots of a Cholesky factorisation,
        so that only this many columns of K_Y are looked at; ``left_out_`` is the share of its trace that is lost.
    fit_intercept : bool, default=False
        Whether to add b, free in the space of k_Y.
    solver : str or Solver, default="auto"
        See :func:`mercer.solvers.select`.
    tol : float, default=1e-4
        Bound on the relative duality gap.
    max_iter : int, default=None
        Limit on the iterations; that of the solver by default.
    verbose : int, default=0
        1 reports on standard error what is computed, and the duality gap as it falls.

    Attributes
    ----------
    kernel_, output_kernel_ : Kernel or ObjectKernel
        With numbers for all that was automatic; ``output_kernel_`` is "precomputed" where Z was a Gram matrix.
    alpha_, loss_ : float, Loss
        With numbers for all that was automatic.
    dual_coef_ : array of shape (n_support, r)
        c: h(x) = Σ_i k_X(x, x_i)c_i, in the coordinates of ``space_``; rows of coefficients that are 0 are left out.
    X_fit_ : array or list of n_support inputs
        Those rows. Prediction evaluates k_X with them only.
    feature_coef_ : array of shape (D, r) or None
        Of an input kernel with explicit features φ: h(x) = φ(x)ᵀ of these; no training row is needed.
    support_ : array of int
        Their numbers among the rows of positive weight (equal rows once).
    saturated_ : array of int
        Rows on which the loss is linear.
    outputs_fit_ : sequence of objects
        Distinct training outputs of positive weight, the default candidates.
    space_ : ObjectSpace
        Coordinates of objects, ``left_out_`` the share of the trace of K_Y that they leave out.
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

    #: what a regression of curves lets its user choose: norms here, and no earlier fit
    geometry = None
    warm_start = False

    def __init__(
        self,
        kernel=None,
        output_kernel=None,
        *,
        alpha="auto",
        loss="square",
        mean_rank=None,
        output_rank=None,
        fit_intercept=False,
        solver="auto",
        tol=1e-4,
        max_iter=None,
        verbose=0,
    ):
        self.kernel = kernel
        self.output_kernel = output_kernel
        self.alpha = alpha
        self.loss = loss
        self.mean_rank = mean_rank
        self.output_rank = output_rank
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.array_api_support = False
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags

    # -- what the parameters mean ------------------------------------------------------------------------------

    @property
    def _of_objects(self) -> bool:
        """Whether inputs are objects."""
        return isinstance(self.kernel, ObjectKernel)

    @property
    def _given_outputs(self) -> bool:
        """Whether Z is a Gram matrix."""
        return isinstance(self.output_kernel, Precomputed) or (
            isinstance(self.output_kernel, str) and self.output_kernel == "precomputed"
        )

    def _part(self, name: str) -> Any:
        return Precomputed() if name == "kernel" and self._of_objects else super()._part(name)

    def _adapted_kernel(self, X):
        return Precomputed() if self._of_objects else super()._adapted_kernel(X)

    def _default_kernels(self, X) -> list[Kernel]:
        return default_kernels(X, INPUT_LENGTHS)

    def _other_kernels(self, X) -> list[list[Kernel]]:
        return []

    def _learns(self, sample: Sample) -> bool:
        return False

    def _output_kernels(self, outputs: Outputs) -> list[Any]:
        return [Identity()]

    def _check_settings(self) -> None:
        super()._check_settings()
        for name in ("mean_rank", "output_rank"):
            if getattr(self, name) is not None:
                check_number(self, name, getattr(self, name), low=1, strict=False, integer=True)
        loss = self._loss()[0]
        if not loss.coordinate_free:
            raise UnsupportedError(
                f"{type(self).__name__}: {loss!r} is a loss of single coordinates, and objects behind a kernel have "
                "none. Take a loss of norms, for instance Huber(1.0, 'norm')."
            )
        if isinstance(loss, MaxMargin) and self.fit_intercept:
            raise UnsupportedError(f"{type(self).__name__}: 'max_margin' has no intercept; leave fit_intercept out.")
        if self.mean_rank is not None and not isinstance(loss, Square):
            raise UnsupportedError(
                f"{type(self).__name__}: the best predictor of a rank is known for the square loss; {loss!r} has none. "
                "Leave mean_rank out, or take output_rank."
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
        X, n, keep, weight = self._read_inputs(X, sample_weight)
        objects, space = self._read_outputs(y, n, keep)
        sample = Sample(self._rows_of(X, keep), space.outputs, weight, None, None, bool(self.fit_intercept), 0.0)
        sample = sample if self._pairwise else sample.merged()
        centre, sample = sample.centred()
        if not eigh_fits(len(sample)):
            self._afford(sample)
        with progress(self.verbose, "choosing kernel, alpha and loss, as far as they are not given"):
            chosen, loss = self._choose(sample, sample)
        bound = sample.bind(chosen.kernel, chosen.output_kernel, loss)
        margin = isinstance(loss, MaxMargin)
        problem = margin_problem(sample, bound, chosen.alpha) if margin else sample.pose(bound, loss, chosen.alpha)
        with interruptible() as interrupted:
            result = self._solve(problem, self._tolerance, interrupted)
        warn_of_gap(result, interrupted, depth=1)
        rows = sample.outputs.values
        coef = problem.primal_coef(result.coef) * (rows if margin else 1.0)
        if self.mean_rank is not None:
            coef = best_of_rank(chosen.kernel, sample, coef, int(self.mean_rank))
        self.space_, self.left_out_, self.loss_, self.alpha_ = space, space.left_out, loss, problem.alpha
        self.kernel_ = self.kernel.adapt(X) if self._of_objects else chosen.kernel
        self.output_kernel_ = "precomputed" if self._given_outputs else space.kernel
        self.intercept_ = np.zeros(rows.shape[1]) + (0.0 if margin else result.intercept + centre)
        self.saturated_ = sample.outputs.support(problem, result.coef)[1]
        self.objective_, self.dual_gap_, self.relative_gap_ = result.objective, result.gap, result.relative_gap
        self.n_iter_, self.status_, self.solver_ = result.n_iter, result.status, result.solver
        self._keep_support(X, keep, sample, coef)
        self._keep_candidates(objects)
        return self

    @property
    def _pairwise(self) -> bool:
        """Whether the rows of a fit are those of a Gram matrix."""
        return self._of_objects or bool(self.__sklearn_tags__().input_tags.pairwise)

    def _read_inputs(self, X, sample_weight) -> tuple[Any, int, np.ndarray, Any]:
        """Return inputs and their number, the rows of positive weight and their weights."""
        if self._of_objects:
            X = as_objects(self, X)
            n = X.shape[0] if hasattr(X, "shape") else len(X)
            weight = None if sample_weight is None else validate_weight(sample_weight, np.zeros((n, 1)))
            keep = None if weight is None else weight > 0
        else:
            X, keep, weight, _ = validate_rows(self, X, sample_weight)
            n = X.shape[0]
            if is_foreign(X):
                raise DataError(f"{type(self).__name__}: inputs must be NumPy's arrays; convert them.")
        kept = np.arange(n) if keep is None else np.flatnonzero(keep)
        if len(kept) < 2:
            raise DataError(
                f"{type(self).__name__}: n_samples = {len(kept)}; a regression needs two objects of positive weight."
            )
        return X, n, kept, weight if keep is None else take_rows(weight, keep)

    def _rows_of(self, X, keep: np.ndarray) -> Any:
        """Return the rows to keep as a fit takes them: arrays, or Gram matrices."""
        if self._of_objects:
            gram = self.kernel.adapt(X)(take_objects(X, keep))
            if not self.kernel.definite:
                check_gram(self, gram)
            return gram
        if self._pairwise:
            check_gram(self, X)
            return take_columns(take_rows(X, keep), keep)
        return X if len(keep) == len(X) else take_rows(X, keep)

    def _read_outputs(self, y, n: int, keep: np.ndarray) -> tuple[Any, Any]:
        """Return the outputs of the rows to keep, and their space."""
        if y is None:
            raise DataError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        objects = np.asarray(y) if self._given_outputs else as_objects(self, y)
        count = objects.shape[0] if hasattr(objects, "shape") else len(objects)
        if count != n:
            raise DataError(f"{type(self).__name__}: X and Z have inconsistent numbers of samples, {n} and {count}.")
        rank = None if self.output_rank is None else int(self.output_rank)
        if self._given_outputs:
            if objects.shape != (n, n):
                raise DataError(
                    f"{type(self).__name__}: with output_kernel='precomputed' Z is the Gram matrix of the outputs, of "
                    f"shape {(n, n)}; got {objects.shape}."
                )
            return keep, given_space(take_columns(take_rows(objects, keep), keep), keep, n, rank)
        kernel = self._adapted_output_kernel(objects)
        objects = objects if len(keep) == n else take_objects(objects, keep)
        return objects, object_space(kernel, objects, rank)

    def _keep_support(self, X, keep: np.ndarray, sample: Sample, coef: np.ndarray) -> None:
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
        explicit = not self._pairwise and self.kernel_.explicit
        self.feature_coef_ = self.kernel_.features(self.X_fit_).T @ self.dual_coef_ if explicit else None

    def _keep_candidates(self, objects: Any) -> None:
        """Keep the distinct training outputs, and whether they are vectors of 0 and 1."""
        distinct = _distinct(objects)
        sizes = self.space_.sizes if self._given_outputs else self.space_.kernel.diagonal(objects)
        self.outputs_fit_ = take_objects(objects, distinct)
        self.candidates_ = EncodedCandidates(self.outputs_fit_, self.space_.rows[distinct], sizes[distinct])
        values = objects.data if scipy.sparse.issparse(objects) else objects
        numbers = not self._given_outputs and isinstance(values, np.ndarray) and values.dtype.kind in "fiub"
        self.binary_ = bool(numbers and np.all((values == 0) | (values == 1)))

    # -- prediction --------------------------------------------------------------------------------------------

    def encode(self, candidates: Any = None) -> EncodedCandidates:
        """Return candidates as the model compares them, to be ranked for many inputs; training outputs by default."""
        check_is_fitted(self)
        if candidates is None:
            return self.candidates_
        if isinstance(candidates, EncodedCandidates):
            if candidates.coordinates.shape[1] != len(self.intercept_):
                raise DataError(f"{type(self).__name__}: these candidates were encoded by another model.")
            return candidates
        return self.space_.encode(candidates)

    def score_candidates(self, X, candidates=None):
        """Return the score of each candidate for each row; the largest one is predicted.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or sequence of objects
        candidates : sequence of m objects, EncodedCandidates or CandidateLists, default=None
            One list for all rows, the distinct training outputs by default; :class:`CandidateLists` where each row has
            its own. With ``output_kernel="precomputed"`` rows k_Y(z, training objects), or a pair of those and the
            diagonal.

        Returns
        -------
        array of shape (n_samples, m), or a list of n_samples arrays for CandidateLists
        """
        h = self._coordinates(X, "score_candidates")
        if isinstance(candidates, CandidateLists):
            return self._scores_of_lists(h, candidates, self.encode(candidates.pool))
        return self._scores(h, self.encode(candidates))

    def predict(self, X, candidates=None):
        """Return the best candidate for each row, see :meth:`score_candidates`: a list, or an array if they were one.

        With ``output_kernel="precomputed"`` its number: among the objects given to ``fit``, or the candidates.
        """
        h = self._coordinates(X, "predict")
        if isinstance(candidates, CandidateLists):
            encoded = self.encode(candidates.pool)
            scores = self._scores_of_lists(h, candidates, encoded)
            best = [int(rows[np.argmax(one)]) for rows, one in zip(candidates.rows, scores, strict=True)]
            return take_objects(encoded.objects, best)
        encoded = self.encode(candidates)
        return take_objects(encoded.objects, np.argmax(self._scores(h, encoded), axis=1))

    def rank(self, X, candidates=None, k=10):
        """Return the numbers of the k best candidates of each row, the best first: shape (n_samples, k), or lists.

        Of equal scores the first candidate comes first; where there are fewer than k, all of them are ranked.
        """
        check_number(self, "k", k, low=1, strict=False, integer=True)
        scores = self.score_candidates(X, candidates)
        if isinstance(scores, list):
            return [best_first(one[None, :], min(int(k), len(one)))[0] for one in scores]
        return best_first(scores, min(int(k), scores.shape[1]))

    def truth_rank(self, X, y, candidates=None):
        """Return the place of the true object of each row among candidates, shape (n_samples,): 1 is the best.

        Of candidates with equal scores it has the middle; its own score is computed, so that it need not be among them.
        """
        h, truth = self._coordinates(X, "truth_rank"), self.encode(y)
        if len(truth) != len(h):
            raise DataError(
                f"{type(self).__name__}: X and Z have inconsistent numbers of samples, {len(h)} and {len(truth)}."
            )
        own = np.sum(h * truth.coordinates, axis=1) - self._penalty * truth.sizes
        if isinstance(candidates, CandidateLists):
            scores = self._scores_of_lists(h, candidates, self.encode(candidates.pool))
            ranks = [truth_ranks(one[None, :], own[i : i + 1])[0] for i, one in enumerate(scores)]
            return np.array(ranks)
        return truth_ranks(self._scores(h, self.encode(candidates)), own)

    def misfit(self, X, y):
        """Return how far the objects are from the prediction: ½‖φ(y_i) − h(x_i) − b‖², shape (n_samples,).

        For "max_margin" −⟨h(x_i), φ(y_i)⟩.
        """
        h, truth = self._coordinates(X, "misfit"), self.encode(y)
        if len(truth) != len(h):
            raise DataError(
                f"{type(self).__name__}: X and Z have inconsistent numbers of samples, {len(h)} and {len(truth)}."
            )
        return self._offset(h) + self._penalty * truth.sizes - np.sum(h * truth.coordinates, axis=1)

    def misfits(self, X, candidates=None):
        """Return :meth:`misfit` of each candidate, in the shape of ``score_candidates``."""
        h, scores = self._coordinates(X, "misfits"), self.score_candidates(X, candidates)
        if isinstance(scores, list):
            return [offset - one for offset, one in zip(self._offset(h), scores, strict=True)]
        return self._offset(h)[:, None] - scores

    def _offset(self, h: np.ndarray) -> np.ndarray:
        """Return what the misfits of one row have in common."""
        return self._penalty * np.sum(h**2, axis=1)

    def predict_mean(self, X):
        """Return h(x) + b itself, shape (n_samples, d): vectors, where outputs are vectors with the linear kernel."""
        h = self._coordinates(X, "predict_mean")
        kernel = self.output_kernel_
        if not (isinstance(kernel, OnVectors) and kernel.kernel == Linear()):
            raise UnsupportedError(
                f"{type(self).__name__}: h(x) is a vector in the space of {kernel!r}, which has no coordinates that "
                "mean something. Take output_kernel='linear', or score_candidates."
            )
        mean = h @ self.space_.directions
        return mean[:, 0] if getattr(self.outputs_fit_, "ndim", 2) == 1 else mean

    def predict_labels(self, X):
        """Return the label vectors of 0 and 1 that are best among all 2^p, shape (n_samples, p).

        For the linear output kernel, which calls labels above ½, and for ``Normalised(OnVectors(Linear()))``, for which
        the best of the p + 1 sets of largest values is the best of all.
        """
        h = self._coordinates(X, "predict_labels")
        kernel = self.output_kernel_
        normalised = isinstance(kernel, Normalised)
        inner = kernel.kernel if isinstance(kernel, Normalised) else kernel
        if not (self.binary_ and isinstance(inner, OnVectors) and inner.kernel == Linear()):
            raise UnsupportedError(
                f"{type(self).__name__}: all label vectors can be searched for outputs of 0 and 1 with the linear "
                f"kernel, normalised or not; this model has {kernel!r}. Pass candidates to predict."
            )
        values = h @ self.space_.directions
        return best_labels(values, self._penalty, normalised).astype(int)

    def score(self, X, y, sample_weight=None):
        """Return R² in the space of k_Y, 1 − Σ_i s_i‖φ(z_i) − f(x_i)‖² / Σ_i s_i‖φ(z_i) − φ̄‖²."""
        h, truth = self._coordinates(X, "score"), self.encode(y)
        if len(truth) != len(h):
            raise DataError(
                f"{type(self).__name__}: X and Z have inconsistent numbers of samples, {len(h)} and {len(truth)}."
            )
        weight = np.ones(len(h)) if sample_weight is None else validate_weight(sample_weight, h)
        mean = weight @ truth.coordinates / weight.sum()
        errors, spread = (
            float(weight @ (truth.sizes - 2 * np.sum(truth.coordinates * f, axis=1) + np.sum(f**2, axis=1)))
            for f in (h, np.broadcast_to(mean, h.shape))
        )
        rounding = 1e-12 * float(weight @ truth.sizes)
        return 1 - errors / spread if spread > rounding else float(errors <= rounding)

    def _coordinates(self, X, method: str) -> np.ndarray:
        """Return h(x) + b in the coordinates of the space, shape (n_samples, r)."""
        check_is_fitted(self)
        if self._of_objects:
            return self.kernel_(as_objects(self, X), self.X_fit_) @ self.dual_coef_ + self.intercept_
        X = validate_inputs(self, X, self.dual_coef_, self.columns_, method)
        if self.feature_coef_ is not None:
            return self.kernel_.features(X) @ self.feature_coef_ + self.intercept_
        return kernel_product(self.kernel_, X, self.X_fit_, self.dual_coef_) + self.intercept_

    @property
    def _penalty(self) -> float:
        """What k_Y(z, z) is multiplied with in scores: ½ for distances, 0 for inner products."""
        return 0.0 if isinstance(self.loss_, MaxMargin) else 0.5

    def _scores(self, h: np.ndarray, candidates: EncodedCandidates) -> np.ndarray:
        scores = h @ candidates.coordinates.T
        if self._penalty:
            scores -= self._penalty * candidates.sizes
        return scores

    def _scores_of_lists(self, h: np.ndarray, lists: CandidateLists, encoded: EncodedCandidates) -> list[np.ndarray]:
        if len(lists) != len(h):
            raise DataError(f"{type(self).__name__}: {len(h)} rows need as many lists of candidates; got {len(lists)}.")
        return [
            encoded.coordinates[rows] @ one - self._penalty * encoded.sizes[rows]
            for one, rows in zip(h, lists.rows, strict=True)
        ]


def _distinct(objects: Any) -> np.ndarray:
    """Return the first places of distinct objects, in their order; all of them where that cannot be told."""
    if scipy.sparse.issparse(objects):
        return np.arange(objects.shape[0])
    if isinstance(objects, np.ndarray):
        rows = objects.reshape(len(objects), -1)
        if rows.dtype == object:
            return np.arange(len(rows))
        keys: list[Any] = [row.tobytes() for row in rows]
    else:
        keys = [frozenset(one) if isinstance(one, set) else one for one in objects]
        keys = [tuple(one) if isinstance(one, list) else one for one in keys]
    try:
        first: dict[Any, int] = {}
        for i, key in enumerate(keys):
            first.setdefault(key, i)
        return np.array(list(first.values()))
    except TypeError:
        return np.arange(len(keys))
