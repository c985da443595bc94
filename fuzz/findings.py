"""What a campaign looks for, and what it remembers of a case."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

__all__ = ["KINDS", "Finding", "Report", "Surprise", "place_of"]

#: every kind of finding, and the promise that is broken
KINDS = {
    "hang": "a fit takes a minute at most",
    "foreign exception": "errors are MercerErrors, and a fitted model predicts without one",
    "foreign warning": "a fit warns of convergence and of contaminated curves only; predictions of extrapolation",
    "not finite": "fitted attributes and predictions are finite",
    "inputs changed": "X, y and sample_weight are read only",
    "parameters changed": "fit does not write on the parameters",
    "status": "status_ is 'converged' if and only if there is no warning, and then the gap is within tol",
    "not repeatable": "the same fit twice has the same bits",
    "rows": "X_fit_ are the rows of positive weight, identical ones once",
    "objective": "objective_ is that of the model that was stored",
    "predictions": "predictions are those of the model that was stored",
    "false certificate": "dual_gap_ and relative_gap_ are not below the true ones (to 1 % and 1e-5 of the objective)",
    "box": "dual variables are in the domain of the conjugate loss",
    "crossing": "functions do not fall, and sets are nested, where that was promised",
    "outlier fraction": "at most a fraction θ of the training rows is outside of the level set of θ",
    "broken contract": "parts keep the contracts of mercer.testing",
    "recomputation": "none: the campaign itself failed",
}


class Finding(NamedTuple):
    """A broken promise: its kind, where the library broke it (if that is known), and by how much."""

    kind: str
    place: str
    detail: str


class Surprise(Exception):
    """A finding that ends the recomputation."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.finding = Finding(kind, "", detail)


@dataclass
class Report:
    """How a case ended: "fitted", "refused" (by a MercerError) or "failed", and what was found."""

    outcome: str
    findings: list[Finding] = field(default_factory=list)
    seconds: float = 0.0


def place_of(error: BaseException) -> str:
    """Return the type of an error and the last line of the library that it passed."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if "mercer" in Path(frame.filename).parts] or frames
    return f"{type(error).__name__} at {Path(inside[-1].filename).name}:{inside[-1].lineno}"
