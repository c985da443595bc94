"""Sums of operator-valued kernels, products with scalar kernels and numbers; what they are, and what is refused."""

import numpy as np
import pytest

from mercer.exceptions import DataError, MercerError, UnsupportedError
from mercer.kernels import FeatureKernel, Gaussian, Laplacian, Linear, Precomputed
from mercer.losses import Square
from mercer.measures import GaussLegendre, Measure
from mercer.operator_valued import (
    CurlFree,
    Decomposable,
    Delayed,
    DivergenceFree,
    Helmholtz,
    Indexed,
    MatrixSum,
    Modulated,
    OperatorSum,
)
from mercer.problems import DualProblem
from mercer.solvers import ClosedForm
from mercer.testing import check_operator_valued_kernel

RNG = np.random.default_rng(0)
X, Z, C = RNG.normal(size=(7, 2)), RNG.normal(size=(5, 2)), RNG.normal(size=(5, 2))
PLANE = Measure(np.arange(2.0), np.ones(2))
MU = GaussLegendre(4).build()
GAMMA = np.array([[2.0, 0.5], [0.5, 1.0]])
TASKS = Decomposable(Gaussian(1.0), Indexed(GAMMA))
VECTORS = [
    CurlFree(Gaussian(1.0)) + DivergenceFree(Gaussian(0.5)),
    Laplacian(1.0) * CurlFree(Gaussian(1.0)),
    2.0 * Helmholtz() * Gaussian("median"),
    np.float64(0.5) * Delayed(Laplacian(1.0), np.array([[0.3, 0.0], [0.0, 0.2]])) * Gaussian(0.1),
    TASKS + CurlFree(Gaussian(1.0)),
    3.0 * (CurlFree(Gaussian(1.0)) + TASKS) * Gaussian(0.2),
    sum([TASKS, Decomposable(Linear(), Indexed(np.eye(2))), CurlFree(Gaussian("median"))]),
    Decomposable(FeatureKernel(np.sin), Indexed(GAMMA)) + TASKS,
]


@pytest.mark.parametrize("kernel", VECTORS, ids=repr)
def test_vectors_keep_the_contract(kernel):
    check_operator_valued_kernel(kernel, PLANE)


@pytest.mark.parametrize("kernel", VECTORS, ids=repr)
def test_gram_matrices_are_made_of_blocks(kernel):
    bound = kernel.adapt(X).bind(PLANE)
    dense = bound.blocks(X, X).transpose(0, 2, 1, 3).reshape(14, 14)
    gram = bound.gram(X)
    np.testing.assert_allclose(gram.to_dense(), dense, atol=1e-12)
    np.testing.assert_allclose(gram.diagonal(), np.diag(dense), rtol=1e-12)
    np.testing.assert_allclose(gram.stored() @ X, (dense @ X.ravel()).reshape(7, 2), atol=1e-12)


def test_functions_of_theta_keep_the_contract():
    kernel = Decomposable(Gaussian(1.0), Gaussian(5.0)) + Decomposable(Linear(), Gaussian("median"))
    assert kernel.continuous
    between = np.array([[0.05], [0.33], [0.91]])
    check_operator_valued_kernel(kernel, MU, points=between)
    check_operator_valued_kernel(0.3 * kernel * Laplacian(1.0), MU, n_components=2)
    both = kernel.bind(MU).with_slopes(between)
    h = both.expand(X, RNG.normal(size=(7, 7)))
    np.testing.assert_allclose(both.observe(h, X)[:, 4:], h.slope(X, between))
    assert both.carries_constants(between).shape == (3,)
    check_operator_valued_kernel(Decomposable(Precomputed(), Gaussian(5.0)) + Decomposable(Precomputed(), Linear()), MU)


def test_a_sum_is_the_sum_of_its_parts():
    left, right = CurlFree(Gaussian(1.0)), DivergenceFree(Gaussian(0.5))
    total = left + right
    assert isinstance(total, MatrixSum)
    assert isinstance(left + TASKS, OperatorSum)
    np.testing.assert_allclose(total.product(X, Z, C), left.product(X, Z, C) + right.product(X, Z, C), rtol=1e-12)
    mixed = (left + TASKS).bind(PLANE)
    expected = left.blocks(X, Z) + Gaussian(1.0)(X, Z)[:, :, None, None] * GAMMA
    np.testing.assert_allclose(mixed.blocks(X, Z), expected, atol=1e-14)


def test_a_product_multiplies_blocks():
    kernel, factor = CurlFree(Gaussian([1.0, 2.0])), Laplacian(0.5)
    product = factor * kernel
    assert product == kernel * factor == Modulated(kernel, factor)
    blocks = kernel.blocks(X, Z) * factor(X, Z)[:, :, None, None]
    np.testing.assert_allclose(product.blocks(X, Z), blocks, atol=1e-14)
    np.testing.assert_allclose(product.product(X, Z, C), np.einsum("ijab,jb->ia", blocks, C), atol=1e-12)
    twice = (Gaussian(0.1) * product).product(X, Z, C)
    np.testing.assert_allclose(twice, np.einsum("ijab,jb->ia", blocks * Gaussian(0.1)(X, Z)[..., None, None], C))
    assert (Laplacian(1.0) * TASKS).kernel == Laplacian(1.0) * Gaussian(1.0)
    doubled = 2.0 * kernel
    for name in ("jacobian", "potential"):
        np.testing.assert_allclose(getattr(doubled, name)(X, Z, C), 2 * getattr(kernel, name)(X, Z, C), rtol=1e-12)


def test_parameters_are_reached_by_name():
    kernel = CurlFree(Gaussian(1.0)) + 2.0 * TASKS
    tuned = kernel.replace(left__kernel__gamma=3.0, right__kernel__kernel__gamma=4.0)
    assert (tuned.left.kernel.gamma, tuned.right.kernel.kernel.gamma) == (3.0, 4.0)
    assert kernel.left.kernel.gamma == 1.0


def test_a_ridge_fit_of_a_sum_is_the_solution_of_its_system():
    kernel = TASKS + CurlFree(Gaussian(1.0))
    bound, Y = kernel.bind(PLANE), RNG.normal(size=(7, 2))
    problem = DualProblem(bound.gram(X), Square(), Y, PLANE, 0.1)
    result = ClosedForm(1e-10).solve(problem)
    h = bound.expand(X, problem.primal_coef(result.coef))
    dense = bound.blocks(X, X).transpose(0, 2, 1, 3).reshape(14, 14)
    expected = dense @ np.linalg.solve(dense + 0.7 * np.eye(14), Y.ravel())  # 𝐊(𝐊 + λn)⁻¹y
    np.testing.assert_allclose(h.evaluate(X, PLANE.points).ravel(), expected, atol=1e-8)


def test_what_is_refused():
    with pytest.raises(UnsupportedError, match="no potential that is known"):
        (Gaussian(1.0) * CurlFree(Gaussian(1.0))).potential(X, Z, C)
    with pytest.raises(UnsupportedError, match="no derivatives in x"):
        Delayed(Gaussian(1.0), [0.0, 1.0]).jacobian(X[:, :1], Z[:, :1], C)
    with pytest.raises(MercerError, match="factor must be a finite number > 0"):
        -1.0 * CurlFree(Gaussian(1.0))
    with pytest.raises(MercerError, match="a Kernel on vectors"):
        Precomputed() * CurlFree(Gaussian(1.0))
    with pytest.raises(TypeError):
        CurlFree(Gaussian(1.0)) + Gaussian(1.0)
    with pytest.raises(TypeError):
        CurlFree(Gaussian(1.0)) * CurlFree(Gaussian(1.0))
    with pytest.raises(MercerError, match="left must be an OperatorValuedKernel"):
        OperatorSum(Gaussian(1.0), TASKS)
    with pytest.raises(MercerError, match="right must be a MatrixValuedKernel"):
        MatrixSum(CurlFree(Gaussian(1.0)), TASKS)
    with pytest.raises(DataError, match=r"the left kernel has 8 columns, the right one 4"):
        (Decomposable(Gaussian(1.0), Gaussian(1.0), GAMMA) + Decomposable(Gaussian(1.0), Gaussian(1.0))).bind(MU)
