"""What the command says to the user, and how it reads lists in arguments."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable

from mercer.exceptions import MercerError

__all__ = ["CommandError", "complain", "names_of", "numbers_of", "printable", "say", "table_of"]


class CommandError(MercerError):
    """Something about arguments or files that the user can put right."""


def printable(text: str) -> str:
    """Return text in one line, without characters that a terminal would obey."""
    return "".join(mark if mark.isprintable() else " " for mark in " ".join(text.split()))


def say(text: str = "") -> None:
    """Write a line to standard output."""
    sys.stdout.write(f"{text}\n")


def complain(kind: str, text: str) -> None:
    """Write one line to standard error."""
    sys.stderr.write(f"mercer: {kind}: {printable(text)}\n")


def table_of(rows: Iterable[tuple[str, str]]) -> None:
    """Write names and what they are, side by side; what is nothing is left out."""
    shown = [(name, value) for name, value in rows if value]
    width = max((len(name) for name, _ in shown), default=0)
    for name, value in shown:
        say(f"  {name:<{width}}  {printable(value)}")


def names_of(text: str) -> list[str]:
    """Return names that are separated by commas.

    Examples
    --------
    >>> names_of("size, town")
    ['size', 'town']
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise argparse.ArgumentTypeError("expected names separated by commas")
    return names


def numbers_of(text: str) -> list[float]:
    """Return numbers that are separated by commas.

    Examples
    --------
    >>> numbers_of(".05,.5")
    [0.05, 0.5]
    """
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        expected = "expected numbers separated by commas, such as .05,.5,.95"
        raise argparse.ArgumentTypeError(f"{expected}; got {text!r}") from error
