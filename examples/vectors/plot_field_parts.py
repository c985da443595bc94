"""
Two parts of a field
====================

A vortex and a source, measured together. The fit is taken apart into a part without rotation and a part without
sources.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import VectorFieldRegressor


def vortex(X):
    return np.stack([-X[:, 1], X[:, 0]], axis=1) * np.exp(-np.sum(X**2, axis=1, keepdims=True))


def source(X):
    moved = X - np.array([1.0, 0.6])
    return 1.2 * moved * np.exp(-np.sum(moved**2, axis=1, keepdims=True))


rng = np.random.default_rng(0)
X = rng.uniform(-2.2, 2.2, size=(90, 2))
model = VectorFieldRegressor().fit(X, vortex(X) + source(X) + 0.03 * rng.normal(size=X.shape))

at = np.stack(np.meshgrid(np.linspace(-2, 2, 16), np.linspace(-2, 2, 16)), axis=-1).reshape(-1, 2)
curl_free, source_free, constant = model.parts(at)
panels = {"the fit": model.predict(at), "without rotation": curl_free, "without sources": source_free}
fig, axes = plt.subplots(1, 3, figsize=(10, 3.5), sharey=True, layout="constrained")
for ax, (title, field), colour in zip(axes, panels.items(), ["#1A1A1A", "#D55E00", "#0072B2"], strict=True):
    ax.quiver(*at.T, *field.T, color=colour, scale=12, width=0.006)
    ax.set(title=title, aspect="equal", xticks=[], yticks=[])
plt.show()
