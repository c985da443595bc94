"""The contract of operator-valued kernels: kept by ours, and by one of a user; shown to fail on what is wrong."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from mercer.kernels import Constant, FeatureKernel, Gaussian, Laplacian, Linear, Precomputed
from mercer.linalg import Dense
from mercer.measures import GaussLegendre, Measure, Points
from mercer.operator_valued import (
    BoundCoefficients,
    BoundKernel,
    BoundPairs,
    Decomposable,
    Expansion,
    ExpansionKernel,
    FunctionBasis,
    HarmonicBasis,
    LaplacianBasis,
    NodeRepresenters,
    NystromBasis,
    OperatorValuedKernel,
)
from mercer.testing import check_bound_kernel, check_operator_valued_kernel

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(6, 2))
MU = GaussLegendre(4).build()
BETWEEN = np.array([[0.05], [0.33], [0.5], [0.91]])
A = np.array([[2.0, 0.5], [0.5, 1.0]])


def sines(x):
    return np.hstack([np.sin(3 * x), np.cos(2 * x), x[:, :1] * x[:, 1:]])


KERNELS = [
    Decomposable(Gaussian(1.0), Gaussian(5.0)),
    Decomposable(Gaussian("median"), Gaussian("median")),
    Decomposable(Laplacian(1.0), Laplacian(2.0), A),
    Decomposable(Precomputed(), Gaussian(5.0), A),
    Decomposable(FeatureKernel(sines), Gaussian(5.0)),
    Decomposable(FeatureKernel(sines), Gaussian(5.0), A),
    Decomposable(Linear() + 1.0, ExpansionKernel(HarmonicBasis(3).bind(MU))),
    Decomposable(Gaussian(1.0), Constant()),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_decomposable_kernels_keep_the_contract(kernel):
    check_operator_valued_kernel(kernel, MU)
    check_operator_valued_kernel(kernel, MU, points=BETWEEN, seed=1)


def test_components_without_a_matrix_and_points_in_the_plane():
    check_operator_valued_kernel(KERNELS[0], MU, n_components=3)
    plane = Points(RNG.random((3, 2))).build()
    check_operator_valued_kernel(KERNELS[0], plane, points=RNG.random((4, 2)))


BASES = {
    "nystrom": NystromBasis(3).bind(MU, Gaussian(5.0)),
    "harmonics": NystromBasis().bind(MU, ExpansionKernel(HarmonicBasis(3).bind(MU))),
    "laplacian": NystromBasis(2).bind(MU, ExpansionKernel(LaplacianBasis(4).bind(MU))),
    "functions": FunctionBasis(lambda t: np.hstack([t**0, np.sqrt(3) * (2 * t - 1)]), [1.0, 0.5]).bind(MU),
}


@pytest.mark.parametrize("augmented", [True, False])
@pytest.mark.parametrize("matrix", [None, A], ids=["scalar", "matrix"])
@pytest.mark.parametrize("basis", BASES)
def test_coefficients_keep_the_contract(basis, matrix, augmented):
    p = 1 if matrix is None else 2
    bound = BoundCoefficients(Gaussian(1.0), BASES[basis], MU, p, matrix, augmented)
    check_bound_kernel(bound, X, BETWEEN, tolerance=1e-6)  # the length of the rest is a root of rounding


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Precomputed(), FeatureKernel(sines), Gaussian(1.0) + 10.0], ids=repr)
@pytest.mark.parametrize("matrix", [None, A], ids=["scalar", "matrix"])
def test_scattered_observations_keep_the_contract(matrix, kernel):
    p, rows = 1 if matrix is None else 2, np.array([0, 0, 1, 3, 3, 5])
    points = np.array([0.1, 0.7, 0.1, 0.4, 0.9, 0.2])
    inputs = Gaussian(1.0)(X) if kernel.pairwise else X
    check_bound_kernel(BoundPairs(kernel, Gaussian(5.0), rows, points, p, matrix), inputs, BETWEEN)


# -- a kernel of a user, which does not decompose ------------------------------------------------------------------


class Blocks(Dense):
    """A matrix on (n, p) arrays as a whole."""

    def __init__(self, matrix, columns):
        super().__init__(matrix, frozenset({"self-adjoint", "psd"}))
        self.columns = columns

    def apply(self, array):
        return (self.matrix @ array.reshape(-1)).reshape(array.shape)


def curl_free(x, z, gamma):
    """−∇∇ᵀ exp(−γ‖x − z‖²), as a matrix on (point, component) pairs."""
    delta = x[:, None, :] - z[None, :, :]
    d = delta.shape[2]
    values = np.exp(-gamma * np.sum(delta**2, axis=2))
    blocks = 2 * gamma * np.eye(d) - 4 * gamma**2 * delta[..., :, None] * delta[..., None, :]
    return (values[..., None, None] * blocks).transpose(0, 2, 1, 3).reshape(len(x) * d, len(z) * d)


@dataclass(eq=False, repr=False)
class CurlFree(OperatorValuedKernel):
    gamma: float = 1.0

    def bind(self, measure, *, n_components=None):
        return BoundCurlFree(self, measure)


@dataclass(frozen=True, eq=False)
class BoundCurlFree(BoundKernel):
    kernel: CurlFree
    measure: Measure

    def gram(self, X):
        return Blocks(curl_free(X, X, self.kernel.gamma), X.shape[1])

    def expand(self, X, coef):
        return Field(self.kernel.gamma, X, coef)

    def observe(self, expansion, X):
        return expansion.evaluate(X, self.measure.points)


@dataclass(frozen=True, eq=False)
class Field(Expansion):
    gamma: float
    X: Any
    coef: Any

    @property
    def like(self):
        return self.coef

    def evaluate(self, X, points):
        values = curl_free(X, self.X, self.gamma) @ self.coef.reshape(-1)
        return values.reshape(len(X), -1)[:, points[:, 0].astype(int)]

    @property
    def norm(self):
        flat = self.coef.reshape(-1)
        return float(np.sqrt(max(flat @ curl_free(self.X, self.X, self.gamma) @ flat, 0.0)))


PLANE = Points(np.arange(2.0), np.ones(2)).build()


def test_a_matrix_valued_kernel_of_a_user_keeps_the_contract():
    check_operator_valued_kernel(CurlFree(2.0), PLANE)


# -- what is wrong is found ----------------------------------------------------------------------------------------


def broken(**methods):
    """CurlFree with other methods of the function or the bound kernel."""
    function = type("Broken", (Field,), {name: m for name, m in methods.items() if name in vars(Field)})
    others = {name: m for name, m in methods.items() if name in ("gram", "observe")}
    bound = type("BrokenBound", (BoundCurlFree,), others)
    if "expand" not in methods:
        bound.expand = lambda self, X, coef: function(self.kernel.gamma, X, coef)
    record = type("BrokenKernel", (CurlFree,), {"bind": lambda self, measure, n_components=None: bound(self, measure)})
    if "adapt" in methods:
        record.adapt = methods["adapt"]
    return record()


def forgetful(self):
    return {"class": "Field", "gamma": self.gamma, "X": self.X, "coef": np.round(self.coef, 3)}


def secretive(self):
    return {"class": "Field", "gamma": self.gamma, "X": self.X, "coef": lambda: self.coef}


def nameless(self):
    return {"gamma": self.gamma, "X": self.X, "coef": self.coef}


def whole(self):
    return {"class": "Field", "gamma": self.gamma, "X": self.X, "coef": self}


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ({"gram": lambda self, X: Blocks(-curl_free(X, X, 1.0), 2)}, "negative|psd|positive"),
        ({"gram": lambda self, X: Blocks(np.triu(curl_free(X, X, 1.0)), 2)}, "differs from ⟨x, A'y⟩"),
        ({"gram": lambda self, X: Blocks(curl_free(X, X, 1.5), 2)}, "differs from what is observed"),
        ({"gram": lambda self, X: Blocks(np.eye(13), 2)}, "does not act on 2 columns"),
        ({"evaluate": lambda self, X, points: 2 * Field.evaluate(self, X, points)}, "differs from what is observed"),
        ({"evaluate": lambda self, X, points: Field.evaluate(self, X, points)[:, ::-1]}, "differs from what is obs"),
        ({"norm": property(lambda self: 1.1 * Field.norm.fget(self))}, "‖h‖² differs from"),
        ({"norm": property(lambda self: 1e-3 + Field.norm.fget(self)), "coef": 0}, "‖h‖² differs|norm of 0"),
        ({"adapt": lambda self, X: self}, "returned the kernel itself"),
        ({"adapt": lambda self, X: self.replace(gamma=self.gamma + 1)}, "not idempotent"),
        ({"adapt": lambda self, X: self.set_params(gamma=2.0).replace()}, "changed the record itself"),
    ],
)
def test_what_is_broken_is_found(methods, message):
    with pytest.raises(AssertionError, match=message):
        check_operator_valued_kernel(broken(**methods), PLANE)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (forgetful, "another function"),
        (secretive, r"state\(\)\['coef'\] is not an array"),
        (nameless, r"state\(\)\['class'\] is None, not 'Field'"),
        (whole, r"state\(\)\['coef'\] is not an array"),
    ],
)
def test_a_state_that_is_not_the_function_is_found(state, message, monkeypatch):
    monkeypatch.setattr(Field, "state", state)
    with pytest.raises(AssertionError, match=message):
        check_operator_valued_kernel(CurlFree(), PLANE)


def test_a_slope_that_is_not_the_derivative_is_found(monkeypatch):
    def wrong(self, points):
        return 2 * self.kernel.derivative(self.points, points, (0, 1))

    monkeypatch.setattr(NodeRepresenters, "slopes", wrong)
    with pytest.raises(AssertionError, match="slope differs from difference quotients"):
        check_operator_valued_kernel(KERNELS[0], MU)


def test_what_is_no_kernel_is_refused():
    with pytest.raises(AssertionError, match="is no OperatorValuedKernel but Gaussian"):
        check_operator_valued_kernel(Gaussian(1.0), MU)
    with pytest.raises(AssertionError, match="is no BoundKernel but Decomposable"):
        check_bound_kernel(KERNELS[0], X, BETWEEN)
    with pytest.raises(AssertionError, match="check it without"):
        check_bound_kernel(KERNELS[0].bind(MU, BETWEEN), X, BETWEEN)
