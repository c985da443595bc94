"""docs/displays-and-scorers.md is an index: it names and calls all that is public."""

import re
from pathlib import Path

import pytest

import mercer.model_selection
import mercer.plotting

PAGE = (Path(__file__).parent.parent / "docs" / "displays-and-scorers.md").read_text()
ROWS = "\n".join(line for line in PAGE.splitlines() if line.startswith("| "))


@pytest.mark.parametrize("name", [*mercer.plotting.__all__, *mercer.model_selection.__all__])
def test_every_display_scorer_and_metric_has_a_line(name):
    assert re.search(rf"`{name}\b", ROWS)


def test_nothing_is_named_that_is_not_there():
    named = set(re.findall(r"`(\w+Display|make_\w+)\b", PAGE))
    assert named <= {*mercer.plotting.__all__, *mercer.model_selection.__all__}
