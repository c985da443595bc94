"""Learned output matrices: better where outputs are related, and nothing lost where they are not."""

import numpy as np
import pytest

from mercer import LearnedMatrix, VectorValuedRegressor
from mercer.exceptions import MercerError
from mercer.kernels import Gaussian


def tasks(kind, seed, n=60, p=6, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n + 300, 2))
    waves = np.cos(X @ (3 * rng.normal(size=(2, 12))) + rng.uniform(0, 6, 12))
    mixing = rng.normal(size=(12, 2)) @ rng.normal(size=(2, p)) if kind == "related" else rng.normal(size=(12, p))
    Y = 0.5 * waves @ (mixing if kind != "noise" else 0 * mixing) + noise * rng.normal(size=(n + 300, p))
    return X[:n], Y[:n], X[n:], Y[n:]


def errors(kind, seed, missing=0.0, **params):
    X, Y, X_new, Y_new = tasks(kind, seed, p=4 if missing else 6)
    Y[np.random.default_rng(seed).random(Y.shape) < missing] = np.nan
    keep = np.any(~np.isnan(Y), axis=1)
    models = [VectorValuedRegressor(output_matrix=given, **params) for given in (None, "learned")]
    return [np.mean((model.fit(X[keep], Y[keep]).predict(X_new) - Y_new) ** 2) for model in models]


@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("kind", ["related", "unrelated", "noise"])
def test_never_worse_than_the_identity(kind, missing):
    found = np.array([errors(kind, seed, missing) for seed in range(4)])
    ratios = found[:, 1] / found[:, 0]
    assert ratios.max() <= 1.03
    assert ratios.mean() <= (0.97 if kind == "related" else 1.005)


def test_what_is_learned_is_positive_of_trace_p_and_of_low_rank_on_request():
    X, Y, X_new, Y_new = tasks("related", 0, noise=0.3)
    model = VectorValuedRegressor(output_matrix="learned").fit(X, Y)
    assert np.trace(model.output_matrix_) == pytest.approx(6)
    assert np.linalg.eigvalsh(model.output_matrix_)[0] >= 0
    assert not np.allclose(model.output_matrix_, np.eye(6))
    low = VectorValuedRegressor(output_matrix=LearnedMatrix(rank=2)).fit(X, Y)
    assert np.linalg.matrix_rank(low.output_matrix_, tol=1e-8) == 2
    assert np.mean((low.predict(X_new) - Y_new) ** 2) < np.mean((Y_new - Y.mean(axis=0)) ** 2)
    robust = VectorValuedRegressor(output_matrix="learned", loss="huber").fit(X, Y)
    assert robust.relative_gap_ <= 1e-4


def test_a_given_alpha_is_kept_and_one_output_has_nothing_to_learn():
    X, Y, *_ = tasks("related", 1)
    model = VectorValuedRegressor(Gaussian(3.0), output_matrix="learned", alpha=0.01).fit(X, Y)
    assert model.alpha_ == 0.01
    np.testing.assert_array_equal(
        VectorValuedRegressor(output_matrix="learned").fit(X, Y[:, :1]).output_matrix_, np.eye(1)
    )


@pytest.mark.parametrize("rank", [0, 2.5, "three"])
def test_ranks_that_are_none(rank):
    with pytest.raises(MercerError, match="rank"):
        LearnedMatrix(rank=rank)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_targets_that_do_not_differ_teach_nothing(value, fit_intercept, missing):
    X, Y = np.random.default_rng(0).normal(size=(9, 2)), np.full((9, 3), value)
    Y[0, 0] = np.nan if missing else value
    model = VectorValuedRegressor(
        Gaussian(0.5), output_matrix="learned", loss="huber", alpha=1e-3, fit_intercept=fit_intercept
    ).fit(X, Y)
    assert np.all(np.isfinite(model.predict(X)))


@pytest.mark.parametrize("rank", [None, 1])
def test_inputs_that_do_not_differ_teach_nothing(rank):
    Y = np.random.default_rng(0).normal(size=(9, 3))
    model = VectorValuedRegressor(Gaussian(0.5), output_matrix=LearnedMatrix(rank), alpha=1e-3).fit(np.ones((9, 2)), Y)
    assert np.all(np.isfinite(model.predict(np.ones((1, 2)))))


@pytest.mark.parametrize("rank", [None, 1])
def test_rows_that_are_all_the_same_are_too_few_to_learn_from(rank):
    X, Y = np.ones((9, 2)), np.ones((9, 3))
    model = VectorValuedRegressor(Gaussian(0.5), output_matrix=LearnedMatrix(rank), alpha=1e-3).fit(X, Y)
    assert np.all(np.isfinite(model.predict(X)))
