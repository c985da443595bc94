"""Smoothness as outliers allow: they are tamed by a first robust fit before anything is chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mercer.backend import as_like
from mercer.estimators.sample import Sample
from mercer.estimators.smoothness import Smoothness, ridge_residuals
from mercer.linalg import Gram
from mercer.losses import Huber, Square
from mercer.solvers import ClosedForm, Plan, plan

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
    gram: Gram | None = None  # of the sample, with what was computed of it; as long as the choice stays, so does it
    for _ in range(TAMINGS):
        residuals, kappa, gram = _robust_fit(sample, tame, chosen, geometry, gram)
        if geometry != "norm":
            beyond = residuals - sample.outputs.shortened(residuals, kappa, geometry)
            values = sample.outputs.values - as_like(np.nan_to_num(beyond), sample.X)
            tame = replace(sample, outputs=sample.outputs.with_values(values))
        else:
            sizes = sample.outputs.norms(residuals)
            trust = np.maximum((kappa / np.maximum(sizes, kappa)) ** 2, np.finfo(float).eps)
            weight = as_like(trust, sample.X)
            tame = replace(sample, weight=weight if sample.weight is None else sample.weight * weight)
        before, chosen = chosen, choose(tame)
        gram = gram if chosen == before else None
    return chosen, tame


def _robust_fit(
    sample: Sample, tame: Sample, chosen: Smoothness, geometry: str, gram: Gram | None
) -> tuple[np.ndarray, float, Gram]:
    """Return the residuals of a Huber regression with the κ of the tamed sample, κ in proportion to them, and 𝐊."""
    huber = Huber(geometry=geometry)
    bound = sample.bind(chosen.kernel, chosen.output_kernel, huber)
    ridge = sample.pose(bound, Square(), chosen.alpha)
    ridge = ridge if gram is None else ridge.with_gram(gram)
    shared = None
    if tame.weight is sample.weight:  # then the tamed sample has the same 𝐊
        ridge = ClosedForm().prepare(ridge)
        shared = ridge.gram
    loss = huber.for_residuals(tame.typical_size(ridge_residuals(tame, chosen, huber, shared), geometry))
    solver, problem = plan("auto", sample.pose(bound, loss, chosen.alpha).with_gram(ridge.gram), ROUGH_TOL)
    problem = solver.prepare(problem)
    result = Plan(solver, problem).solve()
    residuals = sample.outputs.residuals(sample.predictor(bound, problem, result), sample.X)
    kappa = huber.for_residuals(sample.typical_size(residuals, geometry)).kappa
    return residuals, kappa, problem.gram
