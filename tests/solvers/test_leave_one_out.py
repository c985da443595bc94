"""Leave-one-out and generalised cross-validation of the square loss against refits, dense algebra and invariances."""

from __future__ import annotations

import array_api_strict as strict
import numpy as np
import pytest
from cvxpy_primal import Data, make

from mercer.exceptions import DataError, ParameterError, ParameterTypeError, UnsupportedError
from mercer.kernels import Gaussian, Laplacian
from mercer.linalg import Dense, Kronecker, LowRank
from mercer.losses import Square
from mercer.measures import Measure
from mercer.problems import DualProblem
from mercer.solvers import (
    ClosedForm,
    RidgePath,
    generalised_errors,
    kernel_grid_errors,
    leave_one_out_errors,
    leave_one_out_predictions,
)

intercepts = pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
weights = pytest.mark.parametrize("weighted", [False, True], ids=["uniform", "weighted"])
ALPHAS = np.array([1e-6, 1e-3, 0.05, 2.0])


def whitened(data):
    """S^½K_XS^½, W^½K_ΘW^½ and S^½YW^½ of a small problem, s of mean 1."""
    n = len(data.Y)
    s = np.ones(n) if data.sample_weight is None else data.sample_weight * n / data.sample_weight.sum()
    left, right = np.sqrt(s), np.sqrt(data.weights)
    return (
        data.left * np.outer(left, left),
        data.right * np.outer(right, right),
        data.Y * np.outer(left, right),
        left / np.sqrt(n),
    )


def hat_matrices(data, alpha):
    """The n×n hat matrix in each eigenvector of the output Gram, by dense solves, and the targets there."""
    K, T, Y, ones = whitened(data)
    n = len(K)
    tau, V = np.linalg.eigh(T)
    centre = np.eye(n) - np.outer(ones, ones) * data.intercept
    hats = []
    for t in tau:
        inside = centre @ K @ centre * t
        hats.append(np.linalg.solve(inside + alpha * n * np.eye(n), inside) + np.eye(n) - centre)
    return hats, (Y @ V).T


def large(n=150, m=12, seed=0, rough=True, weighted=False, intercept=False, noise=0.3):
    """A problem whose input Gram has full numerical rank (rough) or a small one."""
    rng = np.random.default_rng(seed)
    X, points = rng.uniform(size=(n, 3 if rough else 1)), np.linspace(0, 1, m)
    kernel = Laplacian(2.0) if rough else Gaussian(1.0)
    Y = np.sin(4 * X[:, :1] + 3 * points) + noise * rng.normal(size=(n, m))
    return Data(
        kernel(X),
        Gaussian(4.0)(points[:, None]),
        Y,
        points,
        np.full(m, 1 / m),
        1e-3,
        rng.uniform(0.5, 2.0, n) if weighted else None,
        intercept,
    )


def direct(data, alphas):
    """The errors of both kinds from hat matrices."""
    loo, gcv = [], []
    for alpha in alphas:
        pairs = list(zip(*hat_matrices(data, alpha), strict=True))
        rows = [(y - hat @ y) / (1 - np.diag(hat)) for hat, y in pairs]
        loo.append(0.5 * np.mean(np.sum(np.square(rows), axis=0)))
        gcv.append(sum(0.5 * np.mean((y - hat @ y) ** 2) / (1 - np.mean(np.diag(hat))) ** 2 for hat, y in pairs))
    return np.array(loo), np.array(gcv)


@intercepts
@weights
@pytest.mark.parametrize("rough", [True, False], ids=["full rank", "low rank"])
def test_errors_equal_those_from_hat_matrices(intercept, weighted, rough):
    data = large(intercept=intercept, weighted=weighted, rough=rough)
    problem = data.problem(Square())
    loo, gcv = direct(data, ALPHAS)
    # a thin basis leaves out 1e-4 of the smallest λn, and thus less than that of the error
    tolerance = np.full(4, 1e-8) if rough else 1e-8 + 1e-4 * ALPHAS[0] / ALPHAS
    assert np.all(np.abs(leave_one_out_errors(problem, ALPHAS) / loo - 1) <= tolerance)
    assert np.all(np.abs(generalised_errors(problem, ALPHAS) / gcv - 1) <= tolerance)
    assert RidgePath(problem, ALPHAS).inputs.complete is rough


@intercepts
@weights
def test_path_equals_closed_form(intercept, weighted):
    problem = large(n=120, intercept=intercept, weighted=weighted).problem(Square())
    path = RidgePath(problem, ALPHAS)
    for k, result in enumerate(ClosedForm().path(problem, ALPHAS)):
        np.testing.assert_allclose(path.coef(ALPHAS[k]), result.coef, atol=1e-9)
        assert path.objectives[k] == pytest.approx(result.objective, rel=1e-8)
        risk = problem.risk(problem.Y - result.coef, np.zeros(problem.shape[1]))
        assert path.training_errors[k] == pytest.approx(risk, rel=1e-7)


@intercepts
@weights
def test_predictions_equal_refits(intercept, weighted):
    """Each row left out in turn, with λn kept; the errors are those of the predictions."""
    data = make(intercept=intercept, weighted=weighted, n=7)
    n = len(data.Y)
    s = np.ones(n) if data.sample_weight is None else data.sample_weight * n / data.sample_weight.sum()
    problem = data.problem(Square())
    got = leave_one_out_predictions(problem)
    for i in range(n):
        keep = np.arange(n) != i
        rest = Data(
            data.left[np.ix_(keep, keep)],
            data.right,
            data.Y[keep],
            data.points,
            data.weights,
            data.alpha * n / s[keep].sum(),
            s[keep],
            intercept,
        ).problem(Square())
        result = ClosedForm().solve(rest)
        expected = data.left[i, keep] @ rest.primal_coef(result.coef) @ data.right + result.intercept
        np.testing.assert_allclose(got[i], expected, atol=1e-9)
    errors = 0.5 * np.mean(s * ((data.Y - got) ** 2 @ data.weights))
    assert leave_one_out_errors(problem, [data.alpha]) == pytest.approx(errors, rel=1e-9)


@pytest.mark.parametrize("errors", [leave_one_out_errors, generalised_errors])
def test_node_splitting_changes_nothing(errors):
    data = make(intercept=True, weighted=True, n=9, m=4)
    twice = np.array([0, 1, 1, 2, 3, 3])
    share = np.array([1.0, 0.3, 0.7, 1.0, 0.5, 0.5])
    split = Data(
        data.left,
        data.right[np.ix_(twice, twice)],
        data.Y[:, twice],
        data.points[twice],
        data.weights[twice] * share,
        data.alpha,
        data.sample_weight,
        True,
    )
    np.testing.assert_allclose(
        errors(split.problem(Square()), ALPHAS), errors(data.problem(Square()), ALPHAS), rtol=1e-8
    )


@intercepts
@pytest.mark.parametrize("rough", [True, False], ids=["full rank", "low rank"])
def test_order_of_rows_does_not_matter(intercept, rough):
    """Not even on data without noise, where residuals are tiny and differences would cancel."""
    data = large(noise=0.0, intercept=intercept, rough=rough)
    alphas = np.logspace(-8, 1, 37)
    order = np.random.default_rng(3).permutation(len(data.Y))
    mixed = Data(**{**data.__dict__, "left": data.left[np.ix_(order, order)], "Y": data.Y[order]})
    one, other = (leave_one_out_errors(d.problem(Square()), alphas) for d in (data, mixed))
    np.testing.assert_allclose(one, other, rtol=1e-6 if rough else 1e-3)
    if rough:
        np.testing.assert_allclose(one, direct(data, alphas)[0], rtol=1e-5)


def test_rotations_of_the_samples_change_leave_one_out_but_not_generalised_errors():
    """The invariance that gives generalised cross-validation its name."""
    data = make(n=8, m=3)
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(8, 8)))[0]
    turned = Data(**{**data.__dict__, "left": rotation @ data.left @ rotation.T, "Y": rotation @ data.Y})
    one, other = data.problem(Square()), turned.problem(Square())
    np.testing.assert_allclose(generalised_errors(one, ALPHAS), generalised_errors(other, ALPHAS), rtol=1e-9)
    assert np.all(np.abs(leave_one_out_errors(one, ALPHAS) / leave_one_out_errors(other, ALPHAS) - 1) > 1e-4)


@intercepts
def test_generalised_error_of_a_large_penalty_is_that_of_the_mean(intercept):
    data = make(n=9, m=4, intercept=intercept)
    centred = data.Y - data.Y.mean(axis=0) * intercept
    expected = 0.5 * np.mean(centred**2 @ data.weights) / (1 - intercept / 9) ** 2
    assert generalised_errors(data.problem(Square()), [1e9]) == pytest.approx(expected, rel=1e-6)


@intercepts
@weights
@pytest.mark.parametrize("criterion", ["leave_one_out", "generalised"])
def test_kernel_grid_equals_one_problem_each(intercept, weighted, criterion):
    data = large(n=110, m=6, intercept=intercept, weighted=weighted)
    X = np.random.default_rng(0).uniform(size=(110, 3))
    inputs = [Laplacian(1.0).gram(X), Dense(Gaussian(1.0)(X)), LowRank(X)]
    outputs = [Dense(kernel(data.points[:, None])) for kernel in (Gaussian(1.0), Laplacian(3.0))]
    got = kernel_grid_errors(data.problem(Square()), inputs, outputs, ALPHAS, criterion=criterion)
    errors = leave_one_out_errors if criterion == "leave_one_out" else generalised_errors
    for i, left in enumerate(inputs):
        for j, right in enumerate(outputs):
            problem = DualProblem(
                Kronecker(left, right),
                Square(),
                data.Y,
                Measure(data.points, data.weights),
                1.0,
                data.sample_weight,
                intercept,
            )
            np.testing.assert_allclose(got[i, j], errors(problem, ALPHAS), rtol=1e-4 if i == 1 else 1e-8)


def test_zero_output_kernel_predicts_the_mean_of_the_others():
    data = Data(**{**make(m=1, intercept=True).__dict__, "right": np.zeros((1, 1))})
    n = len(data.Y)
    others = (data.Y.sum(axis=0) - data.Y) / (n - 1)
    problem = data.problem(Square())
    np.testing.assert_allclose(leave_one_out_predictions(problem), others)
    expected = 0.5 * data.weights[0] * np.mean((data.Y - others) ** 2)
    np.testing.assert_allclose(leave_one_out_errors(problem, ALPHAS), np.full(4, expected))


def test_other_arrays_give_the_same_errors():
    data = make(intercept=True, weighted=True)
    a = strict.asarray
    problem = DualProblem(
        Kronecker(Dense(a(data.left)), Dense(a(data.right))),
        Square(),
        a(data.Y),
        Measure(a(data.points), a(data.weights)),
        1.0,
        a(data.sample_weight),
        True,
    )
    for errors in (leave_one_out_errors, generalised_errors):
        np.testing.assert_allclose(errors(problem, ALPHAS), errors(data.problem(Square()), ALPHAS), rtol=1e-10)
    coef = RidgePath(problem, ALPHAS).coef(0.1)
    assert type(coef).__module__.startswith("array_api_strict")


def test_bad_input_is_refused():
    problem = make().problem(Square())
    left, right = problem.gram.left, problem.gram.right
    for alphas in ([], [0.0], [1.0, -1.0], [np.nan], [[1.0]]):
        with pytest.raises(ParameterError, match="positive numbers"):
            leave_one_out_errors(problem, alphas)
    with pytest.raises(UnsupportedError, match="complete grid"):
        generalised_errors(make(masked=True).problem(Square()), [1.0])
    with pytest.raises(UnsupportedError, match="complete grid"):
        kernel_grid_errors(make(masked=True).problem(Square()), [left], [right], [1.0])
    with pytest.raises(ParameterError, match="criterion"):
        kernel_grid_errors(problem, [left], [right], [1.0], criterion="loo")
    with pytest.raises(ParameterError, match="inputs must be one Gram operator or more"):
        kernel_grid_errors(problem, [], [right], [1.0])
    with pytest.raises(ParameterTypeError, match="Gram operators"):
        kernel_grid_errors(problem, [Gaussian()], [right], [1.0])
    with pytest.raises(DataError, match="outputs must have shape"):
        kernel_grid_errors(problem, [left], [left], [1.0])


@intercepts
def test_problems_whose_rows_are_parts_of_samples(intercept):
    """λ and objective are those of the mean over samples: the mass of a sample enters as in every other fit."""
    data = make(intercept=intercept)
    gram = Kronecker(Dense(data.left), Dense(data.right))
    measure = Measure(data.points, data.weights)
    problem = DualProblem(gram, Square(), data.Y, measure, 0.05, None, intercept, mass=2.5)
    path = RidgePath(problem, [0.05, 0.4])
    for alpha, objective in zip(path.alphas, path.objectives, strict=True):
        single = ClosedForm().solve(problem.with_alpha(float(alpha)))
        assert objective == pytest.approx(single.objective, rel=1e-9)
        np.testing.assert_allclose(path.coef(alpha), single.coef, atol=1e-9)
