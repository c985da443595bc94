"""Every kernel and random expressions keep the public contract; broken kernels do not."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.kernels import (
    Categorical,
    Constant,
    ExponentiatedChiSquared,
    FunctionKernel,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    Precomputed,
    Projected,
    RationalQuadratic,
)
from mercer.testing.kernels import check_kernel

SCALES = [0.7, [0.5, 1.0, 2.0], "median", "standardized"]

KERNELS = [
    *[Gaussian(gamma) for gamma in [*SCALES, [0.0, 1.0, 3.0]]],
    *[Laplacian(gamma) for gamma in [*SCALES, (0.0, 1.0, 3.0)]],
    *[Matern(nu, length) for nu in (0.5, 1.5, 2.5) for length in SCALES],
    Matern(1.5, [1.0, np.inf, 2.0]),
    *[RationalQuadratic(0.6, length) for length in SCALES],
    Periodic(),
    Periodic(1.7, 0.8),
    Periodic([1.0, 2.0, 3.0], [1.0, 0.5, 2.0]),
    Constant(2.5),
    Linear(),
    Polynomial(),
    Polynomial(1, 2.0, 0.0),
    Polynomial(2, 0.5, 0.0),
    ExponentiatedChiSquared(0.25),
    Categorical(),
    Categorical(0.4),
    Categorical(0.4, widths=[2, 0, 1]),
    Precomputed(),
    2.0 * Precomputed() * Precomputed(),
    FunctionKernel(lambda X, Z: (X @ Z.T + 1) ** 2),
    Gaussian().restrict([2, 0]),
    Gaussian().restrict([2, 0]) + 0.5 * Linear().restrict(-1),
    Projected(Gaussian(), [[1.0, 0.0], [-1.0, 2.0], [0.0, 0.5]]),
    Projected(Linear(), [[1.0], [-1.0], [0.5]]),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_every_kernel_keeps_the_contract(kernel):
    check_kernel(kernel)


@pytest.mark.parametrize(
    "kernel",
    [Gaussian(9.0), Matern(1.5, 0.2), Matern(2.5, "median"), RationalQuadratic(0.5, 0.3), Periodic(0.7, 0.9)],
    ids=repr,
)
def test_contract_on_one_column_far_from_zero(kernel):
    check_kernel(kernel, np.random.default_rng(1).normal(1e3, 1.0, size=(10, 1)))


LEAVES = st.one_of(
    st.builds(Gaussian, st.sampled_from([0.3, 2.0, "median", "standardized"])),
    st.builds(Matern, st.sampled_from([0.5, 1.5, 2.5]), st.sampled_from([0.8, "median", "standardized"])),
    st.builds(Laplacian, st.sampled_from([0.5, "median"])),
    st.builds(RationalQuadratic, st.sampled_from([0.5, 2.0]), st.just("standardized")),
    st.builds(Periodic, st.sampled_from([0.9, 2.0])),
    st.builds(Polynomial, st.integers(1, 3), st.just(0.5), st.sampled_from([0.0, 1.0])),
    st.builds(Linear),
    st.builds(Constant, st.sampled_from([0.5, 3.0])),
)


def _grow(children):
    numbers = st.sampled_from([0.25, 2, 3.0])
    return st.one_of(
        st.builds(lambda a, b: a + b, children, children),
        st.builds(lambda a, b: a * b, children, children),
        st.builds(lambda a, b: a + b, numbers, children),
        st.builds(lambda a, b: b + a, numbers, children),
        st.builds(lambda a, b: a * b, numbers, children),
        st.builds(lambda a, b: b * a, numbers, children),
        st.builds(lambda a: a.restrict(0), children),
    )


@settings(max_examples=30, derandomize=True, deadline=None)
@given(kernel=st.recursive(LEAVES, _grow, max_leaves=5), columns=st.sampled_from([1, 3]))
def test_random_expressions_keep_the_contract(kernel, columns):
    X = np.random.default_rng(2).uniform(0, 1.5, size=(9, columns))
    X[4] = X[1]
    check_kernel(kernel, X)


@dataclass(eq=False, repr=False)
class _Broken(Kernel):
    """A Gaussian on one column with one fault at a time."""

    fault: str = ""
    scale: object = 1.0

    def _unresolved(self):
        return ["scale='median'"] if self.scale == "median" else []

    def _adapt(self, X):
        if self.fault == "writes on itself":
            self.scale = 1.0
            return self
        return self.replace(scale=1.0) if self.scale == "median" else self.replace()

    def _evaluate(self, X, Z):
        delta = X - Z.T
        values = np.exp(-(delta**2))
        if self.fault == "asymmetric":
            return values + 0.01 * delta
        if self.fault == "indefinite":
            return -np.abs(delta) + 0.5
        if self.fault == "looks at the data":
            return values ** (1 + np.mean(Z))
        if self.fault == "looks at identity":
            return values ** (2.0 if Z is X else 1.0)
        if self.fault == "not finite":
            return values + np.where(delta == 0, np.nan, 0)
        return values[:, :1] if self.fault == "shape" else values

    def _diagonal(self, X):
        return np.full(len(X), 2.0 if self.fault == "diagonal" else 1.0)

    @property
    def differentiable(self):
        return True

    def _gradient(self, X, Z):
        delta = X - Z.T
        sign = 1 if self.fault == "second derivative" else -1
        slope = sign * 2 * delta * np.exp(-(delta**2))
        return slope[:, :, None] * (1.01 if self.fault == "first derivative" else 1)

    def _cross_hessian(self, X, Z):
        delta = X - Z.T
        factor = 2 + (4 if self.fault == "mixed derivative" else -4) * delta**2
        return (factor * np.exp(-(delta**2)))[:, :, None, None]


POINTS = np.linspace(0.1, 1.7, 8)[:, None] ** 1.5


def test_the_kernel_without_fault_passes():
    check_kernel(_Broken(), POINTS)
    check_kernel(_Broken(scale="median"), POINTS)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("asymmetric", "not symmetric"),
        ("indefinite", "not positive semi-definite"),
        ("looks at the data", "differs from the block"),
        ("looks at identity", "differs from the block"),
        ("not finite", "NaN or infinite|differ by nan"),
        ("shape", "must have shape"),
        ("diagonal", r"diagonal\(X\) differs"),
        ("first derivative", "differs from finite differences"),
        ("second derivative", "differs from finite differences"),
        ("mixed derivative", "differs from finite differences"),
        ("writes on itself", "not a copy|changed the kernel itself"),
    ],
)
def test_check_kernel_finds_the_fault(fault, message):
    with pytest.raises(AssertionError, match=message):
        check_kernel(_Broken(fault, "median" if fault == "writes on itself" else 1.0), POINTS)


def test_check_kernel_refuses_what_is_no_kernel():
    with pytest.raises(AssertionError, match="is no Kernel"):
        check_kernel("gaussian")


@dataclass(eq=False, repr=False)
class _BrokenSlopes(Kernel):
    """A smooth kernel on any number of columns with one fault in its derivatives at a time."""

    fault: str = ""

    differentiable = True
    kernel = Gaussian(0.5) + Polynomial(2, 0.5, 1.0)

    def _evaluate(self, X, Z):
        return self.kernel._evaluate(X, Z)

    def _gradient(self, X, Z):
        exact = self.kernel._gradient(X, Z)
        coincident = np.all(X[:, None, :] == Z[None, :, :], axis=2)[:, :, None]
        return {
            "of the other argument": lambda: self.kernel._second_gradient(X, Z),
            "one column forgotten": lambda: exact * (np.arange(X.shape[1]) != 1),
            "one per cent": lambda: 1.01 * exact,
            "columns exchanged": lambda: exact[:, :, ::-1],
            "pairs exchanged": lambda: np.swapaxes(exact, 0, 1) if len(X) == len(Z) else exact[::-1],
            "gradient at coincident points": lambda: np.where(coincident, np.nan, exact),
            "gradient looks at identity": lambda: exact + (0.1 if Z is X else 0.0),
            "gradient shape": lambda: exact[:, :, :1],
        }.get(self.fault, lambda: exact)()

    def _cross_hessian(self, X, Z):
        exact = self.kernel._cross_hessian(X, Z)
        identity = np.eye(X.shape[1])
        coincident = np.all(X[:, None, :] == Z[None, :, :], axis=2)[:, :, None, None]
        small = 4e-4 * np.max(np.abs(exact))
        return {
            "sign": lambda: -exact,
            "diagonal only": lambda: exact * identity,
            "transposed": lambda: np.swapaxes(exact, 2, 3),
            "hessian at coincident points": lambda: np.where(coincident, 0.0, exact),
            "hessian looks at identity": lambda: exact + (0.1 * identity if Z is X else 0.0),
            "hessian shape": lambda: exact[:, :, 0],
            "slightly asymmetric": lambda: exact + small * (np.tri(X.shape[1]) - np.tri(X.shape[1]).T),
            "slightly indefinite": lambda: exact - small * identity,
        }.get(self.fault, lambda: exact)()


@pytest.mark.parametrize("columns", [1, 2, 4])
def test_the_smooth_kernel_without_fault_passes(columns):
    check_kernel(_BrokenSlopes(), np.random.default_rng(0).normal(size=(9, columns)))


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("of the other argument", r"gradient\(X, Z\) differs from finite differences"),
        ("one column forgotten", r"gradient\(X, Z\) differs from finite differences"),
        ("one per cent", r"gradient\(X, Z\) differs from finite differences"),
        ("columns exchanged", r"gradient\(X, Z\) differs from finite differences"),
        ("pairs exchanged", r"gradient\(X, Z\) differs from finite differences"),
        ("gradient at coincident points", "differences by nan"),
        ("gradient looks at identity", r"gradient\(X\) differs from gradient\(X, copy of X\)"),
        ("gradient shape", r"gradient\(X, Z\) must have shape \(20, 9, 3\), it has \(20, 9, 1\)"),
        ("sign", r"cross_hessian\(X, Z\) differs from finite differences"),
        ("diagonal only", r"cross_hessian\(X, Z\) differs from finite differences"),
        ("transposed", r"cross_hessian\(X, Z\) differs from finite differences"),
        ("hessian at coincident points", r"cross_hessian\(X, Z\) differs from finite differences"),
        ("hessian looks at identity", r"cross_hessian\(X\) differs from \(X, copy of X\)"),
        ("hessian shape", r"cross_hessian\(X, Z\) must have shape \(20, 9, 3, 3\), it has"),
        ("slightly asymmetric", r"differs from ∂₁∂₂k\(z, x\)ᵀ"),
        ("slightly indefinite", r"\[k, ∂₂k; ∂₁k, ∂₁∂₂k\] is not positive semi-definite"),
    ],
)
def test_check_kernel_finds_wrong_derivatives(fault, message):
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(AssertionError, match=message):
        check_kernel(_BrokenSlopes(fault), X)


def test_check_kernel_tests_derivatives_in_the_units_of_the_columns():
    @dataclass(eq=False, repr=False)
    class Forgetful(Gaussian):
        def _gradient(self, X, Z):
            return super()._gradient(X, Z) * (np.arange(X.shape[1]) > 0)

    X = np.random.default_rng(0).normal(size=(10, 2)) * [1e6, 1.0]
    check_kernel(Gaussian([1e-12, 1.0]), X)
    with pytest.raises(AssertionError, match="differs from finite differences"):
        check_kernel(Forgetful([1e-12, 1.0]), X)


def test_a_kernel_that_promises_derivatives_has_to_have_them():
    @dataclass(eq=False, repr=False)
    class Promise(Linear):
        _gradient = Kernel._gradient

    with pytest.raises(NotImplementedError, match=r"Promise is differentiable; it has to implement _gradient"):
        check_kernel(Promise())
