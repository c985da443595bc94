"""The bound of what an eigenbasis leaves out: never below the truth, and small where the basis is good."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.kernels import Gaussian, Laplacian
from mercer.linalg import PSD, Dense, FlatGram, Kronecker
from mercer.losses import CostSensitiveHinge, Expectile, MoreauPinball, Pinball
from mercer.measures import Measure
from mercer.problems import DualProblem, left_out
from mercer.solvers import ADMM, SemismoothNewton, reduction


def random_case(seed):
    """A problem and a feasible dual array, near the optimum or not."""
    rng = np.random.default_rng([seed, 5])
    n, m = int(rng.integers(2, 40)), int(rng.choice([1, 2, 4]))
    X, theta = rng.normal(size=(n, 1)), np.sort(rng.uniform(0.05, 0.95, size=m))
    kernel = (Gaussian if rng.random() < 0.7 else Laplacian)(float(10 ** rng.uniform(-2, 1)))
    loss = (Pinball(), CostSensitiveHinge(), MoreauPinball(0.3))[rng.integers(3)]
    Y = rng.normal(size=(n, m)) * float(10 ** rng.uniform(-3, 3))
    Y = np.where(Y > 0, 1.0, -1.0) if isinstance(loss, CostSensitiveHinge) else Y
    if rng.random() < 0.2:
        Y[rng.random((n, m)) < 0.2] = np.nan
        Y[0] = 1.0
    left, right = kernel(X), Gaussian(3.0)(theta[:, None])
    matrix = np.einsum("ij,kl->ikjl", left, right).reshape(n * m, n * m)
    product = Kronecker(Dense(left, PSD), Dense(right, PSD))
    gram = product if rng.random() < 0.7 else FlatGram(Dense(matrix, PSD), (n, m))
    weight = None if rng.random() < 0.5 else rng.uniform(0.1, 3, size=n)
    measure, alpha = Measure(theta, rng.uniform(0.1, 1, size=m)), float(10 ** rng.uniform(-5, 0))
    problem = DualProblem(gram, loss, Y, measure, alpha, weight, bool(rng.random() < 0.5))
    spectral = problem.gram.spectral(float(10 ** rng.uniform(-6, 0)) * float(np.sum(problem.gram.diagonal())))
    A = rng.uniform(-1, 1, size=(n, m)) * rng.uniform(0, 2)
    if rng.random() < 0.3:
        A = ADMM(1e-2, max_iter=30).solve(problem).coef
    return problem, spectral, problem.feasible(A)


@pytest.mark.parametrize("block", range(8))
def test_the_reduced_gap_is_never_below_the_true_one(block):
    """Two thousand problems: the gap with the whole kernel, computed without any of its allowance for rounding."""
    for seed in range(250 * block, 250 * (block + 1)):
        problem, spectral, A = random_case(seed)
        reduced = problem.reduced_certificate(A, spectral)
        with_its_intercept = problem.certificate(A, problem.predict(A), reduced.intercept)
        assert reduced.gap >= with_its_intercept.gap, seed
        assert reduced.relative_gap >= with_its_intercept.relative_gap, seed
        assert abs(reduced.primal - with_its_intercept.primal) <= reduced.doubt, seed
        assert abs(reduced.dual - with_its_intercept.dual) <= reduced.doubt, seed


@pytest.mark.parametrize("seed", range(20))
def test_nothing_left_out_costs_nothing(seed):
    problem, _, A = random_case(seed)
    bound = left_out(problem, problem.gram.spectral(), A)
    exact = problem.certificate(A)
    assert bound.of_gap <= 1e-8 * max(abs(exact.primal), abs(exact.dual), exact.gap) + 1e-10 * problem.null_model[0]


def test_no_bound_without_a_box():
    problem, spectral, A = random_case(0)
    assert left_out(problem.with_loss(Expectile()), spectral, A) is None
    assert problem.with_loss(Expectile()).reduced_certificate(A, spectral) is None


def test_a_large_problem_is_certified_without_the_whole_kernel(monkeypatch):
    rng = np.random.default_rng(0)
    X, levels = rng.uniform(size=(2000, 1)), Measure(np.linspace(0.1, 0.9, 9), np.full(9, 1 / 9))
    gram = Kronecker(Gaussian(5.0).gram(X), Dense(Gaussian(3.0)(levels.points), PSD))
    Y = np.repeat(np.sin(6 * X) + rng.normal(size=(2000, 1)), 9, axis=1)
    problem = DualProblem(gram, Pinball(), Y, levels, 1e-4, None, True)
    assert problem.gram.costs.product > reduction.DEAR_PRODUCT
    with monkeypatch.context() as patch:
        patch.setattr(Kronecker, "apply", None)  # no product with the whole kernel is made
        result = SemismoothNewton(1e-4).solve(problem)
    assert result.converged
    exact = problem.certificate(result.coef, b=result.intercept)
    assert exact.relative_gap <= result.relative_gap
    assert result.objective == pytest.approx(exact.primal, rel=1e-5)
