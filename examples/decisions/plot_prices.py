"""
Three classes, and a price for each error
=========================================

Prices are asked for at prediction, too. Where a "class 2" that is taken for another costs fifty times as much, its
region grows.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from sklearn.datasets import load_wine

from mercer import CostMatrixClassifier, CostSensitiveClassifier
from mercer.kernels import Gaussian

data = load_wine()
X, y = data.data[:, [6, 9]], data.target  # flavanoids and intensity of the colour
base = CostSensitiveClassifier(Gaussian("standardized"))
model = CostMatrixClassifier(base).fit(X, y)

a, b = np.meshgrid(np.linspace(0, 5.3, 120), np.linspace(1, 13.5, 120))
rows = np.column_stack([a.ravel(), b.ravel()])
equal, dear = 1 - np.eye(3), np.array([[0, 1, 1], [1, 0, 1], [50, 50, 0]])
pale = ListedColormap(["#CFE3F1", "#D6EFE6", "#F7DCCB"])

fig, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
for ax, prices, title in zip(axes, [equal, dear], ["all errors alike", "class 2 must not be missed"], strict=True):
    regions = model.predict(rows, cost_matrix=prices)
    ax.pcolormesh(a, b, regions.reshape(a.shape), cmap=pale, vmin=0, vmax=2, shading="auto", rasterized=True)
    for k, (colour, marker) in enumerate([("#0072B2", "o"), ("#009E73", "s"), ("#D55E00", "^")]):
        ax.scatter(*X[y == k].T, s=14, color=colour, marker=marker, label=f"class {k}")
    ax.set(title=title, xlabel="flavanoids")
axes[0].set_ylabel("intensity of the colour")
axes[0].legend(frameon=False)
plt.show()
