"""Convex losses on L²(μ): value, gradient, prox, conjugate and its prox, row by row."""

from mercer.losses.base import Box, Loss
from mercer.losses.domain import BoxLoss, observed_only
from mercer.losses.hinge import CostSensitiveHinge, MoreauHinge, WeightedMoreauHinge
from mercer.losses.one_class import OneClassHinge
from mercer.losses.pinball import Expectile, MoreauPinball, Pinball, WeightedHuber
from mercer.losses.registry import LOSSES, as_loss
from mercer.losses.robust import EpsilonInsensitive, EpsilonRidge, Huber
from mercer.losses.square import Square

__all__ = [
    "Loss",
    "Box",
    "BoxLoss",
    "observed_only",
    "as_loss",
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
]
