"""Max-margin regression of objects as a support vector machine with one number for each."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.estimators.object_terms import parts_of
from mercer.estimators.sample import Sample
from mercer.linalg import PSD, Dense, Kronecker
from mercer.losses import OneClassHinge
from mercer.measures import Measure
from mercer.problems import DualProblem

__all__ = ["margin_problem"]


def margin_problem(sample: Sample, bound: Any, alpha: float) -> DualProblem:
    """Return the problem whose dual array is ω, (n, 1), where a_i = ω_i φ(y_i) is that of the vectors.

    ⟨h(x_i), φ(y_i)⟩ = (1/λn) Σ_j s_j ω_j k_X(x_i, x_j)k_Y(y_i, y_j): the problem of the hinge loss (1 − u)₊ with the
    product of both kernels, min_{0≤ω≤1} −Σ_i s_i ω_i + (1/2λn)(sω)ᵀ(K_X ∘ K_Y)(sω); of a sum of k_t·A_t, the sum of
    products with ⟨φ(y), A_tφ(z)⟩. Objective and gap are those of the problem of the vectors.
    """
    rows: Any = sample.outputs
    parts = parts_of(bound)
    product = sum(part.kernel.gram(sample.X).to_dense() * part.output_gram(rows.values) for part in parts)
    gram = Kronecker(Dense((product + product.T) / 2, PSD), Dense(np.ones((1, 1))))
    one = Measure(np.ones(1), np.ones(1))
    return DualProblem(gram, OneClassHinge(), np.ones((len(sample), 1)), one, alpha, sample.weight)
