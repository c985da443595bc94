"""Kernels and λ by slopes of the loss of rows that were held out."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils import _safe_indexing, get_tags, indexable
from sklearn.utils.validation import _num_samples

from mercer._params import check_number
from mercer.backend import to_numpy
from mercer.estimators.certified import is_pairwise
from mercer.estimators.cost_sensitive import CostSensitiveClassifier
from mercer.estimators.functional import FunctionalRegressor
from mercer.estimators.held_out_search import SEARCH_PARTS, SEARCH_TOL, HeldOutSearch
from mercer.estimators.infinite_task import as_random_state
from mercer.estimators.kernel_coordinates import KernelCoordinates
from mercer.estimators.quantile import KernelQuantileRegressor
from mercer.estimators.settle import settle_choices
from mercer.estimators.summary import SummarisedEstimator
from mercer.estimators.validation import own_errors
from mercer.estimators.value_slopes import value_slopes
from mercer.estimators.vector_valued import VectorValuedRegressor
from mercer.exceptions import DataError, UnsupportedError, parameter_error
from mercer.kernels import Gaussian, Kernel

__all__ = ["GradientSearchCV"]

#: the estimators whose kernels are learned
LEARNERS = (KernelQuantileRegressor, CostSensitiveClassifier, VectorValuedRegressor, FunctionalRegressor)
#: fewer rows than these (of each class half of them) make no parts that predict each other: nothing is searched
FEWEST_SEARCHED = 20
#: settings of the fits that are compared, where an estimator has them
SEARCHED_WITH = {"approximation": None, "verbose": 0, "warm_start": False, "tol": SEARCH_TOL}


class GradientSearchCV(SummarisedEstimator, BaseSearchCV):
    """Numbers in kernels, and λ, by the slope of the loss of rows that were held out; then one fit with them.

    Where :class:`~sklearn.model_selection.GridSearchCV` tries what is on a grid, this follows a slope, so that there
    may be hundreds of numbers: a length for each column, weights of a sum of kernels, output matrices, frequencies of
    random features. With R_A and R_B the mean losses of two halves of the rows it minimises over all of them

        (V_ε − V_0)/ε,    V_ε = min_h R_A(h) + ε R_B(h) + (λ/2)‖h‖²,

    and the same with both halves exchanged: a lower bound of the loss R_B of the fit to the other half, and close to it
    for small ε. Its slope is one of certified optimal values, by the envelope theorem, for every loss. The optimal
    value of the training rows itself is no measure of a kernel: it falls as functions become rougher or larger.
    Of all steps that is taken whose loss is the least in a fifth of the rows, which no fit and no slope has seen; if
    none is better there than where it started from, that is kept.

    Parameters
    ----------
    estimator : estimator, default=None
        A KernelQuantileRegressor (the default), CostSensitiveClassifier, VectorValuedRegressor or, for curves on a
        grid, FunctionalRegressor. ``kernel=None`` means ``Gaussian("standardized")`` here, and quantiles are those of
        the joint model. What else it chooses automatically is chosen on the rows of the search, where that starts.
    parameters : "auto" or list of str, default="auto"
        Which of its parameters: names such as ``"kernel__gamma"``, ``"kernel__left__scale"``,
        ``"output_kernel__gamma"``, ``"output_matrix"`` and ``"alpha"``. "auto" are all numbers in ``kernel``, and
        ``"alpha"`` where it is not given as a number.
    max_iter : int, default=30
        Steps of L-BFGS.
    patience : int, default=5
        Steps without a lower held-out loss after which it stops.
    max_samples : int, default=1000
        Of more rows so many are searched with, drawn at random.
    random_state : int, RandomState or None, default=0
        How rows are dealt to parts.

    Attributes
    ----------
    best_estimator_ : estimator
        Fitted to all rows with the numbers that were found; with a certificate as always.
    best_params_ : dict
        The numbers, by name; ``alpha`` is that of all rows (λn is the same for the halves).
    history_ : dict of arrays
        ``"value"``, the loss of the halves predicted from each other, and ``"held_out_loss"``, that of the fifth, at
        each step, the start first.
    best_index_ : int
        The step that was taken.
    n_iter_ : int
        Number of steps that were looked at, the start included.

    Notes
    -----
    A value of the criterion costs four fits to at most ``max_samples`` rows, and a look at the held-out loss after each
    step six more. Fewer than 20 rows (or ten of a class) are fitted as they are. ε is 1 % of the rows of the fit, or
    less where the lower bound is not within 10 % of the loss. The criterion is not convex: what is found depends on
    where it starts.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import GradientSearchCV, VectorValuedRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(120, 3))  # two columns of which tell nothing
    >>> y = np.sin(9 * X[:, 0]) + 0.1 * rng.normal(size=120)
    >>> search = GradientSearchCV(VectorValuedRegressor(), max_iter=10).fit(X, y)
    >>> gamma = search.best_params_["kernel__gamma"]
    >>> bool(gamma[0] > 10 * gamma[1]), bool(gamma[0] > 10 * gamma[2])
    (True, True)
    >>> loss = search.history_["held_out_loss"]
    >>> bool(loss[search.best_index_] < 0.5 * loss[0])
    True
    """

    #: what scikit-learn's own searches have as parameters
    refit, scoring, cv, multimetric_ = True, None, None, False

    def __init__(self, estimator=None, parameters="auto", *, max_iter=30, patience=5, max_samples=1000, random_state=0):
        self.estimator = estimator
        self.parameters = parameters
        self.max_iter = max_iter
        self.patience = patience
        self.max_samples = max_samples
        self.random_state = random_state

    def __sklearn_tags__(self):
        return get_tags(self._base)

    def fit(self, X, y, sample_weight=None):
        """Search, and fit the estimator with what was found to all rows.

        Parameters
        ----------
        X, y : arrays, data frames or curves
            As the estimator takes them.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of rows.

        Returns
        -------
        self : GradientSearchCV
        """
        self._check_settings()
        keywords = {} if sample_weight is None else {"sample_weight": sample_weight}
        with own_errors("X"):
            few = _num_samples(X) <= self.max_samples
        first = self._first(1.0).fit(X, y, **keywords) if few else None  # which looks at the data, too
        X, y, weight = _indexable(X, y, sample_weight)
        rows, enough = self._searched_rows(weight, y)
        some, targets, share = _safe_indexing(X, rows), _safe_indexing(y, rows), weight[rows].sum() / weight.sum()
        if first is None:
            first = self._first(share).fit(some, targets, sample_weight=weight[rows])
        start = _settled(first, 1.0 if few else share)
        at = self._coordinates(start, value_slopes(first))
        search = HeldOutSearch(start.set_params(tol=SEARCH_TOL), at, some, targets, weight[rows], weight.sum())
        if enough:
            search.run(self.max_iter, self.patience)
        self.history_, self.best_index_, self.n_iter_ = search.history, search.best, len(search.steps)
        self.best_params_ = at.parameters(search.found)
        settings = {name: self._base.get_params()[name] for name in SEARCHED_WITH if name in self._names}
        self.best_estimator_ = start.set_params(**settings).set_params(**self.best_params_).fit(X, y, **keywords)
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_
        return self

    def score(self, X, y=None, **params):
        """Return the score of the estimator that was found."""
        return self.best_estimator_.score(X, y, **params)

    @property
    def _base(self) -> Any:
        return KernelQuantileRegressor() if self.estimator is None else self.estimator

    @property
    def _names(self) -> list[str]:
        return list(self._base.get_params(deep=False))

    def _check_settings(self) -> None:
        if type(self._base) not in LEARNERS:
            allowed = "one of " + ", ".join(kind.__name__ for kind in LEARNERS)
            hint = "Pipelines go around the search: make_pipeline(StandardScaler(), GradientSearchCV(...))."
            raise parameter_error(self, "estimator", self.estimator, allowed, hint)
        kernel = self._base.kernel
        if not (kernel is None or isinstance(kernel, (Kernel, str))) or is_pairwise(kernel):
            allowed = "one whose kernel is None, a Kernel or a name: k_X alone, on points"
            hint = "output_kernel= and output_matrix= are k_Θ and Γ."
            raise parameter_error(self, "estimator", self.estimator, allowed, hint)
        for name, least in (("max_iter", 1), ("patience", 1), ("max_samples", 10)):
            check_number(self, name, getattr(self, name), low=least, strict=False, integer=True)

    def _searched_rows(self, weight: np.ndarray, y: Any) -> tuple[np.ndarray, bool]:
        """Return the rows to search with, part by part, in random order, and whether there are enough of them."""
        rng, used = as_random_state(self, self.random_state), np.flatnonzero(weight > 0)
        rows = np.sort(rng.permutation(used)[: self.max_samples])
        labels = np.asarray(_safe_indexing(y, rows)) if is_classifier(self._base) else np.zeros(len(rows))
        if min(len(rows), 2 * np.unique(labels, return_counts=True)[1].min()) < FEWEST_SEARCHED:
            return rows, False
        kind = StratifiedKFold if is_classifier(self._base) else KFold
        folds = kind(SEARCH_PARTS, shuffle=True, random_state=rng.randint(2**31 - 1))
        return np.concatenate([rows[part] for _, part in folds.split(labels, labels)]), True

    def _first(self, share: float) -> Any:
        """Return the estimator that is to choose where the search starts, for rows that are a share of all."""
        first = clone(self._base)
        settings = {name: value for name, value in SEARCHED_WITH.items() if name in self._names and name != "tol"}
        first.set_params(**settings)
        if first.kernel is None:
            first.set_params(kernel=Gaussian("standardized"))
        return first if isinstance(first.alpha, str) else first.set_params(alpha=first.alpha / share)

    def _coordinates(self, start: Any, slopes: dict[str, Any]) -> KernelCoordinates:
        """Return the numbers to search for, of those that have slopes, where they start."""
        params, names = start.get_params(), self.parameters
        available = [name for name in slopes if name in params]
        if isinstance(names, str) and names == "auto":
            free = ["alpha"] if isinstance(self._base.alpha, str) else []
            names = [name for name in available if name.startswith("kernel__")] + free
        elif not isinstance(names, (list, tuple)) or not all(name in available for name in names):
            allowed = f"'auto', or a list of some of {', '.join(map(repr, available))}"
            raise parameter_error(self, "parameters", self.parameters, allowed)
        if not names:
            raise UnsupportedError(
                f"GradientSearchCV: there is nothing to search for in {start.kernel!r} with a given alpha. Leave alpha "
                "to be chosen, or name parameters."
            )
        return KernelCoordinates.of({name: params[name] for name in names})


def _settled(first: Any, share: float) -> Any:
    """Return a fitted estimator as one with numbers for all that it has chosen, and λ for all rows."""
    if getattr(first, "encoder_", None) is not None:
        raise UnsupportedError(
            "GradientSearchCV: columns of text, categories, dates or with missing cells become other numbers in each "
            "part of the rows. Encode them before: make_pipeline(TableEncoder(), GradientSearchCV(...))."
        )
    return settle_choices(first, share)


def _indexable(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, np.ndarray]:
    """Return inputs and targets of which rows can be taken, and the weight of each row, 1 by default."""
    if y is None:
        raise DataError("GradientSearchCV requires y to be passed, but the target y is None.")
    with own_errors("sample_weight"):
        X, y = indexable(X, y)
        n = _num_samples(X)
        weight = np.ones(n) if sample_weight is None else np.asarray(to_numpy(sample_weight), dtype=float)
    weight = np.full(n, weight) if weight.ndim == 0 else weight
    if weight.shape != (n,) or not np.sum(weight) > 0:
        raise DataError(
            f"GradientSearchCV: sample_weight must have shape ({n},) and a positive sum; its shape is {weight.shape}, "
            f"its sum {np.sum(weight):g}."
        )
    return X, y, weight
