"""Sea surface temperatures of the eastern Pacific, month by month: small, real and free, for the tour of curves."""

from __future__ import annotations

from importlib.resources import files
from typing import NamedTuple

import numpy as np

__all__ = ["SeaTemperatures", "load_sea_temperatures"]


class SeaTemperatures(NamedTuple):
    """Curves of temperature over the months of a year.

    Parameters
    ----------
    years : array of int of shape (61,)
        1950 to 2010.
    months : array of shape (12,)
        1 to 12.
    temperature : array of shape (61, 12)
        Monthly means in degrees Celsius.
    """

    years: np.ndarray
    months: np.ndarray
    temperature: np.ndarray


def load_sea_temperatures() -> SeaTemperatures:
    """Return sea surface temperatures between 0–10° S and 90–80° W, where El Niño is felt first.

    From the extended reconstruction of sea surface temperatures (ERSST V3b, region Niño 1+2) of the National Oceanic
    and Atmospheric Administration of the United States; in the public domain. Nothing is downloaded.

    Examples
    --------
    >>> sea = load_sea_temperatures()
    >>> sea.temperature.shape, int(sea.years[sea.temperature[:, 11].argmax()])
    ((61, 12), 1997)
    """
    table = np.genfromtxt(
        (files("mercer.datasets") / "files" / "sea_temperatures.csv").read_text().splitlines(),
        delimiter=",",
        skip_header=1,
    )
    return SeaTemperatures(table[:, 0].astype(int), np.arange(1.0, 13.0), table[:, 1:])
