"""
What errors cost
================

The mean cost of errors on held-out rows at every cost of a missed "malignant", beside what it costs to say the same
of all.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from mercer import CostSensitiveClassifier
from mercer.kernels import Gaussian
from mercer.plotting import CostCurveDisplay, ExpectedCostDisplay

data = load_breast_cancer()
X, y = data.data[:, :5], data.target_names[data.target]
model = CostSensitiveClassifier(Gaussian("standardized"), pos_label="malignant").fit(X[:300], y[:300])

fig, axes = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
CostCurveDisplay.from_estimator(model, X[300:], y[300:], ax=axes[0])
ExpectedCostDisplay.from_estimator(model, X[300:], y[300:], ax=axes[1])
plt.show()
