"""Power transforms: against SciPy's, their inverse and slope, and the choice of the power."""

import numpy as np
import pytest
from scipy.stats import yeojohnson

from mercer.stages.powers import likeliest_power, yeo_johnson, yeo_johnson_inverse, yeo_johnson_log_slope

T = np.linspace(-3, 4, 41)


@pytest.mark.parametrize("power", [-1.5, 0.0, 0.3, 1.0, 2.0, 3.5])
def test_the_transform_is_that_of_scipy(power):
    np.testing.assert_allclose(yeo_johnson(T, power), yeojohnson(T, lmbda=power), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("power", [0.0, 0.3, 1.0, 1.7, 2.0])
def test_inverse_and_slope(power):
    np.testing.assert_allclose(yeo_johnson_inverse(yeo_johnson(T, power), power), T, atol=1e-12)
    slope = (yeo_johnson(T + 1e-6, power) - yeo_johnson(T - 1e-6, power)) / 2e-6
    np.testing.assert_allclose(np.exp(yeo_johnson_log_slope(T, power)), slope, rtol=1e-6)
    far = np.array([-40.0, 40.0])  # every number has a preimage: quantiles beyond the data have one
    assert np.all(np.isfinite(yeo_johnson_inverse(far, power)))


def test_the_likeliest_power_is_that_of_scipy():
    t = np.random.default_rng(0).gamma(2.0, size=400)
    t = (t - t.mean()) / t.std()
    assert abs(likeliest_power(t, np.linspace(-3, 5, 801)) - yeojohnson(t)[1]) < 0.02
