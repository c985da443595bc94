"""
A distribution at each place
============================

``predict_function`` returns the whole conditional quantile function, and with it the distribution function, the mean,
intervals and samples. Here are the distribution functions at three places, beside the truth.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

from mercer import KernelQuantileRegressor
from mercer.datasets import make_sine

X, y = make_sine(800, random_state=0)
model = KernelQuantileRegressor().fit(X, y)

fig, ax = plt.subplots(layout="constrained")
at = np.linspace(-3, 3, 300)
for x, colour in [(0.1, "#D55E00"), (0.75, "#0072B2"), (1.35, "#009E73")]:
    centre, spread = -np.sin(2 * np.pi * x) * (1 + np.sin(2 * np.pi * x / 3)), 1.2 - x * 2 / 3
    rows = np.full((300, 1), x)
    ax.plot(at, model.predict_cdf(rows, at), color=colour, label=f"x = {x}")
    ax.plot(at, norm.cdf(at, centre, spread), color=colour, linestyle=":")
ax.plot([], [], color="0.4", linestyle=":", label="truth")
ax.set(xlabel="y", ylabel="P(Y ≤ y | x)", title="The distribution function, at three places", ylim=(0, 1))
ax.legend(frameon=False)
plt.show()
