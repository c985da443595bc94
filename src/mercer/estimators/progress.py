"""Progress of long fits, on standard error and only when asked for."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["progress"]


@contextmanager
def progress(verbose: int, name: str) -> Iterator[Callable[[int, Any], None] | None]:
    """Give a solver callback that reports the gap as it falls; None when ``verbose`` is 0."""
    if not verbose:
        yield None
        return
    start = time.perf_counter()

    def report(n_iter: int, certificate: Any) -> None:
        seconds = time.perf_counter() - start
        sys.stderr.write(
            f"[mercer] {name}: iteration {n_iter}, objective {certificate.primal:.6g}, "
            f"relative gap {certificate.relative_gap:.2e}, {seconds:.1f} s\n"
        )

    yield report
