"""Falls that are charged or forbidden at inputs of the user's, not at the training inputs."""

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import mercer
from mercer import CostSensitiveClassifier, KernelQuantileRegressor, KernelQuantileRegressorCV
from mercer.exceptions import MercerError
from mercer.kernels import Gaussian
from mercer.measures import Points

GAMMA_X, GAMMA_T, ALPHA = 20.0, 6.0, 1e-3
NODES, WEIGHTS = np.array([0.1, 0.5, 0.9]), np.array([0.3, 0.4, 0.3])
RNG = np.random.default_rng(3)
X = np.sort(RNG.uniform(size=(12, 1)), axis=0)
Y = np.sin(6 * X[:, 0]) + (0.1 + X[:, 0]) * RNG.standard_t(2, size=12)
ANCHORS = np.linspace(-0.1, 1.1, 7)[:, None]
SETTINGS = {
    "kernel": Gaussian(GAMMA_X),
    "output_kernel": Gaussian(GAMMA_T),
    "alpha": ALPHA,
    "measure": Points(NODES, WEIGHTS),
    "tol": 1e-6,
}


def regressor(**settings):
    return KernelQuantileRegressor(**(SETTINGS | settings))


def gaussian(gamma, s, t, order=(0, 0)):
    """k and its derivatives, written out: order of the first and of the second argument."""
    d = s[:, None] - t[None, :]
    k = np.exp(-gamma * d**2)
    return {(0, 0): 1, (1, 0): -2 * gamma * d, (0, 1): 2 * gamma * d, (1, 1): 2 * gamma - 4 * gamma**2 * d**2}[
        order
    ] * k


def reference(tau, shares, anchors, price, weight, intercept):
    """The optimal value of the primal in coefficients of values at X and of slopes at the anchors, by cvxpy."""
    n, m, a, q = len(X), len(NODES), len(anchors), len(tau)
    xx, xa, aa = (gaussian(GAMMA_X, s[:, 0], t[:, 0]) for s, t in ((X, X), (X, anchors), (anchors, anchors)))
    blocks = [
        [np.kron(xx, gaussian(GAMMA_T, NODES, NODES)), np.kron(xa, gaussian(GAMMA_T, NODES, tau, (0, 1)))],
        [np.kron(xa.T, gaussian(GAMMA_T, tau, NODES, (1, 0))), np.kron(aa, gaussian(GAMMA_T, tau, tau, (1, 1)))],
    ]
    values, vectors = np.linalg.eigh(np.block(blocks))
    factor = vectors * np.sqrt(np.maximum(values, 0))
    keep = values > 1e-13 * values[-1]
    factor = factor[:, keep]
    z, b = cp.Variable(factor.shape[1]), cp.Variable(m) if intercept else np.zeros(m)
    H = cp.reshape(factor[: n * m] @ z, (n, m), order="C") + np.ones((n, 1)) @ cp.reshape(b, (1, m), order="C")
    cell = np.searchsorted(NODES, tau) - 1
    steps = 1 / (NODES[cell + 1] - NODES[cell])
    rise = cp.multiply(b[cell + 1] - b[cell], steps)
    D = cp.reshape(factor[n * m :] @ z, (a, q), order="C") + np.ones((a, 1)) @ cp.reshape(rise, (1, q), order="C")
    R = Y[:, None] - H
    risk = weight / weight.sum() @ (cp.multiply(np.ones((n, 1)) * NODES, R) + cp.pos(-R)) @ WEIGHTS
    objective, limits = risk + ALPHA / 2 * cp.sum_squares(z), []
    if np.isinf(price):
        limits = [D >= 0]
    else:
        objective += price * cp.sum(cp.pos(-D) @ shares) / a
    problem = cp.Problem(cp.Minimize(objective), limits)
    problem.solve(solver="CLARABEL")
    return problem.value


def slope_shares(model):
    """Simpson's rule in the cells between the levels at which slopes are looked at."""
    cells = model.slopes_[:, 0].reshape(-1, 3)
    widths = cells[:, 2] - cells[:, 0]
    return np.outer(widths / widths.sum(), np.array([1, 4, 1]) / 6).ravel()


@pytest.mark.parametrize(
    ("settings", "weighted"),
    [
        ({"noncrossing": "penalty", "crossing_penalty": 0.05}, False),
        ({"noncrossing": "penalty", "crossing_penalty": 0.05}, True),
        ({"noncrossing": "penalty", "crossing_penalty": 0.05, "fit_intercept": False}, True),
        ({"noncrossing": "constraint"}, True),
    ],
)
def test_the_optimum_is_that_of_the_primal(settings, weighted):
    weight = RNG.uniform(0.5, 2, size=len(X)) if weighted else np.ones(len(X))
    model = regressor(crossing_anchors=ANCHORS, **settings).fit(X, Y, weight)
    assert model.relative_gap_ <= 1e-6
    price = settings.get("crossing_penalty", np.inf)
    intercept = settings.get("fit_intercept", True)
    optimum = reference(model.slopes_[:, 0], slope_shares(model), ANCHORS, price, weight, intercept)
    assert model.objective_ == pytest.approx(optimum, rel=1e-5)
    np.testing.assert_array_equal(model.X_fit_, np.concatenate([X, ANCHORS]))
    elsewhere = regressor(**settings).fit(X, Y, weight).objective_
    assert abs(elsewhere - optimum) > 1e-4 * optimum  # the training inputs ask for another model


def slopes(model, x):
    """Slopes of predictions at the levels of the fit, by differences."""
    tau, e = model.slopes_[:, 0], 1e-8
    low, high = (model.predict_quantile(x, np.clip(tau + s * e, NODES[0], NODES[-1])) for s in (-1, 1))
    return (high - low) / e


@pytest.mark.parametrize("name", ["penalty", "constraint"])
def test_the_training_inputs_as_anchors_change_nothing(name):
    default = regressor(noncrossing=name).fit(X, Y)
    same = regressor(noncrossing=name, crossing_anchors=X).fit(X, Y)
    assert same.objective_ == pytest.approx(default.objective_, rel=3e-6)
    np.testing.assert_allclose(same.predict(X), default.predict(X), atol=2e-3 * np.ptp(Y))


def test_nothing_falls_at_the_anchors_where_there_were_no_data():
    default = regressor(noncrossing="constraint").fit(X, Y)
    model = regressor(noncrossing="constraint", crossing_anchors=ANCHORS).fit(X, Y)
    assert slopes(default, ANCHORS).min() < -0.1 * np.ptp(Y)
    assert slopes(model, ANCHORS).min() > -1e-3 * np.ptp(Y)


def test_anchors_go_through_what_inputs_go_through():
    frame = pd.DataFrame({"x": X[:, 0], "town": ["a", "b", "c"] * 4})
    anchors = pd.DataFrame({"x": [0.0, 1.0], "town": ["c", "a"]})
    settings = {"measure": SETTINGS["measure"], "alpha": 1e-2, "noncrossing": "constraint", "tol": 1e-4}
    model = KernelQuantileRegressor(crossing_anchors=anchors, **settings).fit(frame, Y)
    assert model.X_fit_.shape == (14, 4)
    np.testing.assert_array_equal(model.X_fit_[-2:], model.encoder_.transform(anchors))


def test_other_estimators_have_them(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 2))
    labels = x[:, 0] + 0.5 * rng.normal(size=80) > 0
    anchors = np.array([[3.0, 3.0], [-3.0, -3.0]])
    costs = {"noncrossing": "constraint", "measure": Points([0.2, 0.5, 0.8]), "crossing_anchors": anchors}
    learned = CostSensitiveClassifier(**costs).fit(x, labels)  # warped inputs: anchors are warped likewise
    np.testing.assert_allclose(learned.X_fit_[-2:], learned.inputs_(anchors))
    values = learned.predict_at(anchors, np.linspace(0.2, 0.8, 50))
    assert np.diff(values, axis=1).min() > -1e-3 * np.ptp(values)

    tuned = KernelQuantileRegressorCV(
        [Gaussian(5.0)], alphas=[1e-2], noncrossing="constraint", measure=Points([0.2, 0.8]), crossing_anchors=ANCHORS
    )
    tuned = clone(tuned).fit(X, Y)
    np.testing.assert_array_equal(tuned.X_fit_[-len(ANCHORS) :], ANCHORS)
    mercer.save(tuned, tmp_path / "model.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "model.mercer").predict(X), tuned.predict(X))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"noncrossing": "rearrange"}, "crossing_anchors must be None.*'penalty' or 'constraint'"),
        ({"noncrossing": "guarantee"}, "crossing_anchors must be None"),
        ({"noncrossing": "constraint", "kernel": "precomputed"}, "None with a precomputed kernel"),
        ({"noncrossing": "constraint", "crossing_anchors": np.ones((2, 3))}, "3 features, but .* expecting 1"),
        ({"noncrossing": "constraint", "crossing_anchors": [[np.nan]]}, "NaN"),
    ],
)
def test_anchors_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(MercerError, match=message):
        regressor(**({"crossing_anchors": ANCHORS} | settings)).fit(X, Y)
