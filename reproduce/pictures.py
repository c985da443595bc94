"""Pictures of data in the papers: Figures 4.3, 4.4 and 4.5 of Lambert (2021), 3.2 and 3.3 of Brault (2017).

    python reproduce/pictures.py --data DIR    # with the lip data
    python reproduce/pictures.py --synthetic   # without
    python reproduce/pictures.py --quick       # with fewer curves

EMG and acceleration of the lip (4.3), 50 synthetic curves (4.4) and 15 with global outliers among them (4.5), and
fields without curl (3.2) and without sources (3.3): draws of Gaussian processes whose kernels are curl-free and
divergence-free. Seeds, and the lengths of the fields, are ours.
"""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from report import Report, data_file, options

from mercer.datasets import contaminate_curves, make_curves
from mercer.kernels import Gaussian
from mercer.operator_valued import CurlFree, DivergenceFree, MatrixValuedKernel

#: points along a side of a field, and its length
SIDE, LENGTH = 18, 0.4


def drawn_field(kernel: MatrixValuedKernel, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points of a grid in the square [−1, 1]² and vectors there, a draw of the process with this kernel."""
    at = np.linspace(-1, 1, SIDE)
    points = np.stack(np.meshgrid(at, at), axis=-1).reshape(-1, 2)
    blocks = np.asarray(kernel.blocks(points, points))
    matrix = blocks.transpose(0, 2, 1, 3).reshape(2 * len(points), -1)
    values, vectors = np.linalg.eigh(matrix)
    normal = np.random.default_rng(seed).normal(size=len(values))
    return points, (vectors @ (np.sqrt(np.maximum(values, 0)) * normal)).reshape(-1, 2)


def lines(ax: plt.Axes, grid: np.ndarray, curves: np.ndarray, title: str, odd: np.ndarray | None = None) -> None:
    """Draw curves, those that are marked in another colour."""
    odd = np.zeros(len(curves), dtype=bool) if odd is None else odd
    ax.plot(grid, curves[~odd].T, color="tab:blue", linewidth=0.7)
    ax.plot(grid, curves[odd].T, color="tab:orange", linewidth=1.2)
    ax.set(title=title, xlabel="θ")


def main() -> None:
    """Draw the pictures that the data allow."""
    given = options(__doc__.splitlines()[0], synthetic={"action": "store_true", "help": "without the lip data"})
    report = Report("pictures", given)
    figure, axes = plt.subplots(3, 2, figsize=(9, 10), layout="constrained")
    if given.synthetic:
        axes[0, 0].axis("off")
        axes[0, 1].axis("off")
    else:
        contents = "X_emg (32, 641), Y_lipacc (32, 641), t (641,): the lip and EMG data of Ramsay and Silverman."
        with np.load(data_file(given.data, "lipemg.npz", contents)) as data:
            lines(axes[0, 0], data["t"], data["X_emg"], "4.3, EMG")
            lines(axes[0, 1], data["t"], data["Y_lipacc"], "4.3, acceleration of the lip")
    made = make_curves(20 if given.quick else 50, random_state=0)
    lines(axes[1, 0], made.grid, made.Y, f"4.4, {len(made.Y)} curves")
    touched, odd = contaminate_curves(made.Y[:15], "foreign", 0.2, 4.0, random_state=0)
    lines(axes[1, 1], made.grid, touched, "4.5, 15 curves, outliers among them", odd)
    kinds = {"3.2, without curl": CurlFree, "3.3, without sources": DivergenceFree}
    for ax, (title, kind) in zip(axes[2], kinds.items(), strict=True):
        points, vectors = drawn_field(kind(Gaussian(1 / (2 * LENGTH**2))), seed=0)
        ax.quiver(*points.T, *vectors.T)
        ax.set(title=title, aspect="equal")
    report.picture(figure)
    report.write()


if __name__ == "__main__":
    main()
