"""MultiTaskRegressor: one task in each row."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import MultiTaskRegressor, VectorValuedRegressor
from mercer.exceptions import MercerError
from mercer.kernels import Gaussian
from mercer.operator_valued import graph_matrix

GAMMA = np.array([[1.0, 0.6, 0.2], [0.6, 0.8, 0.1], [0.2, 0.1, 1.0]])


def rows(n=45, seed=0, noise=0.1):
    rng = np.random.default_rng(seed)
    x, task = rng.uniform(-1, 1, (n, 2)), rng.integers(0, 3, n)
    y = np.sin(3 * x[:, 0]) + x[:, 1] * (task == 1) + task + noise * rng.normal(size=n)
    return x, task, y


@parametrize_with_checks([MultiTaskRegressor()])
def test_estimator_checks(estimator, check):
    check(estimator)


def test_the_system_of_one_task_in_each_row():
    """Spec 3.5: min (1/2n)Σ(⟨h(x_i), e_{t_i}⟩ − y_i)² + (λ/2)‖h‖² is ridge regression with k(x, z)Γ[t, t']."""
    x, task, y = rows()
    model = MultiTaskRegressor(-1, kernel=Gaussian(2.0), output_matrix=GAMMA, alpha=0.01, fit_intercept=False, tol=1e-9)
    model.fit(np.column_stack([x, task]), y)
    K = Gaussian(2.0)(x) * GAMMA[np.ix_(task, task)]
    expected = K @ np.linalg.solve(K + 0.45 * np.eye(45), y)
    mean, std = model.predict(np.column_stack([x, task]), return_std=True)
    np.testing.assert_allclose(mean, expected, atol=1e-5)
    variance = model.regressor_.signal_variance_ * np.diag(K - K @ np.linalg.solve(K + 0.45 * np.eye(45), K))
    np.testing.assert_allclose(std, np.sqrt(variance), rtol=1e-4)


def test_columns_by_place_and_by_name():
    x, task, y = rows()
    names = np.array(["c", "a", "b"])[task]
    frame = pd.DataFrame({"u": x[:, 0], "task": names, "v": x[:, 1]})
    model = MultiTaskRegressor("task").fit(frame, y)
    assert model.tasks_.tolist() == ["a", "b", "c"]
    assert model.n_features_in_ == 3
    Y = np.where(np.arange(3) == np.searchsorted(model.tasks_, names)[:, None], y[:, None], np.nan)
    whole = VectorValuedRegressor(output_matrix="learned").fit(x, Y)
    np.testing.assert_allclose(model.predict(frame), whole.predict(x)[~np.isnan(Y)], atol=1e-9)
    np.testing.assert_allclose(model.regressor_.predict(frame[["u", "v"]]), whole.predict(x), atol=1e-9)
    by_place = MultiTaskRegressor(1).fit(frame, y)
    np.testing.assert_allclose(by_place.predict(frame), model.predict(frame))
    coded = np.column_stack([np.searchsorted(model.tasks_, names), x])
    codes = MultiTaskRegressor(0).fit(coded, y)
    np.testing.assert_allclose(codes.predict(coded), model.predict(frame), atol=1e-9)
    categories = MultiTaskRegressor("task").fit(frame.astype({"task": "category"}), y)
    np.testing.assert_allclose(categories.predict(frame), model.predict(frame))


def test_tasks_of_few_rows_borrow_from_those_like_them():
    gains = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        x, task = rng.uniform(-1, 1, (400, 2)), rng.integers(0, 4, 400)
        y = np.sin(4 * x[:, 0]) * (1 + x[:, 1]) + 0.2 * x[:, 1] * task + 0.3 * rng.normal(size=400)
        X = np.column_stack([x, task])
        scores = [
            MultiTaskRegressor(-1, output_matrix=matrix).fit(X[:60], y[:60]).score(X[60:], y[60:])
            for matrix in ("learned", graph_matrix(np.ones((4, 4)), ridge=0.1), None)
        ]
        gains.append(np.array(scores[:2]) - scores[2])
    assert np.mean(gains, axis=0).min() > 0.03
    assert np.min(gains) > -0.02


def test_splits_keep_tasks_with_their_rows_and_robust_losses():
    x, task, y = rows(90)
    X = np.column_stack([x, task])
    model = MultiTaskRegressor(-1, kernel=Gaussian(1.0), alpha=1e-3)
    assert cross_val_score(model, X, y, cv=3).min() > 0.8
    y[:4] += 30
    robust = clone(model).set_params(loss="huber").fit(X, y)
    assert robust.regressor_.relative_gap_ <= 1e-4
    assert robust.score(X[4:], y[4:]) > clone(model).fit(X, y).score(X[4:], y[4:])


@pytest.mark.parametrize(
    ("params", "change", "message"),
    [
        ({"task": 5}, {}, "one of 3 columns"),
        ({"task": True}, {}, "one of 3 columns"),
        ({"task": "site"}, {}, "no names of columns"),
        ({"task": "site"}, {"X": pd.DataFrame(np.ones((45, 2)), columns=["a", "b"])}, "It has 'a', 'b'"),
        ({"task": 0}, {"X": np.ones((45, 1))}, "an input at least"),
        ({"task": -1, "output_matrix": np.eye(2)}, {}, r"\(3, 3\)"),
        ({"task": -1, "kernel": "precomputed"}, {}, "kernel on vectors"),
        ({"task": -1}, {"y": np.ones((45, 2))}, "VectorValuedRegressor"),
        ({"task": -1}, {"y": np.ones(4)}, "inconsistent"),
        ({"task": -1}, {"y": np.full(45, np.nan)}, "contains NaN"),
        ({"task": -1}, {"X": np.full((45, 3), np.nan)}, "row 0 has no task"),
    ],
)
def test_refusals(params, change, message):
    x, task, y = rows()
    data = {"X": np.column_stack([x, task]), "y": y} | change
    with pytest.raises(MercerError, match=message):
        MultiTaskRegressor(**params).fit(**data)


def test_a_task_that_was_not_there():
    x, task, y = rows()
    model = MultiTaskRegressor(-1, kernel=Gaussian(1.0), output_matrix=None, alpha=0.1)
    model.fit(np.column_stack([x, task]), y)
    with pytest.raises(MercerError, match=r"row 1 is of task .*7.*tasks are \[0.0, 1.0, 2.0\]"):
        model.predict([[0.0, 0.0, 1.0], [0.0, 0.0, 7.0]])
