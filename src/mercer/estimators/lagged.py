"""A regression of vectors on rows in the order of time, which are values of the same series some steps before."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.backend import to_numpy
from mercer.estimators.forward_choice import choose_forward
from mercer.estimators.sample import Sample
from mercer.estimators.smoothness import default_kernels
from mercer.estimators.vector_valued import VectorValuedRegressor
from mercer.exceptions import parameter_error
from mercer.kernels import Kernel, Linear, Projected

__all__ = ["LaggedRegressor", "lag_rows"]

#: lengths of the Gaussians of lagged values, in units of the median distance, and their shares beside a linear part
LAG_LENGTHS, LAG_SHARES = (2.0, 1.0, 0.5), (0.1, 1.0)


def lag_rows(series: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (y_{t−1}, ..., y_{t−q}) side by side, and y_t, for t from the order q on.

    Examples
    --------
    >>> import numpy as np
    >>> lag_rows(np.array([[1.0], [2.0], [3.0], [4.0]]), 2)[0]
    array([[2., 1.],
           [3., 2.]])
    """
    n = len(series) - order
    return np.hstack([series[order - lag : order - lag + n] for lag in range(1, order + 1)]), series[order:]


class LaggedRegressor(VectorValuedRegressor):
    """A :class:`VectorValuedRegressor` of rows in the order of time, with a linear part by default.

    Parameters
    ----------
    kernel, output_matrix, alpha, loss, geometry, metric, fit_intercept, solver, tol, max_iter, verbose
        As those of :class:`VectorValuedRegressor`.
    linear : bool, default=True
        Whether default kernels have a linear part.
    criterion : {"forward", "leave_one_out"}, default="forward"
        What kernel and λ are chosen by.
    """

    _no_stream = "rows in the order of time come with their history. Fit the series so far anew."

    def __init__(
        self,
        kernel=None,
        *,
        linear=True,
        criterion="forward",
        output_matrix=None,
        alpha="auto",
        loss="square",
        geometry=None,
        metric=None,
        fit_intercept=True,
        solver="auto",
        tol=1e-4,
        max_iter=None,
        verbose=0,
    ):
        super().__init__(
            kernel,
            output_matrix=output_matrix,
            alpha=alpha,
            loss=loss,
            geometry=geometry,
            metric=metric,
            fit_intercept=fit_intercept,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            verbose=verbose,
        )
        self.linear = linear
        self.criterion = criterion

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.criterion not in ("forward", "leave_one_out"):
            raise parameter_error(self, "criterion", self.criterion, "'forward' or 'leave_one_out'")

    def _default_kernels(self, X: Any) -> list[Kernel]:
        gaussians = default_kernels(X, LAG_LENGTHS)
        if not self.linear:
            return gaussians
        deviation = to_numpy(X).std(axis=0)
        scales = np.divide(1.0, deviation, out=np.zeros(len(deviation)), where=deviation > 0)
        linear = Projected(Linear(), np.diag(scales / np.sqrt(len(scales))))
        return [linear, *(linear + share * gaussian for share in LAG_SHARES for gaussian in gaussians)]

    def _distinct(self, sample: Sample) -> Sample:
        return sample  # what comes again, such as a cycle, is predicted from when it was there before

    def _learns(self, sample: Sample) -> bool:
        return False

    def _ridge_choice(self, sample, kernels, output_kernels, alpha, loss, learn, families):
        if self.criterion == "leave_one_out":
            return super()._ridge_choice(sample, kernels, output_kernels, alpha, loss, learn, families)
        return choose_forward(sample, kernels, output_kernels, alpha, loss)
