"""What a quantile fit predicts: functions of the level that are evaluated, sorted, inverted and sampled."""

from __future__ import annotations

from typing import Any

import array_api_compat as compat
import numpy as np

from mercer._params import check_number, read_numbers
from mercer.backend import as_like, clip, device, holds, namespace, to_numpy
from mercer.exceptions import DataError, parameter_error

__all__ = ["QuantileFunction", "check_levels"]


def check_levels(
    owner: object,
    levels: Any,
    name: str = "levels",
    hint: str = "Levels are probabilities: 0.9, not 90. The 0 and 1 quantiles are not estimable.",
) -> np.ndarray:
    """Return levels as a one-dimensional float array, or refuse what is not in (0, 1)."""
    try:
        array = np.atleast_1d(read_numbers(to_numpy(levels)))
    except (TypeError, ValueError, OverflowError) as error:
        raise parameter_error(owner, name, levels, "numbers in (0, 1)") from error
    if array.ndim != 1 or array.size == 0 or not np.all((array > 0) & (array < 1)):
        raise parameter_error(
            owner,
            name,
            levels,
            "a number or a non-empty one-dimensional array of numbers in the open interval (0, 1)",
            hint,
        )
    return array


class QuantileFunction:
    """n quantile functions, piecewise linear through values on a grid of levels, constant beyond its ends.

    Beyond the outer levels θ_1 and θ_m nothing was learned, and nothing is extrapolated: Q(θ) = Q(θ_1) below and
    Q(θ_m) above. The distribution that goes with it has atoms of mass θ_1 and 1 − θ_m there. All of mean, cdf, interval
    and samples speak of this one distribution.

    Parameters
    ----------
    levels : array of shape (g,)
        Strictly increasing, in (0, 1).
    values : array of shape (n, g)
        Q_i(levels_j).

    Examples
    --------
    >>> Q = QuantileFunction(np.array([0.25, 0.75]), np.array([[0.0, 2.0]]))
    >>> Q([0.1, 0.5, 0.9])
    array([[0., 1., 2.]])
    >>> Q.cdf(np.array([1.0])), Q.mean()
    (array([0.5]), array([1.]))
    """

    def __init__(self, levels: Any, values: Any) -> None:
        self.levels = _numbers("levels", levels)
        values = values if compat.is_array_api_obj(values) else _numbers("values", values)
        inside = self.levels.size > 0 and np.all((self.levels >= 0) & (self.levels <= 1))
        if self.levels.ndim != 1 or not inside or np.any(np.diff(self.levels) <= 0):
            raise DataError("QuantileFunction: levels must be strictly increasing probabilities, at least one.")
        if values.ndim != 2 or values.shape[1] != len(self.levels):
            raise DataError(
                f"QuantileFunction: values must have shape (n, {len(self.levels)}); got {tuple(values.shape)}."
            )
        self.values = values

    def __len__(self) -> int:
        return int(self.values.shape[0])

    def __call__(self, levels: Any) -> Any:
        """Return Q_i(θ) for all functions and levels, shape (n, len(levels)).

        Where the values of a function rise, so does what is returned, to the last digit.
        """
        xp = namespace(self.values)
        left, right, share = self._cells(check_levels(self, levels))
        low, high = (xp.take(self.values, self._index(index), axis=1) for index in (left, right))
        return _between(low, high, as_like(share, self.values))

    def _cells(self, levels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the neighbours of levels on the grid and the share of the way between them; beyond its ends 0 or 1."""
        grid = self.levels
        right = np.clip(np.searchsorted(grid, levels), min(1, len(grid) - 1), len(grid) - 1)
        left = np.maximum(right - 1, 0)
        width = np.where(right > left, grid[right] - grid[left], 1.0)
        return left, right, np.clip((levels - grid[left]) / width, 0, 1)

    def _index(self, index: np.ndarray) -> Any:
        return namespace(self.values).asarray(index, device=device(self.values))

    @property
    def crossing(self) -> Any:
        """Mean over neighbouring levels of (Q(θ_j) − Q(θ_{j+1}))₊ for each function: 0 for a quantile function."""
        xp = namespace(self.values)
        if len(self.levels) == 1:
            return xp.zeros_like(self.values[:, 0])
        fall = self.values[:, :-1] - self.values[:, 1:]
        return xp.mean(xp.where(fall > 0, fall, xp.zeros_like(fall)), axis=1)

    def rearranged(self) -> QuantileFunction:
        """Return the increasing rearrangement: the values of each function, sorted.

        It is never further from the true quantile function than the original, in any L^p norm over the grid
        (Chernozhukov, Fernández-Val and Galichon, 2010).
        """
        return QuantileFunction(self.levels, namespace(self.values).sort(self.values, axis=1))

    def mean(self) -> Any:
        """Return ∫₀¹ Q_i(θ) dθ, shape (n,)."""
        weights = np.zeros(len(self.levels))
        half = np.diff(self.levels) / 2
        weights[:-1] += half
        weights[1:] += half
        weights[0] += self.levels[0]
        weights[-1] += 1 - self.levels[-1]
        xp = namespace(self.values)
        mean = self.values @ as_like(weights, self.values)
        # the weights sum to 1 but for rounding
        return clip(mean, xp.min(self.values, axis=1), xp.max(self.values, axis=1))

    def interval(self, coverage: float) -> Any:
        """Return the central interval [Q((1 − c)/2), Q((1 + c)/2)], shape (n, 2)."""
        check_number(self, "coverage", coverage, low=0, high=1, hint="It is a probability: 0.9, not 90.")
        return self([(1 - coverage) / 2, (1 + coverage) / 2])

    def cdf(self, y: Any) -> Any:
        """Return F_i(y) = |{θ: Q_i(θ) ≤ y}|.

        Parameters
        ----------
        y : float or array of shape (n,) or (n, k)
            One number for all functions, one or k numbers for each of them.

        Returns
        -------
        array of shape (n,) for a number or y of shape (n,), (n, k) for y of shape (n, k)
        """
        xp = namespace(self.values)
        try:
            y = as_like(y, self.values)
        except (TypeError, ValueError, OverflowError) as error:
            raise DataError(f"QuantileFunction.cdf: y must hold numbers; got {y!r}.") from error
        if y.ndim == 0:
            y = xp.broadcast_to(y, (len(self),))
        flat = y[:, None] if y.ndim == 1 else y
        if flat.ndim != 2 or flat.shape[0] != len(self):
            raise DataError(
                f"QuantileFunction.cdf: y must have {len(self)} rows, one for each function; got shape "
                f"{tuple(y.shape)}. Pass a number, or an array of shape ({len(self)},) or ({len(self)}, k)."
            )
        if holds(xp.any(xp.isnan(flat)), unknown=False):
            raise DataError("QuantileFunction.cdf: y must not contain NaN.")
        columns = [_cdf(self.values, self.levels, flat[:, j : j + 1]) for j in range(flat.shape[1])]
        answer = xp.stack(columns, axis=1) if columns else xp.zeros_like(flat)
        return answer[:, 0] if y.ndim == 1 else answer

    def sample(self, size: int = 1, rng: Any = None) -> Any:
        """Return independent draws Q_i(U), U uniform on (0, 1), shape (n, size)."""
        check_number(self, "size", size, low=0, strict=False, integer=True)
        try:
            generator = np.random.default_rng(rng)
        except (TypeError, ValueError, OverflowError) as error:
            raise parameter_error(self, "rng", rng, "None, a seed or a numpy.random.Generator") from error
        xp = namespace(self.values)
        uniform = generator.random((len(self), int(size)))
        left, right, share = self._cells(uniform)
        low, high = (xp.take_along_axis(self.values, self._index(index), axis=1) for index in (left, right))
        return _between(low, high, as_like(share, self.values))


def _numbers(name: str, values: Any) -> np.ndarray:
    """Return a sequence of numbers as an array of floats."""
    try:
        return np.asarray(to_numpy(values), dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"QuantileFunction: {name} must be numbers: {error}.") from error


def _between(low: Any, high: Any, share: Any) -> Any:
    """Return the values that a share of the way from low to high has, monotone in the share in floating point.

    low + share·(high − low) is, as each operation rounds monotonically, but for a last step beyond its end.
    """
    xp = namespace(low)
    values = xp.where(share == 1, high, low + share * (high - low))
    return clip(values, xp.minimum(low, high), xp.maximum(low, high))


def _cdf(values: Any, levels: np.ndarray, y: Any) -> Any:
    """Return |{θ: Q_i(θ) ≤ y_i}|: the shares of the cells in which Q_i is below y_i, and the atoms at the ends.

    This is the definition, so that it holds for a Q that crosses, too. ``y`` has shape (n, 1).
    """
    xp = namespace(values)
    start, stop = values[:, :-1], values[:, 1:]
    low, high = xp.where(start < stop, start, stop), xp.where(start < stop, stop, start)
    width = xp.where(high > low, high - low, xp.ones_like(low))
    with np.errstate(over="ignore"):  # y is far beyond a narrow cell
        share = clip((y - low) / width, 0.0, 1.0)
    share = xp.where(high <= y, xp.ones_like(low), share)
    share = xp.where(low > y, xp.zeros_like(low), share)
    lengths = np.concatenate([levels[:1], np.diff(levels), 1 - levels[-1:]])
    atoms = xp.astype(values <= y, share.dtype)
    shares = xp.concat([atoms[:, :1], share, atoms[:, -1:]], axis=1)
    answer = xp.sum(shares * as_like(lengths, share), axis=1)  # in one order: rounding cannot make it fall in y
    return clip(answer, 0.0, 1.0)
