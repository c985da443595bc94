"""The economy of the United States, quarter by quarter: small, real and free, for series that act on one another."""

from __future__ import annotations

from importlib.resources import files
from typing import NamedTuple

import numpy as np

__all__ = ["Economy", "load_economy"]


class Economy(NamedTuple):
    """Series of an economy.

    Parameters
    ----------
    time : array of shape (203,)
        Years, 1959.0 for the first quarter of 1959, up to 2009.5.
    names : tuple of str
        Names of the series.
    values : array of shape (203, 6)
        Gross domestic product, consumption and investment in billions of dollars of 2005; unemployment, inflation and
        interest (of treasury bills of three months) in percent.
    """

    time: np.ndarray
    names: tuple[str, ...]
    values: np.ndarray


def load_economy() -> Economy:
    """Return six quarterly series of the economy of the United States, 1959 to 2009.

    Source: Bureau of Economic Analysis, Bureau of Labor Statistics and Federal Reserve Board, from FRED as of December
    2009, as statsmodels distributes them (``macrodata``). Licence: public domain, works of the government of the United
    States. Nothing is downloaded.

    Examples
    --------
    >>> economy = load_economy()
    >>> economy.values.shape, economy.names[3], float(economy.time[-1])
    ((203, 6), 'unemployment', 2009.5)
    """
    lines = (files("mercer.datasets") / "files" / "economy.csv").read_text().splitlines()
    table = np.genfromtxt(lines, delimiter=",", skip_header=1)
    names = tuple(lines[0].split(",")[2:])
    return Economy(table[:, 0] + (table[:, 1] - 1) / 4, names, table[:, 2:])
