"""
Who acts on whom
================

Four series, of which each depends on one other through a curve. The mean squared Jacobian of the fit is a graph with
arrows.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import VectorAutoRegressor
from mercer.plotting import TaskGraphDisplay

rng = np.random.default_rng(0)
Y = np.zeros((250, 4))
for t in range(1, 250):
    rain, river, mill, price = Y[t - 1]
    mean = [0.6 * rain, np.sin(2 * rain), 1.5 * np.tanh(river), -0.9 * mill]
    Y[t] = mean + 0.3 * rng.normal(size=4)
model = VectorAutoRegressor(order=1).fit(Y)
display = TaskGraphDisplay.from_estimator(model, names=["rain", "river", "mill", "price"])
display.ax_.set_title("rain → river → mill → price")
plt.show()
