"""The norm of a kernel penalises Fourier transforms, and features go to their limit (Brault, 2017, 4.11 and 4.12)."""

import numpy as np
import pytest

from mercer.features import FourierKernel, RandomFourier
from mercer.kernels import Gaussian, Laplacian
from mercer.measures import Measure
from mercer.operator_valued import Decomposable, Indexed

GAMMA = np.array([[1.0, 0.6], [0.6, 2.0]])
X, C = np.array([[-0.7], [0.1], [0.4]]), np.array([[1.0, 0.3], [-0.5, 1.2], [0.8, -0.9]])
PLANE = Measure(np.arange(2.0), np.ones(2))


@pytest.mark.parametrize(
    ("kernel", "density", "end"),
    [
        (Gaussian(1.5), lambda omega: np.sqrt(np.pi / 1.5) * np.exp(-(omega**2) / 6.0), 30.0),
        (Laplacian(1.5), lambda omega: 3.0 / (1.5**2 + omega**2), 2000.0),
    ],
    ids=["gaussian", "laplacian"],
)
def test_the_norm_is_an_integral_over_frequencies(kernel, density, end):
    """‖f‖² = (1/2π)∫⟨F[f], A†F[f]⟩/ρ dω for f = Σ_i k(·, x_i)Γc_i, whose F[f] = ρ(ω)Γ Σ_i c_i exp(−iωx_i), A = Γ."""
    f = Decomposable(kernel, Indexed(GAMMA)).bind(PLANE).expand(X, C)
    omega = np.linspace(-end, end, 400_001)
    rho, waves = density(omega), np.exp(-1j * np.outer(omega, X[:, 0]))
    transform = rho[:, None] * (waves @ C @ GAMMA)
    penalty = np.einsum("ka,ab,kb->k", transform.conj(), np.linalg.inv(GAMMA), transform).real / rho
    assert np.trapezoid(penalty, omega) / (2 * np.pi) == pytest.approx(f.norm**2, rel=1e-3)


def test_features_of_a_density_become_its_function():
    """θ_j = g(ω_j)/√D: φ(x)·θ goes to ∫exp(iωx)g(ω)dρ and ‖θ‖² to ∫|g|²dρ, here g = 1 + cos ω in closed form."""
    kernel, at = Gaussian(0.5), np.array([[0.0], [0.7], [1.9]])  # ω is standard normal
    value = np.exp(-(at[:, 0] ** 2) / 2)
    value += (np.exp(-((at[:, 0] + 1) ** 2) / 2) + np.exp(-((at[:, 0] - 1) ** 2) / 2)) / 2
    norm = 1 + 2 * np.exp(-0.5) + (1 + np.exp(-2.0)) / 2
    errors = []
    for n_frequencies in (100, 100_000):
        waves = RandomFourier(n_frequencies, "iid", random_state=1).bind(kernel, at)
        waves = FourierKernel(kernel, waves.frequencies, np.zeros(1))  # cosines about 0, so that g is real
        g = 1 + np.cos(waves.frequencies[0])
        theta = np.concatenate([g, 0 * g]) / np.sqrt(n_frequencies)
        errors.append([np.abs(waves.features(at) @ theta - value).max(), abs(theta @ theta - norm)])
    assert np.max(errors[1]) < 0.01
    assert np.all(np.array(errors[1]) < np.array(errors[0]) / 3)
