"""Units, order, repetition and splitting change nothing, under the defaults."""

import numpy as np
import pytest

from mercer import KernelQuantileRegressor
from mercer.measures import Points

RNG = np.random.default_rng(1)
N = 50
X = RNG.uniform(size=(N, 2))
Y = np.sin(5 * X[:, 0]) + X[:, 1] * RNG.normal(size=N)
NEW = RNG.uniform(size=(20, 2))
LEVELS = np.linspace(0.02, 0.98, 13)


def predictions(X, y, new, weight=None, **settings):
    model = KernelQuantileRegressor(**settings).fit(X, y, weight)
    assert model.relative_gap_ <= model.tol
    return model.predict_quantile(new, LEVELS)


BASE = predictions(X, Y, NEW)
SPREAD = np.std(Y)


@pytest.mark.parametrize("c", [1e-12, 1e-3, 7, 1e12])
@pytest.mark.parametrize("offset", [0.0, 1.0, -1e6])
def test_units_of_y(c, offset):
    """y ↦ cy + d, with d up to 10⁶ times the spread of y; rounding of cy + d itself is all that is lost."""
    found = predictions(X, c * Y + c * offset, NEW)
    tolerance = 1e-11 + 1e-15 * abs(offset) * 10
    np.testing.assert_allclose(found / c - offset, BASE, rtol=0, atol=tolerance * SPREAD)


def test_offset_of_a_million_in_the_units_of_y():
    np.testing.assert_allclose(predictions(X, Y + 1e6, NEW) - 1e6, BASE, rtol=0, atol=1e-8 * SPREAD)


@pytest.mark.parametrize("solver", ["interior_point", "admm", "proximal_gradient"])
def test_a_large_offset_costs_no_solver_anything(solver):
    settings = {"alpha": 0.01, "solver": solver}
    base, far = (KernelQuantileRegressor(**settings).fit(X, y) for y in (Y, Y + 2.0**20))
    assert far.n_iter_ == base.n_iter_
    np.testing.assert_allclose(
        far.predict_quantile(NEW, LEVELS) - 2.0**20, base.predict_quantile(NEW, LEVELS), rtol=0, atol=1e-8 * SPREAD
    )


def test_reflection_of_y_exchanges_the_levels():
    found = predictions(X, -Y, NEW, tol=1e-8, alpha=0.01)
    np.testing.assert_allclose(found, -predictions(X, Y, NEW, tol=1e-8, alpha=0.01)[:, ::-1], atol=1e-3 * SPREAD)


@pytest.mark.parametrize("scales", [(1e12, 1.0), (1e-12, 1e12), (1.0, 1e-12), (-3.0, 0.2)])
def test_units_of_columns(scales):
    np.testing.assert_allclose(predictions(X * scales, Y, NEW * scales), BASE, rtol=0, atol=1e-11 * SPREAD)


@pytest.mark.parametrize(("shift", "tolerance"), [((1.0, -2.0), 1e-11), ((1e6, -1e6), 1e-7)])
def test_origin_of_columns(shift, tolerance):
    np.testing.assert_allclose(predictions(X + shift, Y, NEW + shift), BASE, rtol=0, atol=tolerance * SPREAD)


def test_order_of_rows_and_columns():
    order = RNG.permutation(N)
    np.testing.assert_allclose(predictions(X[order], Y[order], NEW), BASE, rtol=0, atol=1e-11 * SPREAD)
    np.testing.assert_allclose(predictions(X[:, ::-1], Y, NEW[:, ::-1]), BASE, rtol=0, atol=1e-11 * SPREAD)


def test_constant_columns_do_not_count():
    wide, new = np.column_stack([np.full(N, 7.0), X]), np.column_stack([np.full(20, 7.0), NEW])
    np.testing.assert_allclose(predictions(wide, Y, new), BASE, rtol=0, atol=1e-11 * SPREAD)


@pytest.mark.parametrize("settings", [{}, {"alpha": 0.01}, {"solver": "admm"}, {"fit_intercept": False}])
def test_weight_two_is_the_row_twice(settings):
    counts = RNG.integers(1, 4, N)
    index = RNG.permutation(np.repeat(np.arange(N), counts))
    repeated = predictions(X[index], Y[index], NEW, **settings)
    weighted = predictions(X, Y, NEW, counts, **settings)
    np.testing.assert_allclose(repeated, weighted, rtol=0, atol=1e-10 * SPREAD)
    assert np.max(np.abs(weighted - predictions(X, Y, NEW, **settings))) > 1e-3  # weights do count


@pytest.mark.parametrize("settings", [{}, {"alpha": 0.01}])
def test_weight_zero_is_no_row(settings):
    weight = (RNG.uniform(size=N) < 0.7).astype(float)
    keep = weight > 0
    np.testing.assert_array_equal(
        predictions(X, np.where(keep, Y, 1e9), NEW, weight, **settings),
        predictions(X[keep], Y[keep], NEW, weight[keep], **settings),
    )


@pytest.mark.parametrize("scale", [1e-12, 0.3, 1e12])
def test_only_ratios_of_weights_matter(scale):
    weight = RNG.uniform(0.2, 3.0, N)
    np.testing.assert_allclose(
        predictions(X, Y, NEW, scale * weight), predictions(X, Y, NEW, weight), rtol=0, atol=1e-10 * SPREAD
    )
    np.testing.assert_allclose(predictions(X, Y, NEW, np.full(N, scale)), BASE, rtol=0, atol=1e-10 * SPREAD)


def test_a_number_as_weight_is_one_weight_for_all():
    np.testing.assert_allclose(predictions(X, Y, NEW, 2.0), BASE, rtol=0, atol=1e-10 * SPREAD)


@pytest.mark.parametrize("solver", ["interior_point", "admm", "proximal_gradient"])
def test_splitting_a_node_changes_nothing(solver):
    """Rule R2; the chosen λ and the bandwidth on levels included."""
    whole = Points([0.1, 0.4, 0.6, 0.9], [1.0, 2.0, 3.0, 4.0])
    split = Points([0.4, 0.1, 0.4, 0.6, 0.9], [0.5, 1.0, 1.5, 3.0, 4.0])
    settings = {"solver": solver, "tol": 1e-4}
    np.testing.assert_allclose(
        predictions(X, Y, NEW, measure=split, **settings),
        predictions(X, Y, NEW, measure=whole, **settings),
        rtol=0,
        atol=1e-9 * SPREAD,
    )


@pytest.mark.parametrize("settings", [{}, {"measure": Points([0.9, 0.1, 0.5])}])
def test_order_of_levels(settings):
    rule = settings.get("measure", Points(np.linspace(0.1, 0.9, 7)))
    backwards = Points(np.asarray(rule.points)[::-1].copy())
    np.testing.assert_allclose(
        predictions(X, Y, NEW, measure=rule), predictions(X, Y, NEW, measure=backwards), atol=1e-9 * SPREAD
    )
