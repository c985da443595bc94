"""Lower bounds of slopes on a whole box: true, not loose, and with the constants that extremal functions ask for."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from mercer.exceptions import UnsupportedError
from mercer.kernels import Gaussian, Matern
from mercer.measures import Measure
from mercer.operator_valued import Decomposable, KernelExpansion
from mercer.problems import cover as cover_module
from mercer.problems.cover import Cover, check_cover

NODES = np.array([0.1, 0.35, 0.4, 0.9])


def model(gamma, gamma_theta=6.0, slopes=True, seed=0, rows=8, size=1.0):
    """A random function of heavy-tailed coefficients."""
    rng = np.random.default_rng(seed)
    places = np.array([[0.15], [0.38], [0.6]]) if slopes else None
    bound = Decomposable(Gaussian(gamma), Gaussian(gamma_theta)).bind(Measure(NODES, np.full(4, 0.25)), places)
    X = rng.uniform(size=(rows, np.size(gamma)))
    return bound.expand(X, size * rng.standard_cauchy(size=(rows, 7 if slopes else 4)))


def slopes_at(h, X, theta):
    """∂_θ h by the formulas of Gaussian kernels, in extended precision; shape (len(X), len(theta))."""
    X, X_fit, coef, theta = (np.asarray(a, dtype=np.longdouble) for a in (X, h.X, h.coef, theta))
    gamma_x = np.asarray(h.kernel.gamma, dtype=np.longdouble)
    gamma = np.longdouble(h.representers.kernel.gamma)
    left = np.exp(-(gamma_x * (X[:, None, :] - X_fit) ** 2).sum(axis=2))
    delta = h.representers.points.astype(np.longdouble) - theta
    section = 2 * gamma * delta * np.exp(-gamma * delta**2)
    if h.representers.slope_points is not None:
        delta = h.representers.slope_points.astype(np.longdouble) - theta
        section = np.concatenate([section, (2 * gamma - 4 * gamma**2 * delta**2) * np.exp(-gamma * delta**2)])
    return left @ (coef @ section)


def sampled(cover, rng, count):
    """Inputs all over the box, its corners among them."""
    d = len(cover.low)
    corners = np.array(np.meshgrid(*([0.0, 1.0] for _ in range(d)))).reshape(d, -1).T
    return cover.low + np.concatenate([corners, rng.uniform(size=(count, d))]) * (cover.high - cover.low)


CASES = {
    "one column": (2.0, [0.0], [1.0]),
    "narrow kernel": (60.0, [0.0], [1.0]),
    "two columns": ([2.0, 2.0], [0.0, 0.0], [1.0, 1.0]),
    "anisotropic": ([20.0, 0.5], [-0.2, 0.1], [1.1, 0.7]),
    "constant column": ([3.0, 5.0], [0.0, 0.4], [1.0, 0.4]),
    "one point": ([3.0, 5.0], [0.3, 0.4], [0.3, 0.4]),
}


@pytest.mark.parametrize("slopes", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_bounds_are_true_and_within_the_accuracy_that_was_asked_for(case, slopes):
    gamma, low, high = CASES[case]
    rng = np.random.default_rng(1)
    cover = Cover(np.array(low), np.array(high), NODES)
    for seed in range(4):
        h = model(gamma, slopes=slopes, seed=seed)
        for share in (1.0, 0.03):
            accuracy = share * h.norm
            lowest, where = cover.lowest_slopes(h, accuracy)
            inputs = sampled(cover, rng, 300)
            for j, (start, stop) in enumerate(pairwise(NODES)):
                theta = np.concatenate([[start, stop], rng.uniform(start, stop, 40)])
                found = slopes_at(h, inputs, theta).min()
                assert lowest[j] <= found
                # between the grid and the bound there are two errors, of inputs and of levels
                nearly = slopes_at(h, where[j : j + 1], np.linspace(start, stop, 400)).min()
                assert nearly <= lowest[j] + 2.01 * accuracy + 0.02 * h.norm
                assert np.all((where[j] >= cover.low) & (where[j] <= cover.high))


def test_accuracy_makes_bounds_tighter():
    h = model(5.0)
    cover = Cover(np.zeros(1), np.ones(1), NODES)
    bounds = [cover.lowest_slopes(h, share * h.norm)[0] for share in (1.0, 0.1, 1e-2, 1e-3)]
    for looser, tighter in pairwise(bounds):
        assert np.all(looser < tighter)
    inputs = np.linspace(0, 1, 300)[:, None]
    finest = [slopes_at(h, inputs, np.linspace(*cell, 60)).min() for cell in pairwise(NODES)]
    np.testing.assert_allclose(bounds[-1], np.array(finest, dtype=float), atol=3e-3 * h.norm)


@pytest.mark.parametrize(("name", "most"), [("MOST_INPUTS", 100), ("MOST_LEVELS", 20), ("SLOPE_ENTRIES", 64)])
def test_limits_on_grids_keep_bounds_true(monkeypatch, name, most):
    h = model([4.0, 30.0])
    cover = Cover(np.zeros(2), np.ones(2), NODES)
    free, _ = cover.lowest_slopes(h, 0.1 * h.norm)
    monkeypatch.setattr(cover_module, name, most)
    lowest, _ = cover.lowest_slopes(h, 0.1 * h.norm)
    inputs = sampled(cover, np.random.default_rng(0), 2000)
    for j, (start, stop) in enumerate(pairwise(NODES)):
        assert lowest[j] <= slopes_at(h, inputs, np.linspace(start, stop, 30)).min()
    if name == "SLOPE_ENTRIES":  # memory, not accuracy
        np.testing.assert_allclose(lowest, free, rtol=1e-12)
    else:
        assert np.all(lowest < free)


def test_cancelling_coefficients():
    """The coefficients of a small λ are large and cancel; what rounding may do is part of the bound."""

    class Flat(KernelExpansion):  # without the errors between the points
        norm = 0.0

    h = model(2.0, gamma_theta=1.0)
    _, vectors = np.linalg.eigh(h.representers.gram().to_dense())
    coef = 1e9 * np.random.default_rng(0).normal(size=(len(h.X), 1)) * vectors[:, 0]  # nearly nothing of great size
    cover = Cover(np.zeros(1), np.zeros(1), NODES)
    h = Flat.from_state(h.state() | {"class": "Flat", "coef": coef})
    lowest, _ = cover.lowest_slopes(h, 1.0)
    for j, (start, stop) in enumerate(pairwise(NODES)):
        assert lowest[j] <= slopes_at(h, cover.low[None, :], [start, (start + stop) / 2, stop]).min()


# --- the constants, by the functions that need them


def test_the_constant_of_inputs_is_the_smallest():
    """h with ∂_θ h(x)(τ) = κ''(x − z), z halfway between points of the grid, dips there as deep as any can."""
    gamma, gamma_theta, length = 1.5, 3.0, 1.2
    cover = Cover(np.zeros(1), np.array([length]), np.array([0.4999, 0.5001]))
    step = length / 8  # of the coarsest grid
    z, e = 4.5 * step, 1e-3
    X = np.array([[z - e], [z], [z + e]])
    half = Measure(np.array([0.5]), np.ones(1))
    bound = Decomposable(Gaussian(gamma), Gaussian(gamma_theta)).bind(half, half.points)
    coef = np.outer([1, -2, 1], [0, 1]) / (2 * gamma_theta * e**2)
    h = bound.expand(X, coef)
    lowest, where = cover.lowest_slopes(h, 1e9)
    dip = float(slopes_at(h, np.array([[z]]), [0.5]).min())
    assert dip == pytest.approx(-2 * gamma, rel=1e-4)
    at_grid = float(slopes_at(h, np.array([[4 * step]]), [0.5]).min())
    assert lowest[0] <= dip < at_grid
    assert lowest[0] == pytest.approx(dip, abs=0.1 * (at_grid - dip))
    assert abs(where[0, 0] - z) == pytest.approx(step / 2)


def test_the_constant_of_levels_is_the_smallest():
    """h(x)(θ) = −κ'''(θ − τ), τ halfway between points of the grid of levels."""
    gamma, width = 1.5, 0.3
    tau, e = 0.5, 2e-3
    nodes = np.array([tau - width / 4, tau + 3 * width / 4])  # two parts: τ is the middle of the first
    places = tau + e * np.array([-1.0, 0.0, 1.0])
    half = Measure(np.array([0.5]), np.ones(1))
    bound = Decomposable(Gaussian(1.0), Gaussian(gamma)).bind(half, places[:, None])
    X = np.zeros((1, 1))
    # columns of slopes are −κ'(θ − τ): their second difference is −κ'''
    coef = np.array([[0.0, 1.0, -2.0, 1.0]]) / e**2
    h = bound.expand(X, coef)
    assert h.norm == pytest.approx(np.sqrt(120) * gamma**1.5, rel=1e-3)
    cover = Cover(np.zeros(1), np.zeros(1), nodes)
    lowest, _ = cover.lowest_slopes(h, 1e9)
    dip = float(slopes_at(h, X, [tau]).min())
    assert dip == pytest.approx(-12 * gamma**2, rel=1e-3)
    at_grid = float(slopes_at(h, X, [nodes[0], (nodes[0] + nodes[1]) / 2]).min())
    assert lowest[0] <= dip < at_grid
    assert lowest[0] == pytest.approx(dip, abs=0.1 * (at_grid - dip))


# --- refusals


def test_what_is_not_covered_is_refused_with_what_is():
    check_cover(Gaussian(1.0), Gaussian(2.0), 1)
    check_cover(Gaussian([1.0, 2.0]), Gaussian(2.0), 2)
    with pytest.raises(UnsupportedError, match="one or two columns; X has 3 of them"):
        check_cover(Gaussian(1.0), Gaussian(2.0), 3)
    for pair in ((Matern(1.5, 1.0), Gaussian(1.0)), (Gaussian(1.0), Matern(2.5, 1.0)), (2 * Gaussian(1.0),) * 2):
        with pytest.raises(UnsupportedError, match=r"Gaussian kernels .* Use noncrossing='rearrange'"):
            check_cover(*pair, 1)


def test_grid_of_inputs():
    cover = Cover(np.array([0.0, 2.0]), np.array([1.0, 2.0]), NODES)
    found = cover.inputs(5)
    np.testing.assert_allclose(found, np.column_stack([np.linspace(0, 1, 5), np.full(5, 2.0)]))
    assert len(Cover(np.zeros(2), np.ones(2), NODES).inputs(4)) == 16


@pytest.mark.parametrize(("wanted", "expected"), [(3.2, 9), (20.1, 21), (1e400, 50), (np.nan, 50), (1e9, 50)])
def test_sizes_of_grids_are_bounded_whatever_is_wanted(wanted, expected):
    assert cover_module._whole(wanted, 9, 50) == expected
