"""Each command on small tables, as it is typed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer import FunctionalRegressor, KernelQuantileRegressor, SimplexClassifier
from mercer.cli import main

RNG = np.random.default_rng(0)
N = 50
FLATS = pd.DataFrame(
    {
        "key": [f"f{k}" for k in range(N)],
        "area": RNG.uniform(20, 120, N).round(1),
        "town": RNG.choice(["Oslo", "Rome"], N),
        "zip": RNG.choice(["01", "02"], N),
        "listed": [f"2024-0{1 + k % 9}-1{k % 7}" for k in range(N)],
        "lift": RNG.random(N) < 0.5,
    }
)
FLATS["rent"] = (10 * FLATS["area"] * (1 + (FLATS["town"] == "Oslo")) * RNG.lognormal(0, 0.1, N)).round(2)
FLATS["dear"] = np.where(FLATS["rent"] > FLATS["rent"].median(), "yes", "no")
FLATS.loc[3, "area"] = np.nan
FLATS.loc[4, "town"] = None
NEW = FLATS.drop(columns=["rent", "dear"]).sample(8, random_state=0)[
    ["lift", "town", "key", "area", "listed", "zip"]  # in another order
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FLATS.to_csv("flats.csv", index=False)
    NEW.to_csv("new.csv", index=False)
    return tmp_path


def run(command: str) -> None:
    assert main(command.split()) == 0


def test_quantiles(folder, capsys):
    run("fit quantile flats.csv --target rent --drop key,dear --text zip --out rent.mercer")
    assert "KernelQuantileRegressor of 50 rows with area, town, zip, listed, lift in" in capsys.readouterr().out
    run("predict rent.mercer new.csv --levels .05,.5,.95 --keep key -o out.csv")
    found = pd.read_csv("out.csv")
    assert list(found) == ["key", "q0.05", "q0.5", "q0.95"]
    assert found["key"].tolist() == NEW["key"].tolist()
    # as in Python, where dates are dates, and zips text
    X = FLATS[["area", "town", "zip", "listed", "lift"]].assign(listed=pd.to_datetime(FLATS["listed"]))
    model = KernelQuantileRegressor().fit(X, FLATS["rent"])
    new = X.loc[NEW.index]
    np.testing.assert_allclose(found.iloc[:, 1:], model.predict_quantile(new, [0.05, 0.5, 0.95]), rtol=1e-9)
    run("predict rent.mercer new.csv --coverage .8 -o out.csv")
    assert list(pd.read_csv("out.csv")) == ["lower", "upper"]
    run("predict rent.mercer new.csv -o out.csv")
    assert list(pd.read_csv("out.csv")) == ["q0.05", "q0.5", "q0.95"]


def test_few_rows_of_calibration_move_the_outer_levels(folder):
    """With ten of them no quantile of level 0.05 is to be had: what is predicted unasked says so by its name."""
    FLATS[:40].to_csv("few.csv", index=False)
    run("fit quantile few.csv --target rent --features area --out few.mercer --calibrate")
    run("predict few.mercer few.csv -o out.csv")
    assert list(pd.read_csv("out.csv")) == ["q0.1", "q0.5", "q0.9"]
    assert main(["predict", "few.mercer", "few.csv", "--levels", ".05", "-o", "out.csv"]) == 2


def test_models_are_those_of_python(folder):
    run("fit quantile flats.csv --target rent --features area,town --out rent.mercer --calibrate")
    model = mercer.load("rent.mercer")
    assert type(model) is mercer.ConformalQuantileRegressor
    assert model.feature_names_in_.tolist() == ["area", "town"]
    assert model.predict_interval(FLATS[["area", "town"]]).shape == (N, 2)


def test_text_that_looks_like_numbers_stays_text(folder):
    """Zips of new rows are read as those of the fit: "01" and not 1, also where no other column tells them apart."""
    FLATS.assign(zip=["A1", "02"] * 25).to_csv("flats.csv", index=False)
    NEW.assign(zip="02").to_csv("new.csv", index=False)
    run("fit quantile flats.csv --target rent --features zip,area --out rent.mercer")
    run("predict rent.mercer new.csv -o out.csv")
    NEW.assign(zip="A1").to_csv("new.csv", index=False)
    run("predict rent.mercer new.csv -o other.csv")
    assert not np.allclose(pd.read_csv("out.csv"), pd.read_csv("other.csv"))


def test_weights(folder):
    FLATS.assign(w=[0.0] * 25 + [2.0] * 25).to_csv("flats.csv", index=False)
    run("fit quantile flats.csv --target rent --features area --weight w --out half.mercer")
    FLATS[25:].to_csv("flats.csv", index=False)
    run("fit quantile flats.csv --target rent --features area --out other.mercer")
    assert mercer.load("half.mercer").X_fit_.shape == mercer.load("other.mercer").X_fit_.shape


def test_costs(folder):
    run("fit cost flats.csv --target dear --drop key,rent --positive yes --out dear.mercer")
    run("predict dear.mercer new.csv --levels .1,.9 -o out.csv")
    found = pd.read_csv("out.csv")
    assert list(found) == ["P(yes)", "at cost 0.1", "at cost 0.9"]
    assert set(found["at cost 0.1"]) | set(found["at cost 0.9"]) <= {"yes", "no"}
    assert ((found["at cost 0.9"] == "yes") >= (found["at cost 0.1"] == "yes")).all()
    run("fit cost flats.csv --target lift --features area --positive False --out lift.mercer")
    assert not mercer.load("lift.mercer").pos_label_
    run("predict lift.mercer new.csv -o out.csv")
    assert list(pd.read_csv("out.csv")) == ["P(False)", "at cost 0.5"]


def test_level_sets(folder):
    run("fit levels flats.csv --features area,town --out usual.mercer")
    run("predict usual.mercer new.csv --levels .1,.5 -o out.csv")
    found = pd.read_csv("out.csv")
    assert list(found) == ["score", "inside at 0.1", "inside at 0.5"]
    assert found["inside at 0.1"].dtype == bool


GRID = np.linspace(0, 2, 5)
WIDE = pd.DataFrame(np.sin(GRID + FLATS[["area"]].fillna(50).to_numpy() / 50), columns=[f"t-{t:g}" for t in GRID])


def test_wide_curves(folder):
    WIDE.where(RNG.random(WIDE.shape) > 0.1).assign(area=FLATS["area"], town=FLATS["town"]).to_csv("w.csv", index=False)
    run("fit curves w.csv --curve t-* --out w.mercer --calibrate")
    model = mercer.load("w.mercer")
    np.testing.assert_array_equal(model.grid_, GRID)
    run("predict w.mercer new.csv --coverage .8 -o out.csv")
    names = list(WIDE)
    assert list(pd.read_csv("out.csv")) == [*names, *(f"lower {n}" for n in names), *(f"upper {n}" for n in names)]
    run("predict w.mercer new.csv --points .25,1 --keep key -o out.csv")
    assert list(pd.read_csv("out.csv")) == ["key", "value(0.25)", "value(1)"]
    run("fit curves w.csv --curve t-* --value height --out h.mercer --report h.html")
    assert "Predicted height" in Path("h.html").read_text(encoding="utf-8")
    run("predict h.mercer new.csv --points .25,1 -o out.csv")
    assert list(pd.read_csv("out.csv")) == ["height(0.25)", "height(1)"]
    run("predict w.mercer new.csv --long --keep key -o long.csv")
    long = pd.read_csv("long.csv")
    assert list(long) == ["key", "t", "value"]
    assert long["key"].tolist() == np.repeat(NEW["key"], 5).tolist()
    np.testing.assert_allclose(long["t"], np.tile(GRID, 8))


def test_points_of_wide_curves(folder):
    named = WIDE.set_axis(list("abcde"), axis=1)[list("caebd")].assign(area=FLATS["area"])
    named.to_csv("w.csv", index=False)
    run("fit curves w.csv --curve e,d,c,b,a --points 2,1.5,1,.5,0 --out w.mercer")
    np.testing.assert_array_equal(mercer.load("w.mercer").grid_, GRID)
    run("predict w.mercer new.csv -o out.csv")
    found = pd.read_csv("out.csv")
    assert list(found) == list("abcde")
    np.testing.assert_allclose(found, WIDE.loc[NEW.index], atol=0.2)


def long_table():
    rows = [(k, t, np.sin(t + k / 25), "ab"[k % 2], k / 10) for k in range(30) for t in RNG.uniform(0, 2, 5).round(3)]
    return pd.DataFrame(rows, columns=["child", "age", "height", "sex", "weight"]).sample(frac=1, random_state=0)


def test_long_curves(folder):
    long = long_table()
    long.to_csv("long.csv", index=False)
    run("fit curves long.csv --id child --time age --value height --out growth.mercer")
    model = mercer.load("growth.mercer")
    assert sorted(model.feature_names_in_) == ["sex", "weight"]
    children = long.drop_duplicates("child")[["child", "sex", "weight"]]
    children.to_csv("children.csv", index=False)
    run("predict growth.mercer children.csv --points .5,1.5 --keep child --long -o out.csv")
    found = pd.read_csv("out.csv")
    assert list(found) == ["child", "age", "height"]
    truth = np.sin(found["age"] + found["child"] / 25)
    assert np.mean((found["height"] - truth) ** 2) < 0.05 * np.var(truth)
    long[["child", "age", "height"]].to_csv("long.csv", index=False)
    run("fit curves long.csv --id child --time age --value height --inputs children.csv --out two.mercer")
    assert sorted(mercer.load("two.mercer").feature_names_in_) == ["sex", "weight"]


def test_fields(folder):
    P = RNG.normal(size=(30, 2))
    wind = pd.DataFrame(np.hstack([P, -P[:, 1:], P[:, :1]]), columns=["x", "y", "u", "v"])
    wind.to_csv("wind.csv", index=False)
    run("fit field wind.csv --position x,y --vector u,v --field divergence-free --out wind.mercer")
    run("predict wind.mercer wind.csv -o out.csv")
    found = pd.read_csv("out.csv")
    assert list(found) == ["x", "y", "u", "v"]
    np.testing.assert_allclose(found, wind, atol=0.1)


def films():
    area = FLATS["area"].fillna(50)
    labels = pd.DataFrame({"big": area > 60, "huge": area > 90, "north": FLATS["town"] == "Oslo"}).astype(int)
    sets = [{name for name in labels if row[name]} for _, row in labels.iterrows()]
    table = labels.add_prefix("is_").assign(key=FLATS["key"], area=area, town=FLATS["town"])
    return table.assign(tags=["; ".join(sorted(one)) for one in sets], word=[f"{'ab'[len(one) > 1]}ba" for one in sets])


def test_sets_of_labels(folder):
    films().to_csv("films.csv", index=False)
    run("fit structured films.csv --target tags --separator ; --features area,town --out tags.mercer --calibrate")
    run("predict tags.mercer films.csv --top 2 --coverage .8 --keep key,tags -o out.csv")
    found = pd.read_csv("out.csv", keep_default_na=False)
    assert list(found) == ["key", "tags of films.csv", "tags", "best 1", "best 2", "set size", "set"]
    assert found["tags"].tolist() == found["best 1"].tolist()
    truth = [set(filter(None, cell.replace(" ", "").split(";"))) for cell in found["tags of films.csv"]]
    told = [set(filter(None, cell.split(";"))) for cell in found["tags"]]
    assert np.mean([one == other for one, other in zip(truth, told, strict=True)]) > 0.8
    # as in Python
    model = mercer.load("tags.mercer")
    X = films()[["area", "town"]]
    assert told == list(model.predict(X))
    sets = model.predict_set(X, coverage=0.8)
    assert found["set size"].tolist() == [len(one) for one in sets]
    assert found["set"].tolist() == [" | ".join(";".join(sorted(labels)) for labels in one) for one in sets]
    run("report tags.mercer films.csv -o tags.html")
    assert "Do sets hold what they say?" in Path("tags.html").read_text(encoding="utf-8")


def test_columns_of_labels_and_strings(folder, capsys):
    films().to_csv("films.csv", index=False)
    run("fit structured films.csv --labels is_* --features area,town --out labels.mercer --report labels.html")
    run("predict labels.mercer films.csv --top 1 -o out.csv")
    found = pd.read_csv("out.csv")
    assert list(found) == ["is_big", "is_huge", "is_north", "best 1"]
    truth = films()[["is_big", "is_huge", "is_north"]]
    assert np.mean(found[list(truth)] == truth) > 0.9
    assert "is_big, is_north" in Path("labels.html").read_text(encoding="utf-8")
    run("fit structured films.csv --labels is_* --kernel agreement --features area,town --out labels.mercer")
    run("predict labels.mercer films.csv -o out.csv")
    assert np.mean(pd.read_csv("out.csv") == truth) > 0.9
    run("fit structured films.csv --target word --features area,town --out words.mercer")
    run("predict words.mercer films.csv -o out.csv")
    assert np.mean(pd.read_csv("out.csv")["word"] == films()["word"]) > 0.8
    films().assign(word=np.where(films()["area"] > 70, "B", "O")).to_csv("short.csv", index=False)
    run("fit structured short.csv --target word --features area,town --out short.mercer")  # shorter than substrings
    run("predict short.mercer short.csv -o out.csv")
    assert np.mean(pd.read_csv("out.csv")["word"] == pd.read_csv("short.csv")["word"]) > 0.9
    assert main(["predict", "words.mercer", "films.csv", "--coverage", ".9", "-o", "out.csv"]) == 2
    assert "--calibrate" in capsys.readouterr().err


def test_info(folder, capsys):
    run("fit quantile flats.csv --target rent --drop key,dear --out rent.mercer --calibrate")
    mercer.save(FunctionalRegressor(alpha=0.1, grid=GRID).fit(FLATS[["lift"]], WIDE), "curves.mercer")
    mercer.save(KernelQuantileRegressor(), "new.mercer")
    capsys.readouterr()
    run("info rent.mercer")
    text = capsys.readouterr().out
    for piece in ("ConformalQuantileRegressor", "flats.csv, 50 rows", "predicts     rent", "area, town", "13 rows"):
        assert piece in text
    assert f"mercer {mercer.__version__}" in text
    run("info curves.mercer")
    text = capsys.readouterr().out
    assert "kernel         Gaussian(" in text
    assert "relative gap" in text
    assert "converged" in text
    run("info new.mercer")
    assert "not fitted" in capsys.readouterr().out


def test_other_estimators_predict_plainly(folder):
    X = FLATS[["area"]].fillna(50)
    mercer.save(SimplexClassifier().fit(X, FLATS["town"].fillna("none")), "towns.mercer")
    NEW.fillna({"area": 50}).to_csv("new.csv", index=False)
    run("predict towns.mercer new.csv -o out.csv")
    assert set(pd.read_csv("out.csv")["predicted"]) <= {"Oslo", "Rome", "none"}


def test_models_without_names_take_all_columns(folder):
    X = FLATS[["area"]].fillna(50).to_numpy()
    mercer.save(KernelQuantileRegressor().fit(X, FLATS["rent"]), "rent.mercer")
    FLATS[["area"]].fillna(50).to_csv("new.csv", index=False)
    run("predict rent.mercer new.csv --levels .5 -o out.csv")
    assert len(pd.read_csv("out.csv")) == N


def test_parquet_and_tabs(folder):
    pytest.importorskip("pyarrow")
    FLATS.assign(listed=pd.to_datetime(FLATS["listed"])).to_parquet("flats.parquet")
    run("fit quantile flats.csv --target rent --drop key,dear --text zip --out a.mercer")
    run("fit quantile flats.parquet --target rent --drop key,dear --out b.mercer")
    NEW.to_csv("new.tsv", sep="\t", index=False)
    run("predict a.mercer new.tsv -o a.tsv")
    run("predict b.mercer new.csv -o b.parquet")
    np.testing.assert_allclose(pd.read_csv("a.tsv", sep="\t"), pd.read_parquet("b.parquet"))


def test_demo_leaves_tables_for_the_commands_that_it_names(folder, capsys):
    run("demo --out trial")
    lines = [line.strip() for line in capsys.readouterr().out.splitlines() if line.startswith("  mercer ")]
    assert len(lines) == 4
    for line in lines:
        run(line.removeprefix("mercer "))
    assert len(pd.read_csv("trial/quantiles.csv")) == 20
    assert "diabetes" in Path("trial/report.html").read_text(encoding="utf-8")
    assert Path("trial/y.html").stat().st_size < 400_000


@pytest.mark.parametrize(("kind", "target"), [("quantile", "rent"), ("cost", "dear"), ("structured", "town")])
def test_rows_without_a_target_are_left_out(folder, capsys, kind, target):
    table = FLATS.assign(**{target: FLATS[target].where(FLATS.index > 4)})
    table.to_csv("holes.csv", index=False)
    run(f"fit {kind} holes.csv --target {target} --features area --out a.mercer --report a.html")
    said = capsys.readouterr()
    assert said.err == f"mercer: warning: holes.csv: 5 of 50 rows have no '{target}' and are left out\n"
    assert "of 45 rows" in said.out
    run("report a.mercer holes.csv -o rows.html")
    assert "45 rows of holes.csv" in Path("rows.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("somebody", [True, False])
def test_who_looks_sees_what_is_computed(folder, capsys, monkeypatch, somebody):
    monkeypatch.setattr("mercer.cli.fit.watched", lambda: somebody)
    run("fit cost flats.csv --target dear --features area --out a.mercer")
    assert ("[mercer]" in capsys.readouterr().err) == somebody


def test_compressed_tables(folder):
    FLATS.to_csv("flats.csv.gz", index=False)
    run("fit quantile flats.csv.gz --target rent --features area --out rent.mercer")
    run("predict rent.mercer flats.csv -o out.tsv.gz")
    assert Path("out.tsv.gz").read_bytes()[:2] == b"\x1f\x8b"
    assert len(pd.read_csv("out.tsv.gz", sep="\t")) == N


def test_names_as_inputs_are_noticed(folder, capsys):
    run("fit quantile flats.csv --target rent --features key,area,town --out rent.mercer")
    (line,) = capsys.readouterr().err.splitlines()
    assert line == "mercer: warning: flats.csv: 'key' is another text in each row; if it is a name, --drop key"


def test_warnings_are_one_line(folder, capsys):
    run("fit quantile flats.csv --target rent --features area --out rent.mercer")
    NEW.assign(area=1e5).to_csv("far.csv", index=False)
    run("predict rent.mercer far.csv -o out.csv")
    lines = capsys.readouterr().err.splitlines()
    assert lines
    assert all(line.startswith("mercer: warning: ") for line in lines)


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion(shell, capsys):
    pytest.importorskip("shtab")
    run(f"completion {shell}")
    assert "quantile" in capsys.readouterr().out


@pytest.mark.parametrize(
    "command", ["", "fit", "predict", "info", "demo", "report", "fit curves", "fit field", "fit structured"]
)
def test_help_has_examples(command, capsys):
    run(f"{command} --help")
    text = capsys.readouterr().out
    assert "usage: mercer" in text
    if command != "fit":
        assert "\n  mercer " in text


def test_the_command_runs_by_itself(folder):
    path = os.pathsep.join([str(Path(mercer.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, "-m", "mercer.cli", "info", "nothing.mercer"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr == "mercer: error: there is no file or folder nothing.mercer\n"


def test_version(capsys):
    run("--version")
    assert capsys.readouterr().out == f"mercer {mercer.__version__}\n"


REPORTED = {
    "quantile": "--target rent --drop key,dear --text zip",
    "cost": "--target dear --positive yes --drop key,rent",
    "levels": "--features area,town",
}


@pytest.mark.parametrize("kind", REPORTED)
def test_a_page_of_the_fit_and_one_of_new_rows(folder, capsys, kind):
    run(f"fit {kind} flats.csv {REPORTED[kind]} --out a.mercer --report fit.html")
    assert "fit.html" in capsys.readouterr().out
    text = Path("fit.html").read_text(encoding="utf-8")
    assert "50 rows of flats.csv, the rows of the fit" in text
    run("report a.mercer flats.csv -o rows.html --title Flats")
    shown = Path("rows.html").read_text(encoding="utf-8")
    assert "<title>Flats</title>" in shown
    # of the same rows, the same numbers
    assert shown.split('"explore":')[1] == text.split('"explore":')[1]
    capsys.readouterr()
    run("report a.mercer new.csv -o new.html")
    assert ("does not hold what the model predicts" in capsys.readouterr().err) == (kind != "levels")


def test_pages_of_curves_and_fields(folder):
    wide = pd.DataFrame({"north": RNG.uniform(size=N), **{f"t_{k}": RNG.normal(size=N) for k in range(5)}})
    wide.loc[2, "t_3"] = np.nan
    wide.to_csv("wide.csv", index=False)
    run("fit curves wide.csv --curve t_* --out wide.mercer --report fit.html")
    run("report wide.mercer wide.csv -o rows.html")
    assert Path("rows.html").read_text().split('"explore":')[1] == Path("fit.html").read_text().split('"explore":')[1]
    long = pd.DataFrame(
        {"id": np.repeat(range(N), 3), "x": np.repeat(RNG.normal(size=N), 3), "t": RNG.uniform(size=3 * N)}
    )
    long["v"] = long["t"] + long["x"]
    long.to_csv("long.csv", index=False)
    run("fit curves long.csv --id id --time t --value v --out long.mercer --report fit.html")
    run("report long.mercer long.csv -o rows.html")
    assert Path("rows.html").read_text().split('"explore":')[1] == Path("fit.html").read_text().split('"explore":')[1]
    P = RNG.normal(size=(N, 2))
    pd.DataFrame(np.hstack([P, P]), columns=["x", "y", "u", "v"]).to_csv("wind.csv", index=False)
    run("fit field wind.csv --position x,y --vector u,v --out wind.mercer")
    run("report wind.mercer wind.csv -o rows.html")


def test_a_page_needs_a_name_for_browsers(folder, capsys):
    command = "fit quantile flats.csv --target rent --features area --out a.mercer --report page.txt"
    assert main(command.split()) == 2
    assert "must end in .html" in capsys.readouterr().err
    assert not Path("a.mercer").exists()


def test_semicolons_and_decimal_commas(folder, capsys):
    run("fit quantile flats.csv --target rent --drop key,dear --text zip --out rent.mercer")
    run("predict rent.mercer new.csv -o out.csv")
    FLATS.to_csv("flats.csv", index=False, sep=";", decimal=",")
    NEW.to_csv("new.csv", index=False, sep=";", decimal=",")
    run("fit quantile flats.csv --target rent --drop key,dear --text zip --out commas.mercer")
    run("predict commas.mercer new.csv -o again.csv")
    pd.testing.assert_frame_equal(pd.read_csv("again.csv"), pd.read_csv("out.csv"))
    assert capsys.readouterr().err == ""


def test_commas_between_names_are_no_numbers(folder):
    FLATS.assign(zip="1,5").to_csv("flats.csv", index=False)
    run("fit quantile flats.csv --target rent --features zip,area --out rent.mercer")
    assert mercer.load("rent.mercer").encoder_ is not None


@pytest.mark.parametrize(
    ("cells", "option", "says"),
    [
        (["12.5", "?"] + ["3"] * 48, "", r"'new' is taken as text, because of '\?' among .*--text new"),
        ([f"1,{100 + k}" for k in range(N)], "", "'new' is taken as text, because of '1,100' among its numbers"),
        ([f"{k % 28 + 1}.03.2024" for k in range(N)], "", "'new' is taken as text: dates are .* it holds '1.03.2024'"),
        ([f"n{k}" for k in range(N)], "", "'new' is another text in each row; if it is a name, --drop new"),
        (["12", "A3"] + ["3"] * 48, " --text new", ""),
        (["12", "A3"] * 25, "", ""),
        (range(N), "", ""),
    ],
)
def test_inputs_that_may_not_be_what_was_meant(cells, option, says, folder, capsys):
    FLATS.assign(new=cells).to_csv("flats.csv", index=False)
    run(f"fit quantile flats.csv --target rent --features new,area --out rent.mercer{option}")
    found = capsys.readouterr().err
    assert re.fullmatch(f"mercer: warning: flats.csv: .*{says}.*\n" if says else "", found)


def test_columns_that_count_rows(folder, capsys):
    FLATS.to_csv("flats.csv")
    run("fit quantile flats.csv --target rent --drop key,dear --out rent.mercer")
    assert "'Unnamed: 0', grows from row to row; if it only counts them, --drop 'Unnamed: 0'" in capsys.readouterr().err
    assert main(["fit", "levels", "flats.csv", "--drop", "Unnamed: 0,key,rent,dear", "--out", "usual.mercer"]) == 0
    assert capsys.readouterr().err == ""


def test_curves_without_a_value_are_left_out(folder, capsys):
    curves = pd.DataFrame(RNG.normal(size=(30, 3)), columns=["c1", "c2", "c3"]).assign(x=np.arange(30.0))
    curves.iloc[4, :3] = np.nan
    curves.iloc[5, 1] = np.nan
    curves.to_csv("curves.csv", index=False)
    run("fit curves curves.csv --curve c* --out curves.mercer")
    assert "1 of 30 rows have no value from 'c1' to 'c3' and are left out" in capsys.readouterr().err
    assert len(mercer.load("curves.mercer").X_fit_) == 29
