"""Cosines and sines: closed forms against fine quadrature and the printed values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from mercer.exceptions import DataError, ParameterError, ParameterTypeError
from mercer.kernels import Gaussian, Laplacian
from mercer.measures import GaussLegendre, Grid, Measure, MonteCarlo, Points
from mercer.operator_valued import ExpansionKernel, FourierFeatureBasis, HarmonicBasis, LaplacianBasis
from mercer.operator_valued.trigonometric import fourier_eigenpairs, fourier_moments, laplacian_roots

MU = GaussLegendre(60).build()
THETA = np.linspace(0, 1, 9)[:, None]


def interval(low, high, size=60):
    """The uniform probability measure on [low, high]."""
    return GaussLegendre(size, stats.uniform(low, high - low)).build()


def panels(low, high, size=400, degree=8):
    """The same, by Gauss–Legendre on panels, whose ends take up the kinks of a kernel at ``THETA``."""
    nodes, weights = np.polynomial.legendre.leggauss(degree)
    ends = np.linspace(low, high, size + 1)
    points = (ends[:-1, None] + (nodes + 1) / 2 * (high - low) / size).ravel()
    return Measure(points, np.tile(weights / 2 / size, size))


# -- Laplacian -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gamma", "roots", "spectrum"),
    [
        (
            1.0,
            [1.306542, 3.673194, 6.584620, 9.631685, 12.723241],
            [0.738811, 0.138004, 0.045088, 0.021329, 0.012279],
        ),
        (3.0, [1.976481, 4.349252, 7.084333], [0.464883, 0.214931, 0.101372]),
    ],
)
def test_laplacian_printed_values(gamma, roots, spectrum):
    np.testing.assert_allclose(laplacian_roots(len(roots), gamma), roots, atol=5e-7)
    np.testing.assert_allclose(LaplacianBasis(len(roots), gamma).bind(MU).spectrum, spectrum, atol=5e-7)


@given(st.floats(-8, 8))
def test_laplacian_roots_solve_the_equation_in_their_brackets(exponent):
    gamma, j = 10.0**exponent, np.arange(1, 30)
    c = laplacian_roots(29, gamma)
    assert np.all((c > (j - 1) * np.pi) & (c < j * np.pi))
    error = 2 * gamma * c * np.cos(c) - (c**2 - gamma**2) * np.sin(c)
    np.testing.assert_allclose(error / (c**2 + gamma**2), 0, atol=1e-13)


@pytest.mark.parametrize(("gamma", "domain"), [(1.0, (0.0, 1.0)), (3.0, (0.0, 1.0)), (0.7, (-1.0, 4.0))])
def test_laplacian_functions_are_eigenfunctions(gamma, domain):
    mu = panels(*domain)
    basis = LaplacianBasis(6, gamma, domain).bind(mu)
    assert basis.defect(mu) < 1e-12
    length = domain[1] - domain[0]
    # also beyond the ends, where the integral equation continues the functions
    theta = domain[0] + length * np.array([[-0.5], [-0.1], [0.0], [0.25], [0.5], [1.0], [1.3]])
    image = Laplacian(gamma)(theta, mu.points) @ (mu.weights[:, None] * basis.evaluate(mu.points))
    np.testing.assert_allclose(image, basis.evaluate(theta) * basis.spectrum, atol=1e-8)


def test_laplacian_spectrum_sums_to_the_trace():
    basis = LaplacianBasis(400, 2.0, (0.0, 3.0)).bind(interval(0.0, 3.0))
    assert 1 - basis.spectrum.sum() == pytest.approx(2 * 6 / (np.pi**2 * 400), rel=1e-2)  # the tail Σ 2γ/(πj)²
    truncated = ExpansionKernel(basis)(3 * THETA)
    np.testing.assert_allclose(truncated, Laplacian(2.0)(3 * THETA), atol=1e-2)


def test_laplacian_derivatives_beyond_the_ends():
    basis = LaplacianBasis(4, 2.0, (0.0, 2.0)).bind(interval(0.0, 2.0))
    points, e = np.array([[-0.3], [0.4], [2.5]]), 1e-6
    difference = (basis.evaluate(points + e) - basis.evaluate(points - e)) / (2 * e)
    np.testing.assert_allclose(basis.differentiate(points), difference, atol=1e-7)


# -- harmonics -----------------------------------------------------------------------------------------------------


def test_harmonics_one_by_one():
    basis = HarmonicBasis(6, decay=1.5, domain=(1.0, 3.0)).bind(interval(1.0, 3.0))
    u = THETA[:, 0]
    expected = [np.ones(9)]
    for number in (1, 2, 3):
        expected += [np.sqrt(2) * np.cos(2 * np.pi * number * u), np.sqrt(2) * np.sin(2 * np.pi * number * u)]
    np.testing.assert_allclose(basis.evaluate(1 + 2 * THETA), np.stack(expected[:6], axis=1), atol=1e-12)
    np.testing.assert_allclose(basis.spectrum, [1, *np.repeat([2**-1.5, 3**-1.5], 2), 4**-1.5])


@pytest.mark.parametrize("constant", [True, False])
def test_harmonics_are_orthonormal(constant):
    basis = HarmonicBasis(16, constant=constant)
    assert basis.bind(MU).defect(MU) < 1e-12
    periodic = Points(np.arange(17) / 17).build()
    assert basis.bind(periodic).defect(periodic) < 1e-12
    coarse = Points(np.arange(15) / 15).build()
    assert basis.bind(coarse).defect(coarse) > 0.5


def test_harmonics_without_constant_are_the_published_periodic_kernel():
    basis = HarmonicBasis(16, constant=False).bind(MU)
    number = np.arange(1, 9)
    np.testing.assert_allclose(basis.spectrum, np.repeat(1 / (1 + number) ** 2, 2))
    difference = (THETA - THETA.T)[..., None]
    kernel = np.sum(2 / (1 + number) ** 2 * np.cos(2 * np.pi * number * difference), axis=2)
    np.testing.assert_allclose(ExpansionKernel(basis)(THETA), kernel, atol=1e-12)


# -- random features -----------------------------------------------------------------------------------------------


def test_fourier_printed_values():
    frequencies = np.array([[1.0], [2.5]])
    np.testing.assert_allclose(fourier_moments(frequencies)[0], [0.727324, 0.282386, 0.354037, 0.586391], atol=5e-7)
    spectrum = fourier_eigenpairs(frequencies, 1e-10)[0]
    np.testing.assert_allclose(spectrum, [0.760511, 0.229658, 0.009704, 0.000127], atol=5e-7)


def test_fourier_moments_on_a_square():
    frequencies = np.array([[1.0, -0.5], [0.0, 2.0], [1.0, 3.0]])
    grid = np.stack(np.meshgrid(MU.locations, MU.locations), axis=-1).reshape(-1, 2)
    weights = np.outer(MU.weights, MU.weights).ravel()
    features = np.hstack([np.cos(grid @ frequencies.T), np.sin(grid @ frequencies.T)])
    np.testing.assert_allclose(fourier_moments(frequencies), (features.T * weights) @ features, atol=1e-13)


@pytest.mark.parametrize("domain", [(0.0, 1.0), (-2.0, 1.0)])
def test_fourier_functions_are_eigenfunctions(domain):
    mu, gamma = interval(*domain), 5.0
    record = FourierFeatureBasis(None, 12, gamma, random_state=3, domain=domain)
    basis = record.bind(mu)
    assert basis.defect(mu) < 1e-5  # the last functions divide rounding by 1e-10
    assert FourierFeatureBasis(5, 12, gamma, random_state=3, domain=domain).bind(mu).defect(mu) < 1e-12
    assert np.all(np.diff(basis.spectrum) < 0)
    assert basis.spectrum.sum() == pytest.approx(1)
    frequencies = np.sqrt(2 * gamma) * np.random.default_rng(3).normal(size=12)
    kernel = np.cos((THETA - MU.points.T)[..., None] * frequencies).mean(axis=2)
    np.testing.assert_allclose(ExpansionKernel(basis)(THETA, MU.points), kernel, atol=1e-8)


def test_fourier_functions_approach_the_gaussian_kernel():
    few, many = (
        np.abs(
            ExpansionKernel(FourierFeatureBasis(None, size, 5.0, random_state=0).bind(MU))(THETA) - Gaussian(5.0)(THETA)
        ).max()
        for size in (10, 200)
    )
    assert 2 * many < few < 0.5


def test_fourier_boxes():
    mu = MonteCarlo(20, dimension=2).build(rng=0)
    common = FourierFeatureBasis(4, 9, random_state=1).bind(mu)
    assert common == FourierFeatureBasis(4, 9, random_state=1, domain=[(0, 1), (0, 1)]).bind(mu)
    wide = Measure(mu.points * np.array([3.0, 1.0]), mu.weights)
    box = FourierFeatureBasis(4, 9, random_state=1, domain=[(0.0, 3.0), (0.0, 1.0)]).bind(wide)
    grid = np.stack(np.meshgrid(3 * MU.locations, MU.locations), axis=-1).reshape(-1, 2)
    assert box.defect(Measure(grid, np.outer(MU.weights, MU.weights).ravel())) < 1e-9
    with pytest.raises(DataError, match="2 intervals, but points have dimension 1"):
        FourierFeatureBasis(domain=[(0, 1), (0, 1)]).bind(MU)
    with pytest.raises(DataError, match="must have 2 columns; got 1"):
        common.evaluate(THETA)


def test_fourier_seed():
    first, second = (FourierFeatureBasis(4, random_state=seed).bind(MU) for seed in (0, 1))
    assert first == FourierFeatureBasis(4, random_state=0).bind(MU)
    assert first != second


# -- domains and values --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "basis", [LaplacianBasis(3), HarmonicBasis(3), FourierFeatureBasis(3, random_state=0)], ids=repr
)
def test_points_beyond_the_domain_are_refused(basis):
    grid = Grid([0.0, 1.0, 4.0]).build()
    with pytest.raises(DataError, match=r"span \[0, 4\], beyond domain=\(0.0, 1.0\)"):
        basis.bind(grid)
    assert len(basis.replace(domain=(0.0, 4.0)).bind(grid)) == 3


@pytest.mark.parametrize("basis", [LaplacianBasis(3), HarmonicBasis(3)], ids=repr)
def test_intervals_are_on_the_line(basis):
    with pytest.raises(DataError, match=r"dimension 2.*NystromBasis"):
        basis.bind(MonteCarlo(5, dimension=2).build(rng=0))


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: LaplacianBasis(0), "size"),
        (lambda: LaplacianBasis(3, -1.0), "gamma"),
        (lambda: LaplacianBasis(3, domain=(1.0, 0.0)), "domain"),
        (lambda: LaplacianBasis(3, domain=[(0.0, 1.0)]), "domain"),
        (lambda: HarmonicBasis(3, decay=-1), "decay"),
        (lambda: HarmonicBasis(3, constant=1), "constant"),
        (lambda: HarmonicBasis(3, domain=(0.0, np.inf)), "domain"),
        (lambda: HarmonicBasis(3, domain="unit"), "domain"),
        (lambda: FourierFeatureBasis(n_frequencies=0), "n_frequencies"),
        (lambda: FourierFeatureBasis(size=0), "size"),
        (lambda: FourierFeatureBasis(gamma=0), "gamma"),
        (lambda: FourierFeatureBasis(tolerance=1.0), "tolerance"),
        (lambda: FourierFeatureBasis(domain=[(0, 1, 2)]), "domain"),
    ],
)
def test_bad_values_are_refused(make, name):
    with pytest.raises((ParameterError, ParameterTypeError), match=f"{name} must be"):
        make()
