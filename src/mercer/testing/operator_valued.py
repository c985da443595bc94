"""The public contract of an operator-valued kernel, as a check."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer._state import is_plain
from mercer.backend import to_numpy
from mercer.exceptions import UnsupportedError
from mercer.measures import Measure
from mercer.operator_valued import BoundKernel, Expansion, OperatorValuedKernel
from mercer.testing.operators import check_operator

__all__ = ["check_bound_kernel", "check_operator_valued_kernel"]

#: finite differences are compared to this part of the largest slope
SLOPE_TOLERANCE = 1e-4


def check_operator_valued_kernel(
    kernel: OperatorValuedKernel,
    outputs: Measure,
    X: Any = None,
    *,
    points: Any = None,
    n_components: int | None = None,
    seed: int = 0,
    tolerance: float = 1e-8,
) -> None:
    """Check that a kernel keeps the contract of :class:`~mercer.operator_valued.OperatorValuedKernel`.

    Checked are the record (``get_params``, ``clone``, that neither ``adapt`` nor ``bind`` nor a fit changes it), that
    ``adapt`` leaves nothing that depends on data, and the bound kernel, as by :func:`check_bound_kernel`. An
    AssertionError says what is broken.

    Parameters
    ----------
    kernel : OperatorValuedKernel
        The kernel, with numbers or with data-dependent parameters.
    outputs : Measure
        Nodes of Θ and weights, a few.
    X : array of shape (n, d), optional
        Inputs for which the kernel is meant; by default 6 random points with two columns (a random Gram matrix for
        kernels on precomputed values).
    points : array of shape (k, d), optional
        Points of Θ at which functions are compared; the nodes by default.
    n_components : int, optional
        Given to ``bind``.
    seed : int, default=0
        Seed of the random inputs and coefficients.
    tolerance : float, default=1e-8
        What counts as zero, relative to the largest number at hand.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer.measures import GaussLegendre
    >>> from mercer.operator_valued import Decomposable
    >>> check_operator_valued_kernel(Decomposable(Gaussian("median"), Gaussian(5.0)), GaussLegendre(3).build())
    """
    _that(isinstance(kernel, OperatorValuedKernel), kernel, f"is no OperatorValuedKernel but {type(kernel).__name__}")
    X = _inputs(kernel, np.random.default_rng(seed)) if X is None else np.asarray(X, dtype=float)
    before, rows = copy.deepcopy(kernel), X.copy()
    _that(type(kernel)(**kernel.get_params(deep=False)) == kernel, kernel, "differs from one of its own parameters")
    _that(clone(kernel) == kernel, kernel, "differs from its clone")
    adapted = kernel.adapt(X)
    _that(adapted is not kernel, kernel, "adapt(X) returned the kernel itself, not a copy")
    _that(adapted.adapt(X) == adapted, kernel, "adapt is not idempotent")
    other = X if kernel.pairwise else X[: len(X) // 2] / 3 + 1
    _that(adapted.adapt(other) == adapted, kernel, "adapt changed parameters that were numbers")
    _that(adapted.pairwise == kernel.pairwise, kernel, "adapt changed whether X holds kernel values")
    bound = adapted.bind(outputs, n_components=n_components)
    check_bound_kernel(bound, X, outputs.points if points is None else points, seed=seed, tolerance=tolerance)
    _that(kernel == before, kernel, "adapt, bind or a fit changed the record itself")
    _that(np.array_equal(rows, X), kernel, "adapt, bind or a fit changed X")


def check_bound_kernel(bound: BoundKernel, X: Any, points: Any, *, seed: int = 0, tolerance: float = 1e-8) -> None:
    """Check that a bound kernel keeps the contract of :class:`~mercer.operator_valued.BoundKernel`.

    The Gram operator is linear, self-adjoint and positive semi-definite; 𝐊c is what is observed of h = Σ_i K(·, x_i)c_i
    at the inputs of the problem (the reproducing property), first for unit coefficients; ‖h‖² = ⟨c, 𝐊c⟩; slopes are
    limits of difference quotients, where there are any; and functions survive ``state`` and ``from_state``. An
    AssertionError says what is broken.

    Parameters
    ----------
    bound : BoundKernel
        The kernel.
    X : array of shape (n, d)
        Inputs, a few; a Gram matrix where the kernel is precomputed.
    points : array of shape (k, d)
        Points of Θ at which functions are compared.
    seed : int, default=0
        Seed of the random coefficients.
    tolerance : float, default=1e-8
        What counts as zero, relative to the largest number at hand.
    """
    _that(isinstance(bound, BoundKernel), bound, f"is no BoundKernel but {type(bound).__name__}")
    checker = _Checker(bound, X, points, np.random.default_rng(seed), tolerance)
    check_operator(checker.gram, checker.coef, seed=seed, tolerance=tolerance)
    checker.check_reproducing()
    checker.check_norm()
    checker.check_inputs()
    checker.check_slope()
    checker.check_state()


class _Checker:
    """A bound kernel, its Gram operator for some inputs, and the function of random coefficients."""

    def __init__(self, bound: BoundKernel, X: Any, points: Any, rng: np.random.Generator, tolerance: float) -> None:
        self.bound, self.X, self.points, self.tolerance = bound, X, points, tolerance
        self.gram = bound.gram(X)
        columns = len(bound.measure)
        _that(bound.slopes is None, bound, "represents slopes, whose columns no measure knows; check it without")
        self.shape = self.gram.shape[0] // columns, columns
        size = self.shape[0] * columns
        _that(size == self.gram.shape[0], bound, f"gram of shape {self.gram.shape} does not act on {columns} columns")
        self.coef = rng.normal(size=self.shape)
        self.h = bound.expand(X, self.coef)
        _that(isinstance(self.h, Expansion), bound, f"expand returned no Expansion but {type(self.h).__name__}")

    def check_reproducing(self) -> None:
        units = np.eye(self.coef.size)[:: max(1, self.coef.size // 50)]
        for flat in [*units, self.coef.ravel()]:
            coef = flat.reshape(self.shape)
            seen = self.bound.observe(self.bound.expand(self.X, coef), self.X)
            self.close(seen, self.gram @ coef, "gram @ c differs from what is observed of expand(X, c)")

    def check_norm(self) -> None:
        square = float(np.sum(self.coef * (self.gram @ self.coef)))
        self.close(self.h.norm**2, square, "‖h‖² differs from ⟨c, 𝐊c⟩")
        _that(self.bound.expand(self.X, 0 * self.coef).norm == 0, self.bound, "the norm of 0 is not 0")

    def check_inputs(self) -> None:
        values = self.h.evaluate(self.X, self.points)
        few = len(self.X) // 2
        self.close(self.h.evaluate(self.X[:few], self.points), values[:few], "values at some inputs depend on others")
        each = [self.h.evaluate(self.X, self.points[k : k + 1]) for k in range(len(self.points))]
        self.close(np.concatenate(each, axis=1), values, "values at some points of Θ depend on others")

    def check_slope(self) -> None:
        if self.points.shape[1] != 1:
            return
        try:
            slope = self.h.slope(self.X, self.points)
        except UnsupportedError:
            return
        step = 1e-5 * (float(np.ptp(self.points)) or 1.0)
        high, low = (self.h.evaluate(self.X, self.points + e) for e in (step, -step))
        message = "slope differs from difference quotients"
        self.close(slope, (high - low) / (2 * step), message, SLOPE_TOLERANCE)

    def check_state(self) -> None:
        state = self.h.state()
        _that(isinstance(state, dict), self.bound, "state() is no dict")
        for name, value in state.items():
            allowed = "an array, a number, a string, None, a record or a state of such"
            _that(is_plain(value), self.bound, f"state()[{name!r}] is not {allowed}: {value!r}")
        name = type(self.h).__name__
        _that(state.get("class") == name, self.bound, f"state()['class'] is {state.get('class')!r}, not {name!r}")
        twin = type(self.h).from_state(copy.deepcopy(state))
        same = np.array_equal(twin.evaluate(self.X, self.points), self.h.evaluate(self.X, self.points))
        _that(same and twin.norm == self.h.norm, self.bound, "from_state(state()) is another function")

    def close(self, found: Any, expected: Any, message: str, tolerance: float | None = None) -> None:
        found, expected = np.asarray(to_numpy(found)), np.asarray(to_numpy(expected))
        _that(found.shape == expected.shape, self.bound, f"{message}: shapes {found.shape} and {expected.shape}")
        error = float(np.max(np.abs(found - expected), initial=0.0))
        limit = (tolerance or self.tolerance) * max(float(np.max(np.abs(expected), initial=0.0)), 1e-3)
        _that(error <= limit, self.bound, f"{message} by {error:.3g}, {limit:.3g} is allowed")


def _inputs(kernel: OperatorValuedKernel, rng: np.random.Generator) -> np.ndarray:
    if kernel.pairwise:
        factor = rng.normal(size=(6, 4))
        return factor @ factor.T
    return rng.uniform(0, 2, size=(6, 2))


def _that(condition: bool, kernel: object, message: str) -> None:
    if not condition:
        raise AssertionError(f"{kernel!r}: {message}.")
