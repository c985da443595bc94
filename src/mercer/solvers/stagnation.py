"""When an algorithm crawls: its gap does not halve for long."""

from __future__ import annotations

import math

__all__ = ["Stagnation"]


class Stagnation:
    """Looks at gaps and says when the smallest one has not halved for a number of steps.

    Parameters
    ----------
    patience : int
        The number of steps: a count, not a time, so that the same data give the same model.

    Examples
    --------
    >>> crawls = Stagnation(patience=10)
    >>> [crawls(step, gap) for step, gap in [(0, 1.0), (5, 0.4), (14, 0.3), (15, 0.25)]]
    [False, False, False, True]
    """

    def __init__(self, patience: int) -> None:
        self.patience, self.goal, self.deadline = patience, math.inf, patience

    def __call__(self, step: int, gap: float) -> bool:
        """Record the gap at a step; return whether to give up."""
        if gap <= self.goal:
            self.goal, self.deadline = gap / 2, step + self.patience
        return step >= self.deadline
