"""The scripts of reproduce/ on vectors: published figures that need no data, and what the scripts compute."""

from __future__ import annotations

import gzip
import importlib
from pathlib import Path

import numpy as np
import pytest

from mercer.kernels import Gaussian

pytest.importorskip("matplotlib")


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent.parent / "reproduce"))
    return importlib.import_module


@pytest.mark.parametrize("name", ["linear, white", "exp, white", "exp, Toeplitz", "sine, Toeplitz"])
def test_least_squares_has_the_published_errors(script, name):
    """The simulated series are the published ones: six digits agree."""
    released, module = script("released_series"), script("autoregression")
    setting, published = released.SIMULATED[name]
    found = module.error(released.simulate(setting), published.window, 1, module.least_squares)
    assert found == pytest.approx(published.linear, abs=6e-7)


def test_windows_keep_what_was_tuned(script):
    """Coefficients are those of the regressor itself at the window that was tuned on, and follow the next windows."""
    released, module = script("released_series"), script("autoregression")
    Y = released.simulate(released.SIMULATED["exp, white"][0], 50)[:, :2]
    fit = module.tuned(5)
    first, second = fit(Y[:40]), fit(Y[1:41])
    model = module.VectorAutoRegressor().fit(Y[:40])
    np.testing.assert_allclose(first(Y[39:49]), model.predict(Y[39:]), rtol=1e-6)
    assert np.abs(second(Y[39:]) - first(Y[39:])).max() > 0


def test_early_stopping_is_near_the_minimum(script):
    """L-BFGS approaches the minimum where λ is large, and windows are standardised there and back."""
    module = script("autoregression")
    Y = np.cumsum(np.random.default_rng(0).normal(size=(30, 2)), axis=0)
    fits = [module.standardising(make(Gaussian(0.1), 3.0))(Y) for make in (module.minimum, module.stopped_early)]
    np.testing.assert_allclose(fits[0](Y), fits[1](Y), atol=1e-2)


def test_random_features_have_the_gaussian_kernel(script):
    X = np.random.default_rng(0).normal(size=(20, 5))
    kernel = script("autoregression").random_features(20_000, 0)
    np.testing.assert_allclose(kernel(X), Gaussian(0.5)(X), atol=0.05)


def test_climate_and_macrodata_are_read_as_released(script, tmp_path):
    released = script("released_series")
    names = "YEAR,MONTH,LAT,LONG,A,B"
    lines = [
        f"1990,{month % 12 + 1},{site},0,{month + site},{'' if month == 3 else 1.0}"
        for site in (0, 1)
        for month in range(156)
    ]
    (tmp_path / "climate_na_1990_2002.csv.gz").write_bytes(gzip.compress("\n".join([names, *lines]).encode()))
    Y = released.climate(tmp_path)
    assert Y.shape == (2 * 155, 2)
    np.testing.assert_allclose(Y[:155], Y[155:])  # stations are standardised by themselves
    np.testing.assert_array_equal(Y[:, 1], 0)  # constant, and what is missing is the mean
    heads = "year,quarter,realgdp,realcons,realinv,realdpi,cpi,pop"
    (tmp_path / "macrodata.csv").write_text("\n".join([heads, "1959,1,1,2,3,4,5,6", "1959,2,1,2,3,4,5,6"]))
    np.testing.assert_array_equal(released.macrodata(tmp_path), [[3, 5], [3, 5]])


def test_features_and_kernel_are_one(script):
    module = script("primal_dual")
    for length in module.LENGTHS.values():
        row = module.compare(length, 1e-2)
        assert max(row["dual"], row["explicit"], row["kernel"], row["rest"]) < 1e-10
    assert "explicit" not in module.compare(0.3, 0.0)


def test_a_graph_helps_where_few_rows_have_labels(script):
    module = script("semi_supervised")
    X, label = module.moons(0)
    found = module.errors(X, label, 3, 0)
    assert found["graph"] < found["no graph"]
    known = module.labelled(label, 3, 0)
    assert np.bincount(label[known]).tolist() == [3, 3]


def test_made_field_is_a_gradient(script):
    """A curl-free model finds nearly all of it, one without sources does not."""
    module = script("structured_outputs")
    X, Y, test, truth = module.made_field(2.0, 60, 300, seed=0)
    assert module.r2(truth, truth) == 1
    fits = {kernel: module.VectorFieldRegressor(kernel).fit(X, Y) for kernel in ("curl-free", "divergence-free")}
    scores = {kernel: module.r2(model.predict(test), truth) for kernel, model in fits.items()}
    assert scores["curl-free"] > 0.99
    assert scores["divergence-free"] < 0.9


def test_sarcos_draws_one_torque_a_row_and_leaves_out(script):
    module = script("sarcos")
    rng = np.random.default_rng(0)
    X, y, task = rng.normal(size=(70, 21)), rng.normal(size=70), np.repeat(np.arange(7), 10)
    inputs, Y = module.drawn(X, y, task, 4, seed=0)
    assert inputs.shape == (28, 21)
    np.testing.assert_array_equal((~np.isnan(Y)).sum(axis=1), 1)
    np.testing.assert_array_equal((~np.isnan(Y)).sum(axis=0), 4)
    K = Gaussian(0.02)(X)
    brute = []
    for shift in module.SHIFTS:
        left = []
        for i in range(len(y)):
            keep = np.arange(len(y)) != i
            left.append(y[i] - K[i, keep] @ np.linalg.solve(K[np.ix_(keep, keep)] + shift * np.eye(69), y[keep]))
        brute.append(np.mean(np.square(left)))
    assert module.left_out_error(K, y) == pytest.approx(min(brute), rel=1e-6)
    for matrices in module.candidates(rng.normal(size=(30, 7))).values():
        assert all(np.trace(matrix) == pytest.approx(7) for matrix in matrices)


def test_kernel_ridge_of_numbers_interpolates(script):
    x = np.linspace(-1, 1, 30)[:, None]
    y = np.sin(5 * x[:, 0])
    np.testing.assert_allclose(script("missing_targets").kernel_ridge(x, y)(x), y, atol=1e-3)


def test_river_flow_hides_targets(script):
    module = script("missing_targets")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(140, 3))
    data = X, X @ rng.normal(size=(3, 2))
    runs = module.river_draw(data, data, 40, 0.5, seed=0)
    assert set(runs) == {"independent", "learned Γ", "ridge", "kernel ridge"}
    assert all(run["held out"] < 30 for run in runs.values())


def test_drawn_fields_have_no_curl_or_no_sources(script):
    """Differences of neighbours on the grid: what a field has not is small beside what it has."""
    module = script("pictures")
    for kind, curled in ((module.CurlFree, False), (module.DivergenceFree, True)):
        points, vectors = module.drawn_field(kind(module.Gaussian(1.0)), seed=0)
        step, field = points[1, 0] - points[0, 0], vectors.reshape(module.SIDE, module.SIDE, 2)
        along = [np.gradient(field[..., k], step, axis=(1, 0)) for k in range(2)]
        curl, sources = (along[1][0] - along[0][1])[1:-1, 1:-1], (along[0][0] + along[1][1])[1:-1, 1:-1]
        there, absent = (curl, sources) if curled else (sources, curl)
        assert np.abs(absent).mean() < 0.05 * np.abs(there).mean()
