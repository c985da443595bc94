"""Parameter records: what a user passes is a small, comparable, printable, tunable dataclass."""

from __future__ import annotations

import copy
import dataclasses
import math
import numbers
from typing import Any, Self

import numpy as np

from mercer.exceptions import MercerError, ParameterError, parameter_error

__all__ = ["Params", "check_number", "read_numbers"]


@dataclasses.dataclass(eq=False, repr=False)
class Params:
    """Base of kernels, losses, measure rules and solvers: ``get_params``, ``set_params``, ``==`` and ``repr``.

    Subclasses are ``@dataclass(eq=False, repr=False)``. They override :meth:`_check` to refuse bad values; it runs
    on construction and after :meth:`set_params`. Nested records are reached as ``kernel__gamma``, as in
    scikit-learn, whose ``clone`` and ``GridSearchCV`` work on these records.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> kernel = 2.0 * Gaussian(gamma=3.0)
    >>> kernel.get_params()["kernel__gamma"]
    3.0
    >>> kernel == 2.0 * Gaussian(gamma=3.0)
    True
    """

    def __post_init__(self) -> None:
        self._check()

    def _check(self) -> None:
        """Refuse values that are not allowed; called on construction and by ``set_params``."""

    @classmethod
    def _names(cls) -> list[str]:
        return [field.name for field in dataclasses.fields(cls)]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; with ``deep`` also those of nested records as ``outer__inner``."""
        params = {name: getattr(self, name) for name in self._names()}
        if deep:
            for name, value in list(params.items()):
                if isinstance(value, Params):
                    params |= {f"{name}__{key}": inner for key, inner in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters in place (``outer__inner`` for nested records) and return the record."""
        before = [(record, record.get_params(deep=False)) for record in self._tree()]
        try:
            self._assign(params)
            self._check()
        except MercerError:  # a refused value leaves the record, nested ones included, as it was
            for record, values in before:
                for name, value in values.items():
                    setattr(record, name, value)
            raise
        return self

    def _tree(self) -> list[Params]:
        """The record and those nested in it."""
        inner = [value for value in self.get_params(deep=False).values() if isinstance(value, Params)]
        return [self, *(record for value in inner for record in value._tree())]

    def _assign(self, params: dict[str, Any]) -> None:
        names = self._names()
        nested: dict[str, dict[str, Any]] = {}  # set after the rest and together, as they may depend on each other
        for key, value in params.items():
            name, _, rest = key.partition("__")
            if name not in names:
                raise ParameterError(
                    f"{type(self).__name__}: {name!r} is not one of its parameters, which are {', '.join(names)}."
                )
            if rest:
                nested.setdefault(name, {})[rest] = value
            else:
                setattr(self, name, value)
        for name, inner_params in nested.items():
            inner = getattr(self, name)
            if not isinstance(inner, Params):
                raise ParameterError(
                    f"{type(self).__name__}: cannot set {name + '__' + next(iter(inner_params))!r} because {name} is "
                    f"{inner!r}, which has no parameters of its own."
                )
            inner.set_params(**inner_params)

    def replace(self, **params: Any) -> Self:
        """Return a copy with some parameters changed; the record itself, nested ones included, stays as it is."""
        other = copy.deepcopy(self)
        return other.set_params(**params) if params else other

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(_same(getattr(self, name), getattr(other, name)) for name in self._names())

    __hash__ = None  # type: ignore[assignment]  # records are mutable through set_params

    def __repr__(self) -> str:
        shown = []
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.default is dataclasses.MISSING or not _same(value, field.default):
                shown.append(f"{field.name}={_short(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"


def _same(left: Any, right: Any) -> bool:
    if left is right:
        return True
    if hasattr(left, "shape") or hasattr(right, "shape"):
        try:
            return bool(np.array_equal(np.asarray(left), np.asarray(right)))
        except (TypeError, ValueError):
            return False
    if hasattr(left, "dist") and hasattr(right, "dist"):  # frozen SciPy distributions do not define ==
        same_family = type(left.dist) is type(right.dist)
        return same_family and (left.args, left.kwds) == (right.args, right.kwds)
    return type(left) is type(right) and bool(left == right)


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return np.array2string(value, precision=4, threshold=6, separator=", ").replace("\n", "")
    if isinstance(value, float):
        return f"{value:.6g}"
    if hasattr(value, "dist") and hasattr(value, "kwds"):
        arguments = [f"{v:g}" for v in value.args] + [f"{k}={v:g}" for k, v in value.kwds.items()]
        return f"{value.dist.name}({', '.join(arguments)})"
    if callable(value) and hasattr(value, "__name__"):
        return value.__name__
    return repr(value)


def check_number(
    owner: object,
    name: str,
    value: Any,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    strict: bool = True,
    integer: bool = False,
    hint: str = "",
) -> None:
    """Refuse ``value`` unless it is a finite number in the interval; ``strict`` excludes its finite ends."""
    kind = numbers.Integral if integer else numbers.Real
    good = isinstance(value, kind) and not isinstance(value, (bool, np.bool_))
    if good:
        number = _float(value)  # single precision has no room for some bounds, and integers may be beyond all floats
        number = value if integer and math.isfinite(number) else number
        good = math.isfinite(number) and (low < number < high if strict else low <= number <= high)
    if not good:
        noun = "an integer" if integer else "a finite number"
        raise parameter_error(owner, name, value, noun + _interval(low, high, strict), hint)


def _float(value: Any) -> float:
    """Return a number as a float: infinite where it is beyond all of them."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _interval(low: float, high: float, strict: bool) -> str:
    if low == -math.inf and high == math.inf:
        return ""
    if high == math.inf:
        return f" {'>' if strict else '>='} {low:g}"
    if low == -math.inf:
        return f" {'<' if strict else '<='} {high:g}"
    return f" in {'(' if strict else '['}{low:g}, {high:g}{')' if strict else ']'}"


def read_numbers(values: Any) -> np.ndarray:
    """Return numbers as an array of floats; a TypeError for text, also where it reads like a number.

    Examples
    --------
    >>> read_numbers([0.1, 1])
    array([0.1, 1. ])
    >>> read_numbers("0.5")
    Traceback (most recent call last):
    TypeError: '0.5' holds text
    """
    array = np.asarray(values)
    texts = array.dtype == "O" and any(isinstance(value, (str, bytes)) for value in array.ravel())
    if array.dtype.kind in "US" or texts:
        raise TypeError(f"{values!r} holds text")
    return array.astype(float, copy=False)
