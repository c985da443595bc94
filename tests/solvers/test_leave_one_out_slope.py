"""Slopes of the leave-one-out error against refits and finite differences."""

import numpy as np
import pytest

from mercer.kernels import Gaussian, Identity
from mercer.losses import Square
from mercer.measures import Measure
from mercer.operator_valued import Decomposable
from mercer.problems import DualProblem
from mercer.solvers import leave_one_out_errors, leave_one_out_slopes

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(15, 2)), RNG.normal(size=(15, 3))
WEIGHT = RNG.uniform(0.3, 2.0, 15)
WEIGHT /= WEIGHT.mean()
D = (X[:, None] - X) ** 2  # (n, n, columns)


def value(log_shift, log_gamma, centred):
    K = np.exp(-D @ np.exp(log_gamma))
    slopes = [-np.exp(one) * D[:, :, k] * K for k, one in enumerate(log_gamma)]
    return leave_one_out_slopes(K, slopes, Y, WEIGHT, np.exp(log_shift), centred)


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("log_shift", [-4.0, 1.0])
def test_error_and_slopes(centred, log_shift):
    log_gamma = np.array([0.1, -0.7])
    error, slopes = value(log_shift, log_gamma, centred)
    nodes = Measure(np.arange(3.0), np.ones(3))
    gram = Decomposable(Gaussian(np.exp(log_gamma)), Identity()).bind(nodes).gram(X)
    problem = DualProblem(gram, Square(), Y, nodes, 1.0, WEIGHT, centred)
    assert error == pytest.approx(leave_one_out_errors(problem, [np.exp(log_shift) / 15])[0], rel=1e-9)
    h = 1e-5
    points = np.concatenate([[log_shift], log_gamma])
    for k, slope in enumerate(slopes):
        up, down = (
            value((points + s * h * np.eye(3)[k])[0], (points + s * h * np.eye(3)[k])[1:], centred)[0] for s in (1, -1)
        )
        assert slope == pytest.approx((up - down) / (2 * h), rel=1e-5)
