"""Online learning with a kernel and a budget: by its definition, against exact solutions, and what truncation costs."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.exceptions import DataError, ParameterError, ParameterTypeError, UnsupportedError
from mercer.features import RandomFourier
from mercer.kernels import Gaussian, Identity, Precomputed
from mercer.losses import Huber, Pinball, Square
from mercer.measures import Measure
from mercer.operator_valued import CurlFree, Decomposable
from mercer.problems import DualProblem
from mercer.solvers import BudgetedGradient, ClosedForm, StochasticGradient

ONE = Measure(np.zeros((1, 1)), np.ones(1))
LEVELS = Measure(np.array([0.2, 0.5, 0.9]), np.array([0.3, 0.5, 0.2]))
PLANE = Measure(np.arange(2.0), np.ones(2))
SCALAR = Decomposable(Gaussian(1.0), Identity()).bind(ONE)
LEVELLED = Decomposable(Gaussian(1.0), Gaussian(3.0)).bind(LEVELS)
FIELD = CurlFree(Gaussian(1.0)).bind(PLANE)


def data(n=40, seed=0, p=1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, np.sin(3 * X[:, :p]) + 0.2 * rng.normal(size=(n, p))


def matrix(bound, X):
    """The matrix of 𝐊, (row, column) flat."""
    blocks = bound.blocks(X, X)
    return blocks.transpose(0, 2, 1, 3).reshape(len(X) * blocks.shape[2], -1)


@pytest.mark.parametrize(
    ("bound", "loss"),
    [(SCALAR, Huber(0.3)), (LEVELLED, Pinball()), (FIELD, Huber(0.3))],
    ids=["scalar", "levels", "field"],
)
@pytest.mark.parametrize("intercept", [True, False])
def test_it_is_what_the_definition_says(bound, loss, intercept):
    """h ← (1 − γλ)h − γK(·, x)∇L, one row after the other, functions as values at all rows."""
    m, rate, alpha = len(bound.measure), 0.2, 0.3
    X, Y = data(p=m if m == 2 else 1)
    Y = np.broadcast_to(Y, (len(X), m)).copy()
    K, b = bound.blocks(X, X), np.zeros(m)
    h = np.zeros((len(X), m))
    for i in range(len(X)):
        slope = loss.gradient(Y[i : i + 1], h[i : i + 1] + b, bound.measure)[0]
        h = (1 - rate * alpha) * h - rate * np.einsum("kab,b->ka", K[:, i], bound.measure.weights * slope)
        b = (1 - rate * alpha) * b - rate * slope * intercept
    fit = BudgetedGradient(bound, loss, alpha, rate=rate, fit_intercept=intercept).update((X, Y))
    np.testing.assert_allclose(fit.predict(X), h + b, atol=1e-12)
    assert (fit.n_kept, fit.n_steps, fit.truncation) == (len(X), len(X), 0.0)


@pytest.mark.parametrize("batch_size", [1, 7])
def test_with_known_features_it_is_stochastic_gradients(batch_size):
    X, Y = data(200)
    kernel = RandomFourier(10, random_state=0).bind(Gaussian(1.0), X)
    settings = {"alpha": 1e-2, "fit_intercept": True, "offset": np.array([0.2]), "batch_size": batch_size}
    expected = StochasticGradient(kernel, Huber(0.3), ONE, **settings)
    fit = BudgetedGradient(Decomposable(kernel, Identity()).bind(ONE), Huber(0.3), **settings)
    for start in range(0, 200, 50):
        rows = slice(start, start + 50)
        weight = np.linspace(0.5, 1.5, 50)
        for one in (expected, fit):
            one.update((X[rows], Y[rows], weight))
    np.testing.assert_allclose(fit.predict(X), expected.predict(X), atol=1e-10)


@pytest.mark.parametrize(("bound", "p"), [(SCALAR, 1), (FIELD, 2)], ids=["scalar", "field"])
def test_averages_approach_the_exact_fit(bound, p):
    X, Y = data(30, p=p)
    problem = DualProblem(bound.gram(X), Square(), Y, bound.measure, 0.1)
    exact = problem.predict(ClosedForm().solve(problem).coef)
    fit, rng = BudgetedGradient(bound, Square(), 0.1), np.random.default_rng(0)
    errors = []
    for steps in (300, 3000):
        while fit.n_steps < steps:
            rows = rng.integers(30, size=100)
            fit.update((X[rows], Y[rows]))
        errors.append(np.sqrt(np.mean((fit.predict(X) - exact) ** 2)) / np.std(exact))
    assert fit.n_kept == 30  # rows that come again add to their own terms
    assert errors[1] < min(0.1, errors[0] / 2)


@pytest.mark.parametrize("rate", [0.2, None])
@pytest.mark.parametrize(("bound", "p"), [(SCALAR, 1), (LEVELLED, 3), (FIELD, 2)], ids=["scalar", "levels", "field"])
def test_truncation_bounds_what_was_left_out(bound, p, rate):
    """h° has the same gradients and all terms; the distance in the norm of the space is at most what is reported."""
    X, Y = data(120, p=1 if p == 3 else p)
    loss = Pinball() if p == 3 else Square()
    fit = BudgetedGradient(bound, loss, 0.1, budget=15, rate=rate)
    whole = BudgetedGradient(bound, loss, 0.1, budget=15, rate=rate)
    whole._truncate = lambda: None
    whole._slope = lambda rows: fit_slope(fit, rows)  # of the truncated model
    slopes = {}

    def fit_slope(one, rows):
        return slopes[rows.X.tobytes()]

    original = fit._slope

    def remembered(rows):
        slopes[rows.X.tobytes()] = original(rows)
        return slopes[rows.X.tobytes()]

    fit._slope = remembered
    fit.update((X, Y))
    whole.update((X, Y))
    assert (fit.n_kept, whole.n_kept) == (15, 120)
    values = whole.expansion.evaluate(X, bound.measure.points) - fit.expansion.evaluate(X, bound.measure.points)
    c = np.zeros((120, p))
    for one, sign in ((whole, 1), (fit, -1)):
        coef = one._means if rate is None else one._coef
        for x, row in zip(one._X, coef, strict=True):
            c[np.flatnonzero(np.all(x == X, axis=1))[0]] += sign * row
    norm = np.sqrt(max(float(np.vdot(c, values)), 0.0))
    assert 0 < norm <= fit.truncation * (1 + 1e-9)
    assert np.max(np.abs(values)) <= fit.truncation * np.sqrt(np.max(np.abs(bound.blocks(X[:1], X[:1])))) * 1.0001


def test_larger_budgets_lose_less():
    X, Y = data(500)
    made = [BudgetedGradient(SCALAR, Huber(0.3), 1e-2, budget, rate=0.3).update((X, Y)) for budget in (10, 50, 500)]
    bounds = [one.truncation for one in made]
    assert bounds[0] > bounds[1] > bounds[2] == 0.0
    errors = [np.sqrt(np.mean((one.predict(X) - np.sin(3 * X[:, :1])) ** 2)) for one in made]
    assert errors[1] < 1.1 * errors[2]
    assert [one.n_kept for one in made] == [10, 50, 500]


def test_it_follows_what_changes():
    X, Y = data(1200)
    fit = BudgetedGradient(SCALAR, Huber(0.3), 1e-3, budget=40, rate=0.3)
    fit.update((X[:500], Y[:500])).update((X[500:], -Y[500:]))
    assert np.sqrt(np.mean((fit.predict(X) + np.sin(3 * X[:, :1])) ** 2)) < 0.25


def test_it_goes_on_from_a_model():
    X, Y = data(60)
    problem = DualProblem(SCALAR.gram(X), Square(), Y, ONE, 1e-2)
    coef = problem.primal_coef(ClosedForm().solve(problem).coef)
    fit = BudgetedGradient(SCALAR, Square(), 1e-2, budget=20).begin(X, coef, np.zeros(1))
    assert fit.n_kept == 20
    assert fit.truncation > 0
    assert BudgetedGradient(SCALAR, Square(), 1e-2).begin(X, coef, np.zeros(1)).truncation == 0


def test_bad_batches_change_nothing():
    X, Y = data()
    fit = BudgetedGradient(SCALAR, Square(), 1e-2).update((X, Y))
    before = fit.predict(X)
    for bad, message in [
        ((X[:, :1], Y), "columns"),
        ((X[:0], Y[:0]), "no rows"),
        ((X, np.tile(Y, 3)), "1 column"),
        ((X, np.full_like(Y, np.nan)), "complete"),
    ]:
        with pytest.raises((DataError, UnsupportedError), match=message):
            fit.update(bad)
    with pytest.raises(DataError, match="columns"):
        fit.read(iter([(X, Y), (X[:, :1], Y)]))
    assert fit.n_rows == 80
    assert np.any(fit.predict(X) != before)


def test_bad_settings():
    with pytest.raises(ParameterTypeError, match="kernel"):
        BudgetedGradient(Gaussian(1.0), Square(), 1e-2)
    with pytest.raises(UnsupportedError, match="precomputed"):
        BudgetedGradient(Decomposable(Precomputed(), Identity()).bind(ONE), Square(), 1e-2)
    with pytest.raises(ParameterError, match="rate"):
        BudgetedGradient(SCALAR, Square(), 1e-2, rate=200.0)
    with pytest.raises(ParameterError, match="budget"):
        BudgetedGradient(SCALAR, Square(), 1e-2, budget=0)
    with pytest.raises(ParameterError, match="loss"):
        BudgetedGradient(SCALAR, "square", 1e-2)
    with pytest.raises(DataError, match="offset"):
        BudgetedGradient(SCALAR, Square(), 1e-2, offset=np.zeros(2))
    with pytest.raises(DataError, match="no rows yet"):
        BudgetedGradient(SCALAR, Square(), 1e-2).predict(np.zeros((1, 2)))
