"""The small operators against explicit matrices, on NumPy and array-api-strict."""

import numpy as np
import pytest

from mercer.backend import to_numpy
from mercer.exceptions import DataError, UnsupportedError
from mercer.kernels import Gaussian, Linear, Precomputed
from mercer.kernels import gram as gram_module
from mercer.kernels.gram import KernelGram, kernel_product
from mercer.linalg import Dense, Kronecker, LinearOperator, LowRank, congruence
from mercer.testing import check_operator

strict = pytest.importorskip("array_api_strict")

PSD = frozenset({"self-adjoint", "psd"})
RNG = np.random.default_rng(0)
N, M = 5, 3
K = (lambda F: F @ F.T)(RNG.normal(size=(N, N)))
T = (lambda F: F @ F.T)(RNG.normal(size=(M, M)))
S, W = RNG.uniform(0.2, 3.0, N), RNG.uniform(0.1, 1.0, M)
A = RNG.normal(size=(N, M))
X = RNG.normal(size=(N, 2))


def moved(xp, *arrays):
    return [None if array is None else xp.asarray(array) for array in arrays]


def kronecker(xp=np, left_weights=None, right_weights=None):
    left, right, s, w = moved(xp, K, T, left_weights, right_weights)
    return Kronecker(Dense(left, PSD), Dense(right, PSD), s, w)


WEIGHTS = [(None, None), (S, None), (None, W), (S, W)]

OPERATORS = {
    "rectangular": lambda xp: Dense(xp.asarray(RNG.normal(size=(4, N)))),
    "dense": lambda xp: Dense(xp.asarray(K), PSD),
    "low rank": lambda xp: LowRank(xp.asarray(RNG.normal(size=(N, 2)))),
    "kernel": lambda xp: Gaussian(0.7).gram(xp.asarray(X)),
    "scaled kernel": lambda xp: KernelGram(Gaussian(0.7), xp.asarray(X), np.sqrt(S)),
    "precomputed": lambda xp: (2.0 * Precomputed()).gram(xp.asarray(K)),
    **{
        f"kronecker {(s is not None) * 's'}{(w is not None) * 'w'}": lambda xp, s=s, w=w: kronecker(xp, s, w)
        for s, w in WEIGHTS
    },
    "kronecker of kernels": lambda xp: Kronecker(Gaussian(0.7).gram(xp.asarray(X)), Linear().gram(xp.asarray(X[:M]))),
}


@pytest.mark.parametrize("xp", [np, strict], ids=["numpy", "strict"])
@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_keeps_the_contract(name, xp):
    check_operator(OPERATORS[name](xp), xp.asarray(A))


@pytest.mark.parametrize(("s", "w"), WEIGHTS)
def test_kronecker_against_explicit_formulas(s, w):
    operator = kronecker(np, s, w)
    left = K if s is None else K @ np.diag(s)
    right = T if w is None else T @ np.diag(w)
    explicit = np.kron(left, right)
    np.testing.assert_allclose(operator @ A, left @ A @ right.T, atol=1e-12)
    np.testing.assert_allclose((operator @ A).ravel(), explicit @ A.ravel(), atol=1e-12)
    np.testing.assert_allclose(operator.to_dense(), explicit, atol=1e-12)
    np.testing.assert_allclose(operator.diagonal(), np.diag(explicit), atol=1e-12)
    B = RNG.normal(size=A.shape)
    metric = np.kron(np.ones(N) if s is None else s, np.ones(M) if w is None else w)
    assert operator.inner(A, B) == pytest.approx(np.sum(metric * A.ravel() * B.ravel()))
    assert operator.inner(A, B) == pytest.approx(float(np.sum(operator.whiten(A) * operator.whiten(B))))
    np.testing.assert_allclose(operator.unwhiten(operator.whiten(A)), A)


def test_dense_and_low_rank_against_explicit_formulas():
    factor = RNG.normal(size=(N, 2))
    np.testing.assert_allclose(LowRank(factor) @ A, factor @ factor.T @ A)
    assert LowRank(factor).adjoint.shape == (N, N)
    matrix = RNG.normal(size=(4, N))
    np.testing.assert_allclose(Dense(matrix).adjoint @ np.ones((4, 1)), matrix.T @ np.ones((4, 1)))
    np.testing.assert_array_equal(Dense(matrix).column(2), matrix[:, 2])


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(DataError, match="two dimensions; got 1"):
        Dense(np.ones(3))
    with pytest.raises(DataError, match="two dimensions; got 3"):
        LowRank(np.ones((3, 1, 1)))
    with pytest.raises(DataError, match=r"row weights must have shape \(5,\)"):
        Kronecker(Dense(np.eye(5)), Dense(np.eye(4)), np.ones(3))


def test_the_guard_of_to_dense_says_what_to_do():
    with pytest.raises(UnsupportedError, match=r"KernelGram.to_dense would need 74.5 GiB.*Use apply"):
        Gaussian(1.0).gram(np.zeros((100_000, 1))).to_dense()
    small = Dense(np.eye(4))
    assert small.to_dense(max_bytes=128).shape == (4, 4)
    with pytest.raises(UnsupportedError):
        small.to_dense(max_bytes=127)


@pytest.mark.parametrize("scale", [None, np.sqrt(S)])
def test_kernel_gram_in_blocks_equals_the_matrix(monkeypatch, scale):
    monkeypatch.setattr(gram_module, "BLOCK_BYTES", 8 * N * 2)  # two rows at a time
    kernel = Gaussian(0.7)
    matrix = kernel(X) if scale is None else np.diag(scale) @ kernel(X) @ np.diag(scale)
    operator = KernelGram(kernel, X, scale)
    np.testing.assert_allclose(operator @ A, matrix @ A, atol=1e-13)
    np.testing.assert_allclose(operator.diagonal(), np.diag(matrix))
    for index in (0, 3, N - 1):
        np.testing.assert_allclose(operator.column(index), matrix[:, index])
    np.testing.assert_allclose(operator.to_dense(), matrix, atol=1e-13)
    np.testing.assert_allclose(operator @ A, matrix @ A, atol=1e-13)


def test_kernel_product_never_makes_more_rows_than_a_block(monkeypatch):
    monkeypatch.setattr(gram_module, "BLOCK_BYTES", 8 * 7 * 3)
    sizes = []

    def kernel(left, right):
        sizes.append(left.shape[0])
        return Gaussian(1.0)(left, right)

    Z = RNG.normal(size=(7, 2))
    array = RNG.normal(size=(7, 4))
    rows = RNG.normal(size=(8, 2))
    np.testing.assert_allclose(kernel_product(kernel, rows, Z, array), Gaussian(1.0)(rows, Z) @ array)
    assert sizes == [3, 3, 2]


def test_columns_of_a_kernel_on_precomputed_values():
    operator = (2.0 * Precomputed() + 1.0).gram(K)
    for index in range(N):
        np.testing.assert_allclose(operator.column(index), 2 * K[:, index] + 1)


@pytest.mark.parametrize("xp", [np, strict], ids=["numpy", "strict"])
def test_congruence_keeps_structure(xp):
    scale = np.sqrt(S)
    factor = RNG.normal(size=(N, 2))
    x = xp.asarray(X)
    cases = [
        (Dense(xp.asarray(K), PSD), Dense, K),
        (LowRank(xp.asarray(factor)), LowRank, factor @ factor.T),
        (KernelGram(Gaussian(0.7), x), KernelGram, Gaussian(0.7)(X)),
        (KernelGram(Gaussian(0.7), x, xp.asarray(scale)), KernelGram, Gaussian(0.7)(X) * np.outer(scale, scale)),
        (Gaussian(0.7).gram(x).stored(), Dense, Gaussian(0.7)(X)),
        (kronecker(xp), Dense, np.kron(K, T)),
    ]
    for operator, kind, matrix in cases:
        d = scale if matrix.shape[0] == N else np.repeat(scale, M)
        found = congruence(operator, xp.asarray(d))
        assert type(found) is kind
        assert found.tags == operator.tags
        np.testing.assert_allclose(to_numpy(found.to_dense()), np.diag(d) @ matrix @ np.diag(d), atol=1e-12)


class Faulty(LinearOperator):
    """The matrix K with one fault at a time."""

    tags = PSD

    def __init__(self, fault="", matrix=K):
        self.fault, self.matrix = fault, matrix
        if fault == "tag":
            self.tags = frozenset({"definite"})
        if fault == "half a tag":
            self.tags = frozenset({"psd"})

    shape = property(lambda self: self.matrix.shape)
    like = property(lambda self: self.matrix)
    adjoint = property(lambda self: Faulty(self.fault, 1.01 * K if self.fault == "adjoint" else self.matrix.T))

    def apply(self, array):
        if self.fault == "writes":
            array *= 2
        if self.fault == "dtype":
            return (self.matrix @ array).astype(np.float32)
        image = self.matrix @ array
        return image + 0.01 * image**2 if self.fault == "not linear" else image

    def diagonal(self):
        return np.diag(self.matrix) * (1.001 if self.fault == "diagonal" else 1)

    def _dense(self):
        return self.matrix * (1.001 if self.fault == "dense" else 1)

    def to_dense(self, max_bytes=2**30):
        return self._dense() if self.fault == "guard" else super().to_dense(max_bytes)


def test_the_operator_without_fault_passes():
    check_operator(Faulty(), A)


@pytest.mark.parametrize(
    ("operator", "message"),
    [
        (Faulty("not linear"), "differs from 2Ax"),
        (Faulty("adjoint"), "differs from ⟨x, A'y⟩"),
        (Faulty("diagonal"), r"diagonal\(\) differs"),
        (Faulty("dense"), r"differs from to_dense\(\) @ x"),
        (Faulty("guard"), "was not refused"),
        (Faulty("writes"), "changed its argument"),
        (Faulty("dtype"), "does not keep the library and the dtype"),
        (Faulty("tag"), "unknown tags"),
        (Faulty("half a tag"), "not self-adjoint"),
        (Faulty(matrix=K + np.eye(N, k=1)), "tagged self-adjoint"),
        (Faulty(matrix=K - 0.5 * np.eye(N)), "is tagged psd"),
        ("no operator", "is no LinearOperator"),
    ],
)
def test_check_operator_finds_the_fault(operator, message):
    with pytest.raises(AssertionError, match=message):
        check_operator(operator, A)
