"""
Every solver knows how far it is
================================

The relative duality gap, step by step, of four solvers of one problem: fifteen quantiles jointly. The gap bounds the
distance from the optimum at any time.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.datasets import make_sine
from mercer.kernels import Gaussian
from mercer.losses import Pinball
from mercer.measures import GaussLegendre
from mercer.operator_valued import Decomposable
from mercer.problems import DualProblem
from mercer.solvers import ADMM, InteriorPoint, ProximalGradient, SemismoothNewton

X, y = make_sine(300, random_state=0)
measure = GaussLegendre(15).build()
gram = Decomposable(Gaussian(20.0), Gaussian(2.0)).bind(measure).gram(X)
problem = DualProblem(gram, Pinball(), np.repeat(y[:, None], 15, axis=1), measure, alpha=1e-4, fit_intercept=True)

fig, ax = plt.subplots(layout="constrained")
solvers = [SemismoothNewton(1e-7), InteriorPoint(1e-7), ADMM(1e-7, 2000), ProximalGradient(1e-7, 1500)]
for solver, colour in zip(solvers, ["#0072B2", "#009E73", "#D55E00", "#8C8C8C"], strict=True):
    steps, gaps, _ = np.array(solver.solve(problem).history).T
    ax.loglog(steps, gaps, "o-", markersize=3, color=colour, label=type(solver).__name__)
ax.set(xlabel="steps", ylabel="relative duality gap")
ax.legend(frameon=False)
plt.show()
