"""Series: forecasts with bands from any time on, beside what came, and who acts on whom."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from mercer.backend import to_numpy
from mercer.estimators.delegation import offers, reach
from mercer.exceptions import UnsupportedError
from mercer.explorer.kinds.base import Exhibit, Kind
from mercer.explorer.packing import rounded
from mercer.explorer.subject import Subject

__all__ = ["Series"]

#: times from which one can forecast, steps of a forecast, times that are drawn before it, and rows of a page
ORIGINS, STEPS_AHEAD, TIMES_BEFORE, ROWS_KEPT = 40, 24, 60, 1500
#: what bands hold, and paths that they are read off
BAND_SHARE, PATHS = 0.9, 200


class Series(Kind):
    """Several series, predicted from the past of all."""

    title = "Forecasts"

    def takes(self, estimator: Any) -> bool:
        return offers(estimator, "forecast_band")

    def show(self, subject: Subject) -> Exhibit:
        model, Y = reach(subject.estimator, subject.X, "forecast_band")
        if isinstance(Y, (list, tuple)):
            raise UnsupportedError("explore: a page is on one series of rows; call it for each of several.")
        values = np.asarray(to_numpy(getattr(Y, "values", Y)), dtype=float)
        T, p = values.shape
        if model.order >= T:
            raise UnsupportedError(f"explore: a forecast follows {model.order} rows, and one must come; got {T}.")
        steps = int(np.clip(T // 8, 4, STEPS_AHEAD))
        first = max(model.order, T - ROWS_KEPT)
        origins = np.unique(np.linspace(first, T, min(ORIGINS, T - first + 1)).round().astype(int))
        pasts = [_safe_indexing(Y, slice(0, int(t))) for t in origins]
        settings = {"n_paths": PATHS, "random_state": 0}
        ahead = np.stack([model.forecast(steps, past) for past in pasts])
        bands = np.stack([model.forecast_band(steps, BAND_SHARE, past, **settings) for past in pasts])
        names = [str(name) for name in getattr(Y, "columns", [f"series {j}" for j in range(p)])]
        times = [_day(time) for time in getattr(Y, "index", range(T))]
        start = max(first - TIMES_BEFORE, 0)
        data: dict[str, Any] = {
            "names": names,
            "times": times[start:],
            "values": rounded(values[start:].T, 5),
            "origins": (origins - start).tolist(),
            "forecasts": rounded(np.moveaxis(ahead, 2, 0), 5),
            "low": rounded(np.moveaxis(bands[..., 0], 2, 0), 5),
            "high": rounded(np.moveaxis(bands[..., 1], 2, 0), 5),
            "coverage": BAND_SHARE,
            "before": TIMES_BEFORE,
            "start": int(np.argmin(np.abs(origins - (T - steps)))),
        }
        return Exhibit("series", data, [*_judged(values, origins, ahead, bands), _graph(model, names)])


def _day(time: Any) -> str:
    text = str(time)
    return text[:-9] if text.endswith(" 00:00:00") else text


def _judged(values: np.ndarray, origins: np.ndarray, ahead: np.ndarray, bands: np.ndarray) -> list[dict[str, Any]]:
    """Return panels on errors and bands at each step, in units of the deviation of each series."""
    steps, T = ahead.shape[1], len(values)
    unit = np.maximum(values.std(axis=0), np.finfo(float).tiny)
    kept = [k for k, t in enumerate(origins) if t < T]
    error, last, inside = (np.full((len(kept), steps, values.shape[1]), np.nan) for _ in range(3))
    for row, k in enumerate(kept):
        seen = values[origins[k] : origins[k] + steps]
        n = len(seen)
        error[row, :n] = (seen - ahead[k, :n]) / unit
        last[row, :n] = (seen - values[origins[k] - 1]) / unit
        inside[row, :n] = (bands[k, :n, :, 0] <= seen) & (seen <= bands[k, :n, :, 1])
    x = list(range(1, steps + 1))

    def size(array: np.ndarray) -> Any:
        return rounded(np.sqrt(np.nanmean(array**2, axis=(0, 2))))

    return [
        {
            "panel": "lines",
            "title": "How far forecasts are off",
            "text": f"Root mean square error from {len(kept)} times on, in standard deviations of each series. "
            "Times of the fit look better than later ones.",
            "x": x,
            "names": ["steps ahead", "error"],
            "lines": [
                {"name": "this model", "y": size(error), "ink": "blue"},
                {"name": "the last value", "y": size(last), "ink": "soft", "dash": True},
            ],
            "limits": [0, None],
        },
        {
            "panel": "lines",
            "title": "Do bands hold?",
            "text": f"The share of what came that lies in the band of {100 * BAND_SHARE:g} %.",
            "x": x,
            "names": ["steps ahead", "share inside"],
            "lines": [
                {"name": "observed", "y": rounded(np.nanmean(inside, axis=(0, 2))), "ink": "blue"},
                {"name": "nominal", "y": [BAND_SHARE] * steps, "ink": "soft", "dash": True},
            ],
            "limits": [0, 1],
        },
    ]


def _graph(model: Any, names: list[str]) -> dict[str, Any]:
    return {
        "panel": "counts",
        "title": "Who acts on whom",
        "text": "How strongly the series of a column acts on that of a row: the root mean square slope.",
        "names": names,
        "counts": rounded(model.graph_, 2),
    }
