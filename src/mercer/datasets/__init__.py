"""Data made on the spot, for examples, tests and benchmarks, and readers of files that users have.

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
from mercer.datasets.synthetic import make_sine, sine_quantiles
from mercer.datasets.synthetic_curves import CurveData, contaminate_curves, drop_observations, make_curves

__all__ = [
    "EMOTIONS",
    "LANDMARKS",
    "CurveData",
    "FaceData",
    "LandmarkData",
    "align_landmarks",
    "contaminate_curves",
    "drop_observations",
    "emotion_coordinates",
    "load_landmarks",
    "make_curves",
    "make_faces",
    "make_sine",
    "sine_quantiles",
]
