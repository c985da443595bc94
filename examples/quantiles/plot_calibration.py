"""
Is a share θ below the θ-quantile?
==================================

Patients whom the model has not seen: the share of them below each quantile, and how often a right model would be as
far off.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes

from mercer import KernelQuantileRegressor
from mercer.plotting import PITDisplay, QuantileCalibrationDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True)
model = KernelQuantileRegressor().fit(X[:300], y[:300])

fig, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
QuantileCalibrationDisplay.from_estimator(model, X[300:], y[300:], target_name="progression", ax=axes[0])
PITDisplay.from_estimator(model, X[300:], y[300:], target_name="progression", ax=axes[1])
plt.show()
