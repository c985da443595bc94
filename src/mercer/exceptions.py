"""Errors that name the parameter, its owner, what is allowed, what was got and what to try."""

from __future__ import annotations

__all__ = [
    "MercerError",
    "ParameterError",
    "ParameterTypeError",
    "DataError",
    "ModelFileError",
    "RowsLostError",
    "UnsupportedError",
    "ContaminationWarning",
    "ExtrapolationWarning",
    "parameter_error",
]


class MercerError(Exception):
    """Base class of every error that mercer raises on purpose."""


class ParameterError(MercerError, ValueError):
    """A parameter has a value that is not allowed."""


class ParameterTypeError(MercerError, TypeError):
    """A parameter has a type that is not allowed."""


class DataError(MercerError, ValueError):
    """The data cannot be used as they are."""


class ModelFileError(MercerError, ValueError):
    """A file is not a model that can be loaded: foreign, truncated, changed, or of a newer version."""


class RowsLostError(MercerError, ConnectionError):
    """Rows cannot be reached any more: those who hold them are gone, or who speaks to them."""


class UnsupportedError(MercerError, ValueError):
    """A combination of parts that does not work together, with the one that does."""


class ContaminationWarning(UserWarning):
    """A fit follows few outlying data, which a robust loss would not let it do."""


class ExtrapolationWarning(UserWarning):
    """A prediction rests on assumptions, as no data are near: levels beyond all residuals, rows far from all rows."""


def parameter_error(owner: object, name: str, got: object, allowed: str, hint: str = "") -> MercerError:
    """Return the error for parameter ``name`` of ``owner``; a value of a foreign type gives a type error.

    Parameters
    ----------
    owner : object or str
        The object that has the parameter, or the name of a function.
    name : str
        The parameter.
    got : object
        The value that was passed.
    allowed : str
        What would have been accepted, as the end of the sentence "must be ...".
    hint : str, default=""
        What to try instead.

    Examples
    --------
    >>> raise parameter_error("Gaussian", "gamma", -1, "a positive number")
    Traceback (most recent call last):
    mercer.exceptions.ParameterError: Gaussian: gamma must be a positive number; got -1.
    """
    where = owner if isinstance(owner, str) else type(owner).__name__
    shown = repr(got)
    if len(shown) > 80:
        shown = f"{shown[:60]}... ({type(got).__name__})"
    message = f"{where}: {name} must be {allowed}; got {shown}."
    if hint:
        message += f" {hint}"
    ordinary = isinstance(got, (bool, int, float, str, list, tuple)) or hasattr(got, "shape")
    return ParameterError(message) if ordinary else ParameterTypeError(message)
