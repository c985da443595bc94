"""What Belgian working families earned and spent on food: small, real and free, the oldest example of quantiles."""

from __future__ import annotations

from importlib.resources import files
from typing import NamedTuple

import numpy as np

__all__ = ["FoodExpenditure", "load_engel"]


class FoodExpenditure(NamedTuple):
    """Incomes and expenditures of households.

    Parameters
    ----------
    income : array of shape (235,)
        Of a year, in Belgian francs.
    food : array of shape (235,)
        What was spent on food, in Belgian francs.
    """

    income: np.ndarray
    food: np.ndarray


def load_engel() -> FoodExpenditure:
    """Return income and food expenditure of 235 working class households of Belgium in the 1850s.

    Who earns more spends more on food, but a smaller share, and families of the same income differ the more the more
    they earn: quantiles fan out.

    Source: Ducpetiaux, *Budgets économiques des classes ouvrières en Belgique* (1855), which Engel (1857) used for the
    law that has his name; the numbers as in Koenker and Bassett (*Econometrica* 50, 1982), with two decimals. Licence:
    public domain, as statsmodels says, which distributes them. Nothing is downloaded.

    Examples
    --------
    >>> engel = load_engel()
    >>> engel.income.shape, bool((engel.food < engel.income).all())
    ((235,), True)
    """
    table = np.genfromtxt(
        (files("mercer.datasets") / "files" / "engel.csv").read_text().splitlines(), delimiter=",", skip_header=1
    )
    return FoodExpenditure(table[:, 0], table[:, 1])
