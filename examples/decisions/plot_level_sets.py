"""
Regions that hold given shares
==============================

One fit, a region for every fraction of outliers, each inside of the next.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import LevelSetDetector
from mercer.plotting import LevelSetDisplay

rng = np.random.default_rng(0)
X = np.concatenate([rng.normal(size=(160, 2)), rng.normal([4, 3], 0.5, size=(80, 2))])
model = LevelSetDetector(nested=True).fit(X)
LevelSetDisplay.from_estimator(model, X, levels=[0.05, 0.25, 0.5, 0.75])
plt.show()
