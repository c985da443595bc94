"""Kernels that compare images of the inputs, one image for each output: transformations, delays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._params import read_numbers
from mercer.exceptions import DataError, parameter_error
from mercer.kernels import Kernel
from mercer.operator_valued.components import check_output_matrix, positive_root
from mercer.operator_valued.matrix_valued import MatrixValuedKernel

__all__ = ["Delayed", "Transformable"]


class ImageKernel(MatrixValuedKernel):
    """K(x, z)_ab = k(ψ_a(x), ψ_b(z)) with a map ψ_a of the inputs for each output a: what its kinds share."""

    kernel: Kernel

    def _images(self, X: np.ndarray) -> np.ndarray:
        """Return ψ_a(x_i) at (i, a), shape (n, p, d')."""
        raise NotImplementedError

    def adapt(self, X):
        """Return a copy in which parameters of k that depend on its inputs, all images of X, are numbers."""
        images = self._images(np.asarray(X, dtype=float))
        return self.replace(kernel=self.kernel.adapt(images.reshape(-1, images.shape[2])))

    def locate(self, layout):
        """Return the kernel itself: the columns that k sees are those of the images."""
        return self

    def blocks(self, X, Z):
        left, right = (self._images(np.asarray(points, dtype=float)) for points in (X, Z))
        values = np.asarray(self.kernel(left.reshape(-1, left.shape[2]), right.reshape(-1, right.shape[2])))
        return values.reshape(*left.shape[:2], *right.shape[:2]).transpose(0, 2, 1, 3)

    def diagonal(self, X):
        images = self._images(np.asarray(X, dtype=float))
        return np.stack([np.asarray(self.kernel(own, own)) for own in images])

    @property
    def explicit(self) -> bool:
        """Whether k is."""
        return self.kernel.explicit

    def features(self, X):
        images = self._images(np.asarray(X, dtype=float))
        return np.asarray(self.kernel.features(images.reshape(-1, images.shape[2]))).reshape(*images.shape[:2], -1)

    def _check_kernel(self) -> None:
        if not isinstance(self.kernel, Kernel) or self.kernel.pairwise:
            raise parameter_error(self, "kernel", self.kernel, "a Kernel on vectors", "For instance Gaussian(1.0).")


@dataclass(eq=False, repr=False)
class Transformable(ImageKernel):
    """K(x, z)_ab = k(ψ_a(x), ψ_b(z)): output a is one scalar function f, seen through a map, h_a(x) = f(ψ_a(x)).

    Parameters
    ----------
    kernel : Kernel
        k on the images.
    maps : sequence of p functions, or array of shape (p, d', d)
        ψ_a, from arrays of shape (n, d) to (n, d'); or matrices M_a, for ψ_a(x) = M_a x.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> kernel = Transformable(Linear(), maps=[np.sin, np.cos])
    >>> kernel.blocks(np.array([[0.0]]), np.array([[0.5]])).round(4)[0, 0]
    array([[0.    , 0.    ],
           [0.4794, 0.8776]])
    """

    kernel: Any
    maps: Any

    def _check(self) -> None:
        self._check_kernel()
        allowed = "a sequence of functions of arrays (n, d), one for each output, or an array of shape (p, d', d)"
        if not self._functions:
            try:
                matrices = read_numbers(self.maps)
            except (TypeError, ValueError) as error:
                raise parameter_error(self, "maps", self.maps, allowed) from error
            if matrices.ndim != 3 or matrices.size == 0 or not np.all(np.isfinite(matrices)):
                raise parameter_error(self, "maps", self.maps, allowed)

    @property
    def _functions(self) -> bool:
        return isinstance(self.maps, (tuple, list)) and len(self.maps) > 0 and all(map(callable, self.maps))

    def require_outputs(self, X, n_outputs):
        if len(self.maps) != n_outputs:
            raise DataError(
                f"Transformable: there are {len(self.maps)} maps, but {n_outputs} outputs. Pass a map for each output."
            )

    def _images(self, X):
        if not self._functions:
            matrices = read_numbers(self.maps)
            if matrices.shape[2] != X.shape[1]:
                raise DataError(
                    f"Transformable: maps take vectors of {matrices.shape[2]} columns; got {X.shape[1]} columns."
                )
            return np.einsum("abc,ic->iab", matrices, X)
        images = [np.asarray(function(X), dtype=float) for function in self.maps]
        shapes = {image.shape for image in images}
        if len(shapes) != 1 or images[0].ndim != 2 or len(images[0]) != len(X):
            raise DataError(
                f"Transformable: each map must return an array of shape (n, d') = ({len(X)}, d'), with one d' for all; "
                f"got {sorted(shapes)}."
            )
        return np.stack(images, axis=1)


@dataclass(eq=False, repr=False)
class Delayed(ImageKernel):
    """K(x, z)_ab = Γ_ab k(x + t_a, z + t_b): outputs that follow one another, as a wave that passes several stations.

    For a stationary k it is K_ab(δ) = Γ_ab k(δ + t_a − t_b), so that K_12(δ) ≠ K_21(δ): output a at x goes with
    output b at x + t_a − t_b.

    Parameters
    ----------
    kernel : Kernel
        k on inputs, as a rule a stationary one.
    delays : array of shape (p,) or (p, d)
        t, in the units of the inputs; a number for each output where there is one column.
    output_matrix : array of shape (p, p), optional
        Γ, symmetric and positive semi-definite; ones by default: the same signal everywhere.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> Delayed(Gaussian(1.0), delays=[0.5, 0.0]).blocks(np.array([[0.0]]), np.array([[0.5]])).round(4)[0, 0]
    array([[0.7788, 1.    ],
           [0.3679, 0.7788]])
    """

    kernel: Any
    delays: Any
    output_matrix: Any = None

    def _check(self) -> None:
        self._check_kernel()
        allowed = "numbers, one for each output, or an array of shape (p, d)"
        try:
            delays = read_numbers(self.delays)
        except (TypeError, ValueError) as error:
            raise parameter_error(self, "delays", self.delays, allowed) from error
        if delays.ndim not in (1, 2) or delays.size == 0 or not np.all(np.isfinite(delays)):
            raise parameter_error(self, "delays", self.delays, allowed)
        if self.output_matrix is not None:
            check_output_matrix(self, self.output_matrix, len(delays))

    def require_outputs(self, X, n_outputs):
        if len(self.delays) != n_outputs:
            raise DataError(
                f"Delayed: there are {len(self.delays)} delays, but {n_outputs} outputs. Pass a delay for each output, "
                "0 for the first one, say."
            )

    def _images(self, X):
        delays = read_numbers(self.delays)
        delays = delays[:, None] if delays.ndim == 1 else delays
        if delays.shape[1] != X.shape[1]:
            raise DataError(
                f"Delayed: delays are for inputs of {delays.shape[1]} columns; got {X.shape[1]}. Pass delays of shape "
                f"({len(delays)}, {X.shape[1]}), 0 for columns that are not delayed."
            )
        return X[:, None, :] + delays

    def blocks(self, X, Z):
        return super().blocks(X, Z) * self._factor

    def diagonal(self, X):
        return super().diagonal(X) * self._factor

    def features(self, X):
        own = super().features(X)
        if self.output_matrix is None:
            return own
        root = positive_root(self._factor)
        return (own[:, :, :, None] * root[None, :, None, :]).reshape(*own.shape[:2], -1)

    @property
    def _factor(self) -> Any:
        return 1.0 if self.output_matrix is None else check_output_matrix(self, self.output_matrix)
