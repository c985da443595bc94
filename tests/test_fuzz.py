"""A slice of the campaign of fuzz/: fixed seeds, nothing found; and its command line."""

from __future__ import annotations

import json
from concurrent.futures import Future

import numpy as np
import pytest

from fuzz import campaign
from fuzz.check import Family
from fuzz.contracts import OWN_PARTS
from fuzz.exact import kernel_matrix, slope_matrix
from fuzz.findings import Finding, Report
from mercer.kernels import Kernel

SEEDS = range(100, 190)
#: cases that take more than two seconds; ``make fuzz`` runs them
SLOW = {
    "quantiles": {115, 154, 165, 167, 173, 179, 189},
    "costs": {135, 146, 154, 172},
    "level_sets": set(),
    "curves": {137, 151, 160, 164, 177},
}
PARTS = 3
SLICES = [(family, part) for family in SLOW for part in range(PARTS)]


@pytest.mark.parametrize(("family", "part"), SLICES, ids=[f"{family}-{part}" for family, part in SLICES])
def test_nothing_is_found(family, part):
    seeds = [seed for seed in SEEDS[part::PARTS] if seed not in SLOW[family]]
    lines = [campaign.run_case(family, seed) for seed in seeds]
    assert not any(line["findings"] for line in lines), "\n" + campaign.table(lines)


@pytest.mark.parametrize("family", ["own_levels", "own_costs"])
def test_nothing_is_found_of_levels_of_rows_own(family):
    lines = [campaign.run_case(family, seed) for seed in range(100, 120)]
    assert not any(line["findings"] for line in lines), "\n" + campaign.table(lines)


def test_contracts():
    lines = [campaign.run_case("contracts", seed) for seed in range(20)]
    assert not any(line["findings"] for line in lines), "\n" + campaign.table(lines)
    assert {line["outcome"] for line in lines} == {"kept"}


def test_cases_repeat():
    one, two = (campaign.FAMILIES["curves"].case(3) for _ in range(2))
    assert repr(one.estimator) == repr(two.estimator)
    assert (one.X == two.X).all()


@pytest.mark.parametrize(
    "kernel", [part for part in OWN_PARTS if isinstance(part, Kernel)], ids=lambda part: type(part).__name__
)
def test_kernels_of_the_campaign_are_those_of_the_library(kernel):
    X = np.random.default_rng(0).uniform(0.1, 2, size=(6, 1))
    kernel = kernel.adapt(X)
    if not kernel.pairwise:
        np.testing.assert_allclose(
            kernel_matrix(kernel, X, X[:4]).astype(float), kernel(X, X[:4]), rtol=1e-12, atol=1e-14
        )
    if kernel.differentiable:
        for both in (False, True):
            expected = kernel.derivative(X, X[:4], (int(both), 1))
            found = slope_matrix(kernel, X, X[:4], both).astype(float)
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


# -- the command line, with a family that costs nothing --------------------------------------------------------


class Odd(Family):
    """Finds something at every odd seed."""

    name = "odd"

    def run(self, seed):
        return Report("fitted", [Finding("objective", "", "odd")] if seed % 2 else [])

    def draw(self, draw):
        raise NotImplementedError

    certify = look = draw


class SameProcess:
    """Stands for a pool of processes, which would not know the family."""

    def __init__(self, processes):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def submit(self, function, *arguments):
        future: Future = Future()
        future.set_result(function(*arguments))
        return future


@pytest.fixture
def odd(monkeypatch):
    monkeypatch.setitem(campaign.FAMILIES, "odd", Odd())
    monkeypatch.setattr(campaign, "ProcessPoolExecutor", SameProcess)


def test_campaign_continues_and_shows_seeds(odd, tmp_path, capsys):
    arguments = ["--families", "odd", "--results", str(tmp_path / "lines.jsonl"), "--minutes"]
    assert campaign.main([*arguments, "0.001"]) == 1
    first = [json.loads(line) for line in (tmp_path / "lines.jsonl").read_text().splitlines()]
    assert campaign.main([*arguments, "0.001"]) == 1
    lines = [json.loads(line) for line in (tmp_path / "lines.jsonl").read_text().splitlines()]
    assert lines[: len(first)] == first
    assert sorted(line["seed"] for line in lines) == list(range(len(lines)))
    assert len(lines) > len(first)
    shown = capsys.readouterr().out
    assert "| objective | odd |" in shown
    assert "1, 3, 5, 7" in shown


def test_one_seed(capsys):
    assert campaign.main(["--families", "level_sets", "--seed", "100"]) == 0
    assert "LevelSetDetector(" in capsys.readouterr().out


def test_part(capsys):
    assert campaign.main(["--part", "mercer.kernels:Linear"]) == 0
    assert "20 cases (20 kept); something found in 0." in capsys.readouterr().out


def test_wrong_part(monkeypatch, capsys):
    monkeypatch.setattr("mercer.kernels.Linear._evaluate", lambda self, X, Z: -X @ Z.T)
    assert campaign.main(["--part", "mercer.kernels:Linear"]) == 1
    assert "broken contract" in capsys.readouterr().out
