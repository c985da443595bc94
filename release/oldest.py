"""Constraints that pin each dependency to the oldest version that pyproject.toml allows.

    python release/oldest.py > constraints.txt
    pip install --constraint constraints.txt ".[test]"

Used by ``make test-oldest``. A requirement without a lower bound is an error: nobody would know what was tested.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

#: a requirement: its name, its extras, its bounds
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(\[[\w,]+\])?(?P<bounds>[^;]*)")
LOWER = re.compile(r">=\s*([\w.]+)")
#: extras whose libraries are rivals or readers of documentation, and no part of what the tests run
LEFT_OUT = ("bench", "docs")


def oldest(project: dict) -> dict[str, str]:
    """Return the oldest version of each dependency, of extras, too.

    Examples
    --------
    >>> oldest({"name": "a", "dependencies": ["numpy>=2.0"], "optional-dependencies": {"b": ["rich>=13,<20", "a[c]"]}})
    {'numpy': '2.0', 'rich': '13'}
    """
    extras = project.get("optional-dependencies", {})
    lines = [*project["dependencies"]]
    for extra, requirements in extras.items():
        lines += [] if extra in LEFT_OUT else requirements
    found: dict[str, str] = {}
    for line in lines:
        parts = REQUIREMENT.match(line)
        if parts is None or parts["name"] == project["name"]:
            continue
        lower = LOWER.search(parts["bounds"])
        if lower is None:
            raise SystemExit(f"{line!r} has no lower bound in pyproject.toml")
        before = found.setdefault(parts["name"], lower[1])
        if before != lower[1]:
            raise SystemExit(f"{parts['name']} has two lower bounds in pyproject.toml, {before} and {lower[1]}")
    return found


if __name__ == "__main__":
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    pins = oldest(tomllib.loads(text)["project"])
    sys.stdout.write("".join(f"{name}=={version}\n" for name, version in pins.items()))
