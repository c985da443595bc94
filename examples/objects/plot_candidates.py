"""
How far down the list is the truth?
===================================

Fingerprints are predicted from few numbers, and candidates ranked. How often the truth is among the first k of 100,
and how large the sets are that hold it nine times of ten.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import ConformalCandidates, InputOutputKernelRegressor
from mercer.model_selection import top_k_accuracy

rng = np.random.default_rng(0)
X = rng.uniform(size=(300, 3))
share = 1 / (1 + np.exp(-12 * (X @ rng.normal(size=(3, 60)) - 0.1)))
bits = (rng.random((300, 60)) < share).astype(np.uint8)
regressor = InputOutputKernelRegressor(output_kernel="tanimoto_gaussian")
model = regressor.fit(X[:200], bits[:200])
ranks = model.truth_rank(X[200:], bits[200:], bits[200:])
sets = ConformalCandidates(regressor, random_state=0).fit(X[:200], bits[:200])
chosen = sets.predict_set(X[200:], coverage=0.9, candidates=bits[200:])

held = np.mean(
    [any(np.array_equal(one, truth) for one in found) for found, truth in zip(chosen, bits[200:], strict=True)]
)

k = np.arange(1, 31)
fig, axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
axes[0].plot(k, [top_k_accuracy(ranks, one) for one in k], "o-", color="#0072B2", markersize=3, label="ranked")
axes[0].plot(k, k / 100, color="0.6", linewidth=0.8, label="at random")
axes[0].set(xlabel="k", ylabel="truth among the first k", ylim=(0, 1))
axes[0].legend(frameon=False)
axes[1].hist([len(one) for one in chosen], bins=20, color="#A6CEE8")
axes[1].set(xlabel="candidates in the set, of 100", ylabel="rows", title=f"{held:.0%} of the sets hold the truth")
plt.show()
