"""Sums of kernels on objects: objects are alike where one of them says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.exceptions import parameter_error
from mercer.kernels.objects.base import ObjectKernel

__all__ = ["ObjectSum"]


@dataclass(eq=False, repr=False)
class ObjectSum(ObjectKernel):
    """left(y, z) + right(y, z): the features of both kernels side by side.

    Parameters
    ----------
    left, right : ObjectKernel
        The kernels.

    Examples
    --------
    >>> from mercer.kernels.objects import Intersection, Jaccard
    >>> ObjectSum(Jaccard(), Intersection())([{1, 2}, {2}])
    array([[3. , 1.5],
           [1.5, 2. ]])
    """

    left: Any
    right: Any

    def _check(self) -> None:
        for name in ("left", "right"):
            if not isinstance(getattr(self, name), ObjectKernel):
                hint = "OnVectors(kernel) makes one of a Kernel."
                raise parameter_error(self, name, getattr(self, name), "an ObjectKernel", hint)

    @property
    def explicit(self) -> bool:
        """Whether both are."""
        return self.left.explicit and self.right.explicit

    def _read(self, objects):
        return objects  # each kernel reads them in its own way

    def _compare(self, left, right):
        others = None if right is left else right
        return self.left(left, others) + self.right(left, others)

    def _sizes(self, read):
        return self.left.diagonal(read) + self.right.diagonal(read)

    def _features(self, read):
        return np.hstack([self.left.features(read), self.right.features(read)])
