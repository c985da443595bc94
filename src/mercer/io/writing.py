"""From a model to text and arrays: values that JSON has not are objects with a ``"kind"``."""

from __future__ import annotations

import math
from typing import Any

import array_api_compat as compat
import numpy as np
from sklearn.base import BaseEstimator

from mercer._params import Params
from mercer._state import Stateful
from mercer.exceptions import UnsupportedError
from mercer.io.arrays import is_numeric
from mercer.io.limits import MOST_DEPTH, MOST_MEMBERS
from mercer.io.registry import DISTRIBUTIONS, LENT, SCALARS, known_classes, parameters_of
from mercer.kernels.objects import Graph

__all__ = ["ELSEWHERE", "Writer"]

#: what to do with models that have parts of others
ELSEWHERE = (
    "Write the model with joblib.dump, or skops.io.dump, and keep the code of that part with it; such files are to be "
    "opened by those who trust them only."
)


class Writer:
    """Writes values down, and gathers their arrays, each once however often it occurs.

    Attributes
    ----------
    arrays : list of ndarray
        The arrays of all that was written, in the order of the numbers that stand for them.
    """

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self._numbers: dict[int, int] = {}
        self._known = known_classes()

    def write(self, value: Any, place: str, depth: int = 0) -> Any:
        """Return a value as JSON has it; ``place`` says where it was found, for errors."""
        if depth > MOST_DEPTH:
            raise UnsupportedError(f"mercer.save: {place} is nested more than {MOST_DEPTH} times.")
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"kind": "float", "value": repr(value)}
        if type(value) is list:
            return self._items(value, place, depth)
        if type(value) in (tuple, set, frozenset, slice, bytes, dict, Graph):
            return self._plain(value, place, depth)
        if type(value) in SCALARS.values():
            return {"kind": "scalar", "type": type(value).__name__, "value": self.write(value.item(), place, depth)}
        if type(value) in (np.ndarray, np.memmap):
            return self._array(np.asarray(value), place, depth)
        return self._object(value, place, depth)

    def _items(self, values: Any, place: str, depth: int) -> list[Any]:
        return [self.write(value, f"{place}[{number}]", depth + 1) for number, value in enumerate(values)]

    def _named(self, values: dict[str, Any], place: str, depth: int) -> dict[str, Any]:
        return {name: self.write(value, f"{place}.{name}", depth + 1) for name, value in values.items()}

    def _plain(self, value: Any, place: str, depth: int) -> dict[str, Any]:
        """Return a value of Python's own that JSON has not."""
        kind = type(value).__name__
        if kind == "bytes":
            return {"kind": kind, "value": value.hex()}
        if kind in ("set", "frozenset"):  # in an order of its own, so that equal models give equal files
            value = sorted(value, key=lambda item: (type(item).__name__, repr(item)))
        if kind == "slice":
            return {"kind": kind, "items": self._items([value.start, value.stop, value.step], place, depth)}
        if kind == "dict":
            pairs = [self._items(pair, f"{place}[{pair[0]!r}]", depth) for pair in value.items()]
            return {"kind": kind, "items": pairs}
        return {"kind": kind.lower(), "items": self._items(value, place, depth)}

    def _array(self, array: np.ndarray, place: str, depth: int) -> dict[str, Any]:
        """Return what stands for an array; one of objects is the list of them."""
        if array.dtype == object:
            items = self._items(array.ravel().tolist(), place, depth)
            return {"kind": "objects", "shape": list(array.shape), "items": items}
        if not is_numeric(array) or array.dtype.itemsize == 0:
            raise _refused(place, array.dtype, "Convert it to numbers of double precision or to text.")
        return {"kind": "array", "number": self._number(array)}

    def _number(self, array: np.ndarray) -> int:
        """Return the number of an array: that of the same object, where it was written before."""
        key = id(array)
        if key not in self._numbers:
            if len(self.arrays) >= MOST_MEMBERS - 2:
                raise UnsupportedError(
                    f"mercer.save: the model has more than {MOST_MEMBERS - 2} arrays, which is more than a file may "
                    f"have. {ELSEWHERE}"
                )
            self._numbers[key] = len(self.arrays)
            self.arrays.append(array)  # kept, so that no other array gets its id
        return self._numbers[key]

    def _object(self, value: Any, place: str, depth: int) -> dict[str, Any]:
        """Return a record, a state, an estimator, a lent object or a distribution by what it is made of."""
        name = type(value).__name__
        if self._known.get(name) is type(value):
            if isinstance(value, BaseEstimator):
                return self._estimator(value, place, depth)
            kind = "record" if isinstance(value, Params) else "state"
            return {"kind": kind, "class": name, "fields": self._named(parameters_of(value), place, depth)}
        if LENT.get(name) is type(value):
            return {"kind": "lent", "class": name, "fields": self._named(parameters_of(value), place, depth)}
        family = getattr(getattr(value, "dist", None), "name", None)
        if family in DISTRIBUTIONS and type(value).__module__.startswith("scipy."):
            arguments = self._items(value.args, place, depth)
            return {"kind": "distribution", "class": family, "args": arguments} | {
                "fields": self._named(value.kwds, place, depth)
            }
        raise _refused(place, value, remedy(value))

    def _estimator(self, value: BaseEstimator, place: str, depth: int) -> dict[str, Any]:
        """Return an estimator: its parameters, and what ``fit`` has left."""
        params = value.get_params(deep=False)
        fitted = {name: part for name, part in vars(value).items() if name not in params}
        return {
            "kind": "estimator",
            "class": type(value).__name__,
            "params": self._named(params, place, depth),
            "fitted": self._named(fitted, place, depth),
        }


def remedy(value: Any) -> str:
    """Say what to do with a value that is not mercer's."""
    if isinstance(value, (np.random.RandomState, np.random.Generator)):
        return "Pass an integer as random_state."
    if compat.is_array_api_obj(value):
        return "Fit the model with NumPy arrays, or write it with what writes arrays of that library."
    if hasattr(value, "best_estimator_"):
        return "Save its best_estimator_, if that is one of mercer's."
    if isinstance(value, (Params, Stateful)):
        return f"It is a class of your own, which a file cannot hold. {ELSEWHERE}"
    if isinstance(value, BaseEstimator):
        return f"Only mercer's own estimators are written. {ELSEWHERE}"
    if callable(value):
        return f"A function is code, which a file must not hold. {ELSEWHERE}"
    return ELSEWHERE


def _refused(place: str, value: Any, hint: str) -> UnsupportedError:
    name = getattr(value, "__qualname__", None) or type(value).__qualname__
    module = getattr(value, "__module__", None) or type(value).__module__
    return UnsupportedError(f"mercer.save: {place} is {module}.{name}, which is not part of mercer. {hint}")
