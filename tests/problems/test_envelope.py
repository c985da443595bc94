"""The slope of the optimal value in the kernel, against finite differences, for losses of every kind."""

import numpy as np
import pytest

import mercer.losses
from mercer.kernels import Gaussian
from mercer.linalg import Dense, Kronecker
from mercer.losses import (
    LOSSES,
    EpsilonInsensitive,
    EpsilonRidge,
    ExponentialNorm,
    Huber,
    Loss,
    Norm,
    OneClassHinge,
    Power,
    VectorLoss,
    as_loss,
)
from mercer.measures import Measure
from mercer.problems import AddedRows, DualProblem, kernel_slope, level_set_problem
from mercer.solvers import select

RNG = np.random.default_rng(0)
X = RNG.normal(size=(9, 2))
MU = Measure(np.array([0.1, 0.5, 0.9]), np.array([0.3, 0.4, 0.3]))
K, T = Gaussian(0.5)(X), Gaussian(3.0)(MU.points)
Y = np.sign(RNG.normal(size=(9, 1))) * np.ones((1, 3))
WEIGHT = RNG.uniform(0.5, 2.0, size=9)
STEP = RNG.normal(size=(9, 9))
STEP = STEP @ STEP.T / 9
LOSS_OF = {name: as_loss(name) for name in LOSSES} | {
    "norm": Norm(),
    "power": Power(1.3, 0.8),
    "exponential": ExponentialNorm(1.5),
    "vectors": VectorLoss(Huber(0.3), 3),
    **{
        f"{kind.__name__} {geometry}": kind(0.3, geometry=geometry)
        for kind in (Huber, EpsilonRidge, EpsilonInsensitive)
        for geometry in ("pointwise", "componentwise")
    },
}


def solved(matrix, loss, intercept):
    gram = Kronecker(Dense(matrix), Dense(T))
    measure = Measure(MU.points, np.ones(3)) if isinstance(loss, VectorLoss) else MU  # three components of one point
    problem = DualProblem(gram, loss, Y, measure, 0.1, WEIGHT, intercept)
    return problem, select(problem, tol=1e-11).solve(problem)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", LOSS_OF)
def test_it_is_the_slope_of_the_optimal_value(name, intercept):
    loss = LOSS_OF[name]
    problem, result = solved(K, loss, intercept)
    slope = kernel_slope(problem, result.coef, Dense(T))
    ends = [solved(K + h * STEP, loss, intercept)[1].objective for h in (1e-4, -1e-4)]
    assert np.sum(slope * STEP) == pytest.approx((ends[0] - ends[1]) / 2e-4, rel=1e-4)
    assert np.allclose(slope, slope.T)


@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_it_is_that_of_level_sets(alpha):
    settings = {"alpha": alpha, "offset_gram": T, "coupling": 0.2, "output_gram": T}

    def values(matrix):
        problem = level_set_problem(Dense(matrix), MU, WEIGHT, **settings)
        return problem, select(problem, tol=1e-11).solve(problem)

    problem, result = values(K)
    assert isinstance(problem.loss, OneClassHinge)
    weights = MU.weights
    right = Dense(np.linalg.inv(np.diag(weights) + 0.2 * np.linalg.inv(T)))
    ends = [values(K + h * STEP)[1].objective for h in (1e-4, -1e-4)]
    slope = kernel_slope(problem, result.coef, right)
    assert np.sum(slope * STEP) == pytest.approx((ends[0] - ends[1]) / 2e-4, rel=1e-4)


def test_every_public_loss_is_here():
    public = [getattr(mercer.losses, name) for name in mercer.losses.__all__]
    kinds = {kind for kind in public if isinstance(kind, type) and issubclass(kind, Loss)}
    abstract = {Loss, mercer.losses.BoxLoss}
    assert kinds - abstract == {type(loss) for loss in LOSS_OF.values()} | {OneClassHinge}


def test_at_other_arrays_it_is_the_slope_of_the_dual_value():
    problem, _ = solved(K, Huber(0.3), False)
    A = problem.feasible(0.1 * RNG.normal(size=(9, 3)))

    def dual(h):
        moved = DualProblem(Kronecker(Dense(K + h * STEP), Dense(T)), Huber(0.3), Y, MU, 0.1, WEIGHT)
        certificate = moved.certificate(A)
        return certificate.dual

    numeric = (dual(1e-3) - dual(-1e-3)) / 2e-3
    assert np.sum(kernel_slope(problem, A, Dense(T)) * STEP) == pytest.approx(numeric, rel=1e-6)


@pytest.mark.parametrize("name", ["pinball", "huber", "hinge"])
def test_the_difference_of_values_is_between_two_losses_of_added_rows(name):
    """R'(h_ε) ≤ (V_ε − V_0)/ε ≤ R'(h_0), and the limit is the latter."""
    loss, added = as_loss(name), np.arange(9) >= 6

    def fit(rows, weight, alpha):
        gram = Kronecker(Dense(K[np.ix_(rows, rows)]), Dense(T))
        problem = DualProblem(gram, loss, Y[rows], MU, alpha, weight, True)
        result = select(problem, tol=1e-11).solve(problem)
        coef = problem.primal_coef(result.coef)
        H = K[np.ix_(added, rows)] @ coef @ T + result.intercept
        return result.objective, float(WEIGHT[added] @ loss.value(Y[added], H, MU) / WEIGHT[added].sum())

    value, held_out = fit(~added, WEIGHT[~added], 0.1)
    bounds = []
    for share in (0.3, 1e-3):
        rows = AddedRows(share)
        with_them, seen = fit(added | True, rows.weights(WEIGHT, added), rows.alpha(0.1))
        bounds.append(rows.difference(with_them, value))
        assert seen - 1e-6 <= bounds[-1] <= held_out + 1e-6
    assert bounds[0] < bounds[1]
    assert bounds[1] == pytest.approx(held_out, rel=1e-2)
