"""
Wrong curves
============

A tenth of the curves is wrong. The square loss follows them, Huber's loss does not, and it says which they are.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import FunctionalRegressor
from mercer.datasets import contaminate_curves, make_curves

data = make_curves(80, 30, random_state=0)
Y, wrong = contaminate_curves(data.Y, "global", 0.1, 2.0, random_state=0)
square = FunctionalRegressor(grid=data.grid).fit(data.X, Y)
huber = FunctionalRegressor(grid=data.grid, loss="huber").fit(data.X, Y)

fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
axes[0].plot(data.grid, Y[~wrong].T, color="0.85", linewidth=0.6)
axes[0].plot(data.grid, Y[wrong].T, color="#D55E00", linewidth=0.8)
axes[0].set(title=f"{wrong.sum()} of 80 curves are wrong", xlabel="θ")
errors = [np.sqrt(np.mean((m.predict(data.X) - data.noiseless) ** 2, axis=0)) for m in (square, huber)]
axes[1].plot(data.grid, errors[0], color="#D55E00", label="square loss")
named = wrong[huber.outlying_].sum()
axes[1].plot(data.grid, errors[1], color="#0072B2", label=f"Huber's, which names {named} of the {wrong.sum()}")
axes[1].set(title="error of the fit to the true curves", xlabel="θ", ylim=(0, None))
axes[1].legend(frameon=False)
plt.show()
