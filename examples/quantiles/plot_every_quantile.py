"""
Every quantile from one fit
===========================

One fit without tuning, and then any level: nineteen of them here. The curves never cross.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelQuantileRegressor
from mercer.datasets import make_sine

X, y = make_sine(400, random_state=0)
model = KernelQuantileRegressor().fit(X, y)

grid = np.linspace(0, 1.5, 300)[:, None]
levels = np.linspace(0.05, 0.95, 19)
quantiles = model.predict_quantile(grid, levels)

fig, ax = plt.subplots(layout="constrained")
ax.plot(X, y, ".", color="0.6", markersize=4)
colours = plt.colormaps["viridis"](levels)
for column, colour in zip(quantiles.T, colours, strict=True):
    ax.plot(grid, column, color=colour, linewidth=1)
bar = fig.colorbar(plt.cm.ScalarMappable(plt.Normalize(0, 1), "viridis"), ax=ax, label="level θ")
bar.set_ticks([0.05, 0.5, 0.95])
ax.set(xlabel="x", ylabel="y", title="Nineteen of all quantiles")
plt.show()
