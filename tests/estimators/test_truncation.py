"""A basis that truncates the kernel, or the dual: with losses of norms these are different models."""

import cvxpy as cp
import numpy as np
import pytest

from mercer import FunctionalRegressor, FunctionalRegressorCV
from mercer.exceptions import MercerError
from mercer.kernels import Gaussian
from mercer.losses import EpsilonRidge, Huber, Square
from mercer.measures import GaussLegendre
from mercer.operator_valued import HarmonicBasis, NystromBasis

ALPHA, KERNEL, BASIS = 0.02, Gaussian(3.0), HarmonicBasis(3)
RULE = GaussLegendre(16)
NODES = RULE.build()
RNG = np.random.default_rng(0)
X = RNG.uniform(size=(12, 1))
Y = np.sin(2 * np.pi * (NODES.locations + X)) + RNG.standard_t(2, size=(12, 16))
SETTINGS = {
    "kernel": KERNEL,
    "alpha": ALPHA,
    "representation": BASIS,
    "grid": RULE,
    "fit_intercept": False,
    "tol": 1e-8,
}


def huber(norms, kappa):
    return cp.sum(cp.huber(norms, kappa)) / 2


def epsilon_ridge(norms, epsilon):
    return cp.sum_squares(cp.pos(norms - epsilon)) / 2


def reference(truncation, loss, threshold):
    """Coefficients of h at the rows, by cvxpy, from residuals as a whole or from their projections."""
    bound = BASIS.bind(NODES)
    psi, w = bound.evaluate(NODES.points), NODES.weights
    R = (Y * w) @ psi
    beyond = np.sqrt(np.maximum((Y**2) @ w - np.sum(R**2, axis=1), 0)) if truncation == "kernel" else np.zeros(len(Y))
    values, vectors = np.linalg.eigh(KERNEL(X))
    factor = vectors * np.sqrt(np.maximum(values, 0))
    Z = cp.Variable((len(Y), psi.shape[1]))
    H = factor @ cp.multiply(Z, np.ones((len(Y), 1)) * np.sqrt(bound.spectrum))
    norms = cp.norm(cp.hstack([R - H, beyond[:, None]]), axis=1)
    problem = cp.Problem(cp.Minimize(loss(norms, threshold) / len(Y) + ALPHA / 2 * cp.sum_squares(Z)))
    problem.solve(solver="CLARABEL")
    return problem.value, H.value @ psi.T


@pytest.mark.parametrize(
    ("ours", "theirs", "threshold"), [(Huber(0.6), huber, 0.6), (EpsilonRidge(0.5), epsilon_ridge, 0.5)]
)
def test_each_is_the_minimum_of_its_primal(ours, theirs, threshold):
    found = {}
    for truncation in ("kernel", "dual"):
        model = FunctionalRegressor(loss=ours, truncation=truncation, **SETTINGS).fit(X, Y)
        optimum, values = reference(truncation, theirs, threshold)
        assert model.objective_ == pytest.approx(optimum, rel=1e-6)
        np.testing.assert_allclose(model.predict(X), values, atol=1e-3)
        found[truncation] = values
    assert np.max(np.abs(found["kernel"] - found["dual"])) > 0.05


@pytest.mark.filterwarnings("ignore::mercer.exceptions.ContaminationWarning")
def test_with_the_square_loss_they_are_one():
    whole, confined = (
        FunctionalRegressor(loss=Square(), truncation=name, **SETTINGS).fit(X, Y) for name in ("kernel", "dual")
    )
    np.testing.assert_array_equal(whole.predict(X), confined.predict(X))


def test_all_is_chosen_and_tuned_as_ever():
    settings = {"grid": RULE, "representation": NystromBasis(4), "truncation": "dual", "loss": "huber"}
    model = FunctionalRegressor(**settings).fit(X, Y)  # a smooth mean curve, lambda and kappa by themselves
    assert model.relative_gap_ <= 1e-4
    assert model.predict_at(X, [0.2, 0.21]).shape == (12, 2)
    tuned = FunctionalRegressorCV([KERNEL], alphas=[1e-2, 1.0], cv=3, **settings).fit(X, Y)
    assert tuned.relative_gap_ <= 1e-4


def test_holes_are_refused():
    holes = np.where(RNG.random(Y.shape) < 0.1, np.nan, Y)
    with pytest.raises(MercerError, match="Here curves have missing values"):
        FunctionalRegressor(loss=Huber(0.6), truncation="dual", **SETTINGS).fit(X, holes)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"truncation": "both"}, "'kernel' or 'dual'"),
        ({"representation": "nodes"}, "pass representation='eigen' or a Basis"),
        ({"loss": Huber(0.6, "pointwise")}, "no loss of norms: take geometry='norm'"),
        ({"fit_intercept": True, "mean_curve": "free"}, "Here the mean curve is free"),
        ({"fit_intercept": True, "grid": None, "representation": "eigen"}, "pass grid=, for a smooth one"),
        ({"grid": np.linspace(0, 1, 16) ** 2}, "Here its functions are not orthonormal on the grid"),
    ],
)
def test_what_has_no_such_dual_is_refused(settings, message):
    with pytest.raises(MercerError, match=message):
        FunctionalRegressor(**(SETTINGS | {"truncation": "dual", "loss": Huber(0.6)} | settings)).fit(X, Y)
