"""A face that changes along a path of emotions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.datasets import LANDMARKS
from mercer.estimators.delegation import reach
from mercer.exceptions import DataError
from mercer.plotting.style import NAVY, PALE, stage
from mercer.plotting.validation import check_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FaceMorphDisplay"]

#: width of the gap between faces, as a share of their width
FACE_GAP = 0.12


class FaceMorphDisplay:
    """Faces in a row, one for each point θ of a path: from neutral to happy, or round the circle of emotions.

    Parameters
    ----------
    faces : array of shape (n_faces, n_landmarks, 2) or (n_faces, 2·n_landmarks)
        Landmarks, x before y, the second axis pointing down.
    path : array of shape (n_faces, d)
        Points θ, for instance valence and arousal.
    reference : array of shape (n_landmarks, 2) or (2·n_landmarks,), optional
        A face to draw palely behind each of them, such as the neutral one.
    outlines : list of sequences of int, optional
        Landmarks to join by lines, a closed outline with its first one at the end again. By default those of the usual
        68 landmarks (:data:`~mercer.datasets.LANDMARKS`); other numbers of landmarks are drawn as points.
    names : sequence of str, optional
        Texts below the faces; by default the points of the path.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
    faces_ : list of LineCollection or PathCollection
        One for each face.
    references_ : list of LineCollection or PathCollection
    labels_ : list of Text

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from mercer.datasets import make_faces
    >>> from mercer.plotting import FaceMorphDisplay
    >>> data = make_faces(1, random_state=0)
    >>> display = FaceMorphDisplay(data.Y[0], data.emotions, names=data.names, reference=data.X[0]).plot()
    >>> len(display.faces_), display.labels_[1].get_text()
    (7, 'happy')
    """

    def __init__(self, faces, path, *, reference=None, outlines=None, names=None):
        self.faces = faces
        self.path = path
        self.reference = reference
        self.outlines = outlines
        self.names = names

    @classmethod
    def from_estimator(
        cls, estimator, x, path, *, extrapolate=False, reference=None, outlines=None, names=None, ax=None
    ):
        """Predict the face of one input at each point of a path, and draw.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``predict_at(X, points)`` as :class:`~mercer.estimators.FunctionalRegressor` has it for
            curves in R^p, also at the end of a Pipeline.
        x : array-like of shape (n_features,) or (1, n_features)
            The input, for instance a neutral face.
        path : array-like of shape (n_faces, d)
            Points θ, such as ``np.linspace(0, 1, 6)[:, None] * emotion_coordinates(["happy"])``.
        extrapolate : bool, default=False
            Whether the path may leave the range of the points that the estimator has seen.
        reference : array-like of shape (2·n_landmarks,), optional
            A face to draw palely behind each of them.
        outlines : list of sequences of int, optional
            Landmarks to join by lines.
        names : sequence of str, optional
            Texts below the faces; by default the points of the path.
        ax : Axes, optional
            Of a new figure by default.
        """
        path = _path(cls.__name__, path)
        x = x if hasattr(x, "iloc") else check_numbers(cls.__name__, "x", x)
        if not hasattr(x, "iloc"):
            x = np.atleast_2d(x)
        if x.shape[0] != 1:
            raise DataError(f"{cls.__name__}: x must be one input; got shape {x.shape}.")
        last, inner = reach(estimator, x, "predict_at")
        beyond = {"extrapolate": True} if extrapolate else {}
        faces = check_numbers(cls.__name__, "predictions", last.predict_at(inner, path, **beyond))
        if faces.ndim != 3 or faces.shape[:2] != (1, len(path)):
            raise DataError(
                f"{cls.__name__}: predictions must have shape (1, {len(path)}, 2·n_landmarks), as those of an "
                f"estimator that was fitted on Y of shape (n_samples, n_emotions, 2·n_landmarks); got {faces.shape}."
            )
        return cls(faces[0], path, reference=reference, outlines=outlines, names=names).plot(ax)

    def plot(self, ax: Axes | None = None) -> FaceMorphDisplay:
        """Draw on the axes, or on those of a new figure of a fitting width."""
        owner = type(self).__name__
        faces, path = _landmarks(owner, "faces", self.faces), _path(owner, self.path)
        if len(path) != len(faces) or (self.names is not None and len(self.names) != len(faces)):
            raise DataError(
                f"{owner}: there must be a point, and a name if there are names, for each of {len(faces)} faces."
            )
        behind = None if self.reference is None else _landmarks(owner, "reference", [self.reference])
        everything = faces if behind is None else np.concatenate([faces, behind])
        low, high = everything.min(axis=(0, 1)), everything.max(axis=(0, 1))
        width, height = high - low
        new = ax is None
        ax = stage(ax)
        steps = (1 + FACE_GAP) * width * np.arange(len(faces))
        shifts = np.column_stack([steps, np.zeros(len(faces))])
        self.references_ = [] if behind is None else [self._draw(ax, behind[0] + shift, PALE, 1.0) for shift in shifts]
        self.faces_ = [self._draw(ax, face + shift, NAVY, 1.3) for face, shift in zip(faces, shifts, strict=True)]
        texts = [_coordinates(point) for point in path] if self.names is None else map(str, self.names)
        self.labels_ = [
            ax.text(low[0] + width / 2 + step, high[1] + 0.06 * height, text, ha="center", va="top", fontsize="small")
            for step, text in zip(steps, texts, strict=True)
        ]
        ax.spines[:].set_visible(False)
        ax.set(xticks=[], yticks=[], aspect="equal")
        ax.set_xlim(low[0] - FACE_GAP * width / 2, high[0] + steps[-1] + FACE_GAP * width / 2)
        ax.set_ylim(high[1] + 0.2 * height, low[1] - 0.04 * height)  # pictures have their origin at the top
        self.ax_, self.figure_ = ax, ax.figure
        if new:
            self.figure_.set_size_inches(max(1.5 * len(faces), 3), 2.1)  # type: ignore[union-attr]
        return self

    def _draw(self, ax: Axes, face: np.ndarray, colour: str, width: float) -> Any:
        """Draw one face as lines, or as points where nothing says what to join."""
        from matplotlib.collections import LineCollection

        outlines = self.outlines
        if outlines is None:
            outlines = _usual_outlines() if len(face) == 68 else []
        if not len(outlines):
            return ax.scatter(face[:, 0], face[:, 1], s=3 * width, color=colour, linewidths=0)
        lines = LineCollection([face[list(outline)] for outline in outlines], colors=colour, linewidths=width)
        lines.set_capstyle("round")
        return ax.add_collection(lines)


def _usual_outlines() -> list[list[int]]:
    """Return the outlines of the usual 68 landmarks; eyes and lips are closed."""
    return [
        [*indices, *([indices[0]] if name.endswith(("_eye", "_lips")) else [])] for name, indices in LANDMARKS.items()
    ]


def _landmarks(owner: str, name: str, faces: Any) -> np.ndarray:
    """Return faces as an array (n_faces, n_landmarks, 2)."""
    faces = check_numbers(owner, name, faces)
    pairs = faces.shape[-1:] == (2,) and faces.ndim == 3
    if faces.ndim not in (2, 3) or faces.size == 0 or (not pairs and (faces.ndim == 3 or faces.shape[-1] % 2)):
        raise DataError(
            f"{owner}: {name} must hold x and y of each landmark, in the shape (n_landmarks, 2) or (2·n_landmarks,) "
            f"for each face; got {faces.shape}."
        )
    return faces.reshape(len(faces), -1, 2)


def _path(owner: str, path: Any) -> np.ndarray:
    path = check_numbers(owner, "path", path)
    path = path[:, None] if path.ndim == 1 else path
    if path.ndim != 2 or path.size == 0:
        raise DataError(f"{owner}: path must have shape (n_faces, d) and not be empty; got {path.shape}.")
    return path


def _coordinates(point: np.ndarray) -> str:
    """Return a point as a text, with a minus sign that is as long as a plus."""
    inside = ", ".join(f"{value + 0.0:.2f}".replace("-", "−") for value in np.round(point, 2))
    return inside if len(point) == 1 else f"({inside})"
