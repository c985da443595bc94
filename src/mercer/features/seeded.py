"""Random Fourier features in blocks that are drawn again from seeds each time, so that no frequency is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._params import Params, check_number
from mercer.backend import to_numpy
from mercer.exceptions import parameter_error
from mercer.features.feature_map import check_random_state
from mercer.features.random_fourier import RandomFourier
from mercer.kernels import Kernel
from mercer.kernels.base import as_points
from mercer.operator_valued import MatrixValuedKernel

__all__ = ["SeededFeatures", "SeededFourier"]


@dataclass(eq=False, repr=False)
class SeededFourier(Params):
    """Random Fourier features of a kernel in blocks, each of which has a seed in place of frequencies.

    k̃ = (1/B) Σ_i k̃_i with independent features k̃_i of ``block_size`` frequencies. A block is drawn anew whenever it is
    asked for, so that memory does not grow with D·d; that takes about as long as products with its frequencies. It is
    for :class:`~mercer.solvers.StochasticGradient`, which asks for few blocks at a time (Brault, 2017, Algorithms 4
    and 5; Dai et al., 2014).

    Parameters
    ----------
    n_blocks : int, default=20
        B.
    block_size : int, default=50
        Frequencies of a block.
    sampling : {"orthogonal", "quasi", "iid"}, default="orthogonal"
        As in :class:`RandomFourier`, within a block.
    seed : int, default=0
        Block i has the seed (seed, i).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> features = SeededFourier(10, 30).bind(Gaussian(0.5), X)
    >>> features.block(3).features(X).shape
    (20, 60)
    >>> mean = sum(features.block(i)(X) for i in range(10)) / 10
    >>> bool(np.max(np.abs(mean - Gaussian(0.5)(X))) < 0.2)
    True
    """

    n_blocks: int = 20
    block_size: int = 50
    sampling: str = "orthogonal"
    seed: int = 0

    def _check(self) -> None:
        for name in ("n_blocks", "block_size"):
            check_number(self, name, getattr(self, name), low=1, strict=False, integer=True)
        check_random_state(self, self.seed)
        if not isinstance(self.seed, (int, np.integer)):
            raise parameter_error(
                self, "seed", self.seed, "an integer >= 0", "Frequencies are drawn from it each time."
            )
        RandomFourier(self.block_size, self.sampling)

    def bind(self, kernel: Any, X: Any) -> SeededFeatures:
        """Return the blocks for a kernel, whose parameters are computed from rows X where they are no numbers."""
        if not isinstance(kernel, (Kernel, MatrixValuedKernel)):
            raise parameter_error(self, "kernel", kernel, "a Kernel or a MatrixValuedKernel")
        X = np.asarray(to_numpy(as_points(self, X)), dtype=float)
        found = SeededFeatures(self, kernel.adapt(X), np.mean(X, axis=0, keepdims=True))
        found.block(0)  # kernels without a spectral density are refused
        return found


@dataclass(frozen=True, eq=False)
class SeededFeatures:
    """The blocks of :class:`SeededFourier` for one kernel.

    Parameters
    ----------
    record : SeededFourier
        How many there are.
    kernel : Kernel or MatrixValuedKernel
        With numbers for its parameters.
    centre : array of shape (1, d)
        What is taken off x.
    """

    record: SeededFourier
    kernel: Any
    centre: np.ndarray

    @property
    def n_blocks(self) -> int:
        """B."""
        return self.record.n_blocks

    def block(self, index: int) -> Any:
        """Return k̃_i, an explicit kernel, the same at each call."""
        rng = np.random.default_rng((self.record.seed, index))
        return RandomFourier(self.record.block_size, self.record.sampling).bind(self.kernel, self.centre, rng)
