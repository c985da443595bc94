"""Fields in the plane: arrows or stream lines, and what they do as shading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._params import check_number
from mercer.backend import to_numpy
from mercer.estimators.delegation import reach
from mercer.exceptions import DataError, parameter_error
from mercer.plotting.style import INK, ORANGE, stage
from mercer.plotting.validation import check_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FieldDisplay"]

#: what may be shaded, and how it is called beside the colours
SHADINGS = {
    "divergence": "divergence",
    "curl": "curl",
    "potential": "potential",
    "stream_function": "stream function",
    "speed": "speed",
}
STYLES = ("arrows", "streams")
#: arrows along a side
ARROWS = 22


class FieldDisplay:
    """A vector field in the plane as arrows or stream lines, shaded by its sources, rotation, potential or speed.

    Parameters
    ----------
    axes : tuple of arrays of shapes (n_columns,) and (n_rows,)
        Values of the two inputs.
    field : array of shape (n_rows, n_columns, 2)
        Vectors on the grid.
    shades : array of shape (n_rows, n_columns), optional
        What is shaded; nothing without it.
    shading : str, optional
        What the shades are; named beside the colours.
    data : tuple of arrays of shape (n_samples, 2), optional
        Points and vectors that were observed, as orange arrows in the same units.
    style : {"arrows", "streams"}, default="arrows"
    names : tuple of str, default=("x₁", "x₂")

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
    arrows_ : Quiver or StreamplotSet
    observed_ : Quiver or None
    shades_ : QuadMesh or None
    colorbar_ : Colorbar or None

    Examples
    --------
    >>> import matplotlib
    >>> import numpy as np
    >>> matplotlib.use("Agg")
    >>> from mercer import VectorFieldRegressor
    >>> from mercer.plotting import FieldDisplay
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(20, 2))
    >>> model = VectorFieldRegressor().fit(X, np.stack([-X[:, 1], X[:, 0]], axis=1))  # a vortex, of curl 2
    >>> display = FieldDisplay.from_estimator(model, X, shading="curl", grid_resolution=15)
    >>> bool(abs(np.median(display.shades) - 2) < 0.2)
    True
    """

    def __init__(self, axes, field, shades=None, *, shading=None, data=None, style="arrows", names=("x₁", "x₂")):
        self.axes = axes
        self.field = field
        self.shades = shades
        self.shading = shading
        self.data = data
        self.style = style
        self.names = names

    @classmethod
    def from_estimator(cls, estimator, X, y=None, *, shading="curl", style="arrows", grid_resolution=60, ax=None):
        """Predict on a grid around the rows, and draw.

        Parameters
        ----------
        estimator : estimator
            Fitted on inputs of two columns, with the methods of :class:`~mercer.estimators.VectorFieldRegressor`; also
            frozen, or the best of a search.
        X : array-like of shape (n_samples, 2)
            Points around which the field is drawn.
        y : array-like of shape (n_samples, 2), optional
            Vectors that were observed there, to be drawn, too.
        shading : {"divergence", "curl", "potential", "stream_function", "speed"} or None, default="curl"
            What the colours are.
        style : {"arrows", "streams"}, default="arrows"
        grid_resolution : int, default=60
            Points along each side of the grid; arrows are fewer.
        ax : Axes, optional
            Of a new figure by default.
        """
        check_number(cls.__name__, "grid_resolution", grid_resolution, low=2, strict=False, integer=True)
        if shading is not None and shading not in SHADINGS:
            raise parameter_error(cls.__name__, "shading", shading, ", ".join(map(repr, SHADINGS)) + " or None")
        data = _plane(cls.__name__, "X", X)
        vectors = None if y is None else _plane(cls.__name__, "y", y)
        if vectors is not None and len(vectors) != len(data):
            raise DataError(f"{cls.__name__}: X and y have inconsistent numbers of rows, {len(data)}, {len(vectors)}.")
        margin = 0.08 * np.ptp(data, axis=0)
        low, high = data.min(axis=0) - margin, data.max(axis=0) + margin
        sides = tuple(np.linspace(low[j], high[j], int(grid_resolution)) for j in (0, 1))
        grid = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)
        frame = hasattr(X, "iloc")
        model, inner = reach(estimator, type(X)(grid, columns=X.columns) if frame else grid, "jacobian")
        shape = len(sides[1]), len(sides[0])
        field = to_numpy(model.predict(inner))
        shades = None
        if shading is not None:
            method = getattr(model, shading, None)
            shades = np.sqrt(np.sum(field**2, axis=1)) if method is None else to_numpy(method(inner))
            shades = shades.reshape(shape)
        return cls(
            sides,
            field.reshape(*shape, 2),
            shades,
            shading=shading,
            data=None if vectors is None else (data, vectors),
            style=style,
            names=tuple(map(str, X.columns)) if frame else ("x₁", "x₂"),
        ).plot(ax)

    def plot(self, ax: Axes | None = None) -> FieldDisplay:
        """Draw on the axes, or on those of a new figure."""
        if self.style not in STYLES:
            raise parameter_error(self, "style", self.style, "'arrows' or 'streams'")
        ax = stage(ax)
        x, y = (np.asarray(side, dtype=float) for side in self.axes)
        field = np.asarray(self.field, dtype=float)
        self.shades_: Any = None
        self.colorbar_: Any = None
        self.observed_: Any = None
        self.arrows_: Any
        if self.shades is not None:
            self._shade(ax, x, y)
        scale = self._arrow_scale(x, y, field)
        if self.style == "streams":
            self.arrows_ = ax.streamplot(x, y, field[..., 0], field[..., 1], color=INK, linewidth=0.7, arrowsize=0.7)
        else:
            rows, columns = (_every(side, max(np.ptp(x), np.ptp(y)) / ARROWS) for side in (y, x))
            some = field[np.ix_(rows, columns)]
            self.arrows_ = ax.quiver(x[columns], y[rows], some[..., 0], some[..., 1], color=INK, **scale)
        if self.data is not None:
            points, vectors = (np.asarray(array, dtype=float) for array in self.data)
            self.observed_ = ax.quiver(*points.T, *vectors.T, color=ORANGE, zorder=3, **(scale | {"width": 0.005}))
        ax.set(xlabel=self.names[0], ylabel=self.names[1], aspect="equal")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _shade(self, ax: Axes, x: np.ndarray, y: np.ndarray) -> None:
        """Colours from blue to red around 0 for what has a sign, and paler blues for the speed."""
        shades = np.asarray(self.shades, dtype=float)
        # 99 % of the absolute values, so that a corner without data does not make all else pale
        top = max(float(np.quantile(np.abs(shades), 0.99)), self._rounding(x, y))
        signed = self.shading != "speed"
        limits: dict[str, Any] = {"vmin": -top if signed else 0.0, "vmax": top}
        colours = _pale("RdBu_r", 0.15, 0.85) if signed else _pale("Blues", 0.0, 0.7)
        self.shades_ = ax.pcolormesh(x, y, shades, shading="gouraud", rasterized=True, cmap=colours, **limits)
        label, extend = SHADINGS.get(str(self.shading), self.shading), "both" if signed else "max"
        self.colorbar_ = ax.figure.colorbar(self.shades_, ax=ax, label=label, shrink=0.8, extend=extend)

    def _rounding(self, x: np.ndarray, y: np.ndarray) -> float:
        """What is as good as 0: sources of a field without sources are rounding errors, and are to be pale."""
        size, extent = float(np.max(np.abs(self.field))) or 1.0, float(max(np.ptp(x), np.ptp(y))) or 1.0
        unit = {"divergence": size / extent, "curl": size / extent, "speed": size}.get(str(self.shading), size * extent)
        return 1e-6 * unit

    def _arrow_scale(self, x: np.ndarray, y: np.ndarray, field: np.ndarray) -> dict[str, Any]:
        """Lengths in units of the axes: the longest arrows but a few span one and a half steps between arrows."""
        step = max(np.ptp(x), np.ptp(y)) / ARROWS
        size = float(np.quantile(np.sqrt(np.sum(field**2, axis=-1)), 0.95)) or 1.0
        return {"angles": "xy", "scale_units": "xy", "scale": size / (1.5 * step), "width": 0.003}


def _every(side: np.ndarray, step: float) -> np.ndarray:
    """Return the indices of points along a side that are about a step apart."""
    count = int(np.clip(np.ptp(side) / max(step, np.finfo(float).tiny), 3, len(side)))
    return np.unique(np.linspace(0, len(side) - 1, min(count, len(side))).round().astype(int))


def _pale(name: str, low: float, high: float) -> Any:
    """Return a part of a colour map, on which dark arrows are seen."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    return ListedColormap(colormaps[name](np.linspace(low, high, 256)))


def _plane(owner: str, name: str, values: Any) -> np.ndarray:
    """Return an array of shape (n, 2)."""
    array = check_numbers(owner, name, values)
    if array.ndim != 2 or array.shape[1] != 2 or len(array) == 0:
        raise DataError(f"{owner}: {name} must have two columns, for fields in the plane; got shape {array.shape}.")
    return array
