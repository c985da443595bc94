"""Which outputs are alike: the matrix Γ, and the graph of tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._params import check_number
from mercer.estimators.delegation import reach_attribute
from mercer.exceptions import DataError, UnsupportedError
from mercer.plotting.style import BLUE, GREY, INK, NAVY, ORANGE, stage
from mercer.plotting.validation import check_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["OutputMatrixDisplay", "TaskGraphDisplay"]

#: outputs up to which numbers are written into the fields of the matrix
WRITTEN = 10
#: width of the strongest edge of a graph, in points
WIDEST_EDGE = 5.0
#: from the centre of a graph to the names of its nodes, 1 being the nodes
NAMES_AT = 1.13
WHERE_IT_IS = "VectorValuedRegressor, MultiTaskRegressor and VectorAutoRegressor have it, unless K does not decompose."


class OutputMatrixDisplay:
    """The matrix Γ of a fit of vectors, as correlations: which outputs are alike, and which go opposite ways.

    Parameters
    ----------
    matrix : array of shape (p, p)
        Γ, symmetric and positive semi-definite.
    names : sequence of str, optional
        Of the outputs; "0", "1", ... by default.
    correlations : bool, default=True
        Whether to draw Γ_ab/√(Γ_aa Γ_bb), or Γ itself.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
    image_ : AxesImage
    texts_ : list of Text
        The numbers, of ten outputs at most.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from mercer.plotting import OutputMatrixDisplay
    >>> display = OutputMatrixDisplay([[4.0, 1.0], [1.0, 1.0]], ["zinc", "lead"]).plot()
    >>> [text.get_text() for text in display.texts_]
    ['1', '0.5', '0.5', '1']
    """

    def __init__(self, matrix, names=None, *, correlations=True):
        self.matrix = matrix
        self.names = names
        self.correlations = correlations

    @classmethod
    def from_estimator(cls, estimator, *, names=None, correlations=True, ax=None):
        """Draw ``output_matrix_`` of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``output_matrix_``, also as the last step of a Pipeline; of a
            :class:`~mercer.estimators.VectorAutoRegressor` it is that of its regression.
        names : sequence of str, optional
            Of the outputs. Those of tasks and of series are known.
        correlations : bool, default=True
            Whether to draw Γ_ab/√(Γ_aa Γ_bb), or Γ itself.
        ax : Axes, optional
            Of a new figure by default.
        """
        matrix, known = _matrix_of(estimator)
        return cls(matrix, known if names is None else names, correlations=correlations).plot(ax)

    def plot(self, ax: Axes | None = None) -> OutputMatrixDisplay:
        """Draw on the axes, or on those of a new figure."""
        from matplotlib.colors import LinearSegmentedColormap

        matrix, names = _square(type(self).__name__, "matrix", self.matrix, self.names)
        values = _correlations(matrix) if self.correlations else matrix
        ax = stage(ax)
        limit = 1.0 if self.correlations else float(np.max(np.abs(values))) or 1.0
        colours = LinearSegmentedColormap.from_list("mercer", [ORANGE, "#FFFFFF", BLUE])
        self.image_ = ax.imshow(values, cmap=colours, vmin=-limit, vmax=limit)
        self.texts_ = [
            ax.text(b, a, f"{values[a, b]:.2g}", ha="center", va="center", fontsize="small", color=INK)
            for a in range(len(values))
            for b in range(len(values))
            if len(values) <= WRITTEN
        ]
        ax.set_xticks(range(len(names)), names, rotation=45, ha="right")
        ax.set_yticks(range(len(names)), names)
        ax.tick_params(length=0)
        ax.spines[["left", "bottom"]].set_visible(False)
        ax.figure.colorbar(self.image_, ax=ax, label="correlation of outputs" if self.correlations else "Γ")
        self.ax_, self.figure_ = ax, ax.figure
        return self


class TaskGraphDisplay:
    """Outputs, tasks or series as nodes on a circle, and what ties them as edges; wider ones are stronger.

    Parameters
    ----------
    weights : array of shape (p, p)
        Of the edges, the diagonal left aside: symmetric, or of edges from b to a at (a, b).
    names : sequence of str, optional
        Of the nodes; "0", "1", ... by default.
    directed : bool, default=False
        Whether edges have arrows.
    threshold : float, default=0.1
        Edges below this share of the strongest are not drawn.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
    edges_ : list of FancyArrowPatch
    ties_ : list of (int, int)
        What they join: from, to. Those with negative weights are orange.
    nodes_ : PathCollection

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from mercer.plotting import TaskGraphDisplay
    >>> display = TaskGraphDisplay([[0, 2, 0.1], [2, 0, 1], [0.1, 1, 0]], ["a", "b", "c"]).plot()
    >>> display.ties_
    [(0, 1), (1, 2)]
    """

    def __init__(self, weights, names=None, *, directed=False, threshold=0.1):
        self.weights = weights
        self.names = names
        self.directed = directed
        self.threshold = threshold

    @classmethod
    def from_estimator(cls, estimator, *, names=None, threshold=0.1, ax=None):
        """Draw what ties the outputs of a fitted estimator.

        Of a :class:`~mercer.estimators.VectorAutoRegressor` that is ``graph_``, who acts on whom, with arrows. Of
        others it is P_ab = −Q_ab/√(Q_aa Q_bb), Q = Γ†: partial correlations of outputs, given all others. A Γ
        that was made of a graph, :func:`~mercer.operator_valued.graph_matrix`, shows the edges of that graph.

        Parameters
        ----------
        estimator : estimator
            Fitted.
        names : sequence of str, optional
            Of the nodes. Those of tasks and of series are known.
        threshold : float, default=0.1
            Edges below this share of the strongest are not drawn.
        ax : Axes, optional
            Of a new figure by default.
        """
        try:
            model, known = reach_attribute(estimator, "graph_")
        except UnsupportedError:
            matrix, known = _matrix_of(estimator)
            weights, directed = -_correlations(np.linalg.pinv(matrix, hermitian=True)), False
        else:
            weights, directed = model.graph_, True
        return cls(weights, known if names is None else names, directed=directed, threshold=threshold).plot(ax)

    def plot(self, ax: Axes | None = None) -> TaskGraphDisplay:
        """Draw on the axes, or on those of a new figure."""
        from matplotlib.patches import FancyArrowPatch

        check_number(self, "threshold", self.threshold, low=0, high=1, strict=False)
        weights, names = _square(type(self).__name__, "weights", self.weights, self.names)
        ax, p = stage(ax), len(names)
        angles = np.pi / 2 - 2 * np.pi * np.arange(p) / p
        places = np.column_stack([np.cos(angles), np.sin(angles)])
        self.ties_ = self._ties(weights)
        strongest = max((abs(weights[b, a]) for a, b in self.ties_), default=1.0)
        self.edges_ = []
        for a, b in self.ties_:
            weight = weights[b, a]
            edge = FancyArrowPatch(
                places[a],
                places[b],
                arrowstyle="-|>" if self.directed else "-",
                connectionstyle="arc3,rad=0.12" if self.directed else "arc3",
                mutation_scale=12,
                shrinkA=7,
                shrinkB=7,
                linewidth=WIDEST_EDGE * abs(weight) / strongest,
                color=BLUE if weight > 0 else ORANGE,
                alpha=0.75,
            )
            self.edges_.append(ax.add_patch(edge))
        self.nodes_ = ax.scatter(places[:, 0], places[:, 1], s=80, color=NAVY, zorder=3)
        for name, (x, y) in zip(names, NAMES_AT * places, strict=True):
            ax.text(x, y, name, ha="center" if abs(x) < 0.1 else "left" if x > 0 else "right", va="center", color=INK)
        ax.set(xlim=(-1.5, 1.5), ylim=(-1.3, 1.3), aspect="equal", xticks=[], yticks=[])
        ax.spines[["left", "bottom"]].set_visible(False)
        if not self.ties_:
            ax.text(0, 0, "no ties", ha="center", va="center", color=GREY)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _ties(self, weights: np.ndarray) -> list[tuple[int, int]]:
        """Return the edges to draw: from, to."""
        size = np.abs(weights) - np.diag(np.abs(np.diagonal(weights)))
        least = max(float(self.threshold) * float(size.max(initial=0.0)), np.finfo(float).eps)
        pairs = [(int(a), int(b)) for b, a in np.argwhere(size >= least)]
        return sorted(pairs if self.directed else [(a, b) for a, b in pairs if a < b])


def _matrix_of(estimator: Any) -> tuple[np.ndarray, Any]:
    """Return Γ of a fitted estimator, and the names of outputs where they are known."""
    try:
        model, _ = reach_attribute(estimator, "output_matrix_", WHERE_IT_IS)
        names = getattr(model, "tasks_", None)
    except UnsupportedError:
        outer, names = reach_attribute(estimator, "regressor_", WHERE_IT_IS)
        model, _ = reach_attribute(outer.regressor_, "output_matrix_", WHERE_IT_IS)
    if model.output_matrix_ is None:
        raise UnsupportedError(
            f"{type(model).__name__} has no Γ: its kernel {model.kernel_!r} does not decompose into k_X·Γ."
        )
    return np.asarray(model.output_matrix_, dtype=float), names


def _square(owner: str, what: str, given: Any, names: Any) -> tuple[np.ndarray, list[str]]:
    """Return a square matrix of finite numbers, and a name for each of its rows."""
    matrix = check_numbers(owner, what, given)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size or not np.all(np.isfinite(matrix)):
        raise DataError(f"{owner}: {what} must hold finite numbers, of shape (p, p); got shape {matrix.shape}.")
    texts = [str(k) for k in range(len(matrix))] if names is None else [str(name) for name in names]
    if len(texts) != len(matrix):
        raise DataError(f"{owner}: there are {len(matrix)} outputs and {len(texts)} names.")
    return matrix, texts


def _correlations(matrix: np.ndarray) -> np.ndarray:
    """Return M_ab/√(M_aa M_bb); 0 where an output has no variance."""
    root = np.sqrt(np.maximum(np.diagonal(matrix), 0.0))
    inverse = np.where(root > 0, 1 / np.where(root > 0, root, 1.0), 0.0)
    return matrix * inverse[:, None] * inverse
