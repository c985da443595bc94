"""Several classes: decisions of least expected cost, from classifiers of one class against the rest."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.backend import to_numpy
from mercer.estimators.cost_sensitive import CostSensitiveClassifier
from mercer.estimators.delegation import weight_parameter
from mercer.estimators.summary import SummarisedEstimator
from mercer.estimators.validation import own_errors, read_weight, validate_labels
from mercer.exceptions import DataError, parameter_error
from mercer.preprocessing.curve_table import as_table

__all__ = ["CostMatrixClassifier"]


def _base_streams(model: CostMatrixClassifier) -> bool:
    return bool(model._base().partial_fit)  # whose AttributeError says why, where there is none


class CostMatrixClassifier(ClassifierMixin, MetaEstimatorMixin, SummarisedEstimator):
    """Two classes or more, and a price for each way of taking one for another.

    Every class is learned against the rest: the base estimator minimises what it minimises, once for each class. The
    probabilities q_j(x) of the classes against the rest are made to sum to 1, and the decision is the class l of least
    expected cost,

        p_j(x) = q_j(x) / Σ_i q_i(x),        argmin_l Σ_j p_j(x) C_jl,

    where C_jl is the price of calling l what is j. Prices enter at prediction: others need no other fit. Prefer it to
    :class:`CostSensitiveClassifier` where there are more than two classes. With two there is one fit, p_1 = q_1, and
    C = [[0, b], [a, 0]] asks for the decision at the cost θ = a/(a + b).

    Parameters
    ----------
    estimator : classifier, default=None
        Any classifier of two classes with ``predict_proba``, also at the end of a Pipeline;
        ``CostSensitiveClassifier()`` by default. It is fitted on the labels ``y == class``.
    cost_matrix : array-like of shape (n_classes, n_classes), default=None
        C: a row for each true class and a column for each predicted one, both in the order of ``classes_``. By default
        every error costs 1: the most probable class is predicted.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels in sorted order.
    estimators_ : list of classifiers
        The fitted base estimators, each of a class against the rest in the order of ``classes_``; for two classes one,
        of the second.

    Notes
    -----
    Fit and prediction cost those of the base estimator, once for each class. Each of the fits has a certificate of its
    own, ``estimators_[j].relative_gap_``, where the base estimator has one.

    Classifiers of one class against the rest are learned without regard to each other: their probabilities sum to 1
    only where they are right, and where they are wrong the division shares the misfit out in proportion.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from mercer import CostMatrixClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = CostMatrixClassifier().fit(X, y)
    >>> model.predict_proba(X).shape
    (150, 3)
    >>> dear = np.array([[0, 1, 1], [1, 0, 1], [1, 20, 0]])  # to take the last class for the second
    >>> counts = [np.bincount(model.predict(X, cost_matrix=prices)) for prices in (None, dear)]
    >>> bool(counts[1][2] > counts[0][2])
    True
    """

    def __init__(self, estimator=None, *, cost_matrix=None):
        self.estimator = estimator
        self.cost_matrix = cost_matrix

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags = deepcopy(get_tags(self._base()).input_tags)
        return tags

    def _base(self):
        return CostSensitiveClassifier() if self.estimator is None else self.estimator

    def fit(self, X, y, sample_weight=None):
        """Fit each class against the rest.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Whatever the base estimator takes.
        y : array-like of shape (n_samples,)
            Labels: numbers, strings or booleans, of two classes at least.
        sample_weight : array-like of shape (n_samples,), optional
            Weights for the base estimator.

        Returns
        -------
        self : CostMatrixClassifier
        """
        if not hasattr(self._base(), "predict_proba"):
            hint = "CostSensitiveClassifier() has it, also as the last step of a Pipeline."
            raise parameter_error(self, "estimator", self.estimator, "a classifier with predict_proba", hint)
        labels, X = validate_labels(self, y), as_table(X)
        with own_errors("X and y"):
            validate_data(self, X, labels, skip_check_array=True)
        weight = None if sample_weight is None else read_weight(sample_weight, labels)
        classes = self._classes(labels, weight)
        self._matrix(self.cost_matrix, len(classes))
        self.__dict__.pop("n_samples_seen_", None)  # a fit forgets the stream
        learned = classes[1:] if len(classes) == 2 else classes
        self.estimators_ = [self._fit_base(X, labels == label, weight) for label in learned]
        self.classes_ = classes
        return self

    @available_if(_base_streams)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from one more batch of rows, each class against the rest, where the base estimator has ``partial_fit``.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Whatever the base estimator takes.
        y : array-like of shape (n_samples,)
            Labels; the first batch must have rows of all classes.
        classes : array-like of shape (n_classes,), optional
            All labels, for scikit-learn's sake: those of the first batch are the classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights for the base estimator.

        Returns
        -------
        self : CostMatrixClassifier
        """
        labels, X = validate_labels(self, y), as_table(X)
        begun = hasattr(self, "n_samples_seen_")
        with own_errors("X and y"):
            validate_data(self, X, labels, skip_check_array=True, reset=not begun)
        weight = None if sample_weight is None else read_weight(sample_weight, labels)
        known = self.classes_ if begun else self._classes(labels, weight)
        given = known if classes is None else np.unique(validate_labels(self, classes))
        if not np.array_equal(given, known) or not np.all(np.isin(labels, known)):
            raise DataError(
                f"{type(self).__name__}.partial_fit: classes are those of the first batch, {known.tolist()}; got "
                f"{np.union1d(given, labels).tolist()}. The first batch must have rows of all classes."
            )
        self._matrix(self.cost_matrix, len(known))
        learned = known[1:] if len(known) == 2 else known
        models = deepcopy(self.estimators_) if begun else [clone(self._base()) for _ in learned]
        for model, label in zip(models, learned, strict=True):
            weights = {} if weight is None else {"sample_weight": weight}
            model.partial_fit(X, labels == label, classes=np.array([False, True]), **weights)
        self.estimators_, self.classes_ = models, known
        self.n_samples_seen_: int = len(labels) + (self.n_samples_seen_ if begun else 0)
        return self

    def _classes(self, labels: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        classes = np.unique(labels)
        if len(classes) < 2:
            raise DataError(
                f"{type(self).__name__}: y must have two classes at least; there is one class only: "
                f"{classes.tolist()[0]!r}."
            )
        for label in classes:
            if weight is not None and not np.any(weight[labels == label] > 0):
                name = label.item() if hasattr(label, "item") else label
                raise DataError(f"{type(self).__name__}: no row of positive weight has the class {name!r}.")
        return classes

    def _fit_base(self, X, positive, weight):
        model = clone(self._base())
        weights = {} if weight is None else {weight_parameter(model): weight}
        return model.fit(X, positive, **weights)

    def _matrix(self, given: Any, k: int, n: int | None = None) -> np.ndarray:
        """Return C, shape (k, k), or at prediction perhaps one for each of n rows; by default every error costs 1."""
        if given is None:
            return 1 - np.eye(k)
        each = "" if n is None else f", or ({n}, {k}, {k}): one for each row"
        allowed = f"finite numbers of shape ({k}, {k}){each}"
        hint = "Rows are true classes, columns are predicted ones, in the order of classes_."
        try:
            matrix = np.asarray(to_numpy(given))
        except ValueError as error:  # rows of different lengths
            raise parameter_error(self, "cost_matrix", given, allowed, hint) from error
        good = matrix.shape == (k, k) or (n is not None and matrix.shape == (n, k, k))
        if not good or matrix.dtype.kind not in "iuf" or not np.all(np.isfinite(matrix)):
            raise parameter_error(self, "cost_matrix", given, allowed, hint)
        return matrix.astype(float)

    def predict_proba(self, X):
        """Return the probabilities of the classes, shape (n_samples, n_classes), in the order of ``classes_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        against_rest = np.stack([to_numpy(model.predict_proba(X))[:, 1] for model in self.estimators_], axis=1)
        if len(self.classes_) == 2:
            return np.concatenate([1 - against_rest, against_rest], axis=1)
        against_rest[np.sum(against_rest, axis=1) == 0] = 1.0  # no class claims the row, all are alike
        return against_rest / np.sum(against_rest, axis=1, keepdims=True)

    def predict(self, X, cost_matrix=None):
        """Return the labels of least expected cost, shape (n_samples,).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        cost_matrix : array-like of shape (n_classes, n_classes) or (n_samples, n_classes, n_classes), optional
            Prices for all rows or for each of them, a row for each true class; the parameter ``cost_matrix`` by
            default.
        """
        probability = self.predict_proba(X)
        given = self.cost_matrix if cost_matrix is None else cost_matrix
        matrix = self._matrix(given, len(self.classes_), len(probability))
        expected = (probability[:, None, :] @ matrix)[:, 0]
        return self.classes_[np.argmin(expected, axis=1)]
