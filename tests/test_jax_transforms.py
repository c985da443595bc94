"""Predictions of models made of JAX arrays inside jit, grad and vmap, where JAX is installed."""

import numpy as np
import pytest

from mercer import CostSensitiveClassifier, FunctionalRegressor, KernelQuantileRegressor
from mercer.datasets import make_sine
from mercer.exceptions import DataError
from mercer.kernels import Gaussian, Matern
from mercer.measures import GaussLegendre

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)
jnp = jax.numpy

X, Y = (jnp.asarray(array) for array in make_sine(10, random_state=0))
NEW = jnp.asarray([[0.31], [0.84], [1.12]])
GRID = np.linspace(0, 1, 5)
SETTINGS = {"alpha": 0.1, "measure": GaussLegendre(3), "tol": 0.1}
THETA = [0.2, 0.7]
MODELS = {
    "quantiles": KernelQuantileRegressor(**SETTINGS).fit(X, Y),
    "unsorted": KernelQuantileRegressor(Matern(1.5, 1.0), noncrossing=None, **SETTINGS).fit(X, Y),
    "costs": CostSensitiveClassifier(**SETTINGS).fit(X, Y > 0),
    "curves": FunctionalRegressor(Gaussian(2.0), grid=GRID, output_kernel=Gaussian(2.0), alpha=1e-3).fit(
        X, jnp.sin(3 * (GRID + X))
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_jit_predicts_the_same(name):
    model = MODELS[name]
    for call in (model.predict, lambda new: model.predict_at(new, THETA)):
        np.testing.assert_allclose(np.asarray(jax.jit(call)(NEW)), np.asarray(call(NEW)), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("compiled", [False, True])
def test_gradients_are_those_of_differences(name, compiled):
    model, step = MODELS[name], 1e-5

    def total(new):
        return jnp.sum(model.predict_at(new, THETA))

    gradient = (jax.jit if compiled else lambda function: function)(jax.grad(total))(NEW)
    for i in range(NEW.shape[0]):
        move = step * (jnp.arange(NEW.shape[0]) == i)[:, None]
        expected = float(total(NEW + move) - total(NEW - move)) / (2 * step)
        assert float(gradient[i, 0]) == pytest.approx(expected, rel=1e-4, abs=1e-6)


def test_every_word_of_a_prediction():
    quantiles, costs = MODELS["quantiles"], MODELS["costs"]
    curves = MODELS["curves"]
    calls = [
        *(lambda new: quantiles.predict_quantile(new, THETA), quantiles.predict_interval, quantiles.predict_mean),
        lambda new: quantiles.predict_cdf(new, 0.3),
        *(costs.predict_proba, costs.decision_function, lambda new: costs.predict(new, cost=[0.2, 0.5, 0.9])),
        lambda new: curves.predict_derivative(new, [0.3, 0.6]),
    ]
    for call in calls:
        np.testing.assert_allclose(np.asarray(jax.jit(call)(NEW)), np.asarray(call(NEW)), rtol=1e-8, atol=1e-9)


def test_vmap_over_rows():
    model = MODELS["quantiles"]
    one = jax.vmap(lambda row: model.predict_at(row[None, :], THETA)[0])(NEW)
    np.testing.assert_allclose(np.asarray(one), np.asarray(model.predict_at(NEW, THETA)), rtol=1e-9)


def test_what_can_be_seen_is_still_checked():
    model = MODELS["quantiles"]
    with pytest.raises(DataError, match="NaN or infinity"):
        model.predict(NEW * jnp.nan)
    with pytest.raises(DataError, match="2 features"):
        jax.jit(model.predict)(jnp.ones((3, 2)))
    with pytest.raises(DataError, match="same namespace"):
        jax.jit(KernelQuantileRegressor(**SETTINGS).fit(np.asarray(X), np.asarray(Y)).predict)(NEW)
