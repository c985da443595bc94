"""Slopes in the parameters of kernels, against differences of the kernel matrix itself."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from mercer.features import RandomFourier
from mercer.kernels import (
    Constant,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    Projected,
    RationalQuadratic,
    parameter_slopes,
    pull_back,
)
from mercer.operator_valued import Indexed

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 3))
SLOPE = RNG.normal(size=(12, 12))
SLOPE = SLOPE + SLOPE.T

KERNELS = [
    Gaussian(0.5),
    Gaussian([0.5, 1.0, 0.2]),
    Matern(1.5, [1.0, 2.0, 3.0]),
    Matern(2.5, 2.0),
    Matern(0.5, [1.0, 2.0, 3.0]),
    RationalQuadratic(1.5, [1.0, 2.0, 3.0]),
    Laplacian(0.4),
    Periodic(2.0, 1.5),
    2.0 * Gaussian(1.0) + 3.0 * Linear(),
    Gaussian(0.3) * Matern(2.5, 1.0) + Constant(2.0),
    Gaussian([0.3, 0.4]).restrict([0, 2]) + Polynomial(3, 0.5, 1.0),
    Projected(Gaussian(0.4), RNG.normal(size=(3, 2))),
    RandomFourier(5, random_state=0).bind(Gaussian(0.5), X),
    RandomFourier(5, random_state=0).bind(Gaussian(0.5).restrict([2, 0]), X),
]


def moved(kernel, name, values):
    return kernel.replace(**{name: values if values.ndim else float(values)})


def numeric(kernel, name, points=X, slope=SLOPE, step=1e-5):
    values = np.asarray(kernel.get_params()[name], dtype=float)
    found = np.empty(values.shape)
    for place in np.ndindex(values.shape):
        shift = np.zeros(values.shape)
        shift[place] = step
        ends = [np.sum(slope * moved(kernel, name, values + sign * shift)(points, points)) for sign in (1, -1)]
        found[place] = (ends[0] - ends[1]) / (2 * step)
    return found


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: repr(kernel)[:60])
def test_they_are_those_of_the_matrix(kernel):
    found = parameter_slopes(kernel, X, SLOPE)
    assert found
    for name, value in found.items():
        expected = numeric(kernel, name)
        assert value.shape == expected.shape
        np.testing.assert_allclose(value, expected, atol=1e-6 * np.max(np.abs(expected)), rtol=1e-6, err_msg=name)


def test_every_number_has_one():
    kernel = 2.0 * Gaussian([0.5, 1.0, 0.2]) + Matern(2.5, 1.0) * Constant(3.0)
    assert set(parameter_slopes(kernel, X, SLOPE)) == {
        "left__scale",
        "left__kernel__gamma",
        "right__left__length_scale",
        "right__right__value",
    }


def test_an_output_matrix_has_independent_entries():
    points = np.array([[0.0], [2.0], [0.0], [1.0]])
    slope = np.arange(16.0).reshape(4, 4)
    slope = slope + slope.T
    found = parameter_slopes(Indexed(np.eye(3)), points, slope)["output_matrix"]
    assert found[0, 0] == slope[np.ix_([0, 2], [0, 2])].sum()
    assert found[1, 2] == slope[3, 1]


def test_ignored_columns_have_a_slope_and_infinite_lengths_none():
    found = parameter_slopes(Gaussian([0.5, 0.0, 0.2]), X, SLOPE)["gamma"]
    step = 1e-6
    ahead = np.sum(SLOPE * (Gaussian([0.5, step, 0.2])(X) - Gaussian([0.5, 0.0, 0.2])(X))) / step
    assert found[1] == pytest.approx(ahead, rel=1e-4)
    for nu in (0.5, 1.5):
        assert parameter_slopes(Matern(nu, [1.0, np.inf, 2.0]), X, SLOPE)["length_scale"][1] == 0


def test_a_kernel_of_ones_own_has_differences_or_its_formula():
    @dataclass(eq=False, repr=False)
    class Powers(Kernel):
        inner: Any
        power: float = 2.0

        def _evaluate(self, X, Z):
            return self.inner._evaluate(X, Z) ** self.power

    kernel = Powers(Gaussian(0.5))
    found = parameter_slopes(kernel, X, SLOPE)
    assert set(found) == {"inner__gamma", "power"}
    assert found["inner__gamma"] == pytest.approx(numeric(kernel, "inner__gamma"), rel=1e-6)

    @parameter_slopes.register
    def _(kernel: Powers, X, slope):
        return {"power": np.asarray(7.0)}

    assert parameter_slopes(2.0 * kernel, X, SLOPE)["kernel__power"] == 7


@pytest.mark.parametrize("kernel", [Gaussian([0.5, 1.0, 0.2]), Matern(1.5, 1.0), Linear() + 2.0 * Gaussian(0.3)])
def test_points_pull_back(kernel):
    found, step = pull_back(kernel, X, SLOPE), 1e-6
    for place in ((0, 0), (3, 2)):
        ends = []
        for sign in (1, -1):
            points = X.copy()
            points[place] += sign * step
            ends.append(np.sum(SLOPE * kernel(points, points)))
        assert found[place] == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-6)
