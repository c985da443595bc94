"""Kernels on objects: equal to brute-force definitions, symmetric and positive semi-definite, and what they refuse."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from mercer.exceptions import DataError, ParameterError, ParameterTypeError, UnsupportedError
from mercer.kernels import Gaussian, Linear, Precomputed
from mercer.kernels.objects import (
    Agreement,
    Centred,
    EditSimilarity,
    EmpiricalMap,
    FeatureGaussian,
    Graph,
    Intersection,
    Jaccard,
    Kendall,
    Normalised,
    ObjectFunction,
    ObjectSum,
    OnVectors,
    PairFunction,
    Spectrum,
    Tanimoto,
    TanimotoGaussian,
    WeisfeilerLehman,
    as_object_kernel,
    as_objects,
    take_objects,
)

words = st.lists(st.text("ab", max_size=5), min_size=2, max_size=6)
sets = st.lists(st.frozensets(st.integers(0, 4)), min_size=2, max_size=6)
seeds = st.integers(0, 10_000)


def bits(seed, n=6, d=11, share=0.4):
    return (np.random.default_rng(seed).random((n, d)) < share).astype(int)


def graphs(seed, n=5):
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        size = int(rng.integers(1, 6))
        adjacency = np.triu(rng.random((size, size)) < 0.5, 1)
        found.append(Graph.from_adjacency(adjacency | adjacency.T, rng.choice(list("CNO"), size).tolist()))
    return found


def positive(matrix):
    np.testing.assert_array_equal(matrix, matrix.T)
    values = np.linalg.eigvalsh(matrix)
    return values[0] >= -1e-9 * max(values[-1], 1.0)


def pairs(function, left, right):
    return np.array([[function(y, z) for z in right] for y in left], dtype=float)


def consistent(kernel, objects):
    """Blocks, columns, diagonal and positivity of one kernel on a sample."""
    matrix = kernel(objects)
    assert positive(matrix)
    np.testing.assert_allclose(kernel(objects, take_objects(objects, [1, 0])), matrix[:, [1, 0]], atol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(objects), np.diagonal(matrix), atol=1e-12)
    np.testing.assert_allclose(kernel.columns(objects)(1), matrix[:, 1], atol=1e-12)
    if kernel.explicit:
        features = kernel.features(objects)
        np.testing.assert_allclose(features @ features.T, matrix, atol=1e-12)
    return matrix


def tanimoto(y, z):
    either = np.sum((y > 0) | (z > 0))
    return np.sum((y > 0) & (z > 0)) / either if either else 1.0


@given(seeds)
def test_tanimoto_is_bits_in_common_over_bits_in_either(seed):
    B = bits(seed)
    B[0] = 0
    expected = pairs(tanimoto, B, B)
    np.testing.assert_allclose(consistent(Tanimoto(), B), expected, atol=1e-12)
    np.testing.assert_allclose(consistent(Tanimoto(), scipy.sparse.csr_matrix(B)), expected, atol=1e-12)
    np.testing.assert_allclose(consistent(Tanimoto(packed=True), np.packbits(B, axis=1)), expected, atol=1e-12)
    np.testing.assert_allclose(Tanimoto()(scipy.sparse.csr_array(B), B), expected, atol=1e-12)
    np.testing.assert_allclose(consistent(TanimotoGaussian(gamma=0.7), B), np.exp(-1.4 * (1 - expected)), atol=1e-12)
    np.testing.assert_allclose(FeatureGaussian(Tanimoto(), gamma=0.7)(B), np.exp(-1.4 * (1 - expected)), atol=1e-12)


def test_packed_fingerprints_in_several_blocks(monkeypatch):
    monkeypatch.setattr("mercer.kernels.objects.fingerprints.BLOCK_BITS", 40)
    B = bits(3, n=9)
    np.testing.assert_array_equal(Tanimoto(packed=True)(np.packbits(B, axis=1)), Tanimoto()(B))


@given(sets)
def test_sets(objects):
    np.testing.assert_array_equal(consistent(Intersection(), objects), pairs(lambda y, z: len(y & z), objects, objects))
    jaccard = pairs(lambda y, z: len(y & z) / len(y | z) if y | z else 1.0, objects, objects)
    np.testing.assert_allclose(consistent(Jaccard(), objects), jaccard)


@given(words, st.integers(1, 3), st.booleans())
def test_spectrum_counts_substrings(objects, length, shorter):
    def counts(word):
        sizes = range(1, length + 1) if shorter else [length]
        return Counter(word[i : i + k] for k in sizes for i in range(len(word)) if i + k <= len(word))

    def brute(s, t):
        return sum(value * counts(t)[u] for u, value in counts(s).items())

    matrix = consistent(Spectrum(length, shorter), objects)
    np.testing.assert_array_equal(matrix, pairs(brute, objects, objects))
    np.testing.assert_array_equal(Spectrum(length, shorter)([list(word) for word in objects]), matrix)


def levenshtein(s, t):
    if not s or not t:
        return len(s) + len(t)
    return min(levenshtein(s[1:], t) + 1, levenshtein(s, t[1:]) + 1, levenshtein(s[1:], t[1:]) + (s[0] != t[0]))


@given(words)
def test_edit_similarity_is_of_the_levenshtein_distance_and_its_empirical_map_positive(objects):
    distances = pairs(levenshtein, objects, objects)
    np.testing.assert_allclose(EditSimilarity(0.3, relative=False)(objects), np.exp(-0.3 * distances))
    longer = np.maximum(pairs(lambda s, t: max(len(s), len(t)), objects, objects), 1)
    similarity = EditSimilarity(0.3)
    np.testing.assert_allclose(similarity(objects), np.exp(-0.3 * distances / longer))
    mapped = EmpiricalMap(similarity).adapt(objects)
    S = similarity(objects)
    np.testing.assert_allclose(consistent(mapped, objects), S @ S.T / len(objects), atol=1e-12)


def test_edit_similarity_is_no_kernel():
    """The docstring says so: here are words with a negative eigenvalue."""
    rng = np.random.default_rng(0)
    objects = ["".join(rng.choice(list("ab"), rng.integers(0, 6))) for _ in range(60)]
    assert np.linalg.eigvalsh(EditSimilarity(0.1, relative=False)(objects))[0] < -1e-3


@given(seeds)
def test_kendall_is_concordant_less_discordant_pairs(seed):
    rng = np.random.default_rng(seed)
    ranks = rng.integers(0, 5, size=(5, 4)).astype(float)
    ranks[0, 1] = np.nan

    def brute(y, z):
        total = 0.0
        for a in range(4):
            for b in range(a):
                if not np.isnan(y[[a, b]]).any() and not np.isnan(z[[a, b]]).any():
                    total += np.sign(y[a] - y[b]) * np.sign(z[a] - z[b])
        return total / 6

    np.testing.assert_allclose(consistent(Kendall(), ranks), pairs(brute, ranks, ranks), atol=1e-12)
    B = bits(seed, d=5)
    np.testing.assert_allclose(consistent(Agreement(), B), pairs(lambda y, z: np.mean(y == z), B, B))


def test_kendall_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    ranks, others = rng.permuted(np.tile(np.arange(5), (7, 1)), axis=1), rng.normal(size=(4, 5))
    whole = Kendall()(ranks, others)
    monkeypatch.setattr("mercer.kernels.objects.labels.BLOCK_FEATURES", 10)
    np.testing.assert_allclose(Kendall()(ranks, others), whole, atol=1e-12)


def neighbourhood(graph, node, depth):
    """The Weisfeiler–Lehman label as a nested tuple, without hashes."""
    if depth == 0:
        return (graph.labels[node],)
    around = sorted(neighbourhood(graph, b if a == node else a, depth - 1) for a, b in graph.edges if node in (a, b))
    return (neighbourhood(graph, node, depth - 1), tuple(around))


@given(seeds)
def test_weisfeiler_lehman_counts_neighbourhoods(seed):
    objects = graphs(seed)

    def counts(graph):
        return Counter((d, neighbourhood(graph, v, d)) for d in range(3) for v in range(len(graph.labels)))

    expected = pairs(lambda G, H: sum(v * counts(H)[u] for u, v in counts(G).items()), objects, objects)
    np.testing.assert_array_equal(consistent(WeisfeilerLehman(2), objects), expected)
    turned = []
    rng = np.random.default_rng(seed)
    for graph in objects:
        order = rng.permutation(len(graph.labels))
        place = np.argsort(order)
        turned.append(([graph.labels[i] for i in order], [(place[b], place[a]) for a, b in graph.edges]))
    np.testing.assert_array_equal(WeisfeilerLehman(2)(turned, objects), expected)


def test_labels_of_edges_and_of_numpy_count():
    single, double = ("CC", [(0, 1, "-")]), ("CC", [(0, 1, "=")])
    np.testing.assert_array_equal(WeisfeilerLehman(1)([single, double]), [[8, 4], [4, 8]])
    np.testing.assert_array_equal(WeisfeilerLehman(0)([(np.array([1, 2]), [])], [([1, 2], [])]), [[2]])


@given(words)
def test_wrappers(objects):
    inner = Spectrum(1)
    K = inner(objects)
    roots = np.sqrt(np.diagonal(K))
    scale = np.outer(roots, roots)
    expected = np.where(scale > 0, K / np.where(scale > 0, scale, 1), 0)
    np.testing.assert_allclose(consistent(Normalised(inner), objects), expected)
    H = np.eye(len(K)) - 1 / len(K)
    matrix = Centred(inner).adapt(objects)(objects)
    np.testing.assert_allclose(matrix, H @ K @ H, atol=1e-9)
    np.testing.assert_allclose(Centred(inner).adapt(objects).diagonal(objects), np.diagonal(matrix), atol=1e-9)
    squared = np.diagonal(K)[:, None] + np.diagonal(K) - 2 * K
    np.testing.assert_allclose(consistent(FeatureGaussian(inner, 0.2), objects), np.exp(-0.2 * squared))


def test_sums_have_the_features_of_both_side_by_side():
    words = ["ab", "b", "", "abab"]
    both = ObjectSum(Spectrum(1), Normalised(Spectrum(2)))
    np.testing.assert_allclose(both(words, words[:2]), Spectrum(1)(words, words[:2]) + both.right(words, words[:2]))
    np.testing.assert_allclose(both.diagonal(words), np.diag(both(words)))
    vectors = ObjectSum(OnVectors(Linear()), OnVectors(Linear()))
    rows = np.random.default_rng(0).normal(size=(4, 2))
    np.testing.assert_allclose(vectors.features(rows) @ vectors.features(rows).T, vectors(rows))
    with pytest.raises(ParameterTypeError, match="right must be an ObjectKernel"):
        ObjectSum(Jaccard(), Linear())


def test_vectors_and_functions():
    V = np.random.default_rng(0).normal(size=(5, 3))
    np.testing.assert_allclose(consistent(OnVectors(Linear()), V), V @ V.T)
    np.testing.assert_allclose(OnVectors(Linear())(scipy.sparse.csr_array(V)), V @ V.T)
    np.testing.assert_allclose(consistent(Normalised(OnVectors(Linear())), V)[0, 0], 1.0)
    adapted = OnVectors(Gaussian("median")).adapt(V)
    np.testing.assert_allclose(consistent(adapted, list(V)), Gaussian("median")(V))
    function = ObjectFunction(lambda A, B: np.asarray(A) @ np.asarray(B).T)
    np.testing.assert_allclose(function(V), V @ V.T)
    np.testing.assert_allclose(consistent(PairFunction(np.dot), V), V @ V.T)
    np.testing.assert_array_equal(OnVectors(Linear())([1, 2]), [[1, 2], [2, 4]])


def test_by_name():
    assert as_object_kernel(Jaccard()) == Jaccard()
    assert as_object_kernel("spectrum") == Normalised(Spectrum())
    assert as_object_kernel(Linear()) == OnVectors(Linear()) == as_object_kernel("linear")
    assert isinstance(as_object_kernel(lambda A, B: None), ObjectFunction)
    for wrong, message in (("tanimotto", "Did you mean 'tanimoto'"), (Tanimoto, "Pass an instance"), (3, "must be")):
        with pytest.raises((ParameterError, ParameterTypeError), match=message):
            as_object_kernel(wrong)
    with pytest.raises(ParameterTypeError):
        as_object_kernel(Precomputed())


def test_sequences_keep_their_kind():
    assert take_objects(("a", "b"), [1]) == ["b"]
    assert scipy.sparse.issparse(as_objects("", scipy.sparse.eye(3)))
    assert take_objects(np.arange(4), [2]).tolist() == [2]


@pytest.mark.parametrize(
    ("kernel", "objects", "message"),
    [
        (Tanimoto(), [[0, 2]], "hold 0 and 1"),
        (Tanimoto(), scipy.sparse.csr_array([[0.5]]), "hold 0 and 1"),
        (Tanimoto(), ["ab"], "rows of an array"),
        (Tanimoto(packed=True), [[0, 1]], "dtype uint8"),
        (Tanimoto(packed=True), scipy.sparse.eye(2), "not as sparse"),
        (Intersection(), ["ab"], "are sets, not text"),
        (Intersection(), [3], "cannot be compared"),
        (Spectrum(), [3], "cannot be compared"),
        (Spectrum(), "abc", "come as a list"),
        (Spectrum(), 3, "come as a list"),
        (EditSimilarity(), [3], "are strings"),
        (WeisfeilerLehman(), ["CC"], r"is Graph\(labels, edges\)"),
        (WeisfeilerLehman(), [("CC", [(0, 5)])], "nodes that are not there"),
        (WeisfeilerLehman(), [("CC", [(0,)])], "edges are pairs"),
        (Kendall(), [[1.0]], "two items"),
        (Agreement(), [1, 2], "vectors of labels"),
        (OnVectors(Linear()), ["ab"], "vectors of numbers"),
        (OnVectors(Linear()), np.zeros((2, 2, 2)), "must be vectors"),
        (ObjectFunction(lambda A, B: np.zeros(3)), ["a"], r"of shape \(1, 1\)"),
        (ObjectFunction(lambda A, B: np.full((1, 1), np.nan)), ["a"], "NaN or infinite"),
        (ObjectFunction(lambda A, B: A - B), ["a"], "failed"),
        (PairFunction(lambda y, z: y - z), ["a"], "failed"),
        (Spectrum(), np.array(3), "single number"),
    ],
)
def test_what_cannot_be_compared(kernel, objects, message):
    with pytest.raises(DataError, match=message):
        kernel(objects)


def test_what_does_not_fit_together():
    with pytest.raises(DataError, match="one length"):
        Tanimoto()([[0, 1]], [[0, 1, 1]])
    with pytest.raises(DataError, match="same items"):
        Kendall()([[0, 1]], [[0, 1, 2]])
    with pytest.raises(DataError, match="one length"):
        Agreement()([[0, 1]], [[0, 1, 1]])
    with pytest.raises(ParameterError, match="adapt"):
        Centred(Spectrum())(["ab"])
    with pytest.raises(UnsupportedError, match="no features"):
        Jaccard().features([{1}])
    with pytest.raises(DataError, match="square and symmetric"):
        Graph.from_adjacency(np.array([[0, 1], [0, 0]]))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Spectrum(0),
        lambda: EditSimilarity(-1.0),
        lambda: WeisfeilerLehman(-1),
        lambda: TanimotoGaussian(gamma=0.0),
        lambda: Tanimoto(packed=2),
        lambda: Normalised("jaccard"),
        lambda: OnVectors(Precomputed()),
        lambda: FeatureGaussian(Jaccard(), gamma=0),
        lambda: ObjectFunction(3),
        lambda: PairFunction(Jaccard()),
    ],
)
def test_records_refuse_bad_values(make):
    with pytest.raises((ParameterError, ParameterTypeError), match="must be"):
        make()


def test_columns_are_those_of_the_matrix_and_look_at_the_sample_once():
    pairs = []

    def count(A, B):
        pairs.append(len(A) * len(B))
        return Intersection()(A, B)

    objects = [{1, 2}, {2}, {3}, {1, 3}, set()]
    for wrapper, most in ((Centred, 25 + 5 * 5), (EmpiricalMap, 25)):
        kernel = wrapper(ObjectFunction(count)).adapt(objects)
        whole = kernel(objects)
        fresh = wrapper(ObjectFunction(count)).adapt(objects)
        pairs.clear()
        column = fresh.columns(objects)
        np.testing.assert_allclose(np.stack([column(j) for j in range(5)], axis=1), whole, atol=1e-12)
        assert sum(pairs) <= most


def test_the_mean_of_a_centred_kernel_follows_its_parameters():
    kernel = Centred(FeatureGaussian(Intersection(), gamma=1.0)).adapt([{1}, {2}, {1, 2}])
    kernel([{1}])
    changed = kernel.replace(kernel__gamma=0.1)
    np.testing.assert_allclose(changed([{1}, {2}, {1, 2}]).sum(axis=0), 0, atol=1e-12)
    kernel.set_params(reference=[{1}])
    np.testing.assert_allclose(kernel([{1}]), 0, atol=1e-12)
    kernel.set_params(kernel__gamma=3.0)
    np.testing.assert_allclose(kernel([{1}]), 0, atol=1e-12)
