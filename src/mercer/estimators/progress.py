"""Progress of long fits, on standard error and only when asked for: lines, or a bar where one can be drawn.

What draws bars, a module of ``mercer.interop``, enters itself here, so that nothing is imported that is not needed.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from mercer.linalg import Work, heard_by
from mercer.linalg.memory import in_words
from mercer.problems import DualProblem
from mercer.solvers import Solver

__all__ = ["Bar", "Decay", "Progress", "draw_bars_by", "duration", "opening", "progress"]

#: operations below which a computation is not worth a line: some milliseconds
WORTH_A_LINE = 1e8
#: rows of the matrices whose product tells how fast the machine is, and how often it is taken
MEASURED_ROWS, MEASUREMENTS = 400, 3


class Bar(Protocol):
    """A bar that is being drawn."""

    def phase(self, text: str) -> None:
        """Say what is computed."""

    def reach(self, share: float, text: str) -> None:
        """Fill a share of the bar, from 0 to 1, and say more on it."""

    def close(self) -> None:
        """Leave the bar as it is."""


#: what opens a bar, or returns None where it cannot be drawn; the last that was entered counts
bar_makers: list[Callable[[], Bar | None]] = []


def draw_bars_by(maker: Callable[[], Bar | None]) -> None:
    """Let ``maker`` open the bars of fits."""
    bar_makers.append(maker)


@contextmanager
def progress(verbose: int, beginning: str) -> Iterator[Progress]:
    """Tell what is computed in a ``with`` block of this thread, from its beginning on; nothing if ``verbose`` is 0."""
    bar = bar_makers[-1]() if verbose and bar_makers else None
    told = Progress(verbose, bar)
    if not verbose:
        yield told
        return
    told.say(beginning)
    try:
        with heard_by(told.begins):
            yield told
    finally:
        if bar is not None:
            bar.close()


def opening(estimator: Any, problem: DualProblem) -> str:
    """Return the first line on the fit of a problem."""
    n, m = problem.shape
    return f"{type(estimator).__name__}: n = {n}, m = {m}, {n * m} unknowns"


class Progress:
    """Speaks of factorisations before they begin and of each look at the gap, or is silent."""

    def __init__(self, verbose: int, bar: Bar | None = None) -> None:
        self.verbose, self.bar = verbose, bar

    def say(self, text: str) -> None:
        """Write one line, or the text of the bar."""
        if self.bar is not None:
            self.bar.phase(text)
        elif self.verbose:
            sys.stderr.write(f"[mercer] {text}\n")
            sys.stderr.flush()  # which may be a file, and the next line minutes away

    def begins(self, work: Work) -> None:
        """Tell of a computation and how long it will take, as :func:`~mercer.linalg.heard_by` asks for."""
        if work.operations < WORTH_A_LINE:
            return
        most = "at most " if work.bound else ""
        time_taken = "…" if work.elsewhere else f"{most or 'about '}{duration(work.operations / self.rate)}"
        self.say(f"{work.what} of {work.rows} rows ({most}{in_words(work.size)}): {time_taken}")

    @cached_property
    def rate(self) -> float:
        """Multiplications a second in a product of matrices: that of this machine, now."""
        matrix = np.full((MEASURED_ROWS, MEASURED_ROWS), 1.0)
        times = []
        for _ in range(MEASUREMENTS):
            start = time.perf_counter()
            matrix @ matrix
            times.append(time.perf_counter() - start)
        return MEASURED_ROWS**3 / max(min(times), 1e-9)

    def looks(self, solver: Solver) -> Callable[[int, Any], None] | None:
        """Return a callback for a solver that tells of the gap as it falls; None for silence."""
        if not self.verbose:
            return None
        name, start, decay = type(solver).__name__, time.perf_counter(), Decay(solver.tol)

        def report(n_iter: int, certificate: Any) -> None:
            seconds = time.perf_counter() - start
            left = decay(seconds, certificate.relative_gap)
            if self.bar is not None:
                self.bar.phase(name)
                self.bar.reach(decay.share, f"relative gap {certificate.relative_gap:.1e}, {left}")
                return
            self.say(
                f"{name}: iteration {n_iter}, objective {certificate.primal:.6g}, relative gap "
                f"{certificate.relative_gap:.2e}, {seconds:.1f} s, {left}"
            )

        return report


class Decay:
    """Says how long a gap will take to fall to ``tol``, if it goes on falling as over the last half of the time.

    Examples
    --------
    >>> decay = Decay(tol=1e-4)
    >>> [decay(seconds, gap) for seconds, gap in [(1.0, 1.0), (3.0, 1e-2), (4.0, 1e-1), (5.0, 1e-4)]]
    ['… left', 'about 2.0 s left', 'about 3.0 s left', 'within tol']
    """

    def __init__(self, tol: float) -> None:
        self.tol = tol
        self.seen: list[tuple[float, float]] = []
        self.share = 0.0  #: of the way from the first gap to tol, in digits

    def __call__(self, seconds: float, gap: float) -> str:
        """Record the gap at a time; return what to say of the time left."""
        if gap <= self.tol:
            self.share = 1.0
            return "within tol"
        smallest = min(gap, self.seen[-1][1]) if self.seen else gap  # gaps rise at times
        earlier = [(at, before) for at, before in self.seen if at <= seconds / 2] or self.seen[:1]
        self.seen.append((seconds, smallest))
        first = self.seen[0][1]
        if 0 < self.tol < smallest < first < math.inf:
            self.share = math.log(first / smallest) / math.log(first / self.tol)
        if not earlier or not 0 < smallest < earlier[-1][1] < math.inf or self.tol <= 0:
            return "… left"
        at, before = earlier[-1]
        return f"about {duration((seconds - at) * math.log(smallest / self.tol) / math.log(before / smallest))} left"


def duration(seconds: float) -> str:
    """Return a time as people say it.

    Examples
    --------
    >>> duration(0.03), duration(42.3), duration(200), duration(10_000)
    ('0.1 s', '42 s', '3 min', '2.8 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s" if seconds >= 9.5 else f"{max(seconds, 0.1):.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
