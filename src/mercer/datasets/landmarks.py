"""Facial landmarks: their order, the plane of emotions, alignment, and folders of files that users have."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mercer._params import check_number
from mercer.exceptions import DataError, parameter_error

__all__ = [
    "EMOTIONS",
    "LANDMARKS",
    "LandmarkData",
    "align_landmarks",
    "emotion_coordinates",
    "load_landmarks",
]

#: the usual 68 landmarks, by parts; left and right are those of the picture
LANDMARKS: dict[str, range] = {
    "contour": range(17),
    "left_brow": range(17, 22),
    "right_brow": range(22, 27),
    "nose_bridge": range(27, 31),
    "nose_base": range(31, 36),
    "left_eye": range(36, 42),
    "right_eye": range(42, 48),
    "outer_lips": range(48, 60),
    "inner_lips": range(60, 68),
}

#: directions of emotions in the plane of valence and arousal, in degrees from pleasant towards aroused
ANGLES = {"happy": 10, "surprised": 78, "fearful": 105, "angry": 138, "disgusted": 160, "sad": 206}

#: (valence, arousal) of seven emotions: neutral at the origin, the others on the unit circle
EMOTIONS: dict[str, tuple[float, float]] = {"neutral": (0.0, 0.0)} | {
    name: (float(np.cos(np.deg2rad(angle))), float(np.sin(np.deg2rad(angle)))) for name, angle in ANGLES.items()
}

#: where the eyes are after alignment, in a picture whose sides have length 1
LEFT_EYE, RIGHT_EYE = complex(0.35, 0.35), complex(0.65, 0.35)

#: names of files, without their endings
PATTERNS = {
    "plain": r"(?P<identity>.+)_(?P<emotion>[^_]+)",
    "kdef": r"(?P<identity>[AB][FM]\d\d)(?P<emotion>AF|AN|DI|HA|NE|SA|SU)S",
    "rafd": r"Rafd090_(?P<identity>\d+)_.+_(?P<emotion>[a-z]+)_frontal",
}
#: what the codes of emotions in these names mean
CODES = {
    "kdef": {
        **{"af": "fearful", "an": "angry", "di": "disgusted", "ha": "happy"},
        **{"ne": "neutral", "sa": "sad", "su": "surprised"},
    }
}
ENDINGS = (".csv", ".npy", ".pts", ".txt")


class LandmarkData(NamedTuple):
    """Faces of :func:`load_landmarks`."""

    Y: np.ndarray
    """Landmarks (n_identities, n_emotions, 2·n_landmarks), x before y; NaN where there is no picture."""
    identities: tuple[str, ...]
    """Names of the first axis, sorted."""
    names: tuple[str, ...]
    """Emotions, the names of the second axis."""


def emotion_coordinates(names: Sequence[str]) -> np.ndarray:
    """Return the (valence, arousal) of emotions by name, shape (len(names), 2).

    Neutral is the origin. The others have length 1: strong emotions, with weaker ones between them and the origin.
    Their directions follow the circumplex of emotions (Russell 1980), in round numbers; pass your own coordinates
    where yours are better.

    Examples
    --------
    >>> emotion_coordinates(["neutral", "happy"]).round(2)
    array([[0.  , 0.  ],
           [0.98, 0.17]])
    """
    names = [names] if isinstance(names, str) else list(names)
    unknown = [name for name in names if name not in EMOTIONS]
    if unknown or not names:
        allowed = f"names out of {', '.join(EMOTIONS)}"
        raise parameter_error("emotion_coordinates", "names", unknown or names, allowed, "Or use your own coordinates.")
    return np.array([EMOTIONS[name] for name in names])


def align_landmarks(
    faces: Any, eyes: tuple[Sequence[int], Sequence[int]] = (LANDMARKS["left_eye"], LANDMARKS["right_eye"])
) -> np.ndarray:
    """Turn, scale and move each face so that its eyes come to (0.35, 0.35) and (0.65, 0.35).

    The centre of an eye is the mean of its landmarks. The map of each face is the similarity z ↦ az + b of the complex
    plane that is right for both centres; shapes stay as they are.

    Parameters
    ----------
    faces : array-like of shape (..., n_landmarks, 2) or (..., 2·n_landmarks)
        Landmarks, x before y. Faces that are NaN stay NaN.
    eyes : pair of sequences of int
        Landmarks of the eyes, the left of the picture first; those of the usual 68 landmarks by default.

    Returns
    -------
    array of the shape of ``faces``

    Examples
    --------
    >>> faces = np.random.default_rng(0).normal(size=(3, 68, 2))
    >>> bool(np.allclose(align_landmarks(faces)[:, 36:42].mean(axis=1), [0.35, 0.35]))
    True
    """
    faces = np.asarray(faces, dtype=float)
    if faces.ndim == 0 or faces.shape[-1] % 2:
        raise DataError(f"align_landmarks: faces must end with x and y of each landmark; got shape {faces.shape}.")
    pairs = faces if faces.shape[-1] == 2 else faces.reshape(*faces.shape[:-1], -1, 2)
    needed = 1 + max(max(eye) for eye in eyes)
    if pairs.ndim < 2 or pairs.shape[-2] < needed:
        raise DataError(f"align_landmarks: faces must have {needed} landmarks at least; got shape {faces.shape}.")
    points = pairs[..., 0] + 1j * pairs[..., 1]
    left, right = (points[..., list(eye)].mean(axis=-1, keepdims=True) for eye in eyes)
    if np.any(left == right):
        raise DataError("align_landmarks: a face has both eyes at one place.")
    with np.errstate(invalid="ignore"):  # faces that are NaN
        factor = (RIGHT_EYE - LEFT_EYE) / (right - left)
    turned = factor * (points - (left + right) / 2) + (LEFT_EYE + RIGHT_EYE) / 2
    return np.stack([turned.real, turned.imag], axis=-1).reshape(faces.shape)


def load_landmarks(
    folder: Any,
    pattern: str = "plain",
    *,
    emotions: Sequence[str] | Mapping[str, str] | None = None,
    n_landmarks: int = 68,
    align: bool = False,
) -> LandmarkData:
    r"""Read a folder of landmark files, one for each picture, into one array.

    Databases of faces such as KDEF and RaFD are given to researchers on request. Run a landmark detector on the
    pictures, write one file for each, and keep their names: they say who is on the picture and with which emotion.

    Parameters
    ----------
    folder : path
        With files ``.txt``, ``.csv`` (numbers that spaces, commas or semicolons separate, x before y; one line of
        names at the top is allowed), ``.pts`` or ``.npy``, also in folders below. Other files are ignored.
    pattern : str, default="plain"
        What the name of a file, without its ending, looks like:

        ========  ==================================================================  =====================
        "plain"   identity, underscore, emotion                                       ``anna_happy.txt``
        "kdef"    frontal pictures of KDEF; the two sessions are two identities       ``AF01HAS.txt``
        "rafd"    frontal pictures of RaFD with the eyes ahead                        ``Rafd090_01_…_happy_frontal``
        ========  ==================================================================  =====================

        or a regular expression with groups ``identity`` and ``emotion``, such as
        ``r"(?P<emotion>[a-z]+)-(?P<identity>\d+)"``. It must match the whole name; case does not matter. Files with
        other names are left out.
    emotions : sequence of str or mapping, optional
        Which emotions, in which order; by default all that occur, neutral first. A mapping such as
        ``{"ne": "neutral"}`` also translates the codes of file names. Names are in lower case.
    n_landmarks : int, default=68
        Landmarks of each face.
    align : bool, default=False
        Move the eyes of all faces to the same places, as :func:`align_landmarks` does; 68 landmarks only.

    Returns
    -------
    LandmarkData
        ``Y, identities, names``, a named tuple; ``Y`` (n_identities, n_emotions, 2·n_landmarks) has NaN for pictures
        that are missing. ``emotion_coordinates(names)`` are places in the plane of emotions.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("anna_neutral", "anna_happy", "bert_neutral"):
    ...         np.save(f"{folder}/{name}.npy", np.ones((68, 2)))
    ...     data = load_landmarks(folder)
    >>> data.Y.shape, data.identities, data.names
    ((2, 2, 136), ('anna', 'bert'), ('neutral', 'happy'))
    >>> bool(np.isnan(data.Y[1, 1]).all())
    True
    """
    check_number("load_landmarks", "n_landmarks", n_landmarks, low=1, strict=False, integer=True)
    if align and n_landmarks != 68:
        hint = "Load without and call align_landmarks(Y, eyes) with the places of the eyes."
        raise parameter_error("load_landmarks", "align", align, "False unless there are 68 landmarks", hint)
    if isinstance(emotions, str):
        raise parameter_error("load_landmarks", "emotions", emotions, "a sequence of names or a mapping")
    files = _name_files(folder, pattern, emotions)
    identities = tuple(sorted({identity for identity, _ in files}))
    found = {emotion for _, emotion in files}
    names = tuple(sorted(found, key=lambda name: (name != "neutral", name)))
    if emotions is not None:
        names = tuple(dict.fromkeys(emotions.values() if isinstance(emotions, Mapping) else emotions))
    Y = np.full((len(identities), len(names), 2 * n_landmarks), np.nan)
    for (identity, emotion), path in files.items():
        Y[identities.index(identity), names.index(emotion)] = _read_face(path, n_landmarks)
    return LandmarkData(align_landmarks(Y) if align else Y, identities, names)


def _name_files(folder: Any, pattern: str, emotions: Any) -> dict[tuple[str, str], Path]:
    """Return the files of the folder by (identity, emotion)."""
    folder = Path(folder)
    if not folder.is_dir():
        raise DataError(f"load_landmarks: {str(folder)!r} is not a folder.")
    expression = _compile(pattern)
    codes = emotions if isinstance(emotions, Mapping) else CODES.get(pattern, {})
    wanted = None if emotions is None else set(codes.values() if codes is emotions else emotions)
    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in ENDINGS)
    files: dict[tuple[str, str], Path] = {}
    seen = set()
    for path in paths:
        match = expression.fullmatch(path.stem)
        if match is None:
            continue
        code = match["emotion"].lower()
        emotion = codes.get(code, code)
        seen.add(emotion)
        if wanted is not None and emotion not in wanted:
            continue
        key = match["identity"], emotion
        if key in files:
            raise DataError(f"load_landmarks: {files[key].name} and {path.name} are both {key[0]}, {emotion}.")
        files[key] = path
    if not files:
        examples = (
            f"such as {', '.join(path.name for path in paths[:3])}" if paths else f"none ends with {', '.join(ENDINGS)}"
        )
        emotions_seen = f" Emotions that occur are {', '.join(sorted(seen))}." if seen else ""
        raise DataError(
            f"load_landmarks: no file in {str(folder)!r} has a name of the pattern {expression.pattern!r} and a wanted "
            f"emotion; the files are {len(paths)}, {examples}.{emotions_seen}"
        )
    return files


def _compile(pattern: str) -> re.Pattern[str]:
    allowed = f"one of {', '.join(map(repr, PATTERNS))} or a regular expression with groups identity and emotion"
    if not isinstance(pattern, str):
        raise parameter_error("load_landmarks", "pattern", pattern, allowed)
    try:
        expression = re.compile(PATTERNS.get(pattern, pattern), re.IGNORECASE)
    except re.error as error:
        raise parameter_error(
            "load_landmarks", "pattern", pattern, allowed, f"It does not compile: {error}."
        ) from error
    if not {"identity", "emotion"} <= set(expression.groupindex):
        raise parameter_error("load_landmarks", "pattern", pattern, allowed, "Groups are written (?P<identity>...).")
    return expression


def _read_face(path: Path, n_landmarks: int) -> np.ndarray:
    """Return the numbers of a file, x before y."""
    try:
        values = np.load(path, allow_pickle=False) if path.suffix.lower() == ".npy" else _read_text(path)
        values = np.asarray(values, dtype=float)
    except (ValueError, OSError) as error:
        raise DataError(f"load_landmarks: {path.name} cannot be read as numbers; {error}.") from error
    if values.ndim > 2 or (values.ndim == 2 and values.shape[1] not in (1, 2) and len(values) > 1):
        raise DataError(f"load_landmarks: {path.name} must have two columns, x and y; got shape {values.shape}.")
    if values.size != 2 * n_landmarks:
        raise DataError(
            f"load_landmarks: {path.name} must have {n_landmarks} landmarks, {2 * n_landmarks} numbers; got "
            f"{values.size} numbers. n_landmarks says how many there are."
        )
    if not np.all(np.isfinite(values)):
        raise DataError(
            f"load_landmarks: {path.name} has numbers that are not finite. Leave out faces without landmarks."
        )
    return values.ravel()


def _read_text(path: Path) -> np.ndarray:
    """Return the numbers of a text, as an array of as many columns as its lines have numbers."""
    text = path.read_text(encoding="utf-8-sig")
    if path.suffix.lower() == ".pts":  # version: 1, n_points: 68, {, the points, }
        text = text.partition("{")[2].partition("}")[0]
    lines = [line.split() for line in re.sub(r"[,;\t]", " ", text).splitlines() if line.strip()]
    if lines and not any(_is_number(word) for word in lines[0]):
        lines = lines[1:]
    if len({len(line) for line in lines}) > 1:
        raise ValueError("its lines have different numbers of columns")
    return np.array([[float(word) for word in line] for line in lines])


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
