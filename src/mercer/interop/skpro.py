"""Quantile fits as probabilistic regressors of skpro, with its distributions, scores, pipelines and searches.

It is imported by name, ``from mercer.interop.skpro import QuantileProbaRegressor``, and needs skpro: ``pip install
"mercer[skpro]"``.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.base import clone
from skpro.distributions.base import BaseDistribution
from skpro.regression.base import BaseProbaRegressor

from mercer.estimators import ConformalQuantileRegressor, KernelQuantileRegressor
from mercer.quantile_function import QuantileFunction

__all__ = ["QuantileDistribution", "QuantileProbaRegressor"]


class QuantileDistribution(BaseDistribution):
    """Distributions with quantile functions that are straight between levels, and atoms at the outer ones.

    What :class:`~mercer.QuantileFunction` is, for skpro: beyond its outer levels nothing was learned, and what is left
    of the probability lies at their values. Mean, variance, cdf, quantiles and energies, hence the continuous
    ranked probability score, are exact for these distributions, and not approximated by samples. The density has no
    atoms: its integral is what lies between the outer levels.

    Parameters
    ----------
    levels : sequence of float, of length g
        Strictly increasing, in (0, 1).
    values : array of shape (n, g), or (g,) for one distribution without rows
        Quantiles, rising along the rows.
    index : pandas.Index of length n, optional
        Of the rows.
    columns : pandas.Index of length 1, optional
        The name of the target.

    Examples
    --------
    >>> from mercer.interop.skpro import QuantileDistribution
    >>> one = QuantileDistribution([0.25, 0.75], [0.0, 2.0])
    >>> float(one.mean()), float(one.cdf(1.0)), float(one.ppf(0.5))
    (1.0, 0.5, 1.0)
    """

    _tags: ClassVar[dict[str, Any]] = {
        "authors": ["mercer"],
        "capabilities:approx": ["pdfnorm"],
        "capabilities:exact": ["mean", "var", "energy", "pdf", "log_pdf", "cdf", "ppf"],
        "distr:measuretype": "mixed",
        "distr:paramtype": "nonparametric",
        "broadcast_init": "off",
    }

    def __init__(self, levels, values, index=None, columns=None):
        self.levels = levels
        self.values = values
        if np.ndim(values) == 2:
            index = pd.RangeIndex(len(values)) if index is None else index
            columns = pd.RangeIndex(1) if columns is None else columns
        super().__init__(index=index, columns=columns)

    @property
    def _function(self) -> QuantileFunction:
        return QuantileFunction(self.levels, np.atleast_2d(np.asarray(self.values, dtype=float)))

    def _shaped(self, values: np.ndarray) -> Any:
        """Return one number for each row in the shape of the distribution."""
        return np.reshape(values, self.shape)

    def _iloc(self, rowidx=None, colidx=None):
        if np.ndim(rowidx) == 0 and rowidx is not None and np.ndim(colidx) == 0 and colidx is not None:
            return self._iat(rowidx, colidx)
        rows = slice(None) if rowidx is None else np.atleast_1d(rowidx)
        columns = slice(None) if colidx is None else np.atleast_1d(colidx)
        values = np.asarray(self.values)[rows]
        return QuantileDistribution(self.levels, values, self.index[rows], self.columns[columns])

    def _iat(self, rowidx=None, colidx=None):
        return QuantileDistribution(self.levels, np.asarray(self.values)[rowidx])

    def _ppf(self, p):
        Q, levels = self._function, np.asarray(self.levels, dtype=float)
        rows = zip(np.ravel(p), Q.values, strict=True)
        return self._shaped(np.array([np.interp(q, levels, row) for q, row in rows]))

    def _cdf(self, x):
        return self._shaped(self._function.cdf(np.ravel(x)))

    def _pdf(self, x):
        Q, x = self._function, np.reshape(x, (-1, 1))
        low, width, mass = Q.values[:, :-1], np.diff(Q.values, axis=1), np.diff(Q.levels)
        inside = (low <= x) & (x < Q.values[:, 1:])
        return self._shaped(np.sum(np.where(inside, mass / np.where(inside, width, 1.0), 0.0), axis=1))

    def _log_pdf(self, x):
        with np.errstate(divide="ignore"):
            return np.log(self._pdf(x))

    def _mean(self):
        return self._shaped(self._function.mean())

    def _var(self):
        Q = self._function
        centred = Q.values - Q.mean()[:, None]
        return self._shaped(_integral(Q.levels, centred, lambda low, high: (low**2 + low * high + high**2) / 3))

    def _energy_self(self):
        # E|X − X'| = 2 ∫ (2θ − 1) Q(θ) dθ, exact by Simpson's rule in each cell
        Q, weights = self._function, np.zeros(len(self.levels))
        left, right = Q.levels[:-1], Q.levels[1:]
        weights[:-1] += (right - left) * ((2 * left - 1) + 2 * (left + right - 1)) / 6
        weights[1:] += (right - left) * ((2 * right - 1) + 2 * (left + right - 1)) / 6
        weights[0] += Q.levels[0] * (Q.levels[0] - 1)
        weights[-1] += Q.levels[-1] * (1 - Q.levels[-1])
        return np.maximum(self._energy(2 * Q.values @ weights), 0.0)

    def _energy_x(self, x):
        Q = self._function
        return self._energy(_integral(Q.levels, Q.values - np.reshape(x, (-1, 1)), _mean_size))

    def _energy(self, values: np.ndarray) -> Any:
        return values[:, None] if self.ndim else values[0]

    @classmethod
    def get_test_params(cls, parameter_set="default"):
        """Return parameters of distributions that skpro tests."""
        table = {
            "levels": [0.1, 0.5, 0.9],
            "values": np.array([[0.0, 1.0, 3.0], [-1.0, 0.0, 0.5], [2.0, 2.5, 4.0]]),
            "index": pd.RangeIndex(3),
            "columns": pd.Index(["a"]),
        }
        return [table, {"levels": [0.25, 0.75], "values": [0.0, 2.0]}]


def _integral(levels: np.ndarray, values: np.ndarray, cell: Any) -> np.ndarray:
    """Return ∫₀¹ of a function of Q(θ), given its mean over straight pieces from low to high."""
    inner = cell(values[:, :-1], values[:, 1:]) @ np.diff(levels)
    ends = [cell(values[:, k], values[:, k]) for k in (0, -1)]
    return inner + levels[0] * ends[0] + (1 - levels[-1]) * ends[1]


def _mean_size(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the mean of |u| over u from low to high."""
    crossing = (low < 0) & (high > 0)
    width = np.where(crossing, high - low, 1.0)
    return np.where(crossing, (low**2 + high**2) / (2 * width), np.abs(low + high) / 2)


class QuantileProbaRegressor(BaseProbaRegressor):
    """Every quantile of a number, as a probabilistic regressor of skpro.

    Parameters
    ----------
    estimator : estimator, optional
        What is fitted: any estimator with ``predict_function``, :class:`~mercer.KernelQuantileRegressor` (the default),
        its ``CV`` or :class:`~mercer.ConformalQuantileRegressor`.

    Attributes
    ----------
    estimator_ : estimator
        Fitted, with its certificate and all else that mercer knows of the fit.

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer.datasets import make_sine
    >>> from mercer.interop.skpro import QuantileProbaRegressor
    >>> X, y = make_sine(60, random_state=0)
    >>> X, y = pd.DataFrame({"x": X[:, 0]}), pd.DataFrame({"y": y})
    >>> model = QuantileProbaRegressor().fit(X, y)
    >>> model.predict_proba(X[:2]).cdf(y[:2]).shape
    (2, 1)
    """

    _tags: ClassVar[dict[str, Any]] = {
        "authors": ["mercer"],
        "capability:multioutput": False,
        "capability:missing": True,
    }

    def __init__(self, estimator=None):
        self.estimator = estimator
        super().__init__()

    def _fit(self, X, y):
        model = KernelQuantileRegressor() if self.estimator is None else clone(self.estimator)
        self.target_columns_ = y.columns
        self.estimator_ = model.fit(_named(X), y.iloc[:, 0].to_numpy(dtype=float))
        return self

    def _predict(self, X):
        values = np.asarray(self.estimator_.predict_function(_named(X)).mean())
        return pd.DataFrame(values[:, None], index=X.index, columns=self.target_columns_)

    def _predict_quantiles(self, X, alpha):
        names = pd.MultiIndex.from_product([self._get_varnames(), alpha])
        values = self.estimator_.predict_function(_named(X)).rearranged()(alpha)
        return pd.DataFrame(np.asarray(values), index=X.index, columns=names)

    def _predict_proba(self, X):
        Q = self.estimator_.predict_function(_named(X)).rearranged()
        return QuantileDistribution(Q.levels, np.asarray(Q.values), X.index, self.target_columns_)

    @classmethod
    def get_test_params(cls, parameter_set="default"):
        """Return parameters of regressors that skpro tests."""
        plain = KernelQuantileRegressor("gaussian", alpha=0.1)
        return [{"estimator": plain}, {"estimator": ConformalQuantileRegressor(plain, random_state=0)}, {}]


def _named(X: pd.DataFrame) -> pd.DataFrame:
    """Return a data frame whose columns have texts as names, as scikit-learn wants them."""
    return X.set_axis([str(name) for name in X.columns], axis=1)
