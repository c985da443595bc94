"""
A face and its emotions
=======================

From a neutral face to the face of the same person at any emotion θ, a point in the plane of valence and arousal: 136
numbers at each point. The faces are drawn by formulas.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import FunctionalRegressor
from mercer.datasets import make_faces
from mercer.operator_valued import leading_components
from mercer.plotting import FaceMorphDisplay

faces = make_faces(40, random_state=0)
A = leading_components(faces.Y - faces.Y.mean(axis=(0, 1)), rank=20)
model = FunctionalRegressor(grid=faces.emotions, output_matrix=A, alpha=1e-4).fit(faces.X[1:], faces.Y[1:])
angles = np.linspace(0, np.pi, 6)
path = 0.9 * np.column_stack([np.cos(angles), np.sin(angles)])
fig, ax = plt.subplots(figsize=(10, 2.8), layout="constrained")
FaceMorphDisplay.from_estimator(model, faces.X[:1], path, ax=ax)
plt.show()
