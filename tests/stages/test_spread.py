"""The spread: leave-one-out against brute force, known spreads found, and no spread where there is none."""

import numpy as np
import pytest

from mercer.stages import learn_spread
from mercer.stages import spread as module
from mercer.stages.spread import SPREAD_FLOOR

RNG = np.random.default_rng(0)


def test_a_spread_that_grows():
    U = RNG.uniform(-1.7, 1.7, size=(600, 2))
    found = learn_spread(U, np.exp(0.8 * U[:, 0]) * RNG.normal(size=600))
    at = np.array([[-1.2, 0.0], [0.0, 0.0], [1.2, 0.0]])
    np.testing.assert_allclose(np.diff(np.log(found(at))), 0.96, atol=0.3)
    assert found.gain > 0.1


def test_no_spread_where_there_is_none():
    constant = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        U = rng.normal(size=(150, 4))
        found = learn_spread(U, rng.normal(size=150))
        constant += found.gain == 0
        assert np.ptp(np.log(found(U))) < 1.0
    assert constant >= 3


@pytest.mark.parametrize("weighted", [False, True])
def test_leaving_a_row_out(weighted, monkeypatch):
    """With all rows as landmarks, what is said of a row is what the other rows say."""
    monkeypatch.setattr(module, "SPREAD_PENALTIES", np.array([0.05]))
    monkeypatch.setattr(module, "SPREAD_LENGTHS", (1.0,))
    n = 50
    U = RNG.normal(size=(n, 1))
    r = np.exp(U[:, 0]) * RNG.normal(size=n)
    weight = RNG.uniform(0.5, 2.0, size=n) if weighted else np.ones(n)
    found = learn_spread(U, r, weight)
    assert found.gain > 0
    target = np.log(np.abs(r) + SPREAD_FLOOR * np.median(np.abs(r)))
    kernel = found.kernel(U)
    for i in (0, 20, 49):
        others = np.arange(n) != i
        share = (weight / weight.sum()) * others  # the same penalty in the same units, the row at weight 0
        c, b = _ridge(kernel, target, share, 0.05)
        left_out = kernel[i] @ c + b
        assert np.log(found.left_out[i]) == pytest.approx(left_out, abs=1e-6)


def _ridge(kernel, target, share, penalty):
    """min_c,b Σ share (target − Kc − b)² + penalty cᵀKc, by its normal equations."""
    n = len(target)
    S = np.diag(share)
    system = np.block(
        [[kernel @ S @ kernel + penalty * kernel, kernel @ share[:, None]], [share @ kernel, share.sum()]]
    )
    rhs = np.append(kernel @ (share * target), share @ target)
    solution = np.linalg.lstsq(system, rhs, rcond=1e-13)[0]
    return solution[:n], solution[n]


def test_residuals_of_zero_are_no_trouble():
    U = RNG.normal(size=(40, 1))
    found = learn_spread(U, np.zeros(40))
    assert found.gain == 0
    np.testing.assert_array_equal(found(U), found.left_out)
    half = np.where(np.arange(40) < 20, 0.0, RNG.normal(size=40))
    assert np.all(np.isfinite(learn_spread(U, half)(U)))
