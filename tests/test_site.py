"""The site: every page is reached, every link leads somewhere, and what is generated says what is so.

``make docs`` builds it with warnings as errors; here is what can be seen without Sphinx.
"""

import importlib
import re
import sys
from pathlib import Path

import pytest

import mercer

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS / "_ext"))

api_pages = importlib.import_module("api_pages")
outside_links = importlib.import_module("outside_links")
pictures = importlib.import_module("page_pictures")

PAGES = sorted(DOCS.glob("*.md"))
TOCTREE = re.compile(r"```\{toctree\}\n(.*?)```", re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s#]*)(?:#([^)\s]+))?\)")
#: what the build makes
GENERATED = {"api/index", "gallery/index"}
#: pages of problems, which open with a picture and end with how it works
PROBLEMS = [
    "quantiles",
    "costs",
    "level-sets",
    "curves",
    "robust",
    "fields",
    "vectors",
    "series",
    "structured",
    "scale",
]


def entries(page: Path) -> list[str]:
    """What the toctrees of a page name, globs as they match."""
    found = []
    for block in TOCTREE.findall(page.read_text()):
        lines = [line for line in block.splitlines() if line and not line.startswith(":")]
        for line in lines:
            found += [path.stem for path in DOCS.glob(f"{line}.md")] if "*" in line else [line]
    return found


def anchors(page: Path) -> set[str]:
    """The anchors of the headings of a page, as GitHub and MyST make them."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def test_every_page_is_in_one_toctree_and_every_entry_is_a_page():
    named = [entry for page in PAGES for entry in entries(page)]
    assert len(named) == len(set(named))
    assert set(named) == {page.stem for page in PAGES if page.stem != "index"} | GENERATED


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    text = re.sub(r"```python.*?```", "", page.read_text(), flags=re.DOTALL)
    for path, anchor in LINK.findall(text):
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), path
        if anchor:
            assert anchor in anchors(target), f"{path}#{anchor}"


@pytest.mark.parametrize("name", PROBLEMS)
def test_page_of_a_problem_opens_with_a_picture_and_ends_with_a_formula(name):
    text = (DOCS / f"{name}.md").read_text()
    title, empty, picture = text.splitlines()[:3]
    assert title.startswith("# ")
    assert not empty
    (path,) = re.fullmatch(r"!\[.{10,}\]\((images/.*\.png)\)", picture).groups()
    assert (DOCS / path).stat().st_size > 10_000
    last = text.split("\n## ")[-1]
    assert last.startswith("How it works")
    assert re.search(r"^    \S", last, re.MULTILINE)


def test_pictures_are_drawn_by_examples():
    for name, example in pictures.PICTURES.items():
        assert (DOCS / "images" / f"{name}.png").is_file()
        assert (ROOT / "examples" / f"{example}.py").is_file()


def test_included_files_exist():
    included = [path for page in PAGES for path in re.findall(r"```\{include\} (\S+)", page.read_text())]
    assert len(included) == 3
    assert all((DOCS / path).is_file() for path in included)


def test_api_has_everything_that_is_exported_once():
    found = api_pages.exports()
    assert {*mercer.__all__} - {"__version__"} == set(found["mercer"])
    things = [getattr(importlib.import_module(package), name) for package, names in found.items() for name in names]
    assert len({id(thing) for thing in things}) == len(things)
    assert {"Gaussian", "Huber", "ADMM", "check_loss", "GaussLegendre"} <= {
        name for names in found.values() for name in names
    }
    assert "mercer.cli" not in found
    assert ".. autosummary::" in api_pages.page("mercer.losses", found["mercer.losses"])


def test_formulas_of_docstrings_are_escaped_outside_of_code():
    lines = ["|r| and kernel_ are text, ``|r|`` is code::", "", "    |x_|", "", "and b_ again", ">>> a_ | b"]
    api_pages.escape_formulas(None, "class", "X", None, None, lines)
    expected = ["\\|r\\| and kernel\\_ are text, ``|r|`` is code::", "", "    |x_|", "", "and b\\_ again", ">>> a_ | b"]
    assert lines == expected


def test_pages_that_have_not_come_are_not_waited_for(tmp_path):
    text = "```{toctree}\n:glob:\n\nnotation\npapers*\n```\n2 * 3"
    without = outside_links.without_empty_globs(text, tmp_path)
    assert without == "```{toctree}\n:glob:\n\nnotation\n```\n2 * 3"
    (tmp_path / "papers.md").write_text("# Papers")
    assert outside_links.without_empty_globs(text, tmp_path) == text


def test_links_that_leave_the_pages_go_to_pages_or_become_text():
    text = (
        "[a](../CHANGELOG.md) [b](curves.md#faces) [`c`](../benchmarks/scale.py) ![d](images/quantiles.png) [e](no.md)"
    )
    found = outside_links.rewritten(text, DOCS, DOCS)
    assert found == "[a](changelog.md) [b](curves.md#faces) `c` ![d](images/quantiles.png) [e](no.md)"
    included = outside_links.rewritten("[f](../docs/solvers.md) [g](fields.py)", ROOT / "benchmarks", DOCS)
    assert included == "[f](solvers.md) `g`"


@pytest.fixture(scope="module")
def capabilities():
    pytest.importorskip("array_api_strict")
    return importlib.import_module("capabilities")


def cells(table):
    """A table as a dictionary of rows and columns."""
    head, rows = table
    assert all(len(row) == len(head) for row in rows)
    return {row[0].strip("`"): dict(zip([name.strip("`") for name in head], row, strict=True)) for row in rows}


def test_losses_and_solvers_as_they_say_themselves(capabilities):
    found = cells(capabilities.losses_and_solvers())
    assert found["Square"]["ClosedForm"] == "✓"
    assert found["Pinball"]["ClosedForm"] == "–"
    assert found["Pinball"]["SemismoothNewton"] == "✓"
    assert found["Pinball"]["LBFGS"] == "–"
    assert found["OneClassHinge"]["LevelPath"] == "✓"
    assert {row["LevelPath"] for name, row in found.items() if name != "OneClassHinge"} == {"–"}
    assert all("✓" in row.values() for row in found.values())  # every loss has a solver
    for solver in found["Square"]:
        if solver != "loss":
            assert any(row[solver] == "✓" for row in found.values()), solver  # and every solver a loss


def test_problems_and_solvers(capabilities):
    found = cells(capabilities.problems_and_solvers())
    assert found["ADMM"]["arrays of other libraries"] == "–"
    assert found["ProximalGradient"]["arrays of other libraries"] == "✓"
    assert found["InteriorPoint"]["a kernel with matrix values"] == "–"
    assert found["FactoredADMM"]["a free intercept"] == "–"
    assert found["PreconditionedCG"]["missing targets"] == "–"


def test_solvers_say_what_they_require(capabilities):
    assert all(row["requires"] for row in cells(capabilities.requirements()).values())


def test_arrays_come_back_as_they_went_in_or_are_refused(capabilities):
    found = cells(capabilities.arrays_and_functions())
    assert all(row["NumPy"] == "✓" for row in found.values())
    assert all(row["array-api-strict"] in ("✓", "–") for row in found.values())
    assert all(row["array-api-strict"] == "✓" for name, row in found.items() if name.startswith(("kernel", "loss")))
    assert found["LevelSetDetector"]["array-api-strict"] == "–"
    assert found["VectorValuedRegressor"]["array-api-strict"] == "✓"
