"""
Four clinics
============

One number in each row, and a column that says from which clinic it is. Clinics are alike, and few rows of one are
helped by those of the others.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from mercer import MultiTaskRegressor

rng = np.random.default_rng(0)
clinics = rng.choice(list("ABCD"), 70, p=[0.4, 0.3, 0.25, 0.05])
frame = pd.DataFrame({"dose": rng.uniform(size=70), "clinic": clinics})
effect = frame["clinic"].map({"A": 0.0, "B": 0.3, "C": 0.6, "D": -0.5})
y = np.sin(5 * frame["dose"]) + effect + 0.15 * rng.normal(size=70)
together = MultiTaskRegressor("clinic").fit(frame, y)
apart = MultiTaskRegressor("clinic", output_matrix=None).fit(frame, y)

dose = np.linspace(0, 1, 100)
fig, axes = plt.subplots(1, 4, figsize=(10, 3), sharey=True, layout="constrained")
for ax, (clinic, shift) in zip(axes, {"A": 0.0, "B": 0.3, "C": 0.6, "D": -0.5}.items(), strict=True):
    here, rows = clinics == clinic, pd.DataFrame({"dose": dose, "clinic": clinic})
    ax.plot(frame["dose"][here], y[here], "k.", markersize=4)
    ax.plot(dose, np.sin(5 * dose) + shift, color="0.5", linestyle=":", label="truth")
    ax.plot(dose, apart.predict(rows), color="#D55E00", linewidth=1, label="each alone")
    ax.plot(dose, together.predict(rows), color="#0072B2", label="together")
    ax.set(title=f"clinic {clinic}, {here.sum()} rows", xlabel="dose")
axes[3].legend(frameon=False, fontsize="small")
plt.show()
