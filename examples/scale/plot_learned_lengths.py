"""
Learned lengths
===============

A Gaussian kernel with a length for each column, and λ: six numbers that follow the slope of the loss of rows that were
held out, exact by the envelope theorem for the pinball loss and every other. Two of five columns matter.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import GradientSearchCV, KernelQuantileRegressor
from mercer.measures import Points

rng = np.random.default_rng(0)
X = rng.uniform(size=(250, 5))
y = np.sin(9 * X[:, 0]) + (0.1 + 0.6 * X[:, 1]) * rng.normal(size=250)
search = GradientSearchCV(KernelQuantileRegressor(measure=Points([0.1, 0.3, 0.5, 0.7, 0.9])), max_iter=15).fit(X, y)

fig, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.4), layout="constrained")
left.plot(search.history_["value"], "o-", color="#0072B2", markersize=4, label="halves, predicted from each other")
left.plot(search.history_["held_out_loss"], "o-", color="#D55E00", markersize=4, label="a fifth, which is never seen")
left.axvline(search.best_index_, color="0.6", linewidth=0.8)
left.set(xlabel="step", ylabel="pinball loss")
left.legend(frameon=False)
right.bar(np.arange(1, 6), 1 / np.sqrt(search.best_params_["kernel__gamma"]), color="#0072B2")
right.set(xlabel="column", ylabel="length", yscale="log")
plt.show()
