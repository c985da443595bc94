"""Slopes of the certified value of fitted models, for every loss and every kind of parameter."""

import numpy as np
import pytest
from sklearn.base import clone

from mercer import CostSensitiveClassifier, FunctionalRegressor, KernelQuantileRegressor, VectorValuedRegressor
from mercer.estimators import value_slopes
from mercer.exceptions import UnsupportedError
from mercer.features import Nystroem, RandomFourier
from mercer.kernels import Gaussian, Linear, Matern, Polynomial, Projected, RationalQuadratic
from mercer.losses import LOSSES, Huber, as_loss
from mercer.measures import Points
from mercer.operator_valued import Decomposable

RNG = np.random.default_rng(0)
N = 24
X = RNG.uniform(size=(N, 2))
y = np.sin(6 * X[:, 0]) + 0.3 * RNG.normal(size=N)
Y = np.stack([y, y + X[:, 1], RNG.normal(size=N)], axis=1)
GAMMA = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 1.0]])
WEIGHT = RNG.uniform(0.5, 2.0, size=N)
NODES = Points([0.2, 0.5, 0.9])
SETTINGS = {"alpha": 0.02, "tol": 1e-9, "fit_intercept": True}
THETA = {"output_kernel": Gaussian(3.0), "measure": NODES, **SETTINGS}
SMOOTH = 2.0 * Gaussian([3.0, 2.0]) + Polynomial(2, 0.5, 0.3)


def of_loss(name):
    """A small model with that loss, and its targets; None for a loss of no such estimator."""
    kind = LOSSES[name]().indexed_by
    if kind == "level":
        return KernelQuantileRegressor(SMOOTH, loss=name, noncrossing=None, **THETA), y
    if kind == "cost":
        return CostSensitiveClassifier(SMOOTH, loss=name, **THETA), (y > 0).astype(int)
    loss = as_loss(name)  # as an object, whose threshold is not taken from the data
    return VectorValuedRegressor(SMOOTH, output_matrix=GAMMA, loss=loss, **SETTINGS), Y


def numeric(model, targets, name, step=1e-4):
    start = np.asarray(model.get_params()[name], dtype=float)
    found = np.empty(start.shape)
    for place in np.ndindex(start.shape):
        ends = []
        for sign in (1, -1):
            moved = start.copy()
            moved[place] += sign * step
            if name == "output_matrix":  # which is symmetric
                moved[place[::-1]] = moved[place]
            other = clone(model).set_params(**{name: moved if moved.ndim else float(moved)})
            ends.append(other.fit(X, targets, WEIGHT).objective_)
        twice = name == "output_matrix" and place[0] != place[1]
        found[place] = (ends[0] - ends[1]) / (2 * step) / (2 if twice else 1)
    return found


def compare(model, targets, names, tolerance=2e-3):
    found = value_slopes(clone(model).fit(X, targets, WEIGHT))
    for name in names:
        expected = numeric(model, targets, name)
        size = np.max(np.abs(expected))
        np.testing.assert_allclose(found[name], expected, atol=tolerance * size, rtol=tolerance, err_msg=name)


@pytest.mark.parametrize("name", [name for name in LOSSES if name != "max_margin"])
def test_every_loss(name):
    model, targets = of_loss(name)
    names = ["alpha", "kernel__left__scale", "kernel__left__kernel__gamma", "kernel__right__gamma"]
    compare(model, targets, [*names, "output_matrix" if targets is Y else "output_kernel__gamma"])


@pytest.mark.parametrize(
    ("kernel", "names"),
    [
        (Matern(1.5, [0.5, 0.8]), ["kernel__length_scale"]),
        (RationalQuadratic(1.5, 0.5), ["kernel__shape", "kernel__length_scale"]),
        (Gaussian(2.0).restrict(0) + 0.5 * Linear(), ["kernel__left__kernel__gamma", "kernel__right__scale"]),
        (Projected(Gaussian(1.0), np.array([[1.0], [0.5]])), ["kernel__matrix"]),
        (RandomFourier(3, random_state=0).bind(Gaussian(3.0), X), ["kernel__frequencies", "kernel__mass"]),
    ],
    ids=["lengths", "shape", "sum", "projection", "frequencies"],
)
def test_every_kind_of_parameter(kernel, names):
    compare(KernelQuantileRegressor(kernel, **THETA), y, ["alpha", *names])


def test_curves_with_a_smooth_mean_and_with_components():
    curves = np.sin(3 * (X[:, :1] + np.linspace(0, 1, 5))) + 0.1 * RNG.normal(size=(N, 5))
    settings = {"output_kernel": Gaussian(4.0), "alpha": 0.02, "tol": 1e-9}
    model = FunctionalRegressor(2.0 * Gaussian(3.0), loss=Huber(0.2), grid=np.linspace(0, 1, 5), **settings)
    compare(model, curves, ["alpha", "kernel__scale", "kernel__kernel__gamma", "output_kernel__gamma"], 1e-2)
    whole = Decomposable(Gaussian(3.0), Gaussian(4.0), np.array([[1.0, 0.3], [0.3, 0.5]]))
    pairs = np.stack([curves, curves**2], axis=2)
    model = FunctionalRegressor(whole, grid=np.linspace(0, 1, 5), alpha=0.02, fit_intercept=False)
    compare(model, pairs, ["alpha", "kernel__kernel__gamma"][:1])
    found = value_slopes(model.fit(X, pairs))
    ends = []
    for sign in (1, -1):
        moved = whole.output_matrix + sign * 1e-4 * np.array([[0.0, 1.0], [1.0, 0.0]])
        model.set_params(kernel=whole.replace(output_matrix=moved))
        ends.append(model.fit(X, pairs).objective_)
    assert 2 * found["output_matrix"][0, 1] == pytest.approx((ends[0] - ends[1]) / 2e-4, rel=1e-3)


@pytest.mark.parametrize("truncation", ["kernel", "dual"])
def test_curves_in_a_basis(truncation):
    """A basis has one column more, for what it does not reach."""
    grid = np.linspace(0, 1, 5)
    curves = np.sin(3 * (X[:, :1] + grid)) + 0.1 * RNG.normal(size=(N, 5))
    settings = {"output_kernel": Gaussian(4.0), "alpha": 0.02, "tol": 1e-9, "grid": grid, "fit_intercept": False}
    model = FunctionalRegressor(
        2.0 * Gaussian(3.0), loss=Huber(0.2), representation="eigen", truncation=truncation, **settings
    )
    compare(model, curves, ["alpha", "kernel__scale", "kernel__kernel__gamma"])


def test_names_are_those_of_parameters():
    for model, targets in (of_loss("pinball"), of_loss("hinge"), of_loss("square")):
        assert set(value_slopes(model.fit(X, targets))) <= set(model.get_params())


def test_models_without_such_slopes_are_refused():
    for model in (
        KernelQuantileRegressor(),
        KernelQuantileRegressor(Gaussian(2.0), alpha=0.1, approximation=Nystroem(5)),
    ):
        with pytest.raises(UnsupportedError, match="Pass kernel="):
            value_slopes(model.fit(X, y))
