"""What a release says of itself: lower bounds that can be tested, one version, hooks that run what `make lint` runs."""

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def oldest():
    spec = importlib.util.spec_from_file_location("oldest", ROOT / "release" / "oldest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.oldest


def test_each_dependency_has_a_lower_bound(oldest):
    pins = oldest(PROJECT)
    assert {"numpy", "scipy", "scikit-learn", "pandas", "polars", "skpro", "scikit-fda", "pytest"} <= set(pins)
    assert all(re.fullmatch(r"\d+(\.\d+)*", version) for version in pins.values())
    assert oldest({"name": "a", "dependencies": ["b[c,d]>=1.2,<3", "a[e]"]}) == {"b": "1.2"}


@pytest.mark.parametrize("lines", [["numpy"], ["numpy<3"], ["numpy>=1", "numpy>=2"]])
def test_bounds_that_cannot_be_tested_are_refused(oldest, lines):
    with pytest.raises(SystemExit, match="lower bound"):
        oldest({"name": "a", "dependencies": lines})


def test_the_version_has_one_place_and_a_heading():
    version = PROJECT["version"]
    assert f"\n## {version}\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "\nversion:" not in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_hooks_are_the_linters_of_make_lint():
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").split("\nlint:")[1].split("\n\n")[0]
    for tool in ("ruff check", "ruff format", "mypy"):
        assert f".venv/bin/{tool}" in hooks
        assert f"$(BIN)/{tool}" in recipe
    assert "repo: local" in hooks
    assert "http" not in hooks  # nothing is fetched
