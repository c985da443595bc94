"""Methods that have a new name, and keep the old one for a while."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

__all__ = ["REMOVAL", "renamed"]

#: the version in which old names go
REMOVAL = "0.3"


def renamed(method: Callable[..., Any], old: str) -> Callable[..., Any]:
    """Return the method under its old name, which warns of the new one.

    Examples
    --------
    >>> class Model:
    ...     def predict_at(self, X, levels):
    ...         return levels
    ...     predict_levels = renamed(predict_at, "predict_levels")
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     answer = Model().predict_levels(None, levels=[0.5])
    >>> answer, str(told[0].message)
    ([0.5], 'Model.predict_levels is called predict_at now; the old name goes in mercer 0.3.')
    """
    new = method.__name__

    @wraps(method)
    def alias(self: Any, *args: Any, **kwargs: Any) -> Any:
        message = f"{type(self).__name__}.{old} is called {new} now; the old name goes in mercer {REMOVAL}."
        warnings.warn(message, FutureWarning, stacklevel=2)
        return getattr(self, new)(*args, **kwargs)

    alias.__name__, alias.__qualname__ = old, method.__qualname__.replace(new, old)
    alias.__doc__ = f"Deprecated name of :meth:`{new}`; it goes in mercer {REMOVAL}."
    return alias
