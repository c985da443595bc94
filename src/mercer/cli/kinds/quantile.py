"""Every quantile of a number."""

from __future__ import annotations

import math
from typing import Any

from mercer.cli.kinds.base import Kind, Predicted, Problem, add_calibration, add_target, inputs_of, weight_of
from mercer.cli.tables import number_column, rows_with
from mercer.estimators import ConformalQuantileRegressor, KernelQuantileRegressor

__all__ = ["Quantile"]

#: levels that are predicted where none are asked for
LEVELS_SHOWN = (0.05, 0.5, 0.95)


class Quantile(Kind):
    """Quantiles: a column for each level, or the ends of an interval."""

    name = "quantile"
    help = "every quantile of a number, from one fit"
    example = "mercer fit quantile flats.csv --target rent --out rent.mercer --calibrate"
    models = (KernelQuantileRegressor, ConformalQuantileRegressor)
    options = ("levels", "coverage")

    def add_arguments(self, parser):
        add_target(parser, "the number to predict")
        add_calibration(parser, "quantiles and intervals")

    def pose(self, frame, options):
        frame = rows_with(frame, options.target, options.data)
        y = number_column(frame, options.target, options.data)
        model = KernelQuantileRegressor(verbose=int(options.verbose))
        if options.calibrate:
            model = ConformalQuantileRegressor(model, random_state=0)
        inputs = inputs_of(frame, options, [options.target])
        return Problem(model, inputs, y, weight_of(frame, options), {"target": [options.target]})

    def predict(self, model, inputs, options, notes):
        found = {}
        if options.levels is not None or options.coverage is None:
            levels = _levels_shown(model) if options.levels is None else options.levels
            values = model.predict_quantile(inputs, levels)
            found = {f"q{level:g}": values[:, j] for j, level in enumerate(levels)}
        if options.coverage is not None:
            ends = model.predict_interval(inputs, options.coverage)
            found |= {"lower": ends[:, 0], "upper": ends[:, 1]}
        return Predicted(found)


def _levels_shown(model: Any) -> tuple[float, ...]:
    """Return the levels that are predicted where none are asked for, or the nearest that few calibration rows allow."""
    low, middle, high = LEVELS_SHOWN
    n = getattr(model, "n_calibration_", None)
    least = 0.0 if n is None else math.ceil(100 / (n + 1)) / 100
    if least >= middle:
        return (middle,)
    return max(low, least), middle, min(high, round(1 - least, 2))
