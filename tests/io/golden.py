"""Files that stay as they are for ever: ``python -m tests.io.golden`` adds those that are missing, and changes none.

Each model has inputs and predictions beside it, as JSON. A new layout of files, or a new kind of model, gets new files.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd

import mercer
from mercer import CostSensitiveClassifier, FunctionalRegressor, KernelQuantileRegressor
from mercer.kernels import Gaussian
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
