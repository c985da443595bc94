"""Random features of three kernels (Brault, 2017, Figures 4.2 and 5.1 to 5.3): convergence in D, exact variances.

    python reproduce/features.py            # 40 draws up to D = 3 162, 3 000 draws for variances
    python reproduce/features.py --quick    # 8 draws up to D = 316, 200 for variances

Figure 4.2: f = K u with a decomposable Gaussian kernel, σ = 0.1, on 250 points of [−1, 1]; the error of f̃ = K̃ u over
the size of f, for two draws of u and frequencies, beside the root of its expected square, which is known exactly.
Figure 5.1: ‖K̃ − K‖ on pairs of 25 points of [−1, 1]⁴ for the three kernels: root mean square in Frobenius norm, beside
the exact one, and largest operator norm. Figures 5.2 and 5.3: ‖D·Var K̃(δ)‖ at distances s·σ, exact, measured, and what
the thesis has for it: its Proposition 5.1, which lost a factor of two and is violated at 0, and the printed bounds.
± are standard errors; "mean off" is the largest deviation of the mean of K̃(δ) from K(δ) in standard errors.

"unbounded" frequencies of fields have the law of the scalar kernel and vectors of length ‖ω‖, "bounded" ones are drawn
in proportion to ‖ω‖² and have vectors of one length; both are independent. "default" is what ``RandomFourier(D)``
draws here: bounded, and quasi-random. The thesis gives curves only. Not stated there, and chosen by us: σ = 1 in R⁴,
the direction of δ (the first axis), the draws, Γ = ½(I + 11ᵀ) in all decomposable cases.
"""

from __future__ import annotations

import math

import numpy as np
from report import Report, options, pair, table

from mercer.features import RandomFourier
from mercer.kernels import Gaussian
from mercer.operator_valued import CurlFree, DivergenceFree
from mercer.plotting import ScalingDisplay

COLUMNS, SIGMA, STEPS = 4, 1.0, (0.0, 0.5, 1.0, 2.0, 6.0)
GAMMA = 0.5 * (np.eye(COLUMNS) + np.ones((COLUMNS, COLUMNS)))
KINDS = ("decomposable", "curl-free", "divergence-free")
#: kernel and sampler; a decomposable kernel has one law only
CASES = (("decomposable", True), *((kind, bounded) for kind in KINDS[1:] for bounded in (False, True)))


def kernel_of(kind: str, sigma: float = SIGMA):
    """Return the kernel that is approximated; of a decomposable one its scalar kernel."""
    scalar = Gaussian(1 / (2 * sigma**2))
    return {"decomposable": scalar, "curl-free": CurlFree(scalar), "divergence-free": DivergenceFree(scalar)}[kind]


def values(kernel, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Return K(x_i, z_j) as matrices, shape (n, n', p, p)."""
    return kernel(X, Z)[:, :, None, None] * GAMMA if hasattr(kernel, "gram_columns") else kernel.blocks(X, Z)


def exact_values(kind: str, deltas: np.ndarray, sigma: float = SIGMA) -> np.ndarray:
    """Return K₀(δ) of the Gaussian kernels, shape (m, d, d)."""
    square = np.sum(deltas**2, axis=1)[:, None, None]
    profile, one = np.exp(-square / (2 * sigma**2)), np.eye(deltas.shape[1])
    if kind == "decomposable":
        return profile * GAMMA
    outer = deltas[:, :, None] * deltas[:, None, :] / sigma**2
    if kind == "curl-free":
        return profile / sigma**2 * (one - outer)
    return profile / sigma**2 * (outer + (len(one) - 1 - square / sigma**2) * one)


def exact_variance(kind: str, bounded: bool, deltas: np.ndarray, sigma: float = SIGMA) -> np.ndarray:
    """Return D·Var K̃(δ) = E[cos²⟨ω, δ⟩A(ω)²] − K(δ)² of independent frequencies, shape (m, d, d)."""
    d, own = deltas.shape[1], exact_values(kind, deltas, sigma)
    zero, twice = exact_values(kind, 0 * deltas, sigma), exact_values(kind, 2 * deltas, sigma)
    if kind == "decomposable":
        return (zero + twice) @ GAMMA / 2 - own @ own
    if bounded:
        return d / (2 * sigma**2) * (zero + twice) - own @ own
    return (_fourth(kind, 0 * deltas, sigma) + _fourth(kind, 2 * deltas, sigma)) / 2 - own @ own


def _fourth(kind: str, deltas: np.ndarray, sigma: float) -> np.ndarray:
    """Return E[cos⟨ω, δ⟩‖ω‖²ωωᵀ] = Δ∇∇ᵀk₀ for curl-free fields, and its trace less that for divergence-free ones."""
    d, square = deltas.shape[1], np.sum(deltas**2, axis=1)[:, None, None]
    along = -(d + 4) / sigma**6 + square / sigma**8
    across = ((d + 2) / sigma**4 - square / sigma**6) * np.eye(d)
    matrix = np.exp(-square / (2 * sigma**2)) * (across + along * deltas[:, :, None] * deltas[:, None, :])
    if kind == "curl-free":
        return matrix
    return np.trace(matrix, axis1=1, axis2=2)[:, None, None] * np.eye(d) - matrix


def stated_variance(kind: str, bounded: bool, deltas: np.ndarray, sigma: float = SIGMA) -> np.ndarray:
    """Return Proposition 5.1, ½((K(2δ) + K(0))E[A] − 2K(δ)² + Var[A]), with the right E[A] and Var[A]."""
    own, zero = exact_values(kind, deltas, sigma), exact_values(kind, 0 * deltas, sigma)
    of_A = exact_variance(kind, bounded, 0 * deltas, sigma)  # at δ = 0 each frequency has A(ω) itself
    return ((exact_values(kind, 2 * deltas, sigma) + zero) @ zero - 2 * own @ own + of_A) / 2


def printed_bound(kind: str, deltas: np.ndarray, sigma: float = SIGMA) -> np.ndarray:
    """Return the bounds of section 5.1.5 for unbounded fields, shape (m,)."""
    d, own, twice = deltas.shape[1], exact_values(kind, deltas, sigma), exact_values(kind, 2 * deltas, sigma)
    factor, last = (1, d + 1) if kind == "curl-free" else (d - 1, d * (4 * d - 3))
    return norms(factor * twice / sigma**2 - 2 * own @ own) / 2 + last / sigma**4


def norms(matrices: np.ndarray) -> np.ndarray:
    """Return the largest singular value of each matrix."""
    return np.linalg.norm(matrices, ord=2, axis=(-2, -1))


def illustration(sizes: np.ndarray, seeds=(0, 1), sigma: float = 0.1) -> list[dict]:
    """Figure 4.2: errors of K̃u, over the size of Ku, and the root of the expected square."""
    x, kernel = np.linspace(-1, 1, 250)[:, None], Gaussian(1 / (2 * sigma**2))
    K, rows = kernel(x, x), [{"D": int(size)} for size in sizes]
    mixing = 0.5 * (np.eye(2) + np.ones((2, 2)))
    for seed in seeds:
        V = np.random.default_rng(seed).normal(size=(250, 2)) @ mixing
        f = K @ V
        size_of = float(np.sum(f**2))
        # Cov(k̃(δ), k̃(δ′)) = (½k(δ + δ′) + ½k(δ − δ′) − k(δ)k(δ′))/D, with δ = x_i − x_j and δ′ = x_i − x_l
        sums = (x + x.T).ravel()[:, None]
        products = (V @ V.T).ravel()
        mirrored = sum(float(products @ kernel(sums, 2 * one[None])[:, 0]) for one in x)
        expected = 0.5 * len(x) * float(np.sum(V * f)) + 0.5 * mirrored - size_of
        for row in rows:
            made = RandomFourier(row["D"], "iid", random_state=seed).bind(kernel, x)
            row[f"u{seed}"] = math.sqrt(float(np.sum((made(x, x) @ V - f) ** 2)) / size_of)
            row[f"u{seed} exact"] = math.sqrt(expected / row["D"] / size_of)
    return rows


def convergence(kind: str, bounded: bool, sampling: str, sizes: np.ndarray, draws: int) -> list[dict]:
    """Figure 5.1: errors over pairs of points of [−1, 1]⁴, and the root mean square of independent frequencies."""
    X, kernel = np.random.default_rng(0).uniform(-1, 1, size=(25, COLUMNS)), kernel_of(kind)
    rows, (first, second) = [], np.triu_indices(len(X), 1)
    own = values(kernel, X, X)[first, second]
    exact = np.mean(np.trace(exact_variance(kind, bounded, X[first] - X[second]), axis1=1, axis2=2))
    for size in sizes:
        squares, largest = [], []
        for seed in range(draws):
            made = RandomFourier(int(size), sampling, bounded=bounded, random_state=seed).bind(kernel, X)
            errors = values(made, X, X)[first, second] - own
            squares.append(float(np.mean(np.sum(errors**2, axis=(1, 2)))))
            largest.append(float(np.max(norms(errors))))
        rows.append(
            {
                "D": int(size),
                "rms": math.sqrt(np.mean(squares)),
                "exact": math.sqrt(exact / size),
                "ratio of squares": pair(
                    np.mean(squares) * size / exact, np.std(squares) / math.sqrt(draws) * size / exact, 2
                ),
                "largest": float(np.mean(largest)),
            }
        )
    return rows


def name_of(kind: str, bounded: bool) -> str:
    """Return what a kernel and its independent sampler are called in tables."""
    return kind if kind == "decomposable" else f"{kind}, {'bounded' if bounded else 'unbounded'}"


def slope(sizes, errors) -> float:
    """Return the slope in log–log."""
    return float(np.polyfit(np.log(sizes), np.log(errors), 1)[0])


def variances(kind: str, bounded: bool, draws: int, size: int = 10) -> list[dict]:
    """Figures 5.2 and 5.3: ‖D·Var K̃(δ)‖ exact, measured, and as stated in the thesis."""
    deltas = SIGMA * np.array(STEPS)[:, None] * np.eye(COLUMNS)[0]
    origin, kernel = np.zeros((1, COLUMNS)), kernel_of(kind)
    maps = (RandomFourier(size, "iid", bounded=bounded, random_state=seed) for seed in range(draws))
    found = np.array([values(one.bind(kernel, origin), deltas, origin)[:, 0] for one in maps])
    own = values(kernel, deltas, origin)[:, 0]
    error = np.maximum(np.std(found, axis=0) / math.sqrt(draws), 1e-12)
    squares = size * (found - own) @ (found - own)
    exact = exact_variance(kind, bounded, deltas)
    traces, total = (np.trace(array, axis1=-2, axis2=-1) for array in (squares, exact))
    spread, known = np.std(traces, axis=0) / math.sqrt(draws), np.where(total > 0, total, 1.0)
    ratios = [pair(one, two, 2) for one, two in zip(np.mean(traces, axis=0) / known, spread / known, strict=True)]
    printed = printed_bound(kind, deltas) if kind != "decomposable" and not bounded else [""] * len(deltas)
    stated = norms(stated_variance(kind, bounded, deltas))
    off = np.max(np.abs(np.mean(found, axis=0) - own) / error, axis=(1, 2))
    columns = (STEPS, norms(exact), norms(np.mean(squares, axis=0)), ratios, stated, printed, off)
    names = ("s", "exact", "measured", "ratio of traces", "Prop. 5.1", "printed bound", "mean off, σ")
    return [dict(zip(names, line, strict=True)) for line in zip(*columns, strict=True)]


def picture(found: dict[str, list[dict]]):
    """Draw errors against D."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(found), figsize=(3.2 * len(found), 3), layout="constrained", sharey=True)
    for ax, (name, rows) in zip(axes, found.items(), strict=True):
        sizes, errors, exact = ([row[key] for row in rows] for key in ("D", "rms", "exact"))
        ScalingDisplay(sizes, errors, expected=exact, name="D", quantity="error of the kernel").plot(ax)
        ax.set_title(name, fontsize="small")
    return figure


def main() -> None:
    """Run the three figures, print the tables, write figures and a picture."""
    given = options(__doc__.splitlines()[0])
    report = Report("features", given)
    rows = illustration(np.unique(np.logspace(0, 3 if given.quick else 4, 25).astype(int)))
    shown = rows[:: max(1, len(rows) // 6)]
    print(table("Figure 4.2: ‖K̃u − Ku‖/‖Ku‖", {"": ["D"], "measured and expected": list(rows[0])[1:]}, shown))
    report.add(figure_4_2=rows)
    sizes, draws = np.logspace(1, 2.5 if given.quick else 3.5, 4 if given.quick else 6), 8 if given.quick else 40
    found, lines = {}, []
    for kind, bounded, sampling in [(*case, "iid") for case in CASES] + [(kind, True, "auto") for kind in KINDS]:
        name = f"{kind}, default" if sampling == "auto" else name_of(kind, bounded)
        found[name] = convergence(kind, bounded, sampling, sizes.astype(int), draws)
        fall = slope([row["D"] for row in found[name]], [row["rms"] for row in found[name]])
        lines += [{"kernel": name, "slope": f"{fall:.3f}"} | row for row in (found[name][0], found[name][-1])]
        report.progress(f"convergence: {name}")
    columns = ["D", "rms", "exact", "ratio of squares", "largest"]
    print(table(f"\nFigure 5.1, {draws} draws: least and most D", {"": ["kernel", "slope"], "error": columns}, lines))
    lines = []
    for kind, bounded in CASES:
        name = name_of(kind, bounded)
        lines += [{"kernel": name} | row for row in variances(kind, bounded, 200 if given.quick else 3000)]
        report.progress(f"variances: {name}")
    groups = {
        "": ["kernel", "s"],
        "ours": ["exact", "measured", "ratio of traces", "mean off, σ"],
        "thesis": ["Prop. 5.1", "printed bound"],
    }
    print(table("\nFigures 5.2 and 5.3: ‖D·Var K̃(δ)‖ at ‖δ‖ = s·σ", groups, lines))
    report.add(figure_5_1=found, variances=lines)
    report.picture(picture({name: found[name] for name in list(found)[:5]}))
    report.write()


if __name__ == "__main__":
    main()
