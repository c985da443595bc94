"""Bases: orthonormality, T ψ = λ ψ and traces by quadrature; functions of the user; what is refused."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone

from mercer.backend import to_numpy
from mercer.exceptions import DataError, ParameterError, ParameterTypeError, UnsupportedError
from mercer.kernels import Gaussian, Laplacian, Matern
from mercer.measures import GaussLegendre, Measure, MonteCarlo, Points
from mercer.operator_valued import (
    BoundBasis,
    ExpansionKernel,
    FourierFeatureBasis,
    FunctionBasis,
    HarmonicBasis,
    LaplacianBasis,
    NystromBasis,
)

strict = pytest.importorskip("array_api_strict")

MU = Measure(np.array([0.1, 0.25, 0.5, 0.9]), np.array([0.3, 0.2, 0.4, 0.1]))
FINE = GaussLegendre(60).build()
THETA = np.linspace(0, 1, 11)[:, None]


def legendre(t):
    """1, √3(2t − 1), √5(6t² − 6t + 1): orthonormal on [0, 1]."""
    return np.hstack([t**0, np.sqrt(3) * (2 * t - 1), np.sqrt(5) * (6 * t**2 - 6 * t + 1)])


LEGENDRE = FunctionBasis(legendre, [1.0, 0.5, 0.2])
BASES = [
    NystromBasis(3),
    LaplacianBasis(4, gamma=2.0),
    HarmonicBasis(5),
    FourierFeatureBasis(6, 8, 2.0, random_state=0),
    LEGENDRE,
]


# -- Nyström -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [Gaussian(3.0), Laplacian(2.0), Matern(1.5, 0.4)], ids=repr)
def test_nystrom_functions_are_eigenfunctions_of_the_discrete_integral_operator(kernel):
    basis = NystromBasis().bind(MU, kernel)
    assert len(basis) == 4
    assert np.all(np.diff(basis.spectrum) < 0)
    values = basis.evaluate(MU.points)
    np.testing.assert_allclose(values.T @ np.diag(MU.weights) @ values, np.eye(4), atol=1e-10)
    assert basis.defect(MU) == pytest.approx(0, abs=1e-10)
    # ∫ k(θ, τ)ψ(τ)dμ(τ) = λψ(θ), also between the nodes
    image = kernel(THETA, MU.points) @ (MU.weights[:, None] * values)
    np.testing.assert_allclose(image, basis.evaluate(THETA) * basis.spectrum, atol=1e-12)
    assert basis.spectrum.sum() == pytest.approx(MU.total)
    np.testing.assert_allclose((values * basis.spectrum) @ values.T, kernel(MU.points), atol=1e-10)


def test_nystrom_keeps_the_largest_and_leaves_out_what_rounding_spoils():
    mu = GaussLegendre(40).build()
    whole = NystromBasis().bind(mu, Gaussian(3.0))
    assert 5 < len(whole) < 20
    assert whole.spectrum[-1] > 1e-10 * whole.spectrum[0]
    assert len(NystromBasis(tolerance=1e-4).bind(mu, Gaussian(3.0))) < len(whole)
    few = NystromBasis(3).bind(mu, Gaussian(3.0))
    np.testing.assert_allclose(few.spectrum, whole.spectrum[:3])
    assert len(NystromBasis(100).bind(mu, Gaussian(3.0))) == len(whole)


def test_splitting_a_node_changes_no_function():
    split = Measure(np.array([0.1, 0.25, 0.5, 0.5, 0.9]), np.array([0.3, 0.2, 0.1, 0.3, 0.1]))
    one, two = (NystromBasis().bind(mu, Gaussian(3.0)) for mu in (MU, split))
    np.testing.assert_allclose(one.spectrum, two.spectrum, rtol=1e-10)
    np.testing.assert_allclose(np.abs(one.evaluate(THETA)), np.abs(two.evaluate(THETA)), rtol=1e-7, atol=1e-9)


def test_nystrom_resolves_a_bandwidth_at_the_nodes():
    basis = NystromBasis().bind(MU, Gaussian("median"))
    assert basis == NystromBasis().bind(MU, Gaussian("median").adapt(MU.points))
    assert basis.evaluate(THETA[:1]).shape == (1, 4)


def test_nystrom_orthonormalises_another_basis():
    skew = FunctionBasis(lambda t: np.hstack([t**0, t, t**2]), [1.0, 2.0, 0.5])
    kernel = ExpansionKernel(skew.bind(MU))
    basis = NystromBasis().bind(MU, kernel)
    assert skew.bind(MU).defect(MU) > 0.1
    assert len(basis) == 3
    assert basis.defect(MU) < 1e-8
    np.testing.assert_allclose(ExpansionKernel(basis)(THETA), kernel(THETA), atol=1e-9)


def test_nystrom_in_the_plane():
    mu = MonteCarlo(12, dimension=2).build(rng=0)
    basis = NystromBasis(4).bind(mu, Gaussian(1.0))
    assert basis.defect(mu) < 1e-9
    with pytest.raises(UnsupportedError, match="no derivatives at points of 2 columns"):
        basis.differentiate(mu.points)


@pytest.mark.parametrize("kernel", [None, "gaussian", NystromBasis()])
def test_nystrom_needs_a_kernel(kernel):
    with pytest.raises((ParameterError, ParameterTypeError), match="NystromBasis: output_kernel must be a Kernel"):
        NystromBasis().bind(MU, kernel)


# -- functions of the user -----------------------------------------------------------------------------------------


def test_functions_are_taken_literally():
    bound = LEGENDRE.bind(MU)
    np.testing.assert_array_equal(bound.evaluate(THETA), legendre(THETA))
    np.testing.assert_array_equal(bound.spectrum, [1.0, 0.5, 0.2])
    assert bound.defect(FINE) < 1e-12
    explicit = legendre(MU.points).T @ np.diag(MU.weights) @ legendre(MU.points) - np.eye(3)
    assert bound.defect(MU) == pytest.approx(np.abs(explicit).max())


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        (lambda t: t[:, 0], r"\(4, 2\) here; got \(4,\)"),
        (lambda t: np.hstack([t, t, t]), r"\(4, 2\) here; got \(4, 3\)"),
        (lambda t: np.hstack([t, np.nan * t]), "NaN or infinite"),
        (lambda t: np.ones((3, 3)) @ t, "failed or returned no numbers"),
    ],
)
def test_functions_that_do_not_fit_are_refused_when_bound(functions, message):
    with pytest.raises(DataError, match=message):
        FunctionBasis(functions, [1.0, 1.0]).bind(MU)


# -- the contract --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("basis", BASES, ids=repr)
def test_record(basis):
    assert clone(basis) == basis
    bound = basis.bind(MU, Gaussian(2.0))
    assert isinstance(bound, BoundBasis)
    assert bound == basis.bind(MU, Gaussian(2.0))
    assert copy.deepcopy(bound) == bound
    assert pickle.loads(pickle.dumps(bound)) == bound
    assert bound != LaplacianBasis(7).bind(MU)
    assert repr(bound).endswith(f"(size={len(bound)})")
    with pytest.raises(AttributeError):
        bound.spectrum = 1.0


@pytest.mark.parametrize("basis", [*BASES[:4], FunctionBasis(np.sin, [1.0], np.cos)], ids=repr)
def test_derivatives_are_limits_of_differences(basis):
    bound = basis.bind(MU, Gaussian(2.0))
    points, e = np.array([[0.05], [0.3], [0.77]]), 1e-5
    difference = (bound.evaluate(points + e) - bound.evaluate(points - e)) / (2 * e)
    np.testing.assert_allclose(bound.differentiate(points), difference, rtol=1e-6, atol=1e-6)


def test_no_derivatives_where_there_are_none():
    for bound in (LEGENDRE.bind(MU), NystromBasis().bind(MU, Laplacian(1.0))):
        assert not bound.differentiable
        with pytest.raises(UnsupportedError, match="HarmonicBasis"):
            bound.differentiate(THETA)


@pytest.mark.parametrize("basis", BASES[:4], ids=repr)
def test_other_array_libraries(basis):
    mu = MU.like(strict.asarray([0.0], dtype=strict.float64))
    bound, reference = basis.bind(mu, Gaussian(2.0)), basis.bind(MU, Gaussian(2.0))
    theta = strict.asarray(THETA)
    values = bound.evaluate(theta)
    assert isinstance(values, type(theta))
    signs = 1.0 if not isinstance(basis, NystromBasis) else np.sign(to_numpy(values)[0] * reference.evaluate(THETA)[0])
    np.testing.assert_allclose(to_numpy(bound.spectrum), reference.spectrum, atol=1e-12)
    np.testing.assert_allclose(to_numpy(values) * signs, reference.evaluate(THETA), atol=1e-9)
    np.testing.assert_allclose(to_numpy(bound.differentiate(theta)) * signs, reference.differentiate(THETA), atol=1e-8)
    assert bound.defect(mu) == pytest.approx(reference.defect(MU), abs=1e-9)


def test_single_precision_leaves_out_more():
    mu = GaussLegendre(30).build(np.zeros(1, dtype=np.float32))
    bound = NystromBasis().bind(mu, Gaussian(3.0))
    assert bound.spectrum.dtype == np.float32
    assert 3 < len(bound) < len(NystromBasis().bind(GaussLegendre(30).build(), Gaussian(3.0)))


@pytest.mark.parametrize("points", [np.zeros(3), np.zeros((3, 0))])
def test_points_are_rows(points):
    with pytest.raises(DataError, match="points"):
        HarmonicBasis(3).bind(MU).evaluate(points)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: NystromBasis(0), "size"),
        (lambda: NystromBasis(2.5), "size"),
        (lambda: NystromBasis(tolerance=0.0), "tolerance"),
        (lambda: FunctionBasis("sin", [1.0]), "functions"),
        (lambda: FunctionBasis(np.sin, [1.0, 0.0]), "spectrum"),
        (lambda: FunctionBasis(np.sin, [1.0, np.nan]), "spectrum"),
        (lambda: FunctionBasis(np.sin, []), "spectrum"),
        (lambda: FunctionBasis(np.sin, ["a"]), "spectrum"),
        (lambda: FunctionBasis(np.sin, [1.0], derivatives=3), "derivatives"),
    ],
)
def test_bad_values_are_refused(make, name):
    with pytest.raises((ParameterError, ParameterTypeError), match=f"{name} must be"):
        make()


def test_a_kernel_that_is_zero_has_no_eigenfunctions():
    zero = ExpansionKernel(FunctionBasis(lambda t: 0 * t, [1.0]).bind(MU))
    with pytest.raises(DataError, match="zero at all points"):
        NystromBasis().bind(MU, zero)


def test_weights_need_not_sum_to_one():
    mu = Points([0.2, 0.7], [2.0, 3.0]).build()
    basis = NystromBasis().bind(mu, Gaussian(1.0))
    assert basis.spectrum.sum() == pytest.approx(5.0)
    assert basis.defect(mu) < 1e-12
