"""Functional data of scikit-fda, as inputs and as outputs, and its bases."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._state import Stateful
from mercer.exceptions import DataError, MercerError, parameter_error
from mercer.operator_valued import FunctionBasis
from mercer.preprocessing.curve_pairs import on_grid

__all__ = ["as_basis", "open_curves", "open_inputs"]

#: points at which curves in a basis are evaluated; about as many for surfaces
BASIS_POINTS = 101


@dataclass(frozen=True, eq=False)
class CurveForm(Stateful):
    """How output curves came, so that predictions go out as an ``FDataGrid``."""

    grid_points: tuple[np.ndarray, ...] | None
    settings: dict[str, Any]

    def close(self, values: Any, grid: Any) -> Any:
        """Return predictions on a grid as an ``FDataGrid``."""
        import skfda

        points = (np.asarray(grid),) if self.grid_points is None else self.grid_points
        values = np.asarray(values)
        n, sizes = len(values), [len(one) for one in points]
        return skfda.FDataGrid(values.reshape(n, *sizes, -1), points, **self.settings)


def open_inputs(X: Any) -> list[tuple[str | None, list[Any]]]:
    """Return functions as columns, one for each component: its name, and (points, values) of each row.

    Functions in a basis are evaluated at 101 points, evenly spaced over their domain.
    """
    names = X.coordinate_names if X.dim_codomain > 1 else [None]
    if hasattr(X, "start_indices"):
        ends = np.append(X.start_indices[1:], len(X.points))
        spans = list(zip(X.start_indices, ends, strict=True))
        return [(_name(name), [(X.points[a:b], X.values[a:b, k]) for a, b in spans]) for k, name in enumerate(names)]
    points, values, _ = _sampled(X)
    return [(_name(name), on_grid(points, values[:, :, k])) for k, name in enumerate(names)]


def _name(name: Any) -> str | None:
    return None if name is None else str(name)


def _sampled(functions: Any) -> tuple[np.ndarray, np.ndarray, Any]:
    """Return points (m,) or (m, d), values (n, m, p), and the FDataGrid, that of functions in a basis evaluated."""
    if not hasattr(functions, "data_matrix"):
        size = round(BASIS_POINTS ** (1 / functions.dim_domain))
        functions = functions.to_grid([np.linspace(low, high, size) for low, high in functions.domain_range])
    axes = tuple(map(np.asarray, functions.grid_points))
    values = np.asarray(functions.data_matrix, dtype=float)
    values = values.reshape(len(functions), math.prod(values.shape[1:-1]), functions.dim_codomain)
    one = len(axes) == 1
    return (
        axes[0] if one else np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], 1),
        values,
        functions,
    )


def open_curves(owner: object, Y: Any, grid: Any) -> tuple[Any, Any, CurveForm]:
    """Return curves as an array or a list of (points, values), their grid, and the form of predictions."""
    names = {"argument_names": Y.argument_names, "coordinate_names": Y.coordinate_names}
    if hasattr(Y, "start_indices"):
        ends = np.append(Y.start_indices[1:], len(Y.points))
        real = Y.dim_codomain == 1
        pairs = [
            (Y.points[a:b], Y.values[a:b, 0] if real else Y.values[a:b])
            for a, b in zip(Y.start_indices, ends, strict=True)
        ]
        return pairs, grid, CurveForm(None, names)
    given = type(Y).__name__
    own, values, Y = _sampled(Y)
    if grid is not None and not (np.shape(grid) == own.shape and np.allclose(np.asarray(grid, dtype=float), own)):
        raise _grid_error(owner, grid, given, len(own))
    form = CurveForm(tuple(map(np.asarray, Y.grid_points)), names | {"domain_range": Y.domain_range})
    return (values[:, :, 0] if Y.dim_codomain == 1 else values), own, form


def _grid_error(owner: object, grid: Any, given: str, n_points: int) -> MercerError:
    """Return the error for a grid beside curves, of the type of that name, that bring their own of so many points."""
    if given == "FDataGrid":
        allowed, own = "None, or the grid points of the FDataGrid", "Curves of scikit-fda bring their own grid."
    else:
        allowed = f"None, as Y is an {given}"
        own = f"Its functions are evaluated at {n_points} points, evenly spaced over their domain."
    remedy = "To fit on other points, evaluate the curves there first: Y.to_grid(points)."
    return parameter_error(owner, "grid", grid, allowed, f"{own} {remedy}")


@dataclass(frozen=True, eq=False)
class _Orthonormal:
    """ψ = C φ for the functions φ of a basis of scikit-fda: orthonormal for the uniform measure on its domain."""

    basis: Any
    mixing: np.ndarray
    derivative: int = 0

    def __call__(self, points: np.ndarray) -> np.ndarray:
        functions = self.basis.derivative(order=1) if self.derivative else self.basis
        return np.asarray(functions(np.asarray(points)[:, 0]))[:, :, 0].T @ self.mixing


def as_basis(basis: Any, spectrum: Any = None) -> FunctionBasis:
    """Return a basis of scikit-fda as one of functions of θ, made orthonormal for the uniform measure on its domain.

    Parameters
    ----------
    basis : skfda.representation.basis.Basis
        On an interval, such as ``FourierBasis`` or ``BSplineBasis``.
    spectrum : array-like of shape (n_basis,), optional
        Eigenvalues λ_j > 0 of the output kernel Σ_j λ_j ψ_j ⊗ ψ_j; 1 each by default, as functions of a basis of
        splines come from left to right and none is smoother than another.
    """
    if getattr(basis, "dim_domain", 0) != 1 or getattr(basis, "dim_codomain", 0) != 1:
        raise parameter_error(
            "as_basis",
            "basis",
            basis,
            "a basis of scikit-fda for real functions on an interval",
            "For instance skfda.representation.basis.BSplineBasis((0, 1), n_basis=10).",
        )
    size = basis.n_basis
    low, high = basis.domain_range[0]
    values, vectors = np.linalg.eigh(np.asarray(basis.gram_matrix()) / (high - low))
    if values[0] <= 1e-12 * values[-1]:
        raise DataError(f"as_basis: the functions of {basis} are not linearly independent.")
    mixing = vectors / np.sqrt(values) @ vectors.T  # the orthonormal functions nearest to those of the basis
    spectrum = np.ones(size) if spectrum is None else spectrum
    if np.shape(spectrum) != (size,):
        raise parameter_error("as_basis", "spectrum", spectrum, f"{size} positive numbers, one per function")
    return FunctionBasis(_Orthonormal(basis, mixing), spectrum, _Orthonormal(basis, mixing, derivative=1))
