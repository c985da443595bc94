"""
One number for each row
=======================

An autoencoder whose decoder is a function of one code: the code runs along the arc, and codes decode to the curve
through the rows.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelAutoencoder

rng = np.random.default_rng(0)
angle = rng.uniform(0, 5, size=90)
X = np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.04 * rng.normal(size=(90, 2))
model = KernelAutoencoder(1).fit(X)
codes = model.transform(X)
path = model.inverse_transform(np.linspace(codes.min(), codes.max(), 100)[:, None])

fig, ax = plt.subplots(figsize=(5.4, 4.4), layout="constrained")
dots = ax.scatter(*X.T, c=codes[:, 0], s=22, cmap="viridis")
ax.plot(*path.T, color="#1A1A1A", linewidth=1, label="what codes decode to")
fig.colorbar(dots, ax=ax, label="code")
ax.set(aspect="equal")
ax.legend(frameon=False, loc="center")
plt.show()
