"""Measures and the rules that build them."""

from dataclasses import FrozenInstanceError, dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from mercer.backend import to_numpy
from mercer.exceptions import DataError, ParameterError, ParameterTypeError
from mercer.measures import GaussLegendre, Halton, Measure, MeasureRule, MonteCarlo, Points, Sobol, Trapezoid
from mercer.testing import check_measure

strict = pytest.importorskip("array_api_strict")

BETA = stats.beta(2, 3)
UNIT_RULES = [GaussLegendre, Trapezoid, MonteCarlo, Sobol, Halton]


@pytest.mark.parametrize("distribution", [None, BETA, stats.uniform(0.05, 0.9), stats.truncnorm(-1, 2, loc=3.0)])
@pytest.mark.parametrize("size", [2, 9, 64])
@pytest.mark.parametrize("rule", UNIT_RULES)
def test_every_rule_keeps_the_contract(rule, size, distribution):
    check_measure(rule(size, distribution))


@pytest.mark.parametrize("distribution", [stats.norm(2.0, 3.0), stats.expon(), stats.t(3)])
@pytest.mark.parametrize("rule", [GaussLegendre, MonteCarlo, Sobol, Halton])
def test_unbounded_supports(rule, distribution):
    check_measure(rule(50, distribution))


@pytest.mark.parametrize("rule", [MonteCarlo, Sobol, Halton])
def test_more_dimensions(rule):
    check_measure(rule(100, BETA, 3))
    assert rule(100, BETA, 3).build(rng=0).points.shape == (100, 3)


@pytest.mark.parametrize(
    "rule",
    [
        GaussLegendre(),
        GaussLegendre(1),
        Sobol(1),
        Points([0.5]),
        Points([0.3, 0.1, 0.3]),
        Points(np.array([[0.0, 1.0], [2.0, 3.0]]), [5.0, 7.0]),
        Points([0.1, 0.2, 0.3], (1.0, 0.0, 2.0)),
    ],
    ids=repr,
)
def test_small_and_literal_measures_keep_the_contract(rule):
    check_measure(rule)


def f(theta):
    return np.cos(3 * theta) + theta


@pytest.mark.parametrize(
    ("rule", "tolerance"), [(Sobol, 1e-4), (Halton, 5e-4), (GaussLegendre, 1e-6), (Trapezoid, 5e-4)]
)
def test_the_check_of_the_specification(rule, tolerance):
    """Spec 0.6: ∫ (cos 3θ + θ) dBeta(2, 3) = 0.710109 with m = 1024; the weights that papers print give 0.14172."""
    exact = integrate.quad(lambda t: f(t) * BETA.pdf(t), 0, 1, epsabs=1e-12)[0]
    assert exact == pytest.approx(0.710109, abs=1e-6)
    for seed in range(3):
        mu = rule(1024, BETA).build(rng=seed)
        assert mu.integrate(f(mu.locations)[None, :])[0] == pytest.approx(exact, abs=tolerance)
        np.testing.assert_allclose(mu.total, 1.0)


def test_gauss_legendre_is_exact_for_polynomials():
    for size in (1, 2, 5, 8):
        mu = GaussLegendre(size).build()
        for degree in range(2 * size):
            assert mu.integrate(mu.locations[None, :] ** degree)[0] == pytest.approx(1 / (degree + 1), abs=1e-14)
        degree = 2 * size
        assert mu.integrate(mu.locations[None, :] ** degree)[0] != pytest.approx(1 / (degree + 1), abs=1e-14)


def test_trapezoid_is_that_of_numpy():
    mu = Trapezoid(11).build()
    values = np.random.default_rng(0).normal(size=(3, 11))
    np.testing.assert_allclose(mu.integrate(values), np.trapezoid(values, np.linspace(0, 1, 11), axis=1))
    with pytest.raises(ParameterError, match="Trapezoid: size must be an integer >= 2; got 1"):
        Trapezoid(1)


@pytest.mark.parametrize("rule", [Sobol, Halton])
def test_quasi_random_points_fill_the_interval_evenly(rule):
    mu = rule(256).build(rng=1)
    random = MonteCarlo(256).build(rng=1)
    even = (np.arange(256) + 0.5) / 256
    assert np.max(np.abs(np.sort(mu.locations) - even)) < 0.25 * np.max(np.abs(np.sort(random.locations) - even))


def test_seeds():
    for rule in (MonteCarlo(8), Sobol(8), Halton(8)):
        one, other = rule.build(rng=0), rule.build(rng=1)
        assert not np.array_equal(one.points, other.points)
        shared = np.random.default_rng(0)
        assert np.array_equal(rule.build(rng=shared).points, one.points)
        assert not np.array_equal(rule.build(rng=shared).points, one.points)  # the generator has moved on


@pytest.mark.parametrize("rule", UNIT_RULES)
def test_parameters_are_checked(rule):
    for size in (0, -1, 2.5, "3", True):
        with pytest.raises(ParameterError, match=f"{rule.__name__}: size must be an integer"):
            rule(size)
    with pytest.raises((ParameterError, ParameterTypeError), match="distribution must be None"):
        rule(4, "beta")
    with pytest.raises(ParameterTypeError, match=r"scipy\.stats\.beta\(2, 3\)"):
        rule(4, stats.beta(2, 3).pdf)


def test_an_infinite_end_is_refused_with_a_remedy():
    with pytest.raises(ParameterTypeError, match=r"quantile function is finite.*GaussLegendre"):
        Trapezoid(5, stats.norm()).build()


@pytest.mark.parametrize("dimension", [0, 1.5, None])
def test_dimension_is_checked(dimension):
    with pytest.raises((ParameterError, ParameterTypeError), match="dimension must be an integer >= 1"):
        Sobol(4, dimension=dimension)


@pytest.mark.parametrize(
    ("points", "weights", "message"),
    [
        ([0.1, 0.2], [1.0], "weights must be 2 numbers, one per point"),
        ([0.1, 0.2], [[1.0, 1.0]], "weights must be 2 numbers"),
        ([0.1, 0.2], "ab", "weights must be 2 numbers"),
        ([0.1, 0.2], [1.0, -1.0], "non-negative.*destroy convexity"),
        ([0.1, 0.2], [1.0, np.nan], "non-negative, finite"),
        ([0.1, 0.2], [0.0, 0.0], "not all zero"),
        ([0.1, np.inf], None, "points must be finite"),
        ([], None, "points must be finite numbers"),
        (0.5, None, "points must be finite numbers"),
        (np.zeros((2, 2, 2)), None, "points must be finite numbers"),
        (["a"], None, "points must be numbers"),
    ],
)
def test_wrong_points_and_weights_are_refused(points, weights, message):
    with pytest.raises(ParameterError, match=message):
        Points(points, weights)


def test_zero_weights_are_dropped():
    mu = Points([0.1, 0.2, 0.3], [1.0, 0.0, 2.0]).build()
    np.testing.assert_array_equal(mu.locations, [0.1, 0.3])
    np.testing.assert_array_equal(mu.weights, [1.0, 2.0])
    assert len(mu) == 2
    assert mu.total == 3.0


def test_points_are_literal_and_independent_of_the_arrays_given():
    points, weights = np.array([0.4, 0.1]), np.array([2.0, 3.0])
    mu = Points(points, weights).build()
    np.testing.assert_array_equal(mu.points, [[0.4], [0.1]])
    points[0] = weights[0] = 9.0
    np.testing.assert_array_equal(mu.points, [[0.4], [0.1]])
    np.testing.assert_array_equal(mu.weights, [2.0, 3.0])


@pytest.mark.parametrize(
    ("points", "weights", "message"),
    [
        (np.zeros((2, 1)), np.ones(3), "must have shape"),
        (np.zeros((2, 1, 1)), np.ones(2), "must have shape"),
        (np.zeros(2), np.ones((2, 1)), "must have shape"),
        (np.array([0.0, np.nan]), np.ones(2), "must be finite"),
        (np.zeros(2), np.array([1.0, np.inf]), "must be finite"),
        (np.zeros(2), np.array([1.0, 0.0]), "must be positive"),
        (np.zeros(2), np.array([1.0, -1.0]), "must be positive"),
    ],
)
def test_a_measure_refuses_what_it_is_not(points, weights, message):
    with pytest.raises(DataError, match=message):
        Measure(points, weights)


def test_a_measure_is_frozen_and_a_plane_has_no_locations():
    mu = Sobol(4, dimension=2).build(rng=0)
    with pytest.raises(FrozenInstanceError):
        mu.weights = np.ones(4)
    with pytest.raises(DataError, match="measure on the line; the points have dimension 2"):
        _ = mu.locations


def test_integers_are_integrated_like_numbers():
    mu = Measure(np.array([0.1, 0.9]), np.array([0.5, 0.25]))
    np.testing.assert_array_equal(mu.integrate(np.array([[1, 2], [3, 5]])), [1.0, 2.75])
    np.testing.assert_array_equal(mu.norm(np.array([[2, 2]])), [3**0.5])


def test_masks():
    mu = Measure(np.array([0.1, 0.5, 0.9]), np.array([0.5, 0.25, 2.0]))
    observed = np.array([[True, False, True], [False, True, False]])
    values = np.array([[1.0, np.nan, 3.0], [np.nan, 2.0, np.inf]])
    seen = mu.restricted(observed)
    np.testing.assert_allclose(seen.integrate(values), [6.5, 0.5])
    np.testing.assert_allclose(seen.norm(values), np.sqrt([18.5, 1.0]))
    np.testing.assert_allclose(seen.rows(slice(1, 2)).integrate(values[1:]), [0.5])
    assert mu.rows(slice(0, 1)) is mu
    assert mu.observed is None
    assert seen.restricted(None).observed is None


@settings(max_examples=50, derandomize=True, deadline=None)
@given(
    weights=st.lists(st.floats(0.01, 100.0), min_size=1, max_size=6),
    shares=st.lists(st.floats(0.05, 0.95), min_size=6, max_size=6),
    values=st.lists(st.floats(-10, 10), min_size=6, max_size=6),
)
def test_splitting_a_node_changes_nothing(weights, shares, values):
    m = len(weights)
    weights, share, values = np.array(weights), np.array(shares[:m]), np.array(values[:m])
    points = np.linspace(0, 1, m)
    whole = Points(points, weights).build()
    halves = Points(np.tile(points, 2), np.concatenate([share * weights, (1 - share) * weights])).build()
    twice = np.tile(values, 2)[None, :]
    values = values[None, :]
    np.testing.assert_allclose(halves.total, whole.total)
    size = 1e-12 * float(np.sum(weights) * (1 + np.max(values**2)))
    np.testing.assert_allclose(halves.integrate(twice), whole.integrate(values), atol=size)
    np.testing.assert_allclose(halves.inner(twice, f(twice)), whole.inner(values, f(values)), atol=size)
    np.testing.assert_allclose(halves.norm(twice), whole.norm(values), rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("rule", [*[rule(7) for rule in UNIT_RULES], Points([0.1, 0.2], [1.0, 3.0])], ids=repr)
def test_strict_arrays_give_the_same(rule, dtype):
    like = strict.zeros(1, dtype=getattr(strict, dtype))
    expected, found = rule.build(rng=3), rule.build(like, rng=3)
    tolerance = 1e-13 if dtype == "float64" else 1e-6
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(2, 4, len(expected)))
    observed = rng.random(left.shape) < 0.5
    u, v = (strict.asarray(a, dtype=like.dtype) for a in (left, right))
    assert found.points.dtype == found.weights.dtype == like.dtype
    np.testing.assert_allclose(to_numpy(found.points), expected.points, atol=tolerance)
    assert found.total == pytest.approx(expected.total, rel=tolerance)
    for mu, nu in (
        (expected, found),
        (expected.restricted(observed), found.restricted(strict.asarray(observed))),
        (expected.restricted(observed), expected.restricted(observed).like(like)),
    ):
        for a, b in (
            (nu.integrate(u), mu.integrate(left)),
            (nu.inner(u, v), mu.inner(left, right)),
            (nu.norm(u), mu.norm(left)),
        ):
            assert isinstance(a, type(like))
            assert a.dtype == like.dtype
            np.testing.assert_allclose(to_numpy(a), b, atol=4 * tolerance)


@dataclass(eq=False, repr=False)
class Faulty(MeasureRule):
    """A midpoint rule with one fault at a time."""

    fault: str = ""
    size: int = 8
    distribution: Any = None

    def nodes(self, rng):
        points, weights = (np.arange(self.size) + 0.5) / self.size, np.full(self.size, 1 / self.size)
        if self.fault == "printed weights":
            weights = points / self.size
        if self.fault == "writes on itself":
            self.size = 9
        if self.fault == "ignores the seed":
            points = np.random.default_rng().random(self.size)
        if self.fault == "outside":
            points = np.concatenate([points[:-1] - 1 / self.size, [1.0 + 2 / self.size]])
        if self.fault == "wrong law":
            points = points**2
        if self.fault == "wrong spread":
            points = 0.5 + 0.2 * (points - 0.5)
        return points[:, None], weights

    def build(self, like=None, rng=None):
        measure = super().build(like, rng)
        if self.fault == "dtype" and like is not None:
            return super().build(None, rng)
        if self.fault == "wrong norm":
            return Unweighted(measure.points, measure.weights)
        if self.fault == "thaws":
            return Thawed(measure.points, measure.weights)
        return measure


class Unweighted(Measure):
    def norm(self, values):
        return np.sqrt(np.sum(values**2, axis=1))


class Thawed(Measure):
    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)


def test_the_rule_without_fault_passes():
    check_measure(Faulty())


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (Faulty("printed weights"), "sum to 0.5, not 1"),
        (Faulty("writes on itself"), "build changed the rule"),
        (Faulty("ignores the seed"), "the same seed gives other points"),
        (Faulty("outside", 40), "outside of the support"),
        (Faulty("wrong law", 40), "moment of order 1"),
        (Faulty("wrong spread", 80), "moment of order 2"),
        (Faulty("dtype"), "does not follow the dtype"),
        (Faulty("wrong norm"), "norm.* differs"),
        (Faulty("thaws"), "points can be replaced"),
        ("uniform", "is no MeasureRule"),
    ],
)
def test_check_measure_finds_the_fault(rule, message):
    with pytest.raises(AssertionError, match=message):
        check_measure(rule)
