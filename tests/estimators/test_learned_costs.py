"""Costs without a kernel and λ of one's own: scales by evidence, the rest by held-out cost; what must not matter."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

import mercer.estimators.learned_kernel as module
from mercer import CostMatrixClassifier, CostSensitiveClassifier
from mercer.exceptions import UnsupportedError
from mercer.kernels import Gaussian, Linear
from mercer.losses import CostSensitiveHinge
from mercer.measures import GaussLegendre
from mercer.model_selection import expected_cost
from mercer.stages import LabelInputs, LogisticLinks

RNG = np.random.default_rng(0)
X = RNG.normal(size=(450, 6))
X[:, 3] = np.exp(2 * X[:, 3])
PROBABILITY = 1 / (1 + np.exp(-4 * np.sin(1.5 * X[:, 0]) - 2 * np.log(X[:, 3])))
Y = (RNG.uniform(size=450) < PROBABILITY).astype(int)
TRAIN, TEST = slice(0, 150), slice(150, None)
COSTS = np.array([0.1, 0.3, 0.5, 0.8])


def classifier(kernel=None, **settings):
    return CostSensitiveClassifier(kernel, **{"measure": GaussLegendre(6), **settings})


MODEL = classifier().fit(X[TRAIN], Y[TRAIN])


def paid(model):
    return np.mean(expected_cost(Y[TEST] == 1, model.predict_at(X[TEST], COSTS) > 0, COSTS))


def test_columns_that_matter_are_found_and_it_pays():
    assert MODEL.relevance_.shape == (6,)
    assert MODEL.relevance_.sum() == pytest.approx(1)
    assert set(np.argsort(MODEL.relevance_)[-2:]) == {0, 3}
    assert MODEL.relevance_[[0, 3]].sum() > 0.6
    best = np.mean(expected_cost(Y[TEST] == 1, PROBABILITY[TEST, None] > 1 - COSTS, COSTS))
    given = classifier(Gaussian("standardized")).fit(X[TRAIN], Y[TRAIN])
    assert paid(MODEL) < best + 0.6 * (paid(given) - best)


def test_one_scale_for_all_columns_where_that_is_better():
    """The sum of all columns squared: no column matters more than the others, and the linear part not at all."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(90, 4))
    model = classifier().fit(rows, np.sum(rows**2, axis=1) > 3)
    assert model.relevance_.max() < 0.5
    alike = LabelInputs.alike(model.inputs_.columns)
    assert alike.kernel == Gaussian(0.5)
    np.testing.assert_allclose(alike.share(4), 0.25)
    np.testing.assert_allclose(np.mean(np.sum((alike(rows)[:, None] - alike(rows)) ** 2, axis=2)), 2, rtol=1e-12)


def test_the_learned_kernel_is_one_at_equal_points_on_average():
    assert MODEL.inputs_.relevance.linear > 0
    np.testing.assert_allclose(np.mean(MODEL.kernel_.diagonal(MODEL.inputs_(X[TRAIN]))), 1, rtol=1e-9)
    assert MODEL.kernel_.right.kernel == Linear()
    assert np.any(np.isclose(1.5 * MODEL.alpha_, module.COST_ALPHAS))


def test_the_certificate_is_that_of_the_public_problem():
    """The model is what a given kernel fits to ``inputs_(X)``, gap included, but for thresholds in the intercept."""
    rows = MODEL.inputs_(X[TRAIN])
    np.testing.assert_array_equal(MODEL.X_fit_, rows)
    same = classifier(MODEL.kernel_, alpha=MODEL.alpha_).fit(rows, Y[TRAIN])
    assert (same.objective_, same.relative_gap_) == (MODEL.objective_, MODEL.relative_gap_)
    assert MODEL.relative_gap_ <= 1e-3
    new = MODEL.inputs_(X[TEST])
    np.testing.assert_array_equal(same.intercept_, MODEL.optimal_intercept_)
    np.testing.assert_array_equal(same.intercept_, same.optimal_intercept_)
    nodes = MODEL.measure_.locations
    shift = MODEL.intercept_ - MODEL.optimal_intercept_
    np.testing.assert_allclose(MODEL.predict_at(X[TEST], nodes), same.predict_at(new, nodes) + shift, atol=1e-12)


def held_out_decisions(rows, found):
    """Fit public models with the scales of each fold to the other folds."""
    number = next(k for k, (inputs, _) in enumerate(rows.candidates) if inputs is found.inputs)
    decisions = np.empty((len(rows.X), 6))
    for k, part in enumerate(rows.candidates[number][1]):
        others, own = rows.fold != k, rows.fold == k
        model = classifier(part.kernel, alpha=1.5 * found.alpha, tol=1e-2).fit(part(rows.X[others]), rows.signs[others])
        decisions[own] = model.predict_at(part(rows.X[own]), model.measure_.locations)
    return decisions


def test_thresholds_are_those_of_held_out_decisions():
    rows = module.LabelledRows.learn(X[TRAIN], np.where(Y[TRAIN], 1.0, -1.0), None)
    theta, w = MODEL.measure_.locations, MODEL.measure_.weights

    def bind(kernel):
        return MODEL._operator_valued_kernel(X[TRAIN], MODEL.measure_, kernel)

    found = rows.choose(MODEL, bind, CostSensitiveHinge())
    np.testing.assert_allclose(found.thresholds, MODEL.optimal_intercept_ - MODEL.intercept_, atol=1e-12)
    expected = LogisticLinks.learn(held_out_decisions(rows, found), rows.signs).thresholds(theta, w)
    np.testing.assert_allclose(found.thresholds, expected, atol=0.1)
    assert np.ptp(expected) > 0.3


def test_thresholds_make_probabilities_honest():
    """On new rows of four small samples, probabilities are closer to the true ones than without thresholds."""
    errors = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(400, 3))
        truth = 1 / (1 + np.exp(-3 * (rows[:, 0] + rows[:, 1] ** 2 - 1)))
        labels = (rng.uniform(size=400) < truth)[:100]
        model = classifier().fit(rows[:100], labels)
        plain = classifier(model.kernel_, alpha=model.alpha_).fit(model.inputs_(rows[:100]), labels)
        found = model.predict_proba(rows[100:]), plain.predict_proba(model.inputs_(rows[100:]))
        errors.append([np.mean((probability[:, 1] - truth[100:]) ** 2) for probability in found])
    calibrated, raw = np.mean(errors, axis=0)
    assert calibrated < 0.92 * raw


@pytest.mark.parametrize("settings", [{"noncrossing": "constraint"}, {"fit_intercept": False}], ids=str)
def test_without_thresholds(settings):
    model = classifier(**settings).fit(X[:60], Y[:60])
    assert model.inputs_ is not None
    np.testing.assert_array_equal(model.intercept_, model.optimal_intercept_)


# --- what does not matter


def agrees(model, rows, atol=1e-6):
    np.testing.assert_allclose(model.predict_at(rows, COSTS), MODEL.predict_at(X[TEST], COSTS), rtol=0, atol=atol)


def test_neither_units_nor_orders_matter():
    scale, shift = np.array([1e3, 1e-2, 1, 7, 1e5, 1]), np.array([1, 2, 3, 0, -5, 9])
    agrees(classifier().fit(X[TRAIN] * scale + shift, Y[TRAIN]), X[TEST] * scale + shift, atol=1e-3)
    order = np.random.default_rng(3).permutation(150)
    agrees(classifier().fit(X[TRAIN][order], Y[TRAIN][order]), X[TEST], atol=1e-3)
    columns = [5, 3, 0, 1, 4, 2]
    other = classifier().fit(X[TRAIN][:, columns], Y[TRAIN])
    np.testing.assert_allclose(other.relevance_, MODEL.relevance_[columns], atol=1e-2)


def test_a_weight_of_two_is_the_row_twice():
    counts = np.where(np.arange(150) % 3 == 0, 2, 1)
    weighted = classifier().fit(X[TRAIN], Y[TRAIN], counts)
    copied = classifier().fit(np.repeat(X[TRAIN], counts, axis=0), np.repeat(Y[TRAIN], counts))
    scaled = classifier().fit(X[TRAIN], Y[TRAIN], 10 * counts)
    for other in (copied, scaled):
        assert other.alpha_ == weighted.alpha_
        np.testing.assert_allclose(other.predict_at(X[TEST], COSTS), weighted.predict_at(X[TEST], COSTS), atol=1e-6)
    assert not np.allclose(weighted.predict_at(X[TEST], COSTS), MODEL.predict_at(X[TEST], COSTS), atol=1e-3)


def test_constant_columns_do_not_matter():
    def widened(rows):
        return np.column_stack([np.full(len(rows), 7.0), rows, np.zeros(len(rows))])

    model = classifier().fit(widened(X[TRAIN]), Y[TRAIN])
    agrees(model, widened(X[TEST]), atol=1e-3)
    assert model.n_features_in_ == 8
    assert model.X_fit_.shape == (150, 6)
    np.testing.assert_allclose(model.relevance_, np.concatenate([[0], MODEL.relevance_, [0]]), atol=1e-4)
    nothing = classifier().fit(np.ones((40, 2)), np.arange(40) % 2)
    assert np.all(np.isfinite(nothing.predict_proba(np.ones((3, 2)))))


def test_which_class_is_positive_does_not_matter():
    settings = {"tol": 1e-6}
    one, other = (classifier(**settings).fit(X[TRAIN], labels) for labels in (Y[TRAIN], 1 - Y[TRAIN]))
    assert other.alpha_ == one.alpha_
    np.testing.assert_allclose(other.relevance_, one.relevance_, atol=1e-6)
    np.testing.assert_allclose(other.predict_proba(X[TEST])[:, ::-1], one.predict_proba(X[TEST]), atol=2e-2)


def test_pickles_clones_and_names():
    pd = pytest.importorskip("pandas")
    twin = pickle.loads(pickle.dumps(MODEL))
    np.testing.assert_array_equal(twin.predict_proba(X[TEST]), MODEL.predict_proba(X[TEST]))
    names = list("abcdef")
    model = clone(MODEL).fit(pd.DataFrame(X[TRAIN], columns=names), Y[TRAIN])
    assert list(model.feature_names_in_) == names
    np.testing.assert_array_equal(
        model.predict_proba(pd.DataFrame(X[TEST], columns=names)), MODEL.predict_proba(X[TEST])
    )


def test_skops():
    sio = pytest.importorskip("skops.io")
    dumped = sio.dumps(MODEL)
    back = sio.loads(dumped, trusted=sio.get_untrusted_types(data=dumped))
    np.testing.assert_array_equal(back.predict_proba(X[TEST]), MODEL.predict_proba(X[TEST]))


# --- when it is learned


@pytest.mark.parametrize(
    "settings",
    [{"kernel": "gaussian"}, {"alpha": 0.01}, {"kernel": Gaussian(1.0), "alpha": 0.01}],
    ids=str,
)
def test_a_kernel_or_alpha_of_yours_is_taken_as_it_is(settings):
    model = classifier(**settings).fit(X[TRAIN], Y[TRAIN])
    assert model.inputs_ is None
    assert model.relevance_ is None
    np.testing.assert_array_equal(model.X_fit_, X[TRAIN])


def test_a_second_fit_forgets_the_first():
    model = clone(MODEL).fit(X[TRAIN], Y[TRAIN]).set_params(kernel="gaussian").fit(X[TRAIN, :2], Y[TRAIN])
    assert model.inputs_ is None
    assert model.relevance_ is None
    assert model.n_features_in_ == 2


def test_few_rows_and_guarantees_take_one_length():
    few = np.arange(9) < 4
    assert classifier().fit(X[:9], few).inputs_ is None
    assert classifier().fit(X[:10], np.arange(10) < 5).inputs_ is not None
    assert classifier(noncrossing="guarantee").fit(X[:20, :1], Y[:20]).inputs_ is None


@pytest.mark.parametrize(
    "settings",
    [{"noncrossing": "rearrange"}, {"noncrossing": "penalty"}, {"fit_intercept": False}, {"loss": "moreau_hinge"}],
    ids=str,
)
def test_other_settings_are_kept(settings):
    model = classifier(**settings).fit(X[:60], Y[:60])
    assert model.inputs_ is not None
    assert model.relative_gap_ <= 1e-3
    values = model.predict_at(X[TEST], np.linspace(0.05, 0.95, 40))
    if settings.get("noncrossing") == "rearrange":
        assert np.min(np.diff(values, axis=1)) > -1e-12


def test_rows_far_away_are_those_at_the_edge():
    far = X[:1].copy()
    far[0, 0] = 1e30
    farther = far * np.array([1e10, 1, 1, 1, 1, 1])
    np.testing.assert_array_equal(MODEL.predict_proba(far), MODEL.predict_proba(farther))


def test_of_many_rows_some_choose():
    rows = module.LabelledRows.learn(X, np.where(Y, 1.0, -1.0), None)
    sample = rows.order[:100]
    assert abs(np.mean(rows.signs[sample] > 0) - Y.mean()) < 0.02
    for k in range(3):
        assert abs(np.sum(rows.fold[sample] == k) - 100 / 3) < 3
        assert set(rows.signs[rows.fold == k]) == {-1.0, 1.0}
    assert sorted(rows.order) == list(range(450))


def test_candidates_that_do_not_fit_are_left_out():
    rows = module.LabelledRows.learn(X[:60], np.where(Y[:60], 1.0, -1.0), None)

    def smooth_only(alone):
        if alone.candidates[0][0].relevance.linear > 0:
            raise UnsupportedError("too large")

    def none(alone):
        raise UnsupportedError("too large")

    assert rows.affordable(smooth_only).candidates == rows.candidates[1:]
    with pytest.raises(UnsupportedError, match="too large"):
        rows.affordable(none)


def test_several_classes_come_by_themselves():
    x, y = load_iris(return_X_y=True)
    model = CostMatrixClassifier(classifier()).fit(x[::2], y[::2])
    assert all(part.inputs_ is not None for part in model.estimators_)
    assert np.mean(model.predict(x[1::2]) == y[1::2]) > 0.93
