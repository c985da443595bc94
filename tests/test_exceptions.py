"""Errors: which class they are, and that they name the parameter."""

import numpy as np
import pytest

from mercer import exceptions
from mercer.exceptions import (
    DataError,
    MercerError,
    ModelFileError,
    ParameterError,
    ParameterTypeError,
    UnsupportedError,
    parameter_error,
)


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (ParameterError, ValueError),
        (ParameterTypeError, TypeError),
        (DataError, ValueError),
        (ModelFileError, ValueError),
        (UnsupportedError, ValueError),
    ],
)
def test_errors_are_ours_and_those_of_python(error, builtin):
    assert issubclass(error, MercerError)
    assert issubclass(error, builtin)


def test_everything_public_exists():
    for name in exceptions.__all__:
        assert hasattr(exceptions, name)


class Owner:
    pass


@pytest.mark.parametrize("owner", ["Owner", Owner()])
def test_the_message_names_owner_parameter_allowed_got_and_hint(owner):
    error = parameter_error(owner, "alpha", -1, "a positive number", "Try 1.0.")
    assert str(error) == "Owner: alpha must be a positive number; got -1. Try 1.0."


@pytest.mark.parametrize("got", [True, 1, 2.0, "x", [1], (1,), np.zeros(2), np.float64(3.0)])
def test_wrong_values_of_an_ordinary_type(got):
    assert type(parameter_error("owner", "p", got, "good")) is ParameterError


@pytest.mark.parametrize("got", [None, {}, object(), Owner, len])
def test_foreign_types(got):
    assert type(parameter_error("owner", "p", got, "good")) is ParameterTypeError


def test_a_long_value_is_cut():
    message = str(parameter_error("owner", "p", list(range(1000)), "short"))
    assert len(message) < 120
    assert message.endswith("... (list).")
