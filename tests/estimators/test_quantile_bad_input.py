"""Bad input: a correct result, or an error that names the parameter, what is allowed and what was got."""

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.exceptions import NotFittedError

from mercer import KernelQuantileRegressor
from mercer.exceptions import MercerError
from mercer.kernels import Gaussian
from mercer.losses import Pinball
from mercer.measures import GaussLegendre, MonteCarlo, Points, Trapezoid

RNG = np.random.default_rng(5)
N = 24
X = RNG.uniform(size=(N, 2))
Y = X[:, 0] + 0.3 * RNG.normal(size=N)
ONES = np.ones(N)
FEW = Points([0.1, 0.5, 0.9])
LEVELS = [0.001, 0.1, 0.37, 0.5, 0.9, 0.999]


def regressor(**settings):
    return KernelQuantileRegressor(**{"alpha": 1e-2, "measure": FEW, **settings})


@pytest.fixture(scope="module")
def model():
    return regressor().fit(X, Y)


def changed(array, index, value):
    array = np.array(array, dtype=float)
    array[index] = value
    return array


def check_finite(model, new):
    """Nothing returns NaN."""
    assert np.all(np.isfinite(model.predict_quantile(new, LEVELS)))
    assert np.all(np.isfinite(model.predict(new)))
    assert np.all(np.isfinite(model.predict_mean(new)))
    assert np.all(np.isfinite(model.predict_interval(new)))
    assert np.all(np.isfinite(model.sample(new, 2, random_state=0)))
    assert np.all(np.isfinite(model.predict_cdf(new, np.zeros(len(new)))))
    assert np.isfinite(model.relative_gap_)
    assert np.isfinite(model.alpha_) or model.stages_ is not None  # ∞: a shape that does not depend on x


# --- data that are refused


@pytest.mark.parametrize(
    ("inputs", "targets", "weight", "message"),
    [
        (changed(X, (0, 0), np.nan), Y, None, "Input X contains NaN"),
        (changed(X, (0, 0), np.inf), Y, None, "Input X contains infinity"),
        (X, changed(Y, 0, np.nan), None, "Input y contains NaN"),
        (X, changed(Y, 0, -np.inf), None, "Input y contains infinity"),
        (X, Y, changed(ONES, 0, np.nan), "Input sample_weight contains NaN"),
        (X, Y, changed(ONES, 0, np.inf), "Input sample_weight contains infinity"),
        (X, Y, changed(ONES, 0, -1.0), "sample_weight must be non-negative.*got weights from -1 to 1"),
        (X, Y, 0 * ONES, "(?i)sample.weights? must"),
        (X, Y, ONES[:-1], r"sample_weight.shape == \(23,\), expected \(24,\)"),
        (X, Y, ONES[:, None], "1D array"),
        (X, Y, ["a"] * N, "sample_weight must hold numbers"),
        (X[:, 0], Y, None, "Expected 2D array, got 1D array"),
        (X[None], Y, None, "dim 3"),
        (X, Y[:-1], None, r"inconsistent numbers of samples: \[24, 23\]"),
        (X, np.column_stack([Y, Y]), None, r"y should be a 1d array, got an array of shape \(24, 2\)"),
        (X, None, None, "requires y to be passed"),
        (X, np.array(["a"] * N), None, "y must hold numbers; got .*a"),
        (np.array([["a", "b"]] * N), Y, None, "X and y must hold numbers"),
        (X + 1j, Y, None, "Complex data not supported"),
        (X, Y + 1j, None, "Complex data not supported"),
        (X[:0], Y[:0], None, r"0 sample\(s\)"),
        (X[:, :0], Y, None, r"0 feature\(s\)"),
        (sparse.csr_matrix(X), Y, None, "Sparse data was passed for X"),
    ],
)
def test_data_that_are_refused(inputs, targets, weight, message):
    with pytest.raises(MercerError, match=message) as caught:
        regressor().fit(inputs, targets, weight)
    assert isinstance(caught.value, (ValueError, TypeError))


@pytest.mark.parametrize(
    ("new", "message"),
    [
        (X[:, :1], "X has 1 features, but KernelQuantileRegressor is expecting 2"),
        (np.column_stack([X, X]), "X has 4 features"),
        (changed(X, (0, 0), np.nan), "Input X contains NaN"),
        (X[0], "Expected 2D array"),
        (X[:0], r"0 sample\(s\)"),
        (sparse.csr_matrix(X), "Sparse data was passed for X"),
        (np.array([["a", "b"]]), "X must hold numbers"),
    ],
)
def test_new_inputs_that_are_refused(model, new, message):
    calls = [
        lambda: model.predict(new),
        lambda: model.predict_quantile(new, 0.5),
        lambda: model.predict_interval(new),
        lambda: model.predict_mean(new),
        lambda: model.predict_function(new),
        lambda: model.predict_cdf(new, 0.0),
        lambda: model.sample(new),
        lambda: model.score(new, Y),
    ]
    for call in calls:
        with pytest.raises(MercerError, match=message):
            call()


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.predict(X),
        lambda m: m.predict_quantile(X, 0.5),
        lambda m: m.predict_interval(X),
        lambda m: m.predict_mean(X),
        lambda m: m.predict_function(X),
        lambda m: m.predict_cdf(X, Y),
        lambda m: m.sample(X),
        lambda m: m.score(X, Y),
    ],
)
def test_predicting_before_fitting(call):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        call(KernelQuantileRegressor())


# --- arguments of predictions


@pytest.mark.parametrize(
    "levels", [0, 1, 0.0, 1.0, -0.1, 1.5, 90, [10, 50, 90], [0.5, np.nan], np.inf, [], [[0.5]], True]
)
def test_levels_that_are_refused(model, levels):
    with pytest.raises(
        ValueError, match=r"KernelQuantileRegressor: levels must be .*\(0, 1\); got .*0.9, not 90"
    ) as caught:
        model.predict_quantile(X, levels)
    assert isinstance(caught.value, MercerError)


@pytest.mark.parametrize(
    "levels", ["median", ["a"], None, {}, "0.5", ["0.1", "0.9"], [0.1, "0.9"], np.array(["0.5"], dtype=object)]
)
def test_levels_that_are_no_numbers(model, levels):
    with pytest.raises(MercerError, match="KernelQuantileRegressor: levels must be"):
        model.predict_quantile(X, levels)


@pytest.mark.parametrize("coverage", [0, 1, -0.1, 90, "most", np.nan, None, [0.5, 0.9], np.array([0.5, 0.9])])
def test_coverage_that_is_refused(model, coverage):
    with pytest.raises(MercerError, match=r"coverage must be a finite number in \(0, 1\); got .*0.9, not 90"):
        model.predict_interval(X, coverage)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros(3), r"y must have 24 rows.*got shape \(3,\)"),
        (np.zeros((1, 5)), r"y must have 24 rows.*got shape \(1, 5\)"),
        (np.zeros((N, 2, 2)), "y must have 24 rows"),
        (np.full(N, np.nan), "y must not contain NaN"),
        ("a", "y must hold numbers; got 'a'"),
    ],
)
def test_cdf_arguments_that_are_refused(model, y, message):
    with pytest.raises(MercerError, match=message):
        model.predict_cdf(X, y)


@pytest.mark.parametrize("size", [0, -1, 1.5, "a", None, True])
def test_sizes_that_are_refused(model, size):
    with pytest.raises(MercerError, match="KernelQuantileRegressor: size must be an integer >= 1; got"):
        model.sample(X, size)


@pytest.mark.parametrize("state", ["a", -1, 1.5])
def test_random_states_that_are_refused(model, state):
    with pytest.raises(MercerError, match="random_state must be None, a non-negative integer"):
        model.sample(X, 1, random_state=state)
    with pytest.raises(MercerError, match="random_state must be None, a non-negative integer"):
        regressor(measure=MonteCarlo(3), random_state=state).fit(X, Y)


@pytest.mark.parametrize(
    ("y", "weight", "message"),
    [
        (changed(Y, 0, np.nan), None, "y must be finite"),
        (Y[:-1], None, r"y must have shape \(24,\)"),
        (Y[:, None], None, r"y must have shape \(24,\)"),
        (["a"] * N, None, "y must hold numbers"),
        (Y, -ONES, "sample_weight must be non-negative"),
        (Y, 0 * ONES, "not all zero"),
        (Y, ONES[:3], r"sample_weight must have shape \(24,\)"),
        (Y, changed(ONES, 0, np.nan), "sample_weight must be finite"),
    ],
)
def test_scores_that_are_refused(model, y, weight, message):
    with pytest.raises(MercerError, match=message):
        model.score(X, y, weight)


# --- settings


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        *(
            ({"alpha": a}, "KernelQuantileRegressor: alpha must be .* > 0; got")
            for a in (0, -1.0, np.nan, np.inf, None)
        ),
        *(({"alpha": a}, "alpha must be a finite number") for a in ([1.0], True)),
        ({"alpha": "foo"}, "alpha must be a positive number or 'auto'; got 'foo'"),
        *(({"tol": t}, "KernelQuantileRegressor: tol must be .* > 0; got") for t in (0, -1e-3, np.nan, "x", None)),
        *(({"max_iter": i}, "max_iter must be an integer >= 1; got") for i in (0, -5, 1.5, "x")),
        ({"kernel": "gausian"}, "KernelQuantileRegressor: kernel must be .*got 'gausian'.*Did you mean 'gaussian'"),
        ({"kernel": "RBF"}, "Did you mean 'rbf'"),
        ({"kernel": 3}, "KernelQuantileRegressor: kernel must be a Kernel, a function of two arrays or one of"),
        ({"kernel": Gaussian}, r"Pass an instance: Gaussian\(\)"),
        ({"output_kernel": "matrn"}, "KernelQuantileRegressor: output_kernel must be .*Did you mean 'matern'"),
        ({"output_kernel": "precomputed"}, "output_kernel must be a kernel on levels; got 'precomputed'"),
        ({"solver": "adm"}, "solver must be .*got 'adm'.*Did you mean 'admm'"),
        ({"solver": 3}, "solver must be 'auto'"),
        ({"solver": "closed_form"}, "ClosedForm requires the square loss"),
        ({"solver": "lbfgs"}, "LBFGS requires a smooth loss"),
        ({"loss": "pinbal"}, "loss must be .*got 'pinbal'.*Did you mean 'pinball'"),
        ({"loss": 3}, "loss must be"),
        ({"loss": Pinball}, r"Did you mean Pinball\(\)"),
        ({"loss": "hinge"}, "indexed by levels"),
        ({"noncrossing": "rearange"}, "noncrossing must be 'rearrange', .* or None; got 'rearange'"),
        ({"noncrossing": True}, "noncrossing must be 'rearrange', .* or None; got True"),
        ({"measure": [0.1, 0.5]}, r"measure must be a MeasureRule; got \[0.1, 0.5\]. .*pass Points\("),
        ({"fit_intercept": "no"}, "fit_intercept must be True or False; got 'no'"),
        ({"measure": 0.5}, "measure must be a MeasureRule; got 0.5"),
        ({"measure": GaussLegendre}, "measure must be a MeasureRule"),
        ({"measure": Trapezoid(5)}, r"measure must be .*strictly between 0 and 1; got array\(\[0. .*GaussLegendre"),
        ({"measure": Points([10, 50])}, "measure must be .*strictly between 0 and 1.*0.9, not 90"),
        ({"measure": Points([0.5, 1.0])}, "measure must be .*strictly between 0 and 1"),
        ({"measure": MonteCarlo(3, dimension=2), "random_state": 0}, "measure must be"),
    ],
)
def test_settings_that_are_refused(settings, message):
    model = regressor(**settings)  # nothing is said before fit, as scikit-learn asks
    with pytest.raises(MercerError, match=f"(?s){message}") as caught:
        model.fit(X, Y)
    assert isinstance(caught.value, (ValueError, TypeError))


def test_trapezoid_as_the_message_advises():
    check_finite(regressor(measure=Trapezoid(7, stats.uniform(0.05, 0.9))).fit(X, Y), X)


A = RNG.normal(size=(N, N))


@pytest.mark.parametrize("solver", ["auto", "admm", "interior_point", "proximal_gradient"])
@pytest.mark.parametrize("alpha", [1e-2, "auto"])
@pytest.mark.parametrize(
    ("gram", "message"),
    [
        (A + A.T, "positive semi-definite"),
        (-np.eye(N), "positive semi-definite"),
        (A @ A.T / N - 0.2 * np.eye(N), "positive semi-definite"),
        (A @ A.T + 0.1 * A, "symmetric"),
        (A[:, :7], "square"),
        (changed(np.eye(N), (0, 1), np.nan), "Input X contains NaN"),
    ],
)
def test_gram_matrices_that_are_refused(solver, alpha, gram, message):
    with pytest.raises(MercerError, match=message):
        regressor(kernel="precomputed", solver=solver, alpha=alpha).fit(gram, Y)


@pytest.mark.filterwarnings("ignore:.*tol = 0.001 was not reached")  # of a matrix of size 1e12, likewise
def test_gram_matrices_of_low_rank_are_accepted():
    thin = A[:, :2]
    for gram in (thin @ thin.T, np.ones((N, N)), np.zeros((N, N)), 1e-12 * thin @ thin.T, 1e12 * thin @ thin.T):
        check_finite(regressor(kernel="precomputed").fit(gram, Y), gram)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x, z: float(x[0] @ z[0]), "matrix of all pairs"),
        (lambda x, z: np.full((len(x), len(z)), np.nan), "NaN or infinite"),
        (lambda x, z: -x @ z.T, "positive semi-definite"),
        (lambda x, z: "text", "no array of numbers"),
    ],
)
def test_functions_that_are_no_kernels(function, message):
    with pytest.raises(MercerError, match=message):
        regressor(kernel=function).fit(X, Y)


# --- data that are unusual but fine


@pytest.mark.parametrize("alpha", [1e-2, "auto"])
@pytest.mark.parametrize("settings", [{}, {"measure": None}, {"fit_intercept": False}])
def test_one_row(alpha, settings):
    model = regressor(alpha=alpha, **settings).fit(X[:1], Y[:1])
    check_finite(model, X)
    if model.fit_intercept:
        np.testing.assert_allclose(model.predict_quantile(X, LEVELS), Y[0], rtol=1e-12)
    assert model.relative_gap_ <= 1e-3


@pytest.mark.parametrize("n", [2, 3, 5])
def test_fewer_rows_than_levels(n):
    for alpha in (1e-2, "auto"):
        model = KernelQuantileRegressor(alpha=alpha).fit(X[:n], Y[:n])
        check_finite(model, X)
        assert model.relative_gap_ <= 1e-3


@pytest.mark.parametrize("value", [7.3, 0.0, -1e-12, 1e12, 1e59, 0.1])
@pytest.mark.parametrize("alpha", [1e-2, "auto"])
def test_constant_y(value, alpha):
    for weight in (None, RNG.uniform(size=N)):
        model = KernelQuantileRegressor(alpha=alpha).fit(X, np.full(N, value), weight)
        np.testing.assert_allclose(model.predict_quantile(X, LEVELS), value, rtol=1e-14)
        assert model.relative_gap_ == model.dual_gap_ == 0
        assert model.score(X, np.full(N, value)) in (0.0, 1.0)
        assert model.alpha_ <= 1


def test_duplicate_rows_are_rows_of_greater_weight():
    twice = regressor().fit(np.repeat(X, 2, axis=0), np.repeat(Y, 2))
    np.testing.assert_allclose(twice.predict_quantile(X, LEVELS), regressor().fit(X, Y).predict_quantile(X, LEVELS))
    assert len(twice.X_fit_) == N


@pytest.mark.parametrize("alpha", [1e-3, "auto"])
def test_equal_x_with_different_y(alpha):
    rng = np.random.default_rng(0)
    x = np.repeat([[0.0], [1.0]], 60, axis=0)
    y = x[:, 0] * 10 + rng.normal(size=120)
    model = KernelQuantileRegressor(alpha=alpha).fit(x, y)
    check_finite(model, x)
    found = model.predict_quantile([[0.0], [1.0]], [0.25, 0.5, 0.75])
    expected = [np.quantile(y[:60], [0.25, 0.5, 0.75]), np.quantile(y[60:], [0.25, 0.5, 0.75])]
    np.testing.assert_allclose(found, expected, atol=0.4)


def test_columns_that_say_nothing():
    one = KernelQuantileRegressor().fit(np.column_stack([X[:, 0], np.full(N, 3.0)]), Y)
    check_finite(one, X)
    nothing = KernelQuantileRegressor().fit(np.full((N, 2), 3.0), Y)
    check_finite(nothing, X)
    expected = np.quantile(Y, [0.25, 0.5, 0.75])
    found = nothing.predict_quantile(np.full((1, 2), 3.0), [0.25, 0.5, 0.75])[0]
    np.testing.assert_allclose(found, expected, atol=0.1 * np.std(Y))


@pytest.mark.parametrize(
    ("inputs", "targets"),
    [
        (np.round(9 * X).astype(int), Y),
        (X.astype(object), Y),
        (X > 0.5, Y),
        (X.tolist(), Y.tolist()),
        (X, np.round(5 * Y).astype(int)),
        (X, Y.astype(object)),
        (X, Y > 0.5),
        (X.astype(np.float32), Y.astype(np.float32)),
        (X.astype(np.float16), Y),
        (np.asfortranarray(X), Y[::-1]),
    ],
)
def test_kinds_of_numbers(inputs, targets):
    model = regressor().fit(inputs, targets)
    check_finite(model, inputs)
    same = regressor().fit(np.asarray(inputs, dtype=float), np.asarray(targets, dtype=float))
    np.testing.assert_array_equal(model.predict(inputs), same.predict(np.asarray(inputs, dtype=float)))


def test_single_precision_is_as_good_as_double():
    single = regressor(tol=1e-7).fit(X.astype(np.float32), Y.astype(np.float32))
    assert single.relative_gap_ <= 1e-7
    np.testing.assert_allclose(
        single.predict(X.astype(np.float32)), regressor(tol=1e-7).fit(X, Y).predict(X), atol=1e-4
    )


@pytest.mark.filterwarnings("ignore:.*tol = 0.001 was not reached")  # alpha=0.01 for y of 1e-12 is next to none
@pytest.mark.parametrize("scale", [1e-12, 1e12])
@pytest.mark.parametrize("alpha", [1e-2, "auto"])
def test_extreme_scales(scale, alpha):
    """The numbers of a user mean the documented objective, so that only "auto" is sure to fit well."""
    for inputs, targets in ((X * scale, Y), (X, Y * scale), (X * scale, Y * scale)):
        model = KernelQuantileRegressor(alpha=alpha).fit(inputs, targets)
        check_finite(model, inputs)
        if alpha == "auto":
            assert model.relative_gap_ <= 1e-3
            assert model.score(inputs, targets) == pytest.approx(
                KernelQuantileRegressor().fit(X, Y).score(X, Y), abs=1e-6
            )


def test_huge_offsets():
    base = KernelQuantileRegressor().fit(X, Y)
    model = KernelQuantileRegressor().fit(X, Y + 1e12)
    check_finite(model, X)
    # y + 1e12 has kept four digits
    np.testing.assert_allclose(model.predict(X) - 1e12, base.predict(X), atol=1e-2)
    far = KernelQuantileRegressor().fit(X + 1e9, Y)
    np.testing.assert_allclose(far.predict(X + 1e9), base.predict(X), atol=1e-3)


@pytest.mark.parametrize("weight", [changed(ONES, 0, 1e12), changed(ONES, 0, 1e-12), 1e-300 * ONES, 1e300 * ONES])
def test_extreme_weights(weight):
    model = KernelQuantileRegressor().fit(X, Y, weight)
    check_finite(model, X)
    assert model.relative_gap_ <= 1e-3


def test_a_column_vector_y_is_taken_with_the_warning_of_scikit_learn():
    with pytest.warns(UserWarning, match="column-vector y"):
        model = regressor().fit(X, Y[:, None])
    np.testing.assert_array_equal(model.predict(X), regressor().fit(X, Y).predict(X))


def test_far_from_the_data_predictions_are_the_intercept():
    model = regressor().fit(X, Y)
    np.testing.assert_allclose(
        model.predict_quantile([[1e9, -1e9]], FEW.points)[0], np.sort(model.intercept_), atol=1e-12
    )
    check_finite(model, np.array([[1e59, -1e59], [0.0, 1e-300]]))


@pytest.mark.parametrize("words", [["low"] * N, np.array(["low"] * N), np.array(["low"] * N, dtype=object)])
def test_words_as_targets_have_a_remedy_of_their_own(words):
    with pytest.raises(MercerError, match=r"KernelQuantileRegressor: y must hold numbers; got .*low.*classes"):
        regressor().fit(X, words)
    digits = regressor().fit(X, np.array([str(y) for y in Y], dtype=object))  # numbers that are written out
    np.testing.assert_array_equal(digits.predict(X), regressor().fit(X, Y).predict(X))
