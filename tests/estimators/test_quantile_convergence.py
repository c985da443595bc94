"""Certificates, warnings, solvers, warm starts, progress and randomness."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer import KernelQuantileRegressor
from mercer.exceptions import MercerError
from mercer.kernels import Gaussian
from mercer.losses import Huber, MoreauPinball
from mercer.measures import GaussLegendre, Halton, MonteCarlo, Points, Sobol
from mercer.solvers import ADMM, SOLVERS

RNG = np.random.default_rng(2)
N = 40
X = RNG.uniform(size=(N, 2))
Y = np.sin(5 * X[:, 0]) + X[:, 1] * RNG.normal(size=N)
NEW = RNG.uniform(size=(15, 2))
LEVELS = np.linspace(0.01, 0.99, 15)
PINBALL_SOLVERS = ["semismooth_newton", "interior_point", "admm", "proximal_gradient"]


@pytest.mark.parametrize("solver", PINBALL_SOLVERS)
def test_one_iteration_warns_and_leaves_a_model(solver):
    model = KernelQuantileRegressor(alpha=1e-3, solver=solver, max_iter=1)
    with pytest.warns(ConvergenceWarning) as record:
        model.fit(X, Y)
    message = str(record[0].message)
    assert f"relative duality gap {model.relative_gap_:.2g}" in message
    assert "tol = 0.001 was not reached" in message
    assert "Increase max_iter" in message
    assert record[0].filename == __file__  # points at the user's line
    assert model.relative_gap_ > 1e-3
    assert model.n_iter_ == 1
    assert model.status_ == "max_iter"
    assert np.all(np.isfinite(model.predict_quantile(NEW, LEVELS)))
    assert np.isfinite(model.score(X, Y))


@pytest.mark.parametrize("solver", ["auto", *PINBALL_SOLVERS])
@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
def test_converged_fits_are_silent_and_certified(solver, tol):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = KernelQuantileRegressor(alpha=1e-2, solver=solver, tol=tol).fit(X, Y)
    assert 0 <= model.relative_gap_ <= tol
    assert model.dual_gap_ <= tol * model.objective_ * 1.000001
    assert model.status_ == "converged"
    assert model.n_iter_ >= 1


def test_the_gap_is_true():
    """The objective cannot be more than the gap above a far better one."""
    best = KernelQuantileRegressor(alpha=1e-2, tol=1e-9).fit(X, Y)
    for tol in (1e-1, 1e-2, 1e-4):
        for solver in PINBALL_SOLVERS:
            model = KernelQuantileRegressor(alpha=1e-2, tol=tol, solver=solver).fit(X, Y)
            above = model.objective_ - best.objective_
            assert -1e-8 * best.objective_ <= above <= model.dual_gap_ + 1e-12


@pytest.mark.parametrize("tol", [1e-3, 1e-7])
def test_every_solver_gives_the_same_predictions_to_the_certified_accuracy(tol):
    """Spec 0.7 bounds h; b moves no more than h at the data, and sorting brings no two functions further apart."""
    fitted = [KernelQuantileRegressor(alpha=1e-2, solver=name, tol=tol).fit(X, Y) for name in PINBALL_SOLVERS]
    for model in fitted[1:]:
        bound = 2 * sum(np.sqrt(2 * each.dual_gap_ / each.alpha_) for each in (fitted[0], model))
        apart = np.max(np.abs(model.predict_quantile(NEW, LEVELS) - fitted[0].predict_quantile(NEW, LEVELS)))
        assert apart <= bound
        assert apart <= (5e-2 if tol == 1e-3 else 1e-3)  # and in practice much closer


def test_solvers_of_a_smoothed_loss():
    settings = {"loss": MoreauPinball(0.05), "alpha": 1e-2, "tol": 1e-6}
    fitted = [KernelQuantileRegressor(solver=name, **settings).fit(X, Y) for name in [*PINBALL_SOLVERS, "lbfgs"]]
    for model in fitted:
        np.testing.assert_allclose(
            model.predict_quantile(NEW, LEVELS), fitted[0].predict_quantile(NEW, LEVELS), atol=3e-3
        )


def test_every_solver_name_is_tested():
    assert set(SOLVERS) == {
        *PINBALL_SOLVERS,
        "lbfgs",
        "closed_form",
        "factored_admm",
        "preconditioned_cg",
        "safe_screening",
        "subspace_newton",
    }


@pytest.mark.parametrize("loss", ["square", "huber", Huber(0.5, "pointwise")])
def test_losses_that_know_no_levels_are_refused(loss):
    with pytest.raises(MercerError, match="loss must be a loss indexed by levels"):
        KernelQuantileRegressor(loss=loss, alpha=1e-2).fit(X, Y)


def test_a_solver_object_keeps_its_own_settings():
    model = KernelQuantileRegressor(alpha=1e-2, solver=ADMM(tol=1e-5, max_iter=4321), tol=0.5, max_iter=1).fit(X, Y)
    assert model.relative_gap_ <= 1e-5
    assert model.solver_ == ADMM(tol=1e-5, max_iter=4321)


@pytest.mark.parametrize("solver", ["admm", "proximal_gradient"])
def test_warm_start(solver):
    model = KernelQuantileRegressor(alpha=1e-2, solver=solver, tol=1e-5, warm_start=True).fit(X, Y)
    first, before = model.n_iter_, model.predict_quantile(NEW, LEVELS)
    model.fit(X, Y)
    assert model.n_iter_ < first / 2
    assert model.relative_gap_ <= 1e-5
    np.testing.assert_allclose(model.predict_quantile(NEW, LEVELS), before, atol=1e-2)
    model.set_params(warm_start=False).fit(X, Y)
    assert model.n_iter_ == first
    assert np.array_equal(model.predict_quantile(NEW, LEVELS), before)


def test_warm_start_after_the_data_changed_is_only_a_start():
    model = KernelQuantileRegressor(alpha=1e-3, tol=1e-8, warm_start=True).fit(X, Y)
    for data in ((X, -3 * Y), (X[:-5], Y[:-5]), (X[:, :1], Y)):
        model.fit(*data)
        fresh = KernelQuantileRegressor(alpha=1e-3, tol=1e-8).fit(*data)
        new = NEW[:, : data[0].shape[1]]
        np.testing.assert_allclose(
            model.predict_quantile(new, LEVELS), fresh.predict_quantile(new, LEVELS), atol=2e-3 * np.ptp(data[1])
        )
    model.set_params(alpha=1e-1).fit(X, Y)
    fresh = KernelQuantileRegressor(alpha=1e-1, tol=1e-8).fit(X, Y)
    np.testing.assert_allclose(
        model.predict_quantile(NEW, LEVELS), fresh.predict_quantile(NEW, LEVELS), atol=2e-3 * np.ptp(Y)
    )


@pytest.mark.parametrize("solver", PINBALL_SOLVERS)
def test_progress_goes_to_standard_error(capfd, solver):
    KernelQuantileRegressor(alpha=1e-2, solver=solver, verbose=1).fit(X, Y)
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("[mercer]")
    assert "relative gap" in err


def test_silence_by_default():
    code = (
        "import numpy as np; from mercer import KernelQuantileRegressor as R; rng = np.random.default_rng(0); "
        "X = rng.normal(size=(30, 1)); m = R().fit(X, X[:, 0] + rng.normal(size=30)); m.score(X, m.predict(X))"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize("rule", [MonteCarlo(8), Sobol(8), Halton(8)])
def test_random_measures_are_reproducible(rule):
    def fit(state):
        return KernelQuantileRegressor(alpha=1e-2, measure=rule, random_state=state).fit(X, Y)

    one = fit(0).predict_quantile(NEW, LEVELS)
    np.testing.assert_array_equal(one, fit(0).predict_quantile(NEW, LEVELS))
    np.testing.assert_array_equal(one, fit(np.random.RandomState(0)).predict_quantile(NEW, LEVELS))
    assert not np.array_equal(one, fit(1).predict_quantile(NEW, LEVELS))
    for make in (np.random.default_rng, np.random.RandomState):
        np.testing.assert_array_equal(fit(make(3)).measure_.points, fit(make(3)).measure_.points)
    assert np.all(np.isfinite(fit(None).predict_quantile(NEW, LEVELS)))


def test_random_state_does_not_matter_without_randomness():
    fits = [KernelQuantileRegressor(alpha=1e-2, random_state=state).fit(X, Y) for state in (0, 1, None)]
    for model in fits[1:]:
        np.testing.assert_array_equal(model.predict(NEW), fits[0].predict(NEW))


# --- alpha="auto"


def brute_force(X, y, weight, kernel, theta, intercept, alphas):
    """Weighted leave-one-out errors of functional ridge regression by refitting n times, λ·Σs kept."""
    n = len(y)
    K = kernel(X)
    errors = []
    for alpha in alphas:
        total = 0.0
        for i in range(n):
            keep = np.arange(n) != i
            k, s, t = K[np.ix_(keep, keep)], weight[keep], y[keep]
            # one level (or a kernel on levels that is constant 1): min Σ s (t − Kc − b)² + λ·Σs_all·cᵀKc
            system = np.block(
                [
                    [np.diag(1 / s) * alpha * weight.sum() + k, np.ones((n - 1, 1)) * intercept],
                    [np.ones((1, n - 1)), np.full((1, 1), 0.0 if intercept else 1.0)],
                ]
            )
            if not intercept:
                system[-1, :-1] = 0
            solution = np.linalg.solve(system, np.append(t, 0.0))
            c, b = solution[:-1], solution[-1] if intercept else 0.0
            total += weight[i] * (y[i] - K[i, keep] @ c - b) ** 2
        errors.append(total)
    return np.array(errors)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_auto_is_the_best_leave_one_out_of_the_square_loss(intercept, weighted):
    weight = RNG.uniform(0.5, 2.0, N) if weighted else np.ones(N)
    y = Y + 2.0
    kernel = Gaussian(3.0)
    model = KernelQuantileRegressor(kernel, measure=Points([0.5]), fit_intercept=intercept)
    model.fit(X, y, weight if weighted else None)
    centred = y - np.average(y, weights=weight) if intercept else y
    deviation = np.average(np.abs(centred), weights=weight)
    grid = np.logspace(-6, 1, 29)
    errors = brute_force(X, y, weight, kernel, np.array([0.5]), intercept, grid)
    assert 0 < np.argmin(errors) < 28
    assert model.alpha_ == pytest.approx(grid[np.argmin(errors)] / deviation)


def test_auto_is_shown_and_does_not_touch_the_parameter():
    model = KernelQuantileRegressor(stages="joint").fit(X, Y)
    assert model.alpha == "auto"
    assert isinstance(model.alpha_, float)
    np.testing.assert_array_equal(
        model.predict(NEW), KernelQuantileRegressor(alpha=model.alpha_).fit(X, Y).predict(NEW)
    )


@pytest.mark.parametrize("n", [30, 100])
def test_data_without_noise(n):
    """The default must fit and certify a smooth curve, not run after ever smaller λ."""
    x = np.linspace(0, 1, n)[:, None]
    y = np.sin(6 * x[:, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = KernelQuantileRegressor().fit(x, y)
    assert model.relative_gap_ <= 1e-3
    middle = (x[1:] + x[:-1]) / 2
    for level in (0.05, 0.5, 0.95):
        error = model.predict_quantile(middle, level)[:, 0] - np.sin(6 * middle[:, 0])
        assert np.max(np.abs(error)) < 0.02


def test_two_rows_are_no_reason_for_a_small_penalty():
    """All λ have the same leave-one-out error then; the largest is taken."""
    model = KernelQuantileRegressor().fit(X[:2], Y[:2])
    assert model.relative_gap_ <= 1e-3
    assert model.predict(X[:2]) == pytest.approx(np.mean(Y[:2]), abs=0.1 * np.ptp(Y[:2]))


def test_auto_without_an_intercept_sees_the_offset():
    """A constant far from 0 is signal there."""
    model = KernelQuantileRegressor(fit_intercept=False, measure=GaussLegendre(5)).fit(X, 7.0 + 0.1 * Y)
    assert np.max(np.abs(model.predict(X) - 7)) < 1
