"""What scikit-learn asks of every classifier."""

import os
import subprocess
import sys

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import CostSensitiveClassifier
from mercer.measures import GaussLegendre


@parametrize_with_checks([CostSensitiveClassifier(measure=GaussLegendre(5))])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


STRICT = """
import functools
from sklearn.utils.estimator_checks import estimator_checks_generator
from mercer import CostSensitiveClassifier
from mercer.measures import Points

def root(check):
    keywords = {}
    while isinstance(check, functools.partial):
        keywords |= check.keywords
        check = check.func
    return check.__name__, keywords

model, ran = CostSensitiveClassifier(alpha=1.0, tol=1e-4, measure=Points([0.2, 0.5, 0.8])), 0
for estimator, check in estimator_checks_generator(model, mark="skip"):
    name, keywords = root(check)
    if "array_api" in name and keywords.get("array_namespace") == "array_api_strict":
        check(estimator)
        ran += 1
print("checks that ran:", ran)
"""


def test_scikit_learn_array_api_checks():
    """They need SCIPY_ARRAY_API before scipy is imported, hence another process."""
    pytest.importorskip("array_api_strict")
    environment = {**os.environ, "SCIPY_ARRAY_API": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", STRICT], capture_output=True, text=True, env=environment, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "checks that ran: 0" not in done.stdout
    assert "checks that ran:" in done.stdout
