"""Fit a case and check every promise of the fit."""

from __future__ import annotations

import copy
import signal
import threading
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar
from zlib import crc32

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from fuzz.certify import Bounds, compare
from fuzz.draw import Case, Draw
from fuzz.findings import Finding, Report, Surprise, place_of
from mercer.exceptions import ContaminationWarning, ExtrapolationWarning, MercerError

__all__ = ["Family", "Hang", "all_finite", "check", "time_limit"]

#: seconds after which a fit, or its predictions, count as a hang
LIMIT = 60.0
#: one case in so many is fitted twice
REPEATED = 4
CERTIFICATE = ("objective_", "dual_gap_", "relative_gap_")


class Family(ABC):
    """Cases of one estimator: how they are drawn, certified, and what their predictions promise."""

    name: ClassVar[str]
    #: fitted attributes that are finite, the certificate aside
    arrays: ClassVar[tuple[str, ...]] = ("dual_coef_", "intercept_")

    def case(self, seed: int) -> Case:
        """Return the case of a seed."""
        rng = self.generator(seed)
        return self.draw(Draw(rng))

    def generator(self, seed: int) -> np.random.Generator:
        """Return the random numbers of a seed, which differ from family to family."""
        return np.random.default_rng([crc32(self.name.encode()), seed])

    def run(self, seed: int) -> Report:
        """Draw the case of a seed and check it."""
        return check(self, self.case(seed), repeat=seed % REPEATED == 0)

    @abstractmethod
    def draw(self, draw: Draw) -> Case:
        """Draw a case."""

    @abstractmethod
    def certify(self, model: Any, case: Case) -> tuple[Bounds, list[Finding]]:
        """Recompute objective and bound of a fitted model, and look at its dual variables."""

    @abstractmethod
    def look(self, model: Any, case: Case) -> Iterator[Finding]:
        """Look at predictions."""


class Hang(BaseException):
    """Time is up. No Exception, so that nothing but the campaign catches it."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise :class:`Hang` after some seconds (in the main thread; elsewhere there is no limit)."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: Any) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def check(family: Family, case: Case, *, repeat: bool = True) -> Report:
    """Fit a case and return what was found."""
    model = clone(case.estimator)
    inputs = copy.deepcopy((case.X, case.y, case.weight))
    parameters = repr(model.get_params())
    report = Report("failed")
    start = time.perf_counter()
    messages = _fit(model, case, report)
    report.seconds = time.perf_counter() - start
    if not _same(inputs, (case.X, case.y, case.weight)):
        report.findings.append(Finding("inputs changed", "", ""))
    if repr(model.get_params()) != parameters:
        report.findings.append(Finding("parameters changed", "", f"{parameters} became {model.get_params()!r}"))
    if report.outcome == "fitted":
        report.findings += _check_status(model, case, messages)
        report.findings += _check_finite(family, model)
        report.findings += _check_predictions(family, model, case)
        report.findings += _check_certificate(family, model, case)
        if repeat:
            report.findings += _check_again(family, model, case)
    return report


def _fit(model: Any, case: Case, report: Report) -> list[str]:
    """Fit, and return the convergence warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with time_limit(LIMIT):
                case.fit(model)
            report.outcome = "fitted"
        except Hang as error:
            report.findings.append(Finding("hang", place_of(error), f"fit takes more than {LIMIT:g} s"))
        except MercerError:
            report.outcome = "refused"
        except Exception as error:
            report.findings.append(Finding("foreign exception", place_of(error), str(error)))
    report.findings += _foreign(caught, ConvergenceWarning, ContaminationWarning)
    return [str(one.message) for one in caught if issubclass(one.category, ConvergenceWarning)]


def _foreign(caught: list[warnings.WarningMessage], *allowed: type[Warning]) -> Iterator[Finding]:
    seen = {
        (f"{one.category.__name__} at {Path(one.filename).name}:{one.lineno}", str(one.message))
        for one in caught
        if not issubclass(one.category, allowed)
    }
    for place, message in sorted(seen):
        yield Finding("foreign warning", place, message)


def _check_status(model: Any, case: Case, messages: list[str]) -> Iterator[Finding]:
    converged = model.status_ == "converged"
    if converged == bool(messages):
        yield Finding("status", "", f"status_ is {model.status_!r}, convergence warnings are {messages}")
    tol = getattr(getattr(case.estimator, "solver", None), "tol", case.estimator.tol)
    if converged and not model.relative_gap_ <= tol * (1 + 1e-12):
        yield Finding("status", "", f"converged at a relative gap of {model.relative_gap_:.2e}, tol is {tol:.2e}")


def _check_finite(family: Family, model: Any) -> Iterator[Finding]:
    for name in (*family.arrays, *CERTIFICATE):
        if not all_finite(getattr(model, name)):
            yield Finding("not finite", "", name)


def _check_predictions(family: Family, model: Any, case: Case) -> Iterator[Finding]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with time_limit(LIMIT):
                yield from family.look(model, case)
        except Hang as error:
            yield Finding("hang", place_of(error), f"predictions take more than {LIMIT:g} s")
        except Exception as error:
            yield Finding("foreign exception", place_of(error), f"in a prediction: {error}")
    yield from _foreign(caught, ExtrapolationWarning)


def _check_certificate(family: Family, model: Any, case: Case) -> Iterator[Finding]:
    if not all(all_finite(getattr(model, name)) for name in (*family.arrays, *CERTIFICATE)):
        return  # that is found already
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            bounds, found = family.certify(model, case)
            yield from found
            yield from compare(model, bounds)
    except Surprise as surprise:
        yield surprise.finding
    except Exception as error:
        yield Finding("recomputation", place_of(error), str(error))


def _check_again(family: Family, model: Any, case: Case) -> Iterator[Finding]:
    try:
        with time_limit(LIMIT), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            twin = case.fit(clone(case.estimator))
    except (Exception, Hang) as error:
        yield Finding("not repeatable", place_of(error), f"the second fit fails: {error}")
        return
    for name in (*family.arrays, *CERTIFICATE):
        if not np.array_equal(getattr(model, name), getattr(twin, name), equal_nan=True):
            yield Finding("not repeatable", "", f"{name} differs from fit to fit")
            return


def all_finite(values: Any) -> bool:
    """Say whether all numbers are finite."""
    return bool(np.all(np.isfinite(values)))


def _same(one: Any, other: Any) -> bool:
    """Compare nested lists and tuples of arrays, NaN equal to itself."""
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(_same(a, b) for a, b in zip(one, other, strict=True))
    return one is other or np.array_equal(one, other, equal_nan=True)
