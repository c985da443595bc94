"""Data whose features are larger than the memory that a process may have."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import resource
import numpy as np
from mercer.kernels import FeatureKernel
from mercer.linalg import memory_limit
from mercer.losses import Huber
from mercer.measures import Measure
from mercer.problems import FeatureProblem
from mercer.rows import ArrayRows
from mercer.solvers import NormalEquations

rng = np.random.default_rng(0)
n, D = 120_000, 400  # features of 366 MiB
X = rng.uniform(-1, 1, size=(n, 2))
y = np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=n)
frequencies = rng.normal(size=(2, D // 2))
kernel = FeatureKernel(lambda X: np.hstack([np.cos(X @ frequencies), np.sin(X @ frequencies)]) / np.sqrt(D / 2))
measure = Measure(np.zeros((1, 1)), np.ones(1))
kernel.features(X[:5000]).T @ kernel.features(X[:5000])  # whatever libraries allocate at their first call
pages = int(open("/proc/self/statm").read().split()[0])
size = pages * resource.getpagesize() + 280 * 2**20
resource.setrlimit(resource.RLIMIT_AS, (size, size))
try:
    kernel.features(X)
    print("it fits")
except Exception:
    print("does not fit")
rows = ArrayRows(X, y, batch_size=10_000)
fit = NormalEquations(kernel, measure).read(rows).solve([1e-6]).fit(1e-6)
print(round(float(fit.objective), 4))
with memory_limit(10 * 2**20):
    problem = FeatureProblem((kernel, rows), Huber(kappa=0.1), measure, 1e-6, fit_intercept=True)
    problem = problem.stored()
    print(problem.value(fit.coef, fit.intercept) > 0)
"""


#: 92 MiB of rows that are read anew in each pass
STREAM = """
import resource
import numpy as np
from mercer.features import RandomFourier
from mercer.kernels import Gaussian
from mercer.linalg import memory_limit
from mercer.losses import Pinball
from mercer.measures import Measure
from mercer.problems import FeatureProblem
from mercer.rows import StreamRows
from mercer.solvers import NormalEquations, StreamedADMM

def batches():
    rng = np.random.default_rng(0)
    for _ in range(15):
        X = rng.uniform(-1, 1, size=(4000, 200))
        yield X, np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=4000)

rows, levels = StreamRows(batches), Measure(np.array([0.1, 0.9]), np.ones(2) / 2)
first = next(batches())[0]
kernel = RandomFourier(15, random_state=0).bind(Gaussian(0.5).restrict(0), first)
kernel.features(first).T @ kernel.features(first)  # whatever libraries allocate at their first call
pages = int(open("/proc/self/statm").read().split()[0])
size = pages * resource.getpagesize() + 60 * 2**20
resource.setrlimit(resource.RLIMIT_AS, (size, size))
try:
    np.concatenate([X for X, _ in batches()])
    print("it fits")
except MemoryError:
    print("does not fit")
fit = NormalEquations(kernel, Measure(np.zeros((1, 1)), np.ones(1))).read(rows).solve([1e-6]).fit(1e-6)
print(fit.objective)
with memory_limit(10 * 2**20):
    result = StreamedADMM(tol=5e-2).solve(FeatureProblem((kernel, rows), Pinball(), levels, 1e-6, fit_intercept=True))
print(result.relative_gap)
X, y = next(batches())
print(*np.mean(y[:, None] <= kernel.features(X) @ result.coef + result.intercept, axis=0))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are those of Linux")
def test_rows_that_do_not_fit_into_memory():
    done = subprocess.run([sys.executable, "-c", STREAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    fits, objective, gap, shares = done.stdout.split("\n")[:4]
    assert fits == "does not fit"
    assert float(objective) == pytest.approx(0.02, rel=0.05)  # half of the variance of the noise
    assert float(gap) <= 5e-2
    assert [float(share) for share in shares.split()] == pytest.approx([0.1, 0.9], abs=0.02)


@pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are those of Linux")
def test_features_that_do_not_fit_into_memory():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    fits, objective, finite = done.stdout.split("\n")[:3]
    assert (fits, finite) == ("does not fit", "True")
    assert float(objective) == pytest.approx(0.005, abs=2e-4)  # half of the variance of the noise
