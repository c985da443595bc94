"""What level sets are made of: kernels, levels and penalties, which pose the problem on any rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.interpolation import interpolation, refine
from mercer.kernels import Kernel
from mercer.measures import Measure
from mercer.operator_valued import PiecewiseLinearRepresenters
from mercer.operator_valued.expansion import SeparableExpansion, expand_rows
from mercer.problems import DualProblem, level_coef, level_set_problem
from mercer.solvers.level_sets import stored_limit

__all__ = ["LevelModel"]


@dataclass(frozen=True, eq=False)
class LevelModel:
    """Level sets before they are fitted: h in the space of k_X·k_Θ, offsets in that of k_b, at the levels of a measure.

    Parameters
    ----------
    kernel, output_kernel, offset_kernel : Kernel
        k_X, k_Θ and k_b, with numbers for their bandwidths.
    measure : Measure
        Levels and weights.
    alpha, coupling : float
        α, the penalty of the offsets, and c, that of differences between levels.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.measures import Points
    >>> model = LevelModel(Gaussian(0.5), Gaussian(1.0), Gaussian(1.0), Points([0.1, 0.5]).build(), 0.0, 0.0)
    >>> model.problem(np.eye(3)).shape, model.grid
    ((3, 2), array([0.1, 0.5]))
    """

    kernel: Kernel
    output_kernel: Kernel
    offset_kernel: Kernel
    measure: Measure
    alpha: float
    coupling: float

    @property
    def grid(self) -> np.ndarray:
        """Sorted levels between which h and t are linear: those of the measure, with coupling a refinement of them."""
        return refine(self.measure.locations) if self.coupling > 0 else np.unique(self.measure.locations)

    def problem(self, X: Any, weight: Any = None) -> DualProblem:
        """Return the problem on some rows (a Gram matrix where the kernel is precomputed)."""
        points = self.measure.points
        return level_set_problem(
            self.kernel.gram(X).stored(stored_limit()),
            self.measure,
            weight,
            alpha=self.alpha,
            offset_gram=self.offset_kernel(points),
            coupling=self.coupling,
            output_gram=self.output_kernel(points),
        )

    def coef(self, problem: DualProblem, dual: np.ndarray) -> np.ndarray:
        """Return the coefficients of h that belong to a dual array."""
        return level_coef(
            problem.primal_coef(dual), self.measure, self.coupling, self.output_kernel(self.measure.points)
        )

    def expand(self, X: Any, coef: np.ndarray) -> SeparableExpansion:
        """Return the function h of coefficients at some rows."""
        return expand_rows(self.kernel, X, coef, self._representers(), n_components=1, output_matrix=None)

    def _representers(self) -> PiecewiseLinearRepresenters:
        """Return the functions of θ that h is made of, with the norm of the problem: linear between levels of the grid.

        Without coupling they are 1 at one level and 0 at the others, and ‖h‖² = Σ_j η_j‖h(·)(θ_j)‖². With it they are
        the sections of k_Θ, and c times their norm in its space is added.
        """
        grid, points, weights = self.grid, self.measure.points, self.measure.weights
        if self.coupling == 0:
            return PiecewiseLinearRepresenters(grid, interpolation(self.measure.locations, grid), np.diag(weights))
        gram = self.output_kernel(points)
        products = gram * weights @ gram + self.coupling * gram
        return PiecewiseLinearRepresenters(grid, self.output_kernel(points, grid[:, None]), products)
