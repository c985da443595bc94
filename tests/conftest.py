"""Shared by all tests: derandomised hypothesis; ``tests/`` on the path, for references such as ``cvxpy_primal``."""

import sys

import pytest
from hypothesis import settings

settings.register_profile("mercer", derandomize=True, deadline=None, max_examples=15)
settings.load_profile("mercer")


@pytest.fixture(autouse=True)
def no_figure_stays_open():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
