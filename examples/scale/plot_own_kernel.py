"""
A kernel of one's own
=====================

Three lines make a kernel, here of functions that are straight between the data: k(x, z) = min(x, z), the covariance
of Brownian motion. Every estimator takes it, and ``check_kernel`` checks its promises.
"""

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelQuantileRegressor
from mercer.kernels import Gaussian, Kernel
from mercer.testing import check_kernel


@dataclass(eq=False, repr=False)
class Minimum(Kernel):
    """k(x, z) = min(x, z), on the positive half-line."""

    def _evaluate(self, X, Z):
        return np.minimum(X, Z.T)


check_kernel(Minimum(), np.linspace(0.1, 2, 12)[:, None])
rng = np.random.default_rng(0)
X = rng.uniform(0, 2, size=(150, 1))
y = 4 * np.abs((1.5 * X[:, 0]) % 1 - 0.5) + (0.1 + 0.2 * X[:, 0]) * rng.normal(size=150)
grid = np.linspace(0, 2, 400)[:, None]
fig, axes = plt.subplots(1, 2, figsize=(9, 3.5), sharey=True, layout="constrained")
for ax, kernel in zip(axes, [Minimum(), Gaussian(10.0)], strict=True):
    model = KernelQuantileRegressor(kernel, alpha=3e-4).fit(X, y)
    ax.plot(X, y, ".", color="0.6", markersize=4)
    ax.plot(grid, model.predict_quantile(grid, [0.1, 0.5, 0.9]), color="#0072B2", linewidth=1)
    ax.set(title=type(kernel).__name__, xlabel="x")
plt.show()
