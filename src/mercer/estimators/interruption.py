"""Ctrl-C in the middle of a fit: the first asks the solver to stop, the second is a KeyboardInterrupt."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from mercer.solvers import SolverResult

__all__ = ["Interruption", "interruptible", "warn_of_gap"]


class Interruption:
    """Whether Ctrl-C was pressed: solvers call it between steps."""

    def __init__(self) -> None:
        self.asked = False

    def __call__(self) -> bool:
        return self.asked


@contextmanager
def interruptible() -> Iterator[Interruption]:
    """Let the first Ctrl-C in a ``with`` block ask for a stop, and all that follow raise KeyboardInterrupt.

    Only where Ctrl-C would raise KeyboardInterrupt: in the main thread, with Python's own handler. That of somebody
    else, who may have more to put in order than a fit, stays where it is, and so does all in other threads.
    """
    interruption = Interruption()
    raises = signal.default_int_handler

    def ask(number: int, frame: Any) -> None:
        interruption.asked = True
        signal.signal(signal.SIGINT, raises)

    if signal.getsignal(signal.SIGINT) is not raises or not _set(ask):
        yield interruption
        return
    try:
        yield interruption
    finally:
        if signal.getsignal(signal.SIGINT) is ask:  # and not what somebody has put there since
            signal.signal(signal.SIGINT, raises)


def _set(handler: Callable[[int, Any], None]) -> bool:
    """Set the handler of Ctrl-C; return False where Python does not allow that: in other threads and interpreters."""
    try:
        signal.signal(signal.SIGINT, handler)
    except ValueError:
        return False
    return True


def warn_of_gap(result: SolverResult, interrupted: Interruption, depth: int) -> None:
    """Warn of too large a gap, or that Ctrl-C was pressed, ``depth`` calls above the caller: where ``fit`` was called.

    A Ctrl-C that came too late to change anything is told of, too: whoever pressed it would think it lost.
    """
    if interrupted.asked:
        message = f"Interrupted by Ctrl-C; the best model so far is fitted. {result.message}"
        warnings.warn(message, ConvergenceWarning, stacklevel=2 + depth)
    elif not result.converged:
        warnings.warn(result.message, ConvergenceWarning, stacklevel=2 + depth)
