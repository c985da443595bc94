"""
Which columns matter
====================

Friedman's function depends on five of ten columns. The default fit learns a scale for each, and ``relevance_`` says
so.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_friedman1

from mercer import KernelQuantileRegressor
from mercer.plotting import RelevanceDisplay

X, y = make_friedman1(300, noise=1.0, random_state=0)
model = KernelQuantileRegressor().fit(X, y)
display = RelevanceDisplay.from_estimator(model, names=[f"x{k}" for k in range(1, 11)])
display.ax_.set_title("10 sin(πx1 x2) + 20 (x3 − ½)² + 10 x4 + 5 x5 + noise", fontsize="medium")
plt.show()
