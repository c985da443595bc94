"""
A table as it comes
===================

Text, numbers and missing cells, from a data frame: nothing has to be encoded. Intervals of the rent of flats, town by
town.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from mercer import KernelQuantileRegressor

rng = np.random.default_rng(0)
n = 250
flats = pd.DataFrame({"area": rng.uniform(20, 120, n).round(), "town": rng.choice(["Oslo", "Paris", "Rome"], n)})
price = flats["town"].map({"Oslo": 12, "Paris": 16, "Rome": 9})
rent = flats["area"] * price * rng.lognormal(0, 0.15, n)
flats.loc[rng.random(n) < 0.05, "town"] = None  # some towns are not known

model = KernelQuantileRegressor().fit(flats, rent)
area = np.linspace(20, 120, 60)
fig, ax = plt.subplots(layout="constrained")
for town, colour in [("Paris", "#0072B2"), ("Oslo", "#009E73"), ("Rome", "#D55E00")]:
    low, middle, high = model.predict_quantile(pd.DataFrame({"area": area, "town": town}), [0.1, 0.5, 0.9]).T
    ax.fill_between(area, low, high, color=colour, alpha=0.2, linewidth=0)
    ax.plot(area, middle, color=colour, label=town)
    here = flats["town"] == town
    ax.plot(flats["area"][here], rent[here], ".", color=colour, markersize=4)
unknown = flats["town"].isna()
ax.plot(flats["area"][unknown], rent[unknown], "x", color="0.4", markersize=5, label="town not known")
ax.set(xlabel="area, m²", ylabel="rent", title="Median and 80 % of the rents")
ax.legend(frameon=False)
plt.show()
