"""
Between the nodes, and slopes
=============================

A curve that was learned on twelve points is known at all of them, and so is its derivative.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import FunctionalRegressor

rng = np.random.default_rng(0)
X, grid = rng.uniform(size=(80, 1)), np.linspace(0, 1, 12)
Y = np.sin(2 * np.pi * (grid + X)) + 0.1 * rng.normal(size=(80, 12))
model = FunctionalRegressor(grid=grid).fit(X, Y)

fine, x = np.linspace(0, 1, 200), np.array([[0.2]])
fig, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
axes[0].plot(fine, model.predict_at(x, fine)[0], color="#0072B2", label="predicted")
axes[0].plot(fine, np.sin(2 * np.pi * (fine + 0.2)), color="0.4", linestyle=":", label="truth")
axes[0].plot(grid, model.predict(x)[0], "o", color="#0072B2", markersize=4, label="at the nodes of the fit")
axes[0].set(title="curve", xlabel="θ")
axes[1].plot(fine, model.predict_derivative(x, fine)[0], color="#0072B2")
axes[1].plot(fine, 2 * np.pi * np.cos(2 * np.pi * (fine + 0.2)), color="0.4", linestyle=":")
axes[1].set(title="its derivative", xlabel="θ")
axes[0].legend(frameon=False)
plt.show()
