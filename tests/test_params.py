"""Parameter records: get, set, compare, print, refuse."""

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone

from mercer._params import Params, check_number
from mercer.exceptions import ParameterError, ParameterTypeError, parameter_error


@dataclass(eq=False, repr=False)
class Inner(Params):
    low: float = 0.0
    high: float = 1.0

    def _check(self):
        if not self.low < self.high:
            raise parameter_error(self, "high", self.high, f"larger than low = {self.low}")


@dataclass(eq=False, repr=False)
class Outer(Params):
    inner: Inner
    scale: float = 1.0
    extra: Any = None

    def _check(self):
        check_number(self, "scale", self.scale, low=0)


@dataclass(eq=False, repr=False)
class Twin(Inner):
    pass


def test_get_params_shallow_and_deep():
    outer = Outer(Inner(0.5))
    assert outer.get_params(deep=False) == {"inner": outer.inner, "scale": 1.0, "extra": None}
    assert outer.get_params()["inner__low"] == 0.5
    nest = Outer(Inner(), extra=outer)
    assert nest.get_params()["extra__inner__low"] == 0.5


def test_set_params_reaches_nested_records_and_returns_the_record():
    outer = Outer(Inner())
    assert outer.set_params(inner__high=3.0, scale=2.0) is outer
    assert outer == Outer(Inner(0.0, 3.0), 2.0)


def test_parameters_that_depend_on_each_other_are_set_together():
    outer = Outer(Inner(0.0, 1.0))
    outer.set_params(inner__low=5.0, inner__high=6.0)
    outer.set_params(inner__high=-1.0, inner__low=-2.0)
    assert outer.inner == Inner(-2.0, -1.0)


@pytest.mark.parametrize("order", [1, -1])
def test_a_new_record_and_its_parameters_in_any_order(order):
    params = {"inner": Inner(2.0, 3.0), "inner__high": 9.0}
    outer = Outer(Inner()).set_params(**dict(list(params.items())[::order]))
    assert outer.inner == Inner(2.0, 9.0)


@pytest.mark.parametrize(
    "params",
    [
        {"inner__low": 0.5, "scale": -1.0},
        {"scale": 3.0, "inner__low": 7.0},
        {"scale": 3.0, "inner__middle": 1.0},
        {"inner": Inner(3.0, 4.0), "unknown": 1},
        {"inner": Inner(3.0, 4.0), "scale__value": 1},
        {"extra": 1.0, "inner__low": 0.3, "inner__high": 0.2},
    ],
)
def test_a_refused_value_leaves_everything_as_it_was(params):
    inner = Inner()
    outer = Outer(inner)
    with pytest.raises(ParameterError):
        outer.set_params(**params)
    assert outer.inner is inner
    assert outer == Outer(Inner())


def test_messages_name_the_parameter():
    with pytest.raises(ParameterError, match=r"Outer: 'size' is not one of its parameters, which are inner, scale"):
        Outer(Inner()).set_params(size=1)
    with pytest.raises(ParameterError, match=r"cannot set 'scale__x' because scale is 1.0"):
        Outer(Inner()).set_params(scale__x=1)


def test_replace_copies_all_the_way_down():
    outer = Outer(Inner())
    other = outer.replace(inner__high=4.0)
    assert other.inner.high == 4.0
    assert outer.inner.high == 1.0


def test_equality():
    assert Inner() == Inner()
    assert Inner() != Inner(0.5)
    assert Inner() != Twin()
    assert Inner() != "Inner()"
    assert Outer(Inner(0.5)) == Outer(Inner(0.5))
    with pytest.raises(TypeError, match="unhashable"):
        hash(Inner())


@pytest.mark.parametrize(
    ("one", "same", "other"),
    [
        (np.array([1.0, 2.0]), np.array([1.0, 2.0]), np.array([1.0, 3.0])),
        (np.array([1.0]), np.array([1.0]), np.array([1.0, 1.0])),
        (np.float64(2.0), 2.0, 3.0),
        ([1, 2], [1, 2], (1, 2)),
        (stats.beta(2, 3), stats.beta(2, 3), stats.beta(2, 4)),
        (stats.beta(2, 3), stats.beta(2, 3), stats.gamma(2, 3)),
        (stats.norm(scale=2.0), stats.norm(scale=2.0), None),
        ("auto", "auto", None),
    ],
)
def test_equality_of_values(one, same, other):
    assert Outer(Inner(), extra=one) == Outer(Inner(), extra=same)
    assert Outer(Inner(), extra=one) != Outer(Inner(), extra=other)
    assert Outer(Inner(), extra=other) != Outer(Inner(), extra=one)


def test_copies_and_clones_are_equal():
    outer = Outer(Inner(0.25), extra=stats.beta(2, 3))
    for twin in (clone(outer), copy.deepcopy(outer)):
        assert twin == outer
        assert twin.inner is not outer.inner


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (Inner(), "Inner()"),
        (Inner(0.123456789), "Inner(low=0.123457)"),
        (Outer(Inner(high=2.0), 3.0), "Outer(inner=Inner(high=2), scale=3)"),
        (Outer(Inner(), extra=stats.beta(2, 3)), "Outer(inner=Inner(), extra=beta(2, 3))"),
        (Outer(Inner(), extra=stats.norm(scale=2.0)), "Outer(inner=Inner(), extra=norm(scale=2))"),
        (Outer(Inner(), extra=np.array([0.5, 1.0])), "Outer(inner=Inner(), extra=[0.5, 1. ])"),
        (Outer(Inner(), extra=np.sum), "Outer(inner=Inner(), extra=sum)"),
    ],
)
def test_repr_shows_what_differs_from_the_default(record, expected):
    assert repr(record) == expected


def test_repr_of_a_long_array_is_short():
    assert len(repr(Outer(Inner(), extra=np.arange(1e5)))) < 120


@pytest.mark.parametrize("value", [True, np.True_, "1", None, np.nan, np.inf, -np.inf, 0, -1.0, 2, 1j, [0.5]])
def test_check_number_refuses(value):
    with pytest.raises((ParameterError, ParameterTypeError), match=r"owner: p must be a finite number in \(0, 2\)"):
        check_number("owner", "p", value, low=0, high=2)


@pytest.mark.parametrize("value", [0.5, 1, np.float32(1.5), np.int64(1), np.float64(1e-300)])
def test_check_number_accepts(value):
    check_number("owner", "p", value, low=0, high=2)


def test_check_number_ends_and_integers():
    check_number("owner", "p", 0, low=0, high=2, strict=False)
    check_number("owner", "p", 2.0, low=0, high=2, strict=False)
    check_number("owner", "p", np.int32(3), low=1, integer=True)
    with pytest.raises(ParameterError, match=r"an integer > 1; got 2\.0\. Try 2\."):
        check_number("owner", "p", 2.0, low=1, integer=True, hint="Try 2.")
    with pytest.raises(ParameterError, match=r"in \[0, 2\]"):
        check_number("owner", "p", 2.1, low=0, high=2, strict=False)
    with pytest.raises(ParameterError, match="a finite number < 2;"):
        check_number("owner", "p", 2, high=2)
    with pytest.raises(ParameterError, match="a finite number;"):
        check_number("owner", "p", np.nan)


def test_the_largest_integer_is_within_its_own_bounds():
    largest = np.iinfo(int).max
    check_number("x", "max_iter", largest, low=1, high=largest, strict=False, integer=True)
    with pytest.raises(ParameterError, match="max_iter must be an integer"):
        check_number("x", "max_iter", largest + 1, low=1, high=largest, strict=False, integer=True)
