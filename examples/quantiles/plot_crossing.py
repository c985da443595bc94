"""
Quantiles that do not cross
===========================

Nothing in the objective of joint quantile regression keeps curves apart where data are few (left). With
``noncrossing="guarantee"`` they are proved not to cross anywhere on the box of the data (right).
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelQuantileRegressor
from mercer.datasets import make_sine

X, y = make_sine(40, random_state=0)
grid = np.linspace(X.min(), X.max(), 300)[:, None]
levels = np.linspace(0.02, 0.98, 25)

fig, axes = plt.subplots(1, 2, figsize=(8, 3.6), sharey=True, layout="constrained")
for ax, remedy, title in zip(axes, [None, "guarantee"], ["free: they cross", "with a guarantee"], strict=True):
    model = KernelQuantileRegressor(noncrossing=remedy).fit(X, y)
    quantiles = model.predict_quantile(grid, levels)
    ax.plot(X, y, "k.", markersize=4)
    ax.plot(grid, quantiles, color="#0072B2", linewidth=0.6)
    fine = model.predict_quantile(grid, np.linspace(0.01, 0.99, 300))
    crossed = np.diff(fine).min(axis=1) < 0
    ax.fill_between(
        grid[:, 0], 0, 1, where=crossed, color="#D55E00", alpha=0.25, linewidth=0, transform=ax.get_xaxis_transform()
    )
    ax.set(title=title, xlabel="x")
axes[0].set_ylabel("y")
plt.show()
