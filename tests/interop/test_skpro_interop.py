"""Quantile fits as regressors of skpro, by its own checks and against integrals; skipped where it is not installed."""

import doctest
import subprocess
import sys
import warnings

import numpy as np
import pytest
from scipy.integrate import quad
from sklearn.base import clone

from mercer import ConformalQuantileRegressor, KernelQuantileRegressor, KernelQuantileRegressorCV
from mercer.datasets import make_sine

pytest.importorskip("skpro", reason='mercer.interop.skpro needs skpro: pip install "mercer[skpro]"')
pd = pytest.importorskip("pandas")
skpro_interop = pytest.importorskip("mercer.interop.skpro")
QuantileDistribution, QuantileProbaRegressor = skpro_interop.QuantileDistribution, skpro_interop.QuantileProbaRegressor

LEVELS = np.array([0.05, 0.3, 0.6, 0.9])
VALUES = np.array([[-1.0, 0.0, 0.0, 2.0], [0.5, 1.0, 3.0, 3.5]])
PLAIN = KernelQuantileRegressor("gaussian", alpha=0.1)


def table(n=60, seed=0):
    X, y = make_sine(n, random_state=seed)
    return pd.DataFrame({"x": X[:, 0]}), pd.DataFrame({"volt": y})


def test_nothing_imports_it():
    code = "import sys, mercer; mercer.KernelQuantileRegressor; print('skpro' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("kind", [QuantileDistribution, QuantileProbaRegressor])
def test_checks_of_skpro(kind):
    from skpro.utils import check_estimator

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(kind, raise_exceptions=False, verbose=False)
    assert len(results) > 50
    assert {name: result for name, result in results.items() if result != "PASSED"} == {}


def test_examples_run():
    found = doctest.testmod(skpro_interop)
    assert found.attempted > 5
    assert found.failed == 0


def integral(i, function):
    """∫₀¹ of a function of Q_i(θ), numerically, with the straight pieces of NumPy."""
    value, _ = quad(lambda u: function(np.interp(u, LEVELS, VALUES[i])), 0, 1, points=LEVELS, limit=400)
    return value


@pytest.mark.parametrize("i", [0, 1])
def test_moments_and_energies_are_integrals(i):
    law = QuantileDistribution(LEVELS, VALUES)
    mean = integral(i, lambda q: q)
    assert law.mean().iloc[i, 0] == pytest.approx(mean, abs=1e-7)
    assert law.var().iloc[i, 0] == pytest.approx(integral(i, lambda q: (q - mean) ** 2), abs=1e-7)
    for x in (-2.0, 0.0, 0.7, 3.2, 9.0):
        found = law.energy(np.full((2, 1), x)).iloc[i, 0]
        assert found == pytest.approx(integral(i, lambda q, x=x: abs(q - x)), abs=1e-6)
    u = (np.arange(4000) + 0.5) / 4000
    q = np.interp(u, LEVELS, VALUES[i])
    assert law.energy().iloc[i, 0] == pytest.approx(np.abs(q[:, None] - q).mean(), abs=1e-3)


def test_densities_are_slopes_of_the_cdf():
    law, step = QuantileDistribution(LEVELS, VALUES), 1e-6
    for x in (-0.7, 0.9, 1.3, 3.1):
        at = np.full((2, 1), x)
        slope = (law.cdf(at + step).to_numpy() - law.cdf(at - step).to_numpy()) / (2 * step)
        np.testing.assert_allclose(law.pdf(at).to_numpy(), slope, atol=1e-8)


def test_the_score_of_skpro_is_its_definition():
    from skpro.metrics import CRPS

    X, y = table()
    law = QuantileProbaRegressor(PLAIN).fit(X, y).predict_proba(X[:3])
    expected = [
        quad(lambda z, i=i: (law.iloc[[i]].cdf(np.array([[z]])).iloc[0, 0] - (z >= y.iloc[i, 0])) ** 2, -6, 6,
             points=[y.iloc[i, 0]], limit=400)[0]
        for i in range(3)
    ]  # fmt: skip
    assert CRPS()(y[:3], law) == pytest.approx(np.mean(expected), rel=1e-3)


@pytest.mark.parametrize(
    "estimator",
    [
        PLAIN,
        ConformalQuantileRegressor(PLAIN, random_state=0),
        KernelQuantileRegressorCV("gaussian", alphas=[1e-2, 1e-1], cv=2),
    ],
)
def test_predictions_are_those_of_the_estimator(estimator):
    (X, y), (new, _) = table(), table(7, seed=1)
    model = QuantileProbaRegressor(estimator).fit(X, y)
    same = clone(estimator).fit(X, y["volt"])
    levels = [0.2, 0.5, 0.9]
    found = model.predict_quantiles(new, alpha=levels)
    assert list(found.columns) == [("volt", level) for level in levels]
    np.testing.assert_allclose(found.to_numpy(), same.predict_function(new).rearranged()(levels), rtol=1e-10)
    law = model.predict_proba(new)
    for j, level in enumerate(levels):
        np.testing.assert_allclose(law.ppf(np.full((7, 1), level)).to_numpy()[:, 0], found.to_numpy()[:, j], rtol=1e-10)
    np.testing.assert_allclose(model.predict(new).to_numpy(), law.mean().to_numpy(), rtol=1e-10)


def test_in_pipelines_and_with_text_and_holes():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=40), "town": rng.choice(["Oslo", "Rome"], 40)})
    X.loc[3, "a"] = np.nan
    y = pd.DataFrame({"y": rng.normal(size=40)}, index=X.index)
    law = QuantileProbaRegressor(PLAIN).fit(X, y).predict_proba(X)
    assert law.shape == (40, 1)
    assert np.isfinite(law.mean().to_numpy()).all()
