"""Random fits of the public estimators, each of them recomputed independently; a table of what was found.

    python -m fuzz                                        # ten minutes on two processes
    python -m fuzz --minutes 60 --families curves         # longer, and of one family
    python -m fuzz --families curves --seed 89            # one case again: its settings, and what was found
    python -m fuzz --part mypackage.module:MyKernel       # a part of your own against its contract

Run it where this folder is, or with ``make fuzz MINUTES=60``. One line of JSON is written for each case; starting again
continues after the cases in the file, and the table is of all of them. (Delete the file after a change of the library,
or choose another one with ``--results``.) The exit code is 1 if something was found.

What is looked for is in findings.py. Objectives and certificates are recomputed in extended precision from public
attributes (certify.py, and a file for each family of estimators), with kernels and losses of exact.py.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import json
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.check import Family
from fuzz.contracts import Contracts, check_part
from fuzz.curves import Curves
from fuzz.findings import KINDS, Finding
from fuzz.level_sets import LevelSets
from fuzz.own_levels import OwnCosts, OwnQuantiles
from fuzz.tasks import Costs, Quantiles

__all__ = ["FAMILIES", "main", "run_case", "table"]

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (Quantiles(), OwnQuantiles(), Costs(), OwnCosts(), LevelSets(), Curves(), Contracts())
}
PROCESSES = 2
RESULTS = Path(__file__).parent / "results" / "campaign.jsonl"
#: seeds that the table shows of each kind
SHOWN_SEEDS = 6
#: cases of a part of one's own
PART_CASES = 20


def run_case(family: str, seed: int) -> dict[str, Any]:
    """Run one case and return what is written about it."""
    report = FAMILIES[family].run(seed)
    return {
        "family": family,
        "seed": seed,
        "outcome": report.outcome,
        "seconds": round(report.seconds, 3),
        "findings": [list(finding) for finding in report.findings],
    }


def table(lines: Iterable[dict[str, Any]]) -> str:
    """Return the table of findings by kind, in Markdown, with seeds that repeat them."""
    lines = list(lines)
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    details: dict[tuple[str, str, str], str] = {}
    for line in lines:
        for finding in {Finding(*found)[:2]: Finding(*found) for found in line["findings"]}.values():
            key = (finding.kind, finding.place, line["family"])
            groups[key].append(line)
            details.setdefault(key, " ".join(finding.detail.split())[:90])
    order = sorted(groups, key=lambda key: (list(KINDS).index(key[0]), key[2], -len(groups[key])))
    rows = ["| kind | family | cases | seeds | where, and how |", "| --- | --- | --- | --- | --- |"]
    for key in order:
        seeds = ", ".join(str(line["seed"]) for line in groups[key][:SHOWN_SEEDS])
        shown = "; ".join(part for part in (key[1], details[key]) if part).replace("|", "¦")
        rows.append(f"| {key[0]} | {key[2]} | {len(groups[key])} | {seeds} | {shown} |")
    outcomes: dict[str, int] = defaultdict(int)
    for line in lines:
        outcomes[line["outcome"]] += 1
    summary = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
    found = sum(bool(line["findings"]) for line in lines)
    return "\n".join([*(rows if groups else []), "", f"{len(lines)} cases ({summary}); something found in {found}."])


def _campaign(families: list[str], first: int, minutes: float, results: Path) -> list[dict[str, Any]]:
    """Run cases until the time is up, two at a time, and return the lines of the file."""
    results.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    done = {(line["family"], line["seed"]) for line in lines}
    cases = (case for case in _cases(families, first) if case not in done)
    end = time.monotonic() + 60 * minutes
    running: set[Any] = set()
    with ProcessPoolExecutor(PROCESSES) as pool, results.open("a") as file:
        while running or time.monotonic() < end:
            while len(running) < PROCESSES and time.monotonic() < end:
                running.add(pool.submit(run_case, *next(cases)))
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                lines.append(future.result())
                file.write(json.dumps(lines[-1]) + "\n")
                file.flush()
    return lines


def _cases(families: list[str], first: int) -> Iterator[tuple[str, int]]:
    for seed in itertools.count(first):
        yield from ((family, seed) for family in families)


def _again(families: list[str], seed: int) -> list[dict[str, Any]]:
    """Run the cases of one seed, and print their settings and all that was found."""
    lines = []
    for family in families:
        if family != Contracts.name:
            case = FAMILIES[family].case(seed)
            print(f"{family} {seed}: {case.estimator!r}\nX = {case.X!r}\ny = {case.y!r}\nweight = {case.weight!r}")
        lines.append(run_case(family, seed))
        for finding in lines[-1]["findings"]:
            print(*finding, sep=" | ")
    return lines


def _part(path: str, first: int) -> list[dict[str, Any]]:
    """Check a part, "module:name", with some random settings."""
    module, _, name = path.partition(":")
    part = getattr(importlib.import_module(module), name)
    lines = []
    for seed in range(first, first + PART_CASES):
        report = check_part(part, np.random.default_rng(seed))
        lines.append({"family": name, "seed": seed, "outcome": report.outcome, "findings": report.findings})
    return lines


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; 1 if something was found."""
    first_line = __doc__.splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=first_line)
    parser.add_argument("--minutes", type=float, default=10.0, help="time limit (default: 10)")
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES), help="default: all")
    parser.add_argument("--first", type=int, default=0, help="seed to begin with (default: 0)")
    parser.add_argument("--results", type=Path, default=RESULTS, help="file of results, continued if it exists")
    parser.add_argument("--seed", type=int, help="run the cases of this seed only, and show them")
    parser.add_argument(
        "--part", metavar="MODULE:NAME", help="check a kernel, loss, rule or solver, or a class of such"
    )
    given = parser.parse_args(arguments)
    if given.part is not None:
        lines = _part(given.part, given.first)
    elif given.seed is not None:
        lines = _again(given.families, given.seed)
    else:
        lines = _campaign(given.families, given.first, given.minutes, given.results)
    print(table(lines))
    return int(any(line["findings"] for line in lines))
