"""What ``verbose`` tells on standard error, and that silence costs nothing."""

from __future__ import annotations

import re

import numpy as np
import pytest

from mercer import CostSensitiveClassifier, FunctionalRegressor, KernelQuantileRegressor, LevelSetDetector
from mercer.estimators import progress as told
from mercer.estimators.progress import Decay, duration
from mercer.linalg import Work
from mercer.measures import GaussLegendre

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, size=(320, 5))
Y = np.sin(2 * X[:, 0]) + 0.3 * RNG.normal(size=320)
ROUGH = {"kernel": "laplacian", "alpha": 1e-4, "measure": GaussLegendre(3), "tol": 1e-3}


def lines(capsys):
    out, err = capsys.readouterr()
    assert out == ""
    assert all(line.startswith("[mercer] ") for line in err.splitlines())
    return [line.removeprefix("[mercer] ") for line in err.splitlines()]


@pytest.mark.parametrize("solver", ["admm", "semismooth_newton"])
def test_factorisations_speak_before_the_first_iteration(capsys, solver):
    model = KernelQuantileRegressor(solver=solver, verbose=1, **ROUGH).fit(X, Y)
    said = lines(capsys)
    assert said[0] == "KernelQuantileRegressor: n = 320, m = 3, 960 unknowns"
    assert said[1] == f"{model.solver_!r}: preparing the Gram operator"
    first = next(i for i, line in enumerate(said) if "iteration" in line)
    dense = [
        i for i, line in enumerate(said) if re.fullmatch(r"eigendecomposition of 320 rows \(.* MiB\): about .* s", line)
    ]
    assert dense
    assert dense[0] < first


def test_looks_tell_of_the_time_left(capsys):
    KernelQuantileRegressor(solver="admm", verbose=1, **(ROUGH | {"tol": 1e-5})).fit(X, Y)
    looks = [line for line in lines(capsys) if "iteration" in line]
    assert looks[0].endswith("… left")
    assert any(re.search(r", \d+\.\d s, about .* left$", line) for line in looks)
    assert looks[-1].endswith("within tol")


def test_the_choice_of_alpha_speaks(capsys):
    KernelQuantileRegressor(verbose=1, **(ROUGH | {"alpha": "auto"})).fit(X, Y)
    said = lines(capsys)
    assert said[0] == "choosing alpha by leave-one-out"
    assert any(line.startswith("eigendecomposition") for line in said[: said.index(said[0]) + 3])
    CostSensitiveClassifier("gaussian", verbose=1).fit(X[:50], Y[:50] > 0)
    assert lines(capsys)[0] == "choosing alpha by leave-one-out"
    CostSensitiveClassifier(verbose=1).fit(X[:50], Y[:50] > 0)
    assert lines(capsys)[0].startswith("choosing scales of columns by evidence")


def test_curves_and_levels(capsys):
    curves = np.sin(np.linspace(0, 1, 6) + X[:, :1])
    FunctionalRegressor("laplacian", grid=np.linspace(0, 1, 6), alpha=0.1, verbose=1).fit(X, curves)
    said = lines(capsys)
    assert said[0].startswith("choosing kernels")
    assert any("ClosedForm: iteration 1" in line for line in said)
    LevelSetDetector(verbose=1).fit(X)
    assert lines(capsys)[0] == "LevelSetDetector: 26 levels of 320 rows"


def test_silence_measures_nothing(capsys, monkeypatch):
    monkeypatch.setattr(told, "heard_by", None)
    monkeypatch.setattr(told.Progress, "rate", property(lambda self: 1 / 0))
    KernelQuantileRegressor(**ROUGH).fit(X[:40], Y[:40])
    assert lines(capsys) == []


def test_what_is_small_or_elsewhere(capsys):
    progress = told.Progress(1)
    progress.begins(Work("eigendecomposition", 10, 800.0, 4e3))
    assert lines(capsys) == []
    progress.begins(Work("eigendecomposition", 1000, 8e6, 4e9, elsewhere=True))
    assert lines(capsys) == ["eigendecomposition of 1000 rows (7.6 MiB): …"]
    progress.begins(Work("pivoted Cholesky factorisation", 1000, 8e6, 4e9, bound=True))
    (line,) = lines(capsys)
    assert re.fullmatch(r"pivoted Cholesky factorisation of 1000 rows \(at most 7.6 MiB\): at most .*", line)


def test_gaps_that_do_not_fall():
    decay = Decay(1e-3)
    assert [decay(t, 0.5) for t in (1.0, 2.0, 3.0)] == ["… left"] * 3
    assert Decay(0.0)(1.0, 0.5) == "… left"
    assert decay(4.0, np.inf) == "… left"
    exact = Decay(1e-4)
    for t in range(1, 10):
        left = exact(float(t), 10.0 ** (-t / 4))
    assert left == f"about {duration(7.0)} left"
