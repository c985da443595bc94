"""Fields without rotation and without sources: kernels, products, derivatives, potentials."""

import numpy as np
import pytest

from mercer.exceptions import DataError, MercerError, UnsupportedError
from mercer.kernels import Gaussian, Laplacian, Matern, Periodic, RationalQuadratic
from mercer.linalg import memory_limit
from mercer.measures import Measure
from mercer.operator_valued import CurlFree, DivergenceFree, Helmholtz
from mercer.testing import check_operator_valued_kernel

RADIAL = [
    Gaussian(0.7),
    Matern(2.5, 0.8),
    RationalQuadratic(1.5, 0.9),
    Gaussian([0.5, 1.3, 2.0]),
    Matern(2.5, [0.8, 1.5, 0.6]),
]
FIELDS = [kind(kernel) for kind in (CurlFree, DivergenceFree) for kernel in RADIAL] + [
    Helmholtz(Gaussian(0.5), Matern(2.5, 1.4), weight=0.3),
    CurlFree(Gaussian(1.0)) + 0.5 * DivergenceFree(Gaussian(0.3)),
]
RNG = np.random.default_rng(0)
X, Z, C = RNG.normal(size=(9, 3)), RNG.normal(size=(6, 3)), RNG.normal(size=(6, 3))
Z[0] = X[0]  # a pair of the same point
each_field = pytest.mark.parametrize("field", FIELDS, ids=repr)


def outputs(p):
    return Measure(np.arange(float(p)), np.ones(p))


def hessian(k, delta, step=1e-3):
    """The second derivatives of k(· − 0) at δ, by differences of fourth order of its values."""
    d, origin = len(delta), np.zeros((1, len(delta)))
    nodes, weights = np.array([-2, -1, 1, 2]) * step, np.array([1, -8, 8, -1]) / (12 * step)
    result = np.zeros((d, d))
    for a in range(d):
        for b in range(d):
            for u, v in zip(nodes, weights, strict=True):
                for t, w in zip(nodes, weights, strict=True):
                    point = delta + u * np.eye(d)[a] + t * np.eye(d)[b]
                    result[a, b] += v * w * k(point[None], origin)[0, 0]
    return result


def slopes(function, step=1e-5):
    """∂_b of a function of X, the derivative last."""
    unit = np.eye(X.shape[1])
    return np.stack([(function(X + step * e) - function(X - step * e)) / (2 * step) for e in unit], axis=-1)


def no_rotation(J):
    return np.abs(J - J.transpose(0, 2, 1)).max()


def no_sources(J):
    return np.abs(np.trace(J, axis1=1, axis2=2)).max()


@pytest.mark.parametrize("k", RADIAL, ids=repr)
def test_values_are_finite_differences_of_the_scalar_kernel(k):
    for delta in RNG.normal(size=(4, 3)):
        H = hessian(k, delta)
        origin = np.zeros((1, 3))
        curl, divergence = (kind(k).blocks(delta[None], origin)[0, 0] for kind in (CurlFree, DivergenceFree))
        np.testing.assert_allclose(curl, -H, atol=1e-6)
        np.testing.assert_allclose(divergence, H - np.trace(H) * np.eye(3), atol=1e-6)


@pytest.mark.parametrize("d", [2, 3, 7])
def test_gaussian_fields_in_closed_form(d):
    """As printed for exp(−‖δ‖²/(2σ²)), and K(x, x) = I/σ² and (d − 1)I/σ²."""
    sigma, points = 0.8, np.random.default_rng(1).normal(size=(5, d))
    k = Gaussian(1 / (2 * sigma**2))
    delta = points[:, None, :] - points[None, :, :]
    squares = np.sum(delta**2, axis=2)[..., None, None] / sigma**2
    outer, values = delta[..., :, None] * delta[..., None, :] / sigma**2, np.exp(-squares / 2) / sigma**2
    np.testing.assert_allclose(CurlFree(k).blocks(points, points), (np.eye(d) - outer) * values, atol=1e-13)
    expected = (outer + (d - 1 - squares) * np.eye(d)) * values
    np.testing.assert_allclose(DivergenceFree(k).blocks(points, points), expected, atol=1e-13)
    np.testing.assert_allclose(CurlFree(k).diagonal(points), [np.eye(d) / sigma**2] * 5, rtol=1e-14)
    np.testing.assert_allclose(DivergenceFree(k).diagonal(points), [(d - 1) * np.eye(d) / sigma**2] * 5, rtol=1e-14)


@each_field
def test_the_contract_and_positive_eigenvalues(field):
    check_operator_valued_kernel(field, outputs(3), X[:5])
    blocks = field.blocks(X, X)
    np.testing.assert_allclose(field.blocks(Z, X), field.blocks(X, Z).transpose(1, 0, 3, 2), atol=1e-14)
    values = np.linalg.eigvalsh(blocks.transpose(0, 2, 1, 3).reshape(27, 27))
    assert values[0] >= -1e-12 * values[-1]


@each_field
def test_products_diagonals_and_columns_are_those_of_the_blocks(field, monkeypatch):
    expected = np.einsum("ijab,jb->ia", field.blocks(X, Z), C)
    np.testing.assert_allclose(field.product(X, Z, C), expected, atol=1e-12)
    monkeypatch.setattr("mercer.operator_valued.matrix_valued.PAIR_BLOCK", 1)  # row after row
    monkeypatch.setattr("mercer.linalg.operator_gram.PAIR_BLOCK", 20)  # two rows at a time
    np.testing.assert_allclose(field.product(X, Z, C), expected, atol=1e-12)
    assert field.product(X[:0], Z, C).shape == (0, 3)
    np.testing.assert_allclose(field.diagonal(X), np.einsum("iiab->iab", field.blocks(X, X)), atol=1e-12)
    gram = field.bind(outputs(3)).gram(X).weighted(RNG.uniform(1, 2, 9), RNG.uniform(1, 2, 3))
    matrix = gram._operator.to_dense()
    np.testing.assert_allclose(gram._operator.diagonal(), np.diag(matrix), rtol=1e-12)
    np.testing.assert_allclose(gram._operator.column(7), matrix[:, 7], atol=1e-12)
    columns = RNG.normal(size=(27, 2))
    np.testing.assert_allclose(gram._operator @ columns, matrix @ columns, atol=1e-11)


@each_field
def test_stored_products_are_the_same_and_need_no_matrix(field):
    A = RNG.normal(size=(9, 3))
    gram = field.bind(outputs(3)).gram(X).weighted(RNG.uniform(1, 2, 9), None)
    dense = gram.stored()
    np.testing.assert_allclose(dense @ A, gram @ A, atol=1e-12)
    with memory_limit(8 * 27 * 27 - 1):  # the matrix is too large, what products share is not
        kept = gram.stored()
        assert kept is not gram
        np.testing.assert_allclose(kept @ A, gram @ A, atol=1e-12)
        np.testing.assert_allclose(kept.weighted(None, None) @ A, gram.weighted(None, None) @ A, atol=1e-12)
        assert kept.stored()._operator.kept is not None
    assert gram.stored(8) is gram


@each_field
def test_jacobians_are_finite_differences(field):
    expected = slopes(lambda x: field.product(x, Z, C))
    np.testing.assert_allclose(field.jacobian(X, Z, C), expected, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("k", RADIAL, ids=repr)
def test_no_rotation_and_no_sources(k):
    assert no_rotation(CurlFree(k).jacobian(X, Z, C)) < 1e-12
    assert no_sources(CurlFree(k).jacobian(X, Z, C)) > 1e-2
    assert no_sources(DivergenceFree(k).jacobian(X, Z, C)) < 1e-12
    assert no_rotation(DivergenceFree(k).jacobian(X, Z, C)) > 1e-2


@pytest.mark.parametrize("k", [*RADIAL, Matern(1.5, 0.8)], ids=repr)
def test_the_gradient_of_the_potential_is_the_field(k):
    field = CurlFree(k)
    gradient = slopes(lambda x: field.potential(x, Z, C))
    np.testing.assert_allclose(gradient, field.product(X, Z, C), atol=1e-3 if k.profile_order == 2 else 1e-8)
    assert np.all(DivergenceFree(k).potential(X, Z, C) == 0)


@pytest.mark.parametrize("k", [Gaussian(0.7), Gaussian([0.4, 1.7]), Matern(2.5, 0.8)], ids=repr)
def test_the_stream_function_in_the_plane(k):
    x, z, c = X[:, :2], Z[:, :2], C[:, :2]
    field = DivergenceFree(k)
    step = 1e-5
    first, second = (
        (field.stream_function(x + step * e, z, c) - field.stream_function(x - step * e, z, c)) / (2 * step)
        for e in np.eye(2)
    )
    np.testing.assert_allclose(np.stack([second, -first], axis=1), field.product(x, z, c), atol=1e-8)
    assert np.all(CurlFree(k).stream_function(x, z, c) == 0)
    with pytest.raises(UnsupportedError, match="fields in the plane; got 3 components"):
        DivergenceFree(Gaussian(1.0)).stream_function(X, Z, C)


def test_the_parts_of_a_helmholtz_field():
    field = Helmholtz(Gaussian(0.5), Matern(2.5, 1.4), weight=0.3)
    gradients, flows = field.parts(X, Z, C)
    np.testing.assert_allclose(gradients, 0.3 * CurlFree(Gaussian(0.5)).product(X, Z, C), atol=1e-13)
    np.testing.assert_allclose(flows, 0.7 * DivergenceFree(Matern(2.5, 1.4)).product(X, Z, C), atol=1e-13)
    np.testing.assert_allclose(field.potential(X, Z, C), 0.3 * CurlFree(Gaussian(0.5)).potential(X, Z, C), rtol=1e-12)
    plane = field.stream_function(X[:, :2], Z[:, :2], C[:, :2])
    other = DivergenceFree(Matern(2.5, 1.4)).stream_function(X[:, :2], Z[:, :2], C[:, :2])
    np.testing.assert_allclose(plane, 0.7 * other, rtol=1e-12)
    for weight, kind in ((1, CurlFree), (0, DivergenceFree)):
        alone = Helmholtz(Gaussian(0.5), Gaussian(0.5), weight=weight)
        np.testing.assert_allclose(alone.product(X, Z, C), kind(Gaussian(0.5)).product(X, Z, C), rtol=1e-12)


def test_points_far_from_their_mean_keep_their_digits():
    """Two heaps a long way apart: each point of one of them sees its own heap only."""
    heaps = np.concatenate([Z, Z + 3e7])
    for kind in (CurlFree, DivergenceFree):
        field = kind(Gaussian([0.5, 1.3, 2.0]))
        both = field.product(X, heaps, np.concatenate([C, C]))
        near = field.product(X, Z, C)
        np.testing.assert_allclose(both, near, atol=1e-12)
        jacobian = field.jacobian(X, heaps, np.concatenate([C, C]))
        np.testing.assert_allclose(jacobian, field.jacobian(X, Z, C), atol=1e-11)
        shifted = field.product(np.round(X, 2) + 2.0**20, np.round(Z, 2) + 2.0**20, C)
        np.testing.assert_allclose(shifted, field.product(np.round(X, 2), np.round(Z, 2), C), atol=1e-8)


def test_rules_become_numbers_and_parameters_are_tuned():
    field = Helmholtz()
    assert field.adapt(X).curl_free == Gaussian("median").adapt(X)
    assert field.curl_free == Gaussian("median")
    tuned = field.replace(curl_free__gamma=2.0, divergence_free=Matern(2.5, 1.0), weight=0.9)
    assert tuned == Helmholtz(Gaussian(2.0), Matern(2.5, 1.0), 0.9)
    assert CurlFree(Gaussian("standardized")).adapt(X).kernel.gamma.shape == (3,)
    assert Helmholtz().curl_free is not field.curl_free


@pytest.mark.parametrize("kernel", [Laplacian(1.0), Periodic(), Matern(0.5), 2.0 * Gaussian(1.0), "gaussian"], ids=repr)
def test_kernels_without_derivatives_are_refused(kernel):
    for make in (CurlFree, DivergenceFree, Helmholtz):
        with pytest.raises(MercerError, match=r"Gaussian, RationalQuadratic, Matern with nu=2\.5"):
            make(kernel)


def test_what_is_refused():
    with pytest.raises(DataError, match=r"R\^d has d components; got inputs of shape \(9, 3\) and 2 components"):
        CurlFree(Gaussian(1.0)).bind(outputs(2)).gram(X)
    with pytest.raises(DataError, match="CurlFree: a field"):
        Helmholtz().bind(outputs(2)).expand(X, np.ones((9, 2)))
    with pytest.raises(DataError, match="on the line"):
        DivergenceFree(Gaussian(1.0)).bind(outputs(1)).gram(X[:, :1])
    check_operator_valued_kernel(CurlFree(Gaussian(1.0)), outputs(1), X[:, :1])
    with pytest.raises(UnsupportedError, match="not differentiable"):
        CurlFree(Matern(1.5, 1.0)).jacobian(X, Z, C)
    with pytest.raises(MercerError, match=r"weight must be a finite number in \[0, 1\]"):
        Helmholtz(weight=1.5)
