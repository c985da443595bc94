"""Data made on the spot, for examples, tests and benchmarks, one small real set, and readers of files that users have.

Nothing is downloaded.
"""

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

__all__ = [
    "EMOTIONS",
    "LANDMARKS",
    "CurveData",
    "FaceData",
    "LandmarkData",
    "SeaTemperatures",
    "align_landmarks",
    "contaminate_curves",
    "drop_observations",
    "emotion_coordinates",
    "load_landmarks",
    "load_sea_temperatures",
    "make_curves",
    "make_faces",
    "make_sine",
    "sine_quantiles",
]
