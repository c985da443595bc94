"""Where files may go: asked before a long computation, which would otherwise end in nothing."""

from __future__ import annotations

import os
from pathlib import Path

from mercer.cli.terminal import CommandError

__all__ = ["check_output", "check_page"]

PAGE_ENDINGS = (".html", ".htm")


def check_output(path: str, *others: str | None) -> None:
    """Refuse a file that cannot be written, or that is one of the others that the command reads or writes."""
    place = Path(path).resolve()
    if place.is_dir():
        raise CommandError(f"{path} is a folder; give the name of a file")
    if not (place.parent.is_dir() and os.access(place.parent, os.W_OK)):
        raise CommandError(f"there is no folder {place.parent} that can be written to")
    for other in others:
        if other is not None and Path(other).resolve() == place:
            raise CommandError(f"{path} would be overwritten by what the command makes; give it another name")


def check_page(path: str, *others: str | None) -> None:
    """Refuse names that browsers would not open as a page, and those that :func:`check_output` refuses."""
    if Path(path).suffix.lower() not in PAGE_ENDINGS:
        raise CommandError(f"{path} must end in .html, so that a browser opens it")
    check_output(path, *others)
