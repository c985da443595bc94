"""The code in README and docs runs as printed."""

import re
from pathlib import Path

import matplotlib
import pytest

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


def snippets():
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for number, code in enumerate(BLOCK.findall(page.read_text())):
            yield pytest.param(code, id=f"{page.name}-{number}")


@pytest.mark.parametrize("code", list(snippets()))
def test_snippet_runs(code, tmp_path, monkeypatch):
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    if "import skfda" in code:  # an extra, which is not installed for the tests by themselves
        pytest.importorskip("skfda")
    if "import dask" in code:
        pytest.importorskip("distributed")
    for library in ("skpro", "jax", "torch"):
        if re.search(rf"(import|from) {library}\b", code):
            pytest.importorskip(library)
    exec(compile(code, "snippet", "exec"), {"__name__": "__snippet__"})


def test_readme_example_is_ten_lines_and_leaves_its_picture(tmp_path, monkeypatch):
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    code = BLOCK.findall((ROOT / "README.md").read_text())[0]
    assert len([line for line in code.splitlines() if line.strip()]) == 10
    exec(compile(code, "README.md", "exec"), {"__name__": "__snippet__"})
    assert (tmp_path / "quantiles.png").stat().st_size > 10_000
    assert (ROOT / "docs" / "images" / "quantiles.png").is_file()


def placeholders(text):
    """Return the words of a page, outside of code, that stand for what was still to be written."""
    prose = re.sub(r"```.*?```|`[^`\n]*`|\]\([^)]*\)", " ", text, flags=re.DOTALL)
    return re.findall(r"\b(?:[A-Z]{2,}(?:_[A-Z0-9]+)+|TODO|FIXME|TBD|XXX)\b", prose)


@pytest.mark.parametrize("page", ["README.md", "CHANGELOG.md", "docs", "reproduce", "benchmarks"])
def test_nothing_is_left_to_be_written(page):
    pages = sorted((ROOT / page).glob("*.md")) if (ROOT / page).is_dir() else [ROOT / page]
    assert {path.name: found for path in pages if (found := placeholders(path.read_text()))} == {}


def test_what_is_left_to_be_written_is_noticed():
    assert placeholders("x\n\nMEASURED_TABLES\n") == ["MEASURED_TABLES"]
    assert placeholders("It takes TBD s. TODO: say so") == ["TBD", "TODO"]
    assert placeholders("`OMP_NUM_THREADS=1`\n```\nTODO\n```\n[a](A_B.md) of XXL LOF") == []
