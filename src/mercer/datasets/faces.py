"""Synthetic faces: 68 landmarks that move with valence and arousal."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from mercer._params import check_number
from mercer.datasets.landmarks import EMOTIONS, LEFT_EYE, RIGHT_EYE, emotion_coordinates
from mercer.exceptions import parameter_error

__all__ = ["FaceData", "make_faces"]

#: traits of a face, with their means; the distance of the eyes from the middle is 1, y points down
TRAITS = {
    "face_width": 2.2,
    "chin_distance": 1.45,
    "jaw_taper": 0.2,
    "brow_height": 0.72,
    "brow_arch": 0.24,
    "brow_length": 1.25,
    "eye_width": 0.46,
    "eye_height": 0.19,
    "nose_length": 1.5,
    "nose_width": 0.5,
    "mouth_distance": 0.8,
    "mouth_width": 0.82,
    "lip_height": 0.2,
}
#: standard deviation of each trait, as a share of its mean
VARIATION = 0.08


class FaceData(NamedTuple):
    """Faces of :func:`make_faces`."""

    X: np.ndarray
    """Neutral faces, (n_identities, 136)."""
    Y: np.ndarray
    """Faces with each emotion, (n_identities, n_emotions, 136)."""
    emotions: np.ndarray
    """Valence and arousal of the emotions, (n_emotions, 2)."""
    names: tuple[str, ...]
    """Names of the emotions."""


def make_faces(
    n_identities: int = 50, emotions: Any = None, *, noise: float = 0.003, random_state: Any = None
) -> FaceData:
    """Return synthetic faces of several persons with several emotions, 68 landmarks each.

    A face has 13 traits, such as its width or the height of its brows, drawn around those of a mean face; they also say
    how strongly the person moves brows, eyes and mouth. These follow polynomials of valence v and arousal a that vanish
    at the origin: corners of the mouth rise with v, eyes widen with a, the mouth opens for large a, inner brows fall
    with −va (anger) and rise with va (sadness), and so on. Landmarks are in the order of the common detectors
    (:data:`~mercer.datasets.LANDMARKS`), aligned by the eyes as :func:`~mercer.datasets.align_landmarks` does, in a
    picture whose sides have length 1 and whose second axis points down.

    Parameters
    ----------
    n_identities : int, default=50
        Number of persons.
    emotions : sequence of str or array-like of shape (n_emotions, 2), optional
        Names, or valence and arousal; the seven :data:`~mercer.datasets.EMOTIONS` by default.
    noise : float, default=0.003
        Standard deviation of the error of each coordinate; 0.003 is 0.4 pixels of 128.
    random_state : int, RandomState or None
        Seed. The same seed and number give the same persons, whatever the emotions: a second call without noise tells
        the truth between those of the first.

    Returns
    -------
    FaceData
        ``X`` (n_identities, 136), the neutral faces, ``Y`` (n_identities, n_emotions, 136), ``emotions``
        (n_emotions, 2) and ``names``, a named tuple. Coordinates are x before y: ``Y.reshape(n, m, 68, 2)``.

    Examples
    --------
    >>> data = make_faces(10, random_state=0)
    >>> data.X.shape, data.Y.shape, data.emotions.shape
    ((10, 136), (10, 7, 136), (7, 2))
    >>> data.names[:2]
    ('neutral', 'happy')
    """
    check_number("make_faces", "n_identities", n_identities, low=1, strict=False, integer=True)
    check_number("make_faces", "noise", noise, low=0, strict=False)
    coordinates, names = _emotions(emotions)
    rng = check_random_state(random_state)
    deviations = rng.normal(size=(n_identities, len(TRAITS)))
    X, Y = (_draw(deviations, at) for at in (np.zeros((1, 2)), coordinates))
    X, Y = (faces + noise * rng.normal(size=faces.shape) for faces in (X[:, 0], Y))
    return FaceData(X, Y, coordinates, names)


def _emotions(emotions: Any) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return coordinates and names."""
    emotions = list(EMOTIONS) if emotions is None else emotions
    if isinstance(emotions, str) or all(isinstance(each, str) for each in emotions):
        names = (emotions,) if isinstance(emotions, str) else tuple(emotions)
        return emotion_coordinates(names), names
    allowed = "names of emotions, or finite numbers of shape (n_emotions, 2), valence and arousal"
    try:
        coordinates = np.array(emotions, dtype=float)
    except (TypeError, ValueError) as error:
        raise parameter_error("make_faces", "emotions", emotions, allowed) from error
    if coordinates.ndim != 2 or coordinates.shape[1] != 2 or not np.all(np.isfinite(coordinates)):
        raise parameter_error("make_faces", "emotions", emotions, allowed)
    return coordinates, tuple(f"({valence:.2f}, {arousal:.2f})" for valence, arousal in coordinates)


def _draw(deviations: np.ndarray, emotions: np.ndarray) -> np.ndarray:
    """Return faces (n, m, 136) of standardised traits (n, 13) with emotions (m, 2)."""
    traits = np.array(list(TRAITS.values())) * (1 + VARIATION * np.tanh(deviations / 3) * 3)
    trait = {name: traits[:, None, j] for j, name in enumerate(TRAITS)}
    trait["mouth_height"] = trait["nose_length"] + trait["mouth_distance"]
    trait["face_height"] = trait["mouth_height"] + trait["chin_distance"]
    # how much a person shows is read off the neutral face, so that there is something to learn
    vigour = [1 + 0.3 * np.tanh(deviations[:, j, None] - deviations[:, k, None]) for j, k in ((0, 1), (3, 6), (11, 12))]
    motion = _motion(emotions[:, 0], emotions[:, 1], *vigour)
    parts = [_contour(trait, motion), _brows(trait, motion), _nose(trait, motion), _eyes(trait, motion)]
    points = np.concatenate([*parts, _lips(trait, motion)], axis=2)
    faces = (LEFT_EYE + RIGHT_EYE) / 2 + (RIGHT_EYE - LEFT_EYE) / 2 * points
    return np.stack([faces.real, faces.imag], axis=-1).reshape(*faces.shape[:2], -1)


def _motion(v: np.ndarray, a: np.ndarray, mouth: Any, brow: Any, eye: Any) -> dict[str, np.ndarray]:
    """Return how far what moves (n, m), zero at the origin and smooth in valence v and arousal a."""
    aroused = a * a * (1 + a) / 2
    pleased = v * v * (1 + v) / 2
    repelled = v * v * (1 - v) / 2
    opening = 0.62 * aroused * (1 + 0.3 * v) + 0.16 * pleased
    return {
        "brow_raise": brow * (0.3 * a + 0.04 * v),
        "inner_brow_drop": brow * (-0.75 * v * a),
        "inner_brow_gather": brow * (0.16 * repelled),
        "eye_opening": eye * (0.55 * a - 0.22 * pleased - 0.2 * repelled),
        "nose_wrinkle": mouth * (0.12 * repelled * (0.5 + a)),
        "mouth_opening": mouth * opening,
        "mouth_stretch": mouth * (0.26 * pleased - 0.35 * aroused * (1 + v) / 2 - 0.06 * repelled),
        "corner_rise": mouth * (0.23 * v + 0.07 * v * v),
        "upper_lip_rise": mouth * (0.14 * repelled * (0.5 + a)),
    }


def _mirror(right: np.ndarray) -> np.ndarray:
    """Return the points of the other side, in reverse order: those of the left, from the outside to the middle."""
    return -np.conj(right[..., ::-1])


def _complex(x: Any, y: Any) -> np.ndarray:
    """Return points x + iy of arrays (n, m, points)."""
    return x + 1j * y


def _contour(trait: dict, motion: dict) -> np.ndarray:
    """Jaw from the left temple over the chin to the right one."""
    angle = np.linspace(np.pi, 0, 17)
    depth = np.sin(angle)
    narrow = 1 - trait["jaw_taper"][..., None] * depth**2
    # a little of an ellipse towards a rectangle: cheeks before the chin
    across = np.sign(np.cos(angle)) * np.abs(np.cos(angle)) ** 0.85
    x = trait["face_width"][..., None] * across * narrow
    drop = 0.75 * motion["mouth_opening"][..., None] * depth**3
    fuller = 1 + 0.05 * motion["corner_rise"][..., None] * depth
    return _complex(x * fuller, -0.15 + (trait["face_height"][..., None] + 0.15) * depth**0.95 + drop)


def _brows(trait: dict, motion: dict) -> np.ndarray:
    """Left brow from the outside, right brow from the inside."""
    along = np.linspace(0, 1, 5)
    inner = (1 - along) ** 2
    start = 0.42 - motion["inner_brow_gather"][..., None] * inner
    x = start + trait["brow_length"][..., None] * along
    arch = trait["brow_arch"][..., None] * (np.sin(np.pi * along**0.8) - 0.5 * along**3)
    lift = motion["brow_raise"][..., None] - motion["inner_brow_drop"][..., None] * inner
    right = _complex(x, -trait["brow_height"][..., None] - arch - lift)
    return np.concatenate([_mirror(right), right], axis=2)


def _nose(trait: dict, motion: dict) -> np.ndarray:
    """Bridge from the top, base from the left."""
    wrinkle = motion["nose_wrinkle"][..., None]
    length = trait["nose_length"][..., None]
    bridge = _complex(np.zeros(4), length * np.linspace(0.02, 0.8, 4) - wrinkle * np.linspace(0, 1, 4))
    across = np.linspace(-1, 1, 5)
    width = trait["nose_width"][..., None] + 0.5 * wrinkle
    base = _complex(width * across, length * (1 - 0.07 * across**2) - wrinkle)
    return np.concatenate([bridge + 0 * base[..., :1].real, base], axis=2)


def _eyes(trait: dict, motion: dict) -> np.ndarray:
    """Each eye around its centre: the left corner, the upper lid, the right corner, the lower lid backwards."""
    angle = np.deg2rad([180, 235, 305, 0, 55, 125])
    height = trait["eye_height"] * (1 + motion["eye_opening"])
    shape = _complex(
        trait["eye_width"][..., None] * np.cos(angle), height[..., None] * np.sin(angle) / np.sin(angle[4])
    )
    return np.concatenate([shape - 1, shape + 1], axis=2)


def _lips(trait: dict, motion: dict) -> np.ndarray:
    """Outer lips (12) and inner lips (8), each clockwise from the left corner."""
    rise, opening = motion["corner_rise"][..., None], motion["mouth_opening"][..., None]
    width = (trait["mouth_width"] * (1 + motion["mouth_stretch"]))[..., None]
    lip, middle = trait["lip_height"][..., None], trait["mouth_height"][..., None]
    upper = middle - motion["upper_lip_rise"][..., None] - 0.18 * opening
    lower = middle + 0.82 * opening

    def curve(x: np.ndarray, y: Any, height: Any) -> np.ndarray:
        # corners meet in the middle between the lips; a smile bends both lips
        x = np.asarray(x)
        corner = middle + 0.2 * opening - rise
        return _complex(width * x, corner + (y + height - corner) * (1 - x**2))

    outer, inner = np.linspace(-1, 1, 7), np.linspace(-0.82, 0.82, 5)
    dent = 0.25 * np.exp(-((outer / 0.22) ** 2))
    above = curve(outer, upper, -lip * (1 - dent))
    below = curve(outer[-2:0:-1], lower, 1.15 * lip)
    inside_above = curve(inner, upper, -0.12 * lip)
    inside_below = curve(inner[-2:0:-1], lower, 0.12 * lip)
    return np.concatenate([above, below, inside_above, inside_below], axis=2)
