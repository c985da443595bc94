"""Fits with approximated kernels are fits with kernels: exact where nothing is left out."""

import copy
import pickle

import numpy as np
import pytest

from mercer.estimators import FunctionalRegressor, KernelQuantileRegressor
from mercer.features import Nystroem, RandomFourier
from mercer.kernels import Gaussian, Laplacian, Linear, Matern
from mercer.losses import Square
from mercer.measures import GaussLegendre
from mercer.operator_valued import Decomposable, FeatureExpansion
from mercer.problems import DualProblem
from mercer.solvers import ClosedForm
from mercer.testing import check_operator_valued_kernel

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(60, 2))
Y = np.sin(3 * X[:, :1] + np.linspace(0, 1, 4)) + 0.1 * RNG.normal(size=(60, 4))
NEW = RNG.uniform(-1, 1, size=(25, 2))
MU = GaussLegendre(4).build()


def fitted(kernel, alpha=1e-3, output_kernel=None):
    bound = Decomposable(kernel, output_kernel or Gaussian(2.0)).bind(MU)
    problem = DualProblem(bound.gram(X), Square(), Y, MU, alpha)
    result = ClosedForm().solve(problem)
    return bound.expand(X, problem.primal_coef(result.coef))


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Matern(1.5, 1.0), Gaussian(2.0) + Linear() + 1.0], ids=repr)
def test_all_rows_as_landmarks_give_the_exact_fit(kernel):
    exact, made = fitted(kernel), fitted(Nystroem(60).bind(kernel, X))
    assert isinstance(made, FeatureExpansion)
    assert made.coef.shape[0] <= 60
    np.testing.assert_allclose(made.evaluate(NEW, MU.points), exact.evaluate(NEW, MU.points), atol=1e-8)


def test_many_frequencies_give_the_exact_fit():
    exact = fitted(Gaussian(1.0)).evaluate(NEW, MU.points)
    errors = []
    for size in (30, 300, 3000):
        made = [fitted(RandomFourier(size, random_state=seed).bind(Gaussian(1.0), X)) for seed in range(4)]
        errors.append(np.sqrt(np.mean([(one.evaluate(NEW, MU.points) - exact) ** 2 for one in made])))
    assert errors[2] < 0.01 * np.max(np.abs(exact))
    assert errors[2] < errors[1] / 2 < errors[0] / 3


@pytest.mark.parametrize("approximation", [RandomFourier(20, random_state=0), Nystroem(15, random_state=0)], ids=repr)
def test_primal_and_dual_are_one_fit(approximation):
    # with one node of weight 1 it is plain ridge regression in features, (ΦᵀΦ/n + λ)w = Φᵀy/n
    kernel = approximation.bind(Gaussian(1.0), X)
    features, alpha = kernel.features(X), 1e-3
    mu = GaussLegendre(1).build()
    bound = Decomposable(kernel, Gaussian(1.0)).bind(mu)
    problem = DualProblem(bound.gram(X), Square(), Y[:, :1], mu, alpha)
    dual = bound.expand(X, problem.primal_coef(ClosedForm().solve(problem).coef))
    shifted = features.T @ features / len(X) + alpha * np.eye(features.shape[1])
    primal = np.linalg.solve(shifted, features.T @ Y[:, :1] / len(X))
    np.testing.assert_allclose(dual.evaluate(NEW, mu.points), kernel.features(NEW) @ primal, atol=1e-9)


@pytest.mark.parametrize("approximation", [RandomFourier(20, random_state=0), Nystroem(15, random_state=0)], ids=repr)
@pytest.mark.parametrize("kernel", [Gaussian("median"), Laplacian(1.0) + Linear()], ids=repr)
def test_it_keeps_the_contract_of_operator_valued_kernels(approximation, kernel):
    made = approximation.bind(kernel, X)
    theta = approximation.replace(random_state=1).bind(Gaussian(3.0), np.linspace(0, 1, 30)[:, None])
    check_operator_valued_kernel(Decomposable(made, theta), MU, X[:7])


@pytest.mark.parametrize("approximation", [RandomFourier(20, random_state=0), Nystroem(15, random_state=0)], ids=repr)
def test_states_go_round(approximation):
    theta = approximation.bind(Gaussian(3.0), np.linspace(0, 1, 30)[:, None])
    h = fitted(approximation.bind(Matern(1.5, 1.0), X), output_kernel=theta)
    twin = FeatureExpansion.from_state(copy.deepcopy(h.state()))
    np.testing.assert_array_equal(twin.evaluate(NEW, MU.points), h.evaluate(NEW, MU.points))
    np.testing.assert_array_equal(twin.slope(NEW, MU.points), h.slope(NEW, MU.points))
    assert pickle.loads(pickle.dumps(h)).norm == h.norm


def test_estimators_take_it_as_a_kernel():
    y = np.sin(3 * X[:, 0]) + 0.3 * RNG.normal(size=60)
    exact = KernelQuantileRegressor(kernel=Gaussian(1.0), alpha=1e-3, stages="joint").fit(X, y)
    kernel = Nystroem(60).bind(Gaussian(1.0), X)
    made = KernelQuantileRegressor(kernel=kernel, alpha=1e-3, stages="joint").fit(X, y)
    assert made.relative_gap_ <= 1e-3
    assert isinstance(made.expansion_, FeatureExpansion)
    np.testing.assert_allclose(made.predict(NEW), exact.predict(NEW), atol=0.05)  # both to a gap of 1e-3
    curves = FunctionalRegressor(kernel=RandomFourier(50, random_state=0).bind(Gaussian(1.0), X)).fit(X, Y)
    assert curves.predict(NEW).shape == (25, 4)
