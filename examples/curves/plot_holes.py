"""
Curves with holes
=================

A window of each curve is missing, three tenths of it. One fit to what is left fills the windows in.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import FunctionalRegressor
from mercer.datasets import drop_observations

rng = np.random.default_rng(0)
X, grid = rng.uniform(size=(80, 1)), np.linspace(0, 1, 40)
truth = np.sin(2 * np.pi * (grid + X)) + grid * X
holes = drop_observations(truth + 0.15 * rng.normal(size=truth.shape), "window", 0.3, random_state=0)
model = FunctionalRegressor(grid=grid).fit(X, holes)

fig, axes = plt.subplots(1, 3, figsize=(9.5, 3), sharey=True, layout="constrained")
for ax, row in zip(axes, [0, 1, 4], strict=True):
    lost = grid[np.isnan(holes[row])]
    ax.axvspan(lost.min(), lost.max(), color="0.92", linewidth=0, label="not observed")
    ax.plot(grid, truth[row], color="0.4", linestyle=":", label="truth")
    ax.plot(grid, holes[row], ".", color="#1A1A1A", markersize=4)
    ax.plot(grid, model.predict(X[row : row + 1])[0], color="#0072B2", label="fit")
    ax.set_xlabel("θ")
axes[0].legend(frameon=False, fontsize="small")
plt.show()
