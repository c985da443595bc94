"""Fitted models as files, without pickle: what they consist of is written down, and made again by their classes."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from mercer._version import __version__
from mercer.exceptions import MercerError, ModelFileError, ParameterTypeError, UnsupportedError
from mercer.io.archive import Archive, add, new_archive, opened
from mercer.io.arrays import array_bytes, read_array
from mercer.io.history import SCHEMA
from mercer.io.limits import MOST_DIRECTORY_BYTES, MOST_JSON_BYTES, MOST_VALUES
from mercer.io.reading import Reader
from mercer.io.writing import ELSEWHERE, Writer

__all__ = ["ModelSummary", "load", "save", "summary_of"]

#: the name of the format, and of the members of a file
FORMAT, CONTENTS, MODEL = "mercer model", "contents.json", "model.json"


def save(model: BaseEstimator, path: str | Path, *, notes: Mapping[str, Any] | None = None) -> None:
    """Write an estimator to a file that runs no code when it is opened, whoever wrote it.

    The file is a zip archive: a text that says what the model consists of, parameters and all that ``fit`` has left,
    its arrays in NumPy's format, and a list of contents with checksums and versions. :func:`load` makes the same
    model again, to the last bit. Equal models are equal files.

    Parameters
    ----------
    model : estimator
        One of mercer's, fitted or not, with parts that are mercer's or plain values. Functions and classes of one's own
        are code, and refused: write such models by ``joblib`` or ``skops``.
    path : str or Path
        Where; what is there is replaced when the new file is complete.
    notes : mapping, optional
        What to keep beside the model, such as the names of targets: text, numbers, and lists and mappings of these.

    Examples
    --------
    >>> import tempfile
    >>> from mercer import KernelQuantileRegressor
    >>> from mercer.datasets import make_sine
    >>> X, y = make_sine(60, random_state=0)
    >>> model = KernelQuantileRegressor().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/sine.mercer")
    ...     again = load(f"{folder}/sine.mercer")
    >>> bool(np.array_equal(again.predict(X), model.predict(X)))
    True
    """
    if not isinstance(model, BaseEstimator):
        raise ParameterTypeError(f"mercer.save: model must be an estimator of mercer; got {type(model).__name__}.")
    writer = Writer()
    text = _text(writer.write(model, type(model).__name__))
    if len(text) > MOST_JSON_BYTES or _values(text) > MOST_VALUES:
        raise UnsupportedError(f"mercer.save: the model holds more single values than a file may have. {ELSEWHERE}")
    contents = {
        "format": FORMAT,
        "schema": SCHEMA,
        "class": type(model).__name__,
        "versions": _versions(),
        "notes": _text_safe(dict(notes or {})),
    }
    members: dict[str, Any] = {}
    with new_archive(Path(path)) as archive:
        for name, data in _members(text, writer.arrays):
            add(archive, name, data)
            members[name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        add(archive, CONTENTS, _text(contents | {"members": members}))


def load(path: str | Path) -> Any:
    """Return the model of a file that :func:`save` wrote; no code runs, whatever the file holds.

    Classes are those of mercer, looked up by name; sizes are checked before anything is allocated, and so are the
    checksums of all that is read. Files of older versions load.

    Parameters
    ----------
    path : str or Path
        The file. What is foreign, truncated, changed, or of a newer version gives a
        :class:`~mercer.exceptions.ModelFileError`.
    """
    with opened(Path(path)) as archive:
        return _Members(archive).model()


@dataclass(frozen=True)
class ModelSummary:
    """What a file says of itself, read without making the model.

    Attributes
    ----------
    name : str
        The class of the model.
    schema : int
        The version of the layout of the file.
    versions : dict
        The versions of mercer and of what it rests on that wrote the file.
    notes : dict
        What was kept beside the model.
    size : int
        Bytes of all members.
    """

    name: str
    schema: int
    versions: dict[str, str]
    notes: dict[str, Any]
    size: int


def summary_of(path: str | Path) -> ModelSummary:
    """Return what a file says of itself."""
    with opened(Path(path)) as archive:
        contents = _Members(archive).contents
    size = sum(member["bytes"] for member in contents["members"].values())
    return ModelSummary(contents["class"], contents["schema"], contents["versions"], contents["notes"], size)


class _Members:
    """The members of a file, checked against its list of contents when they are read."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self.contents = _contents(archive)
        self._arrays: dict[int, np.ndarray] = {}
        self._unread = set(self.contents["members"])
        if archive.names != self._unread | {CONTENTS}:
            raise ModelFileError("its members are not those of its list of contents.")

    def model(self) -> Any:
        """Return the model, all members read."""
        value = _value(self._read(MODEL, MOST_JSON_BYTES))
        try:
            model = Reader(self._array).read(value)
        except (ModelFileError, MemoryError):
            raise
        except MercerError as error:
            raise ModelFileError(f"what it says makes no model. {error}") from error
        except Exception as error:  # constructors may raise anything when they are given nonsense
            raise ModelFileError(f"what it says makes no model ({type(error).__name__}).") from error
        if type(model).__name__ != self.contents["class"] or not isinstance(model, BaseEstimator):
            raise ModelFileError(f"it does not hold the {self.contents['class'][:60]} that it says it holds.")
        if self._unread:
            raise ModelFileError("it has members that are no part of the model.")
        return model

    def _read(self, name: str, most: int | None = None) -> bytearray:
        promised = self.contents["members"].get(name)
        if promised is None:
            raise ModelFileError(f"its list of contents has no {name!r}.")
        data = self._archive.read(name, most)
        if len(data) != promised["bytes"] or hashlib.sha256(data).hexdigest() != promised["sha256"]:
            raise ModelFileError(f"its member {name[:60]!r} was changed: the checksum is another one.")
        self._unread.discard(name)
        return data

    def _array(self, number: int) -> np.ndarray:
        if number not in self._arrays:
            self._arrays[number] = read_array(self._read(_array_name(number)))
        return self._arrays[number]


def _array_name(number: int) -> str:
    return f"arrays/{number}.npy"


def _members(text: bytes, arrays: list[np.ndarray]) -> Any:
    yield MODEL, text
    for number, array in enumerate(arrays):
        yield _array_name(number), array_bytes(array)


def _contents(archive: Archive) -> dict[str, Any]:
    """Return the list of contents, if it is one."""
    if CONTENTS not in archive.names:
        raise ModelFileError(f"it is a zip archive without {CONTENTS!r}, which mercer.save did not write.")
    contents = _value(archive.read(CONTENTS, MOST_DIRECTORY_BYTES))
    if not isinstance(contents, dict) or contents.get("format") != FORMAT or type(contents.get("schema")) is not int:
        raise ModelFileError("its list of contents is not that of a model.")
    if not 1 <= contents["schema"] <= SCHEMA:
        raise ModelFileError(
            f"its layout has version {contents['schema']}, this mercer reads 1 to {SCHEMA}. Update mercer."
        )
    kinds = {"class": str, "versions": dict, "notes": dict, "members": dict}
    if not all(isinstance(contents.get(name), kind) for name, kind in kinds.items()):
        raise ModelFileError("its list of contents is not that of a model.")
    members = contents["members"].values()
    if not all(isinstance(one, dict) and type(one.get("bytes")) is int and "sha256" in one for one in members):
        raise ModelFileError("its list of contents has no checksums.")
    return contents


def _text(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")


def _values(text: bytes | bytearray) -> int:
    """Return how many values a text has at most."""
    return 1 + sum(text.count(mark) for mark in (b",", b"[", b"{", b":"))


def _value(text: bytearray) -> Any:
    """Return what a text says, if that is not too much."""
    if _values(text) > MOST_VALUES:
        raise ModelFileError(f"a text in it holds more than {MOST_VALUES} values.")
    try:
        return json.loads(text.decode("ascii"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ModelFileError("a text in it is not JSON.") from error


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _text_safe(notes: dict[str, Any]) -> dict[str, Any]:
    """Return notes as they will be read, if text can hold them."""
    try:
        return json.loads(_text(notes))
    except (TypeError, ValueError) as error:
        raise ParameterTypeError(
            f"mercer.save: notes must be text, finite numbers, lists and mappings of these; {error}."
        ) from error


def _versions() -> dict[str, str]:
    libraries = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    return {"mercer": __version__, "python": platform.python_version()} | libraries
