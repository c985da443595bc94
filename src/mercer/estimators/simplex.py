"""Several classes by simplex coding: one regression of vectors, in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer._params import check_number
from mercer.backend import as_like, to_numpy
from mercer.estimators.certified import is_pairwise
from mercer.estimators.partial_fit import can_stream
from mercer.estimators.sample import Sample
from mercer.estimators.smoothness import Smoothness, default_kernels, some_rows
from mercer.estimators.summary import SummarisedEstimator
from mercer.estimators.validation import take_rows, validate_labels, validate_weight
from mercer.estimators.vector_outputs import VectorOutputs
from mercer.estimators.vector_valued import VectorValuedRegressor
from mercer.exceptions import DataError
from mercer.kernels import Identity, Kernel
from mercer.losses import Square
from mercer.measures import Points
from mercer.solvers import leave_one_out_predictions

__all__ = ["SimplexClassifier", "simplex_code"]

#: lengths of default kernels, in units of the median distance
CODE_LENGTHS = (4.0, 1.0, 0.5)
#: range of the factor of scores in probabilities
SHARPEST = 1e3
#: β that a stream compares
SHARPNESSES = np.logspace(-3, 3, 121)


def _can_stream_codes(model: SimplexClassifier) -> bool:
    return can_stream(_CodeRegressor(**model.get_params(deep=False)))


class SimplexClassifier(ClassifierMixin, SummarisedEstimator):
    """Classification into C classes as one regression of vectors in R^{C−1}, the corners of a simplex.

    Class k is the unit vector c_k, all of which have the same angles, c_k·c_l = −1/(C − 1). With them as targets,

        min_{h,b}  (1/n) Σ_i s_i L(c_{y_i} − b − h(x_i)) + (λ/2)‖h‖²,

    and the class of x is the one with the greatest score c_k·(h(x) + b). With the square loss all classes share one
    factorisation, and λ and the kernel are chosen by leave-one-out in closed form: a fit takes about as long as one
    kernel ridge regression, tuning included.

    Parameters
    ----------
    kernel : Kernel, str or callable, default=None
        k_X. By default a Gaussian of columns as they are, or in standard deviations, whose length, the median distance
        times 4, 1 or 0.5, predicts left-out codes best in ridge regression.
    alpha : float or "auto", default="auto"
        λ; "auto" by leave-one-out.
    approximation : FeatureMap, "auto" or None, default="auto"
        Features in place of the kernel, as in :class:`VectorValuedRegressor`.
    loss : {"square", "huber", "epsilon_ridge", "epsilon_insensitive"} or Loss, default="square"
        A robust one bears labels that are wrong.
    geometry : {"norm", "componentwise"}, default=None
        Of a loss given by name; "norm" by default, which treats all classes alike.
    fit_intercept : bool, default=True
        Whether to add b.
    solver, tol, max_iter, verbose
        As those of :class:`VectorValuedRegressor`.

    Attributes
    ----------
    classes_ : array of shape (C,)
        The labels, sorted.
    codes_ : array of shape (C, C − 1)
        c_k, in rows.
    regressor_ : VectorValuedRegressor
        The fitted regression, with its kernel, λ and certificate.
    sharpness_ : float
        β of the probabilities.
    n_iter_ : int
        Iterations of the solver.
    misfits_ : array of shape (n_sharpnesses,)
        After ``partial_fit``: minus log-likelihoods of the labels that were seen, for each β that is compared.

    Notes
    -----
    Probabilities are softmax(β·scores). β maximises the likelihood of the training labels under scores of each row by
    ridge regression on all others, with the kernel and λ of the fit, in closed form: scores of rows that were learned
    from would make them far too sure. They order classes as scores do.

    The code is that of Mroueh, Poggio, Rosasco and Slotine (2012), by recursion.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import SimplexClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SimplexClassifier().fit(X, y)
    >>> model.score(X, y) > 0.95, model.predict_proba(X[:2]).shape
    (True, (2, 3))
    """

    def __init__(
        self,
        kernel=None,
        *,
        alpha="auto",
        approximation="auto",
        loss="square",
        geometry=None,
        fit_intercept=True,
        solver="auto",
        tol=1e-4,
        max_iter=None,
        verbose=0,
    ):
        self.kernel = kernel
        self.alpha = alpha
        self.approximation = approximation
        self.loss = loss
        self.geometry = geometry
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_pairwise(self.kernel)
        return tags

    def fit(self, X, y, sample_weight=None):
        """Fit the corners of the simplex.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of any kind.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self : SimplexClassifier
        """
        labels = validate_labels(self, y)
        classes, index = np.unique(labels, return_inverse=True)
        self._check_classes(classes)
        codes = simplex_code(len(classes))
        self._become(classes, codes, _CodeRegressor(**self.get_params(deep=False)).fit(X, codes[index], sample_weight))
        self.__dict__.pop("misfits_", None)  # a fit forgets the stream
        self.sharpness_ = self._left_out_sharpness(X, index, sample_weight)
        return self

    @available_if(_can_stream_codes)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from one more batch of rows, which need not be kept.

        The codes of the labels are learned as :meth:`VectorValuedRegressor.partial_fit` learns vectors: with the square
        loss the scores are those of all rows so far, with kernel, λ and features of the first batch. Scores of later
        batches, before they are learned, and left-out ones of the first, say how sharp probabilities are. A batch that
        is refused changes nothing; after :meth:`fit` the stream begins anew.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows, with the columns of the first batch.
        y : array-like of shape (n_samples,)
            Labels.
        classes : array-like of shape (C,), optional
            All labels that there are; those of the first batch by default.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights, comparable between batches.

        Returns
        -------
        self : SimplexClassifier
        """
        labels = validate_labels(self, y)
        begun = hasattr(self, "misfits_")
        known = self.classes_ if begun else np.unique(labels if classes is None else validate_labels(self, classes))
        if begun and classes is not None and not np.array_equal(np.unique(validate_labels(self, classes)), known):
            raise DataError(
                f"{type(self).__name__}.partial_fit: classes are {np.unique(classes).tolist()}, and the first batch "
                f"came with {known.tolist()}."
            )
        self._check_classes(known)
        index = np.minimum(np.searchsorted(known, labels), len(known) - 1)
        unknown = np.flatnonzero(known[index] != labels)
        if len(unknown):
            raise DataError(
                f"{type(self).__name__}.partial_fit: row {int(unknown[0])} has the label "
                f"{labels[unknown].tolist()[0]!r}, which is not among {known.tolist()}. Pass all labels as classes "
                "with the first batch."
            )
        codes = simplex_code(len(known))
        if begun:
            scores = self._scores(X)  # of rows that were not learned
            self.regressor_.partial_fit(X, codes[index], sample_weight)
        else:
            regressor = _CodeRegressor(**self.get_params(deep=False)).partial_fit(X, codes[index], sample_weight)
            self._become(known, codes, regressor)
            scores, index, sample_weight = self._left_out_scores(X, index, sample_weight)
            self.misfits_ = np.zeros(len(SHARPNESSES))
        weight = np.ones(len(index)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        self.misfits_ = self.misfits_ + [_misfit(beta, scores, index, weight) for beta in SHARPNESSES]
        self.sharpness_ = float(SHARPNESSES[np.argmin(self.misfits_)])
        self.n_samples_seen_, self.n_iter_ = self.regressor_.n_samples_seen_, self.regressor_.n_iter_
        return self

    def _check_classes(self, classes: np.ndarray) -> None:
        if len(classes) < 2:
            raise DataError(
                f"{type(self).__name__}: y has one class only, {classes[0]!r}; a classifier needs two at least."
            )

    def _become(self, classes: np.ndarray, codes: np.ndarray, regressor: VectorValuedRegressor) -> None:
        """Take over a fitted regression of codes."""
        self.classes_, self.codes_, self.regressor_ = classes, codes, regressor
        self.n_features_in_, self.n_iter_ = regressor.n_features_in_, regressor.n_iter_
        if hasattr(regressor, "feature_names_in_"):
            self.feature_names_in_ = regressor.feature_names_in_

    def _left_out_sharpness(self, X, index: np.ndarray, sample_weight) -> float:
        """Return β by rows that are left out one by one."""
        return _sharpness(*self._left_out_scores(X, index, sample_weight))

    def _left_out_scores(self, X, index: np.ndarray, sample_weight) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return scores of rows by ridge regression on all others, their classes and weights."""
        sample = self._sample(X, self.codes_[index], sample_weight)
        bound = sample.bind(self.regressor_.kernel_, Identity(), Square())
        left_out = to_numpy(leave_one_out_predictions(sample.pose(bound, Square(), self.regressor_.alpha_)))
        classes = np.argmax(to_numpy(sample.outputs.values) @ self.codes_.T, axis=1)
        weight = np.ones(len(sample)) if sample.weight is None else to_numpy(sample.weight)
        return left_out @ self.codes_.T, classes, weight

    def _sample(self, X, codes: np.ndarray, sample_weight) -> Sample:
        """Return rows of positive weight, equal ones once and not too many, with their codes."""
        pairwise = self.regressor_.kernel_.pairwise
        given = None if sample_weight is None else validate_weight(sample_weight, codes)
        keep = np.arange(len(codes)) if given is None else np.flatnonzero(given)
        X = self.regressor_.X_fit_ if pairwise else take_rows(self.regressor_._valid_inputs(X, "fit"), keep)
        values = as_like(codes[keep], X)
        nodes = Points(np.arange(float(codes.shape[1])), np.ones(codes.shape[1])).build(X)
        weight = None if given is None else as_like(given[keep], X)
        outputs = VectorOutputs(values, nodes, 1, 2, located=False)
        sample = Sample(X, outputs, weight, fit_intercept=bool(self.fit_intercept))
        return some_rows(sample if pairwise else sample.merged(), pairwise)

    def _scores(self, X) -> np.ndarray:
        """Return c_k·(h(x) + b), shape (n, C)."""
        check_is_fitted(self)
        values = to_numpy(self.regressor_.predict(X))
        return values.reshape(len(values), -1) @ self.codes_.T

    def decision_function(self, X):
        """Return the scores of the classes, shape (n_samples, C); of two classes that of the second, (n_samples,)."""
        scores = self._scores(X)
        return scores[:, 1] if len(self.classes_) == 2 else scores

    def predict(self, X):
        """Return the class of the greatest score."""
        scores = self._scores(X)
        return self.classes_[np.argmax(scores, axis=1)]

    def predict_proba(self, X):
        """Return softmax(β·scores), shape (n_samples, C)."""
        scores = self._scores(X)
        return softmax(self.sharpness_ * scores, axis=1)


class _CodeRegressor(VectorValuedRegressor):
    """A regression of codes: columns of tables are often alike, such as pixels, and scaling them apart costs."""

    def _default_kernels(self, X: Any) -> list[Kernel]:
        pairs = zip(default_kernels(X, CODE_LENGTHS), default_kernels(X, CODE_LENGTHS, "median"), strict=True)
        return [kernel for pair in pairs for kernel in pair]

    def _learns(self, sample: Sample) -> bool:
        return False

    def _refined(self, sample, chosen, alpha, loss) -> Smoothness:
        return chosen  # margins tell classes, and change little with the length


def simplex_code(n_classes: int) -> np.ndarray:
    """Return C unit vectors of R^{C−1} in rows, with inner products −1/(C − 1).

    By recursion, with vectors in columns: B_2 = (1, −1) and B_{C+1} = [[1, −1/C·1ᵀ], [0, √(1 − C⁻²)·B_C]].

    Examples
    --------
    >>> simplex_code(3).round(3)
    array([[ 1.   ,  0.   ],
           [-0.5  ,  0.866],
           [-0.5  , -0.866]])
    """
    check_number("simplex_code", "n_classes", n_classes, low=2, strict=False, integer=True)
    code = np.array([[1.0], [-1.0]])
    for c in range(2, n_classes):
        below = np.hstack([np.full((c, 1), -1 / c), np.sqrt(1 - c**-2.0) * code])
        code = np.vstack([np.eye(1, c), below])
    return code


def _sharpness(scores: np.ndarray, index: np.ndarray, weight: np.ndarray) -> float:
    """Return β of greatest likelihood of the classes under softmax(β·scores)."""

    def misfit(log_beta: float) -> float:
        return _misfit(np.exp(log_beta), scores, index, weight)

    limit = np.log(SHARPEST)
    return float(np.exp(minimize_scalar(misfit, bounds=(-limit, limit), method="bounded").x))


def _misfit(beta: float, scores: np.ndarray, index: np.ndarray, weight: np.ndarray) -> float:
    """Return minus the log-likelihood of the classes under softmax(β·scores)."""
    return -float(weight @ log_softmax(beta * scores, axis=1)[np.arange(len(index)), index])
