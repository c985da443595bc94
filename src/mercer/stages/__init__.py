"""Parts of a distribution that are learned one after the other: warps, a location, a spread, levels of what is left.

q_θ(x) = T⁻¹(f(x) + σ(x)·b(θ)). Each part is a function that learns it and an object that holds what was learned, on
NumPy arrays; :func:`learn_stages` makes all of them.
"""

from mercer.stages.label_inputs import LabelInputs, learn_label_inputs
from mercer.stages.location import Location, learn_location
from mercer.stages.relevance import Relevance, choose_relevance
from mercer.stages.residual_levels import ResidualLevels, new_levels
from mercer.stages.spread import Spread, learn_spread
from mercer.stages.thresholds import LogisticLinks
from mercer.stages.together import Stages, learn_stages
from mercer.stages.warps import ColumnWarp, TargetWarp

__all__ = [
    "ColumnWarp",
    "LabelInputs",
    "Location",
    "LogisticLinks",
    "Relevance",
    "ResidualLevels",
    "Spread",
    "Stages",
    "TargetWarp",
    "choose_relevance",
    "learn_label_inputs",
    "learn_location",
    "learn_spread",
    "learn_stages",
    "new_levels",
]
