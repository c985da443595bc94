"""From text and arrays to a model, by classes that are there; see ``writing.py`` for what the text says."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from mercer._params import Params
from mercer._state import Stateful
from mercer.exceptions import ModelFileError
from mercer.io.history import class_today, fields_today
from mercer.io.limits import MOST_DEPTH
from mercer.io.registry import DISTRIBUTIONS, LENT, SCALARS, known_classes
from mercer.kernels.objects import Graph

__all__ = ["Reader"]

#: the base that a class must have, for each kind of object
BASES = {"record": Params, "state": Stateful, "estimator": BaseEstimator}


class Reader:
    """Makes values of what :class:`mercer.io.writing.Writer` wrote.

    Parameters
    ----------
    take : callable
        Returns the array of a number; the same one where it is asked for again.
    """

    def __init__(self, take: Callable[[int], np.ndarray]) -> None:
        self._take = take
        self._known = known_classes()

    def read(self, value: Any, depth: int = 0) -> Any:
        """Return the value that was written as ``value``."""
        if depth > MOST_DEPTH:
            raise ModelFileError(f"its objects are nested more than {MOST_DEPTH} times.")
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, list):
            return self._items(value, depth)
        kind = value.get("kind")
        if kind in ("record", "state", "estimator"):
            return self._object(kind, value, depth)
        made = getattr(self, f"_read_{kind}", None) if kind in PLAIN else None
        if made is None:
            raise ModelFileError(f"it holds something of the unknown kind {str(kind)[:40]!r}.")
        return made(value, depth)

    def _items(self, values: Any, depth: int) -> list[Any]:
        if not isinstance(values, list):
            raise ModelFileError("it has a list that is none.")
        return [self.read(value, depth + 1) for value in values]

    def _fields(self, values: Any, depth: int) -> dict[str, Any]:
        if not isinstance(values, dict):
            raise ModelFileError("it has an object without fields.")
        return {name: self.read(value, depth + 1) for name, value in values.items()}

    def _object(self, kind: str, value: dict[str, Any], depth: int) -> Any:
        """Return a record, a state or an estimator of a class of that name, made by its constructor."""
        name = class_today(str(value.get("class")))
        known = self._known.get(name)
        if known is None or not issubclass(known, BASES[kind]):
            raise ModelFileError(
                f"it holds a {kind} {name[:60]!r}, which this version of mercer does not have. If a newer version "
                "wrote the file, update mercer."
            )
        fields = fields_today(name, self._fields(value.get("params" if kind == "estimator" else "fields"), depth))
        made = known(**fields)
        if kind == "estimator":
            fitted = fields_today(name, self._fields(value.get("fitted"), depth))
            vars(made).update(_checked(known, fields, fitted))
        return made

    def _read_float(self, value: dict[str, Any], depth: int) -> float:
        return {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}[value["value"]]

    def _read_bytes(self, value: dict[str, Any], depth: int) -> bytes:
        return bytes.fromhex(value["value"])

    def _read_tuple(self, value: dict[str, Any], depth: int) -> tuple[Any, ...]:
        return tuple(self._items(value["items"], depth))

    def _read_set(self, value: dict[str, Any], depth: int) -> set[Any]:
        return set(self._items(value["items"], depth))

    def _read_frozenset(self, value: dict[str, Any], depth: int) -> frozenset[Any]:
        return frozenset(self._items(value["items"], depth))

    def _read_graph(self, value: dict[str, Any], depth: int) -> Graph:
        return Graph(*self._items(value["items"], depth))

    def _read_slice(self, value: dict[str, Any], depth: int) -> slice:
        start, stop, step = self._items(value["items"], depth)
        return slice(start, stop, step)

    def _read_dict(self, value: dict[str, Any], depth: int) -> dict[Any, Any]:
        return dict(self._items(value["items"], depth))

    def _read_array(self, value: dict[str, Any], depth: int) -> np.ndarray:
        number = value["number"]
        if type(number) is not int:
            raise ModelFileError("it has an array without a number.")
        return self._take(number)

    def _read_scalar(self, value: dict[str, Any], depth: int) -> np.generic:
        return SCALARS[value["type"]](self.read(value["value"], depth))

    def _read_objects(self, value: dict[str, Any], depth: int) -> np.ndarray:
        items = self._items(value["items"], depth)
        array = np.empty(len(items), dtype=object)
        for place, item in enumerate(items):
            array[place] = item
        shape = value["shape"]
        if not (isinstance(shape, list) and all(type(size) is int and size >= 0 for size in shape)):
            raise ModelFileError("it has an array of a strange shape.")
        return array.reshape(shape)

    def _read_lent(self, value: dict[str, Any], depth: int) -> Any:
        return LENT[value["class"]](**self._fields(value["fields"], depth))

    def _read_distribution(self, value: dict[str, Any], depth: int) -> Any:
        arguments, named = self._items(value["args"], depth), self._fields(value["fields"], depth)
        if not all(isinstance(number, numbers.Real) for number in [*arguments, *named.values()]):
            raise ModelFileError("it has a distribution with parameters that are no numbers.")
        return DISTRIBUTIONS[value["class"]](*arguments, **named)


#: kinds of what is no object of a class of mercer
PLAIN = {name.removeprefix("_read_") for name in vars(Reader) if name.startswith("_read_")}


def _checked(known: type, params: dict[str, Any], fitted: dict[str, Any]) -> dict[str, Any]:
    """Return what a fit has left, by names that hide neither parameters nor what the class can do."""
    for name in fitted:
        hides = hasattr(getattr(known, name, None), "__get__") or callable(getattr(known, name, None))
        if not name.isidentifier() or name.startswith("__") or name in params or hides:
            raise ModelFileError(f"it gives a {known.__name__} an attribute {name[:60]!r}, which no fit leaves.")
    return fitted
