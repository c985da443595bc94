"""
A curve and a number as inputs
==============================

Inputs may be functions, with points of their own and holes, beside scalars. Here a wave that is seen at a dozen
random points, and an age.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelQuantileRegressor
from mercer.plotting import QuantileCalibrationDisplay
from mercer.preprocessing import CurveTable

rng = np.random.default_rng(0)
n = 160
phase, age = rng.uniform(size=n), rng.normal(size=n)
points = [np.sort(rng.uniform(size=12)) for _ in range(n)]
waves = [(t, np.sin(2 * np.pi * (t + p)) + 0.1 * rng.normal(size=12)) for t, p in zip(points, phase, strict=True)]
y = 2 * np.cos(2 * np.pi * phase) + age + 0.3 * rng.normal(size=n)
X, new = (CurveTable({"wave": waves[rows], "age": age[rows]}) for rows in (slice(110), slice(110, None)))
model = KernelQuantileRegressor().fit(X, y[:110])

fig, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
for t, values in waves[:4]:
    axes[0].plot(t, values, ".-", linewidth=0.7)
axes[0].set(title="four inputs", xlabel="t")
axes[1].plot([-4, 4], [-4, 4], color="0.7", linewidth=0.8)
axes[1].plot(model.predict(new), y[110:], ".", color="#0072B2")
axes[1].set(title="new rows", xlabel="predicted median", ylabel="y")
QuantileCalibrationDisplay.from_estimator(model, new, y[110:], ax=axes[2])
plt.show()
