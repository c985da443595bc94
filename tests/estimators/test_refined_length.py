"""Lengths of default kernels between those of the grid."""

import numpy as np
import pytest

from mercer import VectorValuedRegressor
from mercer.kernels import Gaussian, Identity
from mercer.losses import Square
from mercer.measures import Measure
from mercer.operator_valued import Decomposable
from mercer.problems import DualProblem
from mercer.solvers import leave_one_out_errors


def rough(seed, n=120):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n + 300, 2))
    Y = np.sin(12 * X @ rng.normal(size=(2, 4))) + 0.2 * rng.normal(size=(n + 300, 4))
    return X[:n], Y[:n], X[n:], Y[n:]


def left_out(model, X, Y):
    nodes = Measure(np.arange(4.0), np.ones(4))
    bound = Decomposable(model.kernel_, Identity()).bind(nodes)
    problem = DualProblem(bound.gram(X), Square(), Y, nodes, 1.0, None, True)
    return leave_one_out_errors(problem, [model.alpha_])[0]


class OfTheGrid(VectorValuedRegressor):
    def _refined(self, sample, chosen, alpha, loss):
        return chosen


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_lengths_beyond_the_grid_are_found(seed):
    X, Y, X_new, Y_new = rough(seed)
    plain, model = OfTheGrid().fit(X, Y), VectorValuedRegressor().fit(X, Y)
    assert left_out(model, X, Y) < (1 - 2 / 120) * left_out(plain, X, Y)
    assert model.score(X_new, Y_new) > plain.score(X_new, Y_new) - 0.001
    assert seed == 0 or model.score(X_new, Y_new) > plain.score(X_new, Y_new) + 0.1
    near = [
        left_out(VectorValuedRegressor(Gaussian(model.kernel_.gamma * g), alpha=model.alpha_ * a).fit(X, Y), X, Y)
        for g, a in ((1.1, 1), (1 / 1.1, 1), (1, 1.2), (1, 1 / 1.2))
    ]
    assert left_out(model, X, Y) <= min(near) * (1 + 1e-5)


def test_what_was_given_stays():
    X, Y, *_ = rough(0)
    assert VectorValuedRegressor(Gaussian(3.0)).fit(X, Y).kernel_ == Gaussian(3.0)
    fixed, grid = VectorValuedRegressor(alpha=1e-3).fit(X, Y), OfTheGrid(alpha=1e-3).fit(X, Y)
    assert fixed.alpha_ == 1e-3
    ratio = fixed.kernel_.gamma / grid.kernel_.gamma
    assert ratio[0] == pytest.approx(ratio[1])
    assert ratio[0] > 1.2
    assert left_out(fixed, X, Y) < left_out(grid, X, Y)
