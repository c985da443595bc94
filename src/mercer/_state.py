"""States: what an immutable object consists of, written down without the object."""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Iterator
from typing import Any, Self

import array_api_compat as compat
import numpy as np

from mercer._params import Params
from mercer.exceptions import DataError

__all__ = ["Stateful", "is_plain"]

#: the entry of a state that names the class: as a word of the language it is the name of no field
CLASS = "class"


class Stateful:
    """Base of what fits leave behind: functions, representers, bases, measures, layouts of outputs.

    Subclasses are frozen dataclasses. Their fields are arrays, numbers, strings, None, records
    (:class:`~mercer._params.Params`), other objects with a state, and tuples of these.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.measures import Measure
    >>> state = Measure(np.array([0.2, 0.8]), np.array([0.5, 0.5])).state()
    >>> state["class"], state["weights"], state["observed"]
    ('Measure', array([0.5, 0.5]), None)
    >>> Measure.from_state(state).total
    1.0
    """

    def state(self) -> dict[str, Any]:
        """Return what the object consists of: the name of its class as ``"class"``, and its fields by name.

        Arrays (not copies), numbers, strings, None and records are as they are; other objects are their own states.
        """
        values = {field.name: _written(getattr(self, field.name)) for field in dataclasses.fields(self)}  # type: ignore[arg-type]
        return {CLASS: type(self).__name__} | values

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return the object of a :meth:`state`; what it computes is the same, to the last bit.

        The state names the class, which has to be this one or one that derives from it.
        """
        kind = cls._named(state.get(CLASS))
        if kind is not cls:
            return kind.from_state(state)
        return cls(**{name: _made(value) for name, value in state.items() if name != CLASS})

    @classmethod
    def _named(cls, name: Any) -> type[Self]:
        """Return the class of that name: this one, or one below it; what was defined anew counts once."""
        if name == cls.__name__:
            return cls
        found = {(kind.__module__, kind.__qualname__): kind for kind in cls._kinds() if kind.__name__ == name}
        if len(found) != 1:
            several = "several classes have that name. Call from_state of the right one."
            unknown = f"no class below {cls.__name__} has that name. Import the module that defines it."
            why = several if found else unknown
            raise DataError(f"{cls.__name__}.from_state: state['class'] is {name!r}, but {why}")
        return found.popitem()[1]

    @classmethod
    def _kinds(cls) -> Iterator[type[Self]]:
        for kind in cls.__subclasses__():
            yield kind
            yield from kind._kinds()


def _written(value: Any) -> Any:
    """Return the state of an object that has one, also within tuples, and anything else as it is."""
    if isinstance(value, Stateful):
        return value.state()
    return tuple(map(_written, value)) if type(value) is tuple else value


def _made(value: Any) -> Any:
    """Return the object of a state, also within tuples; a dict of a user's own, without a class, stays one."""
    if isinstance(value, dict) and CLASS in value:
        return Stateful.from_state(value)
    return tuple(map(_made, value)) if type(value) is tuple else value


def is_plain(value: Any) -> bool:
    """Say whether a state can be written down: arrays, numbers, text, None, what is made of them, and records.

    Parameters of a record may be objects with such a state. Functions of the user within a record (a FeatureKernel,
    say) are theirs to keep.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> is_plain({"kernel": Gaussian(2.0), "size": 3}), is_plain({"function": abs})
    (True, False)
    """
    if value is None or isinstance(value, (str, numbers.Number, np.generic)) or compat.is_array_api_obj(value):
        return True
    if isinstance(value, (tuple, list, dict)):
        return all(map(is_plain, value.values() if isinstance(value, dict) else value))
    return isinstance(value, Params) and all(map(_is_parameter, value.get_params(deep=False).values()))


def _is_parameter(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return all(map(_is_parameter, value))
    return is_plain(value.state() if isinstance(value, Stateful) else value) or callable(value)
