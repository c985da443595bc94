"""
Intervals that cover
====================

The joint model learns its spread from the rows that it was fitted to, and its intervals are too short for new ones
where columns are many. Conformal calibration repairs that, at any sample size and however wrong the model is.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1

from mercer import ConformalQuantileRegressor, KernelQuantileRegressor
from mercer.model_selection import coverage

X, y = make_friedman1(1400, noise=1.0, random_state=0)
train, test = slice(0, 300), slice(300, None)
raw = KernelQuantileRegressor(alpha=1e-4)
calibrated = ConformalQuantileRegressor(raw, random_state=0)

asked = np.linspace(0.1, 0.95, 18)
fig, ax = plt.subplots(figsize=(5, 4.6), layout="constrained")
ax.plot([0, 1], [0, 1], color="0.6", linewidth=0.8)
for model, name, colour in [(raw, "joint model, λ = 1e-4", "#D55E00"), (calibrated, "calibrated", "#0072B2")]:
    model.fit(X[train], y[train])
    held = [coverage(y[test], model.predict_interval(X[test], coverage=level)) for level in asked]
    ax.plot(asked, held, "o-", color=colour, markersize=4, label=name)
ax.set(xlabel="coverage asked for", ylabel="share of new rows inside", xlim=(0, 1), ylim=(0, 1), aspect="equal")
ax.legend(frameon=False, loc="upper left")
plt.show()
