"""
The rest of the year
====================

Temperatures of the sea off Peru: July to December, given January to June, with bands that hold the whole of nine
curves of ten.
"""

import matplotlib.pyplot as plt

from mercer import ConformalFunctionalRegressor, FunctionalRegressor
from mercer.datasets import load_sea_temperatures

sea = load_sea_temperatures()
first, later = sea.months[:6], sea.months[6:]
X, Y = sea.temperature[:, :6], sea.temperature[:, 6:]
model = ConformalFunctionalRegressor(FunctionalRegressor(grid=later), method="cross", random_state=0).fit(
    X[:51], Y[:51]
)
band = model.prediction_band(X[51:], coverage=0.9)

fig, axes = plt.subplots(1, 3, figsize=(9.5, 3.4), sharey=True, layout="constrained")
for ax, row in zip(axes, [1, 7, 9], strict=True):
    ax.plot(first, X[51 + row], "o-", color="0.5", markersize=3, label="given")
    ax.fill_between(later, *band[row].T, color="#0072B2", alpha=0.2, linewidth=0, label="90 % band")
    ax.plot(later, model.predict(X[51 + row : 52 + row])[0], color="#0072B2", label="predicted")
    ax.plot(later, Y[51 + row], "o", color="#D55E00", markersize=4, label="what came")
    ax.set(title=sea.years[51 + row], xlabel="month", xticks=[1, 4, 7, 10])
axes[0].set_ylabel("°C")
axes[0].legend(frameon=False, fontsize="small")
plt.show()
