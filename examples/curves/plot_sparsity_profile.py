"""
Models that few curves carry
============================

The ε-ridge loss does not look at residuals shorter than ε: the larger ε, the fewer curves are left in the model, and
the dearer that becomes.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import FunctionalRegressor
from mercer.datasets import make_curves
from mercer.plotting import SparsityProfileDisplay

data = make_curves(80, 30, noise=0.3, random_state=1)
first = FunctionalRegressor(grid=data.grid).fit(data.X, data.Y)
fixed = {"kernel": first.kernel_, "output_kernel": first.output_kernel_, "alpha": first.alpha_, "grid": data.grid}
model = FunctionalRegressor(loss="epsilon_ridge", **fixed)
SparsityProfileDisplay.from_estimator(model, data.X, data.Y, values=np.linspace(0, 0.6, 9), cv=4)
plt.show()
