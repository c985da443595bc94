"""The page itself: one HTML file with its style, its scripts and its data, which asks the network for nothing."""

from __future__ import annotations

import importlib.resources
from html import escape
from typing import Any

from mercer.explorer.packing import embedded

__all__ = ["page_of"]

#: scripts of every page, in order; that of the view comes before the last
SCRIPTS, LAST = ("draw.js", "controls.js", "panels.js"), "main.js"


def page_of(title: str, view: str, data: dict[str, Any]) -> str:
    """Return the HTML of a page.

    Parameters
    ----------
    title : str
    view : str
        The script of ``assets`` that draws what can be moved.
    data : dict
        Plain values, whose texts may be anything.
    """
    script = "\n".join(_asset(name) for name in [*SCRIPTS, f"{view}.js", LAST])
    parts = {"TITLE": escape(title), "STYLE": _asset("style.css"), "SCRIPT": script, "DATA": embedded(data)}
    pieces = _asset("page.html").split("%%")  # text and names by turns: what is put in is not looked at again
    return "".join(parts[piece] if k % 2 else piece for k, piece in enumerate(pieces))


def _asset(name: str) -> str:
    return (importlib.resources.files("mercer.explorer") / "assets" / name).read_text(encoding="utf-8")
