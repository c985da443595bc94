"""Bars of long fits, drawn by rich or tqdm where one of them is installed and somebody looks."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["RichBar", "TqdmBar", "open_bar", "watched"]

#: parts of a bar
WHOLE = 100


def open_bar() -> RichBar | TqdmBar | None:
    """Return a bar on standard error; None where nobody looks, in a terminal or a notebook, or nothing draws bars."""
    if not (sys.stderr.isatty() or "ipykernel" in sys.modules):
        return None
    for kind in (RichBar, TqdmBar):
        try:
            return kind()
        except ImportError:
            continue
    return None


def watched() -> bool:
    """Return whether somebody looks at standard error in a terminal, and bars can be drawn there."""
    if not sys.stderr.isatty():
        return False
    try:
        import rich  # noqa: F401
    except ImportError:
        try:
            import tqdm  # noqa: F401
        except ImportError:
            return False
    return True


class RichBar:
    """A bar of rich."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        text = [TextColumn("{task.description}", markup=False), TextColumn("{task.fields[more]}", markup=False)]
        columns: list[Any] = [text[0], BarColumn(20), TimeElapsedColumn(), text[1]]
        self._bar = Progress(*columns, console=Console(stderr=True))
        self._task = self._bar.add_task("", total=WHOLE, more="")
        self._bar.start()

    def phase(self, text: str) -> None:
        """Say what is computed."""
        self._bar.update(self._task, description=text)

    def reach(self, share: float, text: str) -> None:
        """Fill a share of the bar, and say more on it."""
        self._bar.update(self._task, completed=WHOLE * share, more=text)

    def close(self) -> None:
        """Leave the bar as it is."""
        self._bar.stop()


class TqdmBar:
    """A bar of tqdm."""

    def __init__(self) -> None:
        from tqdm import tqdm

        layout = "{desc} {percentage:3.0f}%|{bar:20}| {elapsed} {postfix}"
        self._bar: Any = tqdm(total=WHOLE, file=sys.stderr, bar_format=layout)

    def phase(self, text: str) -> None:
        """Say what is computed."""
        self._bar.set_description_str(text)

    def reach(self, share: float, text: str) -> None:
        """Fill a share of the bar, and say more on it."""
        self._bar.n = round(WHOLE * share)
        self._bar.set_postfix_str(text)

    def close(self) -> None:
        """Leave the bar as it is."""
        self._bar.close()
