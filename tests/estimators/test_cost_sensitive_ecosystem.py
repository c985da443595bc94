"""Cloning, tuning, pipelines, data frames, pickles, precomputed kernels, other arrays."""

import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import clone, is_classifier
from sklearn.datasets import make_moons
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import CostSensitiveClassifier
from mercer.backend import to_numpy
from mercer.kernels import Gaussian
from mercer.measures import Points

RNG = np.random.default_rng(4)
X, Y = make_moons(40, noise=0.3, random_state=0)
NEW, TARGET = make_moons(30, noise=0.3, random_state=1)
COSTS = [0.1, 0.4, 0.8]
FEW = Points([0.1, 0.5, 0.9])


def classifier(kernel=None, **settings):
    return CostSensitiveClassifier(kernel, **{"alpha": 1e-2, "measure": FEW, **settings})


def test_clone_and_parameters():
    model = classifier(Gaussian(2.0)).fit(X, Y)
    twin = clone(model)
    assert repr(twin) == repr(model)
    assert not hasattr(twin, "classes_")
    assert is_classifier(model)
    assert not model.__sklearn_tags__().classifier_tags.multi_class
    model.set_params(kernel__gamma=3.0, alpha=0.5)
    assert model.kernel == Gaussian(3.0)


def test_pickle():
    model = classifier().fit(X, np.where(Y, "yes", "no"))
    twin = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(twin.predict_at(NEW, COSTS), model.predict_at(NEW, COSTS))
    np.testing.assert_array_equal(twin.predict(NEW, cost=0.9), model.predict(NEW, cost=0.9))


@pytest.mark.parametrize("scoring", [None, "accuracy", "roc_auc"])
def test_grid_search(scoring):
    grid = {"kernel__gamma": [1e-3, 2.0], "alpha": [1e-2, 1.0]}
    labels = np.where(Y, "yes", "no")
    search = GridSearchCV(classifier(Gaussian(1.0)), grid, scoring=scoring, cv=3, error_score="raise").fit(X, labels)
    assert search.best_params_["kernel__gamma"] == 2.0
    assert np.mean(search.predict(NEW) == np.where(TARGET, "yes", "no")) > 0.8


def test_the_cost_is_searched():
    """Where missing a positive is four times as bad, the cost to decide at is 4/5, and a search finds it."""
    x, y = make_moons(300, noise=0.5, random_state=3)
    scoring = make_scorer(lambda truth, called: -np.mean(np.where(truth == 1, 4.0, 1.0) * (truth != called)))
    search = GridSearchCV(
        classifier(alpha="auto", measure=None), {"cost": [0.2, 0.5, 0.8]}, scoring=scoring, cv=3, error_score="raise"
    )
    search.fit(x, y)
    assert search.best_params_ == {"cost": 0.8}
    np.testing.assert_array_equal(search.predict(NEW), search.best_estimator_.predict(NEW, cost=0.8))
    assert clone(search.best_estimator_).cost == 0.8


@pytest.mark.parametrize("scoring", ["roc_auc", "average_precision", "accuracy"])
def test_scikit_learn_scores_do_not_depend_on_who_is_positive(scoring):
    x, y = make_moons(150, noise=0.3, random_state=3)
    scores = [cross_val_score(classifier(pos_label=name), x, y, scoring=scoring, cv=3) for name in (None, 1, 0)]
    np.testing.assert_array_equal(scores[0], scores[1])
    np.testing.assert_allclose(scores[2], scores[0], atol=0.03)
    assert np.all(scores[2] > 0.7)


def test_pipeline_with_a_cost():
    pipeline = make_pipeline(StandardScaler(), classifier(Gaussian(1.0))).fit(X, Y)
    scaler = StandardScaler().fit(X)
    direct = classifier(Gaussian(1.0)).fit(scaler.transform(X), Y)
    np.testing.assert_array_equal(pipeline.predict(NEW, cost=0.9), direct.predict(scaler.transform(NEW), cost=0.9))
    assert np.any(pipeline.predict(NEW, cost=0.9) != pipeline.predict(NEW))
    pipeline.set_params(costsensitiveclassifier__cost=0.9)
    np.testing.assert_array_equal(pipeline.predict(NEW), pipeline.predict(NEW, cost=0.9))
    own = np.linspace(0.1, 0.9, len(NEW))
    np.testing.assert_array_equal(pipeline.predict(NEW, cost=own), direct.predict(scaler.transform(NEW), cost=own))


def test_weights_through_cross_validation():
    weight, folds = RNG.uniform(0.1, 3.0, len(Y)), StratifiedKFold(3)
    with sklearn.config_context(enable_metadata_routing=True):
        model = classifier().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        found = cross_val_score(model, X, Y, cv=folds, params={"sample_weight": weight})
    expected = [
        classifier().fit(X[train], Y[train], weight[train]).score(X[test], Y[test], weight[test])
        for train, test in folds.split(X, Y)
    ]
    np.testing.assert_allclose(found, expected)


def test_data_frames():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["a", "b"], index=range(5, 45))
    expected = classifier().fit(X, Y).predict_at(NEW, COSTS)
    for labels in (
        pd.Series(Y, index=range(40)),
        pd.Series(Y).map({0: "no", 1: "yes"}),
        pd.Series(Y).map({0: "no", 1: "yes"}).astype("category"),
        pd.Series(Y, dtype="boolean").astype(bool),
    ):
        model = classifier().fit(frame, labels)
        found = model.predict_at(pd.DataFrame(NEW, columns=["a", "b"]), COSTS)
        np.testing.assert_allclose(found, expected)
        own = pd.Series(np.linspace(0.1, 0.9, 40), index=frame.index)
        np.testing.assert_array_equal(model.predict(frame, cost=own), model.predict(frame, cost=own.to_numpy()))
        curve = model.operating_curve(frame, labels, COSTS, pd.Series(np.ones(40)))
        assert curve.sensitivity.shape == (3,)
    assert list(model.feature_names_in_) == ["a", "b"]


def test_precomputed():
    kernel, weight = Gaussian(3.0), np.where(np.arange(40) % 5, 1.0, 0.0)
    direct = classifier(kernel, tol=1e-6).fit(X, Y, weight)
    model = classifier("precomputed", tol=1e-6).fit(kernel(X), Y, weight)
    found = model.predict_at(kernel(NEW, X), COSTS)
    np.testing.assert_allclose(found, direct.predict_at(NEW, COSTS), atol=5e-3)
    folds = StratifiedKFold(3)
    np.testing.assert_array_equal(
        cross_val_predict(classifier("precomputed"), kernel(X), Y, cv=folds),
        cross_val_predict(classifier(kernel), X, Y, cv=folds),
    )
    auto = classifier("precomputed", alpha="auto").fit(kernel(X), Y)
    assert auto.alpha_ == pytest.approx(classifier(kernel, alpha="auto").fit(X, Y).alpha_)


def test_one_class_against_the_rest():
    """As a part of scikit-learn's own."""
    three = np.array(["left", "middle", "right"])[np.digitize(X[:, 0], [0.0, 1.0])]
    model = OneVsRestClassifier(classifier(Gaussian(2.0), alpha=1e-3)).fit(X, three)
    assert model.score(X, three) > 0.9


def test_warm_start():
    model = classifier(solver="admm", warm_start=True).fit(X, Y)
    assert model.n_iter_ > 0
    assert model.fit(X, Y).n_iter_ == 0


@pytest.mark.parametrize("noncrossing", [None, "rearrange"])
@pytest.mark.parametrize("weighted", [False, True])
def test_other_arrays_give_the_same(noncrossing, weighted):
    xp = pytest.importorskip("array_api_strict")
    settings = {"noncrossing": noncrossing, "solver": "proximal_gradient", "tol": 1e-3, "alpha": 0.05}
    weight = RNG.integers(1, 3, len(Y)).astype(float) if weighted else None
    here = classifier(**settings).fit(X, Y, weight)
    x, y, new = xp.asarray(X), xp.asarray(Y), xp.asarray(NEW)
    there = classifier(**settings).fit(x, y, None if weight is None else xp.asarray(weight))
    assert type(there.classes_) is type(x)
    own = np.linspace(0.1, 0.9, len(NEW))
    for got, wanted in (
        (there.predict_at(new, COSTS), here.predict_at(NEW, COSTS)),
        (there.decision_function(new, 0.3), here.decision_function(NEW, 0.3)),
        (there.predict(new, 0.3), here.predict(NEW, 0.3)),
        (there.decision_function(new, xp.asarray(own)), here.decision_function(NEW, own)),
        (there.predict(new, own), here.predict(NEW, own)),
    ):
        assert type(got) is type(x)
        np.testing.assert_allclose(to_numpy(got), wanted, atol=1e-6)
    curve = there.operating_curve(new, xp.asarray(TARGET), COSTS)
    np.testing.assert_allclose(curve.sensitivity, here.operating_curve(NEW, TARGET, COSTS).sensitivity)


@pytest.mark.parametrize("positive", [0, 1])
def test_who_is_positive_with_other_arrays(positive):
    xp = pytest.importorskip("array_api_strict")
    model = classifier(tol=1e-2, pos_label=positive)
    here, there = (clone(model).fit(a, b) for a, b in ((X, Y), (xp.asarray(X), xp.asarray(Y))))
    assert there.pos_label_ == here.pos_label_ == positive
    np.testing.assert_array_equal(to_numpy(there.predict(xp.asarray(NEW), 0.8)), here.predict(NEW, 0.8))


def test_labels_of_text_with_other_arrays():
    xp = pytest.importorskip("array_api_strict")
    model = classifier(tol=1e-2).fit(xp.asarray(X), np.where(Y, "yes", "no"))
    assert set(model.predict(xp.asarray(NEW))) == {"no", "yes"}
