"""Every example of the gallery runs, leaves one figure, and takes less than two seconds."""

import ast
import re
import runpy
import time
from pathlib import Path

import matplotlib
import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*/*.py"))
MOST_SECONDS = 2.0
#: what may be imported: the package, and what its documentation installs
IMPORTED = {"mercer", "numpy", "scipy", "sklearn", "matplotlib", "pandas", "dataclasses"}


@pytest.fixture
def figures(monkeypatch):
    matplotlib.use("Agg")
    plt = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.setattr(plt, "show", lambda: None)
    plt.close("all")
    yield plt
    plt.close("all")


def test_there_are_enough_with_names_that_the_gallery_runs():
    assert len(EXAMPLES) >= 24
    assert all(path.name.startswith("plot_") for path in EXAMPLES)
    assert len({path.name for path in EXAMPLES}) == len(EXAMPLES)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_and_leaves_one_figure(path, figures):
    start = time.process_time()
    runpy.run_path(str(path))
    assert time.process_time() - start < 2 * MOST_SECONDS  # twice: other work may share the core
    (number,) = figures.get_fignums()
    assert all(
        ax.get_title() or ax.get_xlabel() or ax.get_legend() or ax.texts for ax in figures.figure(number).axes[:1]
    )


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_says_what_it_shows_and_imports_nothing_else(path):
    source = path.read_text()
    tree = ast.parse(source)
    title, line, empty, *text = ast.get_docstring(tree).splitlines()
    assert re.fullmatch("=+", line)
    assert len(line) == len(title)
    assert not empty
    assert text
    names = {
        alias.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
    }
    names |= {node.module.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert names <= IMPORTED
    assert "fetch_" not in source
