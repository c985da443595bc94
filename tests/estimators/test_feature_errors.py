"""λ of features: their left-out errors in closed form, and that it is better than the λ of the kernel."""

import numpy as np
import pytest

from mercer import CostSensitiveClassifier, FunctionalRegressor, KernelQuantileRegressor, VectorValuedRegressor
from mercer.estimators import feature_errors, regularisation
from mercer.estimators.approximation import compare
from mercer.estimators.feature_errors import errors_of_features
from mercer.estimators.regularisation import alpha_of_features, choose_alpha
from mercer.features import Nystroem, RandomFourier
from mercer.kernels import Gaussian
from mercer.losses import Square
from mercer.measures import Points
from mercer.operator_valued import Decomposable
from mercer.problems import DualProblem
from mercer.solvers import leave_one_out_errors

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(300, 5))
Y = np.stack([np.sin(3 * X[:, 0]), X[:, 1] * X[:, 2]], axis=1) + 0.1 * RNG.normal(size=(300, 2))
NEW = RNG.uniform(-1, 1, size=(1000, 5))
TRUTH = np.stack([np.sin(3 * NEW[:, 0]), NEW[:, 1] * NEW[:, 2]], axis=1)
FEW = RandomFourier(60, random_state=0)


@pytest.mark.parametrize("weight", [None, RNG.uniform(0.5, 2, size=300)], ids=["alike", "weights"])
@pytest.mark.parametrize("intercept", [True, False])
def test_errors_are_those_of_the_dual_problem(weight, intercept):
    measure = Points([0.0, 1.0], [1.0, 3.0]).build()
    bound = Decomposable(FEW.bind(Gaussian(0.5), X), Gaussian(0.3)).bind(measure)
    alphas = np.logspace(-6, 0, 5)
    found = errors_of_features(bound, X, Y, weight, intercept, alphas, 300)
    problem = DualProblem(bound.gram(X), Square(), Y, measure, 1.0, weight, intercept)
    np.testing.assert_allclose(found, leave_one_out_errors(problem, alphas), rtol=1e-6)


def test_errors_are_those_of_rows_that_were_left_out():
    bound = Decomposable(FEW.bind(Gaussian(0.5), X), Gaussian(0.3)).bind(Points([0.0], [1.0]).build())
    phi, alpha, y = bound.kernel.features(X), 1e-3, Y[:, 0]
    left_out = []
    for i in range(10):
        rest = np.arange(300) != i  # λn stays
        solved = np.linalg.solve(phi[rest].T @ phi[rest] + 300 * alpha * np.eye(phi.shape[1]), phi[rest].T @ y[rest])
        left_out.append(0.5 * (y[i] - phi[i] @ solved) ** 2)
    equations = feature_errors.NormalEquations(bound.kernel, bound.measure, fit_intercept=False)
    path = equations.update((X, y)).solve([alpha])
    found = path.leave_one_out_errors(feature_errors.ArrayRows(X[:10], y[:10]))
    assert found[0] == pytest.approx(np.mean(left_out), rel=1e-8)


def test_of_many_rows_some_are_judged(monkeypatch):
    bound = Decomposable(FEW.bind(Gaussian(0.5), X), Gaussian(0.3)).bind(Points([0.0, 1.0], [1.0, 1.0]).build())
    alphas = np.array([1e-4, 1e-2])
    whole, some = (errors_of_features(bound, X, Y, None, True, alphas, judged) for judged in (300, 100))
    np.testing.assert_allclose(some, whole, rtol=0.3)
    assert not np.allclose(some, whole, rtol=1e-6)
    monkeypatch.setattr(feature_errors, "FEATURE_ROWS", 200)
    assert np.all(errors_of_features(bound, X, Y, None, True, alphas, 100) != some)


def test_features_that_outnumber_rows_take_the_matrix_of_rows(monkeypatch):
    monkeypatch.setattr(feature_errors, "NormalEquations", None)  # D² numbers
    many = RandomFourier(200, random_state=0).bind(Gaussian(0.5), X)
    bound = Decomposable(many, Gaussian(0.3)).bind(Points([0.0, 1.0], [1.0, 1.0]).build())
    alphas = np.array([1e-4, 1e-2])
    problem = DualProblem(bound.gram(X), Square(), Y, bound.measure, 1.0, None, True)
    found = errors_of_features(bound, X, Y, None, True, alphas, 100)
    np.testing.assert_allclose(found, leave_one_out_errors(problem, alphas), rtol=1e-12)
    monkeypatch.setattr(regularisation, "MOST_ROWS", 100)
    one = Decomposable(many, Gaussian(0.3)).bind(Points([0.5], [1.0]).build())
    few = X[np.linspace(0, 299, 100).round().astype(int)], Y[np.linspace(0, 299, 100).round().astype(int), 0]
    parts = ("auto", one, 1), (None, True, 100)
    alpha, of_few = (choose_alpha(None, *parts[0], *rows, *parts[1]) for rows in ((X, Y[:, 0]), few))
    assert alpha == pytest.approx(of_few, rel=0.2)


@pytest.mark.parametrize("estimator", [KernelQuantileRegressor, CostSensitiveClassifier])
def test_quantiles_and_costs_choose_by_all_rows(monkeypatch, estimator):
    """Few rows need a larger λ than many: all of them, not those that are judged, are learned from."""
    rows = np.random.default_rng(1).uniform(-1, 1, size=(3000, 5))
    y = np.sin(3 * rows[:, 0]) + 0.3 * np.random.default_rng(2).normal(size=3000)
    y = y > 0 if estimator is CostSensitiveClassifier else y
    model, found = estimator(Gaussian(1.0), approximation=FEW, tol=1e-1, measure=Points([0.3, 0.7])), []
    for learned_from in (100_000, 300):
        monkeypatch.setattr(feature_errors, "FEATURE_ROWS", learned_from)
        found.append(model.fit(rows, y).alpha_)
    assert found[0] < found[1]


@pytest.mark.parametrize(
    ("gamma", "n_frequencies", "larger", "gain"), [(2.0, 100, True, 0.97), (0.3, 60, False, 0.7)], ids=["up", "down"]
)
def test_frequencies_predict_better_with_an_alpha_of_their_own(gamma, n_frequencies, larger, gain):
    features = RandomFourier(n_frequencies, random_state=0)
    exact = VectorValuedRegressor(Gaussian(gamma), approximation=None).fit(X, Y)
    own = VectorValuedRegressor(Gaussian(gamma), approximation=features).fit(X, Y)
    given = VectorValuedRegressor(Gaussian(gamma), alpha=exact.alpha_, approximation=features).fit(X, Y)
    assert given.alpha_ == exact.alpha_ != own.alpha_
    assert (own.alpha_ > exact.alpha_) == larger
    errors = [np.mean((model.predict(NEW) - TRUTH) ** 2) for model in (own, given)]
    assert errors[0] < gain * errors[1]


def test_the_report_compares_each_with_its_own_alpha():
    few = FEW.bind(Gaussian(2.0), X)
    lost = [compare(few, few, FEW, X, Y, *alphas).lost_accuracy for alphas in ((1e-4, 1.0), (1.0, 1e-4), (1e-2,))]
    assert abs(lost[0]) > 0.05
    assert (1 + lost[0]) * (1 + lost[1]) == pytest.approx(1)
    assert lost[2] == 0


def test_features_that_leave_nothing_out_have_the_alpha_of_the_kernel():
    for estimator, targets in (
        (VectorValuedRegressor(Gaussian(0.5)), Y),
        (FunctionalRegressor(Gaussian(0.5), output_kernel=Gaussian(2.0), grid=[0.0, 1.0], mean_curve="free"), Y),
    ):
        exact = estimator.set_params(approximation=None).fit(X, targets).alpha_
        assert estimator.set_params(approximation=Nystroem(300)).fit(X, targets).alpha_ == exact


def test_no_other_alpha_is_taken_for_nothing(monkeypatch):
    bound = Decomposable(FEW.bind(Gaussian(0.5), X), Gaussian(0.3)).bind(Points([0.0], [1.0]).build())
    near = np.full(len(regularisation.ALPHA_FACTORS) + 1, 1 - 1.5 / 300)
    near[-1] = 1.0
    monkeypatch.setattr(regularisation, "errors_of_features", lambda *parts: near)
    assert alpha_of_features(bound, X, Y[:, :1], None, True, 0.125) == 0.125
    near[3:5] = 1 - 2.5 / 300
    assert alpha_of_features(bound, X, Y[:, :1], None, True, 0.125) == 0.125 * regularisation.ALPHA_FACTORS[4]


def test_robust_losses_and_missing_targets_keep_that_of_the_kernel():
    holes = np.where(np.arange(600).reshape(300, 2) % 7 == 0, np.nan, Y)
    for settings, targets in (({"loss": "huber"}, Y), ({}, holes)):
        model = VectorValuedRegressor(Gaussian(0.5), **settings)
        exact = model.set_params(approximation=None).fit(X, targets).alpha_
        assert model.set_params(approximation=FEW).fit(X, targets).alpha_ == exact
