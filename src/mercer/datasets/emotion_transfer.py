"""Emotion transfer: from a face with one emotion, or with any, to the faces of the same person with all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mercer.exceptions import DataError, parameter_error

__all__ = ["TransferData", "emotion_transfer"]


class TransferData(NamedTuple):
    """Samples of :func:`emotion_transfer`."""

    X: np.ndarray
    """Faces to start from, (n_samples, p)."""
    Y: np.ndarray
    """Faces of the same person with each emotion, (n_samples, n_emotions, p); NaN where there is no picture."""
    persons: np.ndarray
    """The person of each sample, (n_samples,): the groups of a split that keeps persons together."""


def emotion_transfer(faces: Any, source: str = "joint", names: Sequence[str] | None = None) -> TransferData:
    """Return inputs and outputs of a regression from faces with one emotion, or with any, to all emotions.

    With an emotion as ``source`` each person is a sample, whose input is the face with that emotion. With "joint" each
    face of each person is one, so that a model learns to start from whatever a face shows: t = n·m samples in place of
    n, with m·t targets. Pictures that are missing are no inputs. Samples of one person belong together in splits, for
    instance by ``sklearn.model_selection.GroupKFold`` with ``persons`` as groups.

    Parameters
    ----------
    faces : FaceData, LandmarkData or array-like of shape (n_persons, n_emotions, p)
        Faces, as :func:`make_faces` and :func:`load_landmarks` return them; NaN where there is no picture.
    source : str, default="joint"
        The emotion to start from, or "joint".
    names : sequence of str, optional
        Names of the emotions; those of ``faces`` by default.

    Returns
    -------
    TransferData
        ``X, Y, persons``, a named tuple.

    Examples
    --------
    >>> from mercer import FunctionalRegressor
    >>> from mercer.datasets import make_faces
    >>> faces = make_faces(12, random_state=0)
    >>> emotion_transfer(faces, "happy").X.shape
    (12, 136)
    >>> X, Y, persons = emotion_transfer(faces)
    >>> X.shape, Y.shape
    ((84, 136), (84, 7, 136))
    >>> FunctionalRegressor(grid=faces.emotions, alpha=1e-4).fit(X, Y).predict(X[:2]).shape
    (2, 7, 136)
    """
    names = tuple(getattr(faces, "names", ())) if names is None else tuple(names)
    Y = np.asarray(getattr(faces, "Y", faces), dtype=float)
    if Y.ndim != 3:
        raise DataError(f"emotion_transfer: faces must have shape (n_persons, n_emotions, p); got {Y.shape}.")
    if names and len(names) != Y.shape[1]:
        raise DataError(f"emotion_transfer: there are {len(names)} names for {Y.shape[1]} emotions.")
    if not (isinstance(source, str) and source in ("joint", *names)):
        allowed = " or ".join(map(repr, ("joint", *names)))
        hint = "" if names else "Pass names= of the emotions to start from one of them."
        raise parameter_error("emotion_transfer", "source", source, allowed, hint)
    emotions = range(Y.shape[1]) if source == "joint" else [names.index(source)]
    inputs = Y[:, emotions]
    persons, shown = np.nonzero(~np.isnan(inputs).any(axis=2))
    if not len(persons):
        raise DataError(f"emotion_transfer: no face of the source {source!r} is complete.")
    return TransferData(inputs[persons, shown], Y[persons], persons)
