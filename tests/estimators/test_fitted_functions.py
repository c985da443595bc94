"""What a fitted model consists of: an expansion, an intercept function and public attributes, enough to predict."""

import dataclasses
import pickle
import tracemalloc
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from mercer import (
    ConformalQuantileRegressor,
    CostSensitiveClassifier,
    FunctionalRegressor,
    FunctionalRegressorCV,
    KernelQuantileRegressor,
    KernelQuantileRegressorCV,
    LevelSetDetector,
)
from mercer._state import Stateful, is_plain
from mercer.estimators.intercept_function import InterceptFunction
from mercer.estimators.outputs import Outputs
from mercer.exceptions import DataError, ParameterError, ParameterTypeError, UnsupportedError
from mercer.kernels import FeatureKernel, FunctionKernel, Gaussian, Precomputed
from mercer.losses import Square
from mercer.measures import Grid, Measure, Points
from mercer.operator_valued import (
    Decomposable,
    Expansion,
    FeatureExpansion,
    HarmonicBasis,
    KernelExpansion,
    MatrixValuedKernel,
    OperatorValuedKernel,
    ScatteredExpansion,
)
from mercer.problems import DualProblem
from mercer.solvers import select

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(40, 1))
Z = np.linspace(0, 1, 7)[:, None]
y = np.sin(6 * X[:, 0]) + (0.2 + X[:, 0]) * RNG.normal(size=40)
GRID = np.linspace(0, 1, 9)
CURVES = np.sin(2 * np.pi * (GRID + X)) + 0.1 * RNG.normal(size=(40, 9))
SCATTERED = [(np.sort(RNG.uniform(size=5)), RNG.normal(size=5)) for _ in range(40)]
LEVELS = Points([0.1, 0.4, 0.8])
A = np.array([[2.0, 0.5], [0.5, 1.0]])


def waves(x):
    return np.hstack([np.cos(k * x) for k in range(6)] + [np.sin(k * x) for k in range(1, 6)])


def quantiles(**settings):
    return KernelQuantileRegressor(**{"alpha": 1e-2, "measure": LEVELS} | settings)


MODELS = {
    "quantiles": (quantiles(), y),
    "quantiles, features": (quantiles(kernel=FeatureKernel(waves)), y),
    "quantiles, sum of features": (quantiles(kernel=FeatureKernel(waves) + 2.0 * FeatureKernel(np.cbrt) + 1.0), y),
    "quantiles, slopes": (quantiles(noncrossing="penalty"), y),
    "quantiles, guarantee": (quantiles(noncrossing="guarantee"), y),
    "quantiles, tuned": (KernelQuantileRegressorCV(alphas=[1e-2, 1.0], measure=LEVELS, cv=3), y),
    "quantiles, calibrated": (ConformalQuantileRegressor(quantiles(), random_state=0), y),
    "costs": (CostSensitiveClassifier(alpha=1e-2, measure=LEVELS), y > 0),
    "level sets": (LevelSetDetector(), None),
    "level sets, coupled": (LevelSetDetector(coupling=0.1, nested=True), None),
    "level sets, features": (LevelSetDetector(FeatureKernel(waves)), None),
    "curves": (FunctionalRegressor(alpha=1e-3, grid=GRID), CURVES),
    "curves, no mean": (FunctionalRegressor(alpha=1e-3, grid=GRID, fit_intercept=False), CURVES),
    "curves, features": (FunctionalRegressor(FeatureKernel(waves), alpha=1e-3, grid=GRID), CURVES),
    "curves, basis": (
        FunctionalRegressor(
            alpha=1e-3, grid=Grid(GRID[:-1]), representation=HarmonicBasis(3), fit_intercept=False, loss="huber"
        ),
        CURVES[:, :-1],
    ),
    "curves, scattered": (FunctionalRegressor(alpha=1e-3), SCATTERED),
    "curves, tuned": (FunctionalRegressorCV(grid=GRID, alphas=[1e-3, 1e-1]), CURVES),
    "vectors": (FunctionalRegressor(alpha=1e-3), CURVES[:, :3]),
}


@pytest.fixture(scope="module")
def fitted():
    models = {}
    for name, (model, target) in MODELS.items():
        models[name] = clone(model).fit(X) if target is None else clone(model).fit(X, target)
    return models


def can_be_written(value):
    """Plain, or with a plain state; an estimator within another consists of such values itself."""
    if isinstance(value, list):
        return all(map(can_be_written, value))
    plain = is_plain(value.state() if isinstance(value, Stateful) else value)
    return plain or isinstance(value, KernelQuantileRegressor)


@pytest.mark.parametrize("name", MODELS)
def test_models_consist_of_public_documented_attributes(name, fitted):
    model = fitted[name]
    found = set(vars(model)) - set(model.get_params(deep=False))
    assert all(attribute.endswith("_") and not attribute.startswith("_") for attribute in found), found
    documents = " ".join(base.__doc__ or "" for base in type(model).__mro__)
    for attribute in found - {"n_features_in_"}:
        assert attribute in documents, attribute
        assert can_be_written(getattr(model, attribute)), attribute


@pytest.mark.parametrize("name", [name for name in MODELS if "calibrated" not in name])
def test_models_predict_the_same_from_the_states_of_their_functions(name, fitted):
    model = fitted[name]
    twin = pickle.loads(pickle.dumps(model))
    kinds = {"expansion_": Expansion, "intercept_function_": Stateful, "mean_function_": Stateful, "layout_": Outputs}
    for attribute, kind in kinds.items():
        function = getattr(model, attribute, None)
        if function is not None:
            state = function.state()
            assert is_plain(state), state
            setattr(twin, attribute, kind.from_state(pickle.loads(pickle.dumps(state))))
    assert type(twin.expansion_) is type(model.expansion_)
    del twin.X_fit_, twin.dual_coef_, twin.kernel_, twin.output_kernel_
    np.testing.assert_array_equal(twin.predict(Z), model.predict(Z))
    np.testing.assert_array_equal(twin.predict(X[:, :1]), model.predict(X[:, :1]))


def test_kinds_of_expansions(fitted):
    kinds = {name: type(model.expansion_) for name, model in fitted.items() if hasattr(model, "expansion_")}
    assert {name for name, kind in kinds.items() if kind is FeatureExpansion} == {
        "quantiles, features",
        "quantiles, sum of features",
        "curves, features",
        "level sets, features",
    }
    assert kinds["curves, scattered"] is ScatteredExpansion
    assert kinds["curves, basis"] is KernelExpansion
    assert kinds["quantiles"] is KernelExpansion


@pytest.mark.parametrize("name", ["quantiles", "quantiles, features", "curves", "curves, basis", "curves, no mean"])
def test_the_objective_is_the_risk_and_the_norm(name, fitted):
    model = fitted[name]
    low = model.expansion_.norm**2 * model.alpha_ / 2
    assert 0 < low < model.objective_


@pytest.mark.parametrize("coupling", [0.0, 0.3])
def test_the_norm_of_level_sets_is_that_of_their_problem(coupling):
    model = LevelSetDetector(Gaussian(2.0), coupling=coupling, measure=LEVELS, tol=1e-8).fit(X)
    levels, weights = model.measure_.points, model.measure_.weights
    K, c = Gaussian(2.0)(model.X_fit_), model.dual_coef_
    sections = c @ model.output_kernel_(levels) if coupling else c
    square = np.sum(weights * np.sum(sections * (K @ sections), axis=0)) + coupling * np.sum(sections * (K @ c))
    assert model.expansion_.norm**2 == pytest.approx(square, rel=1e-10)
    values = model.expansion_.evaluate(model.X_fit_, levels) - model.optimal_offset_
    hinge = np.mean(np.maximum(-values, 0), axis=0) / levels[:, 0]
    assert weights @ (hinge - model.optimal_offset_) + square / 2 == pytest.approx(model.objective_, abs=1e-6)


# -- explicit features ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["pinball", "expectile"])
def test_features_are_their_kernel(loss):
    tight = {"tol": 1e-6, "loss": loss, "noncrossing": None}
    thin = quantiles(kernel=FeatureKernel(waves), **tight).fit(X, y)
    whole = quantiles(kernel=FunctionKernel(lambda a, b: waves(a) @ waves(b).T), **tight).fit(X, y)
    assert thin.objective_ == pytest.approx(whole.objective_, rel=1e-5)
    levels = [0.1, 0.4, 0.6, 0.8]
    np.testing.assert_allclose(thin.predict_quantile(Z, levels), whole.predict_quantile(Z, levels), atol=2e-2)
    expansion = thin.expansion_
    assert expansion.coef.shape == (11, 3)
    np.testing.assert_allclose(expansion.coef, waves(thin.X_fit_).T @ thin.dual_coef_, atol=1e-10)
    assert expansion.norm == pytest.approx(whole.expansion_.norm, rel=1e-3)


def test_sums_of_features_are_features_side_by_side():
    def beside(x):
        return np.hstack([waves(x), np.sqrt(2) * np.cbrt(x), x**0])

    curves = {"alpha": 1e-3, "grid": GRID}
    total = FunctionalRegressor(FeatureKernel(waves) + 2.0 * FeatureKernel(np.cbrt) + 1.0, **curves).fit(X, CURVES)
    one = FunctionalRegressor(FeatureKernel(beside), **curves).fit(X, CURVES)
    assert total.expansion_.coef.shape == one.expansion_.coef.shape == (14, 9)  # one of them for the mean curve
    np.testing.assert_allclose(total.predict(Z), one.predict(Z), atol=1e-9)
    scattered = FunctionalRegressor(FeatureKernel(waves) + 1.0, alpha=1e-3).fit(X, SCATTERED)
    assert isinstance(scattered.expansion_, ScatteredExpansion)


def test_features_predict_without_training_rows():
    seen = []

    def watched(x):
        seen.append(len(x))
        return waves(x)

    n = 3000
    rng = np.random.default_rng(1)
    inputs = rng.uniform(size=(n, 1))
    target = np.sin(6 * inputs[:, 0]) + 0.3 * rng.normal(size=n)
    tracemalloc.start()
    model = quantiles(kernel=FeatureKernel(watched), alpha=1e-3, tol=1e-2).fit(inputs, target)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n * n * 8 / 4  # no n × n matrix, in the fit either
    del model.X_fit_, model.dual_coef_
    seen.clear()
    assert model.predict_quantile(Z, [0.1, 0.5]).shape == (7, 2)
    assert model.sample(Z, 3, random_state=0).shape == (7, 3)
    assert set(seen) == {7}
    assert model.score(inputs, target) > 0.3


# -- whole kernels -------------------------------------------------------------------------------------------------

WHOLE = Decomposable(Gaussian(2.0), Gaussian(5.0))


@pytest.mark.parametrize("estimator", [quantiles(), CostSensitiveClassifier(alpha=1e-2, measure=LEVELS)], ids=repr)
@pytest.mark.parametrize("noncrossing", ["rearrange", "constraint", None])
def test_a_whole_kernel_is_its_parts(estimator, noncrossing):
    target = y > 0 if isinstance(estimator, CostSensitiveClassifier) else y
    model = clone(estimator).set_params(noncrossing=noncrossing)
    whole = clone(model).set_params(kernel=WHOLE).fit(X, target)
    parts = clone(model).set_params(kernel=Gaussian(2.0), output_kernel=Gaussian(5.0)).fit(X, target)
    np.testing.assert_array_equal(whole.dual_coef_, parts.dual_coef_)
    np.testing.assert_array_equal(whole.predict(Z), parts.predict(Z))
    assert (whole.kernel_, whole.output_kernel_) == (Gaussian(2.0), Gaussian(5.0))
    assert whole.kernel == WHOLE


def test_bandwidths_within_a_whole_kernel_come_from_the_data():
    rule = Decomposable(Gaussian("standardized"), Gaussian("median"))
    whole, default = (
        KernelQuantileRegressor(kernel, measure=LEVELS, stages="joint").fit(X, y) for kernel in (rule, None)
    )
    assert whole.alpha_ == default.alpha_
    np.testing.assert_array_equal(whole.predict(Z), default.predict(Z))
    assert rule == Decomposable(Gaussian("standardized"), Gaussian("median"))


CUBES = np.stack([CURVES, CURVES**2], axis=2)


@pytest.mark.parametrize(
    ("target", "matrix", "settings"),
    [
        (CURVES, None, {"grid": GRID}),
        (CUBES, A, {"grid": GRID}),
        (CUBES, A, {"grid": GRID, "representation": "eigen", "fit_intercept": False}),
        (SCATTERED, None, {}),
    ],
    ids=["curves", "components", "basis", "scattered"],
)
@pytest.mark.parametrize("alpha", [1e-3, "auto"])
def test_a_whole_kernel_of_curves_is_its_parts(target, matrix, settings, alpha):
    kernel = Decomposable(Gaussian(2.0), Gaussian(5.0), matrix)
    whole = FunctionalRegressor(kernel, alpha=alpha, **settings).fit(X, target)
    parts = FunctionalRegressor(
        Gaussian(2.0), output_kernel=Gaussian(5.0), output_matrix=matrix, alpha=alpha, **settings
    ).fit(X, target)
    assert whole.alpha_ == parts.alpha_
    np.testing.assert_array_equal(whole.predict(Z), parts.predict(Z))


@pytest.mark.parametrize(
    ("model", "name", "value"),
    [
        (quantiles(kernel=WHOLE), "output_kernel", Gaussian(1.0)),
        (CostSensitiveClassifier(WHOLE), "output_kernel", "gaussian"),
        (FunctionalRegressor(WHOLE), "output_kernel", Gaussian(1.0)),
        (FunctionalRegressor(WHOLE), "output_matrix", [[1.0]]),
    ],
    ids=["quantiles", "costs", "curves", "matrix"],
)
def test_parts_beside_a_whole_kernel_are_refused(model, name, value):
    message = f"{name} must be None where kernel is an OperatorValuedKernel; .*Decomposable"
    with pytest.raises((ParameterError, ParameterTypeError), match=message):
        clone(model).set_params(**{name: value}).fit(X, y > 0)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (KernelQuantileRegressorCV(WHOLE), r"kernels must be k_X alone.* k_Θ as output_kernel\. .*GridSearchCV"),
        (KernelQuantileRegressorCV([Gaussian(1.0), WHOLE], output_kernel="gaussian"), "kernels must be k_X alone"),
        (FunctionalRegressorCV(WHOLE), r"kernels must be k_X alone.* k_Θ as output_kernels .*GridSearchCV"),
        (FunctionalRegressorCV([WHOLE], output_matrix=[[1.0]]), "kernels must be k_X alone"),
        (LevelSetDetector(WHOLE), "kernel must be k_X alone.* k_Θ as output_kernel and .* coupling"),
    ],
    ids=["quantiles", "quantiles, some", "curves", "curves, matrix", "level sets"],
)
def test_whole_kernels_where_parts_are_asked_for(model, message):
    with pytest.raises(ParameterTypeError, match=f"{type(model).__name__}: {message}"):
        model.fit(X, y if "Quantile" in type(model).__name__ else CURVES)


def test_the_remedies_work():
    search = GridSearchCV(quantiles(), {"kernel": [WHOLE, Decomposable(Gaussian(0.1), Gaussian(5.0))]}, cv=2)
    assert isinstance(search.fit(X, y).best_estimator_.kernel, Decomposable)
    curves = GridSearchCV(FunctionalRegressor(alpha=1e-3, grid=GRID), {"kernel": [WHOLE]}, cv=2).fit(X, CURVES)
    assert curves.best_estimator_.kernel_ == Gaussian(2.0)
    measure = Grid(GRID).build()
    problem = DualProblem(Twice(WHOLE).bind(measure).gram(X), Square(), CURVES, measure, 1e-3)
    assert select(problem).solve(problem).converged
    coupled = LevelSetDetector(WHOLE.kernel, output_kernel=WHOLE.output_kernel, coupling=0.1).fit(X)
    assert coupled.output_kernel_ == WHOLE.output_kernel


def test_a_matrix_of_another_size_is_refused():
    with pytest.raises(DataError, match=r"output_matrix must have shape .*\(1, 1\); got \(2, 2\)"):
        quantiles(kernel=Decomposable(Gaussian(2.0), Gaussian(5.0), A)).fit(X, y)
    with pytest.raises((ParameterError, ParameterTypeError), match="output_kernel must be a Kernel on points"):
        Decomposable(Gaussian(1.0), Precomputed())


def test_whole_kernels_are_tuned_cloned_and_pickled():
    model = quantiles(kernel=WHOLE)
    search = GridSearchCV(model, {"kernel__kernel__gamma": [0.1, 10.0]}, cv=2).fit(X, y)
    assert search.best_estimator_.kernel_.gamma in (0.1, 10.0)
    assert model.kernel == WHOLE
    twin = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(twin.predict(Z), search.predict(Z))


def test_a_gram_matrix_with_a_whole_kernel():
    kernel = Gaussian(2.0)
    weight = np.where(np.arange(40) % 7 == 0, 0.0, 1.0)
    given = quantiles(kernel=Decomposable(Precomputed(), Gaussian(5.0))).fit(kernel(X), y, weight)
    usual = quantiles(kernel=WHOLE).fit(X, y, weight)
    assert given.__sklearn_tags__().input_tags.pairwise
    np.testing.assert_array_equal(given.columns_, np.flatnonzero(weight))
    assert usual.columns_ is None
    np.testing.assert_allclose(given.predict(kernel(Z, X)), usual.predict(Z), atol=1e-3)


@dataclasses.dataclass(eq=False, repr=False)
class Twice(OperatorValuedKernel):
    """2·K for another kernel: one of a user."""

    inner: OperatorValuedKernel

    def adapt(self, X):
        return Twice(self.inner.adapt(X))

    def bind(self, measure, *, n_components=None):
        inner = self.inner
        return Decomposable(2.0 * inner.kernel, inner.output_kernel).bind(measure, n_components=n_components)


def test_a_kernel_of_a_user():
    model = quantiles(kernel=Twice(WHOLE), alpha="auto").fit(X, y)
    same = quantiles(kernel=2.0 * Gaussian(2.0), output_kernel=Gaussian(5.0), alpha="auto").fit(X, y)
    np.testing.assert_array_equal(model.predict(Z), same.predict(Z))
    message = r"FunctionalRegressor: kernel must be .* or a Decomposable kernel; .* Take Decomposable\(.* DualProblem\("
    with pytest.raises(ParameterTypeError, match=message):
        FunctionalRegressor(Twice(WHOLE)).fit(X, CURVES)


# -- one way to a fitted model -------------------------------------------------------------------------------------


def test_models_that_are_compared_are_those_of_fit():
    compared = []

    def scorer(model, inputs, target):
        compared.append(model)
        return model.score(inputs, target)

    search = KernelQuantileRegressorCV(
        [Gaussian(2.0)], alphas=[1e-2, 1e-1], measure=LEVELS, cv=2, cv_tol=1e-3, scoring=scorer
    ).fit(X, y)
    assert len(compared) == 4
    train = np.arange(20, 40)
    again = clone(compared[0]).fit(X[train], y[train])
    assert set(vars(compared[0])) == set(vars(again))
    np.testing.assert_allclose(
        compared[0].predict_quantile(Z, [0.1, 0.8]), again.predict_quantile(Z, [0.1, 0.8]), atol=0.02
    )
    assert search.alpha_ == search.best_params_["alpha"]


def test_slopes_need_a_kernel_that_represents_them():
    class Plain(type(WHOLE.bind(LEVELS.build()))):
        def with_slopes(self, points):
            return super(type(self).__mro__[1], self).with_slopes(points)

    @dataclasses.dataclass(eq=False, repr=False)
    class Rough(Decomposable):
        def bind(self, measure, slopes=None, *, n_components=None):
            return Plain(**vars(super().bind(measure, slopes, n_components=n_components)))

    with pytest.raises(UnsupportedError, match=r"represents no slopes in θ\. Use noncrossing='rearrange'"):
        quantiles(kernel=Rough(Gaussian(2.0), Gaussian(5.0)), noncrossing="penalty").fit(X, y)


# -- the intercept -------------------------------------------------------------------------------------------------


def test_intercept_functions():
    line = InterceptFunction(np.array([1.0, 10.0, 3.0, 30.0]), Measure(np.array([0.2, 0.6]), np.ones(2)))
    points = np.array([[0.0], [0.2], [0.4], [0.9]])
    np.testing.assert_allclose(line.evaluate(points), [1, 10, 1, 10, 2, 20, 3, 30])
    np.testing.assert_allclose(line.slope(points[2:]), [5, 50, 0, 0])
    constant = InterceptFunction(np.array([1.0, 2.0]), None)
    np.testing.assert_array_equal(constant.evaluate(points[:2]), [1, 2, 1, 2])
    np.testing.assert_array_equal(constant.slope(points[:2]), np.zeros(4))
    nodes = RNG.random((4, 2))
    plane = InterceptFunction(np.arange(4.0), Measure(nodes, np.ones(4)))
    np.testing.assert_allclose(plane.evaluate(nodes), np.arange(4.0), atol=1e-12)


@pytest.mark.parametrize("estimator", [KernelQuantileRegressor, CostSensitiveClassifier])
def test_kernels_of_vectors_are_refused_where_levels_are_asked_for(estimator):
    @dataclass(eq=False, repr=False)
    class Vectors(MatrixValuedKernel):
        def blocks(self, X, Z):
            return Gaussian(1.0)(X, Z)[:, :, None, None] * np.eye(20)

    x = np.linspace(0, 1, 12)[:, None]
    with pytest.raises(ParameterTypeError, match=r"functions are known at every .*Decomposable"):
        estimator(kernel=Vectors()).fit(x, np.arange(12) % 2)
