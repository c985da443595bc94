"""Curves without a kernel of one's own: scales of columns by evidence, where they predict better."""

import pickle

import numpy as np
import pytest

from mercer import FunctionalRegressor, FunctionalRegressorCV
from mercer.estimators import column_relevance
from mercer.estimators.smoothness import FEW_LENGTHS, default_kernels
from mercer.kernels import Gaussian
from mercer.plotting import RelevanceDisplay

RNG = np.random.default_rng(0)
GRID = np.linspace(0, 1, 12)
X = RNG.normal(size=(200, 7))
CLEAN = np.sin(2 * X[:, 2:3] + 4 * GRID) + X[:, 4:5] * GRID
Y = CLEAN + 0.2 * RNG.normal(size=CLEAN.shape)
TRAIN, TEST = slice(0, 70), slice(70, None)


def regressor(**settings):
    return FunctionalRegressor(**{"grid": GRID, "output_kernel": Gaussian(4.0), **settings})


MODEL = regressor().fit(X[TRAIN], Y[TRAIN])


def equal_scales(X, Y):
    """The choice among Gaussians with equal scales of standardised columns."""
    kernels = default_kernels(X, FEW_LENGTHS)
    return FunctionalRegressorCV(kernels, output_kernels=Gaussian(4.0), grid=GRID).fit(X, Y)


def error(model):
    return np.mean((model.predict(X[TEST]) - CLEAN[TEST]) ** 2)


def test_columns_that_do_not_matter_no_longer_drown_those_that_do():
    assert MODEL.relevance_.shape == (7,)
    assert MODEL.relevance_.sum() == pytest.approx(1)
    assert set(np.argsort(MODEL.relevance_)[-2:]) == {2, 4}
    assert MODEL.relevance_[[2, 4]].sum() > 0.9
    assert error(MODEL) < 0.3 * error(equal_scales(X[TRAIN], Y[TRAIN]))
    assert MODEL.relative_gap_ <= 1e-4


def test_equal_scales_where_nothing_tells_the_columns_apart():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 3))
    curves = rows.sum(axis=1, keepdims=True) + GRID + 0.1 * rng.normal(size=(60, 12))
    model, rival = regressor().fit(rows, curves), equal_scales(rows, curves)
    np.testing.assert_allclose(model.relevance_, 1 / 3)
    np.testing.assert_array_equal(model.predict(rows), rival.predict(rows))


def test_neither_units_nor_the_order_of_rows_and_columns_matter():
    expected = MODEL.predict(X[TEST])
    units, order = 10.0 ** RNG.integers(-6, 7, size=7), RNG.permutation(70)
    scaled = regressor().fit(X[TRAIN] * units + units, 1e5 * Y[TRAIN])
    np.testing.assert_allclose(scaled.predict(X[TEST] * units + units), 1e5 * expected, rtol=1e-3, atol=1e2)
    np.testing.assert_allclose(scaled.relevance_, MODEL.relevance_, atol=1e-3)
    shuffled = regressor().fit(X[TRAIN][order], Y[TRAIN][order])
    np.testing.assert_allclose(shuffled.predict(X[TEST]), expected, atol=1e-3)
    turned = regressor().fit(X[TRAIN, ::-1], Y[TRAIN])
    np.testing.assert_allclose(turned.relevance_[::-1], MODEL.relevance_, atol=1e-3)


def test_weights_are_copies_of_rows():
    weight = RNG.integers(0, 3, size=70)
    weighted = regressor().fit(X[TRAIN], Y[TRAIN], weight)
    copied = regressor().fit(np.repeat(X[TRAIN], weight, axis=0), np.repeat(Y[TRAIN], weight, axis=0))
    np.testing.assert_allclose(weighted.relevance_, copied.relevance_, atol=1e-6)
    np.testing.assert_allclose(weighted.predict(X[TEST]), copied.predict(X[TEST]), atol=1e-6)


def test_constant_columns_have_no_share():
    wide = np.insert(X, 3, 5.0, axis=1)
    model = regressor().fit(wide[TRAIN], Y[TRAIN])
    np.testing.assert_allclose(model.relevance_, np.insert(MODEL.relevance_, 3, 0.0), atol=1e-3)
    one = regressor().fit(np.column_stack([X[TRAIN, 2], np.ones(70)]), Y[TRAIN])
    np.testing.assert_array_equal(one.relevance_, [1.0, 0.0])
    none = regressor().fit(np.ones((70, 2)), Y[TRAIN])
    np.testing.assert_array_equal(none.relevance_, [0.5, 0.5])


def test_curves_that_do_not_vary():
    model = regressor().fit(X[TRAIN], np.ones((70, 12)))
    np.testing.assert_allclose(model.relevance_, 1 / 7)
    np.testing.assert_allclose(model.predict(X[:3]), 1.0)


def test_outputs_in_several_dimensions_and_without_a_grid():
    both = np.stack([Y, -Y], axis=2)
    assert regressor().fit(X[TRAIN], both[TRAIN]).relevance_[[2, 4]].sum() > 0.9
    single = FunctionalRegressor().fit(X[TRAIN], Y[TRAIN, 0])
    assert single.relevance_[2] > 0.8


def test_not_learned_with_a_kernel_a_robust_loss_one_column_few_curves_or_holes(monkeypatch):
    def refuse(*_):
        raise AssertionError("nothing is to be learned")

    monkeypatch.setattr(column_relevance, "choose_relevance", refuse)
    holes = Y[TRAIN].copy()
    holes[3, 4] = np.nan
    pairs = [(GRID, y) for y in Y[TRAIN]]
    for model, rows, curves in (
        (regressor(kernel=Gaussian("standardized")), X[TRAIN], Y[TRAIN]),
        (regressor(kernel="precomputed"), np.eye(70), Y[TRAIN]),
        (regressor(loss="huber", tol=1e-3), X[TRAIN], Y[TRAIN]),
        (regressor(), X[TRAIN, 2:3], Y[TRAIN]),
        (regressor(), X[:19], Y[:19]),
        (regressor(), X[TRAIN], holes),
        (regressor(), X[:20], pairs[:20]),
    ):
        assert model.fit(rows, curves).relevance_ is None


def test_pickled_and_drawn():
    again = pickle.loads(pickle.dumps(MODEL))
    np.testing.assert_array_equal(again.predict(X[:5]), MODEL.predict(X[:5]))
    assert RelevanceDisplay.from_estimator(again).ax_.get_yticklabels()[0].get_text() == "column 2"


def test_few_components_have_the_variance():
    scores, variances = column_relevance._principal_scores(CLEAN - CLEAN.mean(axis=0), np.ones(200))
    assert len(variances) == 3
    np.testing.assert_allclose(scores.T @ scores / 200, np.eye(3), atol=1e-6)
    spectrum = np.linalg.svd(CLEAN - CLEAN.mean(axis=0), compute_uv=False)[:3] ** 2
    np.testing.assert_allclose(variances / variances[0], spectrum / spectrum[0], rtol=1e-8)
