"""docs/papers.md has a row for all that is numbered in the papers, and what it names exists."""

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest

import mercer

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "papers.md").read_text()
SPANS = sorted(set(re.findall(r"`([^`]+)`", PAGE)))
#: where public names live
HOMES = """datasets features forests guarantees kernels kernels.objects linalg losses measures model_selection
    operator_valued plotting preprocessing problems rows solvers testing"""
MODULES = [mercer, *(importlib.import_module(f"mercer.{name}") for name in HOMES.split())]
#: by section of the page, the algorithms, tables and figures that its document has
NUMBERED = {
    "Lambert (2021)": {
        "Algorithm": "2.1 3.1 3.2 3.3 4.1 4.2 4.3 4.4",
        "Table": "2.1 2.2 3.1 3.2 4.1 5.1 5.2 6.1 6.2",
        "Figure": "4.1 4.2 4.3 4.4 4.5 4.6 4.7 4.8 4.9 5.1 5.2 5.3 5.4 5.5 5.6 5.7 5.8 5.9 5.10 "
        "6.1 6.2 6.3 6.4 6.5 6.6 6.7 6.8 6.9 6.10",
    },
    "Laforgue, Lambert, Brogat-Motte and d'Alché-Buc (2020)": {
        "Algorithm": "1",
        "Table": "1",
        "Figure": "1 2 3 4 5 6 7 8 9 10 11 12 13 14",
    },
    "Brault (2017)": {
        "Algorithm": "1 2 3 4 5 6",
        "Table": "3.1 3.3 3.5 6.1 6.3 6.5 8.1 8.2 8.3 D.1 D.3 D.4",
        "Figure": "2.1 2.2 2.3 3.1 3.2 3.3 4.1 4.2 5.1 5.2 5.3 6.1 6.2 6.3 6.4 6.5 6.6 6.7 6.8 6.9 9.1 9.2 9.3 9.4 "
        "9.5 B.1 B.2 " + " ".join(f"D.{number}" for number in range(1, 23)),
    },
    "Lambert, Brault, Szabó and d'Alché-Buc (2019)": {"Table": "S.1", "Figure": "S.2 S.3"},
}


def items(cell: str) -> set[tuple[str, str]]:
    """Return what the first cell of a row names: "Figures D.7 to D.9, Table 1" are four."""
    found, kind = set(), ""
    for word, first, last in re.findall(r"([A-Z][a-z]+)|([A-Z]?\.?\d[\d.]*)(?: to ([A-Z]?\.?\d[\d.]*))?", cell):
        if word:
            kind = re.sub(r"s$", "", word)
        elif last:
            stem, low, high = first.rpartition(".")[0], first.rpartition(".")[2], last.rpartition(".")[2]
            found |= {(kind, f"{stem}.{number}") for number in range(int(low), int(high) + 1)}
        else:
            found.add((kind, first))
    return found


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def resolved(name: str):
    """Return the object that a dotted name stands for, in ``mercer`` or any of its public modules."""
    head, *rest = name.split(".")
    if head == "mercer":
        for depth in range(len(rest), -1, -1):
            try:
                value, rest = importlib.import_module(".".join(["mercer", *rest[:depth]])), rest[depth:]
                break
            except ModuleNotFoundError:
                continue
    else:
        owners = [module for module in MODULES if hasattr(module, head)]
        assert owners, f"{head} is in no public module"
        value = getattr(owners[0], head)
    for part in rest:
        value = getattr(value, part)
    return value


def dotted(node: ast.expr) -> str:
    return f"{dotted(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else node.id


def check_expression(code: str) -> None:
    """A name, or a call of one with keywords that it has."""
    node = ast.parse(code, mode="eval").body
    if not isinstance(node, ast.Call):
        resolved(dotted(node))
        return
    known = inspect.signature(resolved(dotted(node.func))).parameters
    assert {keyword.arg for keyword in node.keywords} <= set(known), f"{code}: it has {', '.join(known)}"


def check_command(code: str) -> None:
    """A script that is there, with options that it has."""
    _, script, *words = code.split()
    source = (ROOT / script).read_text()
    sources = [source] + [(ROOT / "reproduce" / "report.py").read_text()] * ("from report import" in source)
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    known = {word for text in sources for word in re.findall(r'"(--[a-z-]+)"', text)}
    for call in calls:
        if isinstance(call.func, ast.Name) and call.func.id == "options":
            known |= {f"--{keyword.arg.replace('_', '-')}" for keyword in call.keywords}
    assert {word for word in words if word.startswith("--")} <= known, f"{code}: it has {', '.join(sorted(known))}"


@pytest.mark.parametrize("code", SPANS)
def test_what_is_named_exists(code):
    if code != "mercer":
        (check_command if code.startswith("python ") else check_expression)(code)


@pytest.mark.parametrize("code", ["NoSuchKernel", "Gaussian(width=1.0)", "Huber.no_such_method", "mercer.no_such"])
def test_what_does_not_exist_is_noticed(code):
    with pytest.raises((AssertionError, AttributeError)):
        check_expression(code)


@pytest.mark.parametrize("code", ["python reproduce/figure_9_9.py", "python reproduce/figure_5_2.py --no-such-option"])
def test_commands_that_do_not_exist_are_noticed(code):
    with pytest.raises((AssertionError, FileNotFoundError)):
        check_command(code)


@pytest.mark.parametrize("title", NUMBERED)
def test_every_algorithm_table_and_figure_has_one_row(title):
    named = [item for cell in re.findall(r"^\| ([^|]+) \|", section(title), re.MULTILINE) for item in items(cell)]
    assert len(named) == len(set(named))
    for kind, numbers in NUMBERED[title].items():
        assert {number for word, number in named if word == kind} == set(numbers.split()), kind


def test_every_script_of_the_papers_is_named():
    scripts = {path.name for path in (ROOT / "reproduce").glob("*.py")} - {"report.py", "released_series.py"}
    table = (ROOT / "reproduce" / "README.md").read_text()
    ours = set(re.findall(r"\| Not in the papers: .*?`python reproduce/(\w+\.py)", table))
    assert scripts - ours == set(re.findall(r"`python reproduce/(\w+\.py)", PAGE)) - ours


def blanks(page: str) -> list[str]:
    """Return the items of rows whose last cell, what was reached, is empty although something is printed."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| ")]
    return [row[0] for row in rows if len(row) == 5 and not row[4] and row[3] not in ("", "drawing", "drawings")]


def test_every_figure_that_is_printed_has_one_beside_it_or_a_reason():
    assert blanks(PAGE) == []


def test_an_empty_cell_is_noticed():
    assert blanks("| Table 1 | what | `mercer` | 0.5 | |\n| Figure 2 | what | | drawing | |\n") == ["Table 1"]
