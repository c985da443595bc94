"""The directive ``capabilities``: a table of what goes with what, asked when the site is built."""

from __future__ import annotations

from capabilities import TABLES
from docutils import nodes
from docutils.parsers.rst import Directive


class CapabilityTable(Directive):
    """``capabilities``, with the name of a table."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table, in a frame that scrolls where it is wide."""
        head, rows = TABLES[self.arguments[0]]()
        group = nodes.tgroup(cols=len(head))
        group += [nodes.colspec(colwidth=1) for _ in head]
        group += nodes.thead("", table_row(head))
        group += nodes.tbody("", *[table_row(row) for row in rows])
        return [nodes.container("", nodes.table("", group), classes=["pst-scrollable-table-container"])]


def table_row(cells: list[str]) -> nodes.row:
    """Return a row of a table, in which words between backticks are code."""
    return nodes.row("", *[nodes.entry("", nodes.paragraph("", "", *words(cell))) for cell in cells])


def words(text: str) -> list[nodes.Node]:
    """Return a text with its code."""
    return [nodes.literal("", part) if k % 2 else nodes.Text(part) for k, part in enumerate(text.split("`")) if part]


def setup(app) -> dict:
    """Enter the directive."""
    app.add_directive("capabilities", CapabilityTable)
    return {"parallel_read_safe": True}
