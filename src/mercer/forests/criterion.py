"""The adaptive one-class criterion: a good split would part the rows from outliers, had there been any."""

from __future__ import annotations

__all__ = ["parent_impurity", "split_impurity"]


def parent_impurity(n, gamma: float):
    """Return the impurity of a cell before it is split, n·γn/(n + γn), for its number of rows n.

    Examples
    --------
    >>> parent_impurity(10, 1.0)
    5.0
    """
    return n * gamma / (1 + gamma)


def split_impurity(n_left, n_right, left_share, right_share, gamma: float):
    """Return the impurity of two cells that a cell of n = n_left + n_right rows is split into.

    Rows are inliers. γn outliers are imagined that lie uniformly in the cell: n·γ·λ of them in a part with the share λ
    of its volume. Each part adds the product of its inliers and outliers, divided by their sum:

        n_L γnλ_L/(n_L + γnλ_L) + n_R γnλ_R/(n_R + γnλ_R)

    (Brault 2017, App. D), which is at most what it was before, and 0 if inliers and outliers were separated. γ is the
    same in all cells: this is what makes the criterion adaptive, as outliers that are imagined once, in the whole
    space, would soon be too few to matter.

    Parameters
    ----------
    n_left, n_right : int or array
        Rows on both sides.
    left_share, right_share : float or array
        λ_L and λ_R, the shares of the volume, which sum to 1.
    gamma : float
        γ, imagined outliers per row.

    Examples
    --------
    >>> split_impurity(5, 5, 0.5, 0.5, 1.0)  # says nothing
    5.0
    >>> split_impurity(10, 0, 0.2, 0.8, 1.0)  # ten rows in a fifth of the cell
    1.6666666666666667
    """
    outliers = gamma * (n_left + n_right)
    left, right = outliers * left_share, outliers * right_share
    return n_left * left / (n_left + left) + n_right * right / (n_right + right)
