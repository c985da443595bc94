"""
What a column does to the whole curve
=====================================

The mean curve where a column is high less that where it is low, with bands from fits to rows drawn anew.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import FunctionalRegressor
from mercer.plotting import EffectDisplay

rng = np.random.default_rng(0)
X, grid = rng.uniform(size=(80, 2)), np.linspace(0, 1, 20)
Y = np.sin(2 * np.pi * (grid + X[:, :1] / 3)) + 2 * X[:, 1:] * grid**2 + 0.3 * rng.normal(size=(80, 20))
model = FunctionalRegressor(grid=grid).fit(X, Y)
display = EffectDisplay.from_estimator(model, X, Y, 1, [0.1, 0.5, 0.9], n_resamples=60, random_state=0, reference=0)
display.ax_.plot(grid, 2 * 0.8 * grid**2, color="0.4", linestyle=":")
display.ax_.set_title("dotted: the truth for 0.9 less 0.1", fontsize="medium")
plt.show()
