"""The public contract of a measure rule, as a check."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.measures import Measure, MeasureRule, Points

__all__ = ["check_measure"]

#: standard errors that the moments of a rule may be off
STANDARD_ERRORS = 6.0


def check_measure(rule: MeasureRule, *, seed: int = 0, tolerance: float = 1e-10) -> None:
    """Check that a rule and the measure it builds keep their contract; AssertionError if not.

    Checked are positive weights that sum to one (``Points`` with weights is taken literally), that a seed means the
    same points, that neither ``build`` nor a caller changes the rule or the measure, that ``integrate``, ``inner`` and
    ``norm`` are the sums they are defined as, also under a mask, that splitting points in two halves of their weight
    changes none of them, and that the record survives ``get_params``, ``set_params`` and scikit-learn's ``clone``.

    A rule with a ``distribution`` (None for uniform on [0, 1]) must put its points inside of the support, and
    first and second moments are compared: with m points they may be off by 6 standard errors σ/√m, and by 6 σ/m if the
    points do not depend on the seed. Moments without a variance are passed over.

    Parameters
    ----------
    rule : MeasureRule
        The rule.
    seed : int, default=0
        Seed of the points and of the functions that are integrated.
    tolerance : float, default=1e-10
        What counts as zero for identities, relative to the numbers at hand.

    Examples
    --------
    >>> from scipy import stats
    >>> from mercer.measures import GaussLegendre, Sobol
    >>> check_measure(GaussLegendre(12))
    >>> check_measure(Sobol(64, stats.beta(2, 3)))
    """
    _that(isinstance(rule, MeasureRule), rule, f"is no MeasureRule but {type(rule).__name__}")
    _check_record(rule)
    measure = _check_build(rule, seed)
    _check_weights(rule, measure, tolerance)
    _check_frozen(rule, measure)
    rng = np.random.default_rng(seed)
    left, right = rng.normal(size=(2, 5, len(measure)))
    _check_definitions(rule, measure, left, right, rng.random(left.shape) < 0.6, tolerance)
    _check_splitting(rule, measure, left, right, tolerance)
    if hasattr(rule, "distribution"):
        _check_support(rule, measure, tolerance)
        _check_moments(rule, measure, seed, tolerance)


def _check_record(rule: MeasureRule) -> None:
    _that(type(rule)(**rule.get_params(deep=False)) == rule, rule, "differs from one made of its own parameters")
    twin = clone(rule)
    _that(twin == rule and twin is not rule, rule, "differs from its clone")
    _that(twin.set_params(**clone(rule).get_params()) == rule, rule, "set_params(get_params()) changes it")


def _check_build(rule: MeasureRule, seed: int) -> Measure:
    before = copy.deepcopy(rule)
    measure = rule.build(rng=seed)
    _that(rule == before, rule, "build changed the rule")
    _that(isinstance(measure, Measure), rule, f"build returned {type(measure).__name__}, not a Measure")
    points = measure.points
    _that(points.ndim == 2 and len(points) == len(measure) > 0, rule, f"has points of shape {points.shape}")
    for rng in (seed, np.random.default_rng(seed)):
        again = rule.build(rng=rng)
        same = np.array_equal(again.points, points) and np.array_equal(again.weights, measure.weights)
        _that(same, rule, "the same seed gives other points or weights")
    single = rule.build(np.zeros(1, dtype=np.float32), seed)
    _that(single.points.dtype == single.weights.dtype == np.float32, rule, "build does not follow the dtype of like")
    near = np.allclose(single.points, points, rtol=1e-5, atol=1e-5)
    _that(near, rule, "the same seed gives other points in single precision")
    return measure


def _check_weights(rule: MeasureRule, measure: Measure, tolerance: float) -> None:
    weights = measure.weights
    _that(weights.shape == (len(measure),), rule, f"has weights of shape {weights.shape} for {len(measure)} points")
    _that(bool(np.all(weights > 0)), rule, "has weights that are not positive")
    _that(abs(measure.total - weights.sum()) <= tolerance * weights.sum(), rule, "total is not the sum of the weights")
    if isinstance(rule, Points) and rule.weights is not None:
        literal = np.asarray(rule.weights, dtype=float)
        _that(np.array_equal(weights, literal[literal > 0]), rule, "does not take the weights literally")
    else:
        _that(abs(weights.sum() - 1) <= tolerance, rule, f"has weights that sum to {weights.sum():.9g}, not 1")


def _check_frozen(rule: MeasureRule, measure: Measure) -> None:
    for name in ("points", "weights", "observed"):
        try:
            setattr(measure, name, None)
        except dataclasses.FrozenInstanceError:
            continue
        _that(False, rule, f"builds a measure whose {name} can be replaced")


def _check_definitions(
    rule: MeasureRule, measure: Measure, left: np.ndarray, right: np.ndarray, observed: np.ndarray, tolerance: float
) -> None:
    weights = measure.weights
    for mask, mu in ((np.ones_like(observed), measure), (observed, measure.restricted(observed))):
        for name, found, terms in (
            ("integrate(f) differs from Σ_j w_j f_j", mu.integrate(left), left),
            ("inner(f, g) differs from Σ_j w_j f_j g_j", mu.inner(left, right), left * right),
            ("norm(f)² differs from Σ_j w_j f_j²", mu.norm(left) ** 2, left**2),
        ):
            expected = np.sum(np.where(mask, weights * terms, 0.0), axis=1)
            size = np.sum(weights * np.abs(terms), axis=1)
            _close(found, expected, size, rule, name, tolerance)


def _check_splitting(
    rule: MeasureRule, measure: Measure, left: np.ndarray, right: np.ndarray, tolerance: float
) -> None:
    order = np.random.default_rng(0).permutation(2 * len(measure)) % len(measure)
    split = Measure(measure.points[order], measure.weights[order] / 2)
    size = np.sum(measure.weights * np.abs(left), axis=1)
    _close(split.integrate(left[:, order]), measure.integrate(left), size, rule, "splitting changes ∫f", tolerance)
    norms = measure.norm(left) * measure.norm(right)
    split_inner = split.inner(left[:, order], right[:, order])
    _close(split_inner, measure.inner(left, right), norms, rule, "splitting changes ⟨f, g⟩", tolerance)
    norm = measure.norm(left)
    _close(split.norm(left[:, order]), norm, norm, rule, "splitting changes ‖f‖", tolerance)


def _check_support(rule: Any, measure: Measure, tolerance: float) -> None:
    low, high = (0.0, 1.0) if rule.distribution is None else rule.distribution.ppf([0.0, 1.0])
    slack = tolerance * np.max(np.abs([x for x in (low, high) if np.isfinite(x)]), initial=1.0)
    inside = np.all((measure.points >= low - slack) & (measure.points <= high + slack))
    _that(bool(inside), rule, f"has points outside of the support [{low:g}, {high:g}] of its distribution")


def _check_moments(rule: Any, measure: Measure, seed: int, tolerance: float) -> None:
    moments = [_moment(rule.distribution, order) for order in range(5)]
    other = rule.build(rng=seed + 1)
    fixed = np.array_equal(other.points, measure.points)
    share = STANDARD_ERRORS / (len(measure) if fixed else len(measure) ** 0.5)
    for order in (1, 2):
        variance = moments[2 * order] - moments[order] ** 2
        if not np.isfinite(variance):
            continue
        allowed = share * max(variance, 0.0) ** 0.5 + tolerance * (1 + abs(moments[order]))
        error = float(np.max(np.abs(measure.integrate(measure.points.T**order) - moments[order])))
        _that(error <= allowed, rule, f"has a moment of order {order} that is off by {error:.3g} > {allowed:.3g}")
    if measure.points.shape[1] > 1 and np.isfinite(moments[2]):
        both = measure.integrate((measure.points[:, 0] * measure.points[:, 1])[None, :])[0]
        error = abs(float(both) - moments[1] ** 2)
        allowed = share * max(moments[2] ** 2 - moments[1] ** 4, 0.0) ** 0.5 + tolerance * (1 + moments[1] ** 2)
        _that(error <= allowed, rule, f"has columns that are not independent: E θ₁θ₂ is off by {error:.3g}")


def _moment(distribution: Any, order: int) -> float:
    if order == 0:
        return 1.0
    if distribution is None:
        return 1 / (order + 1)
    if hasattr(distribution, "moment"):
        return float(distribution.moment(order))
    levels = (np.arange(2**14) + 0.5) / 2**14
    return float(np.mean(np.asarray(distribution.ppf(levels)) ** order))


def _close(
    found: np.ndarray, expected: np.ndarray, size: np.ndarray, rule: MeasureRule, message: str, tolerance: float
) -> None:
    _that(found.shape == expected.shape, rule, f"{message}: shapes {found.shape} and {expected.shape}")
    error, allowed = np.abs(found - expected), tolerance * size
    worst = int(np.argmax(error - allowed))
    _that(bool(error[worst] <= allowed[worst]), rule, f"{message} by {error[worst]:.3g}")


def _that(condition: bool, rule: object, message: str) -> None:
    if not condition:
        raise AssertionError(f"{rule!r}: {message}.")
