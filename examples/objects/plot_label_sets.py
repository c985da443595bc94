"""
Sets of labels
==============

The output is a set, and its kernel is Jaccard's. Regions of the plane, coloured by the set that is predicted there.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap

from mercer import InputOutputKernelRegressor

rng = np.random.default_rng(0)
X = rng.uniform(size=(200, 2))
Z = [{name for name, on in (("warm", x > 0.4), ("wet", y > 0.6 * x + 0.2)) if on} for x, y in X]
model = InputOutputKernelRegressor(output_kernel="jaccard").fit(X, Z)

a, b = np.meshgrid(np.linspace(0, 1, 60), np.linspace(0, 1, 60))
found = [" and ".join(sorted(z)) or "neither" for z in model.predict(np.column_stack([a.ravel(), b.ravel()]))]
names = sorted(set(found))
region = np.array([names.index(name) for name in found]).reshape(a.shape)
fig, ax = plt.subplots(figsize=(5.4, 4.6), layout="constrained")
ax.pcolormesh(a, b, region, cmap=ListedColormap(["#E3E3E3", "#F7DCCB", "#C9E8DC", "#CFE3F1"]), rasterized=True)
ax.plot(*X.T, ".", color="0.3", markersize=3)
ax.plot([0.4, 0.4], [0, 1], "k:", linewidth=1)
ax.plot([0, 1], [0.2, 0.8], "k:", linewidth=1)
for k, name in enumerate(names):
    ax.text(a[region == k].mean(), b[region == k].mean(), name, ha="center", weight="bold")
ax.set(title="dotted: where labels truly change", xlim=(0, 1), ylim=(0, 1), xlabel="x1", ylabel="x2")
plt.show()
