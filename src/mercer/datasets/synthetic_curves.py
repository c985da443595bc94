"""Synthetic curves that depend on curves, and what goes wrong with observed ones: outliers and holes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from mercer._params import check_number
from mercer.exceptions import DataError, parameter_error
from mercer.kernels import Gaussian
from mercer.measures import Grid

__all__ = ["CurveData", "contaminate_curves", "drop_observations", "make_curves"]

#: length scales of the Gaussian processes, taken in turn: those of the data, and those of outliers that are foreign
LENGTH_SCALES = (0.05, 0.1, 0.5, 0.7)
FOREIGN_LENGTH_SCALES = (0.01, 0.1, 1.0, 4.0)

CONTAMINATIONS = ("global", "foreign", "local")
#: the share of curves that each of them touches, unless told
CONTAMINATED_SHARES = {"global": 0.1, "foreign": 0.1, "local": 0.5}


class CurveData(NamedTuple):
    """Input and output curves of :func:`make_curves`, the grids of both, and the outputs without noise."""

    X: np.ndarray
    """Input functions as rows, (n_samples, len(x_grid))."""
    Y: np.ndarray
    """Output functions as rows, (n_samples, len(grid))."""
    x_grid: np.ndarray
    """Points of the input functions in [0, 1]."""
    grid: np.ndarray
    """Points of the output functions in [0, 1]."""
    noiseless: np.ndarray
    """Output functions before noise was added, as ``Y``."""


def make_curves(
    n_samples: int = 250,
    n_points: int = 70,
    *,
    n_input_points: int | None = None,
    n_components: int = 4,
    noise: float = 0.1,
    random_state: Any = None,
) -> CurveData:
    """Return input and output curves that share their coefficients on two sets of random functions.

    x_i = Σ_l c_il f_l  and  y_i = Σ_l c_il g_l + noise,  c_il uniform on [−2, 2],

    with fixed draws f_1, …, f_r and g_1, …, g_r of centred Gaussian processes on [0, 1], whose covariances
    exp(−(s − t)²/(2ℓ²)) have the length scales ℓ = 0.05, 0.1, 0.5, 0.7 in turn: the synthetic data of Lambert (2021)
    after Bouche et al. (2021), with white noise. The map from x to y is linear.

    A call draws functions of its own. Training and test curves of the same functions are parts of one call:
    ``train, test = slice(250), slice(250, None)`` of ``make_curves(500)``, or scikit-learn's ``train_test_split``.

    Parameters
    ----------
    n_samples : int, default=250
    n_points : int, default=70
        Points of the output curves, evenly spaced.
    n_input_points : int, optional
        Points of the input curves; as many by default.
    n_components : int, default=4
        The number r of random functions.
    noise : float, default=0.1
        Standard deviation of the noise at each point of an output curve.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    CurveData
        ``X, Y, x_grid, grid, noiseless``, a named tuple.

    Examples
    --------
    >>> data = make_curves(30, 50, random_state=0)
    >>> data.X.shape, data.Y.shape, data.grid[-1].item()
    ((30, 50), (30, 50), 1.0)
    """
    n_input_points = n_points if n_input_points is None else n_input_points
    sizes = {"n_samples": (n_samples, 1), "n_points": (n_points, 2), "n_input_points": (n_input_points, 2)}
    for name, (size, least) in {**sizes, "n_components": (n_components, 1)}.items():
        check_number("make_curves", name, size, low=least, strict=False, integer=True)
    check_number("make_curves", "noise", noise, low=0, strict=False)
    rng = check_random_state(random_state)
    x_grid, grid = np.linspace(0, 1, n_input_points), np.linspace(0, 1, n_points)
    inputs, outputs = (_processes(points, LENGTH_SCALES, n_components, rng) for points in (x_grid, grid))
    coefficients = rng.uniform(-2, 2, size=(n_samples, n_components))
    noiseless = coefficients @ outputs
    Y = noiseless + noise * rng.normal(size=noiseless.shape)
    return CurveData(coefficients @ inputs, Y, x_grid, grid, noiseless)


def _processes(grid: np.ndarray, length_scales: tuple[float, ...], size: int, rng: Any) -> np.ndarray:
    """Return draws of Gaussian processes as rows, with the length scales in turn."""
    roots = [_symmetric_root(Gaussian(0.5 / scale**2)(grid[:, None], grid[:, None])) for scale in length_scales[:size]]
    return np.stack([roots[index % len(roots)] @ rng.normal(size=len(grid)) for index in range(size)])


def _symmetric_root(covariance: np.ndarray) -> np.ndarray:
    """Return C^½, which unlike other roots does not depend on the signs that a machine gives to eigenvectors."""
    values, vectors = np.linalg.eigh(covariance)
    return (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T


def contaminate_curves(
    Y: Any,
    kind: str = "global",
    share: float | None = None,
    scale: float = 2.0,
    *,
    points_share: float = 0.2,
    grid: Any = None,
    random_state: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return a copy of curves with outliers, and which curves, or which of their entries, were touched.

    ==========  ======================================================================================
    ``kind``    what happens to a share of the curves
    ==========  ======================================================================================
    "global"    y becomes −scale·y
    "foreign"   y becomes Σ_l c_l f_l with c_l uniform on [−scale, scale] and draws f_1, …, f_4 of Gaussian
                processes with the length scales 0.01, 0.1, 1, 4, in units of the length of the grid
    "local"     noise N(0, scale²) is added at a share of the points, other ones for each curve
    ==========  ======================================================================================

    The first and the last are those of Laforgue et al. (2020) and Lambert (2021) for the Lip data, the second that of
    Lambert (2021) for :func:`make_curves`. There, outliers come in addition to the clean curves; here, they replace
    some, so that X stays as it is. To add them, contaminate copies and stack both.

    Parameters
    ----------
    Y : array-like of shape (n_samples, n_points) or (n_samples, n_points, n_components)
        Curves; NaN, which is not observed, stays NaN.
    kind : {"global", "foreign", "local"}, default="global"
    share : float, optional
        Share of the curves in (0, 1), at least one of them; 0.1 by default, and 0.5 for "local".
    scale : float, default=2.0
        Size of the outliers.
    points_share : float, default=0.2
        Share of the points of a contaminated curve in [0, 1], at least one of them, for "local".
    grid : array-like of shape (n_points,), optional
        Increasing points of the curves, for "foreign"; evenly spaced by default.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    Y : array
        The curves with outliers.
    touched : array of bool of shape (n_samples,), for "local" of the shape of Y
        The curves that are outliers; for "local", where whole curves are none, the entries that were observed and have
        noise. Either way ``Y[touched]`` is what was touched.

    Examples
    --------
    >>> Y, touched = contaminate_curves(np.ones((10, 4)), share=0.2, scale=3.0, random_state=0)
    >>> np.flatnonzero(touched), Y[touched]
    (array([2, 8]), array([[-3., -3., -3., -3.],
           [-3., -3., -3., -3.]]))
    """
    owner = "contaminate_curves"
    Y = _curves(owner, Y)
    if kind not in CONTAMINATIONS:
        raise parameter_error(owner, "kind", kind, "'global', 'foreign' or 'local'")
    share = CONTAMINATED_SHARES[kind] if share is None else share
    check_number(owner, "share", share, low=0, high=1, hint="A share of the curves: 0.1, not 10.")
    check_number(owner, "scale", scale, low=0)
    check_number(owner, "points_share", points_share, low=0, high=1, strict=False)
    rng = check_random_state(random_state)
    n, m = Y.shape[:2]
    touched = np.zeros((n, m), dtype=bool)
    outliers = rng.choice(n, size=max(round(share * n), 1), replace=False)
    touched[outliers] = True
    if kind == "local":
        count = max(round(points_share * m), 1)
        touched[outliers] = [np.isin(np.arange(m), rng.choice(m, size=count, replace=False)) for _ in outliers]
        replaced = Y + scale * rng.normal(size=Y.shape)
    elif kind == "foreign":
        replaced = _foreign(Y.shape, _unit_grid(owner, grid, m), scale, rng)
    else:
        replaced = -scale * Y
    mask = touched.reshape(n, m, *[1] * (Y.ndim - 2)) & ~np.isnan(Y)
    return np.where(mask, replaced, Y), mask if kind == "local" else touched[:, 0]


def _foreign(shape: tuple[int, ...], grid: np.ndarray, scale: float, rng: Any) -> np.ndarray:
    """Return curves of other processes, with coefficients of their own for each component."""
    count = len(FOREIGN_LENGTH_SCALES)
    components = int(np.prod(shape[2:], dtype=int))
    curves = [
        rng.uniform(-scale, scale, size=(shape[0], count)) @ _processes(grid, FOREIGN_LENGTH_SCALES, count, rng)
        for _ in range(components)
    ]
    return np.stack(curves, axis=-1).reshape(shape)


def _unit_grid(owner: str, grid: Any, size: int) -> np.ndarray:
    """Return increasing points, moved to [0, 1]."""
    if grid is None:
        return np.linspace(0, 1, size)
    points = Grid(grid).build().locations
    if len(points) != size:
        raise DataError(f"{owner}: grid must have a point for each of the {size} columns of Y; got {len(points)}.")
    return (points - points[0]) / max(points[-1] - points[0], np.finfo(float).tiny)


def drop_observations(Y: Any, kind: str = "random", share: float = 0.5, *, random_state: Any = None) -> np.ndarray:
    """Return a copy of curves with holes: NaN at a share of the entries, never in a whole row or column.

    Parameters
    ----------
    Y : array-like of shape (n_samples, n_points) or (n_samples, n_points, n_components)
        Curves; all components of a point go together. Entries that are NaN already stay so.
    kind : {"random", "window"}, default="random"
        Entries anywhere, or a window of neighbouring points of each curve. Windows start anywhere and go on at the
        beginning of the grid when they reach its end, so that every point is missing equally often.
    share : float, default=0.5
        Share of the entries to drop, in [0, 1). An entry comes back where a row or a column would be left with none.
    random_state : int, RandomState or None
        Seed.

    Examples
    --------
    >>> Y = drop_observations(np.ones((4, 6)), "window", 0.5, random_state=0)
    >>> np.isnan(Y).sum(axis=1)
    array([3, 3, 3, 3])
    """
    owner = "drop_observations"
    Y = _curves(owner, Y)
    if kind not in ("random", "window"):
        raise parameter_error(owner, "kind", kind, "'random' or 'window'")
    check_number(owner, "share", share, low=0, high=1, strict=False, hint="A share of the entries: 0.5, not 50.")
    if share == 1:
        raise parameter_error(owner, "share", share, "less than 1", "Something has to be left to learn from.")
    observed = ~np.isnan(Y).reshape(*Y.shape[:2], -1).all(axis=2)
    for axis, name in enumerate(("columns", "rows")):
        if not observed.any(axis=axis).all():
            raise DataError(f"{owner}: Y has {name} without an observation. Leave them out.")
    rng = check_random_state(random_state)
    n, m = observed.shape
    if kind == "window":
        ahead = (np.arange(m)[None, :] - rng.randint(m, size=n)[:, None]) % m
        kept = observed & (ahead >= round(share * m))
    else:
        kept = observed.copy()
        places = np.flatnonzero(observed)
        kept.flat[rng.choice(places, size=round(share * len(places)), replace=False)] = False
    _bring_back(kept, observed, rng)
    _bring_back(kept.T, observed.T, rng)
    return np.where(kept.reshape(n, m, *[1] * (Y.ndim - 2)), Y, np.nan)


def _bring_back(kept: np.ndarray, observed: np.ndarray, rng: Any) -> None:
    """Keep, in place, one entry of each row that has lost all of its own."""
    for row in np.flatnonzero(~kept.any(axis=1)):
        kept[row, rng.choice(np.flatnonzero(observed[row]))] = True


def _curves(owner: str, Y: Any) -> np.ndarray:
    """Return curves as a float array of two or three axes."""
    try:
        Y = np.asarray(Y, dtype=float)
    except (TypeError, ValueError) as error:
        raise DataError(f"{owner}: Y must hold numbers in rows of one length; {error}.") from error
    if Y.ndim not in (2, 3) or Y.size == 0 or np.any(np.isinf(Y)):
        raise DataError(
            f"{owner}: Y must be finite or NaN, of shape (n_samples, n_points) or (n_samples, n_points, n_components), "
            f"and not empty; got shape {Y.shape}."
        )
    return Y
