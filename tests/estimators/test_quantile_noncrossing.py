"""Fits that do not cross: by price, by constraint and by guarantee, on data made for crossing."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer import CostSensitiveClassifier, KernelQuantileRegressor, KernelQuantileRegressorCV
from mercer.estimators import monotone_fit
from mercer.exceptions import MercerError, UnsupportedError
from mercer.kernels import Gaussian, Laplacian, Matern
from mercer.losses import WeightedHuber
from mercer.measures import GaussLegendre, Points
from mercer.operator_valued import Decomposable
from mercer.solvers import ADMM, InteriorPoint

strict = pytest.importorskip("array_api_strict")

DURING_FIT = ("penalty", "constraint", "guarantee")
THREE = Points([0.1, 0.5, 0.9], [0.3, 0.4, 0.3])
RNG = np.random.default_rng(3)
X = np.sort(RNG.uniform(size=(14, 1)), axis=0)
Y = np.sin(6 * X[:, 0]) + (0.1 + X[:, 0]) * RNG.standard_t(2, size=14)
LEVELS = np.linspace(0.002, 0.998, 2000)
SETTINGS = {"kernel": Gaussian(20.0), "alpha": 1e-3, "measure": THREE, "tol": 1e-2}


def regressor(**settings):
    return KernelQuantileRegressor(**(SETTINGS | settings))


def box(x, count):
    """A grid over the box of the inputs, corners included."""
    axes = [np.linspace(low, high, count) for low, high in zip(x.min(axis=0), x.max(axis=0), strict=True)]
    return np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, x.shape[1])


def lowest_step(model, x, levels=LEVELS):
    """The deepest fall between neighbouring levels, in units of the range of all predictions."""
    found = model.predict_quantile(x, levels)
    return np.diff(found, axis=1).min() / np.ptp(found)


def slopes_at(model, x):
    """Slopes of h + b at the anchors, by differences; shape (n, n_slopes)."""
    tau = model.slopes_[:, 0]
    e = 2e-7 * np.diff(np.unique(model.measure_.locations)).min() / 8
    low, high = (model.predict_quantile(x, np.clip(tau + s * e, 1e-9, 1)) for s in (-1, 1))
    return (high - low) / (2 * e)


def parts(model, x, theta):
    """h and b at some levels, from the attributes as they are documented."""
    bound = Decomposable(model.kernel_, model.output_kernel_).bind(model.measure_, model.slopes_)
    h = bound.expand(model.X_fit_, model.dual_coef_).evaluate(x, theta[:, None])
    order = np.argsort(model.measure_.locations)
    return h, np.interp(theta, model.measure_.locations[order], model.intercept_[order])


def objective_of(model, x, y, weight=None):
    """Pinball risk and norm of the stored model, written out."""
    theta, w = model.measure_.locations, model.measure_.weights
    h, b = parts(model, x, theta)
    r = y[:, None] - h - b
    weight = np.ones(len(y)) if weight is None else weight
    risk = weight @ np.maximum(theta * r, (theta - 1) * r) @ w / weight.sum()
    gram = Decomposable(model.kernel_, model.output_kernel_).bind(model.measure_, model.slopes_).gram(model.X_fit_)
    c = model.dual_coef_
    return risk + model.alpha_ / 2 * np.sum(c * (gram.left.to_dense() @ c @ gram.right.to_dense()))


# --- the guarantee


def adversarial():
    rng = np.random.default_rng(3)
    x = rng.uniform(size=(7, 1))
    settings = {"kernel": Gaussian(40.0), "alpha": 1e-6, "measure": GaussLegendre(4), "tol": 0.2}
    yield "few points, tiny alpha", x, rng.normal(size=7), settings
    x = rng.uniform(size=(15, 1))
    yield "no moments", x, rng.standard_t(1, size=15), {"measure": GaussLegendre(4)}
    x = np.concatenate([rng.uniform(size=(8, 1)), rng.uniform(3, 4, size=(8, 1))])
    yield "gap", x, (1 + 2 * x[:, 0]) * rng.standard_t(2, size=16), {"kernel": Gaussian(8.0), "alpha": 1e-4}
    x = rng.uniform(size=(15, 1))
    y = np.sin(6 * x[:, 0]) + 0.1 * rng.normal(size=15)
    y[3] = 1e3
    yield "outlier", x, y, {"tol": 5e-2}
    x = rng.uniform(size=(14, 1))
    yield "heteroscedastic", x, np.exp(4 * x[:, 0]) * rng.normal(size=14), {"measure": GaussLegendre(5)}
    x = rng.uniform(size=(12, 1))
    uneven = Points([0.02, 0.05, 0.5, 0.5, 0.97])
    yield "uneven levels", x, rng.normal(size=12), {"measure": uneven, "output_kernel": Gaussian(40.0), "tol": 5e-2}
    x = rng.uniform(size=(10, 2))
    y = x[:, 0] + 4 * x[:, 1] * rng.normal(size=10)
    yield "two columns", x, y, {"kernel": Gaussian([4.0, 2.0]), "tol": 5e-2}
    x = rng.uniform(size=(10, 1)) * np.array([1.0, 1.0])
    y = x[:, 0] * rng.standard_t(2, size=10)
    yield "empty corners", x, y, {"kernel": Gaussian([4.0, 2.0]), "tol": 5e-2}
    x = np.column_stack([rng.uniform(size=12), np.full(12, 5.0)])
    yield "constant column", x, rng.normal(size=12), {"kernel": Gaussian([30.0, 1.0]), "tol": 5e-2}


@pytest.mark.parametrize(("x", "y", "settings"), [pytest.param(*case, id=name) for name, *case in adversarial()])
def test_a_guarantee_holds_on_the_whole_box(x, y, settings):
    inside = box(x, 101 if x.shape[1] == 1 else 13)
    free = regressor(noncrossing=None, **settings).fit(x, y)
    assert lowest_step(free, inside) < -1e-6  # the data do make quantiles cross
    model = regressor(noncrossing="guarantee", **settings).fit(x, y)
    assert lowest_step(model, inside) >= -1e-9
    assert lowest_step(model, x) >= -1e-9
    assert model.relative_gap_ <= model.tol
    assert model.status_ == "converged"
    assert model.objective_ >= free.objective_ - free.dual_gap_
    assert objective_of(model, x, y) == pytest.approx(model.objective_, rel=1e-8)


def test_a_guarantee_and_the_tails_hold_to_the_last_digit():
    rng = np.random.default_rng(3)
    x, y = rng.uniform(size=(15, 1)), 1e6 + rng.normal(size=15)
    model = regressor(noncrossing="guarantee", tol=0.1).fit(x, y)
    levels = np.concatenate([rng.uniform(1e-6, 1 - 1e-6, size=400), 0.5 + 1e-15 * np.arange(20)])
    inputs = np.concatenate([x, rng.uniform(x.min(), x.max(), size=(20, 1)), [[-3.0]]])
    found = model.predict_quantile(inputs, levels)[:, np.argsort(levels)]
    assert np.all(np.diff(found[:-1], axis=1) >= 0)
    np.testing.assert_array_equal(model.box_[:, 0], [x.min(), x.max()])
    free = regressor(noncrossing=None).fit(x, y)
    assert free.box_ is None
    tail = free.predict_quantile(inputs, np.linspace(1e-6, 1e-3, 37))
    np.testing.assert_array_equal(tail, np.repeat(tail[:, :1], 37, axis=1))


@pytest.mark.parametrize("noncrossing", ["rearrange", "guarantee"])
def test_decisions_rise_to_the_last_digit(noncrossing):
    rng = np.random.default_rng(4)
    x = rng.normal(size=(16, 1))
    y = np.where(x[:, 0] + rng.normal(size=16) > 0, 1, 0)
    model = CostSensitiveClassifier(noncrossing=noncrossing, tol=0.1, measure=GaussLegendre(5)).fit(x, y)
    costs = np.sort(np.concatenate([rng.uniform(1e-6, 1 - 1e-6, size=2000), 0.4 + 1e-15 * np.arange(200)]))
    assert np.all(np.diff(model.predict_at(x, costs), axis=1) >= 0)


def test_a_guarantee_that_is_not_optimal_holds_and_says_so(monkeypatch):
    monkeypatch.setattr(monotone_fit, "ROUNDS", 1)
    with pytest.warns(ConvergenceWarning, match=r"relative duality gap .* tol = 1e-05 was not reached"):
        model = regressor(noncrossing="guarantee", tol=1e-5).fit(X, Y)
    assert model.relative_gap_ > 1e-5
    assert model.status_ == "anchors"
    assert lowest_step(model, box(X, 101)) >= -1e-9


def test_a_guarantee_spends_a_budget_of_entries(monkeypatch):
    monkeypatch.setattr(monotone_fit, "MOST_ENTRIES", 1)
    monkeypatch.setattr(monotone_fit, "MOST_TIMES", 1.5)
    problems = []
    problem = monotone_fit.MonotoneFit.problem
    monkeypatch.setattr(monotone_fit.MonotoneFit, "problem", lambda *given: problems.append(0) or problem(*given))
    with pytest.warns(ConvergenceWarning, match="Monotone it is everywhere"):
        model = regressor(noncrossing="guarantee", tol=1e-5).fit(X, Y)
    assert len(problems) == 2
    assert model.status_ == "anchors"
    assert lowest_step(model, box(X, 200)) >= 0


def test_more_anchors_are_no_remedy_for_a_solver_that_fails():
    solver = ADMM(tol=1e-3, max_iter=3)
    with pytest.warns(ConvergenceWarning, match="Increase max_iter"):
        model = regressor(noncrossing="guarantee", solver=solver).fit(X, Y)
    assert model.status_ == "max_iter"
    assert lowest_step(model, box(X, 200)) >= 0


def test_a_guarantee_gets_better_with_more_anchors():
    rough = regressor(noncrossing="guarantee", tol=0.3).fit(X, Y)
    fine = regressor(noncrossing="guarantee", tol=3e-3).fit(X, Y)
    assert fine.relative_gap_ <= 3e-3
    assert rough.objective_ - rough.dual_gap_ <= fine.objective_ <= rough.objective_ * (1 + 3e-3)
    constrained = regressor(noncrossing="constraint", tol=1e-6).fit(X, Y)
    assert constrained.objective_ <= fine.objective_ * (1 + 1e-6)  # fewer constraints
    assert len(fine.X_fit_) > len(constrained.X_fit_) == len(X)
    np.testing.assert_array_equal(fine.X_fit_[: len(X)], constrained.X_fit_)


def test_a_guarantee_beyond_pinball():
    y = Y - 2 * X[:, 0]
    settings = {"loss": "expectile", "alpha": 1e-4, "tol": 5e-2, "kernel": Gaussian(40.0)}
    assert lowest_step(regressor(noncrossing=None, **settings).fit(X, y), box(X, 101)) < -1e-6
    model = regressor(noncrossing="guarantee", **settings).fit(X, y)
    assert model.relative_gap_ <= 5e-2
    assert lowest_step(model, box(X, 101)) >= -1e-9


# --- constraint and penalty


def test_constraints_hold_at_the_anchors():
    free = regressor(noncrossing=None).fit(X, Y)
    model = regressor(noncrossing="constraint", tol=1e-5).fit(X, Y)
    assert model.relative_gap_ <= 1e-5
    scale = np.ptp(Y)
    assert slopes_at(model, X).min() >= -1e-6 * scale
    free.slopes_ = model.slopes_
    free.dual_coef_ = np.pad(free.dual_coef_, ((0, 0), (0, len(model.slopes_))))
    assert slopes_at(free, X).min() < -0.1 * scale
    assert lowest_step(model, X) > 0.01 * lowest_step(free, X)  # between anchors a little is left at most
    assert free.objective_ < model.objective_ * (1 - 1e-3)
    assert objective_of(model, X, Y) == pytest.approx(model.objective_, rel=1e-8)
    np.testing.assert_array_equal(model.X_fit_, X)


def test_the_price_makes_falls_fewer_until_there_are_none():
    prices = [1e-4, 1e-2, 0.1, 30.0]
    models = [regressor(noncrossing="penalty", crossing_penalty=p, tol=1e-6).fit(X, Y) for p in prices]
    falls = [np.maximum(-slopes_at(model, X), 0).mean() for model in models]
    assert falls[0] > 1.01 * falls[1]
    assert falls[1] > 1.2 * falls[2]
    assert falls[2] > falls[3]
    assert falls[3] <= 1e-6 * np.ptp(Y)
    hard = regressor(noncrossing="constraint", tol=1e-6).fit(X, Y)
    assert models[-1].objective_ == pytest.approx(hard.objective_, rel=3e-6)
    nothing = regressor(noncrossing=None, tol=1e-6).fit(X, Y)
    assert models[0].objective_ == pytest.approx(nothing.objective_, rel=1e-2)
    objectives = [nothing.objective_, *(model.objective_ for model in models)]
    assert np.all(np.diff(objectives) > 0)


def test_the_penalty_is_the_mean_fall_over_inputs_and_levels():
    price = 0.05
    model = regressor(noncrossing="penalty", crossing_penalty=price, tol=1e-7).fit(X, Y)
    penalty = model.objective_ - objective_of(model, X, Y)
    fine = np.linspace(0.1, 0.9, 4001)
    found = model.predict_quantile(X, fine)
    fall = np.maximum(-np.diff(found, axis=1), 0).sum(axis=1).mean() / 0.8
    assert penalty > 0
    assert penalty == pytest.approx(price * fall, rel=0.3)  # Simpson's rule on kinks


def test_it_is_h_plus_b_that_must_not_fall():
    """b rises, so that h may fall: a fit that constrained h alone would be worse."""
    y = np.sort(RNG.normal(size=14)) * 0.2 + 3 * RNG.normal(size=14)
    for name in ("constraint", "guarantee"):
        model = regressor(noncrossing=name, tol=1e-3, alpha=1e-2).fit(X, y)
        theta = np.linspace(0.1, 0.9, 400)
        h, b = parts(model, X, theta)
        assert np.diff(h, axis=1).min() < -3e-4 * np.ptp(y)
        assert np.diff(h + b, axis=1).min() >= -1e-4 * np.ptp(y)
        np.testing.assert_allclose(model.predict_quantile(X, theta), h + b, atol=1e-9)


def test_without_an_intercept_there_is_a_penalty():
    settings = {"fit_intercept": False, "tol": 1e-4}
    free = regressor(noncrossing=None, **settings).fit(X, Y)
    model = regressor(noncrossing="penalty", crossing_penalty=10.0, **settings).fit(X, Y)
    np.testing.assert_array_equal(model.intercept_, 0)
    assert lowest_step(model, X) > 0.05 * lowest_step(free, X)
    assert slopes_at(model, X).min() >= -1e-2 * np.ptp(Y)


# --- all of them


@pytest.mark.parametrize("name", DURING_FIT)
def test_predictions_follow_the_unit_and_the_origin_of_y(name):
    for alpha, other_alpha in (("auto", "auto"), (1e-3, 1e-3 / 3e4)):
        model = regressor(noncrossing=name, alpha=alpha).fit(X, Y)
        other = regressor(noncrossing=name, alpha=other_alpha).fit(X, 3e4 * Y - 7e4)
        expected = 3e4 * model.predict_quantile(X, LEVELS[::50]) - 7e4
        np.testing.assert_allclose(other.predict_quantile(X, LEVELS[::50]), expected, atol=1e-4 * 3e4)


@pytest.mark.parametrize("scale", [1e-5, 1e5])
def test_expectiles_follow_the_unit_of_y(scale):
    """Their duals have the unit of y, those of quantiles none: the cover of the box must not mind."""
    settings = {"loss": "expectile", "noncrossing": "guarantee", "tol": 5e-2, "alpha": 1e-4, "kernel": Gaussian(40.0)}
    model = regressor(**settings).fit(X, Y)
    other = regressor(**settings).fit(X, scale * Y)
    found = other.predict_quantile(X, LEVELS[::50]) / scale
    np.testing.assert_allclose(found, model.predict_quantile(X, LEVELS[::50]), atol=1e-3 * np.ptp(Y))
    assert other.relative_gap_ <= 5e-2


@pytest.mark.parametrize("name", DURING_FIT)
def test_weights_are_copies(name):
    weight = np.ones(14)
    weight[[2, 5]] = 2
    weight[9] = 0
    rows = np.repeat(np.arange(14), weight.astype(int))
    model = regressor(noncrossing=name).fit(X, Y, weight)
    copies = regressor(noncrossing=name).fit(X[rows], Y[rows])
    assert model.objective_ == pytest.approx(copies.objective_, rel=1e-9)
    np.testing.assert_allclose(model.predict_quantile(X, LEVELS[::50]), copies.predict_quantile(X, LEVELS[::50]))
    plain = regressor(noncrossing=name).fit(X, Y)
    assert np.abs(model.predict(X) - plain.predict(X)).max() > 1e-3
    if name != "penalty":
        kept = weight > 0
        assert objective_of(model, X[kept], Y[kept], weight[kept]) == pytest.approx(model.objective_, rel=1e-8)


@pytest.mark.parametrize("name", DURING_FIT)
def test_solvers_agree(name):
    tol = 3e-2 if name == "guarantee" else 2e-3
    models = [
        regressor(noncrossing=name, solver=solver, tol=tol).fit(X, Y)
        for solver in ("admm", "interior_point", ADMM(tol=tol / 2, max_iter=50_000), InteriorPoint(tol=tol / 2))
    ]
    for model, kind in zip(models, (ADMM, InteriorPoint) * 2, strict=True):
        assert isinstance(model.solver_, kind)
        assert model.relative_gap_ <= tol
        assert model.objective_ == pytest.approx(models[1].objective_, rel=2 * tol)
    if name == "guarantee":
        assert all(lowest_step(model, box(X, 41)) >= -1e-9 for model in models)


@pytest.mark.parametrize("name", ["penalty", "constraint"])
@pytest.mark.parametrize("loss", ["expectile", "m-quantile", WeightedHuber(0.3), "moreau_pinball"], ids=str)
def test_other_losses(name, loss):
    settings = {"loss": loss, "alpha": 1e-4, "kernel": Gaussian(40.0), "crossing_penalty": 20.0}
    free = regressor(noncrossing=None, **settings).fit(X, Y)
    model = regressor(noncrossing=name, **settings).fit(X, Y)
    assert isinstance(model.solver_, ADMM)
    assert model.relative_gap_ <= 1e-2
    if name == "constraint":
        assert slopes_at(model, X).min() >= -1e-6 * np.ptp(Y)
    assert lowest_step(free, X) < -1e-5
    assert lowest_step(model, X) > 0.2 * lowest_step(free, X)


@pytest.mark.parametrize("name", DURING_FIT)
def test_copies_of_a_model(name):
    model = regressor(noncrossing=name, crossing_penalty=0.3)
    assert clone(model).get_params() == model.get_params()
    model.fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    levels = [0.05, 0.3, 0.7]
    np.testing.assert_array_equal(again.predict_quantile(X, levels), model.predict_quantile(X, levels))
    np.testing.assert_array_equal(clone(model).fit(X, Y).dual_coef_, model.dual_coef_)
    function = model.predict_function(box(X, 7))
    np.testing.assert_allclose(function.values[:, ::16], model.predict_quantile(box(X, 7), function.levels[::16]))
    assert function.crossing.max() <= (1e-9 if name == "guarantee" else 1e-2)
    assert model.predict_interval(X, 0.8).shape == (14, 2)
    assert np.isfinite(model.score(X, Y))


@pytest.mark.parametrize("name", DURING_FIT)
def test_one_level_and_constant_targets(name):
    one = regressor(noncrossing=name, measure=Points([0.3])).fit(X, Y)
    plain = regressor(noncrossing=None, measure=Points([0.3])).fit(X, Y)
    np.testing.assert_array_equal(one.predict_quantile(X, [0.3]), plain.predict_quantile(X, [0.3]))
    same = regressor(noncrossing=name, measure=Points([0.3, 0.3])).fit(X, Y)
    np.testing.assert_allclose(same.predict(X), plain.predict(X), atol=0.05 * np.ptp(Y))
    flat = regressor(noncrossing=name).fit(X, np.full(14, 7.3))
    np.testing.assert_allclose(flat.predict_quantile(X, LEVELS[::99]), 7.3, rtol=1e-14)
    assert flat.relative_gap_ == 0
    assert flat.intercept_.shape == (3,)
    row = regressor(noncrossing=name).fit(X[:1], Y[:1])
    np.testing.assert_allclose(row.predict(X), Y[0])


def test_other_kernels_and_gram_matrices():
    kernel = Matern(2.5, 0.2)
    model = regressor(kernel=kernel, output_kernel=Matern(2.5, 0.5), noncrossing="constraint").fit(X, Y)
    assert slopes_at(model, X).min() >= -1e-6 * np.ptp(Y)
    settings = {"output_kernel": Matern(2.5, 0.5), "noncrossing": "constraint"}
    other = regressor(kernel="precomputed", **settings).fit(kernel(X), Y)
    np.testing.assert_allclose(other.predict(kernel(X)), model.predict(X), atol=1e-6)


@pytest.mark.parametrize("name", ["penalty", "constraint"])
def test_a_warm_start_has_nothing_left_to_do(name):
    model = regressor(noncrossing=name, warm_start=True, tol=1e-3).fit(X, Y)
    first, prediction = model.n_iter_, model.predict(X)
    model.set_params(tol=0.1).fit(X, Y)
    assert model.n_iter_ < first
    np.testing.assert_allclose(model.predict(X), prediction, atol=0.3 * np.ptp(Y))
    model.set_params(tol=1e-3, alpha=2e-3).fit(X, Y)
    cold = regressor(noncrossing=name, alpha=2e-3, tol=1e-3).fit(X, Y)
    assert model.objective_ == pytest.approx(cold.objective_, rel=2e-3)


def test_a_guarantee_takes_a_warm_start():
    model = regressor(noncrossing="guarantee", warm_start=True).fit(X, Y)
    model.fit(X, Y + 0.1 * X[:, 0])
    assert model.relative_gap_ <= 1e-2
    assert lowest_step(model, box(X, 51)) >= -1e-9


# --- the other estimators


def test_chosen_by_cross_validation():
    model = KernelQuantileRegressorCV(
        kernels=[Gaussian(20.0)], alphas=[1e-3, 1e-2], measure=THREE, noncrossing="constraint", cv=2, tol=1e-2
    ).fit(X, Y)
    assert lowest_step(model, X) > -1e-3
    plain = regressor(noncrossing="constraint", alpha=model.alpha_).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), plain.predict(X), atol=0.05 * np.ptp(Y))


@pytest.mark.parametrize("name", ["penalty", "constraint", "guarantee"])
def test_decisions_rise_with_the_cost(name):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 14)
    labels[:2] = [0, 1]
    settings = {"kernel": Gaussian(40.0), "alpha": 1e-3, "measure": THREE, "tol": 2e-2, "crossing_penalty": 10.0}
    costs = np.linspace(0.01, 0.99, 500)
    inside = box(X, 81)
    free = CostSensitiveClassifier(**settings).fit(X, labels).predict_at(inside, costs)
    model = CostSensitiveClassifier(noncrossing=name, **settings).fit(X, labels)
    assert model.relative_gap_ <= 2e-2
    found = model.predict_at(inside, costs)
    before, after = np.diff(free, axis=1).min(), np.diff(found, axis=1).min()
    assert before < -1e-4
    assert after >= (-1e-9 if name == "guarantee" else 0.5 * before)
    if name == "guarantee":
        curve = model.operating_curve(X, labels, costs)
        assert np.all(np.diff(curve.sensitivity) >= 0)
        assert np.all(np.diff(curve.specificity) <= 0)


# --- refusals


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"noncrossing": "constraint", "fit_intercept": False}, "without an intercept.*set fit_intercept=True"),
        ({"noncrossing": "guarantee", "fit_intercept": False}, "without an intercept.*crossing_penalty"),
        ({"noncrossing": "constrain"}, "noncrossing must be 'rearrange', 'penalty', 'constraint', 'guarantee' or None"),
        ({"noncrossing": ["penalty"]}, "noncrossing must be"),
        *(
            ({"noncrossing": "penalty", "crossing_penalty": p}, "crossing_penalty must be .*price per unit of fall")
            for p in (0, -1.0, np.nan, np.inf, "much", None)
        ),
        ({"noncrossing": "penalty", "output_kernel": Laplacian(1.0)}, "no derivatives because it is not C².*Gaussian"),
        ({"noncrossing": "constraint", "output_kernel": Matern(0.5, 1.0)}, "no derivatives"),
        ({"noncrossing": "guarantee", "kernel": Matern(1.5, 1.0)}, "Gaussian kernels on inputs.*'rearrange'"),
        ({"noncrossing": "guarantee", "output_kernel": Matern(2.5, 1.0)}, "Gaussian kernels on inputs.*'rearrange'"),
        ({"noncrossing": "constraint", "solver": "proximal_gradient"}, "slopes that must not be negative.*Use ADMM"),
        ({"noncrossing": "penalty", "loss": "expectile", "solver": "interior_point"}, "Use ADMM"),
    ],
)
def test_settings_that_are_refused(settings, message):
    with pytest.raises(MercerError, match=f"(?s){message}"):
        regressor(**settings).fit(X, Y)


def test_a_guarantee_for_three_columns_is_refused():
    x = np.random.default_rng(0).uniform(size=(8, 3))
    with pytest.raises(UnsupportedError, match=r"one or two columns; X has 3 of them.*'rearrange'"):
        regressor(noncrossing="guarantee").fit(x, Y[:8])


@pytest.mark.parametrize("name", DURING_FIT)
def test_other_arrays_are_refused_with_what_works(name):
    with pytest.raises(MercerError, match="noncrossing='rearrange' or None"):
        regressor(noncrossing=name).fit(strict.asarray(X), strict.asarray(Y))


def test_the_price_is_not_looked_at_where_it_is_not_used():
    for name in ("rearrange", "constraint", None):
        odd, usual = (regressor(noncrossing=name, crossing_penalty=price).fit(X, Y) for price in (-1.0, 1.0))
        np.testing.assert_array_equal(odd.predict(X), usual.predict(X))


@pytest.mark.parametrize("noncrossing", ["penalty", "constraint"])
def test_a_constant_output_kernel_leaves_slopes_to_the_intercept(noncrossing):
    model = regressor(noncrossing=noncrossing, output_kernel="constant").fit(X, Y)
    assert model.relative_gap_ <= model.tol
    assert np.diff(model.predict_quantile(X, np.linspace(0.05, 0.95, 50))).min() >= -1e-9


def test_a_price_beyond_reason_is_refused():
    with pytest.raises(MercerError, match=r"crossing_penalty must be .*'constraint' is the limit"):
        regressor(noncrossing="penalty", crossing_penalty=1e9).fit(X, Y)


def test_how_predictions_are_sorted_is_settled_by_the_fit():
    model = regressor(noncrossing="rearrange").fit(X, Y)
    before = model.predict_quantile(X, [0.2, 0.5, 0.8])
    model.set_params(noncrossing=None)
    np.testing.assert_array_equal(model.predict_quantile(X, [0.2, 0.5, 0.8]), before)


def test_a_solver_brings_its_own_tolerance_to_a_guarantee():
    model = regressor(noncrossing="guarantee", tol=1e-9, solver=InteriorPoint(tol=0.2)).fit(X, Y)
    assert model.status_ == "converged"
    assert model.relative_gap_ <= 0.2
    assert model.solver_.tol == 0.2
