"""What the user can put right ends with code 2 and one line that says what; never a traceback."""

import builtins
import re

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer import KernelQuantileRegressor, VectorAutoRegressor
from mercer.cli import main

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame({"a": RNG.normal(size=30), "b": ["u", "v", "w"] * 10, "c1": 1.0 * np.arange(30), "c2": 0.0})
TABLE["void"], TABLE["y"], TABLE["hole"] = np.nan, TABLE["a"] ** 2, TABLE["a"].where(TABLE["a"] > 0)
LONG = pd.DataFrame({"id": np.repeat(range(10), 3), "t": [0.0, 1, 2] * 10, "z": 1.0 * np.arange(30), "s": "x"})
LONG["w"] = LONG["id"] / 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("errors")
    TABLE.to_csv(path / "t.csv", index=False)
    LONG.to_csv(path / "long.csv", index=False)
    LONG[:4].to_csv(path / "ids.csv", index=False)
    TABLE[["a", "y"]].to_csv(path / "latin.csv", index=False, header=["é", "y"], encoding="latin-1")
    (path / "more.csv").write_text("a,y\n" + "".join(f"{k},{2 * k},\n" for k in range(9)))
    TABLE[["a", "y"]].assign(c1="many").to_csv(path / "words.csv", index=False)
    (path / "empty.csv").write_text("")
    (path / "header.csv").write_text("a,b\n")
    (path / "binary.csv").write_bytes(bytes(range(128, 256)))
    TABLE.to_csv(path / "cut.csv.gz", index=False)
    (path / "cut.csv.gz").write_bytes((path / "cut.csv.gz").read_bytes()[:-200])
    TABLE.assign(a=TABLE["hole"])[["a", "c1", "y"]].to_csv(path / "holes.csv", index=False)
    pd.DataFrame({"v1": TABLE["void"], "v2": np.nan, "a": 1.0}).to_csv(path / "void.csv", index=False)
    (path / "t.xlsx").write_text("")
    (path / "t.parquet").write_text("no")
    (path / "file.mercer").write_text("no model")
    model = KernelQuantileRegressor(alpha=0.1).fit(TABLE[["a", "c1"]], TABLE["y"])
    mercer.save(model, path / "y.mercer")
    mercer.save(model, path / "fitted.mercer", notes={"numbers": True})
    mercer.save(KernelQuantileRegressor(), path / "unfitted.mercer")
    mercer.save(VectorAutoRegressor().fit(RNG.normal(size=(40, 2))), path / "series.mercer")
    (path / "cut.mercer").write_bytes((path / "y.mercer").read_bytes()[:-100])
    return path


def sentence(command, folder, monkeypatch, capsys) -> str:
    monkeypatch.chdir(folder)
    assert main(command.split()) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert line.startswith("mercer: error: ")
    return line


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("", "required: COMMAND"),
        ("dance", "invalid choice: 'dance'"),
        ("fit", "required: KIND"),
        ("fit quantile", "required: TABLE, --out"),
        ("fit quantile none.csv --target y -o m", "no file or folder none.csv"),
        ("fit quantile empty.csv --target y -o m", "empty.csv is empty"),
        ("fit quantile header.csv --target a -o m", "header.csv has names of columns, but no rows"),
        ("fit quantile binary.csv --target a -o m", "binary.csv cannot be read as a table"),
        ("fit quantile cut.csv.gz --target a -o m", "cut.csv.gz"),
        ("fit quantile t.xlsx --target a -o m", "t.xlsx must end in one of .csv"),
        ("fit quantile t.parquet --target a -o m", "cannot be read as Parquet"),
        ("fit quantile t.csv --target q -o m", "t.csv has no column 'q'; it has a, b, c1, c2, void, y, hole"),
        ("fit quantile t.csv --target b -o m", "column 'b' holds 'u' where numbers are needed"),
        ("fit quantile t.csv --target void -o m", "column 'void' has no value in any row"),
        ("fit quantile latin.csv --target y -o m", "latin.csv cannot be .* not in UTF-8; save it as CSV in UTF-8"),
        ("fit quantile more.csv --target y -o m", "more cells than there are names of columns"),
        ("fit quantile s3://some/where.csv --target y -o m", "is an address; save the table as a file first"),
        ("report fitted.mercer long.csv -o o.html", "long.csv has no column 'a'"),
        ("fit quantile t.csv --target y -o t.csv", "t.csv would be overwritten"),
        ("fit quantile t.csv --target y -o m.html --report ./m.html", "m.html would be overwritten"),
        ("fit curves long.csv --id id --time t --value z --inputs ids.csv -o ids.csv", "ids.csv would be overwritten"),
        ("fit quantile t.csv --target y -o .", "[.] is a folder; give the name of a file"),
        ("fit curves t.csv --curve void,void2 --points 0,1 -o m", "1 columns that match"),
        ("fit curves void.csv --curve v* -o m", "void.csv: no row has a value from 'v1' to 'v2'"),
        ("fit quantile t.csv --target y --features q -o m", "no column 'q'"),
        ("fit quantile t.csv --target y --features a,y -o m", "'y' cannot be an input and something else"),
        ("fit quantile t.csv --target y --drop q -o m", "no column 'q'"),
        ("fit quantile t.csv --target y --drop a,b,c1,c2,void,hole -o m", "no column left"),
        ("fit quantile t.csv --target y --weight a -o m", "weight"),
        ("fit quantile t.csv --target y -o none/m", "no folder .*none that can be written to"),
        ("fit quantile t.csv --target y --features , -o m", "expected names separated by commas"),
        ("fit cost t.csv --target b -o m", "must hold two classes, it has 3; .*CostMatrixClassifier"),
        ("fit field t.csv --position a,c1 --vector y,hole -o m", r"column 'hole' has no value in \d+ rows"),
        ("fit cost long.csv --target s -o m", "must hold two classes, it has 1"),
        ("fit curves t.csv -o m", "--curve PATTERN of a wide table, or --id"),
        ("fit curves t.csv --curve q* -o m", r"0 columns that match --curve q\*"),
        ("fit curves t.csv --curve a,b --points 0,1 -o m", "column 'b' of the curve holds other things"),
        ("fit curves t.csv --curve a,y -o m", "do not say where they lie; add --points"),
        ("fit curves t.csv --curve c* --points 0,1,2 -o m", "3 numbers for 2 columns"),
        ("fit curves t.csv --curve c* --points 1,1 -o m", "different numbers"),
        ("fit curves t.csv --curve c* --points 1,x -o m", "numbers separated by commas, such as .05,.5,.95; got '1,x'"),
        ("fit curves long.csv --id id -o m", "need --id, --time and --value"),
        ("fit curves long.csv --id id --time t --value q -o m", "no column 'q'"),
        (
            "fit curves long.csv --id id --time s --value z --features w -o m",
            "points and values are numbers or dates",
        ),
        ("fit curves long.csv --id s --time t --value z -o m", "'id' changes within one s"),
        ("fit curves long.csv --id id --time t --value z --inputs ids.csv -o m", "one row for each id of long.csv"),
        ("fit field t.csv --position a,c1 --vector b,y -o m", "column 'b' holds 'u'"),
        ("fit field t.csv --position a,c1 --vector a -o m", "components"),
        ("fit field t.csv --position a,c1 --vector c1,y --features a -o m", "--features means nothing for fields"),
        ("fit structured t.csv -o m", "--target COLUMN of text, or --labels PATTERN"),
        ("fit structured t.csv --target b --labels c* -o m", "--target COLUMN of text, or --labels PATTERN"),
        ("fit structured t.csv --target q -o m", "no column 'q'"),
        ("fit structured t.csv --target void -o m", "column 'void' has no value in any row"),
        ("fit structured t.csv --target b --kernel jaccard -o m", "must be one of spectrum here.*--separator"),
        ("fit structured t.csv --labels q* -o m", r"0 columns that match --labels q\*"),
        ("fit structured t.csv --labels c* -o m", "column 'c1' of --labels holds other numbers than 0 and 1"),
        ("predict none.mercer t.csv -o o.csv", "no file or folder none.mercer"),
        ("predict t.csv t.csv -o o.csv", "t.csv is not a model that can be loaded"),
        ("predict cut.mercer t.csv -o o.csv", "truncated, or was changed"),
        ("predict y.mercer none.csv -o o.csv", "no file or folder none.csv"),
        ("predict y.mercer long.csv -o o.csv", "long.csv has no column 'a'; it has id, t, z, s, w"),
        ("predict y.mercer t.csv --levels 5 -o o.csv", "levels must be"),
        ("predict y.mercer t.csv --levels .5,x -o o.csv", "numbers separated by commas"),
        ("predict y.mercer t.csv --coverage 90 -o o.csv", "coverage must be"),
        ("predict y.mercer t.csv --points 1 -o o.csv", "--points means nothing for a KernelQuantileRegressor"),
        ("predict y.mercer t.csv --top 3 -o o.csv", "--top means nothing for a KernelQuantileRegressor"),
        ("predict y.mercer t.csv --long -o o.csv", "--long means nothing"),
        ("predict y.mercer t.csv --keep q -o o.csv", "no column 'q'"),
        ("predict y.mercer t.csv -o o.doc", "o.doc must end in one of"),
        ("predict y.mercer t.csv -o none/o.csv", "none"),
        ("predict fitted.mercer words.csv -o o.csv", "words.csv: column 'c1' holds 'many' where numbers are needed"),
        ("predict fitted.mercer holes.csv -o o.csv", r"holes.csv: column 'a' has no value in \d+ rows"),
        ("predict y.mercer t.csv -o t.csv", "t.csv would be overwritten"),
        ("predict y.mercer t.csv -o y.mercer", "y.mercer would be overwritten"),
        ("report y.mercer t.csv -o o.pdf", "must end in .html"),
        ("predict unfitted.mercer t.csv -o o.csv", "not fitted|but no|numbers without names"),
        ("predict series.mercer t.csv --levels .5 -o o.csv", "--levels means nothing for a VectorAutoRegressor"),
        ("info file.mercer", "file.mercer is not a model that can be loaded: it does not begin as a zip"),
        ("info .", "[.]: Is a directory"),
        ("completion fish", "invalid choice: 'fish'"),
    ],
)
def test_one_sentence(command, says, folder, monkeypatch, capsys):
    assert re.search(says, sentence(command, folder, monkeypatch, capsys))
    assert not (folder / "m").exists()
    assert not (folder / "o.csv").exists()


@pytest.mark.parametrize(
    ("missing", "command", "says"),
    [
        ("pandas", "predict y.mercer t.csv -o o.csv", r'pip install "mercer\[cli\]"'),
        ("shtab", "completion bash", r'pip install "mercer\[cli\]"'),
        ("pyarrow", "predict y.mercer t.parquet -o o.csv", r'pip install "mercer\[parquet\]"'),
    ],
)
def test_extras_that_are_not_there(missing, command, says, folder, monkeypatch, capsys):
    real = builtins.__import__

    def blocked(name, *args, **kwargs):
        if name.split(".")[0] == missing:
            raise ImportError(name)
        return real(name, *args, **kwargs)

    if missing == "pyarrow":
        monkeypatch.setattr(pd, "read_parquet", lambda path: blocked("pyarrow"))
    else:
        monkeypatch.setattr(builtins, "__import__", blocked)
    assert re.search(says, sentence(command, folder, monkeypatch, capsys))


def test_ctrl_c(monkeypatch, capsys, folder):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("mercer.cli.info.load", stopped)
    monkeypatch.chdir(folder)
    assert main(["info", "y.mercer"]) == 130
    assert capsys.readouterr().err == "mercer: error: stopped\n"


def test_faults_of_our_own_are_not_hidden(monkeypatch, folder):
    monkeypatch.setattr("mercer.cli.info.load", lambda path: 1 / 0)
    monkeypatch.chdir(folder)
    with pytest.raises(ZeroDivisionError):
        main(["info", "y.mercer"])


def test_what_files_say_cannot_steer_the_terminal(tmp_path, capsys):
    model = KernelQuantileRegressor()
    mercer.save(model, tmp_path / "a.mercer", notes={"table": "\x1b[2Jx\ny", "rows": 1, "target": ["\x07bell"]})
    assert main(["info", str(tmp_path / "a.mercer")]) == 0
    text = capsys.readouterr().out
    assert "\x1b" not in text
    assert "\x07" not in text
