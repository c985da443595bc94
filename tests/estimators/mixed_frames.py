"""A table with columns of all kinds and missing cells, as a data frame of either library, and its target."""

from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl

LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame}


def make_columns(n=90, seed=0):
    """Return columns as lists of plain Python, None where cells are missing, and a target."""
    rng = np.random.default_rng(seed)
    age, days, hours = rng.normal(40, 10, n), rng.uniform(0, 300, n), rng.uniform(1, 50, n)
    town, member = rng.choice(["Oslo", "Paris", "Rome"], n), rng.random(n) < 0.5
    y = age / 10 + 2.0 * (town == "Rome") + member + days / 100 + 0.3 * rng.normal(size=n)
    columns = {
        "age": age.tolist(),
        "town": town.tolist(),
        "member": member.tolist(),
        "since": [datetime(2024, 1, 1) + timedelta(days=day) for day in days.tolist()],
        "work": [timedelta(hours=hour) for hour in hours.tolist()],
    }
    for name in ("age", "town", "since"):
        columns[name] = [None if rng.random() < 0.1 else cell for cell in columns[name]]
    return columns, y


def make_frame(library, n=90, seed=0):
    """Return a data frame with numbers, text, booleans, dates, durations and categories, and its target."""
    columns, y = make_columns(n, seed)
    frame = LIBRARIES[library](columns)
    if library == "pandas":
        return frame.assign(grade=pd.Categorical(frame["town"].str[:1], categories=["R", "P", "O"])), y
    return frame.with_columns(pl.col("town").str.slice(0, 1).cast(pl.Categorical).alias("grade")), y
