"""A matrix-valued kernel that does not decompose, for tests."""

from dataclasses import dataclass

import numpy as np

from mercer.operator_valued import MatrixValuedKernel


@dataclass(eq=False, repr=False)
class Turning(MatrixValuedKernel):
    """exp(−γ(x − z)²) R(x)R(z)ᵀ with rotations R by the first column of X."""

    gamma: float = 1.0

    def blocks(self, X, Z):
        angle = X[:, :1] - Z[:, :1].T
        turn = np.stack([np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)], axis=-1)
        return np.exp(-self.gamma * angle**2)[:, :, None, None] * turn.reshape(*angle.shape, 2, 2)
