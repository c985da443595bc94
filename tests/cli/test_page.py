"""The commands in docs/command-line.md run as printed, on tables as the page describes them."""

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd

from mercer.cli import main
from mercer.cli.kinds import PROBLEM_KINDS

PAGE = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()


def write_tables():
    rng = np.random.default_rng(0)
    n = 40
    flats = pd.DataFrame({"key": range(n), "area": rng.uniform(20, 120, n), "town": rng.choice(["Oslo", "Rome"], n)})
    flats["rent"] = 10 * flats["area"] + 50 * rng.normal(size=n)
    flats["dear"] = np.where(flats["rent"] > flats["rent"].median(), "yes", "no")
    flats.to_csv("flats.csv", index=False)
    flats[["key", "area", "town"]][:5].to_csv("new.csv", index=False)
    north, months = rng.uniform(40, 70, n), np.arange(1, 13)
    temperatures = 30 - north[:, None] / 2 - 10 * np.cos(months / 2) + rng.normal(size=(n, 12))
    stations = pd.DataFrame({"station": [f"s{k}" for k in range(n)], "north": north})
    stations.to_csv("stations.csv", index=False)
    names = [f"temp_{month}" for month in months]
    weather = pd.concat([stations[["north"]], pd.DataFrame(temperatures, columns=names)], axis=1)
    weather.to_csv("weather.csv", index=False)
    visits = pd.DataFrame({"child": np.repeat(range(n), 4), "sex": np.repeat(rng.choice(["f", "m"], n), 4)})
    visits["age"] = rng.uniform(1, 10, 4 * n)
    visits["height"] = 70 + 6 * visits["age"] + rng.normal(size=4 * n)
    visits.to_csv("visits.csv", index=False)
    visits.drop_duplicates("child")[["child", "sex"]].to_csv("children.csv", index=False)
    year, length = rng.integers(1950, 2020, n), rng.integers(60, 180, n)
    labels = {"drama": length > 100, "western": year < 1980, "epic": length > 140}
    films = pd.DataFrame({"title": [f"film {k}" for k in range(n)], "year": year, "length": length})
    films["genres"] = ["; ".join(name for name, on in labels.items() if on[k]) for k in range(n)]
    films = films.assign(**{f"has_{name}": on.astype(int) for name, on in labels.items()})
    films[["title", "year", "length"]][:5].to_csv("later.csv", index=False)
    films.to_csv("films.csv", index=False)
    P = rng.normal(size=(n, 2))
    wind = pd.DataFrame(np.hstack([P, -P[:, 1:], P[:, :1]]), columns=["x", "y", "u", "v"])
    wind.to_csv("wind.csv", index=False)
    wind[["x", "y"]].to_csv("places.csv", index=False)


def test_the_commands_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_tables()
    commands = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
    assert len(commands) > 12
    for command in commands:
        program, *arguments = shlex.split(command)
        assert program == "mercer"
        assert main(arguments) == 0, capsys.readouterr().err
    assert capsys.readouterr().err == ""
    written = [line.split()[-1] for line in commands if " predict " in line]
    assert all(len(pd.read_csv(path)) for path in written)


def test_every_kind_has_a_row():
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) == [kind.name for kind in PROBLEM_KINDS]
