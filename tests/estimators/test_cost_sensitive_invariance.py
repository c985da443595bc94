"""What must not matter, and what must: weights, copies, names of classes, the order of costs, monotone decisions."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

from mercer import CostSensitiveClassifier
from mercer.exceptions import MercerError
from mercer.kernels import Gaussian
from mercer.losses import MoreauHinge
from mercer.measures import GaussLegendre, Points

RNG = np.random.default_rng(0)
X, Y = make_moons(50, noise=0.4, random_state=1)
NEW, TARGET = make_moons(300, noise=0.4, random_state=2)
COSTS = np.array([0.05, 0.3, 0.5, 0.62, 0.95])
FEW = Points([0.1, 0.5, 0.9])


def classifier(kernel=None, **settings):
    return CostSensitiveClassifier(kernel, **{"alpha": 1e-2, "measure": FEW, "tol": 1e-5, **settings})


def decisions(X, y, weight=None, **settings):
    return classifier(**settings).fit(X, y, weight).predict_at(NEW, COSTS)


@pytest.mark.parametrize("alpha", [1e-2, "auto"])
def test_a_row_of_weight_two_is_the_row_twice(alpha):
    weight = RNG.integers(0, 4, len(Y))
    rows = np.repeat(np.arange(len(Y)), weight)
    once, copies = decisions(X, Y, weight, alpha=alpha), decisions(X[rows], Y[rows], alpha=alpha)
    np.testing.assert_allclose(once, copies, atol=1e-9)
    assert not np.allclose(once, decisions(X, Y, alpha=alpha), atol=1e-2)


def test_only_ratios_of_weights_matter():
    weight = RNG.uniform(0.1, 2.0, len(Y))
    found = decisions(X, Y, 7 * weight, alpha="auto")
    np.testing.assert_allclose(found, decisions(X, Y, weight, alpha="auto"), atol=1e-9)


@pytest.mark.parametrize("noncrossing", [None, "rearrange"])
@pytest.mark.parametrize("alpha", [1e-2, "auto"])
def test_swapped_labels_are_reflected_costs(noncrossing, alpha):
    """h + b for (−y, 1 − θ) is −(h + b) for (y, θ); hence the measure is symmetric. Unequal classes, for "auto"."""
    settings = {"noncrossing": noncrossing, "alpha": alpha, "tol": 1e-8}
    x, y = X[10:], Y[10:]
    assert y.mean() != 0.5
    one, other = classifier(**settings).fit(x, y), classifier(**settings).fit(x, 1 - y)
    assert other.alpha_ == pytest.approx(one.alpha_, rel=1e-12)
    found = other.predict_at(NEW, 1 - COSTS)
    np.testing.assert_allclose(found, -one.predict_at(NEW, COSTS), atol=1e-3 if alpha != "auto" else 1e-2)


@pytest.mark.parametrize(
    "names",
    [("no", "yes"), (False, True), (-1, 1), (3, 17), (1.0, 2.0), np.array(["a", "bb"], dtype=object)],
    ids=str,
)
def test_labels_are_names(names):
    names = np.asarray(names)
    model, plain = classifier().fit(X, names[Y]), classifier().fit(X, Y)
    np.testing.assert_array_equal(model.classes_, names)
    np.testing.assert_array_equal(model.predict_at(NEW, COSTS), plain.predict_at(NEW, COSTS))
    for cost in COSTS:
        np.testing.assert_array_equal(model.predict(NEW, cost=cost), names[plain.predict(NEW, cost)])
    assert model.predict(NEW).dtype == names.dtype
    assert model.score(NEW, names[TARGET]) == plain.score(NEW, TARGET) == np.mean(plain.predict(NEW) == TARGET)
    curve, expected = model.operating_curve(NEW, names[TARGET], COSTS), plain.operating_curve(NEW, TARGET, COSTS)
    np.testing.assert_array_equal(curve.sensitivity, expected.sensitivity)


@pytest.mark.parametrize("names", [("no", "yes"), (False, True), (3, 17)], ids=str)
def test_who_is_positive_is_a_choice(names):
    """The first class as the positive one is the fit of swapped labels, with the sign that scikit-learn expects."""
    names = np.asarray(names)
    first, swapped = classifier(pos_label=names[0]).fit(X, names[Y]), classifier().fit(X, 1 - Y)
    second = classifier(pos_label=names[1]).fit(X, names[Y])
    np.testing.assert_array_equal(first.classes_, names)
    assert (first.pos_label_, second.pos_label_) == tuple(names.tolist())
    np.testing.assert_array_equal(first.predict_at(NEW, COSTS), swapped.predict_at(NEW, COSTS))
    np.testing.assert_array_equal(first.decision_function(NEW, 0.8), -swapped.decision_function(NEW, 0.8))
    np.testing.assert_array_equal(first.predict(NEW, 0.8), names[1 - swapped.predict(NEW, 0.8)])
    assert np.mean(first.predict(NEW, 0.8) == names[0]) > np.mean(second.predict(NEW, 0.8) == names[0]) + 0.1
    curve, expected = first.operating_curve(NEW, names[TARGET], COSTS), swapped.operating_curve(NEW, 1 - TARGET, COSTS)
    np.testing.assert_array_equal(curve.sensitivity, expected.sensitivity)
    np.testing.assert_array_equal(curve.specificity, expected.specificity)
    with pytest.raises(MercerError, match=f"no row of positive weight has the class {names.tolist()[0]!r}"):
        first.operating_curve(NEW, np.full(len(NEW), names[1]))


def test_order_and_splitting_of_costs():
    whole = Points([0.1, 0.4, 0.9], [1.0, 2.0, 3.0])
    split = Points([0.9, 0.4, 0.1, 0.4], [3.0, 0.5, 1.0, 1.5])
    np.testing.assert_allclose(decisions(X, Y, measure=split), decisions(X, Y, measure=whole), atol=1e-3)


def test_the_unit_of_columns_does_not_matter_by_default():
    scale = np.array([1e3, 1e-2])
    model = classifier(alpha="auto").fit(X * scale, Y)
    expected = classifier(alpha="auto").fit(X, Y)
    assert model.alpha_ == pytest.approx(expected.alpha_)
    np.testing.assert_allclose(model.predict_at(NEW * scale, COSTS), expected.predict_at(NEW, COSTS), atol=1e-3)


def test_alpha_auto_is_that_of_balanced_classes_but_for_a_factor():
    x, y = NEW[:120], TARGET[:120]
    keep = (y == 0) | (np.arange(120) % 4 == 0)
    x, y = x[keep], y[keep]
    p = y.mean()
    assert p < 0.3
    plain = classifier("gaussian", alpha="auto", tol=0.5).fit(x, y)
    balanced = classifier("gaussian", alpha="auto", tol=0.5).fit(x, y, np.where(y == 1, 1 / p, 1 / (1 - p)))
    assert plain.alpha_ == pytest.approx(balanced.alpha_ * (4 * p * (1 - p)) ** 2, rel=1e-12)


# --- costs


def test_beyond_the_outer_costs_nothing_is_extrapolated():
    for noncrossing in (None, "rearrange"):
        model = classifier(noncrossing=noncrossing).fit(X, Y)
        found = model.predict_at(NEW, [0.001, 0.1, 0.9, 0.999])
        np.testing.assert_array_equal(found[:, 0], found[:, 1])
        np.testing.assert_array_equal(found[:, 2], found[:, 3])


def test_all_ways_of_asking_agree():
    model = classifier().fit(X, Y)
    together = model.predict_at(NEW, COSTS)
    assert together.shape == (len(NEW), len(COSTS))
    for j, cost in enumerate(COSTS):
        np.testing.assert_allclose(model.decision_function(NEW, cost), together[:, j], rtol=1e-12)
        np.testing.assert_array_equal(model.predict(NEW, cost), together[:, j] > 0)
    np.testing.assert_array_equal(model.decision_function(NEW), model.decision_function(NEW, cost=0.5))
    np.testing.assert_array_equal(model.predict(NEW), model.predict(NEW, 0.5))
    np.testing.assert_allclose(model.predict_at(NEW, 0.3)[:, 0], together[:, 1], rtol=1e-12)


def test_the_parameter_is_the_cost_that_is_not_given():
    model, plain = classifier(cost=0.8).fit(X, Y), classifier().fit(X, Y)
    np.testing.assert_array_equal(model.dual_coef_, plain.dual_coef_)
    np.testing.assert_array_equal(model.decision_function(NEW), plain.decision_function(NEW, 0.8))
    np.testing.assert_array_equal(model.predict(NEW), plain.predict(NEW, 0.8))
    np.testing.assert_array_equal(model.predict(NEW, 0.5), plain.predict(NEW))
    assert model.score(NEW, TARGET) == np.mean(plain.predict(NEW, 0.8) == TARGET) != plain.score(NEW, TARGET)


@pytest.mark.parametrize("noncrossing", [None, "rearrange"])
@pytest.mark.parametrize("distinct", [True, False])
def test_rows_have_costs_of_their_own(noncrossing, distinct, monkeypatch):
    """Each row is decided as it is alone, whatever the others are, in any order and however many at once."""
    monkeypatch.setattr("mercer.estimators.cost_sensitive.ROWS_AT_ONCE", 64)
    model = classifier(noncrossing=noncrossing).fit(X, Y)
    costs = RNG.uniform(0.02, 0.98, len(NEW)) if distinct else RNG.choice(COSTS, len(NEW))
    alone = np.array([model.decision_function(row[None], cost)[0] for row, cost in zip(NEW, costs, strict=True)])
    np.testing.assert_allclose(model.decision_function(NEW, costs), alone, atol=1e-10)
    np.testing.assert_array_equal(model.predict(NEW, costs.tolist()), alone > 0)
    assert np.any(model.predict(NEW, costs) != model.predict(NEW, costs[::-1]))


def test_prices_of_each_row_are_obeyed():
    """Missing a positive costs a, a false alarm b: θ = a/(a + b). Who ignores that, or turns it around, pays more."""
    x, y = make_moons(2300, noise=0.5, random_state=5)
    model = CostSensitiveClassifier(measure=GaussLegendre(6)).fit(x[:300], y[:300])
    a, b = RNG.exponential(size=(2, 2000))

    def paid(cost):
        called = model.predict(x[300:], cost)
        return np.mean(np.where(y[300:] == 1, a, b) * (called != y[300:]))

    assert paid(a / (a + b)) < 0.8 * paid(0.5) < 0.8 * paid(b / (a + b))


WILD = {"kernel": Gaussian(20.0), "output_kernel": Gaussian(60.0), "alpha": 1e-5, "measure": GaussLegendre(12)}


def test_rearranged_decisions_increase_with_the_cost():
    grid = np.linspace(0.01, 0.99, 173)
    settings = WILD | {"tol": 1e-3}
    free = classifier(**settings).fit(X, Y)
    sorted_ = classifier(noncrossing="rearrange", **settings).fit(X, Y)
    assert np.min(np.diff(free.predict_at(NEW, grid))) < -0.05  # else this would show nothing
    assert np.min(np.diff(sorted_.predict_at(NEW, grid))) > -1e-12
    curve, crossing = sorted_.operating_curve(NEW, TARGET), free.operating_curve(NEW, TARGET)
    np.testing.assert_array_equal(curve.costs, sorted_.grid_)
    assert np.all(np.diff(curve.sensitivity) >= 0)
    assert np.all(np.diff(curve.specificity) <= 0)
    assert np.any(np.diff(crossing.sensitivity) < 0)
    # sorting is all that happens: on the grid, each row keeps its values
    values = free.predict_at(NEW, free.grid_)
    np.testing.assert_allclose(sorted_.predict_at(NEW, free.grid_), np.sort(values, axis=1), atol=1e-9)


def test_the_operating_curve_is_that_of_the_predictions():
    model = classifier().fit(X, Y)
    weight = RNG.integers(0, 3, len(TARGET))
    curve = model.operating_curve(NEW, TARGET, COSTS, weight)
    for j, cost in enumerate(COSTS):
        called = model.predict(NEW, cost)
        assert curve.sensitivity[j] == pytest.approx(np.average(called[TARGET == 1] == 1, weights=weight[TARGET == 1]))
        assert curve.specificity[j] == pytest.approx(np.average(called[TARGET == 0] == 0, weights=weight[TARGET == 0]))
    with pytest.raises(AttributeError):
        curve.costs = COSTS


# --- what is learned


@pytest.mark.parametrize("offset", [0.0, -3.0])
def test_costs_are_obeyed(offset):
    """The decision follows P(y = 1 | x) > 1 − θ, also where one class is rare; alpha is left to "auto"."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(3500, 2))
    probability = 1 / (1 + np.exp(-(2 * np.sin(2 * x[:, 0]) + x[:, 1] + offset)))
    y = rng.uniform(size=3500) < probability
    train, test = slice(0, 500), slice(500, None)
    assert y[train].mean() < 0.15 or offset == 0
    model = CostSensitiveClassifier(measure=GaussLegendre(6), noncrossing="rearrange").fit(x[train], y[train])
    costs, found, best, naive = (0.1, 0.3, 0.5, 0.7, 0.9), 0.0, 0.0, 0.0
    for cost in costs:
        price = np.where(y, cost, 1 - cost)[test]
        found += np.mean(price * (model.predict(x[test], cost) != y[test]))
        best += np.mean(price * ((probability[test] > 1 - cost) != y[test]))
        naive += min(np.mean(price * (y[test] != value)) for value in (False, True))
    assert found < best + 0.25 * (naive - best)  # 0.17 of it; ten times alpha_ would make it 0.4


def test_smooth_losses_approach_the_hinge():
    hinge = decisions(X, Y)
    far, near = (np.abs(decisions(X, Y, loss=MoreauHinge(kappa)) - hinge).max() for kappa in (1.0, 1e-3))
    assert near < 0.02 < far
