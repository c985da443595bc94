"""Pieces of HTML for notebooks: tables, formulas out of docstrings, small pictures as inline SVG."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

__all__ = ["bars", "curve", "formula_of", "objective_of", "section", "table"]

#: size of a picture, in pixels
WIDTH, HEIGHT, BORDER = 220, 90, 8
#: blue of Okabe and Ito (2008), legible on light and dark pages
STROKE = "#3B8EC2"
#: what docstrings mark for Sphinx, and what is shown
MARKUP = re.compile(r":\w+:`~?(?:[\w.]+\.)?(\w+)`")


def section(title: str, *parts: str) -> str:
    """Return a block with a title, in which empty parts are left out."""
    inner = "".join(part for part in parts if part)
    style = "font-family:sans-serif;font-size:90%;margin:.4em 0;max-width:56em"
    return f'<div style="{style}"><strong>{escape(title)}</strong>{inner}</div>'


def table(rows: Sequence[tuple[str, str]]) -> str:
    """Return names and what they are.

    Examples
    --------
    >>> table([("a<b", "1")]).count("&lt;")
    1
    """
    cell = "text-align:left;vertical-align:top;padding:.1em .8em .1em 0"
    lines = [
        f'<tr><th scope="row" style="{cell};font-weight:normal;opacity:.7">{escape(name)}</th>'
        f'<td style="{cell};overflow-wrap:anywhere">{escape(value)}</td></tr>'
        for name, value in rows
    ]
    return f'<table style="border-collapse:collapse;margin:.3em 0">{"".join(lines)}</table>' if lines else ""


def formula_of(kind: type) -> str:
    """Return the head of a docstring, which holds the formula of a record, as HTML."""
    paragraphs = _paragraphs(kind)
    return "".join(_shown(paragraph) for paragraph in paragraphs[:2])


def objective_of(kind: type, *, staged: bool = False) -> str:
    """Return the paragraphs of a docstring about what is minimised, or fitted in stages; nothing where there are none.

    Parameters
    ----------
    kind : type
        A class.
    staged : bool, default=False
        Whether it was fitted in stages.
    """
    paragraphs = _paragraphs(kind)
    found = [k for k, paragraph in enumerate(paragraphs) if ("stages" if staged else "inimises") in paragraph]
    if not found:
        return ""
    shown = paragraphs[found[0] : found[0] + 2]
    return "".join(_shown(paragraph) for paragraph in (shown if len(shown) > 1 and shown[1][:1] == " " else shown[:1]))


def _paragraphs(kind: type) -> list[str]:
    """Return the paragraphs of a docstring before its sections; those of formulas stay indented."""
    head = re.split(r"\n\w+\n-+\n", inspect.getdoc(kind) or "")[0]
    return [MARKUP.sub(r"\1", part).replace("``", "") for part in head.rstrip().split("\n\n") if part.strip()]


def _shown(paragraph: str) -> str:
    style = "margin:.3em 0;white-space:pre-wrap;font-size:95%"
    if paragraph[:1] == " ":
        formula = inspect.cleandoc(paragraph).rstrip(" .,;")
        return f'<pre style="{style}">{escape(formula)}</pre>'
    return f'<p style="{style}">{escape(" ".join(paragraph.split()))}</p>'


def curve(x: Any, y: Any, label: str) -> str:
    """Return a picture of y against x, as inline SVG.

    Examples
    --------
    >>> curve([0.0, 1.0], [0.0, 1.0], "a line").startswith("<svg")
    True
    """
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    low, high = min(0.0, float(y.min())), float(y.max())
    if not (np.all(np.isfinite(y)) and high > low):
        return ""
    across = BORDER + (WIDTH - 2 * BORDER) * (x - x[0]) / (x[-1] - x[0])
    up = HEIGHT - BORDER - (HEIGHT - 2 * BORDER) * (y - low) / (high - low)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, up, strict=True))
    base = HEIGHT - BORDER + (HEIGHT - 2 * BORDER) * low / (high - low)
    axis = f'<line x1="{BORDER}" x2="{WIDTH - BORDER}" y1="{base:.1f}" y2="{base:.1f}" stroke="#8c8c8c"/>'
    line = f'<polyline points="{points}" fill="none" stroke="{STROKE}" stroke-width="2"/>'
    return _picture(WIDTH, HEIGHT, label, axis + line) + f'<div style="opacity:.7">{escape(label)}</div>'


def bars(names: Sequence[str], shares: Sequence[float]) -> str:
    """Return a picture of shares, a bar for each name."""
    step, left = 16, 150
    top = max([*shares, 1e-300])
    parts = []
    for k, (name, share) in enumerate(zip(names, shares, strict=True)):
        shown = escape(name if len(name) < 22 else name[:20] + "…")
        parts.append(
            f'<text x="{left - 6}" y="{step * k + 12}" text-anchor="end" font-size="11" fill="currentColor">'
            f"{shown}</text>"
            f'<rect x="{left}" y="{step * k + 3}" width="{WIDTH * share / top:.1f}" height="{step - 5}"'
            f' fill="{STROKE}"/>'
        )
    return _picture(left + WIDTH, step * len(parts) + 4, "shares of columns", "".join(parts)) if parts else ""


def _picture(width: int, height: int, label: str, inner: str) -> str:
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return f'<svg {size} role="img" aria-label="{escape(label)}" xmlns="http://www.w3.org/2000/svg">{inner}</svg>'
