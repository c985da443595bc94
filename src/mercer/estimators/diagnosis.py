"""What a fit says of its own curves: residuals, curves left out, leverage, and which ones stand out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.backend import as_like, to_numpy
from mercer.estimators.conversion import open_curves
from mercer.estimators.outlying import outlying_curves
from mercer.estimators.outputs import Outputs
from mercer.estimators.read_outputs import read_outputs
from mercer.estimators.sample import Sample
from mercer.estimators.smooth_mean import SmoothMean
from mercer.estimators.validation import take_columns, take_rows, validate_weight
from mercer.exceptions import DataError, UnsupportedError
from mercer.losses import Huber, Square
from mercer.solvers import RidgePath

__all__ = ["CurveDiagnosis", "diagnose_curves"]

#: residuals of the ridge regression in closed form and of the model must agree to this share of the curves
SAME_FIT = 0.02
#: κ for a loss of points, which keeps a basis at the nodes; nothing is fitted with it
AT_NODES = Huber(1.0, geometry="pointwise")


@dataclass(frozen=True, eq=False)
class CurveDiagnosis:
    """What a fitted model says of the curves that it was fitted to; ``model.diagnose(X, y)`` makes it.

    Curves have the shape in which they were given, (n, m) or (n, m, p), NaN where nothing was observed (but for
    ``fitted`` and ``left_out``); curves at points of their own are lists of arrays. Norms are those of L²(μ).

    Attributes
    ----------
    fitted : array or list
        f(x_i), f the fitted model.
    residuals : array or list
        y_i − f(x_i).
    norms : array of shape (n,)
        ‖y_i − f(x_i)‖ over what was observed.
    outlying : array of bool of shape (n,)
        Whose residual curve is too large for the rest, as ``outlying_`` of the model, but for rows of weight 0.
    r2 : array of shape (m,) or (m, p)
        R²(θ) = 1 − Σ_i s_i (y_i − f(x_i))²(θ) / Σ_i s_i (y_i − ȳ)²(θ), over observed values; NaN where y is constant.
    left_out : array
        f_{−i}(x_i), the i-th curve predicted by a fit to the others, in closed form: kernels, λn, b and, for Huber's
        loss, the weights of the other curves (see Notes) are kept.
    r2_left_out : array of shape (m,) or (m, p)
        R²(θ) with f_{−i} instead of f.
    leverage : array of shape (n,)
        tr(∂f(x_i)/∂y_i), how many degrees of freedom the fit spends on a curve; their sum is that of the fit.
    influence : array of shape (n,)
        ‖f(x_i) − f_{−i}(x_i)‖, how far the curve at x_i moves where the i-th curve is left out.

    Notes
    -----
    The last four are in closed form, for the square loss on a complete grid, and for Huber's loss of norms: there the
    fit is a ridge regression with the weights min(1, κ/‖y_i − f(x_i)‖), of which they are exact; the weights of
    the other curves would move a little where one is left out, so that it is an approximation to leaving it out.
    Elsewhere asking for them is refused, with a remedy.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import FunctionalRegressor
    >>> rng = np.random.default_rng(0)
    >>> X, grid = rng.uniform(size=(60, 1)), np.linspace(0, 1, 25)
    >>> Y = np.sin(2 * np.pi * (grid + X)) + 0.1 * rng.normal(size=(60, 25))
    >>> diagnosis = FunctionalRegressor(grid=grid).fit(X, Y).diagnose(X, Y)
    >>> diagnosis.r2.shape, bool(np.all(diagnosis.r2_left_out < diagnosis.r2))
    ((25,), True)
    >>> bool(abs(np.mean(diagnosis.residuals) < 0.01)), int(diagnosis.outlying.sum())
    (True, 0)
    """

    _outputs: Outputs
    _values: np.ndarray
    _weight: np.ndarray
    _closed_form: tuple[np.ndarray, np.ndarray] | str

    @property
    def fitted(self) -> Any:
        return self._as_given(self._values)

    @property
    def residuals(self) -> Any:
        return self._as_given(self._residuals)

    @property
    def norms(self) -> np.ndarray:
        return self._outputs.norms(self._residuals)

    @cached_property
    def outlying(self) -> np.ndarray:
        return outlying_curves(self._outputs, self._residuals, self._weight)

    @property
    def r2(self) -> np.ndarray:
        return self._r2(self._residuals)

    @property
    def left_out(self) -> np.ndarray:
        return self._as_given(self._found()[0])

    @property
    def r2_left_out(self) -> np.ndarray:
        return self._r2(to_numpy(self._outputs.values) - self._found()[0])

    @property
    def leverage(self) -> np.ndarray:
        return self._found()[1]

    @property
    def influence(self) -> np.ndarray:
        return self._outputs.norms(self._values - self._found()[0])

    @property
    def _residuals(self) -> np.ndarray:
        return to_numpy(self._outputs.values) - self._values

    def _found(self) -> tuple[np.ndarray, np.ndarray]:
        if isinstance(self._closed_form, str):
            raise UnsupportedError(self._closed_form)
        return self._closed_form

    def _as_given(self, values: np.ndarray) -> Any:
        """Return values in the layout of the outputs as the curves were given."""
        curves = self._outputs.with_values(values).as_given()
        return curves if self._outputs.on_grid else [part[1] for part in curves]

    def _r2(self, residuals: np.ndarray) -> np.ndarray:
        if not self._outputs.on_grid:
            raise UnsupportedError(
                "CurveDiagnosis: R²(θ) needs curves on a common grid; at points of their own no two values are at one "
                "θ. score() of the model is the integrated R²."
            )
        values, s = to_numpy(self._outputs.values), self._weight[:, None]
        mean = self._outputs.mean(self._weight)
        error, total = (np.nansum(s * part**2, axis=0) for part in (residuals, values - mean))
        known = total > (8 * np.finfo(float).eps) ** 2 * np.nansum(s * values**2, axis=0)
        r2 = np.where(known, 1 - error / np.where(known, total, 1.0), np.nan)
        return r2.reshape(-1, self._outputs.n_components) if self._outputs.n_dims == 3 else r2


def diagnose_curves(model: Any, X: Any, y: Any, sample_weight: Any = None) -> CurveDiagnosis:
    """Return the diagnosis of a fitted model of curves from the data that it was fitted to."""
    check_is_fitted(model)
    X = model._validated(X, "diagnose")
    y, grid, _ = open_curves(model, y, model.grid)
    outputs = read_outputs(model, y, grid, X)
    model._check_lengths(X, outputs)
    weight = np.ones(len(outputs)) if sample_weight is None else validate_weight(sample_weight, to_numpy(X))
    fitted = to_numpy(outputs.values) - outputs.residuals(model._evaluate, X)
    if outputs.on_grid:  # where nothing was observed, too
        fitted = to_numpy(model._evaluate(X, to_numpy(outputs.measure.points)))
    why = _refusal(model, outputs)
    return CurveDiagnosis(outputs, fitted, weight, why or _left_out(model, X, outputs, weight, fitted))


def _refusal(model: Any, outputs: Outputs) -> str:
    """Return why there is no closed form, and what to do; nothing where there is one."""
    remedy = "sklearn.model_selection.cross_val_predict(model, X, y) leaves curves out by folds."
    loss = model.loss_
    if not (isinstance(loss, Square) or (isinstance(loss, Huber) and loss.compares == "norm")):
        return (
            "CurveDiagnosis: curves left out, leverage and influence are in closed form for the square loss, and for "
            f"Huber's loss of norms; the model has {loss!r}. {remedy}"
        )
    if not outputs.complete:
        return (
            "CurveDiagnosis: curves left out, leverage and influence are in closed form on a complete grid; here values"
            f" are missing, or curves have points of their own. {remedy}"
        )
    return ""


def _left_out(
    model: Any, X: Any, outputs: Outputs, weight: np.ndarray, fitted: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return f_{−i}(x_i), (n, m·p), and the leverages (n,); rows of weight 0 are left out anyway."""
    rows = np.flatnonzero(weight > 0)
    trust = weight[rows]
    if isinstance(model.loss_, Huber):
        sizes = outputs.norms(to_numpy(outputs.values) - fitted)[rows]
        trust = trust * (model.loss_.kappa / np.maximum(sizes, model.loss_.kappa))
    alpha = model.alpha_ * weight[rows].mean() / trust.mean()  # a mean over curves is one over less than all of them
    sample = _fitted_sample(model, X, outputs, rows, trust)
    kernel = model.kernel_ if model.approximation_ is None else model.approximation_.kernel
    bound = sample.bind(kernel, model.output_kernel_, AT_NODES)
    path = RidgePath(sample.pose(bound, Square(), alpha), [alpha])
    here = to_numpy(outputs.values)[rows] - fitted[rows]
    unit = np.sqrt(np.mean(to_numpy(outputs.values) ** 2))
    if np.max(np.abs(to_numpy(path.coef(alpha)) - here)) > SAME_FIT * unit:
        raise DataError(
            f"{type(model).__name__}: these are not the curves, inputs and weights that the model was fitted to, of "
            "which alone it has left-out curves. For others, compare predict(X) with them."
        )
    centre = to_numpy(outputs.values)[rows] - to_numpy(sample.outputs.values)
    left_out, leverage = fitted.copy(), np.zeros(len(outputs))
    left_out[rows] = to_numpy(path.leave_one_out_predictions(alpha)) + centre
    leverage[rows] = path.leverages(alpha)
    return left_out, leverage


def _fitted_sample(model: Any, X: Any, outputs: Outputs, rows: np.ndarray, weight: np.ndarray) -> Sample:
    """Return the rows with these weights, without the mean curve of the model, as its problem was posed."""
    X, outputs = take_rows(X, rows), outputs.take(rows)
    if model.columns_ is not None and X.shape[1] != len(rows):
        X = take_columns(X, rows)
    free, scale = model._mean_curve(outputs)
    sample = Sample(X, outputs, as_like(weight, X), model._matrix(outputs), None, free, scale)
    mean = model.intercept_function_
    return replace(sample, outputs=outputs.without(mean)) if isinstance(mean, SmoothMean) else sample.centred()[1]
