"""MNIST, 12 000 training and 10 000 test images, simplex coding (Brault, 2017, Figure 6.6): features beside the kernel.

    python reproduce/mnist.py --data DIR                # the kernel itself up to 4 000 images
    python reproduce/mnist.py --data DIR --exact 12000  # and for all of them, which takes several minutes more
    python reproduce/mnist.py --data DIR --quick        # up to 1 000 images, 2 000 test images

Left of the figure: CPU time of training against N, with D = 1 000 frequencies; right: test error against D for
N = 1 000. The thesis prints no numbers. Pixels in [−1, 1], a Gaussian kernel with σ = 20 (printed without the square),
the operator Γ = I on codes; λ is chosen by leave-one-out in closed form, where the thesis has two folds and an
iterative solver, so that times contain all of tuning. Chosen by us: the images (the first N), landmarks, and the fits
of all images. D frequencies are 2·D features, cosines and sines.

"RandomFourier" and "Nystroem" are ``approximation=``, for which λ is that of the least leave-one-out error of the
features, from all images. "λ of the kernel" is the same with the λ that the kernel itself has, on 2 000 images at most.
"""

from __future__ import annotations

import time

import numpy as np
from report import Report, data_file, options, table

from mercer import SimplexClassifier
from mercer.features import Nystroem, RandomFourier
from mercer.kernels import Gaussian
from mercer.plotting import ScalingDisplay

KERNEL = Gaussian(1 / (2 * 20.0**2))
#: frequencies and landmarks of the first figure
FREQUENCIES = 1000


def read(folder, n_test: int) -> tuple[np.ndarray, ...]:
    """Return images as rows in [−1, 1], and digits."""
    contents = "X_train (12000, 28, 28), y_train, X_test (10000, 28, 28), y_test: the first images of MNIST, uint8."
    with np.load(data_file(folder, "mnist_12k_10k.npz", contents)) as data:
        X, Z = (data[name].reshape(len(data[name]), -1) / 127.5 - 1 for name in ("X_train", "X_test"))
        return X, data["y_train"], Z[:n_test], data["y_test"][:n_test]


def alpha_of_kernel(data: tuple[np.ndarray, ...], size: int) -> float:
    """Return λ that the kernel itself chooses, from 2 000 of the first images at most."""
    rows = np.unique(np.linspace(0, size - 1, min(size, 2000)).round().astype(int))
    return SimplexClassifier(KERNEL, approximation=None).fit(data[0][rows], data[1][rows]).regressor_.alpha_


def one_fit(approximation, data: tuple[np.ndarray, ...], size: int, alpha: float | str = "auto") -> dict:
    """Fit the first images; return CPU seconds of training and of a thousand predictions, error, λ and gap."""
    X, y, X_test, y_test = data
    start = time.process_time()
    model = SimplexClassifier(KERNEL, alpha=alpha, approximation=approximation).fit(X[:size], y[:size])
    fitted = time.process_time()
    wrong = float(np.mean(model.predict(X_test) != y_test))
    row = {"N": size, "error %": round(100 * wrong, 2), "seconds": round(fitted - start, 2)}
    row["predict, ms"] = round(1e6 * (time.process_time() - fitted) / len(X_test), 0)
    found = model.regressor_
    row |= {"λN": found.alpha_ * size, "gap": found.relative_gap_}
    if found.approximation_ is not None:
        row["kernel error"] = found.approximation_.kernel_error
    return row


def families(n_frequencies: int) -> dict:
    """Return the kernel itself, D frequencies and D landmarks."""
    return {
        "kernel": None,
        "RandomFourier": RandomFourier(n_frequencies, random_state=0),
        "Nystroem": Nystroem(n_frequencies, random_state=0),
    }


def times(data, sizes, exact: int, report: Report) -> list[dict]:
    """Time and error against N, D frequencies or landmarks."""
    rows = []
    for size in sizes:
        for name, approximation in families(FREQUENCIES).items():
            if (name == "kernel" and size > exact) or (name == "Nystroem" and size < FREQUENCIES):
                continue
            rows.append({"model": name} | one_fit(approximation, data, size))
            report.progress(f"N = {size}, {name}")
    return rows


def errors(data, size: int, counts, report: Report) -> list[dict]:
    """Error against D, of frequencies and of landmarks, for N images."""
    rows, alpha = [], alpha_of_kernel(data, size)
    for count in counts:
        for name, approximation in families(count).items():
            if name == "kernel" or (name == "Nystroem" and count > size):
                continue
            rows.append({"model": name, "D": count} | one_fit(approximation, data, size))
            given = one_fit(approximation, data, size, alpha)
            rows.append({"model": f"{name}, λ of the kernel", "D": count} | given)
        report.progress(f"D = {count}, N = {size}")
    return rows


def picture(timed: list[dict], wrong: list[dict]):
    """Draw time against N and error against D."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    for ax, rows, size, value in ((left, timed, "N", "seconds"), (right, wrong, "D", "error %")):
        for place, name in enumerate(dict.fromkeys(row["model"] for row in rows)):
            points = [(row[size], row[value]) for row in rows if row["model"] == name]
            display = ScalingDisplay(*zip(*points, strict=True), name=size, quantity=value).plot(ax)
            display.line_.set(
                label=f"{name}, slope {display.slope_:.2f}" if len(points) > 1 else name, color=f"C{place}"
            )
            for label in display.labels_:
                label.remove()
        ax.legend(frameon=False, fontsize="small")
    return figure


def main() -> None:
    """Fit, time and count errors."""
    given = options(
        __doc__.splitlines()[0],
        exact={"type": int, "help": "images up to which the kernel itself is fitted (default: 4000)"},
    )
    data = read(given.data, 2000 if given.quick else 10_000)
    report = Report("mnist", given)
    sizes = (250, 500, 1000) if given.quick else (500, 1000, 2000, 4000, 12_000)
    timed = times(data, sizes, given.exact or 4000, report)
    groups = {"": ["model", "N"], "CPU time": ["seconds", "predict, ms"], "test": ["error %"]}
    groups["fit"] = ["λN", "gap", "kernel error"]
    print(table(f"Time against N, D = {FREQUENCIES} (predict: 1 000 images)", groups, timed))
    counts = (30, 100, 300) if given.quick else (30, 100, 300, 1000, 2000)
    few = errors(data, 1000, counts, report)
    groups[""] = ["model", "N", "D"]
    print(table("\nError against D", groups, few))
    report.add(time=timed, error=few)
    if not given.quick:
        many = errors(data, len(data[0]), (100, 300, 1000), report)
        print(table("\nAll images", groups, many))
        report.add(all_images=many)
    report.picture(picture(timed, few))
    report.write()


if __name__ == "__main__":
    main()
