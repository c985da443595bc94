"""
Outliers by trees, and the columns that tell
============================================

``OneClassForest`` splits where rows are dense on one side and rare on the other, and takes many rows and columns.
Outliers are unusual in two of twelve columns here; scores rank them first, and importances name the columns.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import OneClassForest

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, size=(1000, 12))
X[:, [3, 7]] = rng.normal(0, 0.4, size=(1000, 2))
strange = rng.random(1000) < 0.03
X[strange, 3] = rng.uniform(-2, 2, strange.sum())
X[strange, 7] = rng.uniform(-2, 2, strange.sum())
model = OneClassForest(n_estimators=60, random_state=0).fit(X)

fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
scores = model.score_samples(X)
bins = np.linspace(scores.min(), scores.max(), 40)
axes[0].hist(scores[~strange], bins, color="#A6CEE8", label="ordinary rows")
axes[0].hist(scores[strange], bins, color="#D55E00", label="planted outliers")
axes[0].set(xlabel="score", ylabel="rows", yscale="log")
axes[0].legend(frameon=False, loc="upper left")
axes[1].bar(
    np.arange(12), model.feature_importances_, color=["#D55E00" if k in (3, 7) else "#A6CEE8" for k in range(12)]
)
axes[1].set(xlabel="column", ylabel="importance", xticks=range(12))
plt.show()
