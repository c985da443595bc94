"""Data made on the spot, for examples, tests and benchmarks, small real sets, and readers of files that users have.

Nothing is downloaded. Each real set names its source and its licence.
"""

from mercer.datasets.economy import Economy, load_economy
from mercer.datasets.emotion_transfer import TransferData, emotion_transfer
from mercer.datasets.engel import FoodExpenditure, load_engel
from mercer.datasets.faces import FaceData, make_faces
from mercer.datasets.landmarks import (
    EMOTIONS,
    LANDMARKS,
    LandmarkData,
    align_landmarks,
    emotion_coordinates,
    load_landmarks,
)
from mercer.datasets.sea_temperatures import SeaTemperatures, load_sea_temperatures
from mercer.datasets.synthetic import make_sine, sine_quantiles
from mercer.datasets.synthetic_curves import CurveData, contaminate_curves, drop_observations, make_curves
from mercer.datasets.synthetic_flow import flow_parts, make_flow

__all__ = [
    "EMOTIONS",
    "LANDMARKS",
    "CurveData",
    "Economy",
    "FaceData",
    "FoodExpenditure",
    "LandmarkData",
    "SeaTemperatures",
    "TransferData",
    "align_landmarks",
    "contaminate_curves",
    "drop_observations",
    "emotion_coordinates",
    "emotion_transfer",
    "flow_parts",
    "load_economy",
    "load_engel",
    "load_landmarks",
    "load_sea_temperatures",
    "make_curves",
    "make_faces",
    "make_flow",
    "make_sine",
    "sine_quantiles",
]
