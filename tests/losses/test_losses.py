"""Every loss against definitions, the numbers of the papers, limits, errata and brute force."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from mercer.exceptions import DataError
from mercer.losses import (
    CostSensitiveHinge,
    EpsilonInsensitive,
    EpsilonRidge,
    Expectile,
    ExponentialNorm,
    Huber,
    Loss,
    MaxMargin,
    MoreauHinge,
    MoreauPinball,
    Norm,
    OneClassHinge,
    Pinball,
    Power,
    Square,
    WeightedHuber,
    WeightedMoreauHinge,
    observed_only,
)
from mercer.losses.prox import block_soft_threshold
from mercer.losses.quantiles import weighted_quantile
from mercer.measures import Measure
from mercer.testing.losses import check_loss

GEOMETRIES = ("norm", "pointwise")
HINGES = [
    CostSensitiveHinge(),
    *(c(kappa=k) for c in (MoreauHinge, WeightedMoreauHinge) for k in (0.05, 0.4, 3.0)),
]
LEVELS = [
    Pinball(),
    Expectile(),
    *(c(kappa=k) for c in (MoreauPinball, WeightedHuber) for k in (0.05, 0.7, 5.0)),
]
ROBUST = [
    *(Huber(kappa=k, geometry=g) for k in (0.03, 0.6, 20.0) for g in GEOMETRIES),
    *(
        c(epsilon=e, geometry=g)
        for c in (EpsilonRidge, EpsilonInsensitive)
        for e in (0.0, 0.4, 5.0)
        for g in GEOMETRIES
    ),
]
FURTHER = [
    *(Norm(2.0, g) for g in GEOMETRIES),
    *(Power(p, 0.5, g) for p in (1.5, 2.0, 4.0) for g in GEOMETRIES),
    *(ExponentialNorm(0.3, g) for g in GEOMETRIES),
    MaxMargin(),
]
LOSSES = [Square(), *LEVELS, *ROBUST, *HINGES, OneClassHinge(), *FURTHER]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)


def make(loss, n=7, m=5, seed=0):
    """A measure of unequal weights and levels, targets that suit the loss, and two arrays."""
    rng = np.random.default_rng(seed)
    measure = Measure(np.sort(rng.uniform(0.05, 0.95, m)), rng.uniform(0.05, 0.6, m))
    Y = rng.normal(size=(n, m))
    if isinstance(loss, (CostSensitiveHinge, MoreauHinge, WeightedMoreauHinge)):
        Y = np.where(Y > 0, 1.0, -1.0)
    scale = np.resize([0.1, 1.0, 5.0], n)[:, None]
    return measure, Y, Y + scale * rng.normal(size=(n, m)), scale * rng.normal(size=(n, m))


def one(theta, weight=1.0):
    return Measure(np.array([theta]), np.array([weight]))


def scalar(x):
    return np.array([[float(x)]])


def test_the_one_class_hinge_weighs_shortfalls_by_the_level():
    loss, measure = OneClassHinge(), Measure(np.array([0.1, 1.0]), np.array([0.5, 2.0]))
    zeros = np.zeros((1, 2))
    assert loss.value(zeros, np.array([[-3.0, 4.0]]), measure) == pytest.approx([0.5 * 3 / 0.1])
    assert loss.value(zeros, np.array([[3.0, -4.0]]), measure) == pytest.approx([2 * 4])
    assert np.isfinite(loss.conjugate(zeros, np.array([[10.0, 1.0]]), measure)[0])
    assert np.isinf(loss.conjugate(zeros, np.array([[10.0, 1.1]]), measure)[0])
    for bad in (0.0, 1.5):
        with pytest.raises(DataError, match=r"levels must be in \(0, 1\]"):
            loss.check_targets(zeros, one(bad))


# ------------------ the public contract


@every_loss
@pytest.mark.parametrize("seed", [0, 1])
def test_contract(loss, seed):
    check_loss(loss, seed=seed)


@pytest.mark.parametrize("loss", [Pinball(), Huber(0.5), EpsilonInsensitive(0.3), MoreauHinge(0.3)], ids=repr)
def test_contract_on_other_measures(loss):
    check_loss(loss, one(0.3, 2.5))
    check_loss(loss, Measure(np.linspace(0.01, 0.99, 15), np.full(15, 1 / 15)))


def test_contract_takes_targets():
    check_loss(Huber(0.5, "pointwise"), targets=np.zeros((3, 4)))


@pytest.mark.parametrize(
    ("loss", "smooth", "pointwise", "boxed"),
    [
        (Square(), True, True, False),
        (Pinball(), False, True, True),
        (MoreauPinball(), True, True, True),
        (WeightedHuber(), True, True, False),
        (Expectile(), True, True, False),
        (Huber(), True, False, False),
        (Huber(geometry="pointwise"), True, True, True),
        (EpsilonRidge(), True, False, False),
        (EpsilonRidge(geometry="pointwise"), True, True, False),
        (EpsilonInsensitive(), False, False, False),
        (EpsilonInsensitive(geometry="pointwise"), False, True, False),
        (EpsilonInsensitive(0.0, geometry="pointwise"), False, True, True),
        (EpsilonInsensitive(0.0), False, False, False),
        (CostSensitiveHinge(), False, True, True),
        (MoreauHinge(), True, True, True),
        (WeightedMoreauHinge(), True, True, False),
    ],
    ids=repr,
)
def test_flags(loss, smooth, pointwise, boxed):
    measure, Y, _, _ = make(loss)
    assert (loss.smooth, loss.pointwise) == (smooth, pointwise)
    assert (loss.box(Y, measure) is not None) == boxed
    assert loss.has_conjugate


# ------------------ numbers of the specification


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (Pinball(), 0.45),
        (WeightedHuber(0.5), 0.375),
        (MoreauPinball(0.5), 0.4275),
        *((Huber(0.8, g), 0.88) for g in GEOMETRIES),
        *((EpsilonRidge(0.4, g), 0.605) for g in GEOMETRIES),
        *((EpsilonInsensitive(0.4, g), 1.1) for g in GEOMETRIES),
    ],
    ids=repr,
)
def test_values_of_the_specification(loss, expected):
    got = loss.value(scalar(2.0), scalar(0.5), one(0.3))
    np.testing.assert_allclose(got, [expected], rtol=1e-14)


@pytest.mark.parametrize(
    ("loss", "theta", "expected"),
    [
        (Pinball(), 0.3, 0.3),
        (WeightedHuber(0.2), 0.9, 0.675),
        (MoreauPinball(0.2), 0.9, 0.681818),
        *((Huber(0.3, g), 0.5, 0.3) for g in GEOMETRIES),
        *((EpsilonRidge(0.2, g), 0.5, 0.433333) for g in GEOMETRIES),
        *((EpsilonInsensitive(0.2, g), 0.5, 0.65) for g in GEOMETRIES),
    ],
    ids=repr,
)
def test_dual_proxes_of_the_specification(loss, theta, expected):
    got = loss.conjugate_prox(scalar(0.7), scalar(0.4), 0.5, one(theta))
    np.testing.assert_allclose(got, [[expected]], atol=1e-6)


def test_hinge_of_the_specification():
    # a negative has weight 1 − θ = 0.6
    got = CostSensitiveHinge().conjugate_prox(scalar(-1), scalar(0.4), 0.5, one(0.4))
    np.testing.assert_allclose(got, [[-0.1]], atol=1e-15)


@pytest.mark.parametrize(
    ("loss", "theta", "expected"),
    [(Expectile(), 0.8, 6.571429), (WeightedHuber(1.0), 0.8, 9.25), (Expectile(), 0.5, 4.0)],
)
def test_locations_of_a_sample(loss, theta, expected):
    sample = np.array([[1.0], [2.0], [3.0], [10.0]])
    found = optimize.minimize_scalar(
        lambda b: loss.value(sample, np.full((4, 1), b), one(theta)).sum(),
        bounds=(0, 12),
        method="bounded",
        options={"xatol": 1e-9},
    )
    assert found.x == pytest.approx(expected, abs=1e-5)


# ------------------ proxes, brute force


@every_loss
@pytest.mark.parametrize("t", [0.1, 1.3])
def test_prox_is_the_minimiser(loss, t):
    measure, Y, Z, _ = make(loss, n=6, m=2, seed=3)
    got = loss.prox(Y, Z, t, measure)
    for i in range(len(Y)):
        y, z = Y[i : i + 1], Z[i : i + 1]
        far = 1.2 * np.abs(z - y).max() + 5 * t
        circles = isinstance(loss, EpsilonInsensitive) and not loss.pointwise and loss.epsilon > 0

        def place(q, y=y, circles=circles):
            if not circles:
                return y + q
            turned = np.stack([np.cos(q[:, 1]), np.sin(q[:, 1])], axis=1)  # kinks are on circles, along an axis of q
            return y + q[:, :1] * turned / np.sqrt(measure.weights)

        def objective(q, y=y, z=z, place=place):
            u = place(q)
            return t * loss.value(np.repeat(y, len(u), 0), u, measure) + 0.5 * (u - z) ** 2 @ measure.weights

        centre, half = np.zeros(2), np.array([far, far])
        if circles:
            east, north = ((z - y) * np.sqrt(measure.weights))[0]
            centre = np.array([np.hypot(east, north), np.arctan2(north, east)])
            half = np.array([centre[0], 1.0])
        for _ in range(32):  # a grid that shrinks around its best point
            axes = [np.linspace(c - h, c + h, 21) for c, h in zip(centre, half, strict=True)]
            grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
            centre, half = grid[np.argmin(objective(grid))], 0.6 * half
        # values resolve the minimiser of a smooth function to the root of their rounding error
        np.testing.assert_allclose(got[i], place(centre[None, :])[0], atol=4e-6 * (1 + np.abs(z).max()))


@every_loss
def test_conjugate_is_the_supremum(loss):
    measure, Y, Z, _ = make(loss, n=6, m=1, seed=4)
    A = loss.conjugate_prox(Y, Z, 0.8, measure)
    inner = A * (1 - 1e-7)  # on the border of the domain the supremum may be reached at infinity only
    got = loss.conjugate(Y, inner, measure)
    for i in range(len(Y)):
        y, a = Y[i : i + 1], inner[i, 0]
        found = optimize.minimize_scalar(
            lambda u, y=y, a=a: loss.value(y, scalar(u), measure)[0] + measure.weights[0] * a * u,
            bounds=(Y[i, 0] - 200, Y[i, 0] + 200),
            method="bounded",
            options={"xatol": 1e-11, "maxiter": 2000},
        )
        assert got[i] == pytest.approx(-found.fun, abs=1e-6)


@every_loss
@pytest.mark.parametrize("t", [0.2, 1.0, 7.0])
def test_moreau_identity(loss, t):
    measure, Y, Z, _ = make(loss)
    np.testing.assert_allclose(loss.prox(Y, Z, t, measure), Loss.prox(loss, Y, Z, t, measure), atol=1e-13)


@every_loss
def test_arguments_are_not_overwritten(loss):
    measure, Y, U, A = make(loss)
    before = [array.copy() for array in (Y, U, A, measure.weights, measure.points)]
    for _ in range(2):
        loss.value(Y, U, measure)
        loss.gradient(Y, U, measure)
        loss.prox(Y, U, 1.0, measure)
        loss.conjugate(Y, A, measure)
        loss.conjugate_prox(Y, A, 1.0, measure)
    for array, copy in zip((Y, U, A, measure.weights, measure.points), before, strict=True):
        np.testing.assert_array_equal(array, copy)


@every_loss
def test_at_the_target_and_without_observations(loss):
    measure, Y, _, A = make(loss)
    for U in (Y, np.zeros_like(Y)):
        for observed in (None, np.zeros(Y.shape, dtype=bool)):
            mu = measure.restricted(observed)
            for array in (
                loss.value(Y, U, mu),
                loss.gradient(Y, U, mu),
                loss.prox(Y, U, 1.0, mu),
                loss.conjugate_prox(np.zeros_like(Y) if observed is None else Y, 0 * A, 1.0, mu),
            ):
                assert np.all(np.isfinite(array))
    if isinstance(loss, MaxMargin):  # there is no margin where nothing was observed
        return
    assert not np.any(loss.value(Y, A, measure.restricted(np.zeros(Y.shape, dtype=bool))))
    assert not np.any(loss.conjugate(Y, A, measure.restricted(np.zeros(Y.shape, dtype=bool))))


@every_loss
def test_unobserved_targets_may_be_nan(loss):
    measure, Y, U, A = make(loss)
    observed = np.random.default_rng(1).random(Y.shape) < 0.6
    measure, holes = measure.restricted(observed), np.where(observed, Y, np.nan)
    for name in ("value", "gradient"):
        map_ = getattr(loss, name)
        np.testing.assert_array_equal(map_(holes, U, measure), map_(Y, U, measure))
    for name in ("prox", "conjugate_prox"):
        map_ = getattr(loss, name)
        np.testing.assert_array_equal(map_(holes, A, 0.5, measure), map_(Y, A, 0.5, measure))
    dual = map_(Y, A, 0.5, measure)
    np.testing.assert_array_equal(loss.conjugate(holes, dual, measure), loss.conjugate(Y, dual, measure))
    assert np.all(np.isfinite(loss.conjugate(holes, dual, measure)))


@every_loss
def test_the_border_of_the_domain_has_room_for_rounding(loss):
    measure, Y, _, A = make(loss)
    border = loss.conjugate_prox(Y, 1e3 * A, 1.0, measure)
    assert np.all(np.isfinite(loss.conjugate(Y, border * (1 + 1e-12), measure)))
    if loss.box(Y, measure) is not None:
        assert np.all(np.isinf(loss.conjugate(Y, border * (1 + 1e-7) + 1e-7 * np.sign(A), measure)))


# ------------------ limits


@pytest.mark.parametrize(
    ("loss", "limit"),
    [
        *((Huber(1e6, g), Square()) for g in GEOMETRIES),
        *((EpsilonRidge(0.0, g), Square()) for g in GEOMETRIES),
        (MoreauPinball(1e-9), Pinball()),
        (WeightedHuber(1e-9), Pinball()),
        (MoreauHinge(1e-9), CostSensitiveHinge()),
        (WeightedMoreauHinge(1e-9), CostSensitiveHinge()),
    ],
    ids=repr,
)
def test_limits(loss, limit):
    measure, Y, U, A = make(limit)
    np.testing.assert_allclose(loss.value(Y, U, measure), limit.value(Y, U, measure), atol=1e-8)
    np.testing.assert_allclose(loss.gradient(Y, U, measure), limit.gradient(Y, U, measure), atol=1e-8)
    for name in ("prox", "conjugate_prox"):
        got, expected = (getattr(each, name)(Y, A, 0.6, measure) for each in (loss, limit))
        np.testing.assert_allclose(got, expected, atol=1e-7)
    np.testing.assert_allclose(loss.conjugate(Y, expected, measure), limit.conjugate(Y, expected, measure), atol=1e-7)


def test_large_kappa_gives_expectiles_or_the_mean():
    measure, Y, U, _ = make(Pinball())
    kappa = 1e6
    weighted = kappa * WeightedHuber(kappa).value(Y, U, measure)
    np.testing.assert_allclose(weighted, Expectile().value(Y, U, measure), rtol=1e-9)
    moreau = kappa * MoreauPinball(kappa).value(Y, U, measure)
    np.testing.assert_allclose(moreau, Square().value(Y, U, measure), rtol=1e-9)


def test_the_two_smoothings_differ():
    grid = np.linspace(-3, 3, 6001)[:, None]
    values = [loss.value(grid, 0 * grid, one(0.3)) for loss in (WeightedHuber(0.7), MoreauPinball(0.7))]
    assert np.abs(values[0] - values[1]).max() == pytest.approx(0.0735, abs=1e-4)


def test_moreau_pinball_is_uniformly_close():
    grid = np.linspace(-3, 3, 1001)[:, None]
    gap = Pinball().value(grid, 0 * grid, one(0.2)) - MoreauPinball(0.4).value(grid, 0 * grid, one(0.2))
    assert gap.min() >= -1e-15
    assert gap.max() == pytest.approx(0.4 * 0.8**2 / 2)


def test_absolute_loss_is_twice_the_median_pinball():
    _, Y, U, _ = make(Pinball(), m=1)
    absolute = EpsilonInsensitive(0.0, "pointwise").value(Y, U, one(0.5))
    np.testing.assert_allclose(absolute, 2 * Pinball().value(Y, U, one(0.5)), rtol=1e-14)


def test_geometries_agree_on_one_node_of_weight_one_only():
    for name in ("value", "gradient"):
        for a, b in zip(ROBUST[::2], ROBUST[1::2], strict=True):
            _, Y, U, _ = make(a, m=1)
            got, expected = (getattr(loss, name)(Y, U, one(0.5)) for loss in (a, b))
            np.testing.assert_allclose(got, expected, atol=1e-13)
    assert Huber(0.5).value(scalar(3), scalar(0), one(0.5, 4.0)) == pytest.approx(0.5 * (3 * 2 - 0.25))
    assert Huber(0.5, "pointwise").value(scalar(3), scalar(0), one(0.5, 4.0)) == pytest.approx(4 * 0.5 * (3 - 0.25))


# ------------------ errata, and losses that are subtly wrong


@dataclass(eq=False, repr=False)
class WrongSignPinball(Pinball):
    """The linear term of the conjugate with the sign of the thesis."""

    def conjugate(self, Y, A, measure):
        return super().conjugate(-Y, A, measure)

    def conjugate_prox(self, Y, Z, t, measure):
        return super().conjugate_prox(-Y, Z, t, measure)


@dataclass(eq=False, repr=False)
class NoStepInThreshold(EpsilonRidge):
    """BST(·, ε) for BST(·, tε)."""

    def conjugate_prox(self, Y, Z, t, measure):
        V = observed_only(Z + t * Y, measure)
        return block_soft_threshold(V, measure.norm(V), self.epsilon) / (1 + t)


@dataclass(eq=False, repr=False)
class NoLinearTermHinge(CostSensitiveHinge):
    def conjugate(self, Y, A, measure):
        return super().conjugate(Y, A, measure) + measure.inner(A, observed_only(Y, measure))


@dataclass(eq=False, repr=False)
class NoLinearTermHingeProx(CostSensitiveHinge):
    def conjugate_prox(self, Y, Z, t, measure):
        return np.clip(observed_only(Z, measure), *self._bounds(Y, measure))


@dataclass(eq=False, repr=False)
class NoHalfRidge(EpsilonRidge):
    """The ε-ridge loss of the documents, without ½, beside the conjugate of the loss with ½."""

    def value(self, Y, U, measure):
        return 2 * super().value(Y, U, measure)

    def gradient(self, Y, U, measure):
        return 2 * super().gradient(Y, U, measure)

    prox = Loss.prox


@dataclass(eq=False, repr=False)
class EuclideanHuber(Huber):
    """The ball of the plain Euclidean norm."""

    def conjugate_prox(self, Y, Z, t, measure):
        V = observed_only(Z + t * Y, measure) / (1 + t)
        return V * np.minimum(1, self.kappa / np.linalg.norm(V, axis=1))[:, None]


@dataclass(eq=False, repr=False)
class WeightedGradient(Square):
    """The gradient in R^m for the gradient in L²(μ)."""

    def gradient(self, Y, U, measure):
        return super().gradient(Y, U, measure) * measure.weights


@dataclass(eq=False, repr=False)
class MoreauCalledPinball(MoreauPinball):
    """The prox of the pinball for the prox of its envelope."""

    def prox(self, Y, Z, t, measure):
        return Pinball().prox(Y, Z, t, measure)


@dataclass(eq=False, repr=False)
class SlightlyShortProx(Huber):
    def prox(self, Y, Z, t, measure):
        return super().prox(Y, Z, 0.999 * t, measure)


@dataclass(eq=False, repr=False)
class ClosedDomain(MoreauPinball):
    """A conjugate that forgets its domain."""

    def conjugate(self, Y, A, measure):
        return 0.5 * self.kappa * measure.inner(A, A) - measure.inner(A, Y)


@dataclass(eq=False, repr=False)
class SmallDomain(MoreauPinball):
    def conjugate(self, Y, A, measure):
        return super().conjugate(Y, 1.01 * A, measure)


@dataclass(eq=False, repr=False)
class WrongBox(WeightedHuber):
    """The weighted Huber loss has no box form."""

    def box(self, Y, measure):
        return MoreauPinball(self.kappa).box(Y, measure)


@dataclass(eq=False, repr=False)
class CalledSmooth(EpsilonInsensitive):
    smooth = True


@dataclass(eq=False, repr=False)
class CalledFlatter(Huber):
    lipschitz = 0.9


@dataclass(eq=False, repr=False)
class CalledPointwise(Huber):
    pointwise = True

    def _even(self, function, values, measure):
        return function(measure.norm(values))


@dataclass(eq=False, repr=False)
class NotConvex(Square):
    def value(self, Y, U, measure):
        return super().value(Y, U, measure) ** 0.25


@dataclass(eq=False, repr=False)
class BlindToMask(Pinball):
    def gradient(self, Y, U, measure):
        return super().gradient(Y, U, Measure(measure.points, measure.weights))


@dataclass(eq=False, repr=False)
class CountsNodes(Square):
    """A value that is an average over nodes for an integral."""

    def value(self, Y, U, measure):
        return super().value(Y, U, measure) / len(measure)


@dataclass(eq=False, repr=False)
class Overwriting(Pinball):
    """A projection in place: right, and yet the caller's array is gone."""

    def conjugate_prox(self, Y, Z, t, measure):
        answer = super().conjugate_prox(Y, Z, t, measure)
        if t == 0:
            Z[...] = answer
        return answer


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (Overwriting(), "conjugate_prox writes on its arguments"),
        (WrongSignPinball(), "conjugate_prox"),
        (NoStepInThreshold(0.4), "conjugate_prox"),
        (NoLinearTermHinge(), "conjugate is not sup"),
        (NoLinearTermHingeProx(), "conjugate_prox"),
        (NoHalfRidge(0.4), "prox"),
        (NoHalfRidge(0.4, "pointwise"), "prox"),
        (EuclideanHuber(0.5), "conjugate_prox"),
        (WeightedGradient(), "gradient is not a subgradient"),
        (MoreauCalledPinball(0.5), "prox at t=0.05 does not minimise"),
        (SlightlyShortProx(0.5), "prox at t="),
        (ClosedDomain(0.5), r"conjugate (is below|must be \+inf)"),
        (SmallDomain(0.5), "conjugate is not sup"),
        (WrongBox(0.5), "box is not the conjugate"),
        (CalledSmooth(0.3), "gradient jumps"),
        (CalledSmooth(0.3, "pointwise"), "gradient jumps"),
        (CalledFlatter(0.5), "varies more than lipschitz"),
        (CalledPointwise(0.5), "not a sum over nodes"),
        (NotConvex(), "not convex"),
        (BlindToMask(), "gradient must be 0 at unobserved"),
        (CountsNodes(), "not a sum over nodes"),
    ],
    ids=lambda value: value if isinstance(value, str) else repr(value),
)
def test_contract_refuses_wrong_losses(loss, message):
    with pytest.raises(AssertionError, match=message):
        check_loss(loss)


@dataclass(eq=False, repr=False)
class LogCosh(Loss):
    """A loss of one's own: value and gradient only."""

    smooth = True

    def value(self, Y, U, measure):
        return measure.integrate(np.logaddexp(Y - U, U - Y) - np.log(2))

    def gradient(self, Y, U, measure):
        return observed_only(np.tanh(U - Y), measure)


def test_contract_takes_a_loss_without_conjugate():
    assert not LogCosh().has_conjugate
    check_loss(LogCosh())


@given(st.integers(0, 10**6))
def test_quantiles_of_equal_weights_are_those_of_weights(seed):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 30)), int(rng.integers(1, 6))
    values = rng.normal(size=(n, m))
    values = np.round(values) if rng.random() < 0.5 else values
    levels = rng.choice([0.1, 0.2, 0.25, 0.5, 0.75, 0.9, 1 / 3, rng.uniform()], size=m)
    weights = np.full(n, rng.uniform(0.1, 3))
    plain = weighted_quantile(values, weights, levels)
    assert np.array_equal(plain, weighted_quantile(values, np.repeat(weights[:, None], m, axis=1), levels))
