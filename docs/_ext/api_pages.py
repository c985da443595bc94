"""Pages of the API: a table of everything that each public package exports, and a page for each name.

Nothing is listed by hand: what is in ``__all__`` is on the site, with the first line of its docstring.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import mercer

#: packages that are no library: their front doors are commands and pages
LEFT_OUT = {"mercer.cli"}
#: modules beside the packages that users meet
MODULES = [
    "mercer.exceptions",
    "mercer.interop.dask",
    "mercer.interop.parquet",
    "mercer.interop.skfda",
    "mercer.interop.torch",
]


def public_packages() -> list[str]:
    """Return the packages with a list of exports, the one that users meet first in front."""
    found = [
        module.name
        for module in pkgutil.walk_packages(mercer.__path__, "mercer.")
        if module.ispkg and not any(module.name.startswith(name) for name in LEFT_OUT)
    ]
    return ["mercer", *found, *MODULES]


def exports() -> dict[str, list[str]]:
    """Return what each package exports, functions and classes, each of them once: where users meet it first."""
    seen: set[int] = set()
    found: dict[str, list[str]] = {}
    for package in public_packages():
        module = importlib.import_module(package)
        for name in getattr(module, "__all__", []):
            thing = getattr(module, name)
            if (inspect.isclass(thing) or inspect.isroutine(thing)) and id(thing) not in seen:
                seen.add(id(thing))
                found.setdefault(package, []).append(name)
    return found


def page(package: str, names: list[str]) -> str:
    """Return the page of a package."""
    module = importlib.import_module(package)
    lines = [package, "=" * len(package), "", (module.__doc__ or "").strip(), "", f".. currentmodule:: {package}", ""]
    for title, test in (("Classes", inspect.isclass), ("Functions", inspect.isroutine)):
        listed = [name for name in names if test(getattr(module, name))]
        if not listed:
            continue
        lines += [f".. rubric:: {title}", "", ".. autosummary::", "   :toctree: generated", "   :nosignatures:", ""]
        lines += [f"   {name}" for name in listed] + [""]
    return "\n".join(lines)


def write_pages(app, config) -> None:
    """Write docs/api, where something has changed."""
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    found = exports()
    index = [
        *(
            "API",
            "===",
            "",
            "Everything that is exported, package by package. Estimators are in ``mercer`` itself.",
            "",
        ),
        *(".. toctree::", "   :maxdepth: 1", ""),
        *[f"   {name}" for name in found],
        "",
    ]
    texts = {"index": "\n".join(index)} | {name: page(name, listed) for name, listed in found.items()}
    for name, text in texts.items():
        path = folder / f"{name}.rst"
        if not path.is_file() or path.read_text() != text:
            path.write_text(text)
    expected = {f"{package}.{name}.rst" for package, names in found.items() for name in names}
    expected |= {f"{name}.rst" for name in texts}
    for path in [*folder.glob("*.rst"), *folder.glob("generated/*.rst")]:
        if path.name not in expected:  # of an earlier build
            path.unlink()


def is_foreign(app, what, name, thing, skip, options):
    """Leave out methods that other libraries wrote: they are documented there."""
    function = inspect.unwrap(getattr(thing, "fget", None) or getattr(thing, "__func__", None) or thing)
    module = getattr(function, "__module__", None)
    return True if isinstance(module, str) and not module.startswith("mercer") else None


#: |r| and X_ outside of code, which reStructuredText takes for references
CODE = re.compile(r"(``.*?``|`[^`]*`_?|\*\*.*?\*\*|:\w+:)")
BAR, TAIL = re.compile(r"(?<!\\)\|"), re.compile(r"(?<=[^\W_])_+(?!\w)")


def escape_formulas(app, what, name, thing, options, lines: list[str]) -> None:
    """Write formulas in the text of docstrings so that they are shown as they are."""
    literal: int | None = None
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if literal is not None and line.strip() and indent <= literal:
            literal = None
        if literal is None and not line.lstrip().startswith((">>>", "...", "..")):
            parts = CODE.split(line)
            bars = [BAR.sub(r"\\|", part) for part in parts[::2]]
            parts[::2] = [TAIL.sub(lambda tail: r"\_" * len(tail[0]), part) for part in bars]
            lines[number] = "".join(parts)
        if literal is None and line.rstrip().endswith("::"):
            literal = indent


def setup(app) -> dict:
    """Enter all of them."""
    app.connect("config-inited", write_pages)
    app.connect("autodoc-skip-member", is_foreign)
    app.connect("autodoc-process-docstring", escape_formulas, priority=900)  # what numpydoc made of them
    return {"parallel_read_safe": True}
