"""Regions for every fraction of outliers."""

from __future__ import annotations

from mercer.cli.kinds.base import Kind, Predicted, Problem, inputs_of, weight_of
from mercer.estimators import LevelSetDetector

__all__ = ["Levels"]


class Levels(Kind):
    """What is usual: a score like a p-value, and a column for each fraction of outliers."""

    name = "levels"
    help = "regions that hold all but any fraction of the rows, from one fit; small scores are anomalies"
    example = "mercer fit levels machines.csv --drop serial --out machines.mercer"
    models = (LevelSetDetector,)
    options = ("levels",)

    def add_arguments(self, parser):
        """Nothing beyond what all kinds have: there is no target."""

    def pose(self, frame, options):
        model = LevelSetDetector(verbose=int(options.verbose))
        return Problem(model, inputs_of(frame, options, []), None, weight_of(frame, options), {})

    def predict(self, model, inputs, options, notes):
        found = {"score": model.score_samples(inputs)}
        if options.levels is not None:
            values = model.predict_at(inputs, options.levels)
            found |= {f"inside at {level:g}": values[:, j] >= 0 for j, level in enumerate(options.levels)}
        return Predicted(found)
