"""Which classes a file may name: those of mercer that are there, by their names. Nothing is imported for a file."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.stats
from scipy.stats import rv_continuous
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import (
    KFold,
    LeaveOneOut,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
)

from mercer._params import Params
from mercer._state import Stateful

__all__ = ["DISTRIBUTIONS", "SCALARS", "LENT", "classes_below", "is_ours", "known_classes", "parameters_of"]

#: what is lent from scikit-learn: splitters, and a mark on fitted estimators, that are what their parameters say
LENT: dict[str, type] = {
    "FrozenEstimator": FrozenEstimator,
    "KFold": KFold,
    "LeaveOneOut": LeaveOneOut,
    "ShuffleSplit": ShuffleSplit,
    "StratifiedKFold": StratifiedKFold,
    "StratifiedShuffleSplit": StratifiedShuffleSplit,
    "TimeSeriesSplit": TimeSeriesSplit,
}
#: NumPy's numbers that are one of Python's with a size, and its text
SCALARS: dict[str, Any] = {
    name: getattr(np, name)
    for name in (
        *("bool", "str_", "float16", "float32", "float64"),
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    )
}
#: SciPy's distributions, which measures may be sampled from
DISTRIBUTIONS: dict[str, rv_continuous] = {
    name: value for name, value in vars(scipy.stats).items() if isinstance(value, rv_continuous)
}


def known_classes() -> dict[str, type]:
    """Return mercer's records, states and estimators by name: what is imported and found where it says it is.

    Names of two classes are left out; no two have the same in the house.
    """
    found: dict[str, set[type]] = {}
    bases: tuple[type, ...] = (Params, Stateful, BaseEstimator)
    for base in bases:
        for kind in classes_below(base):
            if is_ours(kind) and not inspect.isabstract(kind):
                found.setdefault(kind.__name__, set()).add(kind)
    return {name: kinds.pop() for name, kinds in found.items() if len(kinds) == 1}


def is_ours(kind: type) -> bool:
    """Say whether a class is one of mercer's, and not one that only says so."""
    module = sys.modules.get(kind.__module__)
    return kind.__module__.startswith("mercer.") and getattr(module, kind.__name__, None) is kind


def classes_below(base: type) -> Iterator[type]:
    """Yield the classes that derive from a class."""
    kinds: list[type] = type.__subclasses__(base)
    for kind in kinds:
        yield kind
        yield from classes_below(kind)


def parameters_of(value: Any) -> dict[str, Any]:
    """Return what a record, a state or a lent object is made of: parameters or fields, by name."""
    if isinstance(value, Params):
        return value.get_params(deep=False)
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    maker: Callable[..., Any] = type(value).__init__
    return {name: getattr(value, name) for name in inspect.signature(maker).parameters if hasattr(value, name)}
