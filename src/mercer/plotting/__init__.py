"""Displays: what fits say, drawn with matplotlib (``pip install "mercer[plot]"``).

Each is a class in scikit-learn's manner: ``from_estimator`` computes and draws, ``plot`` draws again, and what was
computed and drawn are attributes.
"""

from mercer.plotting.calibration import PITDisplay, QuantileCalibrationDisplay
from mercer.plotting.cost_curve import CostCurveDisplay, ExpectedCostDisplay
from mercer.plotting.curve_panels import CurvePanelsDisplay
from mercer.plotting.curve_quantiles import CurveQuantilesDisplay
from mercer.plotting.effect import EffectDisplay
from mercer.plotting.face_morph import FaceMorphDisplay
from mercer.plotting.field import FieldDisplay
from mercer.plotting.forecast import ForecastDisplay
from mercer.plotting.level_set import LevelSetDisplay
from mercer.plotting.output_matrix import OutputMatrixDisplay, TaskGraphDisplay
from mercer.plotting.predicted_curves import CurvesDisplay
from mercer.plotting.profiles import RobustnessProfileDisplay, SparsityProfileDisplay
from mercer.plotting.quantile_fan import QuantileFanDisplay
from mercer.plotting.relevance import RelevanceDisplay
from mercer.plotting.scaling import ScalingDisplay
from mercer.plotting.theta_property import ThetaPropertyDisplay

__all__ = [
    "CostCurveDisplay",
    "CurvePanelsDisplay",
    "CurveQuantilesDisplay",
    "CurvesDisplay",
    "EffectDisplay",
    "ExpectedCostDisplay",
    "FaceMorphDisplay",
    "ForecastDisplay",
    "FieldDisplay",
    "LevelSetDisplay",
    "OutputMatrixDisplay",
    "PITDisplay",
    "QuantileCalibrationDisplay",
    "QuantileFanDisplay",
    "RelevanceDisplay",
    "RobustnessProfileDisplay",
    "ScalingDisplay",
    "SparsityProfileDisplay",
    "TaskGraphDisplay",
    "ThetaPropertyDisplay",
]
