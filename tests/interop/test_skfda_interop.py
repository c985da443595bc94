"""Curves of scikit-fda as outputs and as inputs, and its bases; skipped where it is not installed."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

from mercer import FunctionalRegressor
from mercer.exceptions import MercerError
from mercer.kernels import Gaussian

RNG = np.random.default_rng(0)
N = 20
X = RNG.uniform(size=(N, 2))
GRID = np.linspace(0, 24, 9)
CURVES = np.sin(3 * X[:, :1] + GRID / 6) + 0.1 * RNG.normal(size=(N, 9))
NEW = RNG.uniform(size=(4, 2))


def test_nothing_imports_it():
    code = "import sys, mercer; mercer.FunctionalRegressor; print('skfda' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.fixture(scope="module")
def skfda():
    return pytest.importorskip("skfda")


def test_round_trip_on_a_grid(skfda):
    Y = skfda.FDataGrid(CURVES, GRID, argument_names=["hour"], coordinate_names=["temperature"], domain_range=(-1, 25))
    model, plain = FunctionalRegressor().fit(X, Y), FunctionalRegressor(grid=GRID).fit(X, CURVES)
    found = model.predict(NEW)
    assert isinstance(found, skfda.FDataGrid)
    np.testing.assert_array_equal(found.data_matrix[:, :, 0], plain.predict(NEW))
    np.testing.assert_array_equal(found.grid_points[0], GRID)
    assert found.argument_names == ("hour",)
    assert found.coordinate_names == ("temperature",)
    assert found.domain_range == ((-1.0, 25.0),)
    assert model.score(X, Y) == plain.score(X, CURVES)
    assert model.score(X, Y, np.arange(1.0, N + 1)) == plain.score(X, CURVES, np.arange(1.0, N + 1))
    np.testing.assert_array_equal(model.predict_at(NEW, [3.3]), plain.predict_at(NEW, [3.3]))
    # an array is taken to be on the grid of the fit
    assert model.score(X, CURVES) == plain.score(X, CURVES)
    # predictions are curves to fit on
    assert FunctionalRegressor().fit(NEW, found).score(NEW, found) > 0.9
    assert isinstance(pickle.loads(pickle.dumps(model)).predict(NEW), skfda.FDataGrid)


def test_missing_values_and_the_grid_beside_them(skfda):
    holes = np.where(RNG.random((N, 9)) < 0.2, np.nan, CURVES)
    Y = skfda.FDataGrid(holes, GRID)
    plain = FunctionalRegressor(grid=GRID).fit(X, holes)
    for model in (FunctionalRegressor(), FunctionalRegressor(grid=GRID)):
        np.testing.assert_array_equal(model.fit(X, Y).predict(NEW).data_matrix[:, :, 0], plain.predict(NEW))
    for grid in (GRID / 2, GRID[:-1], "text"):
        with pytest.raises(MercerError, match=r"grid must be .*Curves of scikit-fda bring their own grid"):
            FunctionalRegressor(grid=grid).fit(X, Y)


def test_a_grid_beside_curves_in_a_basis_names_what_they_are(skfda):
    basis = skfda.representation.basis.BSplineBasis((0, 24), n_basis=6)
    Y = skfda.FDataGrid(CURVES, GRID).to_basis(basis)
    with pytest.raises(
        MercerError, match=r"None, as Y is an FDataBasis; got.* at 101 points.*Y\.to_grid\(points\)"
    ) as info:
        FunctionalRegressor(grid=GRID).fit(X, Y)
    assert "FDataGrid" not in str(info.value)
    with pytest.raises(MercerError, match=r"the grid points of the FDataGrid; got .*Y\.to_grid\(points\)"):
        FunctionalRegressor(grid=GRID + 1).fit(X, Y.to_grid(GRID))
    assert FunctionalRegressor(grid=GRID).fit(X, Y.to_grid(GRID)).grid_.shape == GRID.shape  # the remedy


def test_bases_of_scikit_fda_are_pointed_to_their_adapter(skfda):
    theirs = skfda.representation.basis.FourierBasis((0, 24), n_basis=5)
    for basis in (theirs, type(theirs)):
        with pytest.raises(MercerError, match=r"mercer\.interop\.skfda\.as_basis\(FourierBasis\("):
            FunctionalRegressor(representation=basis, grid=GRID).fit(X, CURVES)
    with pytest.raises(MercerError, match=r"For instance HarmonicBasis") as info:
        FunctionalRegressor(representation="fourier", grid=GRID).fit(X, CURVES)
    assert "as_basis" not in str(info.value)


def test_curves_in_the_plane_and_surfaces(skfda):
    two = np.stack([CURVES, -CURVES], axis=2)
    found = FunctionalRegressor(output_matrix=[[1.0, 0.5], [0.5, 1.0]]).fit(X, skfda.FDataGrid(two, GRID)).predict(NEW)
    assert found.data_matrix.shape == (4, 9, 2)
    surfaces = CURVES[:, :6].reshape(N, 2, 3)
    Y = skfda.FDataGrid(surfaces, [[0.0, 1.0], [0.0, 0.5, 1.0]])
    model = FunctionalRegressor().fit(X, Y)
    assert model.grid_.shape == (6, 2)
    found = model.predict(X)
    assert found.data_matrix.shape == (N, 2, 3, 1)
    np.testing.assert_allclose(found.grid_points[1], [0.0, 0.5, 1.0])
    assert model.score(X, Y) > 0.8
    # entry (i, j) is where it was
    plain = FunctionalRegressor(grid=[[a, b] for a in (0.0, 1.0) for b in (0.0, 0.5, 1.0)]).fit(X, CURVES[:, :6])
    np.testing.assert_allclose(found.data_matrix.reshape(N, 6), plain.predict(X))


def test_irregular_curves(skfda):
    pairs = [(GRID[: 4 + i % 5], y[: 4 + i % 5]) for i, y in enumerate(CURVES)]
    starts = np.cumsum([0, *(len(t) for t, _ in pairs)])[:-1]
    Y = skfda.FDataIrregular(starts, np.concatenate([t for t, _ in pairs]), np.concatenate([y for _, y in pairs]))
    model, plain = FunctionalRegressor().fit(X, Y), FunctionalRegressor().fit(X, pairs)
    found = model.predict(NEW)
    assert isinstance(found, skfda.FDataGrid)
    np.testing.assert_array_equal(found.data_matrix[:, :, 0], plain.predict(NEW))
    np.testing.assert_array_equal(found.grid_points[0], plain.grid_)
    assert model.score(X, Y) == plain.score(X, pairs)
    given = FunctionalRegressor(grid=[1.0, 2.0]).fit(X, Y).predict(NEW)
    np.testing.assert_array_equal(given.grid_points[0], [1.0, 2.0])


def test_curves_in_a_basis(skfda):
    basis = skfda.representation.basis.FourierBasis((0, 24), n_basis=5)
    Y = skfda.FDataGrid(CURVES, GRID).to_basis(basis)
    model = FunctionalRegressor().fit(X, Y)
    found = model.predict(NEW)
    assert isinstance(found, skfda.FDataGrid)
    assert found.grid_points[0][[0, -1]].tolist() == [0.0, 24.0]
    assert model.score(X, Y) > 0.8
    tensor = skfda.representation.basis.TensorBasis([skfda.representation.basis.FourierBasis((0, 1), n_basis=3)] * 2)
    surfaces = skfda.FDataBasis(tensor, RNG.normal(size=(N, 9)))
    assert FunctionalRegressor(alpha=1e-3).fit(X, surfaces).predict(NEW).data_matrix.shape == (4, 10, 10, 1)


def test_scores_on_another_grid_are_taken_there(skfda):
    model = FunctionalRegressor().fit(X, skfda.FDataGrid(CURVES, GRID))
    other = GRID[2:6] + 0.7
    values = model.predict_at(X, other)
    assert model.score(X, skfda.FDataGrid(values, other)) == pytest.approx(1)
    assert model.score(X, skfda.FDataGrid(values, other + 3)) < 0.99
    refused = skfda.FDataGrid(CURVES, GRID)[:0]
    with pytest.raises(MercerError, match="Y must have shape"):
        model.score(X, refused)


def test_input_functions(skfda):
    from mercer.kernels import FunctionalGaussian

    t = np.linspace(0, 1, 15)
    values = np.sin(t * (1 + 4 * X[:, :1]))
    inputs = skfda.FDataGrid(values, t)
    kernel = FunctionalGaussian()
    model = FunctionalRegressor(kernel, grid=GRID).fit(inputs, CURVES)
    plain = FunctionalRegressor(kernel, grid=GRID).fit(values, CURVES)
    np.testing.assert_array_equal(model.predict(inputs[:3]), plain.predict(values[:3]))
    np.testing.assert_array_equal(model.predict(values[:3]), plain.predict(values[:3]))
    assert model.score(inputs, CURVES) == plain.score(values, CURVES)
    with pytest.raises(MercerError, match=r"observed from 2 to 3, the curves of the fit from 0 to 1"):
        model.predict(skfda.FDataGrid(values, 2 + t))
    # on another grid, in a basis, and where they were observed: evaluated on the grid of the fit
    fine = np.linspace(0, 1, 60)
    other = skfda.FDataGrid(np.sin(fine * (1 + 4 * X[:, :1])), fine)
    np.testing.assert_allclose(model.predict(other), plain.predict(values), atol=0.02)
    in_basis = inputs.to_basis(skfda.representation.basis.BSplineBasis((0, 1), n_basis=8))
    np.testing.assert_allclose(model.predict(in_basis), plain.predict(values), atol=0.02)
    assert FunctionalRegressor(grid=GRID).fit(in_basis, CURVES).score(in_basis, CURVES) > 0.8
    irregular = skfda.FDataIrregular(np.arange(N) * 15, np.tile(t, N), values.ravel())
    np.testing.assert_array_equal(model.predict(irregular), plain.predict(values))
    np.testing.assert_array_equal(
        FunctionalRegressor(grid=GRID).fit(irregular, CURVES).predict(irregular),
        FunctionalRegressor(grid=GRID).fit(inputs, CURVES).predict(inputs),
    )
    both = FunctionalRegressor(kernel).fit(inputs, skfda.FDataGrid(CURVES, GRID))
    assert isinstance(both.predict(inputs), skfda.FDataGrid)


def test_input_functions_with_holes_and_scalars(skfda):
    import pandas as pd

    from mercer import KernelQuantileRegressor

    t = np.linspace(0, 1, 15)
    values = np.sin(t * (1 + 4 * X[:, :1]))
    holes = np.where(RNG.random(values.shape) < 0.2, np.nan, values)
    inputs = skfda.FDataGrid(holes, t)
    pairs = FunctionalRegressor(grid=GRID).fit([[(t, row) for row in holes], X[:, 1]], CURVES)
    for table in ([inputs, X[:, 1]], pd.DataFrame({"wave": inputs, "x": X[:, 1]})):
        model = FunctionalRegressor(grid=GRID).fit(table, CURVES)
        np.testing.assert_array_equal(model.predict(table), pairs.predict([[(t, row) for row in holes], X[:, 1]]))
    assert KernelQuantileRegressor().fit(table, CURVES[:, 0]).score(table, CURVES[:, 0]) > 0.5


def test_input_functions_with_several_components_and_surfaces(skfda):
    t = np.linspace(0, 1, 6)
    values = np.stack([np.sin(t + X[:, :1]), np.cos(t + X[:, 1:])], axis=2)
    inputs = skfda.FDataGrid(values, t, coordinate_names=["hip", "knee"])
    model = FunctionalRegressor(grid=GRID).fit(inputs, CURVES)
    assert model.feature_names_in_.tolist() == ["hip", "knee"]
    np.testing.assert_array_equal(model.X_fit_, np.hstack([values[:, :, 0], values[:, :, 1]]))
    surfaces = skfda.FDataGrid(values[:, :, :, None], [t, [0.0, 1.0]])
    model = FunctionalRegressor(grid=GRID).fit(surfaces, CURVES)
    np.testing.assert_array_equal(model.X_fit_, values.reshape(N, -1))
    assert model.score(surfaces, CURVES) > 0.8
    with pytest.raises(MercerError, match="Evaluate them there first"):
        model.predict(skfda.FDataGrid(values[:, :3, :, None], [t[:3], [0.0, 1.0]]))


@pytest.mark.parametrize("name", ["FourierBasis", "BSplineBasis", "MonomialBasis"])
def test_bases(skfda, name):
    from mercer.interop.skfda import as_basis

    theirs = getattr(skfda.representation.basis, name)(domain_range=(0, 24), n_basis=5)
    basis = as_basis(theirs)
    fine = np.linspace(0, 24, 20001)[:, None]
    from mercer.measures import Grid

    bound = basis.bind(Grid(fine).build())
    assert bound.defect(Grid(fine).build()) < 1e-4  # orthonormal for the uniform probability on the domain
    np.testing.assert_array_equal(bound.spectrum, np.ones(5))  # no function is preferred
    # they span what the basis spans
    values = np.asarray(theirs(fine[::1000, 0]))[:, :, 0].T
    psi = bound.evaluate(fine[::1000])
    np.testing.assert_allclose(
        psi @ np.linalg.lstsq(psi, values, rcond=None)[0], values, atol=1e-6 * np.abs(values).max()
    )
    model = FunctionalRegressor(Gaussian(3.0), representation=as_basis(theirs, np.ones(5)), grid=GRID, alpha=1e-4).fit(
        X, CURVES
    )
    assert model.score(X, CURVES) > 0.8
    points, step = np.array([3.5, 11.0]), 1e-5
    ahead, behind = (model.predict_at(NEW, points + d) for d in (step, -step))
    np.testing.assert_allclose(model.predict_derivative(NEW, points), (ahead - behind) / (2 * step), atol=1e-5)


def test_bases_that_are_refused(skfda):
    from mercer.interop.skfda import as_basis

    fourier = skfda.representation.basis.FourierBasis((0, 1), n_basis=3)
    for basis in (3, None, skfda.representation.basis.TensorBasis([fourier] * 2)):
        with pytest.raises(MercerError, match="as_basis: basis must be a basis of scikit-fda for real functions"):
            as_basis(basis)
    for spectrum in ([1.0, 2.0], 1.0, [[1.0, 2.0, 3.0]]):
        with pytest.raises(MercerError, match="as_basis: spectrum must be 3 positive numbers"):
            as_basis(fourier, spectrum)
    with pytest.raises(MercerError, match="positive numbers"):
        as_basis(fourier, [1.0, 0.0, 1.0])
