"""Smoothness as outliers allow: they are tamed by a first robust fit before anything is chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mercer.backend import as_like
from mercer.estimators.sample import Sample
from mercer.estimators.smoothness import Smoothness, ridge_residuals
from mercer.losses import Huber
from mercer.solvers import plan

__all__ = ["without_outliers"]

#: how often data are tamed and smoothness chosen anew; the first times decide
TAMINGS = 3
#: relative gap of the robust fits
ROUGH_TOL = 1e-2


def without_outliers(
    sample: Sample, choose: Callable[[Sample], Smoothness], geometry: str
) -> tuple[Smoothness, Sample]:
    """Choose the smoothness as outliers allow: chosen by ridge regression alone it would follow them.

    In turn, the smoothness is chosen, a Huber regression is fitted with it, and the data that the next choice looks at
    are tamed: curves whose residual r is beyond κ get the weight (κ/‖r‖)², with which they count no more than others in
    squared errors; or, where the ``geometry`` is not "norm", values whose residual is beyond κ are moved to the
    distance κ of the fit. Returns the choice and the tamed sample.
    """
    chosen, tame = choose(sample), sample
    for _ in range(TAMINGS):
        residuals, kappa = _robust_fit(sample, tame, chosen, geometry)
        if geometry != "norm":
            beyond = residuals - sample.outputs.shortened(residuals, kappa, geometry)
            values = sample.outputs.values - as_like(np.nan_to_num(beyond), sample.X)
            tame = replace(sample, outputs=sample.outputs.with_values(values))
        else:
            sizes = sample.outputs.norms(residuals)
            trust = np.maximum((kappa / np.maximum(sizes, kappa)) ** 2, np.finfo(float).eps)
            weight = as_like(trust, sample.X)
            tame = replace(sample, weight=weight if sample.weight is None else sample.weight * weight)
        chosen = choose(tame)
    return chosen, tame


def _robust_fit(sample: Sample, tame: Sample, chosen: Smoothness, geometry: str) -> tuple[np.ndarray, float]:
    """Return the residuals of a Huber regression with the κ of the tamed sample, and κ in proportion to them."""
    huber = Huber(geometry=geometry)
    loss = huber.for_residuals(tame.typical_size(ridge_residuals(tame, chosen, huber), geometry))
    bound = sample.bind(chosen.kernel, chosen.output_kernel, loss)
    problem = sample.pose(bound, loss, chosen.alpha)
    result = plan("auto", problem, ROUGH_TOL).solve()
    residuals = sample.outputs.residuals(sample.predictor(bound, problem, result), sample.X)
    return residuals, huber.for_residuals(sample.typical_size(residuals, geometry)).kappa
