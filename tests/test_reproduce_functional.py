"""The scripts of reproduce/ on curves: released figures come out, and what they compute is what they say."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

from mercer import FunctionalRegressor
from mercer.kernels import Gaussian, IntegralLaplacian, Precomputed
from mercer.losses import EpsilonRidge, Huber
from mercer.measures import Grid, Points
from mercer.operator_valued import BoundCoefficients, Decomposable, ExpansionKernel, NystromBasis

matplotlib = pytest.importorskip("matplotlib")

FOLDER = Path(__file__).parent.parent / "reproduce"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    backend = matplotlib.get_backend()
    yield importlib.import_module
    matplotlib.use(backend)


def curves(n=9, m=12, seed=0):
    rng = np.random.default_rng(seed)
    X, grid = rng.normal(size=(n, 15)).cumsum(axis=1) / 4, np.linspace(0, 1, m)
    return X, np.sin(3 * grid + X[:, :1]) + 0.1 * rng.normal(size=(n, m)), grid


def test_released_basis_on_a_fine_grid(script):
    basis = script("lip_icml").harmonics(3).bind(Grid(np.linspace(0, 1, 2001)).build())
    nodes = Grid(np.linspace(0, 1, 2001)).build()
    values = basis.evaluate(nodes.points)
    products = values.T @ (values * nodes.weights[:, None])
    np.testing.assert_allclose(products, np.diag([2, 1, 1, 1, 1]), atol=1e-5)  # √2·1 has norm √2, as released
    np.testing.assert_allclose(basis.spectrum, [1, 1 / 4, 1 / 9, 1 / 4, 1 / 9])


def test_ridge_left_out_in_closed_form_is_a_fit_to_the_others(script):
    module = script("lip_icml")
    X, Y, grid = curves()
    equal = Points(grid, np.full(len(grid), 1 / len(grid)))
    nodes, K, alpha = equal.build(), IntegralLaplacian(2.0)(X), 0.05
    functions = module.harmonics(3).bind(nodes)
    released = module.ridge_errors(
        BoundCoefficients(Precomputed(), functions, nodes, augmented=False), K, Y, nodes, alpha
    )
    eigenfunctions = NystromBasis().bind(nodes, ExpansionKernel(functions))
    exact = module.ridge_errors(BoundCoefficients(Precomputed(), eigenfunctions, nodes), K, Y, nodes, alpha)
    psi, spectrum = functions.evaluate(nodes.points), functions.spectrum
    for i in (0, 4):
        rest = np.delete(np.arange(len(X)), i)
        sigma, V = np.linalg.eigh(K[np.ix_(rest, rest)])
        R = Y[rest] @ psi / len(grid)
        C = V @ ((V.T @ R) * spectrum / (alpha * len(rest) + sigma[:, None] * spectrum))
        assert released[i] == pytest.approx(np.mean((Y[i] - K[i, rest] @ C @ psi.T) ** 2), rel=1e-8)
        model = FunctionalRegressor(
            IntegralLaplacian(2.0), alpha=alpha, representation=module.harmonics(3), grid=equal, fit_intercept=False
        )
        predicted = model.fit(X[rest], Y[rest]).predict(X[i : i + 1])[0]
        assert exact[i] == pytest.approx(np.mean((Y[i] - predicted) ** 2), rel=1e-6)


@pytest.mark.parametrize("loss", [Huber(geometry="norm"), Huber(geometry="pointwise"), EpsilonRidge(geometry="norm")])
def test_leave_one_out_along_a_path_is_a_fit_to_the_others(loss, script):
    module = script("lip_icml")
    X, Y, grid = curves()
    nodes, kernel = Grid(grid).build(), IntegralLaplacian(2.0)
    values = np.array([0.1, 0.3])
    bound = Decomposable(Precomputed(), Gaussian(8.0)).bind(nodes)
    found = module.leave_one_out(bound, kernel(X), Y, nodes, 0.01, loss, values, tol=1e-9)
    assert found.gap <= 1e-9
    name = "kappa" if isinstance(loss, Huber) else "epsilon"
    for i in (0, 5):
        rest = np.delete(np.arange(len(X)), i)
        for k, value in enumerate(values):
            model = FunctionalRegressor(
                kernel,
                output_kernel=Gaussian(8.0),
                alpha=0.01,
                loss=loss.replace(**{name: float(value)}),
                grid=grid,
                fit_intercept=False,
                tol=1e-9,
            ).fit(X[rest], Y[rest])
            error = nodes.norm(Y[i : i + 1] - model.predict(X[i : i + 1]))[0] ** 2
            assert found.errors[i, k] == pytest.approx(error, rel=1e-3, abs=1e-6)
            assert found.zero_rows[i, k] == pytest.approx(1 - model.n_support_ / len(rest))


def test_outliers_are_added_to_the_lip_data(script):
    module = script("lip_icml")
    X, Y = np.arange(64.0).reshape(32, 2), np.ones((32, 3))
    X_all, Y_all = module.with_outliers(X, Y, 1.2)
    np.testing.assert_array_equal(X_all[32:], X[[7, 9, 18, 26]])
    np.testing.assert_array_equal(Y_all, np.concatenate([Y, -1.2 * np.ones((4, 3))]))


def test_the_line_of_a_basis_compares_with_the_released_figures(script):
    module = script("lip_icml")
    kappas = np.array([0.5, 0.6, 0.7])
    errors = np.tile([0.8, 0.75, 0.9], (36, 1))
    errors[32:] += 36 / 4  # outliers count in the mean over all, not in that of the inliers
    found = {"alpha": 0.01, "ridge": errors[:, 0], "ridge whole": errors[:, 0], "projected": errors}
    found["whole"] = errors + 1
    line = module.row(7, found, kappas)
    assert (line["ridge"], line["Huber"], line["κ"]) == ("0.7820", "0.7546", "0.607")
    assert (line["Huber "], line["κ "], line["Huber, inliers"]) == ("1.7500", "0.600", "0.7500")
    assert line["Huber  "] == "2.7500"


def test_the_released_errors_come_out(script):
    folder = FOLDER.parent / "data"
    if not (folder / "lipemg.npz").is_file():
        pytest.skip("the lip data are not in data/")
    module = script("lip_icml")
    X, Y, grid = module.read(folder)
    X, Y = module.with_outliers(X, Y, 1.2)
    equal = Points(grid, np.full(len(grid), 1 / len(grid)))
    kappa = np.array([module.KAPPAS[14]])
    found = module.reproduce(IntegralLaplacian(7.0, grid=equal)(X), Y, equal.build(), 7, kappa)
    assert found["ridge"].mean() == pytest.approx(0.7820, abs=5e-5)
    assert found["projected"].mean() == pytest.approx(0.7546, abs=5e-5)


def test_ridge_tunes_on_left_out_curves(script):
    module = script("lip_outliers")
    X, Y, grid = curves(12)
    nodes = Grid(grid).build()
    found = module.tune(IntegralLaplacian, X, Y, nodes, "released")

    def error(alpha, gamma_x, gamma_theta):
        bound = Decomposable(Precomputed(), Gaussian(gamma_theta)).bind(nodes)
        # the choice keeps λn, the error of the table λ
        return module.ridge(bound, IntegralLaplacian(gamma_x)(X), Y, nodes, alpha * 12 / 11)[0].mean()

    grids = module.GRIDS["released"]
    all_errors = [error(*(grids[k][j] for k, j in enumerate(place))) for place in np.ndindex(5, 2, 2)]
    assert error(found["alpha"], found["gamma_x"], found["gamma_theta"]) <= min(all_errors) * (1 + 1e-8)


def test_the_line_of_a_scale_of_outliers(script):
    module = script("lip_outliers")
    errors = np.tile([2.0, 1.0], (36, 1))
    errors[32:] = 10
    part = {"kappas": np.array([0.1, 0.2]), "errors": errors, "default": np.full(36, 1.5), "gap": 0.0}
    found = {"alpha": 0.1, "gamma_x": 1.0, "gamma_theta": 2.0, "ridge": np.full(36, 3.0)}
    line = module.row(2.0, found | {"norm": part, "pointwise": part})
    assert (line["norm"], line["κ norm"], line["norm "]) == ("2.0000", "0.20", "1.0000")
    assert line["norm  "] == "-50.0 %"


def test_zeros_of_rows_and_of_entries(script):
    coef = np.array([[0.0, 0.0], [0.0, 1.0]])
    assert script("lip_sparsity").zeros(coef, "norm") == 0.5
    assert script("lip_sparsity").zeros(coef, "pointwise") == 0.75


def test_synthetic_outliers(script):
    module = script("synthetic_curves")
    X, Y = np.ones((250, 6)), np.ones((250, 5))
    X_all, Y_all = module.contaminated(X, Y, "foreign", 4, 0)
    assert (len(X_all), len(Y_all)) == (275, 275)
    np.testing.assert_array_equal(Y_all[:250], Y)
    assert np.all(np.any(Y_all[250:] != 0, axis=1))
    assert not np.allclose(X_all[250:, :5], Y_all[250:])
    same, misread = module.contaminated(X, Y, "misread", 4, 0)
    assert same is X
    assert np.sum(np.any(misread != Y, axis=1)) == 25
    assert np.sum(module.contaminated(X, Y, "local", 1.0, 0)[1] != Y) == 125


def test_change_of_the_error_from_ridge(script):
    module = script("synthetic_curves")
    part = list(np.linspace(0.5, 1, len(module.MULTIPLES)))
    automatic = {"norm, automatic": 0.5, "pointwise, automatic": 0.5}
    results = [{"ridge": ridge, "norm": part, "pointwise": part} | automatic for ridge in (1.0, 2.0)]
    line = module.row("local", 1.2, results)
    at = part[module.MULTIPLES.index(1.345)]
    assert line["norm wins"] == "2 of 2"
    assert float(line["norm "].split("±")[0]) == pytest.approx(100 * (0.75 * at - 1), abs=0.05)
    assert line["norm  "] == "-62.5 % at 0.5"
    assert line["norm   "] == "-62.5±12.5 %"


def test_stretches_and_phases_of_expressions(script):
    module = script("landmarks")
    pairs = module.stretches(np.array([1, 1, 0, 0, 1, 0, 1, 1]))
    assert [(before.tolist(), on.tolist()) for before, on in pairs] == [([2, 3], [4]), ([5], [6, 7])]
    faces = np.array([[0.0, 1.0], [1.0, 3.0]])
    np.testing.assert_allclose(module.on_phases(faces), np.stack([module.PHASES, 1 + 2 * module.PHASES], axis=1))
    np.testing.assert_array_equal(module.on_phases(faces[:1]), np.tile(faces[0], (5, 1)))


def test_recorded_faces_are_read(script, tmp_path):
    module = script("landmarks")
    rng = np.random.default_rng(0)
    faces = rng.normal(size=(6, 100, 2))
    np.savez(
        tmp_path / "gfe_landmarks.npz",
        landmarks=faces,
        user=np.array(list("aaabbb")),
        expression=np.array(["x", "x", "x", "y", "y", "y"]),
        target=np.array([0, 0, 1, 1, 0, 1]),
        frame=np.array([0, 4, 8, 0, 4, 8]),
    )
    X, Y = module.read_recorded(tmp_path)
    assert (X.shape, Y.shape) == ((2, 136 + 2), (2, 5, 136))
    np.testing.assert_array_equal(X[:, 136:], np.eye(2))
    eyes = Y.reshape(2, 5, 68, 2)[:, :, 8:16].mean(axis=2)
    np.testing.assert_allclose(eyes, np.broadcast_to([0.65, 0.35], eyes.shape))


def test_faces_by_rank_and_observed_share(script, monkeypatch):
    from mercer.datasets import make_faces

    module = script("landmarks")
    monkeypatch.setattr(module, "RANKS", (1, 136))
    monkeypatch.setattr(module, "FRACTIONS", (1.0, 0.5))
    made = make_faces(20, random_state=0)
    found = module.one_split(made.X, made.Y, made.emotions, Gaussian(), 0)
    assert found["rank 136"] == pytest.approx(found["identity"], rel=1e-6)  # all components are no restriction
    assert found["identity"] < found["rank 1"] < found["mean face"]
    assert found["observed 1"] < found["observed 0.5"] < found["mean face"]


def test_spoiled_curves_keep_holes(script):
    module = script("weather_dti")
    Y = np.random.default_rng(0).normal(size=(20, 4))
    Y[0, 1] = np.nan
    new = module.spoiled(Y, 0)
    touched = np.any((new != Y) & ~np.isnan(Y), axis=1)
    assert touched.sum() == 2
    mean = np.nanmean(Y, axis=0)
    np.testing.assert_allclose(new[touched] - mean, -3 * (Y[touched] - mean))
    assert np.isnan(new[0, 1])
    np.testing.assert_array_equal(module.filled(np.array([[np.nan, 1.0, np.nan, 3.0]])), [[1, 1, 2, 3]])


def test_methods_predict_curves(script):
    module = script("weather_dti")
    X, Y, grid = curves(20, 6)
    Y[0, 3] = np.nan
    for name, method in module.methods(grid).items():
        predicted = method(X[:15], Y[:15], X[15:])
        assert predicted.shape == (5, 6), name
        assert np.all(np.isfinite(predicted)), name


def test_sparsity_of_synthetic_curves_with_the_kernels_as_they_come(script):
    found = script("lip_sparsity").synthetic(0.4, np.array([0.0, 1.0]))
    for geometry in ("norm", "pointwise"):
        part = found[geometry]
        np.testing.assert_allclose(part["errors"][0], found["ridge"], rtol=0.02)  # ε = 0 is ridge
        assert part["zeros"][0] < 0.01
        assert part["zeros"][1] == 1  # at ε_max nothing is left
        assert part["errors"][1] > part["errors"][0]
