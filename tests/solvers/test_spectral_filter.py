"""Interpolated filters: the promised relative accuracy, for any spectrum and any t above the smallest."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.solvers.spectral_filter import ACCURACY, compress_spectrum


def worst_error(sigma, smallest, n_filters=50):
    """Largest relative error over all eigenvalues and many t, each filter value on its own."""
    spectrum = compress_spectrum(sigma, smallest, n_filters)
    covered = np.sort(np.concatenate([np.arange(a.start, a.stop) for a, _, _ in spectrum.blocks]))
    np.testing.assert_array_equal(covered, np.arange(len(sigma)))
    worst = 0.0
    for t in smallest * np.logspace(0, 12, 49):
        for a, k, weights in spectrum.blocks:
            exact = t / (t + sigma[a])
            worst = max(worst, np.max(np.abs(weights @ spectrum.filters(np.array(t))[k] / exact - 1)))
    return worst


@given(
    st.lists(st.floats(-12, 4), min_size=1, max_size=60),
    st.integers(0, 3),
    st.floats(-10, 6),
    st.integers(1, 12),
)
def test_every_filter_value_has_the_promised_accuracy(exponents, zeros, smallest, copies):
    sigma = np.sort(np.concatenate([np.zeros(zeros), np.repeat(10.0 ** np.array(exponents), copies)]))
    assert worst_error(sigma, 10.0**smallest) <= 1.1 * ACCURACY


@pytest.mark.parametrize("smallest", [1e-8, 1e-3, 1.0, 1e4, 1e12])
def test_few_nodes_for_many_eigenvalues(smallest):
    sigma = np.geomspace(1e-4, 1e3, 2000)
    assert worst_error(sigma, smallest) <= 1.1 * ACCURACY
    spectrum = compress_spectrum(sigma, smallest, 50)
    assert len(spectrum.nodes) < 400
    work = sum(weights.size for _, _, weights in spectrum.blocks) / len(sigma)
    assert work <= 13  # columns for each product, not one for each λ


def test_a_spectrum_far_below_t_needs_two_nodes_at_most():
    spectrum = compress_spectrum(np.linspace(0, 1, 500), 1e6, 50)
    assert len(spectrum.nodes) <= 2
