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
    share : float, default=0.0
        The number of steps in units of those so far, where that is more: 1 allows for gaps that fall like 1/steps.

    Examples
    --------
    >>> crawls = Stagnation(patience=10)
    >>> [crawls(step, gap) for step, gap in [(0, 1.0), (5, 0.4), (14, 0.3), (15, 0.25)]]
    [False, False, False, True]
    """

    def __init__(self, patience: int, share: float = 0.0) -> None:
        self.patience, self.share, self.goal, self.deadline = patience, share, math.inf, float(patience)

    def __call__(self, step: int, gap: float) -> bool:
        """Record the gap at a step; return whether to give up."""
        if gap <= self.goal:
            self.goal, self.deadline = gap / 2, step + max(self.patience, self.share * step)
        return step >= self.deadline
