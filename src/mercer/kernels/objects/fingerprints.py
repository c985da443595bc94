"""Kernels on binary fingerprints: the share of bits in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from mercer._params import check_number
from mercer.exceptions import DataError, parameter_error
from mercer.kernels.objects.base import ObjectKernel

__all__ = ["Tanimoto", "TanimotoGaussian"]

#: bits that are unpacked at a time
BLOCK_BITS = 2**24


@dataclass(eq=False, repr=False)
class Tanimoto(ObjectKernel):
    """Bits in common over bits in either: k(y, z) = |y ∧ z| / |y ∨ z| (Ralaivola et al., 2005).

    Prefer it for molecules, and wherever a 1 says more than a 0. Fingerprints without a bit are alike, k = 1.

    Parameters
    ----------
    packed : bool, default=False
        Whether rows are bytes with eight bits each (``numpy.packbits(bits, axis=1)``); otherwise they are 0 and 1, in
        an array or a sparse matrix.

    Examples
    --------
    >>> import numpy as np
    >>> bits = np.array([[1, 1, 0, 0], [1, 0, 1, 0]])
    >>> Tanimoto()(bits).round(3)
    array([[1.   , 0.333],
           [0.333, 1.   ]])
    >>> bool(np.all(Tanimoto(packed=True)(np.packbits(bits, axis=1)) == Tanimoto()(bits)))
    True
    """

    packed: bool = False

    def _check(self) -> None:
        if not isinstance(self.packed, (bool, np.bool_)):
            raise parameter_error(self, "packed", self.packed, "True or False")

    def _read(self, objects):
        if scipy.sparse.issparse(objects):
            if self.packed:
                raise DataError(f"{type(self).__name__}: packed fingerprints come as an array of bytes, not as sparse.")
            if not np.all(np.isin(objects.data, (0, 1))):
                raise self._no_bits()
            return scipy.sparse.csr_array(objects, dtype=np.float32)
        bits = np.asarray(objects)
        if bits.ndim != 2 or bits.shape[1] == 0:
            raise DataError(f"{type(self).__name__}: fingerprints are rows of an array; got shape {bits.shape}.")
        if self.packed:
            if bits.dtype != np.uint8:
                raise DataError(f"{type(self).__name__}: packed fingerprints have dtype uint8; got {bits.dtype}.")
            return bits
        if bits.dtype.kind not in "fiub" or not np.all((bits == 0) | (bits == 1)):
            raise self._no_bits()
        return bits.astype(np.float32)

    def _no_bits(self) -> DataError:
        return DataError(
            f"{type(self).__name__}: fingerprints hold 0 and 1. Bytes of packed bits need packed=True; for counts, "
            "compare bits such as counts >= 1, counts >= 2."
        )

    def _compare(self, left, right):
        if left.shape[1] != right.shape[1]:
            raise DataError(
                f"{type(self).__name__}: fingerprints must be of one length; got {left.shape[1]} and {right.shape[1]}."
            )
        common, sizes, its_sizes = self._common(left, right), self._counts(left), self._counts(right)
        either = np.add.outer(sizes, its_sizes)
        either -= common
        if np.any(sizes == 0) and np.any(its_sizes == 0):
            common[either == 0] = either[either == 0] = 1.0
        return np.divide(common, either, out=common)

    def _common(self, left: Any, right: Any) -> np.ndarray:
        """Return numbers of bits in common, exact in single precision."""
        if not self.packed:
            mixed = scipy.sparse.issparse(left) != scipy.sparse.issparse(right)
            product = (_dense(left) @ _dense(right).T) if mixed else left @ right.T
            return _dense(product).astype(float)
        rows = max(1, BLOCK_BITS // (8 * right.shape[1]))
        bits, common = _unpacked(left), np.empty((len(left), len(right)))
        for start in range(0, len(right), rows):
            common[:, start : start + rows] = bits @ _unpacked(right[start : start + rows]).T
        return common

    def _counts(self, read: Any) -> np.ndarray:
        if not self.packed:
            return np.asarray(read.sum(axis=1), dtype=float).ravel()
        return np.bitwise_count(read).sum(axis=1).astype(float)

    def _sizes(self, read):
        return np.ones(read.shape[0])


@dataclass(eq=False, repr=False)
class TanimotoGaussian(Tanimoto):
    """exp(−γ‖φ(y) − φ(z)‖²) with the features φ of the Tanimoto kernel T: ‖φ(y) − φ(z)‖² = 2 − 2T(y, z).

    Prefer it to :class:`Tanimoto` as an output kernel: close fingerprints count more than distant ones (Brouard et
    al., 2016, for metabolites).

    Parameters
    ----------
    packed : bool, default=False
        As for :class:`Tanimoto`.
    gamma : float, default=1.0
        γ > 0.

    Examples
    --------
    >>> TanimotoGaussian(gamma=0.75)([[1, 1, 0, 0], [1, 0, 1, 0]]).round(3)  # exp(−0.75·4/3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    gamma: float = 1.0

    def _check(self) -> None:
        super()._check()
        check_number(self, "gamma", self.gamma, low=0)

    def _compare(self, left, right):
        return np.exp(-2 * float(self.gamma) * (1 - super()._compare(left, right)))


def _dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if scipy.sparse.issparse(matrix) else np.asarray(matrix)


def _unpacked(packed: np.ndarray) -> np.ndarray:
    return np.unpackbits(packed, axis=1).astype(np.float32)
