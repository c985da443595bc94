"""Vector fields and vector outputs: what products, fits and choices cost.

    python benchmarks/fields.py                  # a minute on one core, 8 GB of memory
    python benchmarks/fields.py --quick          # small sizes
    python benchmarks/fields.py --parts products

products: 𝐊A for curl-free and divergence-free Gram operators at d = 20, n = 1 000. The rival assembles the (np) × (np)
matrix, some rows at a time in place, and multiplies. CPU time of one product, matrix or distances included; of a
product with what is stored; and the peak of memory above that of a process that has made the points and imported
everything. Each in a process of its own, one BLAS thread, the best of several rounds (one for the matrix).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from mercer.kernels import Gaussian
from mercer.measures import Measure
from mercer.operator_valued import CurlFree, DivergenceFree

FIELDS = {"curl-free": CurlFree, "divergence-free": DivergenceFree}
#: rows at a time in which the matrix is assembled
ROWS = 20


def peak_bytes() -> int:
    """Return the most memory that this process has taken."""
    status = Path("/proc/self/status").read_text()  # ru_maxrss would count the parent, too
    return 1024 * int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])


def timed(work: Callable[[], np.ndarray], rounds: int) -> tuple[float, np.ndarray]:
    """Return the least CPU time of several rounds, and the result."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        result = work()
        times.append(time.process_time() - start)
    return min(times), result


def setting(kind: str, n: int, d: int):
    rng = np.random.default_rng(0)
    X, A = rng.normal(size=(n, d)), rng.normal(size=(n, d))
    return FIELDS[kind](Gaussian(0.5 / d)), X, A


def task_assembled(kind: str, n: int, d: int) -> dict:
    """Assemble the matrix, multiply."""
    kernel, X, A = setting(kind, n, d)
    kernel.blocks(X[:2], X[:2])
    before = peak_bytes()

    def assemble() -> np.ndarray:
        matrix = np.empty((n * d, n * d))
        for k in range(0, n, ROWS):
            blocks = kernel.blocks(X[k : k + ROWS], X)
            matrix.reshape(n, d, n, d)[k : k + ROWS] = blocks.transpose(0, 2, 1, 3)
        return matrix

    seconds, matrix = timed(assemble, 1)
    again, image = timed(lambda: matrix @ A.reshape(-1), 3)
    return {"seconds": seconds + again, "again": again, "bytes": peak_bytes() - before, "check": checksum(image)}


def task_operator(kind: str, n: int, d: int) -> dict:
    """Multiply without the matrix; then with what products share stored."""
    kernel, X, A = setting(kind, n, d)
    gram = kernel.bind(Measure(np.arange(float(d)), np.ones(d))).gram(X)
    kernel.product(X[:2], X[:2], A[:2])
    before = peak_bytes()
    seconds, image = timed(lambda: gram @ A, 5)
    peak = peak_bytes() - before
    kept = gram.stored(limit=8 * 4 * n * n)  # the matrix would need d² numbers for each pair of rows
    again, other = timed(lambda: kept @ A, 5)
    assert np.allclose(image, other)
    return {"seconds": seconds, "again": again, "bytes": peak, "check": checksum(image)}


def checksum(image: np.ndarray) -> float:
    """Return a number that tells whether two images are the same."""
    return float(np.reshape(image, -1) @ np.cos(np.arange(image.size)))


def in_process(task: str, **arguments) -> dict:
    """Run a task in a process of its own."""
    command = [sys.executable, __file__, "--task", task, "--arguments", json.dumps(arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def part_products(quick: bool) -> list[dict]:
    """Products of Gram operators, as they are and assembled."""
    rows = []
    print(
        f"{'field':<16}{'n':>6}{'d':>4}{'assembled':>12}{'operator':>11}{'times':>8}{'stored':>10}{'memory':>20}{'less':>8}"
    )
    for n, d in ((200, 5),) if quick else ((1000, 2), (1000, 5), (1000, 20)):
        for kind in FIELDS:
            dense, fast = (in_process(task, kind=kind, n=n, d=d) for task in ("assembled", "operator"))
            assert np.isclose(dense["check"], fast["check"], rtol=1e-8)
            faster, less = dense["seconds"] / fast["seconds"], dense["bytes"] / max(fast["bytes"], 1)
            megabytes = f"{dense['bytes'] / 1e6:.0f} / {fast['bytes'] / 1e6:.0f} MB"
            print(
                f"{kind:<16}{n:>6}{d:>4}{dense['seconds']:>10.3f} s{fast['seconds']:>9.4f} s{faster:>7.0f}x"
                f"{fast['again']:>8.4f} s{megabytes:>20}{less:>7.0f}x",
                flush=True,
            )
            rows.append({"field": kind, "n": n, "d": d, "assembled": dense, "operator": fast})
    return rows


TASKS = {name.removeprefix("task_"): value for name, value in globals().items() if name.startswith("task_")}
PARTS = {name.removeprefix("part_"): value for name, value in globals().items() if name.startswith("part_")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--parts", nargs="+", choices=sorted(PARTS), default=list(PARTS))
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "fields.json")
    parser.add_argument("--task", choices=sorted(TASKS), help=argparse.SUPPRESS)
    parser.add_argument("--arguments", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        print(json.dumps(TASKS[options.task](**json.loads(options.arguments))))
        return
    report = json.loads(options.output.read_text()) if options.output.exists() and not options.quick else {}
    for name in options.parts:
        print(f"\n{name}: {PARTS[name].__doc__.splitlines()[0]}")
        report[name] = PARTS[name](options.quick)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(report, indent=2) + "\n")
    print(f"\nwritten to {options.output}")


if __name__ == "__main__":
    main()
