"""
Every quantile at every time
============================

Curves whose spread grows with θ and with x: one convex problem for all levels and all times, which never cross.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import FunctionalQuantileRegressor

rng = np.random.default_rng(0)
X, grid = rng.uniform(size=(120, 1)), np.linspace(0, 1, 10)
Y = np.sin(2 * np.pi * grid) * X + 0.4 * grid * (0.3 + X) * rng.normal(size=(120, 10))
model = FunctionalQuantileRegressor(grid=grid, random_state=0).fit(X, Y)

fine = np.linspace(0, 1, 60)
fig, axes = plt.subplots(1, 2, figsize=(9, 3.5), sharey=True, layout="constrained")
for ax, x in zip(axes, [0.1, 0.9], strict=True):
    near = np.abs(X[:, 0] - x) < 0.1
    ax.plot(grid, Y[near].T, color="0.8", linewidth=0.6)
    levels = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    quantiles = model.predict_quantile(np.array([[x]]), levels, points=fine)[0]
    for curve, level in zip(quantiles.T, levels, strict=True):
        ax.plot(fine, curve, color=plt.colormaps["viridis"](level), label=f"{level}")
    ax.set(title=f"x = {x}, and curves near it", xlabel="θ")
axes[0].legend(title="level", frameon=False, fontsize="small")
plt.show()
