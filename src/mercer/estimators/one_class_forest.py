"""Random forests that see inliers only."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from mercer._params import check_number
from mercer.backend import require_numpy
from mercer.estimators.infinite_task import as_generator
from mercer.estimators.summary import SummarisedEstimator
from mercer.estimators.validation import is_foreign, validate_inputs, validate_rows
from mercer.exceptions import DataError, parameter_error
from mercer.forests import Trees, grow, ranked
from mercer.preprocessing.curve_table import as_table

__all__ = ["OneClassForest"]

#: "auto": the share of rows and of columns that a tree is made of, and how many it has at least
SAMPLE_SHARE, LEAST_SAMPLE = 0.2, 100
COLUMN_SHARE, LEAST_COLUMNS = 0.5, 5
#: what score_samples may be, and where inliers end: at the score of isolation forests of rows without structure, or at
#: the density of the uniform law on the box of the rows
SCORES = {"depth": -0.5, "density": 0.0, "ratio": 0.0}


class OneClassForest(OutlierMixin, SummarisedEstimator):
    """Random forest for outliers, with trees that split where rows are dense on one side and rare on the other.

    Each node of n rows is split by the column and the threshold that minimise

        n_L γnλ_L/(n_L + γnλ_L) + n_R γnλ_R/(n_R + γnλ_R),

    n_L and n_R the rows on both sides and λ_L + λ_R = 1 the shares of the volume of its cell: the Gini impurity of rows
    against γn outliers that are uniform in the cell (Goix et al., in Brault 2017, App. D). All thresholds halfway
    between neighbouring values of a few columns, drawn at random, are looked at. Splits go where the data have edges
    and gaps, those of :class:`sklearn.ensemble.IsolationForest` anywhere at random. Prefer it for many rows or columns,
    of which few matter, and units that are not comparable: only the order of values in each column and their relative
    distances count. Prefer :class:`LevelSetDetector` for a score with a meaning, and for outliers within the range of
    each column.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    max_samples : int, float or "auto", default="auto"
        Rows that a tree is made of, drawn without replacement; a float in (0, 1] is a share. "auto": a fifth, at least
        100.
    max_features : int, float or "auto", default="auto"
        Columns that a tree may split, drawn without replacement; a float in (0, 1] is a share. "auto": half, at least
        5.
    max_node_features : int, default=5
        Columns of its tree that a node looks at. Where all of them are constant in the node it looks at as many others.
    max_depth : int, default=None
        Splits on a path at most; by default log₂ of the rows of a tree, rounded up.
    gamma : float, default=1.0
        γ, imagined outliers per row of a node. Large values cut off nearly empty space in small steps; small ones
        look for dense parts.
    scores : {"depth", "density", "ratio"}, default="depth"
        What :meth:`score_samples` is. "depth": −s(x), −log₂ s(x) the mean over trees of the length of the path of x, in
        units of that of a random tree. "density": the logarithm of the mean over trees of the density of rows in the
        cell of x, relative to that of the box of the rows. "ratio": the logarithm of the mean of the shares of rows in
        the cells of x, divided by the mean of their shares of the volume.
    contamination : float or "auto", default="auto"
        Fraction of the training rows that are outliers, in (0, 0.5]. "auto": outliers have s(x) > ½, as for isolation
        forests, or a density below that of the uniform law.
    n_jobs : int, default=None
        Threads that grow trees and score rows; −1 for one per core. Results do not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Draws rows and columns.

    Attributes
    ----------
    trees_ : Trees
        All nodes as flat arrays: columns, thresholds, children, depths, rows and volumes of cells.
    offset_ : float
        ``decision_function`` is ``score_samples`` less it.
    feature_importances_ : array of shape (n_features,)
        The share of each column in the decrease of the impurity by all splits.
    max_samples_, max_features_ : int
        Rows and columns of each tree.
    encoder_ : TableEncoder or None
        How columns of text, categories, dates and missing cells of a data frame became numbers; None where X was
        numbers. ``feature_importances_`` are those of the encoded columns, ``encoder_.get_feature_names_out()``.

    Notes
    -----
    Cells of a node end where its ancestors were split, and at the box of all rows, beyond which all space belongs to
    the cells at the border: a row that is far outside in one column is as normal as the rows at that end of it, where
    :class:`LevelSetDetector` has scores that go on falling. γ is that of each node, so that the criterion does not fade
    in deep trees and many columns.
    There is no certificate: trees are grown greedily.

    Training takes about the time of sorting the rows of each tree once per level and candidate.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import OneClassForest
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> forest = OneClassForest(random_state=0).fit(X)
    >>> forest.predict([[0.0, 0.2], [5.0, 5.0]])
    array([ 1, -1])
    >>> float(np.mean(OneClassForest(contamination=0.1, random_state=0).fit_predict(X) == -1))
    0.1
    """

    #: what input curves become
    _curves_become = "scores"

    def __init__(
        self,
        n_estimators=100,
        *,
        max_samples="auto",
        max_features="auto",
        max_node_features=5,
        max_depth=None,
        gamma=1.0,
        scores="depth",
        contamination="auto",
        n_jobs=None,
        random_state=None,
    ):
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
        self.max_node_features = max_node_features
        self.max_depth = max_depth
        self.gamma = gamma
        self.scores = scores
        self.contamination = contamination
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_settings(self):
        for name in ("n_estimators", "max_node_features"):
            check_number(self, name, getattr(self, name), low=1, strict=False, integer=True)
        if self.max_depth is not None:
            check_number(self, "max_depth", self.max_depth, low=1, strict=False, integer=True)
        check_number(
            self, "gamma", self.gamma, low=1e-6, high=1e6, strict=False, hint="1 is as many as there are rows."
        )
        jobs = isinstance(self.n_jobs, numbers.Integral) and not isinstance(self.n_jobs, (bool, np.bool_))
        if self.n_jobs is not None and not (jobs and self.n_jobs):
            raise parameter_error(self, "n_jobs", self.n_jobs, "None or an integer other than 0", "-1: one per core.")
        if not (isinstance(self.scores, str) and self.scores in SCORES):
            raise parameter_error(self, "scores", self.scores, " or ".join(map(repr, SCORES)))
        auto = isinstance(self.contamination, str) and self.contamination == "auto"
        if not auto and not (_is_real(self.contamination) and 0 < self.contamination <= 0.5):
            hint = "It is the fraction of training rows that are outliers: 0.05, not 5."
            raise parameter_error(self, "contamination", self.contamination, "'auto' or a number in (0, 0.5]", hint)

    def _number_of(self, name: str, total: int, auto: int, least: int) -> int:
        """Return how many of ``total`` a parameter means: a number, a share, or "auto"."""
        value = getattr(self, name)
        if isinstance(value, str) and value == "auto":
            return min(total, auto)
        if isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_)) and int(value) >= least:
            return min(total, int(value))
        if _is_real(value) and not isinstance(value, numbers.Integral) and 0 < value <= 1:
            return max(least, math.ceil(value * total))
        raise parameter_error(self, name, value, f"'auto', an integer >= {least} or a share in (0, 1]")

    def fit(self, X, y=None):
        """Grow the trees.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data, at least two rows; columns of a data frame may hold text, categories, dates and missing cells.
        y : Ignored
            Present for the conventions of scikit-learn.

        Returns
        -------
        self : OneClassForest
        """
        self._check_settings()
        X = self._read_training(X)
        n, d = X.shape
        n_rows = self._number_of("max_samples", n, max(LEAST_SAMPLE, math.ceil(SAMPLE_SHARE * n)), 2)
        n_columns = self._number_of("max_features", d, max(LEAST_COLUMNS, math.ceil(COLUMN_SHARE * d)), 1)
        columns, max_depth = ranked(X), self.max_depth or math.ceil(math.log2(n_rows))

        def tree(rng: np.random.Generator):
            rows = rng.choice(n, n_rows, replace=False)
            chosen = np.sort(rng.choice(d, n_columns, replace=False))
            limits: dict[str, Any] = {"n_candidates": int(self.max_node_features), "max_depth": int(max_depth)}
            return grow(columns, rows, chosen, gamma=float(self.gamma), rng=rng, **limits)

        rngs = as_generator(self, self.random_state).spawn(int(self.n_estimators))
        self.trees_ = Trees.of(Parallel(n_jobs=self.n_jobs, prefer="threads")(delayed(tree)(rng) for rng in rngs))
        self.max_samples_, self.max_features_ = n_rows, n_columns
        self.feature_importances_ = self.trees_.importances(d)
        auto = isinstance(self.contamination, str)
        self.offset_ = SCORES[self.scores] if auto else float(np.quantile(self._scores(X), self.contamination))
        return self

    def _read_training(self, X) -> np.ndarray:
        X = as_table(X)
        require_numpy(self, "Convert X with numpy.asarray.", X if is_foreign(X) else None)
        X, *_ = validate_rows(self, X, None)
        if len(X) < 2:
            raise DataError(f"OneClassForest: X must have at least 2 rows; got n_samples = {len(X)}.")
        return X

    def score_samples(self, X):
        """Return how normal rows are, shape (n_samples,), as ``scores`` says: small values are anomalies.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        return self._scores(validate_inputs(self, X, self.trees_.threshold, None))

    def _scores(self, X: np.ndarray) -> np.ndarray:
        trees = self.trees_
        if self.scores == "depth":
            return -np.exp2(-trees.mean(trees.path_lengths(), X, self.n_jobs))
        share = trees.size / trees.n_rows
        if self.scores == "density":
            return trees.log_mean(np.log(share) - trees.volume, X, self.n_jobs)
        volume = trees.log_mean(trees.volume, X, self.n_jobs)
        return np.log(trees.mean(share, X, self.n_jobs)) - volume

    def decision_function(self, X):
        """Return ``score_samples`` less ``offset_``, shape (n_samples,); inliers have values ≥ 0."""
        return self.score_samples(X) - self.offset_

    def predict(self, X):
        """Return 1 for inliers and −1 for outliers, shape (n_samples,)."""
        return np.where(self.decision_function(X) >= 0, 1, -1)


def _is_real(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
