"""The campaign of fuzz/ finds what it looks for: for each kind a bug in the library, and a quick case that shows it."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest

import mercer.estimators.certified
import mercer.estimators.infinite_task
import mercer.estimators.level_model
import mercer.estimators.level_sets
from fuzz import check as checking
from fuzz.contracts import check_part
from fuzz.curves import Curves
from fuzz.draw import Case
from fuzz.findings import KINDS
from fuzz.level_sets import LevelSets
from fuzz.tasks import Costs, Quantiles
from mercer import (
    CostSensitiveClassifier,
    FunctionalRegressor,
    KernelQuantileRegressor,
    LevelSetDetector,
    QuantileFunction,
)
from mercer.estimators.certified import CertifiedEstimator
from mercer.kernels import FunctionKernel, Gaussian
from mercer.losses import CostSensitiveHinge, Expectile, Pinball
from mercer.measures import Points
from mercer.problems import Certificate, DualProblem
from mercer.solvers import ADMM

LEVELS = Points([0.1, 0.3, 0.5, 0.7, 0.9])


def data(n=24):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 1))
    X[-1] = X[0]
    y = 5 + np.sin(6 * X[:, 0]) + rng.normal(size=n)
    y[-1] = y[0]
    return X, y, rng.uniform(0.5, 2, size=n)


def quantiles(**parameters):
    X, y, weight = data()
    settings = {"alpha": 1e-3, "measure": LEVELS, "loss": Pinball(), "tol": 0.03, "solver": "admm"} | parameters
    return Quantiles(), Case(KernelQuantileRegressor(**settings), X, y, weight, np.random.default_rng(1))


def costs(**parameters):
    X, y, weight = data()
    settings = {"alpha": 1e-2, "measure": LEVELS, "loss": CostSensitiveHinge(), "solver": "admm"} | parameters
    labels = np.where(y > 5, 1.0, -1.0)
    return Costs(), Case(CostSensitiveClassifier(**settings), X, labels, weight, np.random.default_rng(1))


def level_sets(**parameters):
    X, _, weight = data()
    settings = {"kernel": Gaussian(3.0), "measure": Points([0.2, 0.5]), "calibration": None} | parameters
    return LevelSets(), Case(LevelSetDetector(**settings), X, None, weight, np.random.default_rng(1))


def curves(scattered=False, **parameters):
    X, y, weight = data()
    grid = np.linspace(0, 1, 5)
    Y = y[:, None] + np.sin(X + 3 * grid)
    settings = {"alpha": 1e-2, "loss": "huber", "kernel": Gaussian(3.0), "output_kernel": Gaussian(3.0)} | parameters
    y = [(grid, row) for row in Y] if scattered else Y
    model = FunctionalRegressor(grid=None if scattered else grid, **settings)
    return Curves(), Case(model, X, y, weight, np.random.default_rng(1))


def kinds(family, case):
    return {finding.kind for finding in checking.check(family, case).findings}


SOUND = {
    "quantiles": quantiles,
    "expectiles": lambda: quantiles(loss=Expectile()),
    "quantiles with a penalty": lambda: quantiles(noncrossing="penalty", solver="auto"),
    "quantiles with constraints": lambda: quantiles(noncrossing="constraint", solver="auto"),
    "costs": costs,
    "level sets": level_sets,
    "smooth offsets": lambda: level_sets(alpha=0.1),
    "coupled levels": lambda: level_sets(coupling=0.1),
    "curves": curves,
    "curves by coefficients": lambda: curves(fit_intercept=False, representation="eigen"),
    "scattered curves": lambda: curves(scattered=True),
}


@pytest.mark.parametrize("name", SOUND)
def test_nothing_is_found_where_nothing_is_wrong(name):
    family, case = SOUND[name]()
    assert checking.check(family, case).findings == []


# -- bugs: ``replace`` sets an attribute; a function is replaced by what is made of the original ---------------


def half_the_gap(replace):
    replace(Certificate, "gap", property(lambda self: (self.primal - self.dual) / 2))


def forgotten_sample_weights(replace):
    replace(
        DualProblem, "primal_coef", lambda original: lambda self, A: original(self, A) / self.sample_weight[:, None]
    )


def intercept_without_centre(replace):
    def store(original):
        return lambda self, X, bound, problem, result, centre=0.0, *rest: original(
            self, X, bound, problem, result, 0.0 * centre, *rest
        )

    replace(CertifiedEstimator, "_store", store)


def no_rearrangement(replace):
    replace(QuantileFunction, "rearranged", lambda original: lambda self: self)


def nan_coefficient(replace):
    replace(
        DualProblem, "primal_coef", lambda original: lambda self, A: np.where(A.max() == A, np.nan, original(self, A))
    )


def failing_factorisation(replace):
    def fail(self, problem, init, monitor):
        raise np.linalg.LinAlgError("not positive definite")

    replace(ADMM, "_solve", lambda original: fail)


def outside_the_box(replace):
    def level_coef(original):
        return lambda coef, *rest, **settings: original(
            coef * np.where(coef == coef.max(), 1.001, 1.0), *rest, **settings
        )

    replace(mercer.estimators.level_model, "level_coef", level_coef)


def raised_offsets(replace):
    replace(mercer.estimators.level_sets, "MARGIN", -0.5)


def targets_in_place(replace):
    def fit(original):
        def wrong(self, X, y, sample_weight=None):
            y += 1.0
            return original(self, X, y, sample_weight)

        return wrong

    replace(KernelQuantileRegressor, "fit", fit)


def settings_in_fit(replace):
    def fit(original):
        def wrong(self, X, y, sample_weight=None):
            self.tol = 0.1
            return original(self, X, y, sample_weight)

        return wrong

    replace(KernelQuantileRegressor, "fit", fit)


def silent_failure(replace):
    replace(mercer.estimators.infinite_task, "warn_of_gap", lambda original: lambda result, interrupted, depth: None)


def overflow_within(replace):
    def predict(original):
        def wrong(self, A):
            warnings.warn("overflow encountered in multiply", RuntimeWarning)
            return original(self, A)

        return wrong

    replace(DualProblem, "predict", predict)


def noise(replace):
    rng = np.random.default_rng(0)
    replace(DualProblem, "primal_coef", lambda original: lambda self, A: original(self, A) * (1 + 1e-15 * rng.normal()))


def endless_loop(replace):
    def loop(self, problem, init, monitor):
        while True:
            time.sleep(0.01)

    replace(checking, "LIMIT", 0.2)
    replace(ADMM, "_solve", lambda original: loop)


def shifted_predictions(replace):
    def evaluate(original):
        return lambda self, X, theta: original(self, X, theta) + 0.1

    replace(KernelQuantileRegressor, "_evaluate", evaluate)


def unmerged_rows(replace):
    replace(mercer.estimators.certified, "merge_duplicates", lambda original: lambda X, y, weight: (X, y, weight))


BUGS = [
    (half_the_gap, quantiles, "false certificate"),
    (half_the_gap, lambda: curves(tol=0.1, solver="admm"), "false certificate"),
    (half_the_gap, lambda: costs(tol=0.1), "false certificate"),
    (half_the_gap, lambda: level_sets(tol=0.1, alpha=0.1, coupling=1.0), "false certificate"),
    (forgotten_sample_weights, quantiles, "objective"),
    (forgotten_sample_weights, curves, "objective"),
    (forgotten_sample_weights, lambda: curves(scattered=True), "objective"),
    (forgotten_sample_weights, costs, "box"),
    (forgotten_sample_weights, level_sets, "box"),
    (intercept_without_centre, quantiles, "objective"),
    (no_rearrangement, lambda: quantiles(alpha=1e-6, output_kernel="identity", measure=None), "crossing"),
    (nan_coefficient, quantiles, "not finite"),
    (failing_factorisation, quantiles, "foreign exception"),
    (outside_the_box, level_sets, "box"),
    (raised_offsets, level_sets, "outlier fraction"),
    (targets_in_place, quantiles, "inputs changed"),
    (settings_in_fit, quantiles, "parameters changed"),
    (silent_failure, lambda: quantiles(max_iter=1), "status"),
    (overflow_within, quantiles, "foreign warning"),
    (noise, quantiles, "not repeatable"),
    (endless_loop, quantiles, "hang"),
    (shifted_predictions, lambda: quantiles(noncrossing=None), "predictions"),
    (unmerged_rows, quantiles, "rows"),
]


@pytest.mark.parametrize(("bug", "make", "kind"), BUGS, ids=[f"{bug.__name__}-{kind}" for bug, _, kind in BUGS])
def test_a_bug_is_found(bug, make, kind, monkeypatch):
    def replace(owner, name, new):
        original = getattr(owner, name)
        plain = callable(new) and callable(original)
        monkeypatch.setattr(owner, name, new(original) if plain else new)

    family, case = make()
    bug(replace)
    assert kind in kinds(family, case)


def test_a_broken_contract_is_found():
    report = check_part(FunctionKernel(lambda X, Z: X[:, :1] - Z[:, :1].T), np.random.default_rng(0))
    assert [finding.kind for finding in report.findings] == ["broken contract"]


def test_a_failure_of_the_campaign_is_found(monkeypatch):
    monkeypatch.setattr(Quantiles, "certify", lambda self, model, case: 1 / 0)
    assert kinds(*quantiles()) == {"recomputation"}


def test_every_kind_is_shown():
    shown = {kind for _, _, kind in BUGS} | {"broken contract", "recomputation"}
    assert shown == set(KINDS)
