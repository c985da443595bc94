"""The scripts of reproduce/: each explains itself, and their pure functions do what the tables need."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest

from mercer.measures import Points

matplotlib = pytest.importorskip("matplotlib")

FOLDER = Path(__file__).parent.parent / "reproduce"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in ("report", "released_series"))


@pytest.fixture
def script(monkeypatch):
    """Import a script by its name, as Python finds it when it runs."""
    monkeypatch.syspath_prepend(str(FOLDER))
    backend = matplotlib.get_backend()
    yield importlib.import_module
    matplotlib.use(backend)


@pytest.mark.parametrize("name", SCRIPTS)
def test_help_and_first_line(name, script, monkeypatch, capsys):
    module = script(name)
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as stopped:
        module.main()
    shown = " ".join(capsys.readouterr().out.split())
    assert stopped.value.code == 0
    assert "--quick" in shown
    assert " ".join(module.__doc__.splitlines()[0].split()[:4]) in shown
    assert f"python reproduce/{name}.py" in module.__doc__


def test_every_script_is_in_the_readme():
    text = (FOLDER / "README.md").read_text()
    assert SCRIPTS
    assert [name for name in SCRIPTS if f"{name}.py" not in text] == []


def test_a_script_runs_as_a_command():
    source = str(FOLDER.parent / "src")
    run = subprocess.run(
        [sys.executable, str(FOLDER / "level_sets.py"), "--data", "nowhere"],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": source},
        check=False,
    )
    assert run.returncode != 0
    assert "No wilt.csv.gz in nowhere" in run.stderr
    assert "--data DIR" in run.stderr


def test_report_writes_figures_and_a_picture(script, tmp_path, capsys):
    report = script("report")
    given = Namespace(quick=True, output=tmp_path / "new" / "x.json", data=None, splits=3)
    kept = report.Report("x", given)
    kept.add(value=np.float64(0.5), array=np.arange(2))
    kept.picture(matplotlib.figure.Figure())
    kept.write()
    figures = json.loads((tmp_path / "new" / "x.json").read_text())
    assert (figures["value"], figures["array"], figures["settings"]) == (0.5, [0, 1], {"quick": True, "splits": 3})
    assert (tmp_path / "new" / "x.png").stat().st_size > 0
    assert "x.json" in capsys.readouterr().out


def test_table_of_groups(script):
    text = script("report").table("title", {"": ["a"], "paper": ["b"]}, [{"a": "x", "b": 1.0}, {"a": "long"}])
    assert text.splitlines() == ["title", "     | paper", "   a | b", "--------", "   x | 1", "long |"]


def test_table_5_1_counts_what_is_within_the_margin(script):
    module = script("table_5_1")
    best, margin, _ = min(module.PAPER["crabs"])  # 11 ± 1
    runs = [
        {"dataset": "crabs", "model": "default", "train": best + margin + shift, "whole": best, "seconds": 0.1}
        for shift in (-0.5, 1.0)
    ]
    assert not module.within(runs, "crabs", "default", "train")
    assert module.within(runs, "crabs", "default", "whole")
    row = module.summary(runs, "crabs", ["default"])
    assert (row["JQR"], row["IQR"]) == ("11±1", "13±3")
    assert row["default, train"].endswith("*")
    assert row["default, whole"] == "11.0±0.0 "


@pytest.mark.parametrize("model", ["default", "joint"])
def test_table_5_1_on_one_split(model, script):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1))
    y = 5 + 3 * X[:, 0] + rng.normal(size=60)
    run = script("table_5_1").one_split(("line", model, X, y, 0))
    assert run["crossing"] == 0
    assert run["relative_gap"] <= 1e-3
    assert 30 < run["whole"] < 75  # of 145 for a constant


def test_table_5_2(script):
    module = script("table_5_2")
    assert [module.unit_cost(cost) for cost in (-1, 0, 1)] == [0, 0.5, 1]
    X, y = module.draw("iris", 0)
    assert X.shape == (100, 4)
    assert y.tolist() == [0] * 50 + [1] * 50
    first, second = (module.draw("circles", seed)[0] for seed in (0, 1))
    assert not np.array_equal(first, second)
    published = np.array([mean for mean, _ in module.PAPER["iris"]["IND"]], dtype=float)
    lines, distance = module.rows("iris", "IND", np.stack([published - 1, published + 9]))
    assert distance == pytest.approx(4)
    assert [line["largest difference"] for line in lines] == ["4.0"] * 3
    assert lines[0]["sens "] == "88±8"
    assert lines[0]["sens"] == "92±7"


def test_table_5_2_on_one_split_of_iris(script):
    found = script("table_5_2").one_split("iris", 0, alpha=1e-3, alpha_alone=1e-3, kappa=0.5)
    for method in ("ICSC", "IND"):
        assert found[method].shape == (6,)
        assert found[method][2:4].min() > 70  # both classes, at equal costs
        assert found[f"gap {method}"] <= 1e-3


def test_boundaries_in_the_plane_of_iris(script):
    module = script("figure_5_7")
    assert module.turns_back(np.array([[-1.0, 1.0, -1.0], [-1.0, 0.0, 1.0]])) == 0.5
    found = module.boundaries("iris", 0, alpha=1e-3, alpha_alone=1e-3, kappa=0.5)
    assert found["IND"].shape == (module.SIDE**2, 3)
    assert found["ICSC"].shape == (module.SIDE**2, 19)
    assert found["gap"] <= 1e-3
    X = module.draw("iris", 0)[0]
    origin, directions = module.plane(X)
    np.testing.assert_allclose(directions @ directions.T, np.eye(2), atol=1e-12)
    spread = np.var((X - origin) @ directions.T, axis=0)
    np.testing.assert_allclose(spread, np.sort(np.linalg.eigvalsh(np.cov(X.T, bias=True)))[::-1][:2])
    first, second = module.rows_of("iris", found)
    assert (first["method"], second["method"]) == ("IND", "ICSC")
    assert first["of 3"] == first["of all"]


def test_falls_are_counted(script):
    falls = script("figure_5_2").falls
    assert falls(np.array([[0.0, 1.0, 0.5], [0.0, 0.0, 1.0]])) == 0.25


def test_smoothing_takes_the_loss_of_kappa(script):
    module = script("figure_5_3")
    assert repr(module.regressor(0.1, 1e-3, "auto").loss) == "WeightedHuber(kappa=0.1)"
    assert repr(module.regressor(0.0, 1e-3, "auto").loss) == "Pinball()"


def test_level_sets_read_and_count(script, tmp_path):
    import gzip

    module = script("level_sets")
    with gzip.open(tmp_path / "wilt.csv.gz", "wt") as file:
        file.write("a,class,b\n1,w,2.5\n3,n,4\n")
    np.testing.assert_array_equal(module.read(tmp_path, "Wilt"), [[1, 2.5], [3, 4]])

    class Detector:
        def predict_at(self, X, levels):
            return X[:, :1] - levels

    found = module.outliers(Detector(), np.array([[0.0], [0.5], [1.0], [1.0]]), np.array([0.2, 0.8]))
    np.testing.assert_array_equal(found, [0.25, 0.5])


def test_points_that_leave_level_sets_and_return(script):
    class Detector:
        measure_ = Points([0.1, 0.5, 0.9]).build()

        def predict_at(self, X, levels):
            return X

    values = np.array([[1.0, 1.0, -1.0], [1.0, -1.0, 1.0], [-1.0, -1.0, 0.0], [-1.0, -1.0, -1.0]])
    assert script("level_sets").returns(Detector(), values) == 2


def test_pinball_of_five_levels_is_a_sum(script):
    module = script("continuous_quantiles")
    # residual 1 at each level: the sum of the levels
    assert module.total_pinball(np.ones(3), np.zeros((3, 5))) == pytest.approx(module.LEVELS.sum())
    sample = {
        "true quantiles": {"loss": 0.8},
        "default": {"loss": 0.9, "seconds": 1, "relative gap": 1e-4, "crossing": 0},
    }
    line = module.summary("default", [sample, sample])
    assert (line["loss"], line["/ true quantiles"]) == ("0.900±0.000", "1.1250")


def test_one_class_forests_have_few_anomalies(script):
    module = script("one_class_forests")
    X = np.random.default_rng(0).normal(3.0, 2.0, size=(600, 2))
    X[400:] += 50
    rows, odd = module.few_anomalies(X, np.arange(600) >= 400, np.random.default_rng(1))
    assert (len(rows), odd.sum()) == (440, 40)
    assert rows.mean(axis=0) == pytest.approx(0)
    assert rows.std(axis=0) == pytest.approx(1)
    assert rows[odd, 0].min() > rows[~odd, 0].max()
    truth, found = module.split_scores(X, np.arange(600) >= 400, 0, polluted=False)
    assert set(found) == set(module.DETECTORS)
    assert module.areas(truth, found["OneClassForest"][0])[0] > 0.9
    for published in (module.NOVELTY, module.POLLUTED):
        assert set(published) == set(module.FILES)
        assert all(set(one) < set(module.DETECTORS) for one in published.values())


def test_one_class_forests_are_polluted_where_they_are_to_be(script, monkeypatch):
    module, seen = script("one_class_forests"), []

    class Spy:
        def fit(self, X):
            seen.append(X)
            return self

        def score_samples(self, X):
            return X[:, 0]

    monkeypatch.setattr(module, "DETECTORS", {"spy": lambda seed: Spy()})
    X = np.random.default_rng(0).normal(size=(600, 2))
    X[400:] += 50
    for polluted in (False, True):
        truth, _ = module.split_scores(X, np.arange(600) >= 400, 0, polluted)
        assert truth.sum() > 5
        assert len(truth) == 220
    without, with_them = seen
    assert len(with_them) == 220
    assert np.ptp(without) < np.ptp(with_them)
    assert len(with_them) - len(without) == 40 - truth.sum()


def test_curves_of_a_perfect_score(script):
    module = script("one_class_forests")
    truth = np.arange(100) >= 80
    roc, precision = module.curves(truth, truth.astype(float))
    assert roc[1:].min() == 1
    assert precision.min() >= 0.2
    assert precision[100] == 1
