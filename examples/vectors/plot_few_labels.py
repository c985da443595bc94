"""
Ten labels
==========

Rows without labels say where the two sheets are. Without them the same ten labels make another boundary.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from mercer import SemiSupervisedRegressor, VectorValuedRegressor

X, label = make_moons(300, noise=0.1, random_state=0)
Y = np.full((300, 2), np.nan)
few = np.random.default_rng(0).choice(300, 10, replace=False)
Y[few] = np.eye(2)[label[few]]
model = SemiSupervisedRegressor().fit(X, Y)
alone = VectorValuedRegressor().fit(X[few], Y[few])

a, b = np.meshgrid(np.linspace(-1.4, 2.4, 120), np.linspace(-0.9, 1.4, 100))
rows = np.column_stack([a.ravel(), b.ravel()])
fig, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
for ax, one, name in zip(axes, [alone, model], ["ten rows", "ten rows with labels, 290 without"], strict=True):
    value = np.diff(one.predict(rows), axis=1).reshape(a.shape)
    ax.contourf(a, b, value > 0, levels=[-0.5, 0.5, 1.5], colors=["#F7DCCB", "#CFE3F1"])
    ax.plot(*X.T, ".", color="0.5", markersize=3)
    for k, (colour, marker) in enumerate([("#D55E00", "o"), ("#0072B2", "s")]):
        ax.plot(*X[few[label[few] == k]].T, marker, color=colour, markersize=7)
    right = np.mean(one.predict(X).argmax(axis=1) == label)
    ax.set(title=f"{name}: {right:.0%} right", xticks=[], yticks=[])
plt.show()
