"""Shared by all tests: derandomised hypothesis; ``tests/`` on the path, for references such as ``cvxpy_primal``."""

from hypothesis import settings

settings.register_profile("mercer", derandomize=True, deadline=None, max_examples=15)
settings.load_profile("mercer")
