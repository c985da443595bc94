"""The one real dataset that ships: what is known of it."""

from __future__ import annotations

import numpy as np

from mercer.datasets import load_sea_temperatures


def test_known_years():
    sea = load_sea_temperatures()
    assert sea.temperature.shape == (len(sea.years), len(sea.months)) == (61, 12)
    assert np.array_equal(sea.years, np.arange(1950, 2011))
    anomaly = sea.temperature - sea.temperature.mean(axis=0)
    warmest = sea.years[np.argsort(-anomaly.mean(axis=1))[:3]]
    assert set(warmest.tolist()) == {1983, 1997, 1998}  # the two great El Niños of the century, 1982/83 and 1997/98


def test_the_sea_is_warm_in_march_and_cold_in_september():
    mean = load_sea_temperatures().temperature.mean(axis=0)
    assert (mean.argmax() + 1, mean.argmin() + 1) == (3, 9)
