"""What a file says of itself, how it is written, and what is refused when it is read."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import mercer
from fuzz import model_files
from fuzz.model_files import members_of, packed, signed
from mercer import KernelQuantileRegressor
from mercer._params import Params
from mercer._state import Stateful
from mercer.exceptions import MercerError, ModelFileError, ParameterTypeError
from mercer.io import history, limits, summary_of
from mercer.io.registry import classes_below, is_ours, known_classes
from mercer.linalg.memory import memory_limit
from mercer.measures import Points

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def model():
    X = np.linspace(0, 1, 10)[:, None]
    return KernelQuantileRegressor(alpha=0.1, measure=Points([0.2, 0.8])).fit(X, X[:, 0] ** 2)


@pytest.fixture
def path(model, tmp_path):
    mercer.save(model, tmp_path / "one.mercer", notes={"target": "y", "columns": ("a", "b")})
    return tmp_path / "one.mercer"


def refused(path, match):
    with pytest.raises(ModelFileError, match=match) as caught:
        mercer.load(path)
    assert str(path) in str(caught.value)
    assert isinstance(caught.value, MercerError)


def forge(path, change):
    """Change the text of a file, and let its checksums fit."""
    members = members_of(path.read_bytes())
    text = json.loads(members["model.json"])
    change(text)
    members["model.json"] = json.dumps(text).encode()
    path.write_bytes(packed(signed(members)))


def forge_contents(path, **entries):
    members = members_of(path.read_bytes())
    contents = json.loads(members["contents.json"]) | entries
    path.write_bytes(packed(members | {"contents.json": json.dumps(contents).encode()}))


def test_summaries(path):
    summary = summary_of(path)
    assert (summary.name, summary.schema) == ("KernelQuantileRegressor", history.SCHEMA)
    assert summary.versions["mercer"] == mercer.__version__
    assert set(summary.versions) == {"mercer", "python", "numpy", "scipy", "scikit-learn"}
    assert summary.notes == {"target": "y", "columns": ["a", "b"]}
    assert 0 < summary.size < path.stat().st_size


@pytest.mark.parametrize("notes", [{"a": np.arange(2)}, {"a": float("nan")}, {"a": object()}])
def test_notes_are_plain(model, notes, tmp_path):
    with pytest.raises(ParameterTypeError, match="notes must be text"):
        mercer.save(model, tmp_path / "a.mercer", notes=notes)


def test_equal_models_are_equal_files_and_replace_what_is_there(model, path, tmp_path):
    other = tmp_path / "other.mercer"
    other.write_text("something else")
    mercer.save(model, str(other), notes={"target": "y", "columns": ["a", "b"]})
    assert other.read_bytes() == path.read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["one.mercer", "other.mercer"]


def test_a_refused_save_leaves_what_was_there(model, path, tmp_path, monkeypatch):
    before = path.read_bytes()
    monkeypatch.setattr("mercer.io.model_file.array_bytes", lambda array: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        mercer.save(model, path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["one.mercer"]


def test_files_that_are_not_there(tmp_path, model):
    with pytest.raises(FileNotFoundError):
        mercer.load(tmp_path / "none.mercer")
    with pytest.raises(FileNotFoundError, match=r"no such folder to save in: '.*none'"):
        mercer.save(model, tmp_path / "none" / "a.mercer")


def test_foreign_files(tmp_path):
    path = tmp_path / "a"
    for data in (b"", b"a,b\n1,2\n", b"\x80\x04N."):
        path.write_bytes(data)
        refused(path, "does not begin as a zip archive does")
    path.write_bytes(b"PK\x03\x04" + bytes(1000))
    refused(path, "truncated, or was changed")
    path.write_bytes(packed({"a.txt": b"hello"}))
    refused(path, "without 'contents.json', which mercer.save did not write")
    path.write_bytes(packed({"contents.json": b"[1, 2]"}))
    refused(path, "not that of a model")


def test_newer_files_say_so(path):
    forge_contents(path, schema=history.SCHEMA + 1)
    refused(path, rf"version {history.SCHEMA + 1}, .*this mercer reads 1 to {history.SCHEMA}\. Update mercer")


def test_newer_classes_say_so(path):
    forge(path, lambda text: text["fitted"]["expansion_"].update({"class": "HyperExpansion"}))
    refused(path, "a state 'HyperExpansion', which this version of mercer does not have.*update mercer")


def test_what_was_renamed_loads(path, model, monkeypatch):
    def old(text):
        text["fitted"]["expansion_"]["class"] = "SumOfRows"
        text["fitted"]["expansion_"]["fields"]["rows"] = text["fitted"]["expansion_"]["fields"].pop("X")
        text["fitted"]["time_"] = 3

    forge(path, old)
    refused(path, "SumOfRows")
    monkeypatch.setitem(history.NEW_CLASSES, "SumOfRows", "KernelExpansion")
    refused(path, "makes no model")
    monkeypatch.setitem(history.NEW_FIELDS, ("KernelExpansion", "rows"), "X")
    monkeypatch.setitem(history.NEW_FIELDS, ("KernelQuantileRegressor", "time_"), None)
    twin = mercer.load(path)
    assert not hasattr(twin, "time_")
    np.testing.assert_array_equal(twin.predict(model.X_fit_), model.predict(model.X_fit_))


def test_a_parameter_that_is_newer_than_the_file_has_its_default(path):
    forge(path, lambda text: text["params"].pop("tol"))
    assert mercer.load(path).tol == KernelQuantileRegressor().tol


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda text: text["params"].update(alpha={"kind": "array", "number": 77}), "has no 'arrays/77.npy'"),
        (lambda text: text["params"].update(alpha={"kind": "array", "number": "../x"}), "array without a number"),
        (lambda text: text["params"].update(alpha={"kind": "object"}), "unknown kind 'object'"),
        (lambda text: text["params"].update(alpha={"kind": "estimator", "class": "Gaussian"}), "estimator 'Gaussian'"),
        (lambda text: text["params"].update(beta=1), "makes no model"),
        (lambda text: text["fitted"].update(predict=1), "attribute 'predict', which no fit leaves"),
        (lambda text: text["fitted"].update(__class__=1), "attribute '__class__'"),
        (lambda text: text["fitted"].update(alpha=1), "attribute 'alpha'"),
        (lambda text: text["fitted"].pop("grid_"), "no part of the model"),
        (lambda text: text["params"]["measure"]["fields"].update(points="a"), "makes no model"),
        (lambda text: text.update({"class": "CostSensitiveClassifier"}), "model"),
        (
            lambda text: text["params"].update(
                measure={"kind": "distribution", "class": "norm", "args": [[1]], "fields": {}}
            ),
            "parameters that are no numbers",
        ),
    ],
)
def test_forged_texts(path, change, match):
    forge(path, change)
    refused(path, match)


def test_depth_and_size_of_texts(path):
    deep = []
    for _ in range(limits.MOST_DEPTH + 1):
        deep = [deep]
    forge(path, lambda text: text["params"].update(alpha=deep))
    refused(path, "nested more than")
    members = members_of(path.read_bytes())
    path.write_bytes(packed(signed(members | {"model.json": b"[" * 100_000 + b"]" * 100_000})))
    refused(path, "not JSON")
    path.write_bytes(packed(signed(members | {"model.json": b"[" + b"0," * limits.MOST_VALUES + b"0]"})))
    refused(path, "holds more than 1000000 values")
    path.write_bytes(packed(signed(members | {"model.json": b" " * (limits.MOST_JSON_BYTES + 1)})))
    refused(path, "at most 32 MiB are read")
    path.write_bytes(packed(signed(members | {"model.json": b"NaN"})))
    refused(path, "not JSON")


def test_archives_that_promise_more_than_they_have(path):
    members = members_of(path.read_bytes())
    path.write_bytes(packed(members | {"arrays/9.npy": bytes(10**6)}, zipfile.ZIP_DEFLATED))
    assert path.stat().st_size < 20_000
    refused(path, "is compressed")
    path.write_bytes(packed({f"{k}": b"" for k in range(limits.MOST_MEMBERS + 1)}))
    refused(path, "too many members")
    path.write_bytes(packed({f"{k:0200}": b"" for k in range(limits.MOST_MEMBERS)}))
    refused(path, "table of contents is larger")
    data = bytearray(packed(members))
    place = data.rindex(b"PK\x01\x02")  # the last entry says that it is longer than the file, twice
    data[place + 20 : place + 28] = (2 * len(data)).to_bytes(4, "little") * 2
    path.write_bytes(bytes(data))
    refused(path, "larger than the file")


def test_members_of_one_name_and_members_that_are_too_many(path):
    members = members_of(path.read_bytes())
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("model.json", members["model.json"])
    refused(path, "two of one name")
    path.write_bytes(packed(members | {"more.npy": b""}))
    refused(path, "not those of its list of contents")


def test_the_memory_budget_holds(path):
    with memory_limit(1000):
        refused(path, r"more than the memory budget of .*memory_limit\(bytes\)")


def test_changed_arrays(path):
    members = members_of(path.read_bytes())
    name = "arrays/0.npy"
    changed = bytearray(members[name])
    changed[-1] ^= 1
    path.write_bytes(packed(members | {name: bytes(changed)}))
    refused(path, "arrays/0.npy' was changed: the checksum is another one")


def test_the_class_that_the_contents_name_is_the_one_that_is_there(path):
    forge_contents(path, **{"class": "CostSensitiveClassifier"})
    refused(path, "does not hold the CostSensitiveClassifier")


def test_what_is_wrong_while_reading_is_not_hidden(tmp_path):
    with pytest.raises(IsADirectoryError):
        mercer.load(tmp_path)


def test_names_of_classes_are_those_of_one_class():
    """Files know classes by their bare names: no two records, states or estimators may have the same."""
    found = {kind for base in (Params, Stateful, BaseEstimator) for kind in classes_below(base) if is_ours(kind)}
    names = [kind.__name__ for kind in found]
    assert sorted(name for name in set(names) if names.count(name) > 1) == []
    assert {"Gaussian", "Measure", "KernelExpansion", "KernelQuantileRegressor", "Stages"} <= set(known_classes())
    assert not {"BaseEstimator", "Pipeline", "Ridge", "Kernel", "Expansion"} & set(known_classes())


def test_changed_files_are_refused_or_the_same_model():
    """A slice of ``python -m fuzz.model_files``: in a process of its own, with little memory."""
    command = [sys.executable, "-m", "fuzz.model_files", "--files", "200", "--seed", "7"]
    path = os.pathsep.join([str(Path(mercer.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "200 files, no finding" in done.stdout
    assert "forged: another model" in done.stdout  # it does forge files that load


@pytest.mark.parametrize(
    ("load", "finding"),
    [
        (lambda path: eval("1 + 1"), "brought about compile, exec"),
        (lambda path: exec("import antigravity_"), "exec, import"),
        (lambda path: {}["x"], "KeyError"),
        (lambda path: mercer.io.archive.ModelFileError.__init__(1, 2), "TypeError"),
    ],
)
def test_the_campaign_finds(load, finding, monkeypatch, path):
    monkeypatch.setattr(mercer, "load", load)
    assert finding in model_files.outcome(path, model_files.Watch())[0]
