"""
A field from forty vectors
==========================

Velocities of a vortex that were measured at forty places, with noise. Whether the field has sources or rotation is
told by the data; arrows are the fit, and the shading is its rotation.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import VectorFieldRegressor
from mercer.plotting import FieldDisplay

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, size=(40, 2))
vortex = np.stack([-X[:, 1], X[:, 0]], axis=1) * np.exp(-np.sum(X**2, axis=1, keepdims=True) / 2)
Y = vortex + 0.05 * rng.normal(size=X.shape)
model = VectorFieldRegressor().fit(X, Y)
FieldDisplay.from_estimator(model, X, Y, shading="curl")
plt.show()
