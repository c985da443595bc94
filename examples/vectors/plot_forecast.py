"""
Where series go
===============

Two series, of which one follows the other. Forecasts are paths with residuals of later values, and their fan widens
as it should.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import VectorAutoRegressor
from mercer.plotting import ForecastDisplay

rng = np.random.default_rng(0)
Y = np.zeros((160, 2))
for t in range(2, 160):
    Y[t, 0] = 1.6 * Y[t - 1, 0] - 0.8 * Y[t - 2, 0] + 0.3 * rng.normal()
    Y[t, 1] = np.tanh(2 * Y[t - 1, 0]) + 0.2 * rng.normal()
model = VectorAutoRegressor(order=2).fit(Y[:145])

fig, axes = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained")
for series, ax in enumerate(axes):
    ForecastDisplay.from_estimator(model, Y[:145], 15, series=series, future=Y[145:], random_state=0, ax=ax)
plt.show()
