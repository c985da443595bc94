"""Draw the pictures that pages open with, by examples of the gallery: ``python docs/_ext/opening_pictures.py``.

They are kept in docs/images, in the repository, where pages are read as they are.
"""

from __future__ import annotations

import runpy
import warnings
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
#: pictures of docs/images, and the examples that draw them
PICTURES = {
    "costs": "decisions/plot_every_cost",
    "level-sets": "decisions/plot_level_sets",
    "curves": "curves/plot_rest_of_the_year",
    "robust": "curves/plot_robust",
    "fields": "vectors/plot_field",
    "vectors": "vectors/plot_related_outputs",
    "series": "vectors/plot_forecast",
    "structured": "objects/plot_label_sets",
    "scale": "scale/plot_features",
}


def draw() -> None:
    """Run each example, and keep its figure."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    warnings.filterwarnings("ignore")
    for name, example in PICTURES.items():
        plt.close("all")
        runpy.run_path(str(ROOT / "examples" / f"{example}.py"))
        plt.savefig(ROOT / "docs" / "images" / f"{name}.png", dpi=90)


if __name__ == "__main__":
    draw()
