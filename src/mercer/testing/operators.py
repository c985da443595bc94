"""The public contract of a linear operator, as a check."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.backend import as_like, namespace, to_numpy
from mercer.exceptions import UnsupportedError
from mercer.linalg import LinearOperator

__all__ = ["check_operator"]


def check_operator(
    operator: LinearOperator,
    example: Any,
    *,
    inner: Callable[[Any, Any], Any] | None = None,
    seed: int = 0,
    tolerance: float = 1e-8,
) -> None:
    """Check that an operator keeps the contract of :class:`mercer.linalg.LinearOperator`; AssertionError if not.

    Checked are linearity, ⟨Ax, y⟩ = ⟨x, A'y⟩ for the adjoint A' and that A'' = A, that ``to_dense``, ``diagonal`` and
    ``column`` agree with ``apply`` in row-major order, that ``to_dense`` refuses a matrix which is too large, that the
    tags "self-adjoint" and "psd" are true, and that library and dtype of an array are kept. Random arrays are drawn
    with NumPy and moved to the library of ``example``, so that any array library will do.

    Parameters
    ----------
    operator : LinearOperator
        The operator, small enough for its dense form.
    example : array
        An array on which the operator acts; its shape, library and dtype are what counts.
    inner : callable, optional
        The inner product (left, right) → number for which ``adjoint`` and the tags are meant. By default that of
        the operator where it has one (``Kronecker.inner``), and the plain sum of products otherwise.
    seed : int, default=0
        Seed of the random arrays.
    tolerance : float, default=1e-8
        What counts as zero, relative to the largest number at hand. Pass more in single precision.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg import Dense, LowRank
    >>> check_operator(LowRank(np.array([[1.0], [2.0]])), np.zeros((2, 3)))
    >>> check_operator(Dense(np.array([[1.0, 2.0], [0.0, 1.0]]), frozenset({"self-adjoint"})), np.zeros((2, 3)))
    Traceback (most recent call last):
    AssertionError: Dense(shape=(2, 2)): ⟨Ax, y⟩ differs from ⟨x, A'y⟩...
    """
    _that(isinstance(operator, LinearOperator), operator, f"is no LinearOperator but {type(operator).__name__}")
    product = getattr(operator, "inner", _plain) if inner is None else inner
    checker = _Checker(operator, example, product, np.random.default_rng(seed), tolerance)
    checker.check_linearity()
    checker.check_adjoint()
    checker.check_guard()
    checker.check_dense()
    checker.check_tags()


def _plain(left: Any, right: Any) -> float:
    return float(namespace(left).sum(left * right))


class _Checker:
    """An operator, the inner product that goes with it, and random arrays x and y with A: x ↦ y."""

    def __init__(self, operator: LinearOperator, example: Any, inner: Callable, rng: Any, tolerance: float) -> None:
        self.operator, self.example, self.inner = operator, example, inner
        self.rng, self.tolerance = rng, tolerance
        self.x = self.draw(example)
        before = np.array(to_numpy(self.x))
        self.image = operator.apply(self.x)
        _that(np.array_equal(before, to_numpy(self.x)), operator, "apply changed its argument")
        same = namespace(self.image) is namespace(example) and self.image.dtype == example.dtype
        _that(same, operator, "apply does not keep the library and the dtype of its argument")
        self.y = self.draw(self.image)

    def draw(self, like: Any) -> Any:
        return as_like(self.rng.normal(size=tuple(like.shape)), like)

    def check_linearity(self) -> None:
        other = self.draw(self.example)
        combined = self.operator.apply(2.0 * self.x - 3.0 * other)
        self.close(combined, 2.0 * self.image - 3.0 * self.operator.apply(other), "A(2x − 3z) differs from 2Ax − 3Az")
        self.close(self.operator @ self.x, self.image, "A @ x differs from apply(x)")

    def check_adjoint(self) -> None:
        adjoint = self.operator.adjoint
        rows, columns = self.operator.shape
        _that(tuple(adjoint.shape) == (columns, rows), self.operator, f"its adjoint has shape {adjoint.shape}")
        back = adjoint.apply(self.y)
        _that(tuple(back.shape) == tuple(self.x.shape), self.operator, "its adjoint does not lead back")
        self.same(self.x, back, self.image, self.y, "⟨Ax, y⟩ differs from ⟨x, A'y⟩")
        self.close(adjoint.adjoint.apply(self.x), self.image, "the adjoint of the adjoint differs from the operator")

    def check_guard(self) -> None:
        try:
            self.operator.to_dense(max_bytes=0)
        except UnsupportedError:
            return
        _that(False, self.operator, "to_dense(max_bytes=0) was not refused with an UnsupportedError")

    def check_dense(self) -> None:
        dense = to_numpy(self.operator.to_dense())
        shape = tuple(self.operator.shape)
        _that(dense.shape == shape, self.operator, f"to_dense() must have shape {shape}, it has {dense.shape}")
        flat = to_numpy(self.x)
        if flat.size == shape[1]:  # an operator on the whole array, in row-major order
            flat = flat.reshape(-1)
        expected = (dense @ flat).reshape(tuple(self.image.shape))
        self.close(self.image, expected, "apply(x) differs from to_dense() @ x")
        self.close(self.operator.apply(self.x), self.image, "apply(x) is not the same after to_dense()")
        for index in {0, shape[1] // 2, shape[1] - 1}:
            self.close(self.operator.column(index), dense[:, index], "column(i) differs from that of to_dense()")
        diagonal = np.diagonal(dense)
        self.close(self.operator.diagonal(), diagonal, "diagonal() differs from that of to_dense()")

    def check_tags(self) -> None:
        operator = self.operator
        unknown = set(operator.tags) - {"self-adjoint", "psd"}
        _that(not unknown, operator, f"has unknown tags {sorted(unknown)}")
        if "self-adjoint" in operator.tags:
            other = self.draw(self.example)
            what = "is tagged self-adjoint, but ⟨Ax, z⟩ differs from ⟨x, Az⟩"
            self.same(self.x, operator.apply(other), self.image, other, what)
        if "psd" in operator.tags:
            _that("self-adjoint" in operator.tags, operator, "is tagged psd but not self-adjoint")
            # similar to a symmetric matrix in the geometry of the inner product: the eigenvalues are real
            values = np.linalg.eigvals(to_numpy(operator.to_dense()).astype(float)).real
            lowest, largest = float(values.min()), float(np.abs(values).max())
            good = lowest >= -self.tolerance * largest
            _that(good, operator, f"is tagged psd, but has eigenvalues from {lowest:.3g} to {largest:.3g}")

    def same(self, x: Any, back: Any, image: Any, y: Any, message: str) -> None:
        """Compare ⟨image, y⟩ with ⟨x, back⟩, relative to the sizes of the arrays and not to the product."""
        left, right = float(self.inner(image, y)), float(self.inner(x, back))
        scale = (float(self.inner(image, image)) * float(self.inner(y, y))) ** 0.5
        _that(abs(left - right) <= self.tolerance * scale, self.operator, f"{message}: {left:.9g} and {right:.9g}")

    def close(self, found: Any, expected: Any, message: str) -> None:
        found, expected = to_numpy(found), to_numpy(expected)
        _that(found.shape == expected.shape, self.operator, f"{message}: shapes {found.shape} and {expected.shape}")
        error = float(np.max(np.abs(found - expected), initial=0.0))
        limit = self.tolerance * float(np.max(np.abs(expected), initial=0.0))
        _that(error <= limit, self.operator, f"{message} by {error:.3g}, {limit:.3g} is allowed")


def _that(condition: bool, operator: object, message: str) -> None:
    if not condition:
        raise AssertionError(f"{operator!r}: {message}.")
