"""Outputs and samples of them: both kinds of curves say the same of the same observations."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from mercer.estimators import smoothness
from mercer.estimators.gram_outputs import GramOutputs
from mercer.estimators.grid_curves import GridCurves
from mercer.estimators.outputs import Outputs
from mercer.estimators.sample import Sample
from mercer.estimators.scattered_curves import ScatteredCurves
from mercer.exceptions import UnsupportedError
from mercer.kernels import Gaussian, Identity
from mercer.losses import Huber, Square
from mercer.measures import Measure
from mercer.operator_valued import HarmonicBasis
from mercer.solvers import select

RNG = np.random.default_rng(0)
N, M = 8, 5
X = RNG.uniform(size=(N, 1))
GRID, W = np.sort(RNG.uniform(size=M)), RNG.uniform(0.1, 0.5, M)
S = RNG.uniform(0.5, 2.0, N)
Y = np.sin(4 * X + 3 * GRID) + 0.3 * RNG.normal(size=(N, M))
HOLES = np.where(RNG.random(Y.shape) < 0.25, np.nan, Y)
HOLES[:, 0] = Y[:, 0]


def on_grid(values=HOLES):
    return GridCurves(values, Measure(GRID, W), 1, 2)


def scattered(values=HOLES):
    rows, nodes = np.nonzero(~np.isnan(values))
    return ScatteredCurves(rows, GRID[nodes, None], values[rows, nodes][:, None], W[nodes], len(values), 2)


def flat(values):
    """An array on the grid in the layout of the scattered curves."""
    return values[~np.isnan(HOLES)][:, None]


def test_a_protocol_that_cannot_be_left_unfinished():
    assert inspect.isabstract(Outputs)
    for kind in (GridCurves, ScatteredCurves, GramOutputs):
        assert issubclass(kind, Outputs)
        assert not inspect.isabstract(kind)


def test_sizes_and_weights_do_not_depend_on_the_layout():
    one, two = on_grid(), scattered()
    R = RNG.normal(size=Y.shape)
    expected = np.sqrt(np.where(np.isnan(HOLES), 0.0, R**2) @ W)
    np.testing.assert_allclose(one.norms(R), expected)
    np.testing.assert_allclose(two.norms(flat(R)), expected)
    np.testing.assert_allclose(one.sizes(R), two.sizes(flat(R)))
    np.testing.assert_allclose(one.value_weights(S), two.value_weights(S))
    for geometry in ("norm", "pointwise", "componentwise"):
        assert one.typical_size(R, geometry, S) == pytest.approx(two.typical_size(flat(R), geometry, S))
        np.testing.assert_allclose(one.capped_sizes(R, 0.5, geometry), two.capped_sizes(flat(R), 0.5, geometry))
        np.testing.assert_allclose(one.residual_sizes(R, geometry), two.residual_sizes(flat(R), geometry))
    assert one.total_variation(S)[0] == pytest.approx(two.total_variation(S)[0])  # the points are shared


def test_lengths_of_vectors_and_of_their_components():
    values = np.array([[3.0, 4.0, 0.6, np.nan]])
    curves = GridCurves(values, Measure(np.arange(2.0), np.array([0.5, 2.0])), 2, 3)
    np.testing.assert_allclose(curves.residual_sizes(values, "pointwise"), [5.0, 5.0, 0.6])
    np.testing.assert_allclose(curves.residual_sizes(values, "componentwise"), [3.0, 4.0, 0.6])
    np.testing.assert_allclose(curves.capped_sizes(values, 1.0, "pointwise"), [0.5 * 1.0 + 2 * 0.6])
    np.testing.assert_allclose(curves.capped_sizes(values, 1.0, "componentwise"), [0.5 * 2.0 + 2 * 0.6])
    np.testing.assert_allclose(curves.shortened(values, 1.0, "pointwise"), [[0.6, 0.8, 0.6, np.nan]])
    np.testing.assert_allclose(curves.shortened(values, 1.0, "componentwise"), [[1.0, 1.0, 0.6, np.nan]])
    assert curves.typical_size(values, "pointwise") == pytest.approx(0.6)


def test_typical_size_is_a_weighted_median():
    values = np.arange(1.0, 4.0)[:, None]
    curves = GridCurves(values, Measure(np.zeros(1), np.ones(1)), 1, 2)
    assert curves.typical_size(values, "norm") == 2
    assert curves.typical_size(values, "norm", np.array([1.0, 1.0, 9.0])) == 3
    assert curves.typical_size(np.array([[0.0], [0.0], [6.0]]), "norm") == 2  # most are 0: the mean


@pytest.mark.parametrize("loss", [Square(), Huber(0.2), Huber(0.5, "pointwise")], ids=repr)
def test_problems_residuals_and_support_do_not_depend_on_the_layout(loss):
    found = []
    for outputs in (on_grid(), scattered()):
        sample = Sample(X, outputs, S, fit_intercept=False)
        bound = sample.bind(Gaussian(2.0), Gaussian(4.0), loss)
        problem = sample.pose(bound, loss, 1e-2)
        result = select(problem, 1e-10, max_iter=100_000).solve(problem)
        residuals = outputs.residuals(sample.predictor(bound, problem, result), X)
        found.append((problem, result, outputs.norms(residuals), outputs.support(problem, result.coef)))
    (grid, result, norms, support), (pairs, other, its_norms, its_support) = found
    assert grid.alpha == pairs.alpha == 1e-2
    assert result.objective == pytest.approx(other.objective, rel=1e-8)
    np.testing.assert_allclose(norms, its_norms, atol=1e-3)
    for one, two in zip(support, its_support, strict=True):
        np.testing.assert_array_equal(one, two)
    if isinstance(loss, Huber):
        assert 0 < len(support[1]) < N


@pytest.mark.parametrize("make", [on_grid, scattered])
def test_the_centre_is_taken_off(make):
    outputs = make()
    centre, rest = outputs.centre()
    np.testing.assert_allclose(np.nanmean(outputs.values, axis=0), centre)
    np.testing.assert_allclose(rest.values, outputs.values - centre, atol=1e-15)
    sample = Sample(X, outputs, fit_intercept=False)
    assert sample.centred() == (0.0, sample)


@pytest.mark.parametrize("make", [on_grid, scattered])
def test_equal_rows_are_merged(make):
    values = np.vstack([HOLES, HOLES[2:4], HOLES[2:3] + 1])
    inputs = np.vstack([X, X[2:4], X[2:3]])  # the last has another curve
    merged = Sample(inputs, make(values), None).merged()
    np.testing.assert_array_equal(merged.X, np.vstack([X, X[2:3]]))
    np.testing.assert_array_equal(merged.weight, [1, 1, 2, 2, 1, 1, 1, 1, 1])
    np.testing.assert_array_equal(merged.outputs.values, make(np.vstack([HOLES, HOLES[2:3] + 1])).values)
    weighted = Sample(inputs, make(values), np.arange(1.0, 12.0)).merged()
    np.testing.assert_array_equal(weighted.weight, [1, 2, 3 + 9, 4 + 10, 5, 6, 7, 8, 11])
    alone = Sample(X, make(), S)
    assert alone.merged() is alone


@pytest.mark.parametrize("make", [on_grid, scattered])
def test_the_same_curve_at_other_points_or_missing_elsewhere_is_another(make):
    values = np.vstack([HOLES, HOLES[:1]])
    values[0, 1], values[-1, 1], values[-1, 2] = 0.0, np.nan, 0.0
    values[0, 2] = np.nan
    sample = Sample(np.vstack([X, X[:1]]), make(values))
    assert sample.merged() is sample


def test_rows_to_learn_from_and_to_predict():
    train, test = np.array([0, 2, 3]), np.array([5, 1])
    sample = Sample(X, on_grid(), S)
    inside, X_test, outside = sample.split(train, test, pairwise=False)
    np.testing.assert_array_equal(inside.X, X[train])
    np.testing.assert_array_equal(inside.weight, S[train])
    np.testing.assert_array_equal(X_test, X[test])
    np.testing.assert_array_equal(outside.values, HOLES[test])
    gram = Gaussian(1.0)(X)
    inside, X_test, _ = Sample(gram, on_grid(), S).split(train, test, pairwise=True)
    np.testing.assert_array_equal(inside.X, gram[np.ix_(train, train)])
    np.testing.assert_array_equal(X_test, gram[np.ix_(test, train)])


def test_incomplete_curves_are_bound_for_their_halves_only(monkeypatch):
    """Nothing is bound to all rows and thrown away."""
    sizes = []
    bind = Sample.bind

    def counting(self, *arguments):
        sizes.append(len(self))
        return bind(self, *arguments)

    monkeypatch.setattr(Sample, "bind", counting)
    kernels, outputs = [Gaussian(1.0), Gaussian(9.0)], [Gaussian(2.0)]
    errors = smoothness.smoothness_errors(Sample(X, on_grid()), kernels, outputs, np.array([1e-2, 1.0]), Square())
    assert errors.shape == (2, 1, 2)
    assert set(sizes) == {N // 2}
    sizes.clear()
    smoothness.smoothness_errors(Sample(X, on_grid(Y)), kernels, outputs, np.array([1e-2, 1.0]), Square())
    assert set(sizes) == {N}


def test_a_basis_gives_coefficients_to_losses_of_norms():
    nodes = Measure((np.arange(20) + 0.5) / 20, np.full(20, 1 / 20))
    sample = Sample(X, GridCurves(RNG.normal(size=(N, 20)), nodes, 1, 2), basis=HarmonicBasis(3), fit_intercept=False)
    for loss, columns in ((Square(), 4), (Huber(), 4), (Huber(geometry="pointwise"), 20)):
        bound = sample.bind(Gaussian(1.0), Gaussian(1.0), loss)
        assert sample.pose(bound, loss, 1.0).shape == (N, columns)


def test_grids_of_predictions():
    np.testing.assert_array_equal(on_grid().prediction_grid(None, None), GRID)
    default = scattered().prediction_grid(None, None)
    assert (len(default), default[0], default[-1]) == (101, GRID[0], GRID[-1])
    np.testing.assert_array_equal(scattered().prediction_grid(None, [0.1, 0.2]), [0.1, 0.2])


def test_mean_functions():
    b = np.arange(float(M))
    np.testing.assert_allclose(on_grid().intercept_function(b).evaluate(GRID[:, None]), b)
    middle = (GRID[:1] + GRID[1:2]) / 2
    np.testing.assert_allclose(on_grid().intercept_function(b).evaluate(middle[:, None]), 0.5)
    np.testing.assert_allclose(on_grid().intercept_function(b).slope(middle[:, None]), 1 / (GRID[1] - GRID[0]))
    np.testing.assert_allclose(scattered().intercept_function(np.array([3.0])).evaluate(GRID[:, None]), 3.0)
    np.testing.assert_allclose(scattered().intercept_function(np.array([3.0])).slope(GRID[:, None]), 0.0)


def test_objects_have_no_other_output_kernel():
    objects = GramOutputs.from_gram([[2.0, 1.0], [1.0, 2.0]])
    objects.bind(Gaussian(1.0), Identity())
    for arguments in ({"output_kernel": Gaussian(1.0)}, {"output_matrix": np.eye(2)}):
        with pytest.raises(UnsupportedError, match="leave output_kernel and output_matrix out"):
            objects.bind(Gaussian(1.0), **arguments)
