"""The decomposable kernel against the product kernel on pairs (x, θ)."""

import numpy as np
import pytest
from sklearn.base import clone

from mercer.backend import to_numpy
from mercer.exceptions import ParameterError, ParameterTypeError
from mercer.kernels import Gaussian, Laplacian, Linear, Matern
from mercer.kernels import gram as gram_module
from mercer.linalg import Kronecker
from mercer.measures import GaussLegendre, Measure
from mercer.operator_valued import BoundDecomposable, Decomposable
from mercer.testing import check_operator

strict = pytest.importorskip("array_api_strict")

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(6, 2)), RNG.normal(size=(4, 2))
COEF = RNG.normal(size=(6, 3))
KERNEL = Decomposable(Gaussian(0.5), Matern(1.5, 0.4))
THETA = np.array([[0.05], [0.4], [0.5], [0.99]])


def product_kernel(x, theta, z, tau):
    """k((x, θ), (z, τ)) one pair at a time."""
    left = KERNEL.kernel(x[None, :], z[None, :])[0, 0]
    return left * KERNEL.output_kernel(theta[None, :], tau[None, :])[0, 0]


def test_record():
    assert clone(KERNEL) == KERNEL
    assert KERNEL.get_params()["kernel__gamma"] == 0.5
    assert KERNEL.replace(output_kernel__nu=2.5) == Decomposable(Gaussian(0.5), Matern(2.5, 0.4))
    assert repr(KERNEL) == f"Decomposable(kernel={Gaussian(0.5)!r}, output_kernel={Matern(1.5, 0.4)!r})"


@pytest.mark.parametrize("value", ["gaussian", 1.0, None, Gaussian])
def test_parts_must_be_kernels(value):
    with pytest.raises((ParameterError, ParameterTypeError), match=r"kernel must be a Kernel.*Gaussian"):
        Decomposable(value, Gaussian(1.0))
    with pytest.raises((ParameterError, ParameterTypeError), match="Decomposable: output_kernel must be a Kernel"):
        Decomposable(Gaussian(1.0), value)


def test_gram_is_that_of_the_product_kernel_on_pairs():
    measure = GaussLegendre(3).build()
    bound = KERNEL.bind(measure)
    assert isinstance(bound, BoundDecomposable)
    gram = bound.gram(X)
    assert isinstance(gram, Kronecker)
    pairs = [(x, theta) for x in X for theta in measure.points]
    explicit = np.array([[product_kernel(*p, *q) for q in pairs] for p in pairs])
    np.testing.assert_allclose(gram.to_dense(), explicit, atol=1e-13)  # without the weights of the measure
    np.testing.assert_allclose((gram @ COEF).ravel(), explicit @ COEF.ravel(), atol=1e-12)
    check_operator(gram, COEF)


def test_gram_in_the_geometry_of_the_measure():
    measure = GaussLegendre(3).build()
    gram = KERNEL.bind(measure).gram(X)
    weights = RNG.uniform(0.5, 2.0, 6)
    weighted = Kronecker(gram.left, gram.right, weights, measure.weights)
    check_operator(weighted, COEF)
    np.testing.assert_allclose(weighted @ COEF, gram @ (weights[:, None] * COEF * measure.weights), atol=1e-12)


def test_evaluate_is_the_representer_sum():
    measure = GaussLegendre(3).build()
    found = KERNEL.bind(measure).expand(X, COEF).evaluate(Z, THETA)
    expected = [
        [
            sum(COEF[i, j] * product_kernel(z, t, X[i], measure.points[j]) for i in range(6) for j in range(3))
            for t in THETA
        ]
        for z in Z
    ]
    assert found.shape == (4, 4)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_evaluate_at_the_nodes_is_the_gram_matrix():
    measure = GaussLegendre(3).build()
    bound = KERNEL.bind(measure)
    np.testing.assert_allclose(bound.expand(X, COEF).evaluate(X, measure.points), bound.gram(X) @ COEF, atol=1e-12)


def test_evaluate_in_blocks(monkeypatch):
    bound = KERNEL.bind(GaussLegendre(3).build())
    whole = bound.expand(X, COEF).evaluate(Z, THETA)
    monkeypatch.setattr(gram_module, "BLOCK_BYTES", 1)
    np.testing.assert_allclose(bound.expand(X, COEF).evaluate(Z, THETA), whole, atol=1e-13)


def test_splitting_a_node_changes_nothing():
    measure = GaussLegendre(3).build()
    split = Measure(np.tile(measure.points, (2, 1)), np.tile(measure.weights, 2) / 2)
    twice = np.tile(COEF, 2)
    gram, double = KERNEL.bind(measure).gram(X), KERNEL.bind(split).gram(X)
    one = Kronecker(gram.left, gram.right, None, measure.weights)
    two = Kronecker(double.left, double.right, None, split.weights)
    np.testing.assert_allclose(two @ twice, np.tile(one @ COEF, 2), atol=1e-12)
    assert two.inner(twice, two @ twice) == pytest.approx(one.inner(COEF, one @ COEF))
    np.testing.assert_allclose(two.norm2(), one.norm2())
    found = KERNEL.bind(split).expand(X, twice / 2).evaluate(Z, THETA)
    np.testing.assert_allclose(found, KERNEL.bind(measure).expand(X, COEF).evaluate(Z, THETA), atol=1e-12)


@pytest.mark.parametrize("kernel", [KERNEL, Decomposable(Linear() + 1.0, Laplacian(2.0))], ids=repr)
def test_strict_arrays_give_the_same(kernel):
    expected = kernel.bind(GaussLegendre(3).build())
    x, z, coef, theta = (strict.asarray(a) for a in (X, Z, COEF, THETA))
    found = kernel.bind(GaussLegendre(3).build(x))
    got = found.expand(x, coef).evaluate(z, theta)
    assert isinstance(got, type(x))
    np.testing.assert_allclose(to_numpy(got), expected.expand(X, COEF).evaluate(Z, THETA), atol=1e-12)
    np.testing.assert_allclose(to_numpy(found.gram(x) @ coef), expected.gram(X) @ COEF, atol=1e-12)
    check_operator(found.gram(x), coef)


# --- slopes

SLOPES = np.array([[0.2], [0.45], [0.95]])


@pytest.mark.parametrize("output_kernel", [Gaussian(3.0), Matern(2.5, 0.4)], ids=repr)
def test_gram_with_slopes_is_the_covariance_of_values_and_differences(output_kernel):
    measure, e = GaussLegendre(3).build(), 1e-4
    bound = Decomposable(Gaussian(0.5), output_kernel).bind(measure, SLOPES)
    # values and difference quotients are functionals: rows of D, on the points that they look at
    points = np.concatenate([measure.points, SLOPES - e, SLOPES + e])
    D = np.zeros((6, 9))
    D[:3, :3] = np.eye(3)
    D[3:, 3:6], D[3:, 6:] = -np.eye(3) / (2 * e), np.eye(3) / (2 * e)
    right = bound.gram(X).right.to_dense()
    expected = D @ output_kernel(points) @ D.T
    np.testing.assert_allclose(right, expected, atol=2e-3 if isinstance(output_kernel, Matern) else 1e-5)
    assert np.linalg.eigvalsh(right).min() > -1e-12
    np.testing.assert_array_equal(bound.gram(X).left.to_dense(), Decomposable(Gaussian(0.5), output_kernel).kernel(X))


def test_evaluate_with_slopes_is_linear_in_both_parts():
    measure, e = GaussLegendre(3).build(), 1e-5
    kernel = Decomposable(Gaussian(0.5), Gaussian(3.0))
    bound = kernel.bind(measure, SLOPES)
    coef = RNG.normal(size=(6, 6))
    found = bound.expand(X, coef).evaluate(Z, THETA)
    apart = np.concatenate([measure.points, SLOPES - e, SLOPES + e])
    spread = np.concatenate([coef[:, :3], -coef[:, 3:] / (2 * e), coef[:, 3:] / (2 * e)], axis=1)
    expected = kernel.bind(Measure(apart, np.ones(9))).expand(X, spread).evaluate(Z, THETA)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    many = np.linspace(0.01, 0.99, 40)[:, None]  # the other order of products
    np.testing.assert_allclose(
        bound.expand(X, coef).evaluate(Z, many),
        np.hstack([bound.expand(X, coef).evaluate(Z, t[None, :]) for t in many]),
        atol=1e-12,
    )


@pytest.mark.parametrize("slopes", [None, SLOPES], ids=["values", "and slopes"])
def test_slope_is_the_derivative_of_evaluate(slopes):
    measure, e = GaussLegendre(3).build(), 1e-6
    coef = RNG.normal(size=(6, 3 if slopes is None else 6))
    h = Decomposable(Gaussian(0.5), Gaussian(3.0)).bind(measure, slopes).expand(X, coef)
    low, high = (h.evaluate(Z, THETA + s * e) for s in (-1, 1))
    assert h.representers.slopes(THETA).shape == (coef.shape[1], len(THETA))
    np.testing.assert_allclose(h.slope(Z, THETA), (high - low) / (2 * e), atol=1e-7)


def test_values_and_slopes_at_the_anchors_are_the_gram_matrix():
    measure = GaussLegendre(3).build()
    bound = Decomposable(Gaussian(0.5), Gaussian(3.0)).bind(measure, SLOPES)
    coef = RNG.normal(size=(6, 6))
    h, whole = bound.expand(X, coef), bound.gram(X) @ coef
    np.testing.assert_allclose(h.evaluate(X, measure.points), whole[:, :3], atol=1e-12)
    np.testing.assert_allclose(h.slope(X, SLOPES), whole[:, 3:], atol=1e-12)
    np.testing.assert_array_equal(bound.observe(h, X), np.hstack([h.evaluate(X, measure.points), h.slope(X, SLOPES)]))
    assert h.norm == pytest.approx(np.sqrt(np.sum(coef * whole)), rel=1e-12)


def test_bandwidths_from_data_become_numbers_where_the_data_are():
    kernel = Decomposable(Gaussian("median"), Gaussian("median"))
    measure = GaussLegendre(3).build()
    adapted = kernel.adapt(X)
    assert (adapted.kernel, adapted.output_kernel) == (Gaussian("median").adapt(X), Gaussian("median"))
    bound = adapted.bind(measure)
    assert bound.output_kernel == Gaussian("median").adapt(measure.points)
    late = kernel.bind(measure)  # k_X then becomes numbers at the rows of the fit
    np.testing.assert_array_equal(late.expand(X, COEF).evaluate(Z, THETA), bound.expand(X, COEF).evaluate(Z, THETA))
    assert kernel == Decomposable(Gaussian("median"), Gaussian("median"))
