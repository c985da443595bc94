"""
A boundary for every cost
=========================

One fit, and the cost θ of a missed positive is asked for at prediction: the more it costs to miss one, the larger the
region that is called positive.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from mercer import CostSensitiveClassifier
from mercer.kernels import Gaussian

X, y = make_moons(300, noise=0.3, random_state=0)
model = CostSensitiveClassifier(Gaussian(1.0), noncrossing="rearrange").fit(X, y)

costs = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
a, b = np.meshgrid(np.linspace(-1.8, 2.8, 120), np.linspace(-1.4, 1.9, 100))
decisions = model.predict_at(np.column_stack([a.ravel(), b.ravel()]), costs)

fig, ax = plt.subplots(layout="constrained")
ax.scatter(*X[y == 0].T, s=14, color="0.55", label="negative")
ax.scatter(*X[y == 1].T, s=14, color="#D55E00", marker="^", label="positive")
for cost, decision, colour in zip(costs, decisions.T, plt.colormaps["viridis"](costs), strict=True):
    ax.contour(a, b, decision.reshape(a.shape), levels=[0], colors=[colour], linewidths=1.8)
    ax.plot([], [], color=colour, label=f"θ = {cost}")
ax.set(xticks=[], yticks=[], title="Who is called positive, at five costs of a missed one")
ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
plt.show()
