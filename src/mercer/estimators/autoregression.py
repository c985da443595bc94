"""Several series at once, each predicted from the past of all: nonlinear vector autoregression."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer._params import check_number
from mercer.estimators.forward_choice import FEWEST_FORWARD, forward_blocks
from mercer.estimators.lagged import LaggedRegressor, lag_rows
from mercer.estimators.output_metric import OutputMetric, read_metric
from mercer.estimators.series import read_series
from mercer.estimators.summary import SummarisedEstimator
from mercer.estimators.vector_valued import VectorValuedRegressor
from mercer.exceptions import DataError, parameter_error
from mercer.magnitudes import LARGEST_NUMBER

__all__ = ["VectorAutoRegressor"]

#: step of the differences of the Jacobian, in standard deviations, and rows of which the mean is taken
JACOBIAN_STEP, JACOBIAN_ROWS = 1e-3, 500
#: relative size of values that differ by rounding only
SAME_VALUE = 1e-12
#: what the prediction is where λ is large
TOWARD = ("mean", "last")


class VectorAutoRegressor(SummarisedEstimator):
    """Autoregression of several series: y_t = f(y_{t−1}, ..., y_{t−q}) + noise, f linear or not, in R^p.

    f is b + h, or y_{t−1} + b + h, with h in the space of an operator-valued kernel of the lagged values, fitted by
    :class:`VectorValuedRegressor`: with x_t = (y_{t−1}, ..., y_{t−q}) it minimises

        (1/n) Σ_t L(y_t − f(x_t)) + (λ/2)‖h‖².

    Forecasts iterate f; their bands come from paths with noise drawn from errors of predictions of later values.

    Parameters
    ----------
    order : int, default=1
        q, how many steps f looks back.
    kernel : Kernel, str, callable or OperatorValuedKernel, default=None
        Of x_t, whose columns are y_{t−1}, then y_{t−2}, and so on; taken as it is. By default ⟨x, z⟩ of standardised
        columns, or that plus 0.1 or 1 times a Gaussian, of length 2, 1 or 0.5 times the median distance,
        whichever predicts best.
    linear : bool, default=True
        Whether default kernels have the linear part; without it they are the Gaussians. To a kernel of yours
        add it by ``Linear() + kernel``.
    toward : {"auto", "mean", "last"}, default="auto"
        What f is drawn to by λ: "mean" is b, for series that return to a mean; "last" is y_{t−1} + b, a random walk
        with drift, for those that do not. "auto" is the one that predicts later values better.
    output_matrix : array-like of shape (p, p), "learned" or LearnedMatrix, default=None
        Γ of the kernel k·Γ, see :class:`VectorValuedRegressor`.
    alpha : float or "auto", default="auto"
        λ.
    criterion : {"forward", "leave_one_out"}, default="forward"
        What kernel and λ are chosen by, as far as they are automatic: errors of later values by ridge regression on
        all before them (five blocks of the last 60 %), or of single rows by all others, in closed form.
    loss, geometry :
        See :class:`VectorValuedRegressor`.
    metric : array-like of shape (p, p) or (p,), "increments", "variance" or None, default="increments"
        Q of the norm ‖r‖² = rᵀQ⁻¹r of residuals. "increments" are the mean squares of y_t − y_{t−1}, so that units of
        series do not matter and all have about the same say, trends or not.
    fit_intercept : bool, default=True
        Whether there is b ∈ R^p, a free one.
    solver, tol, max_iter, verbose :
        See :class:`VectorValuedRegressor`.

    Attributes
    ----------
    regressor_ : VectorValuedRegressor
        The regression, with its ``kernel_``, ``alpha_``, ``output_matrix_`` and certificate.
    centre_ : array of shape (p,)
        What lagged values are taken from: the means of the series where default kernels and an intercept make that
        a matter of rounding only, else 0.
    toward_ : {"mean", "last"}
        What f is drawn to.
    residuals_ : array of shape (n_predicted, p)
        y_t − f(x_t) of the last 60 % of the rows in five blocks, by fits to the rows before them with the kernel, λ and
        loss of the whole.
    forward_error_ : float
        Mean of ‖r‖² of these, in units of the metric.
    graph_ : array of shape (p, p)
        How strongly series j acts on series i one step later, see Notes.
    history_ : array of shape (order, p) or None
        The last values, from which ``forecast`` goes on; None after a fit to several series.
    n_features_in_, feature_names_in_
        p, and the names of the series where a data frame was given: the order of the columns of all that is returned.
    n_iter_ : int
        Iterations of the solver.

    See Also
    --------
    VectorValuedRegressor : The regression, with rows in no order.

    Notes
    -----
    *Graph.* G_ij² = mean_t Σ_l (∂f_i/∂y_{t−l,j}(x_t) · s_j/s_i)², by central differences, with s the standard
    deviations of the series: for a linear f of order 1 it is |A_ij|·s_j/s_i. It depends on no unit and is
    there for any kernel. It is a description of f, not a test: entries are seldom 0.

    *Choice.* Single rows that are left out lie between others; what is to be forecast does not, where series have
    trends. On twelve macroeconomic series, learned from 50 quarters and not refitted for 8, kernel and λ by errors of
    later values had a mean squared error of 1 060, by leave-one-out 3 358, least squares 4 609
    (``reproduce/series.py``). On stationary series the two criteria are about as good.

    *Several series of the same kind* are a list of arrays: f is common to them, and no row looks back beyond its own
    series. So gaps are bridged, too: pass the parts between them. Blocks then are made of rows by their
    relative place in each.

    *scikit-learn.* Rows are in the order of time, and X is y: the checks of ``check_estimator``, which permute rows and
    compare predictions row by row, do not apply. Parameters, clones, pickles and names of columns are as usual, and
    so is ``GridSearchCV(..., cv=TimeSeriesSplit())``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import VectorAutoRegressor
    >>> rng = np.random.default_rng(0)
    >>> Y = np.zeros((120, 2))
    >>> for t in range(1, 120):
    ...     Y[t] = [0.8 * Y[t - 1, 0], np.sin(2 * Y[t - 1, 0])] + 0.3 * rng.normal(size=2)
    >>> model = VectorAutoRegressor().fit(Y)
    >>> model.forecast(3).shape, model.forecast_band(3, coverage=0.9, random_state=0).shape
    ((3, 2), (3, 2, 2))
    >>> bool(model.graph_[1, 0] > 3 * model.graph_[0, 1])  # the first acts on the second
    True
    """

    def __init__(
        self,
        order=1,
        kernel=None,
        *,
        linear=True,
        toward="auto",
        output_matrix=None,
        alpha="auto",
        criterion="forward",
        loss="square",
        geometry=None,
        metric="increments",
        fit_intercept=True,
        solver="auto",
        tol=1e-4,
        max_iter=None,
        verbose=0,
    ):
        self.order = order
        self.kernel = kernel
        self.linear = linear
        self.toward = toward
        self.output_matrix = output_matrix
        self.alpha = alpha
        self.criterion = criterion
        self.loss = loss
        self.geometry = geometry
        self.metric = metric
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    # -- fitting -----------------------------------------------------------------------------------------------

    def fit(self, Y, y=None):
        """Fit the series.

        Parameters
        ----------
        Y : array-like or data frame of shape (T, p), or list of them
            Values at equal steps of time, the earliest first; one series may have shape (T,). The index of a data
            frame, if it is one of times or numbers, must rise.
        y : None
            Ignored.

        Returns
        -------
        self : VectorAutoRegressor
        """
        check_number(self, "order", self.order, low=1, strict=False, integer=True)
        if not (isinstance(self.toward, str) and self.toward in ("auto", *TOWARD)):
            raise parameter_error(self, "toward", self.toward, "'auto', 'mean' or 'last'")
        series, several = read_series(self, Y, reset=True, fewest=self.order + 1)
        X, targets = self._rows(series)
        if len(X) < FEWEST_FORWARD:
            raise DataError(
                f"{type(self).__name__}: with order={self.order} there are {len(X)} rows with a past, and a fit needs "
                f"{FEWEST_FORWARD}. Pass longer series, or a smaller order."
            )
        metric = self._metric(series)
        neutral = self.kernel is None and self.fit_intercept
        self.centre_ = np.vstack(series).mean(axis=0) if neutral else np.zeros(self.n_features_in_)
        candidates = TOWARD if self.toward == "auto" else (self.toward,)
        fits = [self._fit_toward(one, X, targets, metric) for one in candidates]
        self.toward_, self.regressor_, self.residuals_, self.forward_error_ = min(fits, key=lambda fit: fit[3])
        self.n_iter_ = self.regressor_.n_iter_
        self.history_ = None if several else series[0][-self.order :].copy()
        self.graph_ = self._graph(X, np.vstack(series).std(axis=0))
        return self

    def _rows(self, series: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return lagged rows and targets of all series, in the order of their relative place in each."""
        pairs = [lag_rows(one, self.order) for one in series]
        place = np.concatenate([np.arange(len(X)) / len(X) for X, _ in pairs])
        rows = np.argsort(place, kind="stable")
        return np.vstack([X for X, _ in pairs])[rows], np.vstack([targets for _, targets in pairs])[rows]

    def _metric(self, series: list[np.ndarray]) -> OutputMetric | None:
        given: Any = self.metric
        if isinstance(given, str) and given == "increments":
            given = np.mean(np.vstack([np.diff(one, axis=0) for one in series]) ** 2, axis=0)
            given = np.where(given > 0, given, 1.0)
        elif isinstance(given, str) and given != "variance":
            raise parameter_error(self, "metric", given, "an array, 'increments', 'variance' or None")
        return read_metric(self, given, np.vstack(series))

    def _fit_toward(self, toward: str, X: np.ndarray, targets: np.ndarray, metric: OutputMetric | None) -> tuple:
        """Return what f is drawn to, the regression, its residuals on later rows and their mean square."""
        own = {"order", "toward", "metric"}
        given = {name: value for name, value in self.get_params(deep=False).items() if name not in own}
        matrix = None if metric is None else metric.matrix
        Z = targets - X[:, : targets.shape[1]] if toward == "last" else targets
        inputs = self._centred(X)
        regressor = LaggedRegressor(metric=matrix, **given).fit(inputs, Z)
        residuals = _forward_residuals(regressor, inputs, Z)
        sizes = residuals if metric is None else metric.of_rows(residuals)
        return toward, regressor, residuals, float(np.mean(np.sum(sizes**2, axis=1)))

    def _centred(self, X: np.ndarray) -> np.ndarray:
        """Return lagged rows less the centre of the series."""
        return X - np.tile(self.centre_, self.order)

    def _graph(self, X: np.ndarray, deviation: np.ndarray) -> np.ndarray:
        """Return the root mean square of the derivatives of f in units of standard deviations."""
        p, few = len(deviation), np.unique(np.linspace(0, len(X) - 1, JACOBIAN_ROWS).round().astype(int))
        unit = np.where(deviation > 0, deviation, 1.0)
        squares = np.zeros((p, p))
        for column in range(X.shape[1]):
            shift = np.zeros(X.shape[1])
            shift[column] = JACOBIAN_STEP * unit[column % p]
            slopes = (self._next(X[few] + shift) - self._next(X[few] - shift)) / (2 * JACOBIAN_STEP)
            squares[:, column % p] += np.mean((slopes / unit) ** 2, axis=0)
        return np.sqrt(squares)

    # -- prediction --------------------------------------------------------------------------------------------

    def _next(self, X: np.ndarray) -> np.ndarray:
        """Return f of lagged rows, shape (n, p)."""
        values = self.regressor_.predict(self._centred(X))
        return values + X[:, : values.shape[1]] if self.toward_ == "last" else values

    def predict(self, Y):
        """Return predictions of each value from those before it, one step ahead.

        Parameters
        ----------
        Y : array-like or data frame of shape (T, p), or list of them

        Returns
        -------
        predicted : array of shape (T − order, p), or list of them
            Those of ``Y[order:]``: the first values have no past.
        """
        check_is_fitted(self)
        series, several = read_series(self, Y, reset=False, fewest=self.order + 1)
        predicted = [self._next(lag_rows(one, self.order)[0]) for one in series]
        return predicted if several else predicted[0]

    def score(self, Y, y=None):
        """Return R² of predictions one step ahead, of all series together.

        It is 1 − Σ_t‖y_t − f(x_t)‖² / Σ_t‖y_t − ȳ‖², over the values that have a past, with the norm of the metric of
        the fit. Series with a trend have a value near 1 whatever predicts them.
        """
        check_is_fitted(self)
        series, _ = read_series(self, Y, reset=False, fewest=self.order + 1)
        X, targets = self._rows(series)
        metric = self.regressor_.layout_.metric
        parts = targets - self._next(X), targets - targets.mean(axis=0), SAME_VALUE * targets
        error, variation, rounding = (
            float(np.sum((one if metric is None else metric.of_rows(one)) ** 2)) for one in parts
        )
        return 1 - error / variation if variation > rounding else float(error <= rounding)

    def forecast(self, steps, Y=None):
        """Return the values to come, f iterated.

        Parameters
        ----------
        steps : int
            How many.
        Y : array-like or data frame of shape (T, p), optional
            What they follow, ``order`` rows at least; the series of the fit by default.

        Returns
        -------
        values : array of shape (steps, p)
        """
        return self._paths(steps, self._start(Y), None)[0]

    def forecast_band(self, steps, coverage=0.9, Y=None, *, kind="pointwise", n_paths=500, random_state=None):
        """Return a band around the values to come, from paths with noise.

        Each path iterates f and adds a row of ``residuals_`` (centred, drawn with replacement, all series of one time
        together) at each step. What λ, kernel and coefficients would have been for other data is not in it.

        Parameters
        ----------
        steps : int
            How many.
        coverage : float, default=0.9
            Nominal coverage.
        Y : array-like or data frame of shape (T, p), optional
            What they follow, ``order`` rows at least; the series of the fit by default.
        kind : {"pointwise", "simultaneous"}, default="pointwise"
            Whether the coverage is that of each value by itself, between quantiles of the paths, or of all steps and
            series together: mean ± a multiple of the standard deviation of the paths that holds this share of them.
        n_paths : int, default=500
            Paths to draw.
        random_state : int, RandomState or None, default=None
            Draws them.

        Returns
        -------
        band : array of shape (steps, p, 2)
            Lower and upper ends.
        """
        check_number(self, "coverage", coverage, low=0, high=1, hint="Coverages are probabilities: 0.9, not 90.")
        check_number(self, "n_paths", n_paths, low=2, strict=False, integer=True)
        if kind not in ("pointwise", "simultaneous"):
            raise parameter_error(self, "kind", kind, "'pointwise' or 'simultaneous'")
        paths = self._paths(steps, np.repeat(self._start(Y), n_paths, axis=0), check_random_state(random_state))
        if kind == "pointwise":
            return np.moveaxis(np.quantile(paths, [(1 - coverage) / 2, (1 + coverage) / 2], axis=0), 0, 2)
        centre, deviation = paths.mean(axis=0), paths.std(axis=0)
        unit = np.where(deviation > 0, deviation, 1.0)
        factor = np.quantile(np.max(np.abs(paths - centre) / unit, axis=(1, 2)), coverage)
        return np.stack([centre - factor * deviation, centre + factor * deviation], axis=2)

    def _start(self, Y: Any) -> np.ndarray:
        """Return the lagged row that forecasts go on from, shape (1, order·p)."""
        check_is_fitted(self)
        if Y is None:
            if self.history_ is None:
                raise DataError(
                    f"{type(self).__name__}: the fit was to several series. Pass Y, the one that the forecast follows."
                )
            return self.history_[::-1].reshape(1, -1)
        series, several = read_series(self, Y, reset=False, fewest=self.order)
        if several:
            raise DataError(f"{type(self).__name__}: a forecast follows one series; call it for each.")
        return series[0][-self.order :][::-1].reshape(1, -1)

    def _paths(self, steps: int, state: np.ndarray, random_state: Any) -> np.ndarray:
        """Return what follows from lagged rows, with noise or without (no random state), shape (n, steps, p)."""
        check_number(self, "steps", steps, low=1, strict=False, integer=True)
        noise = self.residuals_ - self.residuals_.mean(axis=0)
        paths = np.empty((len(state), steps, self.n_features_in_))
        with np.errstate(over="ignore", invalid="ignore"):
            for step in range(steps):
                values = self._next(state)
                if random_state is not None:
                    values = values + noise[random_state.randint(len(noise), size=len(state))]
                paths[:, step] = values
                state = np.hstack([values, state[:, : -self.n_features_in_]])
                if not np.all(np.abs(values) < LARGEST_NUMBER):
                    raise DataError(
                        f"{type(self).__name__}: the iterated prediction explodes at step {step + 1}. Take fewer "
                        "steps, a larger alpha, or linear=False, whose predictions are bounded with toward='mean'."
                    )
        return paths


def _forward_residuals(regressor: LaggedRegressor, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Return residuals of later rows by fits to all before them, with what was chosen for the whole.

    n' of n rows are fitted with λn/n', as where λ is chosen.
    """
    given = {name: getattr(regressor, name) for name in ("fit_intercept", "solver", "tol", "max_iter")}
    residuals = []
    for train, test in forward_blocks(len(X)):
        part = VectorValuedRegressor(
            regressor.kernel_,
            output_matrix=None if regressor._whole else regressor.output_matrix_,
            alpha=regressor.alpha_ * (len(X) / len(train)),
            loss=regressor.loss_,
            metric=regressor.metric_,
            **given,
        ).fit(X[train], Z[train])
        residuals.append(Z[test] - part.predict(X[test]))
    return np.vstack(residuals)
