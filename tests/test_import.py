"""``import mercer`` is quick and brings nothing along that the user did not ask for."""

import os
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

import mercer

#: seconds of CPU time for mercer's own modules, beyond NumPy, SciPy and the scikit-learn modules that it needs
LIMIT = 0.45
#: a machine with more processes than cores can double CPU times (shared caches and hyper-threads): up to this many
#: times the limit, and only on such a machine, the test is skipped instead of failed
SKIP_MARGIN = 2.0

UNWANTED = ["matplotlib", "pandas", "cvxpy", "hypothesis", "torch", "jax", "dask", "skfda"]


def run(code: str, *arguments: str) -> str:
    """Run code in a fresh interpreter that sees this mercer, and return what it prints."""
    path = os.pathsep.join([str(Path(mercer.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
        timeout=60,
    )
    return done.stdout.strip()


LIST = """
import sys, mercer
print(" ".join(name for name in sys.modules if name.split(".")[0] not in ("mercer", "__main__")))
"""

#: optional libraries are as if not installed; who asks for them is written down (scikit-learn asks for pandas, and may)
BLOCK = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in sys.argv[1].split():
            return None
        frame = sys._getframe(1)
        while "importlib" in frame.f_code.co_filename:
            frame = frame.f_back
        asked.append(frame.f_globals["__name__"] + " asks for " + name)
        raise ImportError(name)

asked = []
sys.meta_path.insert(0, Block())
exec(sys.argv[2])
print("; ".join(each for each in asked if not each.startswith("sklearn")))
"""

TIME = """
import gc, importlib, sys, time
for name in sys.argv[1].split():
    try:
        importlib.import_module(name)
    except Exception:  # names in sys.modules that are no files
        pass
gc.collect()
gc.freeze()  # a collection that comes due meanwhile would walk over all objects of those modules, for 0.08 s
start = time.process_time()
import mercer
print(time.process_time() - start)
"""


@pytest.fixture(scope="module")
def brought_along():
    return run(LIST)


def test_nothing_optional_is_imported():
    assert run(BLOCK, " ".join(UNWANTED), "import mercer") == ""


def test_the_block_finds_who_asks():
    asked = run(BLOCK, " ".join(UNWANTED), "try:\n    import pandas\nexcept ImportError:\n    pass")
    assert asked == "__main__ asks for pandas"


def test_importing_mercer_is_quick(brought_along):
    seconds = statistics.median(float(run(TIME, brought_along)) for _ in range(3))
    loaded = hasattr(os, "getloadavg") and os.getloadavg()[0] > (os.cpu_count() or 1)
    if LIMIT < seconds < SKIP_MARGIN * LIMIT and loaded:
        pytest.skip(f"{seconds:.2f} s on a loaded machine")
    assert seconds < LIMIT, seconds
