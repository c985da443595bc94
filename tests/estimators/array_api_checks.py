"""scikit-learn's own array-API checks, with array-api-strict."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import functools
from sklearn.utils.estimator_checks import estimator_checks_generator
from mercer import *
from mercer.measures import Points

def root(check):
    keywords = {{}}
    while isinstance(check, functools.partial):
        keywords |= check.keywords
        check = check.func
    return check.__name__, keywords

ran = 0
for estimator, check in estimator_checks_generator({model}, mark="skip"):
    name, keywords = root(check)
    if "array_api" in name and keywords.get("array_namespace") == "array_api_strict":
        check(estimator)
        ran += 1
print("checks that ran:", ran)
"""


def run_array_api_checks(model: str) -> None:
    """Check a model, given as an expression; SCIPY_ARRAY_API must be set before scipy is imported, hence a process."""
    pytest.importorskip("array_api_strict")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(model=model)],
        capture_output=True,
        text=True,
        env={**os.environ, "SCIPY_ARRAY_API": "1", "OMP_NUM_THREADS": "1"},
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "checks that ran: 0" not in done.stdout
    assert "checks that ran:" in done.stdout
