"""Single entries of spectral forms, and columns of Gram matrices, against dense matrices."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial
from mercer.linalg import PSD, Dense, FlatGram, Kronecker, LowRank

RNG = np.random.default_rng(0)
X, THETA = RNG.normal(size=(12, 2)), RNG.uniform(size=(4, 1))
S, W = RNG.uniform(0.5, 2, size=12), RNG.uniform(0.1, 1, size=4)
LEFT, RIGHT = Gaussian(0.7)(X), Gaussian(4.0)(THETA)
WHOLE = np.einsum("ij,kl->ikjl", LEFT, RIGHT).reshape(48, 48)
ROWS, COLUMNS = np.array([0, 3, 3, 11, 7]), np.array([1, 0, 2, 3, 3])
FLAT = ROWS * 4 + COLUMNS


@pytest.fixture(params=["product", "flat"])
def gram(request):
    if request.param == "product":
        return Kronecker(Dense(LEFT, PSD), Dense(RIGHT, PSD)).weighted(S, W)
    return FlatGram(Dense(WHOLE, PSD), (12, 4)).weighted(S, W)


def test_blocks_are_those_of_the_kernel_without_weights(gram):
    block = gram.spectral().entry_block(ROWS, COLUMNS)
    assert block == pytest.approx(WHOLE[np.ix_(FLAT, FLAT)], abs=1e-12)


def test_features_make_the_blocks(gram):
    spectral = gram.spectral()
    features = spectral.entry_features(ROWS, COLUMNS, np.arange(spectral.rank))
    assert features.T @ features == pytest.approx(WHOLE[np.ix_(FLAT, FLAT)], abs=1e-12)
    few = spectral.entry_features(ROWS, COLUMNS, np.array([3, 0]))
    assert few == pytest.approx(features[[3, 0]])


def test_values_are_those_of_the_whole_array(gram):
    spectral = gram.spectral()
    coordinates = RNG.normal(size=spectral.spectrum.shape)
    values = spectral.entry_values(coordinates, ROWS, COLUMNS)
    assert values == pytest.approx(spectral.synthesise(coordinates)[ROWS, COLUMNS], abs=1e-12)


def test_stored_entries_are_cheap_and_whitened(gram):
    root = np.sqrt(S[ROWS] * W[COLUMNS])
    expected = WHOLE[np.ix_(FLAT, FLAT)] * root * root[:, None]
    assert gram.entries(ROWS, COLUMNS) == pytest.approx(expected, abs=1e-12)
    assert np.isfinite(gram.costs.entry)
    assert np.isinf(Kronecker(Gaussian(0.7).gram(X), Dense(RIGHT, PSD)).costs.entry)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize(
    "kernel",
    [Gaussian(0.3), Gaussian([0.1, 2.0]), Laplacian(0.5), Matern(2.5, 1.0), Polynomial(degree=2), Linear()],
    ids=repr,
)
@pytest.mark.parametrize("dimension", [1, 2, 20])
def test_columns(kernel, scaled, dimension):
    if dimension != 2 and kernel == Gaussian([0.1, 2.0]):
        pytest.skip("one scale for each of two columns")
    points = np.random.default_rng(dimension).normal(size=(15, dimension)) + 100.0
    operator = Kronecker(kernel.gram(points), Dense(np.eye(1), PSD)).weighted(
        S.repeat(2)[:15] if scaled else None, None
    )
    dense, column = operator.left.to_dense(), operator.left.columns()
    for index in (0, 7, 14):
        assert column(index) == pytest.approx(dense[:, index], rel=1e-9)
        assert operator.left.column(index) == pytest.approx(dense[:, index], rel=1e-9)


def test_a_low_rank_operator_has_columns():
    factor = RNG.normal(size=(6, 2))
    assert LowRank(factor).columns()(4) == pytest.approx((factor @ factor.T)[:, 4])
