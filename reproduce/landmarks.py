"""Figures 6.5 and 6.6 of Lambert (2021), on substitutes: the rank of the output matrix, and missing data, for faces.

    python reproduce/landmarks.py --data DIR            # synthetic faces and recorded ones
    python reproduce/landmarks.py --data DIR --quick    # one split
    python reproduce/landmarks.py --synthetic           # without the recorded faces

The paper learns to transfer emotions on KDEF and RaFD, faces that may not be passed on. *These are other data*: what
happens can be compared, the errors cannot. (6.5) With A a projector on r principal components of the outputs, r = 20 of
136 is as good as the identity. (6.6) The error grows slowly as fewer of the (person, emotion) pairs are observed. (The
axis of Figure 6.6 says missing, but is the observed share.)

1. Synthetic faces of ``make_faces``: 140 persons, seven emotions as points of the valence-arousal plane, 68 landmarks.
   The input is the neutral face, the output the face with every emotion: a function of two variables with values in
   R^136.
2. Recorded faces, the UCI data "Grammatical Facial Expressions" (two persons signing sentences, 68 of their 100
   landmarks, every fourth frame). A sample is a stretch of frames in which an expression is on; the input is the mean
   of the frames before it in which the expression is off, with the kind of expression, the output the face as a
   function of the phase θ ∈ [0, 1] of the stretch, at five phases, with values in R^136. "input" takes the face before
   as the prediction. Both persons are in training and test data: this says nothing of new persons.

Faces are aligned by the eyes in a unit square. Splits 90/10 of the samples; error: mean squared error of a coordinate,
times 10⁴. Gaussian kernels; λ and the scale of k_Θ by leave-one-out (``FunctionalRegressor``) for the identity and all
data, once for each split, then kept. A mean face is fitted too; components are those of centred outputs. All of this is
ours; the paper tuned by cross-validation and has no mean face.
"""

from __future__ import annotations

from itertools import pairwise

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from report import Report, data_file, options, table
from sklearn.model_selection import train_test_split

from mercer import FunctionalRegressor
from mercer.datasets import align_landmarks, drop_observations, make_faces
from mercer.kernels import Gaussian
from mercer.operator_valued import leading_components

RANKS = (1, 2, 5, 10, 20, 50, 136)
FRACTIONS = (1.0, 0.8, 0.6, 0.4, 0.2)
PHASES = np.linspace(0, 1, 5)
EYES = (range(8), range(8, 16))
N_LANDMARKS = 68
#: errors of coordinates of faces in a unit square are small
UNIT = 1e4


def stretches(target: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return (frames before, frames on) for each stretch of ones that follows zeros."""
    edges = np.flatnonzero(np.diff(target)) + 1
    parts = np.split(np.arange(len(target)), edges)
    return [(before, on) for before, on in pairwise(parts) if target[on[0]] == 1]


def on_phases(faces: np.ndarray) -> np.ndarray:
    """Return frames (k, d) at the five phases, by straight lines in between: (5, d)."""
    at = np.linspace(0, 1, len(faces)) if len(faces) > 1 else np.zeros(1)
    return np.stack([np.interp(PHASES, at, column) for column in faces.T], axis=1)


def read_recorded(folder) -> tuple[np.ndarray, np.ndarray]:
    """Return faces before an expression with its kind, (n, 136 + 9), and faces at its phases, (n, 5, 136)."""
    contents = "landmarks (k, 100, 2), user, expression, target (0 or 1), frame: UCI, Grammatical Facial Expressions."
    with np.load(data_file(folder, "gfe_landmarks.npz", contents)) as data:
        faces = align_landmarks(data["landmarks"], EYES)[:, :N_LANDMARKS].reshape(len(data["target"]), -1)
        user, expression, target, frame = (data[name] for name in ("user", "expression", "target", "frame"))
    kinds, X, Y = np.unique(expression), [], []
    for person in np.unique(user):
        for k, kind in enumerate(kinds):
            rows = np.flatnonzero((user == person) & (expression == kind))
            rows = rows[np.argsort(frame[rows])]
            for before, on in stretches(target[rows]) if len(rows) else []:
                X.append(np.concatenate([faces[rows[before]].mean(axis=0), np.eye(len(kinds))[k]]))
                Y.append(on_phases(faces[rows[on]]))
    return np.array(X), np.array(Y)


def regressor(grid, kernel) -> FunctionalRegressor:
    """Return the model before λ and the output kernel are chosen."""
    return FunctionalRegressor(kernel, grid=grid, tol=1e-3)


def one_split(X, Y, grid, kernel, seed: int) -> dict:
    """Return test errors by rank and by observed share, and those of the mean face and of the input."""
    X, X_test, Y, Y_test = train_test_split(X, Y, test_size=0.1, random_state=seed)

    def error(predicted) -> float:
        return UNIT * float(np.mean((Y_test - predicted) ** 2))

    model = regressor(grid, kernel).fit(X, Y)
    model.set_params(kernel=model.kernel_, output_kernel=model.output_kernel_, alpha=model.alpha_)
    found = {
        "alpha": model.alpha_,
        "identity": error(model.predict(X_test)),
        "mean face": error(Y.mean(axis=0)),
        "input": error(X_test[:, None, : 2 * N_LANDMARKS]),
    }
    centred = Y - Y.mean(axis=0)
    for rank in RANKS:
        model.set_params(output_matrix=leading_components(centred, rank)).fit(X, Y)
        found[f"rank {rank}"] = error(model.predict(X_test))
    for fraction in FRACTIONS:
        masked = drop_observations(Y, "random", 1 - fraction, random_state=seed) if fraction < 1 else Y
        components = leading_components(masked - np.nanmean(masked, axis=0), 20)  # of the observed faces
        model.set_params(output_matrix=components).fit(X, masked)
        found[f"observed {fraction:g}"] = error(model.predict(X_test))
    return found


def row(name: str, splits: list[dict], columns: list[str]) -> dict:
    """Return a line of the table: means over splits."""
    line = {"faces": name, "n": ""}
    return line | {column: f"{np.mean([split[column] for split in splits]):.3f}" for column in columns}


def draw(results: dict[str, list[dict]]) -> plt.Figure:
    """Return the error against the rank and against the observed share, a row for each dataset."""
    figure, axes = plt.subplots(len(results), 2, figsize=(9, 3.4 * len(results)), layout="constrained", squeeze=False)
    for (name, splits), panels in zip(results.items(), axes, strict=True):
        for ax, start, values in zip(panels, ("rank ", "observed "), (RANKS, FRACTIONS), strict=True):
            errors = np.array([[split[f"{start}{value:g}"] for value in values] for split in splits])
            spread = errors.std(axis=0, ddof=1) if len(errors) > 1 else None
            ax.errorbar(values, errors.mean(axis=0), spread, marker="o")
            ax.axhline(np.mean([split["mean face"] for split in splits]), color="grey", linestyle="--", linewidth=0.8)
            ax.set(yscale="log", title=name, ylabel="mean squared error, 10⁻⁴")
        panels[0].set(xscale="log", xlabel="rank of A (dashed: mean face)")
        panels[1].set(xlabel="observed share of (sample, θ), rank 20")
    return figure


def main() -> None:
    """Run both datasets."""
    given = options(
        __doc__.splitlines()[0],
        splits={"type": int, "help": "number of splits (default: 10, or 1 with --quick)"},
        synthetic={"action": "store_true", "help": "leave out the recorded faces"},
    )
    recorded = None if given.synthetic else read_recorded(given.data)
    report = Report("landmarks", given)
    n_splits = max(1, given.splits or (1 if given.quick else 10))
    made = make_faces(140, random_state=0)
    face, kind = range(2 * N_LANDMARKS), range(2 * N_LANDMARKS, 2 * N_LANDMARKS + 9)
    tasks = {"synthetic": (made.X, made.Y, made.emotions, Gaussian())}
    if recorded is not None:
        tasks["recorded"] = (*recorded, PHASES, Gaussian().restrict(face) * Gaussian(0.5).restrict(kind))
    results = {}
    for name, task in tasks.items():
        results[name] = []
        for seed in range(n_splits):
            results[name].append(one_split(*task, seed))
            report.progress(f"{name}, split {seed + 1}")
    baselines = ["mean face", "input"]
    ranks, shares = [f"rank {rank}" for rank in RANKS], [f"observed {fraction:g}" for fraction in FRACTIONS]
    for title, columns in (("6.5, rank of A", ranks), ("6.6, observed share, rank 20", shares)):
        rows = [row(name, splits, [*baselines, *columns]) for name, splits in results.items()]
        for line, (X, *_) in zip(rows, tasks.values(), strict=True):
            line["n"] = str(len(X))
        text = f"Figure {title}: mean squared error of a coordinate, 10⁻⁴, {n_splits} splits (substitute data)"
        print(table(text, {"": ["faces", "n"], "no model": baselines, "mercer": columns}, rows) + "\n")
    print("paper, other data: rank 20 of 136 keeps the error; it grows slowly as less is observed.")
    report.add(results=results)
    report.picture(draw(results))
    report.write()


if __name__ == "__main__":
    main()
