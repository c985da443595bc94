"""What the displays share: an empty stage, colours that the colour-blind tell apart, labels beside what they name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.stats import binom

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

__all__ = [
    "BLUE",
    "GREY",
    "INK",
    "NAVY",
    "ORANGE",
    "PALE",
    "binomial_band",
    "blues",
    "label_right",
    "panel_figure",
    "per_cent",
    "stage",
    "unit_square",
]

# blue and vermilion of Okabe and Ito (2008)
BLUE, ORANGE = "#0072B2", "#D55E00"
PALE, NAVY, INK, GREY = "#A6CEE8", "#08306B", "#1A1A1A", "#8C8C8C"
#: least distance of labels, as a share of the height of the axes
GAP = 0.055


def stage(ax: Axes | None) -> Axes:
    """Return the axes, or those of a new figure, without what would distract."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('mercer.plotting needs matplotlib: pip install "mercer[plot]"') from error
    if ax is None:
        _, ax = plt.subplots(layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GREY)
    ax.tick_params(color=GREY)
    return ax


def panel_figure(n_panels: int, size: tuple[float, float]) -> Figure:
    """Return a new figure for panels side by side, each of a size in inches."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('mercer.plotting needs matplotlib: pip install "mercer[plot]"') from error
    return plt.figure(figsize=(size[0] * max(n_panels, 2), size[1]), layout="constrained")


def unit_square(ax: Axes, diagonal: str, n: int | None, shares: str) -> tuple[Any, Any, Any]:
    """Make the axes a square from 0 to 1; return its diagonal, a band around it, None without n, and their legend.

    The band is where ``shares`` of n independent events are, 95 % of them, that have the probability on the axis.
    """
    (line,) = ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, zorder=1)
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    band: Any = None
    named: dict[str, Any] = {diagonal: line}
    if n is not None:
        between = np.linspace(0, 1, 201)
        band = ax.fill_between(between, *binomial_band(between, n), color=GREY, alpha=0.22, linewidth=0)
        named[f"95 % of {shares} if {diagonal}"] = band
    legend = ax.legend(list(named.values()), list(named), loc="upper left", frameon=False, fontsize="small")
    return line, band, legend


def blues(count: int) -> list:
    """Return colours from pale to full, of one hue and evenly darker."""
    from matplotlib import colormaps

    return [colormaps["Blues"](shade) for shade in np.linspace(0.18, 0.72, count)] if count > 1 else [BLUE]


def per_cent(share: float) -> str:
    """Return a share as a text, such as "2.5 %"."""
    return f"{100 * share:.4g} %"


def label_right(ax: Axes, heights: Any, texts: list[str], colours: list) -> list[Text]:
    """Write texts to the right of the axes, each as near to its height as the others let it be."""
    low, high = ax.get_ylim()
    order = np.argsort(heights, kind="stable")
    steps = GAP * (high - low) * np.arange(len(order))
    # the nearest heights in the mean square that are a gap apart: isotonic without the gaps
    spread = isotonic_regression(np.asarray(heights, dtype=float)[order] - steps).x + steps
    placed = dict(zip(order.tolist(), spread.tolist(), strict=True))
    across = ax.get_yaxis_transform()
    return [
        ax.text(1.015, placed[i], text, color=colour, transform=across, va="center", fontsize="small")
        for i, (text, colour) in enumerate(zip(texts, colours, strict=True))
    ]


def binomial_band(levels: np.ndarray, n: int, share: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """Return the central range of the frequencies of events of probability ``levels`` in n independent trials."""
    low, high = binom.ppf([[(1 - share) / 2], [(1 + share) / 2]], n, levels[None, :])
    return low / n, high / n
