"""Bad input: an error that names what was wrong, what is allowed and what to try; unusual input that is fine."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning, NotFittedError

from mercer import CostSensitiveClassifier
from mercer.exceptions import MercerError
from mercer.measures import Points, Trapezoid

RNG = np.random.default_rng(5)
N = 24
X = RNG.uniform(size=(N, 2))
Y = (X[:, 0] + 0.3 * RNG.normal(size=N) > 0.5).astype(int)
ONES = np.ones(N)
FEW = Points([0.2, 0.5, 0.8])


def classifier(**settings):
    return CostSensitiveClassifier(**{"alpha": 1e-2, "measure": FEW, **settings})


@pytest.fixture(scope="module")
def model():
    return classifier().fit(X, Y)


def changed(array, index, value):
    array = np.array(array, dtype=float)
    array[index] = value
    return array


THREE = np.array(["red", "green", "blue"])[np.arange(N) % 3]


@pytest.mark.parametrize(
    ("inputs", "targets", "weight", "message"),
    [
        (
            X,
            THREE,
            None,
            "Only binary classification is supported. The type of the target is multiclass: y has 3 classes: "
            r"'blue', 'green', 'red'.*CostMatrixClassifier\(\) takes several",
        ),
        (X, np.arange(N) // 2, None, r"y has 12 classes: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, \.\.\."),
        (X, np.full(N, "yes"), None, "two classes; there is one class only: 'yes'"),
        (X, Y, Y, "no row of positive weight has the class 0"),
        (X, Y, 1 - Y, "no row of positive weight has the class 1"),
        (X, RNG.normal(size=N), None, "Unknown label type: continuous"),
        (X, changed(Y, 0, np.nan), None, "Input y contains NaN"),
        (X, changed(Y, 0, np.inf), None, "Input y contains infinity"),
        (X, np.column_stack([Y, 1 - Y]), None, "y should be a 1d array|multilabel"),
        (X, None, None, "requires y to be passed"),
        (X, Y[:-1], None, r"inconsistent numbers of samples: \[24, 23\]"),
        (X, np.array([None, "a"] * (N // 2), dtype=object), None, ""),
        (changed(X, (0, 0), np.nan), Y, None, "Input X contains NaN"),
        (X[:, 0], Y, None, "Expected 2D array, got 1D array"),
        (X, Y, changed(ONES, 0, -1.0), "sample_weight must be non-negative.*got weights from -1 to 1"),
        (X, Y, changed(ONES, 0, np.nan), "Input sample_weight contains NaN"),
        (X, Y, 0 * ONES, "(?i)sample.weights? must"),
        (X, Y, ONES[:-1], r"sample_weight.shape == \(23,\), expected \(24,\)"),
        (sparse.csr_matrix(X), Y, None, "Sparse data was passed for X"),
    ],
)
def test_data_that_are_refused(inputs, targets, weight, message):
    with pytest.raises(MercerError, match=f"(?s){message}") as caught:
        classifier().fit(inputs, targets, weight)
    assert isinstance(caught.value, (ValueError, TypeError))


@pytest.mark.parametrize(
    "cost",
    [0, 1, -0.1, 1.5, 90, np.nan, "high", "0.5", True, {}, [0.5], np.array([0.2, 0.5]), np.full((N, 1), 0.5)]
    + [[0.5] * (N - 1), [[0.5], [0.5, 0.2]]]
    + [[value] * N for value in (0, 1, 2.0, np.nan, "0.5", None, True)],
)
def test_a_cost_that_is_refused(model, cost):
    for call in (model.predict, model.decision_function):
        with pytest.raises(
            MercerError, match=r"(?s)cost must be a finite number in \(0, 1\).*; got .*θ = r/\(1 \+ r\)"
        ):
            call(X, cost=cost)


@pytest.mark.parametrize("costs", [0, 1.0, -0.1, [0.5, 2], [0.5, np.nan], [], [[0.5]], "all", None, [None]])
def test_costs_that_are_refused(model, costs):
    with pytest.raises(MercerError, match=r"CostSensitiveClassifier: costs must be .*\(0, 1\)"):
        model.predict_at(X, costs)
    if costs is not None:  # then they are those of the grid
        with pytest.raises(MercerError, match=r"CostSensitiveClassifier: costs must be .*\(0, 1\)"):
            model.operating_curve(X, Y, costs)


@pytest.mark.parametrize(
    ("y", "weight", "message"),
    [
        (Y[:-1], None, r"y must have shape \(24,\).*got \(23,\)"),
        (Y + 1, None, r"y must have the labels of the fit, \[0, 1\]; got 2"),
        (np.where(Y == 1, "yes", "no"), None, r"labels of the fit, \[0, 1\]; got '(yes|no)'"),
        (0 * Y, None, "no row of positive weight has the class 1"),
        (Y, Y, "no row of positive weight has the class 0"),
        (Y, -ONES, "sample_weight must be non-negative"),
        (None, None, "requires y to be passed"),
    ],
)
def test_operating_curves_that_are_refused(model, y, weight, message):
    with pytest.raises(MercerError, match=message):
        model.operating_curve(X, y, sample_weight=weight)


@pytest.mark.parametrize("new", [X[:, :1], changed(X, (0, 0), np.nan), X[0], X[:0], sparse.csr_matrix(X)])
def test_new_inputs_that_are_refused(model, new):
    for call in (model.predict, model.decision_function, lambda new: model.predict_at(new, 0.5)):
        with pytest.raises(MercerError):
            call(new)


def test_predicting_before_fitting():
    fresh = CostSensitiveClassifier()
    for call in (
        lambda: fresh.predict(X),
        lambda: fresh.decision_function(X),
        lambda: fresh.predict_at(X, 0.5),
        lambda: fresh.operating_curve(X, Y),
        lambda: fresh.score(X, Y),
    ):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            call()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cost": 1}, r"CostSensitiveClassifier: cost must be a finite number in \(0, 1\); got 1.*θ = r/\(1 \+ r\)"),
        ({"cost": [0.5] * N}, r"cost must be a finite number in \(0, 1\)"),
        ({"pos_label": 2}, r"pos_label must be None or one of the classes, \[0, 1\]; got 2"),
        ({"pos_label": "yes"}, r"pos_label must be None or one of the classes, \[0, 1\]; got 'yes'"),
        ({"pos_label": np.array([0, 1])}, "pos_label must be None or one of the classes"),
        ({"alpha": 0}, "CostSensitiveClassifier: alpha must be .* > 0; got 0"),
        ({"alpha": "best"}, "alpha must be a positive number or 'auto'; got 'best'"),
        ({"tol": 0}, "CostSensitiveClassifier: tol must be"),
        ({"loss": "pinball"}, "loss must be a loss indexed by costs: 'hinge'"),
        ({"loss": "square"}, "indexed by costs"),
        ({"noncrossing": "always"}, "noncrossing must be"),
        ({"measure": [0.1, 0.5]}, r"measure must be a MeasureRule; .*list of costs pass Points\("),
        ({"measure": Trapezoid(5)}, "whose points are costs strictly between 0 and 1.*one of the classes does not"),
        ({"output_kernel": "precomputed"}, "output_kernel must be a kernel on costs"),
        ({"solver": "lbfgs"}, "LBFGS requires a smooth loss"),
        ({"kernel": "gausian"}, "Did you mean 'gaussian'"),
    ],
)
def test_settings_that_are_refused(settings, message):
    model = classifier(**settings)
    with pytest.raises(MercerError, match=f"(?s){message}"):
        model.fit(X, Y)


# --- unusual but fine


def test_a_column_of_labels_is_flattened_with_a_warning():
    with pytest.warns(DataConversionWarning, match="column-vector"):
        model = classifier().fit(X, Y[:, None])
    assert model.predict(X).shape == (N,)


@pytest.mark.parametrize("alpha", [1e-2, "auto"])
def test_two_rows(alpha):
    model = CostSensitiveClassifier(alpha=alpha).fit([[0.0], [1.0]], ["a", "b"])
    assert model.predict([[0.0], [1.0]]).tolist() == ["a", "b"]
    assert model.relative_gap_ <= 1e-3


def test_inputs_that_say_nothing():
    """Without information the decision is that of the shares of the classes: b(θ) alone."""
    model = classifier(measure=Points([0.1, 0.2, 0.8, 0.9])).fit(np.ones((10, 2)), [0] * 7 + [1] * 3)
    assert model.predict(np.ones((1, 2)), cost=0.2).tolist() == [0]  # 0.2·3 < 0.8·7
    assert model.predict(np.ones((1, 2)), cost=0.8).tolist() == [1]  # 0.8·3 > 0.2·7
    assert np.all(np.isfinite(model.predict_at(np.zeros((1, 2)), [0.01, 0.5])))


def test_one_row_in_both_classes():
    model = classifier().fit([[0.0], [0.0], [1.0]], [0, 1, 1])
    assert np.all(np.isfinite(model.predict_at([[0.0]], [0.1, 0.9])))


def test_a_fit_that_does_not_converge_says_so():
    with pytest.warns(ConvergenceWarning, match="tol = 1e-08 was not reached"):
        model = classifier(solver="admm", tol=1e-8, max_iter=3).fit(X, Y)
    assert model.status_ == "max_iter"
    assert np.all(np.isfinite(model.predict_at(X, [0.1, 0.9])))
