"""A kernel on categories."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import array_api_compat as compat
import numpy as np

from mercer._params import check_number
from mercer.backend import is_numpy, namespace
from mercer.exceptions import DataError, parameter_error
from mercer.kernels.base import Kernel, as_points
from mercer.kernels.distances import assemble

__all__ = ["Categorical"]


@dataclass(eq=False, repr=False)
class Categorical(Kernel):
    """Categorical kernel k(x, z) = ρ^(number of columns in which x and z differ): the product of 1 or ρ over columns.

    Columns hold categories: codes, of which only equality matters, or text. Rows of the same categories are as
    similar as can be, and each column that differs costs a factor ρ; with ρ = 0 rows that differ share nothing. The
    matrix of a column is ρ·11ᵀ + (1 − ρ)E, with E = 1 where two rows are equal: E is the Gram matrix of indicators, so
    that both terms are positive semi-definite for 0 ≤ ρ ≤ 1, and products of such matrices are, too (Schur).

    Under an estimator fitted on a data frame, a column of text is encoded as several indicators; they count as one
    column of the table, the one that they encode: two rows differ there once. Write for instance
    ``Gaussian("standardized").restrict(["age", "income"]) * Categorical(0.3).restrict(["town", "trade"])``. A category
    that was never seen differs from all others. Called by itself, the kernel takes arrays of text or objects, which
    are compared as text.

    Parameters
    ----------
    similarity : float, default=0.0
        ρ in [0, 1): how similar two different categories are.
    widths : sequence of int, default=None
        How many neighbouring columns of the points make one category; each column is one by default. Estimators that
        encode a data frame say it.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([["red", "round"], ["red", "square"], ["blue", "square"]])
    >>> Categorical(0.5)(rows)
    array([[1.  , 0.5 , 0.25],
           [0.5 , 1.  , 0.5 ],
           [0.25, 0.5 , 1.  ]])
    """

    similarity: Any = 0.0
    widths: Any = None

    def _check(self) -> None:
        hint = "It is the similarity of two different categories."
        check_number(self, "similarity", self.similarity, hint=hint)
        if not 0 <= self.similarity < 1:
            raise parameter_error(self, "similarity", self.similarity, "a finite number in [0, 1)", hint)
        if self.widths is not None:
            widths = np.asarray(self.widths)
            if widths.ndim != 1 or widths.size == 0 or widths.dtype.kind not in "iu" or np.any(widths < 0):
                raise parameter_error(self, "widths", self.widths, "None or a sequence of non-negative integers")

    def locate(self, layout):
        return self if layout.plain or self.widths is not None else self.replace(widths=list(layout.widths))

    def gram(self, X):
        return super().gram(_codes(X)[0])

    def diagonal(self, X):
        return super().diagonal(_codes(X)[0])

    def adapt(self, X):
        return self.replace()

    def _ready(self, X, Z):
        same = Z is None or Z is X
        codes = _codes(X) if same else _codes(X, Z)
        return super()._ready(codes[0], None if Z is None else codes[-1])

    def _evaluate(self, X, Z):
        ends = self._ends(X)
        xp = namespace(X, Z)
        dtype = xp.result_type(X.dtype, Z.dtype)
        loss = 1 - float(self.similarity)

        def block(x, z):
            value = None
            for start, stop in ends:
                differ = x[:, start : start + 1] != z[:, start : start + 1].T
                for k in range(start + 1, stop):
                    differ = differ | (x[:, k : k + 1] != z[:, k : k + 1].T)
                factor = 1 - loss * xp.astype(differ, dtype)
                value = factor if value is None else value * factor
            return value

        return assemble(block, X, Z)

    def _ends(self, X) -> list[tuple[int, int]]:
        """Return where the columns of each category begin and end."""
        widths = [1] * X.shape[1] if self.widths is None else [int(width) for width in self.widths]
        if sum(widths) != X.shape[1]:
            raise DataError(
                f"Categorical: widths={widths} are those of {sum(widths)} columns, but the points have {X.shape[1]}."
            )
        ends = pairwise(np.concatenate([[0], np.cumsum(widths)]).tolist())
        return [(start, stop) for start, stop in ends if stop > start]

    def _diagonal(self, X):
        self._ends(X)
        return namespace(X).ones(X.shape[0], dtype=X.dtype, device=compat.device(X))


def _codes(*arrays: Any) -> list[Any]:
    """Return arrays of numbers as they are; text and objects as codes, equal where their text is."""
    given = [array if compat.is_array_api_obj(array) else np.asarray(array) for array in arrays]
    if not any(is_numpy(array) and array.dtype.kind in "OUST" for array in given):
        return list(arrays)
    texts = [np.asarray(array).astype(str) for array in given]
    _, codes = np.unique(np.concatenate([text.ravel() for text in texts]), return_inverse=True)
    parts = np.split(codes.astype(float), np.cumsum([text.size for text in texts])[:-1])
    return [as_points(Categorical(), part.reshape(text.shape)) for part, text in zip(parts, texts, strict=True)]
