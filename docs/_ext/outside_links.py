"""Links of pages to files that are no pages: to the page that includes the file where there is one, else plain text.

Pages are read in the folder of the repository, too, where all of these links lead somewhere.
"""

from __future__ import annotations

import re
from pathlib import Path

#: pages that include a file of the repository
PAGES = {
    "CHANGELOG.md": "changelog.md",
    "benchmarks/README.md": "benchmarks.md",
    "reproduce/README.md": "reproduced.md",
    "reproduce/": "reproduced.md",
}
TOCTREE = re.compile(r"```\{toctree\}\n.*?```", re.DOTALL)
LINK = re.compile(r"(?<!!)\[([^\]\n]+)\]\((?!https?:|#|mailto:)([^)\s]+)\)")


def rewritten(text: str, folder: Path, docs: Path) -> str:
    """Return the text of a file in ``folder`` with its links as they are for pages in ``docs``."""
    root = docs.parent

    def replace(match: re.Match) -> str:
        words, (path, _, anchor) = match[1], match[2].partition("#")
        target = (folder / path).resolve()
        if not target.exists():
            return match[0]  # the builder says so
        inside = target.relative_to(root).as_posix() + ("/" if target.is_dir() else "")
        page = PAGES.get(inside)
        if page is None and target.parent == docs and target.suffix == ".md":
            page = target.name
        if page is None:
            return words if words.startswith("`") else f"`{words}`"
        return f"[{words}]({page}{'#' + anchor if anchor else ''})"

    return LINK.sub(replace, text)


def without_empty_globs(text: str, docs: Path) -> str:
    """Return a page without the lines of its toctrees that stand for pages that may come, and have not."""

    def replace(match: re.Match) -> str:
        lines = match[0].splitlines()
        return "\n".join(line for line in lines if "*" not in line or any(docs.glob(f"{line}.md")))

    return TOCTREE.sub(replace, text)


def on_page(app, docname: str, source: list[str]) -> None:
    """Rewrite the links of a page of the site, and leave out what is not there yet."""
    docs = Path(app.srcdir)
    if (docs / f"{docname}.md").is_file():
        source[0] = without_empty_globs(rewritten(source[0], docs, docs), docs)


def on_include(app, relative_path, parent: str, content: list[str]) -> None:
    """Rewrite the links of a file that a page includes."""
    docs = Path(app.srcdir)
    content[0] = rewritten(content[0], (docs / relative_path).resolve().parent, docs)


def setup(app) -> dict:
    """Enter both."""
    app.connect("source-read", on_page)
    app.connect("include-read", on_include)
    return {"parallel_read_safe": True}
