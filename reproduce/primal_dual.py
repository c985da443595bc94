"""Figures 6.1 and 6.2 of Brault (2017): learning in features is learning with the kernel of the features.

    python reproduce/primal_dual.py
    python reproduce/primal_dual.py --quick    # the same: it takes a second

50 points of y = sin(10x) + 2x² + 0.5·noise on [−1, 1], and 50 random cosines with shifts (σ = 0.3; Figure 6.2 has a
smaller σ that is not stated, here 0.03). "features" solves the normal equations (φᵀφ + λnI)θ = φᵀy, "dual" (K + λnI)u
= y with K = φφᵀ, both with NumPy; "explicit" and "kernel" are ``VectorValuedRegressor`` with φ as a
``FeatureKernel``, which never forms K, and with the same kernel as a function of two arrays. Differences are the
largest on 200 points in between, over the largest value. "rest" is ‖θ − φᵀu‖/‖θ‖, the part of θ that training rows do
not reach. λn as in the listing of the thesis, whose caption has 1e-5 for 5e-6. At λ = 0 the first two take the least
norm; estimators refuse it. "gap" is the relative duality gap that "explicit" reports: at λn = 1e-10 it says that its
digits are spent, and warns.
"""

from __future__ import annotations

import warnings

import numpy as np
from report import Report, options, table
from sklearn.exceptions import ConvergenceWarning

from mercer import VectorValuedRegressor
from mercer.kernels import FeatureKernel, FunctionKernel

POINTS, FEATURES = 50, 50
#: σ of both figures, and λn
LENGTHS, SHIFTS = {"6.1": 0.3, "6.2": 0.03}, (1e-2, 5e-6, 1e-10, 0.0)


def made_data(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return points, targets, and points in between."""
    rng = np.random.default_rng(seed)
    X = np.linspace(-1, 1, POINTS)[:, None]
    y = np.sin(10 * X[:, 0]) + 2 * X[:, 0] ** 2 + 0.5 * rng.normal(size=POINTS)
    return X, y, np.linspace(-1, 1, 200)[:, None]


def cosines(length: float, seed: int = 1):
    """Return φ, random cosines whose kernel is the Gaussian on average."""
    rng = np.random.default_rng(seed)
    frequencies, phases = rng.normal(size=(1, FEATURES)) / length, rng.uniform(0, 2 * np.pi, size=FEATURES)
    return lambda X: np.sqrt(2 / FEATURES) * np.cos(X @ frequencies + phases)


def solved(matrix: np.ndarray, right: np.ndarray, shift: float) -> np.ndarray:
    """Return the solution of a shifted system, that of least norm without a shift."""
    if shift == 0:
        return np.linalg.lstsq(matrix, right, rcond=None)[0]
    return np.linalg.solve(matrix + shift * np.eye(len(matrix)), right)


def compare(length: float, shift: float) -> dict[str, float]:
    """Return differences between the four ways, and the part of θ beyond the training rows."""
    X, y, between = made_data()
    features = cosines(length)
    phi, psi = features(X), features(between)
    theta, dual = solved(phi.T @ phi, phi.T @ y, shift), solved(phi @ phi.T, y, shift)
    reference = psi @ theta
    found, gaps = {"dual": psi @ (phi.T @ dual)}, {}
    if shift > 0:
        kernels = {
            "explicit": FeatureKernel(features),
            "kernel": FunctionKernel(lambda A, B: features(A) @ features(B).T),
        }
        for name, kernel in kernels.items():
            model = VectorValuedRegressor(kernel, alpha=shift / POINTS, fit_intercept=False, tol=1e-10)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # the gap is in the table
                found[name] = model.fit(X, y).predict(between)
            gaps[name] = model.relative_gap_
    size = float(np.max(np.abs(reference)))
    row = {name: float(np.max(np.abs(values - reference))) / size for name, values in found.items()}
    row |= {"gap": gaps["explicit"]} if gaps else {}
    row["rest"] = float(np.linalg.norm(theta - phi.T @ dual) / np.linalg.norm(theta))
    return row | {"R²": 1 - float(np.sum((phi @ theta - y) ** 2) / np.sum((y - y.mean()) ** 2))}


def main() -> None:
    """Run all, print the table and write the figures."""
    given = options(__doc__.splitlines()[0])
    report = Report("primal_dual", given)
    rows = []
    for figure, length in LENGTHS.items():
        for shift in SHIFTS:
            rows.append({"figure": figure, "σ": length, "λn": f"{shift:g}"} | compare(length, shift))
    groups = {
        "": ["figure", "σ", "λn"],
        "difference from features": ["dual", "explicit", "kernel"],
        "of explicit": ["gap"],
        "of the fit": ["rest", "R²"],
    }
    print(table("Primal and dual", groups, rows))
    report.add(rows=rows)
    report.write()


if __name__ == "__main__":
    main()
