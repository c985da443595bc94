"""What a fit says of its own curves, against fits that leave them out."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import r2_score

from mercer import FunctionalRegressor, FunctionalRegressorCV
from mercer.exceptions import DataError, UnsupportedError
from mercer.kernels import Gaussian
from mercer.losses import Huber
from mercer.operator_valued import HarmonicBasis

RNG = np.random.default_rng(0)
X, GRID = RNG.uniform(size=(25, 2)), np.linspace(0, 1, 9)
Y = np.sin(2 * np.pi * (GRID + X[:, :1])) + X[:, 1:] + 0.2 * RNG.normal(size=(25, 9))
VECTORS = np.stack([Y, Y**2], axis=2)
FIXED = {"kernel": Gaussian(2.0), "output_kernel": Gaussian(10.0), "grid": GRID}
ALPHA = 1e-3


def without(row, curves, alpha=ALPHA, **settings):
    """The curve at a row by a fit to the others with the same λn: by hand, without its closed form."""
    others = np.delete(np.arange(len(X)), row)
    n = len(X)
    model = FunctionalRegressor(**(FIXED | {"alpha": alpha * n / (n - 1)} | settings))
    return model.fit(X[others], curves[others]).predict(X[[row]])[0]


@pytest.mark.parametrize("settings", [{"fit_intercept": False}, {"mean_curve": "free"}])
@pytest.mark.parametrize("curves", [Y, VECTORS])
def test_left_out_curves_are_those_of_fits_without_them(settings, curves):
    model = FunctionalRegressor(alpha=ALPHA, **FIXED, **settings).fit(X, curves)
    diagnosis = model.diagnose(X, curves)
    assert diagnosis.left_out.shape == curves.shape
    for row in (0, 7, 24):
        np.testing.assert_allclose(diagnosis.left_out[row], without(row, curves, **settings), rtol=1e-6, atol=1e-8)


def test_a_smooth_mean_curve_is_kept():
    # b is kept when a curve is left out: leaving out is that of curves less b, without another mean curve
    model = FunctionalRegressor(alpha=ALPHA, **FIXED).fit(X, Y)
    b = model.intercept_function_.evaluate(GRID[:, None])
    whole = Gaussian(2.0) + 100.0
    for row in (3, 11):
        expected = b + without(row, Y - b, kernel=whole, fit_intercept=False)
        np.testing.assert_allclose(model.diagnose(X, Y).left_out[row], expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("settings", [{}, {"fit_intercept": False}, {"mean_curve": "free"}])
def test_leverage_is_the_derivative_of_fitted_curves(settings):
    settings = FIXED | settings | {"alpha": 1e-2}
    model = FunctionalRegressor(**settings).fit(X, Y)
    leverage = model.diagnose(X, Y).leverage
    free = settings.get("mean_curve") == "free"
    for row in (2, 20):
        trace = 0.0
        for node in range(len(GRID)):
            moved = Y.copy()
            moved[row, node] += 1.0  # the fit is linear in Y, but for the smoothness of the mean curve
            if not free and settings.get("fit_intercept", True):
                b = model.intercept_function_.evaluate(GRID[:, None])
                other = FunctionalRegressor(**(settings | {"kernel": Gaussian(2.0) + 100.0, "fit_intercept": False}))
                trace += other.fit(X, moved - b).predict(X)[row, node] + b[node] - model.predict(X)[row, node]
            else:
                trace += (FunctionalRegressor(**settings).fit(X, moved).predict(X) - model.predict(X))[row, node]
        assert leverage[row] == pytest.approx(trace, rel=1e-5)


def test_fitted_residuals_and_r2():
    model = FunctionalRegressor(alpha=ALPHA, **FIXED).fit(X, VECTORS)
    diagnosis = model.diagnose(X, VECTORS)
    np.testing.assert_allclose(diagnosis.fitted, model.predict(X))
    np.testing.assert_allclose(diagnosis.residuals, VECTORS - model.predict(X))
    flat, fitted = VECTORS.reshape(25, -1), model.predict(X).reshape(25, -1)
    np.testing.assert_allclose(diagnosis.r2, r2_score(flat, fitted, multioutput="raw_values").reshape(9, 2))
    left_out = diagnosis.left_out.reshape(25, -1)
    np.testing.assert_allclose(diagnosis.r2_left_out.ravel(), r2_score(flat, left_out, multioutput="raw_values"))
    norms = np.sqrt(np.sum((VECTORS - model.predict(X)) ** 2, axis=2) @ model.measure_.weights)
    np.testing.assert_allclose(diagnosis.norms, norms)
    moved = np.sqrt(np.sum((diagnosis.fitted - diagnosis.left_out) ** 2, axis=2) @ model.measure_.weights)
    np.testing.assert_allclose(diagnosis.influence, moved)


def test_weights_and_rows_of_weight_zero():
    weight = RNG.integers(0, 3, size=25).astype(float)
    model = FunctionalRegressor(alpha=ALPHA, mean_curve="free", **FIXED).fit(X, Y, weight)
    diagnosis = model.diagnose(X, Y, weight)
    idle = weight == 0
    np.testing.assert_allclose(diagnosis.left_out[idle], model.predict(X)[idle])
    assert np.all(diagnosis.leverage[idle] == 0)
    assert np.all(diagnosis.leverage[~idle] > 0)
    kept = FunctionalRegressor(alpha=ALPHA, mean_curve="free", **FIXED).fit(X[~idle], Y[~idle], weight[~idle])
    same = kept.diagnose(X[~idle], Y[~idle], weight[~idle])
    np.testing.assert_allclose(diagnosis.left_out[~idle], same.left_out)
    r2 = [r2_score(Y[:, j], diagnosis.fitted[:, j], sample_weight=weight) for j in range(9)]
    np.testing.assert_allclose(diagnosis.r2, r2)


def test_huber_by_norm_is_a_weighted_ridge_regression():
    curves = Y.copy()
    curves[4] += 5.0
    settings = FIXED | {"loss": Huber(kappa=0.3), "tol": 1e-7, "mean_curve": "free"}
    model = FunctionalRegressor(alpha=ALPHA, **settings).fit(X, curves)
    diagnosis = model.diagnose(X, curves)
    assert np.flatnonzero(diagnosis.outlying).tolist() == [4]
    for row in (4, 9):  # an approximation: other weights are kept
        exact = without(row, curves, **(settings | {"alpha": ALPHA * 25 / 24}))
        ours, far = (np.max(np.abs(c - exact)) for c in (diagnosis.left_out[row], diagnosis.fitted[row]))
        assert ours < 0.1 * far + 0.02


@pytest.mark.parametrize("representation", ["eigen", HarmonicBasis(5)])
def test_bases(representation):
    settings = {"representation": representation, "fit_intercept": False}
    if representation != "eigen":
        settings["output_kernel"] = None
    model = FunctionalRegressor(alpha=ALPHA, **(FIXED | settings)).fit(X, Y)
    expected = without(3, Y, **settings)
    np.testing.assert_allclose(model.diagnose(X, Y).left_out[3], expected, rtol=1e-5, atol=1e-7)


def test_a_gram_matrix():
    gram = Gaussian(2.0)(X, X)
    settings = FIXED | {"kernel": "precomputed", "alpha": ALPHA}
    ours = FunctionalRegressor(**settings).fit(gram, Y).diagnose(gram, Y)
    theirs = FunctionalRegressor(alpha=ALPHA, **FIXED).fit(X, Y).diagnose(X, Y)
    np.testing.assert_allclose(ours.left_out, theirs.left_out, rtol=1e-6, atol=1e-8)


def test_a_tuned_model_and_what_it_has_chosen():
    model = FunctionalRegressorCV(Gaussian(2.0), output_kernels=Gaussian(10.0), grid=GRID).fit(X, Y)
    diagnosis = model.diagnose(X, Y)
    errors = 0.5 * np.mean((Y - diagnosis.left_out) ** 2 @ model.measure_.weights)
    assert errors == pytest.approx(model.errors_.min(), rel=1e-6)  # by which λ was chosen


def test_no_closed_form_is_said_with_a_remedy():
    holes = Y.copy()
    holes[0, 0] = np.nan
    diagnosis = FunctionalRegressor(alpha=ALPHA, **FIXED).fit(X, holes).diagnose(X, holes)
    assert np.isnan(diagnosis.residuals[0, 0])
    assert np.all(np.isfinite(diagnosis.fitted))
    assert np.all(np.isfinite(diagnosis.r2))
    with pytest.raises(UnsupportedError, match=r"complete grid.*cross_val_predict"):
        diagnosis.left_out  # noqa: B018
    robust = FunctionalRegressor(alpha=ALPHA, loss="epsilon_ridge", **FIXED).fit(X, Y).diagnose(X, Y)
    with pytest.raises(UnsupportedError, match=r"EpsilonRidge.*cross_val_predict"):
        robust.leverage  # noqa: B018


def test_scattered_curves():
    pairs = [(GRID[i % 3 :], row[i % 3 :]) for i, row in enumerate(Y)]
    model = FunctionalRegressor(alpha=ALPHA, **FIXED).fit(X, pairs)
    diagnosis = model.diagnose(X, pairs)
    np.testing.assert_allclose(diagnosis.fitted[4], model.predict_at(X[[4]], GRID[1:])[0])
    np.testing.assert_allclose(diagnosis.residuals[4], Y[4, 1:] - diagnosis.fitted[4])
    assert diagnosis.norms.shape == diagnosis.outlying.shape == (25,)
    with pytest.raises(UnsupportedError, match="common grid"):
        diagnosis.r2  # noqa: B018


def test_other_curves_are_refused():
    model = FunctionalRegressor(alpha=ALPHA, **FIXED).fit(X, Y)
    with pytest.raises(DataError, match="fitted to"):
        model.diagnose(X, Y[::-1])
    with pytest.raises(DataError, match="fitted to"):
        model.diagnose(X[:20], Y[:20])
    with pytest.raises(DataError, match="inconsistent"):
        model.diagnose(X, Y[:20])
