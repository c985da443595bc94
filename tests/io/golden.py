"""Files that stay as they are for ever: ``python -m tests.io.golden`` adds those that are missing, and changes none.

Each model has inputs and predictions beside it, as JSON. A new layout of files, or a new kind of model, gets new files.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd

import mercer
from mercer import (
    CostSensitiveClassifier,
    FunctionalRegressor,
    InputOutputKernelRegressor,
    KernelAutoencoder,
    KernelQuantileRegressor,
    LevelSetDetector,
    OneClassForest,
    VectorAutoRegressor,
    VectorFieldRegressor,
)
from mercer.kernels import Gaussian
from mercer.kernels.objects import Jaccard
from mercer.measures import Points

FOLDER = Path(__file__).parent / "golden"


def golden_models():
    """Yield a name, a small fit, the method that is called, new inputs by column, and further arguments."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"size": rng.normal(size=24).round(2), "town": rng.choice(["Oslo", "Rome", None], 24)})
    y = table["size"].to_numpy() + (table["town"] == "Rome") + 0.3 * rng.normal(size=24)
    new = {"size": [-1.0, 0.3, None], "town": ["Oslo", None, "Paris"]}
    yield "stages-1", KernelQuantileRegressor().fit(table, y), "predict_quantile", new, [[0.1, 0.5, 0.9]]
    joint = KernelQuantileRegressor(Gaussian(1.0), alpha=0.05, measure=Points([0.1, 0.5, 0.9])).fit(table, y)
    yield "joint-1", joint, "predict_quantile", new, [[0.3, 0.5]]
    labels = np.where(y > 0.5, "yes", "no")
    costs = CostSensitiveClassifier(alpha=0.05, measure=Points([0.3, 0.5, 0.7])).fit(table, labels)
    yield "costs-1", costs, "predict_proba", new, []
    curves = [(np.sort(rng.uniform(size=4)), rng.normal(size=4)) for _ in range(24)]
    scattered = FunctionalRegressor(alpha=0.01).fit(table, curves)
    yield "scattered-1", scattered, "predict_at", new, [[0.2, 0.8]]
    yield (
        "levels-1",
        LevelSetDetector(measure=Points([0.1, 0.5]), calibration=None).fit(table),
        "score_samples",
        new,
        [],
    )
    yield "forest-1", OneClassForest(5, random_state=0).fit(table), "score_samples", new, []
    sets = [{"small", "cold"} if value < 0 else {"large", town} for value, town in table.itertuples(index=False)]
    objects = InputOutputKernelRegressor(output_kernel=Jaccard(), alpha=0.01).fit(table, sets)
    yield "objects-1", objects, "score_candidates", new, []
    yield "codes-1", KernelAutoencoder(1, alpha=0.01).fit(table), "transform", new, []
    places = pd.DataFrame(rng.normal(size=(24, 2)).round(2), columns=["east", "north"])
    field = VectorFieldRegressor().fit(places, np.stack([-places["north"], places["east"]], 1))
    yield "field-1", field, "predict", {"east": [0.0, 1.0], "north": [0.5, -1.0]}, []
    past = {"east": [0.1, 0.2, 0.1], "north": [0.3, 0.0, 0.2]}
    yield "series-1", VectorAutoRegressor(order=1).fit(places.cumsum()), "predict", past, []


def main() -> None:
    """Write the files that are not there."""
    FOLDER.mkdir(exist_ok=True)
    for name, model, method, inputs, arguments in golden_models():
        path = FOLDER / f"{name}.mercer"
        if not path.exists():
            mercer.save(model, path)
            predicted = getattr(model, method)(pd.DataFrame(inputs), *arguments).tolist()
            values = {"method": method, "inputs": inputs, "arguments": arguments, "predicted": predicted}
            path.with_suffix(".json").write_text(json.dumps(values, indent=1) + "\n")


if __name__ == "__main__":
    main()
