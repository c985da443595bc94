"""Convex losses on L²(μ): value, gradient, prox, conjugate and its prox, row by row."""

from mercer.losses.base import Box, Loss
from mercer.losses.box import BoxLoss
from mercer.losses.hinge import CostSensitiveHinge, MoreauHinge, WeightedMoreauHinge
from mercer.losses.margin import MaxMargin
from mercer.losses.observed import observed_only
from mercer.losses.one_class import OneClassHinge
from mercer.losses.pinball import Expectile, MoreauPinball, Pinball, WeightedHuber
from mercer.losses.radial_powers import ExponentialNorm, Norm, Power
from mercer.losses.registry import LOSSES, as_loss, loss_names
from mercer.losses.robust import EpsilonInsensitive, EpsilonRidge, Huber
from mercer.losses.square import Square
from mercer.losses.threshold import Threshold
from mercer.losses.vectors import VectorLoss

__all__ = [
    "Loss",
    "Threshold",
    "Box",
    "BoxLoss",
    "observed_only",
    "as_loss",
    "loss_names",
    "LOSSES",
    "Square",
    "Pinball",
    "MoreauPinball",
    "WeightedHuber",
    "Expectile",
    "Huber",
    "EpsilonRidge",
    "EpsilonInsensitive",
    "CostSensitiveHinge",
    "MoreauHinge",
    "WeightedMoreauHinge",
    "OneClassHinge",
    "MaxMargin",
    "Norm",
    "Power",
    "ExponentialNorm",
    "VectorLoss",
]
