"""
Expectiles beside quantiles
===========================

``loss="expectile"`` replaces the pinball loss: its level ½ is the mean, and all others see how far values are, not
only on which side. With noise that is skewed the two differ.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelQuantileRegressor
from mercer.kernels import Gaussian

rng = np.random.default_rng(0)
X = rng.uniform(0, 3, size=(250, 1))
y = np.sin(2 * X[:, 0]) + rng.exponential(0.2 + 0.3 * X[:, 0])

grid, levels = np.linspace(0, 3, 200)[:, None], [0.1, 0.5, 0.9]
fig, axes = plt.subplots(1, 2, figsize=(8, 3.6), sharey=True, layout="constrained")
for ax, loss in zip(axes, ["pinball", "expectile"], strict=True):
    model = KernelQuantileRegressor(Gaussian(2.0), loss=loss, alpha=1e-3).fit(X, y)
    ax.plot(X, y, ".", color="0.7", markersize=4)
    for level, curve, style in zip(levels, model.predict_at(grid, levels).T, [":", "-", "--"], strict=True):
        ax.plot(grid, curve, color="#0072B2", linestyle=style, label=f"{level}")
    ax.set(title={"pinball": "quantiles", "expectile": "expectiles"}[loss], xlabel="x")
axes[0].legend(title="level", frameon=False)
plt.show()
