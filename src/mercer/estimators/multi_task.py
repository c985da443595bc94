"""Several related tasks, one number of one task in each row, the task named by a column."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from mercer.backend import to_numpy
from mercer.estimators.certified import is_pairwise
from mercer.estimators.summary import SummarisedEstimator
from mercer.estimators.validation import float_array
from mercer.estimators.vector_valued import VectorValuedRegressor
from mercer.exceptions import DataError, parameter_error

__all__ = ["MultiTaskRegressor"]


class MultiTaskRegressor(RegressorMixin, SummarisedEstimator):
    """Regression for several related tasks of which each row has one: schools, patients, sensors, joints of a robot.

    Minimises, over h in the space of k_X·Γ and b ∈ R^T, with t_i the task of row i,

        (1/n) Σ_i s_i L(y_i − b_{t_i} − h_{t_i}(x_i)) + (λ/2)‖h‖²,

    by :class:`VectorValuedRegressor` with y_i as the one output of row i that was observed. Γ, which says how alike the
    tasks are, is learned by default. A single task of few rows then borrows from those like it.

    Parameters
    ----------
    task : int, str or None, default=None
        The column of X that names the task of each row, by place or by name. It is no input. None: there is one task.
    kernel : Kernel, str or callable, default=None
        k_X on the other columns; as for :class:`VectorValuedRegressor`. Places of columns are those without the task.
    output_matrix : array-like of shape (T, T), "learned", LearnedMatrix or None, default="learned"
        Γ, in the order of ``tasks_``; None for tasks that have nothing in common but kernel and λ. From a graph of
        tasks it is ``graph_matrix(S, ridge=0.1)`` of :mod:`mercer.operator_valued`.
    alpha, loss, metric, fit_intercept, solver, tol, max_iter, verbose :
        As those of :class:`VectorValuedRegressor`. ``metric="variance"`` is for tasks in different units.

    Attributes
    ----------
    tasks_ : array of shape (T,)
        The tasks, sorted.
    output_matrix_ : array of shape (T, T)
        Γ.
    regressor_ : VectorValuedRegressor
        The fitted regression: its ``predict`` has all tasks at rows without the column of the task.
    n_iter_ : int
        Iterations of the solver.

    See Also
    --------
    VectorValuedRegressor : Several or all outputs in a row; NaN for those that were not observed.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from mercer import MultiTaskRegressor
    >>> rng = np.random.default_rng(0)
    >>> frame = pd.DataFrame({"dose": rng.uniform(size=60), "site": rng.choice(["A", "B", "C"], 60)})
    >>> y = np.sin(6 * frame.dose) + 0.3 * (frame.site == "B") + 0.1 * rng.normal(size=60)
    >>> model = MultiTaskRegressor(task="site").fit(frame, y)
    >>> model.tasks_.tolist(), model.score(frame, y) > 0.9
    (['A', 'B', 'C'], True)
    >>> mean, std = model.predict(pd.DataFrame({"dose": [0.5, 0.5], "site": ["A", "B"]}), return_std=True)
    >>> bool(mean[1] > mean[0])
    True
    """

    def __init__(
        self,
        task=None,
        *,
        kernel=None,
        output_matrix="learned",
        alpha="auto",
        loss="square",
        metric=None,
        fit_intercept=True,
        solver="auto",
        tol=1e-4,
        max_iter=None,
        verbose=0,
    ):
        self.task = task
        self.kernel = kernel
        self.output_matrix = output_matrix
        self.alpha = alpha
        self.loss = loss
        self.metric = metric
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def fit(self, X, y, sample_weight=None):
        """Fit all tasks.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Inputs, and the column of the task.
        y : array-like of shape (n_samples,)
            The number of the row's task.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights.

        Returns
        -------
        self : MultiTaskRegressor
        """
        if is_pairwise(self.kernel):
            hint = "Or VectorValuedRegressor, with a column of Y for each task and NaN where it was not observed."
            raise parameter_error(self, "kernel", self.kernel, "a kernel on vectors", hint)
        inputs, labels = self._split(X, reset=True)
        y = self._read_targets(y)
        labels = np.zeros(len(y), dtype=int) if labels is None else labels
        if len(labels) != len(y):
            raise DataError(
                f"{type(self).__name__}: X and y have inconsistent numbers of samples, {len(labels)} and {len(y)}."
            )
        self.tasks_, which = np.unique(labels, return_inverse=True)
        Y = np.full((len(y), len(self.tasks_)), np.nan)
        Y[np.arange(len(y)), which] = y
        params = {name: value for name, value in self.get_params(deep=False).items() if name != "task"}
        self.regressor_ = VectorValuedRegressor(**params).fit(inputs, Y, sample_weight)
        self.output_matrix_, self.n_iter_ = self.regressor_.output_matrix_, self.regressor_.n_iter_
        if self.task is None:
            self.n_features_in_ = self.regressor_.n_features_in_
            if hasattr(self.regressor_, "feature_names_in_"):
                self.feature_names_in_ = self.regressor_.feature_names_in_
        return self

    def predict(self, X, return_std=False):
        """Return the number of each row's task, and how sure it is.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            With the column of the task, as in ``fit``.
        return_std : bool, default=False
            Whether to return the standard deviation of the Gaussian process, too (square loss).

        Returns
        -------
        mean : array of shape (n_samples,)
        std : array of shape (n_samples,), only with ``return_std``
        """
        check_is_fitted(self)
        inputs, labels = self._split(X, reset=False)
        found = self.regressor_.predict(inputs, return_std=return_std)
        both = [np.reshape(to_numpy(each), (-1, len(self.tasks_))) for each in (found if return_std else (found,))]
        places = np.zeros(len(both[0]), dtype=int) if labels is None else self._places(labels)
        own = tuple(each[np.arange(len(each)), places] for each in both)
        return own if return_std else own[0]

    def _places(self, labels: np.ndarray) -> np.ndarray:
        """Return the places of tasks among those of the fit."""
        places = np.minimum(np.searchsorted(self.tasks_, labels), len(self.tasks_) - 1)
        unknown = np.flatnonzero(self.tasks_[places] != labels)
        if len(unknown):
            raise DataError(
                f"{type(self).__name__}: row {int(unknown[0])} is of task {labels[unknown[0]]!r}, of which no row was "
                f"there in fit; tasks are {self.tasks_.tolist()[:10]}. Of a new task nothing is known."
            )
        return places

    def _read_targets(self, y: Any) -> np.ndarray:
        """Return one number for each row."""
        name = type(self).__name__
        if y is None:
            raise DataError(f"{name} requires y to be passed, but the target y is None.")
        array = float_array(name, to_numpy(y), "y")
        if array.ndim == 2 and array.shape[1] == 1:
            array = column_or_1d(array, warn=True)
        if array.ndim != 1:
            raise DataError(
                f"{name}: y must have shape (n_samples,), the number of the row's task; got {array.shape}. For several "
                "outputs in a row use VectorValuedRegressor."
            )
        if not np.all(np.isfinite(array)):
            raise DataError(f"{name}: Input y contains NaN or infinity.")
        return array

    def _split(self, X: Any, reset: bool) -> tuple[Any, np.ndarray | None]:
        """Return X without the column of the task, and that column; None where there is none."""
        if self.task is None:
            return X, None
        framed = hasattr(X, "columns") and hasattr(X, "drop")
        if not framed:
            X = np.asarray(to_numpy(X))
        if len(np.shape(X)) != 2 or np.shape(X)[1] < 2:
            raise DataError(
                f"{type(self).__name__}: X must have the column of the task and an input at least; got shape "
                f"{tuple(np.shape(X))}."
            )
        validate_data(self, X, reset=reset, skip_check_array=True)
        place = self._place(list(X.columns) if framed else None, np.shape(X)[1])
        if framed:
            name = list(X.columns)[place]
            kept = [column for column in X.columns if column != name]
            inputs, labels = X[kept], np.asarray(X[name])
        else:
            inputs, labels = np.delete(X, place, axis=1), X[:, place]
        missing = np.array([label is None or label != label for label in labels.tolist()])
        if np.any(missing):
            raise DataError(f"{type(self).__name__}: row {int(np.argmax(missing))} has no task (a missing value).")
        if labels.dtype == object:
            labels = np.array([str(label) for label in labels]) if isinstance(labels[0], str) else labels
        return inputs, labels

    def _place(self, names: list | None, d: int) -> int:
        """Return the place of the column of the task."""
        task = self.task
        if isinstance(task, str):
            if names is None or task not in names:
                known = "X has no names of columns; pass a data frame, or the place of the column."
                hint = known if names is None else f"It has {', '.join(map(repr, names[:20]))}."
                raise parameter_error(self, "task", task, "the name of a column of X", hint)
            return names.index(task)
        if isinstance(task, bool) or not isinstance(task, (int, np.integer)) or not -d <= task < d:
            raise parameter_error(self, "task", task, f"the name or the place of one of {d} columns, or None")
        return int(task) % d
