"""
How many features
=================

The error of the kernel that features make, against their number: landmarks beside random waves.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.features import Nystroem, RandomFourier, kernel_error
from mercer.kernels import Gaussian, Laplacian

X = np.random.default_rng(0).uniform(-1, 1, size=(500, 2))
counts = np.array([10, 30, 100, 300])
fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
for ax, kernel in zip(axes, [Gaussian(2.0), Laplacian(1.0)], strict=True):
    for name, colour in [("Nystroem", "#0072B2"), ("RandomFourier", "#D55E00")]:
        maps = [
            Nystroem(m, random_state=0) if name == "Nystroem" else RandomFourier(m // 2, random_state=0) for m in counts
        ]
        errors = [kernel_error(one.bind(kernel, X), kernel, X).largest for one in maps]
        ax.loglog(counts, np.maximum(errors, 1e-12), "o-", color=colour, label=name)
    ax.set(title=type(kernel).__name__, xlabel="features")
axes[0].set_ylabel("largest error of k(x, z)")
axes[0].legend(frameon=False)
plt.show()
