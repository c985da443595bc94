"""The array-API part of the house on JAX arrays, where JAX is installed: the same source, the same numbers."""

import numpy as np
import pytest

from mercer import KernelQuantileRegressor
from mercer.datasets import make_sine
from mercer.kernels import Gaussian, Matern
from mercer.losses import EpsilonInsensitive, EpsilonRidge, Expectile, Huber, MoreauPinball, Pinball, Square
from mercer.measures import GaussLegendre
from mercer.operator_valued import Decomposable
from mercer.problems import DualProblem
from mercer.solvers import ClosedForm, ProximalGradient

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    "loss",
    [
        *(Square(), Pinball(), MoreauPinball(0.3), Expectile()),
        *(Huber(0.3, "norm"), EpsilonRidge(0.1, "pointwise"), EpsilonInsensitive(0.1, "norm")),
    ],
    ids=repr,
)
def test_solvers_agree_with_numpy(loss, intercept):
    X, y = make_sine(15, random_state=0)
    solver = ClosedForm() if isinstance(loss, Square) else ProximalGradient(1e-4)
    answers = []
    for convert in (np.asarray, jax.numpy.asarray):
        measure = GaussLegendre(4).build(convert(X))
        gram = Decomposable(0.5 * Gaussian(3.0) + Matern(1.5, 1.0), Gaussian(5.0)).bind(measure).gram(convert(X))
        Y = convert(y)[:, None] * (1 + measure.locations[None, :])
        answers.append(solver.solve(DualProblem(gram, loss, Y, measure, 1e-2, fit_intercept=intercept)))
    ours, theirs = answers
    assert isinstance(theirs.coef, jax.Array)
    assert theirs.converged
    np.testing.assert_allclose(np.asarray(theirs.coef), ours.coef, atol=1e-10)
    assert theirs.objective == pytest.approx(ours.objective, rel=1e-12)


def test_estimator_follows_the_type_of_X():
    X, y = make_sine(20, random_state=0)
    settings = {"alpha": 1e-2, "measure": GaussLegendre(5), "solver": "proximal_gradient"}
    ours = KernelQuantileRegressor(**settings).fit(X, y)
    theirs = KernelQuantileRegressor(**settings).fit(jax.numpy.asarray(X), jax.numpy.asarray(y))
    predicted = theirs.predict_quantile(jax.numpy.asarray(X), [0.1, 0.5, 0.9])
    assert isinstance(predicted, jax.Array)
    np.testing.assert_allclose(np.asarray(predicted), ours.predict_quantile(X, [0.1, 0.5, 0.9]), atol=1e-8)
