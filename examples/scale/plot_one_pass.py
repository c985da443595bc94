"""
Every λ from one pass
=====================

Rows come in batches and are forgotten. What one pass adds up is enough for the square loss with every λ; the λ of the
least generalised cross-validation error is close to the best for new rows.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.features import RandomFourier
from mercer.kernels import Gaussian
from mercer.measures import Measure
from mercer.rows import StreamRows
from mercer.solvers import NormalEquations


def batches():
    source = np.random.default_rng(0)
    for _ in range(10):
        X = source.uniform(-1, 1, size=(200, 3))
        yield X, np.sin(4 * X[:, 0]) * X[:, 1] + 0.5 * source.normal(size=200)


first, _ = next(batches())
kernel = RandomFourier(150, random_state=0).bind(Gaussian(1.0), first)
path = (
    NormalEquations(kernel, Measure(np.zeros((1, 1)), np.ones(1)))
    .read(StreamRows(batches))
    .solve(np.logspace(-8, 0, 30))
)
new = np.random.default_rng(1).uniform(-1, 1, size=(1000, 3))
truth, features = np.sin(4 * new[:, 0]) * new[:, 1], kernel.features(new)
fits = [path.fit(alpha) for alpha in path.alphas]
errors = [np.mean((features @ fit.coef[:, 0] + fit.intercept - truth) ** 2) for fit in fits]

fig, ax = plt.subplots(layout="constrained")
scores = path.generalised_errors
ax.loglog(path.alphas, errors, color="#0072B2", label="error on new rows, to the truth")
ax.loglog(path.alphas, 2 * scores - 0.25, color="#D55E00", label="generalised cross-validation, less the noise")
ax.axvline(path.alphas[np.argmin(scores)], color="#D55E00", linestyle=":", linewidth=1)
ax.set(xlabel="λ", ylabel="mean square")
ax.legend(frameon=False)
plt.show()
