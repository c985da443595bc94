"""Small fits and their pages, for tests."""

from __future__ import annotations

import json
import warnings
from functools import cache

import numpy as np
import pandas as pd

import mercer
from mercer.explorer import Report

HOSTILE = "</script><img src=x onerror=window.hacked=1>"


def data_of(report: Report) -> dict:
    """Return what a page was given."""
    text = report.html.split('id="data">')[1].split("</script>")[0]
    return json.loads(text)


def unpacked(packed: dict) -> np.ndarray:
    """Return an array out of its codes, as the page reads it."""
    import base64

    codes = np.frombuffer(base64.b64decode(packed["codes"]), dtype="<u2").astype(float)
    values = packed["low"] + codes * (packed["high"] - packed["low"]) / 65534
    return np.where(codes == 65535, np.nan, values).reshape(packed["shape"])


def flats(n: int = 80) -> tuple[pd.DataFrame, pd.Series]:
    """Return a table of columns of all kinds, one of which has a name that no page should obey."""
    rng = np.random.default_rng(0)
    area, town = rng.uniform(20, 120, n), rng.choice(["Oslo", "Rome", HOSTILE], n)
    day = pd.Timestamp("2024-01-01", tz="UTC") + pd.to_timedelta(rng.integers(0, 300, n), unit="D")
    X = pd.DataFrame({"area": area, "town": town, "day": day, "lift": rng.random(n) < 0.5, HOSTILE: rng.normal(size=n)})
    X["town"] = X["town"].astype("category")
    rent = 10 * area + 300 * (town == "Oslo") + (day - day.min()).days + 400 * X["lift"] + 30 * rng.normal(size=n)
    X.loc[3, "area"], X.loc[5, "town"] = np.nan, None
    return X, pd.Series(rent.to_numpy(), name=HOSTILE)


@cache
def page(name: str) -> Report:
    """Return the page of a kind of model."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return PAGES[name](X, rng)


def _fan(X, rng):
    table, y = flats()
    return mercer.explore(mercer.KernelQuantileRegressor().fit(table, y), table, y)


def _regions(X, rng):
    y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=90) > 0.7, "late", "paid")
    model = mercer.CostSensitiveClassifier("gaussian", alpha=1e-3, pos_label="late").fit(X, y)
    return mercer.explore(model, X, y, feature_names=["income", "debt", "age"], target_name="loans")


def _levels(X, rng):
    return mercer.explore(mercer.LevelSetDetector(calibration=None).fit(X[:, :2]), X[:, :2])


def _curves(X, rng):
    grid = np.linspace(0, 1, 20)
    Y = np.sin(5 * grid + X[:, :1]) + 0.1 * rng.normal(size=(90, 20))
    return mercer.explore(mercer.FunctionalRegressor("gaussian", alpha=1e-4, grid=grid).fit(X, Y), X, Y)


def _field(X, rng):
    P = X[:40, :2]
    Y = np.stack([-P[:, 1], P[:, 0]], axis=1) + 0.05 * rng.normal(size=P.shape)
    return mercer.explore(mercer.VectorFieldRegressor().fit(P, Y), P, Y, feature_names=["east", "north"])


def _candidates(X, rng):
    labels = pd.DataFrame((X + 0.3 * rng.normal(size=X.shape) > 0).astype(int), columns=["sea", "sky", HOSTILE])
    model = mercer.InputOutputKernelRegressor("gaussian", alpha=1e-3).fit(X, labels)
    return mercer.explore(model, X, labels, feature_names=["red", "green", "blue"], target_name="the scene")


def _series(X, rng):
    values = np.zeros((120, 2))
    for t in range(1, 120):
        values[t] = [0.9 * values[t - 1, 0], np.sin(2 * values[t - 1, 0])] + 0.2 * rng.normal(size=2)
    days = pd.date_range("2024-01-01", periods=120)
    frame = pd.DataFrame(values, columns=["rain", "river"], index=days)
    return mercer.explore(mercer.VectorAutoRegressor(order=1).fit(frame), frame)


def _curvefan(X, rng):
    grid = np.linspace(0, 1, 12)
    Y = np.sin(5 * grid + X[:, :1]) + 0.3 * (1 + grid) * rng.normal(size=(90, 12))
    Y[3, 4] = np.nan
    model = mercer.FunctionalQuantileRegressor("gaussian", alpha=1e-3, grid=grid, tol=1e-2, calibration=None)
    return mercer.explore(model.fit(X, Y), X, Y, target_name="height")


def _codes(X, rng):
    angle = rng.uniform(0, 5, size=90)
    rows = np.column_stack([np.sin(angle), np.cos(angle), angle / 2, np.cos(2 * angle)]) + 0.05 * rng.normal(
        size=(90, 4)
    )
    return mercer.explore(mercer.KernelAutoencoder(n_components=2, alpha=1e-3).fit(rows), rows)


def _scores(X, rng):
    return mercer.explore(mercer.OneClassForest(n_estimators=20, random_state=0).fit(X), X)


#: what makes the page of each kind of model
PAGES = {
    **{"fan": _fan, "regions": _regions, "levels": _levels, "curves": _curves, "field": _field},
    **{"candidates": _candidates, "series": _series, "curvefan": _curvefan, "codes": _codes, "scores": _scores},
}
