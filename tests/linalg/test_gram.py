"""Every Gram operator against its dense matrix: what problems and solvers may ask of it."""

import numpy as np
import pytest

from mercer.exceptions import DataError, UnsupportedError
from mercer.kernels import Gaussian
from mercer.linalg import (
    Dense,
    FeatureGram,
    FlatGram,
    Gram,
    Kronecker,
    LowRank,
    OperatorGram,
    PairGram,
    PairKronecker,
    SumGram,
    Tensor,
    memory_limit,
)
from mercer.testing import check_operator

N, M = 6, 3
RNG = np.random.default_rng(0)
X = RNG.uniform(size=(N, 2))
T = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 0.7]])
A, B = RNG.normal(size=(2, N, M))
S, W = RNG.uniform(0.5, 2.0, N), RNG.uniform(0.2, 1.0, M)


def blocks(X, Z):
    """A kernel that does not decompose: a sum of two, with other lengths and other matrices."""
    return Gaussian(1.0)(X, Z)[:, :, None, None] * T + Gaussian(9.0)(X, Z)[:, :, None, None] * np.diag([0.3, 1.0, 2.0])


def pairs():
    rows, points = np.array([0, 0, 1, 2, 2, 4]), X[:, :1] ** 2
    return PairKronecker(PairGram(Gaussian(1.0).gram(X[:5]), Gaussian(5.0).gram(points), rows), Dense(T))


GRAMS = {
    "kronecker": lambda: Kronecker(Gaussian(1.0).gram(X), Dense(T)),
    "identity": lambda: Kronecker(Gaussian(1.0).gram(X), Dense(np.eye(M))),
    "low rank": lambda: Kronecker(LowRank(X), Tensor(Dense(np.eye(1)), T)),
    "pairs": pairs,
    "flat": lambda: FlatGram(Dense(np.kron(Gaussian(1.0)(X), T)), (N, M)),
    "operator": lambda: OperatorGram(blocks, X, M),
    "features": lambda: FeatureGram(np.random.default_rng(1).normal(size=(N, M, 4))),
    "sum": lambda: SumGram([Kronecker(Gaussian(1.0).gram(X), Dense(T)), Kronecker(LowRank(X), Dense(np.eye(M)))]),
}
kinds = pytest.mark.parametrize("kind", GRAMS)
weights = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])


def make(kind, weighted=True):
    gram = GRAMS[kind]()
    return gram.weighted(S, W) if weighted else gram


def metric(weighted):
    return np.outer(S, W).ravel() if weighted else np.ones(N * M)


@kinds
@weights
def test_every_gram_is_an_operator_in_its_geometry(kind, weighted):
    gram = make(kind, weighted)
    assert isinstance(gram, Gram)
    check_operator(gram, A)
    assert gram.inner(A, B) == pytest.approx(np.sum(metric(weighted) * A.ravel() * B.ravel()))
    plain = GRAMS[kind]().to_dense()
    np.testing.assert_allclose(gram.to_dense(), plain * metric(weighted), atol=1e-12)
    np.testing.assert_allclose(gram.weighted(None, None).to_dense(), plain, atol=1e-12)
    assert gram.norm2() == pytest.approx(np.max(np.linalg.eigvals(gram.to_dense()).real), rel=0.05)


@kinds
@weights
def test_sizes_bound_the_entries_of_the_kernel(kind, weighted):
    r, c = make(kind, weighted).sizes()
    assert (r.shape, c.shape) == ((N,), (M,))
    each = np.outer(r, c).ravel()
    plain = GRAMS[kind]().to_dense()
    assert np.all(np.abs(plain) <= np.outer(each, each) * (1 + 1e-12))
    assert np.any(np.abs(plain) >= 0.5 * np.outer(each, each))  # no idle bounds


@kinds
@weights
@pytest.mark.parametrize("tolerance", [0.0, 0.3])
def test_spectral_forms(kind, weighted, tolerance):
    gram = make(kind, weighted)
    spectral = gram.spectral(tolerance)
    images = [spectral.synthesise(spectral.spectrum * spectral.analyse(e.reshape(N, M))) for e in np.eye(N * M)]
    approximate = np.stack([image.ravel() for image in images], axis=1)
    left_out = np.trace(gram.to_dense() - approximate)
    assert -1e-10 <= left_out <= spectral.left_out + 1e-10 <= tolerance + 2e-10
    if tolerance == 0:
        np.testing.assert_allclose(approximate, gram.to_dense(), atol=1e-10)
    coordinates = spectral.analyse(A)
    assert coordinates.size == spectral.rank
    inside = spectral.synthesise(coordinates)
    assert gram.inner(inside, inside) == pytest.approx(np.sum(coordinates**2))  # Parseval
    np.testing.assert_allclose(spectral.analyse(inside), coordinates, atol=1e-10)


@kinds
def test_blocks_of_rows_and_constants(kind):
    gram = make(kind)
    spectral = gram.spectral()
    coordinates = spectral.analyse(A)
    rows = [slice(0, 2), slice(2, 5), slice(5, 6)]
    total = sum(spectral.part(np.ascontiguousarray(A[block]), block) for block in rows)
    np.testing.assert_allclose(spectral.collect(total), coordinates, atol=1e-12)
    out = np.empty_like(A)
    spread = spectral.spread(coordinates)
    for block in rows:
        spectral.rows(spread, block, out[block])
    np.testing.assert_allclose(out, spectral.synthesise(coordinates), atol=1e-12)
    row = RNG.normal(size=M)
    np.testing.assert_allclose(spectral.constant(row), spectral.analyse(np.tile(row, (N, 1))), atol=1e-12)
    sums = W * (S @ spectral.synthesise(coordinates))
    np.testing.assert_allclose(spectral.constant_sums(coordinates), sums, atol=1e-12)
    gain = RNG.uniform(size=spectral.spectrum.shape)
    C = np.stack([spectral.constant(unit).ravel() for unit in np.eye(M)], axis=1)
    np.testing.assert_allclose(spectral.constant_gram(gain), C.T @ (gain.ravel()[:, None] * C), atol=1e-12)
    system = S.sum() * np.diag(W) - spectral.constant_gram(gain)
    solver = spectral.constant_solver(1 - gain, W, S.sum())
    np.testing.assert_allclose(solver(row), np.linalg.solve(system, row), atol=1e-10)


@kinds
@weights
@pytest.mark.parametrize("direct", [True, False])
def test_shifted_solves(kind, weighted, direct):
    """Against the dense system, bordered by Σ_i s_i a_i = 0 where that is asked for."""
    gram, shift = make(kind, weighted), 0.3
    s = S if weighted else np.ones(N)
    matrix = gram.to_dense() + shift * np.eye(N * M)
    with memory_limit(2**30 if direct else 1):
        if not direct and gram.decomposes:
            pytest.skip("a product of small matrices has no iterative way")
        found, centred = gram.shifted_solve(shift, A), gram.shifted_solve(shift, A, centred=True)
    np.testing.assert_allclose(found.ravel(), np.linalg.solve(matrix, A.ravel()), atol=1e-9)
    ones = np.kron(np.ones((N, 1)), np.eye(M))
    sums = np.kron(s[None, :], np.eye(M))
    bordered = np.block([[matrix, ones], [sums, np.zeros((M, M))]])
    expected = np.linalg.solve(bordered, np.concatenate([A.ravel(), np.zeros(M)]))[: N * M]
    np.testing.assert_allclose(centred.ravel(), expected, atol=1e-9)


@kinds
def test_thin_features(kind):
    gram = make(kind)
    observed = RNG.random((N, M)) < 0.7
    features = gram.features(0.0, scale=2.0, observed=observed)
    whitened = gram.whiten(A)
    np.testing.assert_allclose(
        gram.unwhiten(features.synthesise(features.analyse(whitened))), 2.0 * (gram @ A), atol=1e-9
    )
    beta = RNG.normal(size=features.spectrum.shape)
    assert np.sum(features.synthesise(beta) * whitened) == pytest.approx(np.sum(beta * features.analyse(whitened)))


@kinds
def test_blocks_of_thin_features_are_those_of_the_masked_operator(kind):
    if kind == "pairs":
        pytest.skip("a block of pairs is exact for complete vectors only; see the tests of the closed form")
    gram = make(kind)
    observed = RNG.random((N, M)) < 0.7
    direction = np.where(observed, np.sqrt(S)[:, None], 0.0)
    direction /= np.linalg.norm(direction, axis=0)
    features = gram.features(0.0, observed=observed)
    (_, spectrum), *_ = features.groups
    counts = np.full(spectrum.shape[1], spectrum.shape[0])
    shape = features.spectrum.shape
    order = [(a, b) for b in range(shape[1]) for a in range(shape[0])]
    Phi = np.stack([features.synthesise(np.eye(shape[0])[:, [a]] * np.eye(shape[1])[[b]]).ravel() for a, b in order], 1)
    keep = np.diag(observed.ravel().astype(float))
    Q = np.stack([np.where(np.arange(M) == j, direction, 0.0).ravel() for j in range(M)], 1)
    block = features.block(0, counts, direction)
    expected = Phi.T @ (keep - Q @ Q.T) @ Phi
    np.testing.assert_allclose(np.tril(block), np.tril(expected), atol=1e-9)


@kinds
def test_entries_and_parts(kind):
    gram = make(kind)
    rows, columns = np.array([0, 2, 2, 5]), np.array([1, 0, 2, 1])
    root = np.sqrt(metric(True))
    whitened = gram.to_dense() * root[:, None] / root
    flat = rows * M + columns
    np.testing.assert_allclose(gram.entries(rows, columns), whitened[np.ix_(flat, flat)], atol=1e-12)
    part = gram.taken(np.array([1, 1, 3]), np.array([2, 0]))
    which = (np.array([1, 1, 3])[:, None] * M + np.array([2, 0])).ravel()
    np.testing.assert_allclose(part.to_dense(), GRAMS[kind]().to_dense()[np.ix_(which, which)], atol=1e-12)
    assert part.array_shape == (3, 2)


@kinds
def test_what_is_kept_is_kept_by_another_gram(kind):
    gram = make(kind)
    before = gram.__dict__.copy()
    kept = gram.decomposed(0.1)
    assert kept.spectral(0.1) is kept.spectral(0.5) is kept.decomposed(0.2).spectral(0.3)
    assert kept.spectral(0.0) is not kept.spectral(0.1)  # a more exact one is computed anew
    gram.spectral(0.0), gram.to_dense(), gram.features(0.0), gram.stored(), gram.featured(0.1)
    assert gram.__dict__ == before
    np.testing.assert_allclose(gram.stored() @ A, gram @ A, atol=1e-12)
    assert gram.stored(1) is gram
    again = gram.featured(0.1)
    assert again.featured(0.2) is again


def test_costs_say_what_is_cheaper():
    assert make("identity", weighted=False).costs.factorisation < make("kronecker").costs.factorisation == np.inf
    assert make("operator").costs.factorisation < make("operator").costs.decomposition


def test_large_matrices_are_refused_with_a_remedy():
    with memory_limit(500):
        with pytest.raises(UnsupportedError, match=r"kernel matrix of 6 rows.* memory budget .*memory_limit"):
            make("kronecker").spectral()
        with pytest.raises(UnsupportedError, match="kernel matrix of 6 rows"):
            make("identity", weighted=False).shifted_solve(1.0, A)


def test_operator_grams_never_form_their_matrix(monkeypatch):
    """Products by blocks of rows; a thin basis from columns on demand."""
    n = 150
    points = np.random.default_rng(2).uniform(size=(n, 1))

    def smooth(X, Z):
        return Gaussian(1.0)(X, Z)[:, :, None, None] * T + Gaussian(2.0)(X, Z)[:, :, None, None]

    gram = OperatorGram(smooth, points, M)
    whole = gram.to_dense()
    monkeypatch.setattr(type(gram._operator), "_dense", None)
    monkeypatch.setattr("mercer.linalg.operator_gram.BLOCK_BYTES", 8 * M**2 * n * 7)
    array = np.random.default_rng(3).normal(size=(n, M))
    np.testing.assert_allclose((gram @ array).ravel(), whole @ array.ravel(), atol=1e-10)
    spectral = gram.spectral(1e-6)
    assert spectral.rank < 60
    smoothed = spectral.synthesise(spectral.spectrum * spectral.analyse(array))
    np.testing.assert_allclose(smoothed, gram @ array, atol=1e-4)


def test_bad_operators_are_refused():
    with pytest.raises(DataError, match=r"shape \(n, m, D\); got \(2, 3\)"):
        FeatureGram(np.ones((2, 3)))
    with pytest.raises(DataError, match="arrays of one shape"):
        SumGram([make("flat"), FlatGram(Dense(np.eye(4)), (2, 2))])
    with pytest.raises(DataError, match=r"arrays of shape \(2, 3\) do not fit"):
        FlatGram(Dense(np.eye(5)), (2, 3))
    with pytest.raises(DataError, match=r"blocks must return shape .* = \(6, 6, 2, 2\) .* got \(6, 6, 3, 3\)"):
        OperatorGram(blocks, X, 2) @ np.ones((N, 2))
    with pytest.raises(DataError, match=r"left must have shape \(6, 6\)"):
        make("kronecker").with_factors(left=Dense(np.eye(2)))


@pytest.mark.parametrize("kind", ["flat", "operator"])
def test_what_does_not_decompose_says_so(kind):
    gram = make(kind)
    for call in (lambda: gram.input_basis(0.0, True), gram.output_basis, gram.with_factors, gram.spectral().factors):
        with pytest.raises(UnsupportedError, match="does not decompose"):
            call()


def test_other_factors_with_the_same_weights():
    gram = make("kronecker")
    other = gram.with_factors(right=Dense(np.eye(M)))
    expected = Kronecker(Gaussian(1.0).gram(X), Dense(np.eye(M)), S, W)
    np.testing.assert_allclose(other @ A, expected @ A, atol=1e-12)
    np.testing.assert_allclose(other.weighted(None, None) @ A, Gaussian(1.0)(X) @ A, atol=1e-12)


@pytest.mark.parametrize("m", [2, 3, 51, 94, 200, 201, 259])
def test_diagonal_matrices_of_any_size_are_multiples_of_the_identity(m):
    """W^½ diag(1/w) W^½ is the identity but for rounding, however many nodes there are."""
    w = np.random.default_rng(m).uniform(0.5, 1.5, m) / m
    gram = Kronecker(Dense(np.eye(2)), Dense(np.diag(1 / w)), None, w)
    assert gram.columns_alike
    assert gram.costs.factorisation < gram.costs.decomposition


def test_what_was_kept_of_other_factors_is_forgotten():
    gram = pairs().weighted(S, W).featured(1e-9)
    other = PairGram(Gaussian(9.0).gram(X[:5]), Gaussian(2.0).gram(X[:, :1]), np.array([0, 0, 1, 2, 2, 4]))
    changed = gram.with_factors(left=other)
    features = changed.features(1e-9)
    found = changed.unwhiten(features.synthesise(features.analyse(changed.whiten(A))))
    np.testing.assert_allclose(found, changed @ A, atol=1e-6)


def test_the_memory_budget_limits_what_is_stored():
    gram = GRAMS["kronecker"]()
    with memory_limit(100):
        assert gram.stored(10**9) is gram
        assert not pairs().direct
    assert gram.stored(10**9) is not gram
    assert pairs().direct


def test_weights_of_terms_do_not_count_in_a_sum():
    terms = [GRAMS["kronecker"](), GRAMS["flat"]()]
    weighted = [term.weighted(S, W) for term in terms]
    np.testing.assert_allclose(SumGram(weighted) @ A, SumGram(terms) @ A, atol=1e-12)


def test_features_of_other_arrays():
    strict = pytest.importorskip("array_api_strict")
    Phi = np.random.default_rng(1).normal(size=(N, M, 4))
    expected = FeatureGram(Phi).features(0.0)
    found = FeatureGram(strict.asarray(Phi)).features(0.0)
    image = found.synthesise(found.analyse(strict.asarray(A)))
    np.testing.assert_allclose(np.asarray(image), expected.synthesise(expected.analyse(A)), atol=1e-12)
