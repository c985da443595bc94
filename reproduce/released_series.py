"""The series of Tables 8.1 to 8.3 of Brault (2017) as the notebooks released with the thesis have them.

They are in github.com/RomainBrault/OV2SGD (NLVAR_*.ipynb; Untitled4, 5, 6 and 8 for real data), and say what the thesis
does not: seeds, columns and units. With them least squares has the published errors to the last digit.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from report import data_file

__all__ = ["REAL", "SIMULATED", "Setting", "Table", "climate", "gesture", "heart", "macrodata", "simulate"]


class Table(NamedTuple):
    """A row of the published tables: errors of VAR(1), ORFFVAR and OKVAR, settings of OKVAR, and (σ, λ) of ORFFVAR."""

    window: int
    linear: float
    features: float
    kernel: float | None = None
    length: float | None = None
    alpha: float | None = None
    standardised: bool = False
    gaussian: tuple[float, float] | None = None


@dataclass(frozen=True)
class Setting:
    """x_{t+1} = A g(x_t) + scale·u in R^5, with what the covariance of u and the weights of A are made of."""

    g: str
    noise: str
    strength: float
    diagonal: float
    scale: float = 1.0
    start: bool = True
    n: int = 1000
    spread: float = 0.3

    def covariance(self) -> np.ndarray:
        """Return the covariance of u."""
        if self.noise == "white":
            return self.strength * np.eye(5)
        power = 0.1 if self.g == "sine" else 1.0
        return power * self.strength ** np.abs(np.subtract.outer(np.arange(5), np.arange(5)))


#: Table 8.1: setting, published row (L-BFGS of OKVAR has σ = 200, 100 or 1, and λ = 1e-6)
SIMULATED = {
    "linear, white": (Setting("linear", "white", 0.9, 0.9), Table(500, 0.914979, 0.919663, 0.958790, 200, 1e-6)),
    "linear, Toeplitz": (Setting("linear", "Toeplitz", 0.9, 0.9), Table(500, 1.091096, 1.097183, 1.410969, 200, 1e-6)),
    "exp, white": (Setting("exp", "white", 0.09, 0.5, 0.1), Table(500, 0.001275, 0.001003, 0.001100, 1, 1e-6)),
    "exp, Toeplitz": (Setting("exp", "Toeplitz", 0.09, 0.5, 0.1), Table(500, 0.017014, 0.012635, 0.013854, 1, 1e-6)),
    "sine, white": (Setting("sine", "white", 0.009, 0.9), Table(500, 0.009534, 0.009536, 0.009227, 1, 1e-6)),
    "sine, Toeplitz": (
        Setting("sine", "Toeplitz", 0.9, 0.9, start=False),
        Table(500, 0.116901, 0.116964, 0.160133, 100, 1e-6),
    ),
}
#: Table 8.2
LONG = Setting("exp", "white", 0.09, 0.5, 0.1, n=10_000, spread=0.5)
#: Table 8.3
REAL = {
    "macrodata": Table(50, 449.136, 445.9, 499.792, 11.18, 0.00025, True),
    "gesture 1": Table(200, 0.980, 0.741, gaussian=(20.0, 1e-3)),
    "gesture 4": Table(200, 0.768056, 0.473194, gaussian=(20.0, 1e-3)),
    "climate": Table(1872, 0.266187, 0.236982, gaussian=(4.0, 1e-5)),
    "heart": Table(240, 0.259, 0.262, gaussian=(10.0, 1e-3)),
}


def simulate(setting: Setting, n: int | None = None) -> np.ndarray:
    """Return the series, shape (setting.n, 5), or its first n steps, with the random numbers of seed 0."""
    draw = np.random.RandomState(0)  # the generator that was used
    A, C = setting.diagonal * np.eye(5), setting.covariance()
    for _ in range(5):
        row = column = 0
        while row == column:
            row, column = draw.randint(5), draw.randint(5)
        A[column, row] = draw.normal(0, setting.spread)
    g = {"linear": lambda x: x, "exp": lambda x: np.exp(-10 * x**2), "sine": lambda x: np.sin(-x)}[setting.g]
    path = np.empty((n or setting.n, 5))
    path[0] = draw.multivariate_normal(np.zeros(5), C) * setting.start
    draw.randn(1000, 5)  # drawn there, too, and used for nothing
    for t in range(1, len(path)):
        path[t] = A @ g(path[t - 1]) + setting.scale * draw.multivariate_normal(np.zeros(5), C)
    return path


def _read(path: Path) -> np.ndarray:
    """Return the rows of a table as records."""
    return np.genfromtxt(path, delimiter=",", names=True, dtype=None, encoding="utf-8")


def _columns(table: np.ndarray, names: list[str]) -> np.ndarray:
    """Return some columns as numbers, shape (n, len(names))."""
    return np.stack([np.asarray(table[name], dtype=float) for name in names], axis=1)


def _standardised(Y: np.ndarray) -> np.ndarray:
    """Return columns of mean 0 and variance 1."""
    return (Y - Y.mean(axis=0)) / Y.std(axis=0)


def macrodata(folder: Path) -> np.ndarray:
    """Return 8 of the 12 series: without GDP, consumption, income and population, which have nearly all the error."""
    contents = "the macroeconomic data of statsmodels: year, quarter and 12 series over 203 quarters, comma-separated"
    table = _read(data_file(folder, "macrodata.csv", contents))
    left_out = ("year", "quarter", "realgdp", "realcons", "realdpi", "pop")
    return _columns(table, [name for name in table.dtype.names if name not in left_out])


def gesture(folder: Path, video: str) -> np.ndarray:
    """Return all features but the first of a video of the gesture phase data (a1 is the thesis' 1, b1 its 4)."""
    contents = "video, f01, ..., f32, phase: processed features of the videos of UCI Gesture Phase Segmentation."
    table = _read(data_file(folder, "gesture_phase_va3.csv.gz", contents))
    names = [name for name in table.dtype.names if name.startswith("f")]
    return _standardised(_columns(table[table["video"] == video], names))[:, 1:]


def heart(folder: Path) -> np.ndarray:
    """Return the first part of the Santa Fe data B, without its first row, which was read as names."""
    contents = "part, heart_rate, chest_volume, blood_oxygen: Santa Fe time series B, parts b1 and b2."
    table = _read(data_file(folder, "heart_santafe_b.csv.gz", contents))
    return _standardised(_columns(table[table["part"] == "b1"][1:], list(table.dtype.names[1:])))


def climate(folder: Path) -> np.ndarray:
    """Return 155 months of 125 stations, one below the other as if they were one series, standardised by station."""
    contents = "YEAR, MONTH, LAT, LONG and 18 variables for 156 months of 125 stations, one station after the other."
    table = _read(data_file(folder, "climate_na_1990_2002.csv.gz", contents))
    Y = _columns(table, list(table.dtype.names[4:]))
    Y = np.where(np.isnan(Y), np.nanmean(Y, axis=0), Y).reshape(-1, 156, Y.shape[1])
    spread = Y.std(axis=1, keepdims=True)
    Y = (Y - Y.mean(axis=1, keepdims=True)) / np.where(spread == 0, 1.0, spread)
    return Y[:, :-1].reshape(-1, Y.shape[2])
