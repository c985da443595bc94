"""
Outputs that help one another
=============================

Five outputs made of two functions, a fifth of the values missing. The output matrix is learned, and with it the error
at each output falls.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import VectorValuedRegressor
from mercer.plotting import OutputMatrixDisplay

rng = np.random.default_rng(1)
X = rng.uniform(size=(150, 2))
truth = np.cos(X @ (4 * rng.normal(size=(2, 2)))) @ rng.normal(size=(2, 5))
Y = truth + 0.5 * rng.normal(size=truth.shape)
Y[rng.random(Y.shape) < 0.2] = np.nan
keep = np.any(~np.isnan(Y), axis=1)
X, Y, truth = X[keep], Y[keep], truth[keep]
alone = VectorValuedRegressor().fit(X, Y)
model = VectorValuedRegressor(output_matrix="learned").fit(X, Y)

names = list("abcde")
fig, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
OutputMatrixDisplay.from_estimator(model, names=names, ax=axes[0])
for k, (one, label, colour) in enumerate([(alone, "each alone", "#D55E00"), (model, "together", "#0072B2")]):
    error = np.sqrt(np.mean((one.predict(X) - truth) ** 2, axis=0))
    axes[1].bar(np.arange(5) + 0.4 * k - 0.2, error, 0.4, label=label, color=colour)
axes[1].set(xticks=range(5), xticklabels=names, ylabel="error of the fit to the truth", ylim=(0, 0.25))
axes[1].legend(frameon=False)
plt.show()
