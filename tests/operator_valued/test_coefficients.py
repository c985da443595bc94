"""Coefficients in a basis against the same problem at the nodes, solved from its definition in cvxpy."""

from dataclasses import replace

import cvxpy_primal
import numpy as np
import pytest

from mercer.backend import to_numpy
from mercer.exceptions import DataError, ParameterError, ParameterTypeError, UnsupportedError
from mercer.kernels import Gaussian, Laplacian
from mercer.linalg import LowRank
from mercer.losses import EpsilonInsensitive, EpsilonRidge, Huber, Square
from mercer.measures import GaussLegendre, Measure
from mercer.operator_valued import (
    BoundCoefficients,
    BoundDecomposable,
    ExpansionKernel,
    FunctionBasis,
    HarmonicBasis,
    NystromBasis,
)
from mercer.problems import DualProblem
from mercer.solvers import ADMM, ClosedForm, ProximalGradient
from mercer.testing import check_kernel, check_operator

strict = pytest.importorskip("array_api_strict")

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(6, 2)), RNG.normal(size=(4, 2))
MU = Measure(np.array([0.1, 0.25, 0.5, 0.7, 0.9]), np.array([0.3, 0.2, 0.3, 0.1, 0.1]))
THETA = np.array([[0.05], [0.4], [0.5], [0.99]])
Y = np.sin(2 * X[:, :1]) * (1 + MU.locations) + 0.7 * RNG.normal(size=(6, 5))
KERNEL, OUTPUT = Gaussian(0.5), Gaussian(3.0)
BASIS = NystromBasis(2).bind(MU, OUTPUT)
NORM_LOSSES = [Huber(0.3), EpsilonRidge(0.3), EpsilonInsensitive(0.3)]
#: cvxpy's value of the ε-ridge problem is right to some 3e-8, hence h to √(2·3e-8/λ) in its space
CVXPY = 1.2e-3


def solve(bound, curves, loss, alpha=0.05, solver=None, **options):
    """Fit by coefficients; return the result, representer coefficients and the problem."""
    problem = DualProblem(bound.gram(X), loss, bound.analyse(curves), bound.measure, alpha, **options)
    result = (solver or ADMM(tol=1e-9, max_iter=20_000)).solve(problem)
    assert result.converged, result.message
    return result, problem.primal_coef(result.coef), problem


def at_nodes(curves, basis=BASIS, **options):
    """The problem of the truncated kernel at the nodes, for cvxpy."""
    values = basis.evaluate(MU.points)
    truncated = (values * basis.spectrum) @ values.T
    return cvxpy_primal.Data(KERNEL(X), truncated, curves, MU.locations, MU.weights, **options)


# -- truncation ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", NORM_LOSSES, ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_augmented_problem_is_that_of_the_truncated_kernel(loss, weighted):
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 6) if weighted else None
    value, H, _ = cvxpy_primal.solve(loss, at_nodes(Y, sample_weight=weight))
    bound = BoundCoefficients(KERNEL, BASIS, MU)
    result, coef, _ = solve(bound, Y, loss, sample_weight=weight)
    assert result.objective == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(bound.expand(X, coef).evaluate(X, MU.points), H, atol=CVXPY)


@pytest.mark.parametrize("loss", NORM_LOSSES, ids=repr)
def test_restricted_problem_is_that_of_projected_curves(loss):
    values = BASIS.evaluate(MU.points)
    projected = Y @ (MU.weights[:, None] * values) @ values.T
    value, H, _ = cvxpy_primal.solve(loss, at_nodes(projected))
    bound = BoundCoefficients(KERNEL, BASIS, MU, augmented=False)
    result, coef, _ = solve(bound, Y, loss)
    assert result.objective == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(bound.expand(X, coef).evaluate(X, MU.points), H, atol=CVXPY)
    whole = solve(BoundCoefficients(KERNEL, BASIS, MU), Y, loss)[1]
    assert (
        np.abs(bound.expand(X, coef).evaluate(X, MU.points) - bound.expand(X, whole).evaluate(X, MU.points)).max()
        > 0.01
    )


def test_square_loss_needs_no_augmentation():
    one, two = (
        bound.expand(X, solve(bound, Y, Square(), solver=ClosedForm())[1]).evaluate(Z, THETA)
        for bound in (BoundCoefficients(KERNEL, BASIS, MU, augmented=augmented) for augmented in (True, False))
    )
    np.testing.assert_allclose(one, two, atol=1e-12)


@pytest.mark.parametrize("loss", [Huber(0.3), EpsilonRidge(0.3)], ids=repr)
def test_same_problem_at_the_nodes_with_the_kernel_of_the_basis(loss):
    nodes = BoundDecomposable(KERNEL, ExpansionKernel(BASIS), MU)
    problem = DualProblem(nodes.gram(X), loss, Y, MU, 0.05)
    reference = ADMM(tol=1e-9, max_iter=20_000).solve(problem)
    bound = BoundCoefficients(KERNEL, BASIS, MU)
    result, coef, _ = solve(bound, Y, loss)
    assert result.objective == pytest.approx(reference.objective, rel=1e-7)
    expected = nodes.expand(X, problem.primal_coef(reference.coef)).evaluate(Z, THETA)
    np.testing.assert_allclose(bound.expand(X, coef).evaluate(Z, THETA), expected, atol=2e-4)


def test_whole_basis_gives_the_printed_norm_huber():
    x, theta = np.array([[0.0], [0.3], [0.7], [1.0]]), np.array([0.1, 0.5, 0.9])
    mu = Measure(theta, np.array([0.3, 0.4, 0.3]))
    curves = np.array([0.2, -0.1, 0.5, 0.4])[:, None] * (1 + theta)
    bound = BoundCoefficients(Gaussian(2.0), NystromBasis().bind(mu, Gaussian(3.0)), mu)
    problem = DualProblem(bound.gram(x), Huber(0.2), bound.analyse(curves), bound.measure, 0.1)
    result = ProximalGradient(tol=1e-10).solve(problem)
    assert result.objective == pytest.approx(0.05099557, abs=5e-9)
    np.testing.assert_allclose(problem.measure.norm(result.coef), [0.164459, 0.2, 0.2, 0.181158], atol=2e-6)
    H = bound.expand(x, problem.primal_coef(result.coef)).evaluate(x, mu.points)
    np.testing.assert_allclose(H[0], [0.100405, 0.156043, 0.160406], atol=2e-6)


# -- the mean function ---------------------------------------------------------------------------------------------


def test_mean_function_of_the_square_loss_is_the_best_one():
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 6)
    _, H, b = cvxpy_primal.solve(Square(), at_nodes(Y, sample_weight=weight, intercept=True))
    mean = weight @ Y / weight.sum()
    bound = BoundCoefficients(KERNEL, BASIS, MU, augmented=False)
    assert bound.takes_intercept
    result, coef, _ = solve(bound, Y - mean, Square(), solver=ClosedForm(), sample_weight=weight, fit_intercept=True)
    np.testing.assert_allclose(bound.expand(X, coef).evaluate(X, MU.points), H, atol=1e-5)
    np.testing.assert_allclose(mean + bound.synthesise(result.intercept[None, :], MU.points)[0], b, atol=1e-5)


def test_an_intercept_beside_the_residual_column_would_be_wrong():
    bound = BoundCoefficients(KERNEL, BASIS, MU)
    assert not bound.takes_intercept
    value = cvxpy_primal.solve(Huber(0.3), at_nodes(Y, intercept=True))[0]
    assert solve(bound, Y, Huber(0.3), fit_intercept=True)[0].objective < 0.95 * value


@pytest.mark.parametrize("loss", [Huber(0.3), EpsilonRidge(0.3)], ids=repr)
def test_at_the_nodes_the_mean_function_is_free_with_any_loss(loss):
    value, H, b = cvxpy_primal.solve(loss, at_nodes(Y, intercept=True))
    nodes = BoundDecomposable(KERNEL, ExpansionKernel(BASIS), MU)
    problem = DualProblem(nodes.gram(X), loss, Y, MU, 0.05, fit_intercept=True)
    result = ADMM(tol=1e-8, max_iter=20_000).solve(problem)
    assert result.objective == pytest.approx(value, rel=1e-6)
    values = nodes.expand(X, problem.primal_coef(result.coef)).evaluate(X, MU.points) + result.intercept
    np.testing.assert_allclose(values, H + b, atol=3 * CVXPY)


def test_synthesise_undoes_analyse_within_the_span():
    coefficients = np.random.default_rng(1).normal(size=(3, 2))
    bound = BoundCoefficients(KERNEL, BASIS, MU)
    curves = bound.synthesise(coefficients, MU.points)
    np.testing.assert_allclose(bound.analyse(curves)[:, :2], coefficients, atol=1e-12)
    np.testing.assert_allclose(bound.analyse(curves)[:, 2], 0, atol=1e-7)
    np.testing.assert_allclose(bound.synthesise(bound.analyse(curves), MU.points), curves, atol=1e-12)


# -- the parts -----------------------------------------------------------------------------------------------------


def test_coefficients_are_inner_products_and_the_rest():
    bound = BoundCoefficients(KERNEL, BASIS, MU)
    R = bound.analyse(Y)
    assert R.shape == (6, 3)
    for j in range(2):
        np.testing.assert_allclose(R[:, j], MU.inner(Y, BASIS.evaluate(MU.points)[:, j]), atol=1e-12)
    np.testing.assert_allclose(bound.measure.norm(R), MU.norm(Y), atol=1e-12)
    assert np.all(R[:, 2] > 0)
    assert bound.measure.total == 3


def test_the_rest_of_curves_in_the_span_of_the_basis_is_rounding():
    bound = BoundCoefficients(KERNEL, BASIS, MU)
    inside = BASIS.evaluate(MU.points) @ np.random.default_rng(0).normal(size=(2, 20))
    R = bound.analyse(inside.T)
    assert np.all(R[:, 2] <= 1e-14 * bound.measure.norm(R))  # and not its root, as of a difference of squares


def test_a_basis_that_is_not_orthonormal_may_reach_more_than_the_norm():
    double = FunctionBasis(lambda t: np.hstack([2 * t**0, 0 * t]), [1.0, 0.25]).bind(MU)
    R = BoundCoefficients(KERNEL, double, MU).analyse(1 + 0 * Y)
    np.testing.assert_allclose(R, np.tile([2.0, 0.0, 0.0], (6, 1)), atol=1e-12)


@pytest.mark.parametrize("augmented", [True, False])
@pytest.mark.parametrize("points", [THETA, THETA[:1]], ids=["many", "few"])
def test_values_are_those_of_the_product_kernel(augmented, points):
    bound = BoundCoefficients(KERNEL, BASIS, MU, augmented=augmented)
    coef = np.random.default_rng(1).normal(size=(6, 2 + augmented))
    gram = bound.gram(X)
    check_operator(gram, coef)
    expected = KERNEL(Z, X) @ (coef[:, :2] * BASIS.spectrum) @ BASIS.evaluate(points).T
    np.testing.assert_allclose(bound.expand(X, coef).evaluate(Z, points), expected, atol=1e-12)
    # at the data, the Gram operator gives the coefficients of the same functions
    np.testing.assert_allclose(
        bound.synthesise(gram @ coef, points), bound.expand(X, coef).evaluate(X, points), atol=1e-12
    )
    if augmented:
        assert np.all((gram @ coef)[:, 2] == 0)


def test_slopes_are_limits_of_differences():
    coef, e = np.random.default_rng(1).normal(size=(6, 9)), 1e-5
    basis = HarmonicBasis(4).bind(MU)
    bound = BoundCoefficients(KERNEL, basis, MU, 2, np.array([[2.0, 1.0], [1.0, 1.0]]))
    high, low = (bound.expand(X, coef).evaluate(Z, THETA + step) for step in (e, -e))
    np.testing.assert_allclose(bound.expand(X, coef).slope(Z, THETA), (high - low) / (2 * e), atol=1e-6)


# -- components ----------------------------------------------------------------------------------------------------

A = np.array([[2.0, 0.5, 1.0], [0.5, 1.0, 0.0], [1.0, 0.0, 0.7]])
SINGULAR = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 0.0]])
FACES = RNG.normal(size=(6, 5, 3))


def dense_reference(matrix, curves, loss):
    """The problem on (θ, component) pairs at the nodes, for cvxpy."""
    values = BASIS.evaluate(MU.points)
    data = at_nodes(curves.reshape(6, -1))
    truncated = np.kron((values * BASIS.spectrum) @ values.T, matrix)
    return cvxpy_primal.solve(
        loss, replace(data, right=truncated, points=np.repeat(MU.locations, 3), weights=np.repeat(MU.weights, 3))
    )


@pytest.mark.parametrize("matrix", [A, SINGULAR], ids=["regular", "singular"])
@pytest.mark.parametrize("loss", [Square(), Huber(0.5)], ids=repr)
def test_components_against_the_dense_problem(matrix, loss):
    value, H, _ = dense_reference(matrix, FACES, loss)
    bound = BoundCoefficients(KERNEL, BASIS, MU, 3, matrix)
    assert len(bound.measure) == 7
    result, coef, _ = solve(bound, FACES.reshape(6, -1), loss)
    assert result.objective == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(bound.expand(X, coef).evaluate(X, MU.points), H, atol=CVXPY)


def test_identity_is_the_default_matrix_and_separates_components():
    curves = FACES.reshape(6, -1)
    default, identity = BoundCoefficients(KERNEL, BASIS, MU, 3), BoundCoefficients(KERNEL, BASIS, MU, 3, np.eye(3))
    np.testing.assert_array_equal(default.gram(X).right.to_dense(), identity.gram(X).right.to_dense())
    coef = solve(default, curves, Square(), solver=ClosedForm())[1]
    together = default.expand(X, coef).evaluate(Z, THETA).reshape(4, 4, 3)
    np.testing.assert_allclose(together.reshape(4, 12), identity.expand(X, coef).evaluate(Z, THETA), atol=1e-14)
    single = BoundCoefficients(KERNEL, BASIS, MU)
    for c in range(3):
        alone = solve(single, FACES[:, :, c], Square(), solver=ClosedForm())[1]
        np.testing.assert_allclose(together[:, :, c], single.expand(X, alone).evaluate(Z, THETA), atol=1e-10)


def test_one_component_with_a_matrix_is_the_scalar_case():
    scalar, matrix = BoundCoefficients(KERNEL, BASIS, MU), BoundCoefficients(KERNEL, BASIS, MU, 1, np.array([[1.0]]))
    np.testing.assert_array_equal(scalar.analyse(Y), matrix.analyse(Y))
    coef = np.random.default_rng(1).normal(size=(6, 3))
    np.testing.assert_allclose(scalar.gram(X) @ coef, matrix.gram(X) @ coef, atol=1e-14)
    np.testing.assert_allclose(
        scalar.expand(X, coef).evaluate(Z, THETA), matrix.expand(X, coef).evaluate(Z, THETA), atol=1e-14
    )


# -- the kernel ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("basis", [BASIS, HarmonicBasis(5).bind(MU)], ids=repr)
def test_expansion_kernel_keeps_the_contract(basis):
    kernel = ExpansionKernel(basis)
    check_kernel(kernel, np.sort(np.random.default_rng(1).uniform(size=(9, 1)), axis=0))
    gram = kernel.gram(THETA)
    assert isinstance(gram, LowRank)
    np.testing.assert_allclose(gram.to_dense(), kernel(THETA), atol=1e-14)
    explicit = sum(
        weight * np.outer(psi, psi) for weight, psi in zip(basis.spectrum, basis.evaluate(THETA).T, strict=True)
    )
    np.testing.assert_allclose(kernel(THETA), explicit, atol=1e-12)


def test_expansion_kernel_of_the_whole_basis_is_the_kernel_at_the_nodes():
    np.testing.assert_allclose(
        ExpansionKernel(NystromBasis().bind(MU, OUTPUT))(MU.points, THETA), OUTPUT(MU.points, THETA), atol=1e-8
    )


def test_output_kernel_is_the_one_of_the_basis():
    assert BoundCoefficients(KERNEL, BASIS, MU).output_kernel == ExpansionKernel(BASIS)
    assert "size=2" in repr(ExpansionKernel(BASIS))


def test_expansion_kernel_has_the_derivatives_of_its_basis():
    with pytest.raises(UnsupportedError, match="no derivatives"):
        ExpansionKernel(NystromBasis().bind(MU, Laplacian(1.0))).derivative(THETA, None, (1, 0))


def test_a_basis_must_be_bound():
    with pytest.raises(ParameterTypeError, match=r"basis must be a BoundBasis; .*Bind it first"):
        ExpansionKernel(NystromBasis())
    with pytest.raises((ParameterError, ParameterTypeError), match="basis must be a BoundBasis"):
        ExpansionKernel("nystrom")


# -- bad input, other arrays ---------------------------------------------------------------------------------------


def test_curves_must_fit_the_nodes_and_be_complete():
    bound = BoundCoefficients(KERNEL, BASIS, MU, 2)
    with pytest.raises(DataError, match=r"5 nodes with 2 components have shape \(n, 10\); got \(6, 5\)"):
        bound.analyse(Y)
    holed = np.where(np.arange(5) == 2, np.nan, Y)
    with pytest.raises(DataError, match=r"NaNs. Solve at the nodes"):
        BoundCoefficients(KERNEL, BASIS, MU).analyse(holed)


def test_other_array_libraries():
    like = strict.asarray([0.0], dtype=strict.float64)
    mu = MU.like(like)
    basis = HarmonicBasis(3)
    bound = BoundCoefficients(KERNEL, basis.bind(mu), mu, 3, A)
    reference = BoundCoefficients(KERNEL, basis.bind(MU), MU, 3, A)
    curves = FACES.reshape(6, -1)
    x, z, theta = (strict.asarray(array) for array in (X, Z, THETA))
    targets = bound.analyse(strict.asarray(curves))
    np.testing.assert_allclose(to_numpy(targets), reference.analyse(curves), atol=1e-12)
    problem = DualProblem(bound.gram(x), Huber(0.5), targets, bound.measure, 0.05)
    result = ProximalGradient(tol=1e-8).solve(problem)
    values = bound.expand(x, problem.primal_coef(result.coef)).evaluate(z, theta)
    assert isinstance(values, type(theta))
    coef = solve(reference, curves, Huber(0.5))[1]
    np.testing.assert_allclose(to_numpy(values), reference.expand(X, coef).evaluate(Z, THETA), atol=1e-3)
    kernel = ExpansionKernel(bound.basis)
    np.testing.assert_allclose(to_numpy(kernel(theta)), ExpansionKernel(reference.basis)(THETA), atol=1e-12)


def test_few_functions_of_a_fine_grid_make_few_columns():
    mu = GaussLegendre(200).build()
    bound = BoundCoefficients(KERNEL, NystromBasis(tolerance=1e-6).bind(mu, OUTPUT), mu)
    assert len(bound.measure) < 12
    curves = np.sin(X[:, :1] + 3 * mu.locations)
    assert np.all(bound.analyse(curves)[:, -1] < 1e-2)
