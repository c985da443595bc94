"""Ctrl-C in the middle of a fit: a model with its gap, a warning, and an exception the second time."""

from __future__ import annotations

import _thread
import signal
import threading
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer import CostSensitiveClassifier, FunctionalRegressor, KernelQuantileRegressor, LevelSetDetector
from mercer.estimators.interruption import interruptible
from mercer.estimators.monotone_fit import MonotoneFit
from mercer.kernels import Gaussian
from mercer.linalg import heard_by
from mercer.losses import Huber, Loss, MoreauPinball, Pinball
from mercer.measures import GaussLegendre, Points
from mercer.solvers import ADMM, LBFGS, InteriorPoint, ProximalGradient, SemismoothNewton
from mercer.solvers.base import Monitor

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, size=(80, 2))
Y = np.sin(2 * X[:, 0]) + 0.3 * RNG.normal(size=80)
LABELS = (Y > 0).astype(int)
GRID = np.linspace(0, 1, 12)
CURVES = np.sin(2 * np.pi * (GRID + X[:, :1])) + 0.1 * RNG.normal(size=(80, 12))
HOLES = np.where(np.random.default_rng(1).random(CURVES.shape) < 0.4, np.nan, CURVES)
SMALL_TOL = 1e-10


@pytest.fixture(autouse=True)
def ctrl_c_is_heard():
    """Python's own handler, also where these tests run in the background of a shell, which ignores Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def press(monkeypatch, ctrl_c_is_heard):
    """Return a function: Ctrl-C at the given askings of the monitor, counted from 1."""
    original = Monitor.must_stop

    def at(*numbers):
        count = iter(range(1, 10**9))

        def must_stop(self):
            if self.interrupted is not None and next(count) in numbers:  # a solver of the fit itself
                signal.raise_signal(signal.SIGINT)
            return original(self)

        monkeypatch.setattr(Monitor, "must_stop", must_stop)

    yield at
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def quantiles(solver, **settings):
    loss = MoreauPinball(kappa=0.1) if solver == "lbfgs" else Pinball()
    settings = {"alpha": 1e-4, "measure": GaussLegendre(4), "tol": SMALL_TOL, "loss": loss, **settings}
    return KernelQuantileRegressor(solver=solver, **settings)


def stops(fit):
    """Fit, see that it was interrupted, and return the model."""
    with pytest.warns(ConvergenceWarning, match=r"Interrupted by Ctrl-C.*relative duality gap"):
        model = fit()
    assert model.status_ == "stopped"
    assert np.isfinite(model.objective_)
    assert model.dual_gap_ >= 0
    assert model.relative_gap_ > model.tol
    return model


@pytest.mark.parametrize("when", [1, 4])
@pytest.mark.parametrize("solver", ["admm", "semismooth_newton", "interior_point", "proximal_gradient", "lbfgs"])
def test_each_solver_stops_soon_with_a_model(press, solver, when):
    full = quantiles("interior_point", tol=1e-4, loss=quantiles(solver).loss).fit(X, Y)
    press(when)
    model = stops(lambda: quantiles(solver).fit(X, Y))
    assert model.n_iter_ <= when + 1  # and not at the next look
    assert np.all(np.isfinite(model.predict(X)))
    # the certificate is true: no better objective is below primal − gap
    assert model.objective_ - model.dual_gap_ <= full.objective_ <= model.objective_ + full.dual_gap_


def test_a_stopped_model_is_no_worse_than_the_intercept(press):
    press(1)
    model = stops(lambda: quantiles("proximal_gradient").fit(X, Y))
    constant = quantiles("admm", alpha=1e6, tol=1e-3).fit(X, Y)
    assert model.objective_ <= constant.objective_ + constant.dual_gap_


@pytest.mark.parametrize("solver", ["admm", "semismooth_newton", "interior_point", "lbfgs"])
def test_a_warm_start_goes_on_from_there(press, solver):
    press(30)
    model = quantiles(solver, warm_start=True, tol=1e-6, max_iter=20_000)
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        model.fit(X, Y)
    stopped = model.relative_gap_
    press(1)
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        model.fit(X, Y)
    assert model.relative_gap_ <= stopped * (1 + 1e-6)  # a start is kept until something better is found
    press()
    model.fit(X, Y)
    assert model.status_ == "converged"


@pytest.mark.parametrize("noncrossing", ["penalty", "constraint", "guarantee"])
def test_fits_that_do_not_cross(press, noncrossing):
    press(2)
    settings = {"alpha": 1e-3, "noncrossing": noncrossing, "tol": 1e-8, "measure": GaussLegendre(3)}
    model = stops(lambda: KernelQuantileRegressor(**settings).fit(X[:, :1], Y))
    rows = np.linspace(X[:, 0].min(), X[:, 0].max(), 50)[:, None]
    if noncrossing == "guarantee":
        assert np.all(np.diff(model.predict_quantile(rows, np.linspace(0.05, 0.95, 20)), axis=1) >= 0)


def test_a_later_round_of_a_guarantee_does_not_lose_the_one_before(monkeypatch):
    pose, ask, rounds = MonotoneFit.problem, Monitor.must_stop, []

    def must_stop(self):
        if len(rounds) == 2 and not self.interrupted():
            signal.raise_signal(signal.SIGINT)
        return ask(self)

    monkeypatch.setattr(MonotoneFit, "problem", lambda *given: rounds.append(1) or pose(*given))
    settings = {"alpha": 1e-3, "noncrossing": "guarantee", "tol": 1e-5, "measure": GaussLegendre(2)}
    with monkeypatch.context() as patch:
        patch.setattr("mercer.estimators.monotone_fit.ROUNDS", 1)
        with pytest.warns(ConvergenceWarning, match="Monotone it is everywhere"):
            first = KernelQuantileRegressor(**settings).fit(X[:30, :1], Y[:30])
    rounds.clear()
    monkeypatch.setattr(Monitor, "must_stop", must_stop)
    model = stops(lambda: KernelQuantileRegressor(**settings).fit(X[:30, :1], Y[:30]))
    assert len(rounds) == 2
    assert model.relative_gap_ == first.relative_gap_
    assert np.array_equal(model.predict_quantile(X[:, :1], [0.3]), first.predict_quantile(X[:, :1], [0.3]))


def test_before_there_is_anything():
    """During a factorisation: then one step has to be enough."""
    heard = []

    def listener(work):
        if not heard:
            signal.raise_signal(signal.SIGINT)
        heard.append(work)

    with heard_by(listener):
        model = stops(lambda: quantiles("admm").fit(X, Y))
    assert heard
    assert model.n_iter_ == 1


def test_from_outside():
    timer = threading.Timer(0.2, _thread.interrupt_main)

    def listener(work):
        if timer.ident is None:  # the fit listens from here on, however slow the machine is
            timer.start()

    with heard_by(listener):
        model = stops(lambda: quantiles("admm", tol=1e-15, max_iter=10**7).fit(X, Y))
    timer.join()
    assert 0 < model.n_iter_ < 10**7


def test_classifiers(press):
    press(2)
    model = stops(lambda: CostSensitiveClassifier(alpha=1e-4, tol=SMALL_TOL).fit(X, LABELS))
    assert set(model.predict(X)) <= {0, 1}


@pytest.mark.parametrize("settings", [{}, {"alpha": 0.1}, {"coupling": 0.1}])
def test_level_sets(press, settings):
    press(2)
    detector = LevelSetDetector(measure=Points([0.1, 0.3, 0.5]), tol=SMALL_TOL, **settings)
    model = stops(lambda: detector.fit(X))
    if not settings:  # the fractions hold however early the solver stops
        fractions = np.mean(model.predict_at(X, [0.1, 0.3, 0.5]) < 0, axis=0)
        assert np.all(fractions <= np.array([0.1, 0.3, 0.5]) + 1e-12)


@pytest.mark.parametrize(("loss", "curves"), [("square", HOLES), (Huber(0.1), CURVES)])
def test_curves(press, loss, curves):
    press(2)
    model = FunctionalRegressor(grid=GRID, alpha=1e-6, loss=loss, tol=1e-12)
    assert stops(lambda: model.fit(X, curves)).predict(X).shape == CURVES.shape


def test_a_loss_without_a_conjugate(press):
    press(3)
    model = FunctionalRegressor(grid=GRID, alpha=1e-5, loss=_LogCosh(), tol=1e-9)
    assert stops(lambda: model.fit(X, CURVES)).solver_.__class__ is LBFGS


class _LogCosh(Loss):
    smooth = True
    pointwise = True

    def value(self, Y, U, measure):
        return measure.integrate(np.logaddexp(Y - U, U - Y))

    def gradient(self, Y, U, measure):
        return np.tanh(U - Y)


def test_the_second_time_it_is_an_exception(monkeypatch):
    def impatient(self):
        signal.raise_signal(signal.SIGINT)
        assert self.interrupted()
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Monitor, "must_stop", impatient)
    model = quantiles("admm")
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert not hasattr(model, "dual_coef_")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_too_late_to_change_anything(monkeypatch):
    original = Monitor.result

    def result(self, *arguments):
        found = original(self, *arguments)
        signal.raise_signal(signal.SIGINT)
        return found

    monkeypatch.setattr(Monitor, "result", result)
    with pytest.warns(ConvergenceWarning, match=r"Interrupted by Ctrl-C.*within tol"):
        # with everything given: what compares kernels solves, too, and is interrupted as usual
        model = FunctionalRegressor(Gaussian(1.0), output_kernel=Gaussian(10.0), grid=GRID, alpha=0.1).fit(X, CURVES)
    assert model.status_ == "converged"


@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt])
def test_the_handler_is_put_back(error):
    def body():
        with interruptible():
            assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
            if error is not None:
                raise error

    if error is None:
        body()
    else:
        with pytest.raises(error):
            body()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_handlers_of_others_stay():
    heard = []
    signal.signal(signal.SIGINT, lambda *_: heard.append(1))
    try:
        with interruptible() as interrupted:
            signal.raise_signal(signal.SIGINT)
            assert not interrupted()
        assert heard == [1]
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with interruptible():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def test_a_fit_in_a_thread():
    models = []
    thread = threading.Thread(target=lambda: models.append(quantiles("admm", tol=1e-3).fit(X, Y)))
    thread.start()
    thread.join()
    assert models[0].status_ == "converged"


def test_choosing_is_interrupted_as_usual(monkeypatch):
    def interrupt(*_):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("mercer.estimators.quantile.choose_alpha", lambda *_: interrupt())
    model = KernelQuantileRegressor(stages="joint")
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert not hasattr(model, "dual_coef_")


@pytest.mark.parametrize(
    "solver", [ADMM(1e-10), SemismoothNewton(1e-10), InteriorPoint(1e-10), ProximalGradient(1e-10), LBFGS(1e-10)]
)
def test_solvers_can_be_asked_by_anybody(solver):
    """``interrupted`` needs no signal: a button or a limit on the time will do."""
    asked = []

    def interrupted():
        asked.append(1)
        return len(asked) > 3

    name = "lbfgs" if isinstance(solver, LBFGS) else "admm"
    model = quantiles(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model, "_solve", lambda problem, tol, _: solver.solve(problem, interrupted=interrupted), False)
        with pytest.warns(ConvergenceWarning, match="stopped it"):
            model.fit(X, Y)
    assert model.status_ == "stopped"
