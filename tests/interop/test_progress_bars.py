"""Bars where somebody looks, lines where nobody does, by whatever is installed."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest

from mercer import KernelQuantileRegressor
from mercer.estimators.progress import Decay
from mercer.interop import progress_bars
from mercer.measures import GaussLegendre

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, size=(200, 3))
Y = np.sin(2 * X[:, 0]) + 0.3 * RNG.normal(size=200)
ROUGH = {"kernel": "laplacian", "alpha": 1e-4, "measure": GaussLegendre(3), "tol": 1e-4, "solver": "admm"}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("library", ["rich", "tqdm"])
def test_a_bar_tells_phase_gap_and_time(monkeypatch, library):
    pytest.importorskip(library)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    monkeypatch.setenv("COLUMNS", "200")
    if library == "tqdm":
        monkeypatch.setitem(sys.modules, "rich.console", None)  # as if rich were not installed
    KernelQuantileRegressor(verbose=1, **ROUGH).fit(X, Y)
    said = terminal.getvalue()
    assert "ADMM" in said
    assert "relative gap" in said
    assert "within tol" in said
    assert "[mercer]" not in said
    assert ("100%" in said) == (library == "tqdm")


def test_lines_where_nobody_looks_or_nothing_draws(monkeypatch, capsys):
    assert progress_bars.open_bar() is None  # standard error is no terminal here
    KernelQuantileRegressor(verbose=1, **ROUGH).fit(X, Y)
    assert capsys.readouterr().err.startswith("[mercer] ")
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    for name in ("rich.console", "tqdm"):
        monkeypatch.setitem(sys.modules, name, None)
    KernelQuantileRegressor(verbose=1, **ROUGH).fit(X, Y)
    assert terminal.getvalue().startswith("[mercer] ")


def test_somebody_looks_in_a_terminal_where_bars_can_be_drawn(monkeypatch):
    assert not progress_bars.watched()
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert progress_bars.watched()
    for name in ("rich", "tqdm"):
        monkeypatch.setitem(sys.modules, name, None)
    assert not progress_bars.watched()


def test_silence_opens_no_bar(monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    KernelQuantileRegressor(**ROUGH).fit(X, Y)
    assert terminal.getvalue() == ""


def test_a_share_counts_digits():
    decay = Decay(1e-4)
    shares = []
    for seconds, gap in [(1.0, 1.0), (2.0, 1e-2), (3.0, 1e-1), (4.0, 1e-4)]:
        decay(seconds, gap)
        shares.append(decay.share)
    np.testing.assert_allclose(shares, [0.0, 0.5, 0.5, 1.0])
