"""
A fraction θ of new rows
========================

The optimum of one-class support vector machines leaves out a fraction θ of the rows it was trained on, and more of
new ones. Offsets are therefore calibrated by default.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import LevelSetDetector
from mercer.plotting import ThetaPropertyDisplay

rng = np.random.default_rng(0)
X, new = rng.normal(size=(150, 10)), rng.normal(size=(1500, 10))

fig, axes = plt.subplots(1, 2, figsize=(9, 4.3), layout="constrained")
for ax, calibration, title in zip(axes, [None, "cross"], ["the optimum itself", "calibrated"], strict=True):
    model = LevelSetDetector(calibration=calibration).fit(X)
    ThetaPropertyDisplay.from_estimator(model, X, X_test=new, ax=ax)
    ax.set_title(title)
plt.show()
