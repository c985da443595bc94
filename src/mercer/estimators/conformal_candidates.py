"""Sets of candidates that hold the true object with a given probability."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
from sklearn.base import MetaEstimatorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _num_samples, check_is_fitted

from mercer._params import check_number
from mercer.estimators.calibration_rows import CalibrationRows, check_rows, take_rows_of
from mercer.estimators.candidates import CandidateLists, count_objects
from mercer.estimators.delegation import offers, reach
from mercer.estimators.input_output import InputOutputKernelRegressor
from mercer.estimators.ranking import TIED
from mercer.estimators.summary import SummarisedEstimator
from mercer.estimators.validation import own_errors, read_weight
from mercer.exceptions import DataError, UnsupportedError
from mercer.kernels.objects import as_objects, take_objects

__all__ = ["ConformalCandidates"]


class ConformalCandidates(CalibrationRows, MetaEstimatorMixin, SummarisedEstimator):
    """Sets of candidates around what an input–output kernel regression predicts, that cover at any sample size.

    The misfit of an object z at x is ½‖φ(z) − h(x)‖² (or −⟨h(x), φ(z)⟩). With q the ⌈(n + 1)c⌉-th smallest
    misfit of n rows that the regression has not seen, the set is {z : misfit(x, z) ≤ q}; for rows that are exchangeable

        P(Z ∈ set(X)) ≥ c,

    whatever the kernels and the distribution (Vovk et al., 2005). A list of candidates is cut down to those in the set:
    the truth is among them with that probability where it is in the list.

    Parameters
    ----------
    estimator : InputOutputKernelRegressor, default=None
        Also at the end of a Pipeline; with ``FrozenEstimator(fitted)`` all rows given to ``fit`` calibrate.
    calibration_size : float or int, default=0.25
        Share or number of rows that calibrate.
    random_state : int, RandomState, Generator or None, default=None
        Of the split.

    Attributes
    ----------
    estimator_ : estimator
        The fitted regression.
    misfits_ : array of shape (n_calibration_,)
        Sorted misfits of the rows that calibrate.
    n_calibration_ : int
        Their number.
    n_features_in_, feature_names_in_
        Columns of the inputs, and their names where the regression knows any.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ConformalCandidates, InputOutputKernelRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(200, 1))
    >>> Z = [{"low"} if x + 0.2 * rng.normal() < 0.5 else {"high"} for x in X[:, 0]]
    >>> model = ConformalCandidates(InputOutputKernelRegressor(output_kernel="jaccard"), random_state=0).fit(X, Z)
    >>> model.predict_set([[0.05], [0.5]], coverage=0.9)
    [[{'low'}], [{'low'}, {'high'}]]
    """

    #: one split; what is shared with other conformal estimators asks for it
    method = "split"
    cv = None

    def __init__(self, estimator=None, *, calibration_size=0.25, random_state=None):
        self.estimator = estimator
        self.calibration_size = calibration_size
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags = deepcopy(get_tags(self._base()).input_tags)
        tags.target_tags = deepcopy(get_tags(self._base()).target_tags)
        return tags

    def _base(self) -> Any:
        return InputOutputKernelRegressor() if self.estimator is None else self.estimator

    def fit(self, X, y, sample_weight=None):
        """Fit the regression on some rows and calibrate it on others.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features), or sequence of objects
        y : sequence of n_samples objects
        sample_weight : array-like of shape (n_samples,), optional
            Weights for the regression. Each row of positive weight calibrates once.

        Returns
        -------
        self : ConformalCandidates
        """
        base = self._base()
        if not offers(base, "truth_rank"):
            raise UnsupportedError(
                f"ConformalCandidates: {base!r} has no scores of objects. Pass an InputOutputKernelRegressor, also at "
                "the end of a Pipeline."
            )
        check_rows(X)
        objects = as_objects(self, y)
        n, rows = count_objects(objects), np.arange(count_objects(objects))
        with own_errors("X"):
            given = _num_samples(X)
        if given != n:
            raise DataError(f"ConformalCandidates: X and Z have inconsistent numbers of samples, {given} and {n}.")
        if get_tags(base).input_tags.pairwise and len(getattr(X, "shape", ())) != 2:
            raise DataError("ConformalCandidates: with kernel='precomputed' X is the Gram matrix, an array (n, n).")
        weight = None if sample_weight is None else read_weight(sample_weight, np.zeros((n, 1)))
        if isinstance(base, FrozenEstimator):
            rows = rows if weight is None else np.flatnonzero(weight)
            self.columns_ = None
            return self._calibrate(base, take_rows_of(X, rows), take_objects(objects, rows))
        if bool(getattr(base, "_given_outputs", False)):
            raise UnsupportedError(
                "ConformalCandidates: a Gram matrix of outputs is not split. Fit the regression on some rows, and pass "
                "FrozenEstimator(fitted) with kernel values of the others as Z."
            )
        ((train, test),) = self._splits(X, rows, weight)
        model = self._fit_base(X, take_objects(objects, train), weight, train)
        inputs = _safe_split(model, X, None, test, train)[0] if hasattr(X, "shape") else _safe_indexing(X, test)
        self.columns_ = train if get_tags(model).input_tags.pairwise else None
        self._calibrate(model, inputs, take_objects(objects, test))
        if self.columns_ is not None:
            self.n_features_in_ = X.shape[1]
        return self

    def _calibrate(self, model: Any, X: Any, objects: Any) -> ConformalCandidates:
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)  # of an earlier fit
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))
        regression, inner = reach(model, X, "truth_rank")
        self.estimator_, self.misfits_ = model, np.sort(regression.misfit(inner, objects))
        self.n_calibration_ = len(self.misfits_)
        return self

    def predict(self, X, candidates=None):
        """Return what the regression predicts."""
        check_is_fitted(self)
        regression, inner = self._reach(X)
        return regression.predict(inner, candidates)

    def predict_set(self, X, candidates=None, coverage=0.9):
        """Return the candidates in the set of each row, the best first: a list, or an array if they were one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or sequence of objects
        candidates : sequence of objects, EncodedCandidates or CandidateLists, default=None
            As for the regression.
        coverage : float, default=0.9
            c; it needs c/(1 − c) rows that calibrate.

        Returns
        -------
        list of n_samples sequences of objects
        """
        check_is_fitted(self)
        check_number(self, "coverage", coverage, low=0, high=1)
        bound = self.misfits_[self._rank("coverage", coverage, coverage) - 1]
        regression, inner = self._reach(X)
        lists = isinstance(candidates, CandidateLists)
        encoded = regression.encode(candidates.pool if lists else candidates)
        misfits = regression.misfits(inner, candidates if lists else encoded)
        found = []
        for i, one in enumerate(misfits):
            order = np.argsort(one, kind="stable")
            rounding = TIED * max(float(np.max(np.abs(one))), abs(float(bound)))  # what ties with the bound is inside
            inside = order[one[order] <= bound + rounding]
            found.append(take_objects(encoded.objects, candidates.rows[i][inside] if lists else inside))
        return found

    def _reach(self, X: Any) -> tuple[Any, Any]:
        """Return the regression and its inputs; of a Gram matrix the columns of the rows that it was fitted on."""
        return reach(self.estimator_, X if self.columns_ is None else self._inputs(X, self.columns_), "truth_rank")
