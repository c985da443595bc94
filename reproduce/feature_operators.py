"""Operators against matrices of features (Brault, 2017, Figures 6.3 to 6.5): time and memory, measured again.

    python reproduce/feature_operators.py            # outputs up to 100, matrices up to 256 MB
    python reproduce/feature_operators.py --quick    # up to 10

Products Φ(X)θ and Φ(X)ᵀR with random features of three kernels against the number p of outputs: decomposable (N = 100
points of [0, 1]²⁰, D = 100), curl-free (N = 1 000, [0, 1]^p, D = 500) and divergence-free (N = 100, [0, 1]^p, D = 100).
"matrix" stores all Np × r numbers of Φ(X). "operator" has the waves φ(X), N × 2D, and the directions: for fields what
``RandomFourier(...).bind`` gives, ``DirectedWaves``; decomposable ones are φ(X)ΘBᵀ. "listing" makes, as those in the
thesis do, the tensor of all waves and directions anew in each product.

The thesis presents the operator as the winner for decomposable kernels, and finds it an order of magnitude slower for
fields. Its listings explain that: the tensor above, and calls f(X, A, D), in which D becomes γ, so that the real number
of features was another. Times are CPU seconds, the least of several; "rank" is r, the number of coefficients.
Differences are the largest of both products, over their largest value.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from report import Report, options, table

from mercer.features import RandomFourier
from mercer.kernels import Gaussian
from mercer.linalg import DirectedFactor
from mercer.operator_valued import CurlFree, DivergenceFree

#: points, and frequencies, of the three figures
SETTINGS = {"decomposable": (100, 100), "curl-free": (1000, 500), "divergence-free": (100, 100)}
#: bytes of a matrix that is not made, nor a tensor of the listings
MOST = 2**28


class Products(NamedTuple):
    """What one implementation does, and what it keeps."""

    forward: Callable
    adjoint: Callable
    size: int  #: bytes


def dense(matrix: np.ndarray, p: int) -> Products:
    """Return products with a stored matrix, of shape (n·p, r)."""
    return Products(lambda w: (matrix @ w).reshape(-1, p), lambda R: matrix.T @ R.ravel(), matrix.nbytes)


def decomposable(kernel, X: np.ndarray, B: np.ndarray) -> Products:
    """Return products with φ ⊗ B, as φ(X)ΘBᵀ."""
    phi = kernel.features(X)
    size = phi.nbytes + B.nbytes
    return Products(lambda w: phi @ w.reshape(phi.shape[1], -1) @ B.T, lambda R: (phi.T @ R @ B).ravel(), size)


def directed(waves, X: np.ndarray) -> Products:
    """Return products with features of a field, of which waves and directions are kept."""
    phases, p = (X - waves.centre) @ waves.frequencies, waves.directions.shape[2]
    factor = DirectedFactor(np.hstack([np.cos(phases), np.sin(phases)]), waves.places, waves.directions)
    return Products(
        lambda w: factor.forward(w[:, None]).reshape(-1, p),
        lambda R: factor.backward(R.reshape(-1, 1))[:, 0],
        factor.features.nbytes + 3 * factor.directions.nbytes,  # as they are, and in a sparse matrix with its indices
    )


def listing(waves, X: np.ndarray) -> Products:
    """Return products that make the tensor of waves times directions each time."""
    p = waves.directions.shape[2]

    def tensor() -> np.ndarray:
        return waves.features(X).reshape(len(X) * p, -1)

    return Products(lambda w: (tensor() @ w).reshape(-1, p), lambda R: tensor().T @ R.ravel(), 0)


def seconds(work: Callable, repeats: int) -> float:
    """Return the least CPU time of several runs, each long enough for the clock."""
    start, rounds = time.process_time(), 0
    while time.process_time() - start < 0.02:
        work()
        rounds += 1
    least = (time.process_time() - start) / rounds
    for _ in range(repeats - 1):
        start = time.process_time()
        for _ in range(rounds):
            work()
        least = min(least, (time.process_time() - start) / rounds)
    return least


def compare(kind: str, p: int, repeats: int) -> dict:
    """Return set-up, products and memory of the implementations for p outputs."""
    n, D = SETTINGS[kind]
    rng = np.random.default_rng(p)
    X = rng.uniform(size=(n, 20 if kind == "decomposable" else p))
    field = {"decomposable": lambda k: k, "curl-free": CurlFree, "divergence-free": DivergenceFree}[kind]
    made = RandomFourier(D, "iid", random_state=0).bind(field(Gaussian(1 / (2 * X.shape[1]))), X)
    makers: dict[str, Callable[[], Products]] = {}
    if kind == "decomposable":
        B = np.linalg.cholesky(0.5 * (np.eye(p) + np.ones((p, p))))
        r = 2 * D * p
        makers["operator"] = lambda: decomposable(made, X, B)
        makers["matrix"] = lambda: dense(np.kron(made.features(X), B), p)
    else:
        r = made.n_features
        makers["operator"] = lambda: directed(made, X)
        makers["matrix"] = lambda: dense(made.features(X).reshape(n * p, -1), p)
        makers["listing"] = lambda: listing(made, X)
    if 8 * n * p * r > MOST:
        makers = {"operator": makers["operator"]}
    row: dict = {"kernel": kind, "p": p, "rank": r}
    w, R, images = rng.normal(size=r), rng.normal(size=(n, p)), {}
    for name, make in makers.items():
        one = make()
        row[f"{name}, set-up"] = 1e3 * seconds(make, repeats)
        row[f"{name}, products"] = 1e3 * seconds(lambda one=one: (one.forward(w), one.adjoint(R)), repeats)
        row[f"{name}, MB"] = one.size / 1e6
        images[name] = (one.forward(w), one.adjoint(R))
    if "matrix" in images:
        pairs = zip(images["operator"], images["matrix"], strict=True)
        row["difference"] = max(float(np.max(np.abs(a - b)) / np.max(np.abs(b))) for a, b in pairs)
        row["matrix / operator"] = row["matrix, products"] / row["operator, products"]
    return row


def main() -> None:
    """Measure, print the table and write the figures."""
    given = options(__doc__.splitlines()[0])
    report = Report("feature_operators", given)
    outputs, rows = (1, 3, 10) if given.quick else (1, 3, 10, 30, 100), []
    for kind in SETTINGS:
        for p in outputs:
            if p > 1 or kind != "divergence-free":  # on the line there is none
                rows.append(compare(kind, p, 2 if given.quick else 5))
        report.progress(kind)
    groups = {
        "": ["kernel", "p", "rank"],
        "set-up, ms": ["operator, set-up", "matrix, set-up"],
        "both products, ms": ["operator, products", "matrix, products", "listing, products", "matrix / operator"],
        "kept, MB": ["operator, MB", "matrix, MB"],
    }
    groups["of products"] = ["difference"]
    print(table("Operator against matrix", groups, rows))
    report.add(rows=rows)
    report.write()


if __name__ == "__main__":
    main()
