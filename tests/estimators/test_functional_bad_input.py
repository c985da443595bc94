"""FunctionalRegressor and input that is wrong, or merely unusual."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from mercer import FunctionalRegressor
from mercer.exceptions import MercerError
from mercer.kernels import Gaussian, Precomputed
from mercer.losses import CostSensitiveHinge, Expectile, Huber, Pinball
from mercer.measures import GaussLegendre, MonteCarlo, Points
from mercer.operator_valued import HarmonicBasis

RNG = np.random.default_rng(5)
N, M = 14, 6
X = RNG.uniform(size=(N, 2))
GRID = np.linspace(0, 1, M)
Y = np.sin(3 * X[:, :1] + 4 * GRID) + 0.1 * RNG.normal(size=(N, M))
TWO = np.stack([Y, -Y], axis=2)
PAIRS = [(GRID[: 3 + i % 3], y[: 3 + i % 3]) for i, y in enumerate(Y)]
LOSSES = ["square", "huber", "epsilon_ridge", "epsilon_insensitive"]


def regressor(**settings):
    return FunctionalRegressor(**{"alpha": 0.05, "grid": GRID} | settings)


def changed(array, index, value):
    array = np.array(array, dtype=float)
    array[index] = value
    return array


def pairs(i, replacement):
    return [*PAIRS[:i], replacement, *PAIRS[i + 1 :]]


def refused(message, fit):
    with pytest.raises(MercerError, match=f"(?s){message}") as caught:
        fit()
    assert isinstance(caught.value, (ValueError, TypeError))


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        (GRID[::-1], "strictly increasing.*argsort"),
        (np.r_[0.0, GRID[:-1]], "strictly increasing"),
        (GRID[:4], r"grid must be as long as the curves: 6 points .*It has 4 points\. .*list of .points, values."),
        (GRID[None], "grid must be as long as the curves"),
        (changed(GRID, 2, np.nan), "finite numbers"),
        (changed(GRID, 5, np.inf), "finite numbers"),
        ("abc", "grid must hold numbers"),
        (list("abcdef"), "grid must hold numbers"),
        ([[1], [2, 3]], "grid must hold numbers"),
        (GRID + 1j, "Complex data not supported in grid"),
        (0.5, "finite numbers of shape"),
        (np.zeros((6, 1, 1)), "finite numbers of shape"),
        (Points, "grid must hold numbers"),
        (GaussLegendre(5), "grid must be as long as the curves"),
        (Points(GRID, changed(np.ones(M), 0, 0)), "6 points, but only 5 of positive weight.*and their columns of Y"),
        (Points(GRID[:4], [0, 1, 1, 1]), "4 points, but only 3 of positive weight.*leave out points of weight 0, or"),
    ],
    ids=str,
)
def test_grids_that_are_refused(grid, message):
    refused(message, lambda: regressor(grid=grid).fit(X, Y))


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (None, "requires y to be passed"),
        (changed(Y, 3, np.nan), "curve 3 has no observation.*Leave out"),
        (changed(Y, (slice(None), 2), np.nan), "column 2 of Y holds NaN only.*Leave it out"),
        (changed(TWO, (slice(None), 2, 1), np.nan), "column 2 of Y holds NaN only"),
        (changed(Y, (3, 1), np.inf), "contains infinity. NaN marks"),
        (Y[:5], "inconsistent numbers of samples, 14 and 5"),
        (Y.T, "grid must be as long as the curves"),
        (Y[:, :0], "Y must have shape"),
        (Y[:, :, None, None], r"Y must have shape .*got \(14, 6, 1, 1\)"),
        (3.0, "Y must have shape"),
        ([], "Y must have shape"),
        ([["a"] * M] * N, "Y must hold numbers"),
        (Y + 1j, "Complex data not supported"),
        (scipy.sparse.csr_matrix(Y), "Y must hold numbers"),
        ([y[: 3 + i % 2] for i, y in enumerate(Y)], "different numbers of values.*list of .points, values. pairs"),
        ([list(y[: 3 + i % 2]) for i, y in enumerate(Y)], "different numbers of values"),
        ([[[1.0, 2.0], [3.0]], [[1.0], [2.0]]] * 7, "curve 0 has 2 points but values of shape"),
        ([[1.0, [2.0, 3.0]], [1.0, 2.0]] * 7, "different numbers of values"),
        ([*PAIRS[:7], *Y[7:]], "different numbers of values"),
        ([*PAIRS[:7], *[None] * 7], "different numbers of values"),
        ((pair for pair in PAIRS), "Y must hold numbers"),
        ([{"points": t, "values": y} for t, y in PAIRS], "Y must hold numbers"),
    ],
)
def test_curves_that_are_refused(targets, message):
    refused(message, lambda: regressor().fit(X, targets))


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (PAIRS[:5], "inconsistent numbers of samples, 14 and 5"),
        (pairs(2, (GRID, Y[2, :4])), r"curve 2 has 6 points but values of shape \(4, 1\)"),
        (pairs(2, (GRID, Y[2][:, None, None])), "curve 2 has 6 points but values of shape"),
        (pairs(2, (GRID[:0], Y[2, :0])), "curve 2: points must be finite numbers"),
        (pairs(2, (GRID, np.nan * GRID)), "curve 2 has no observation"),
        (pairs(2, (np.nan * GRID, Y[2])), "curve 2: points must be finite numbers"),
        (pairs(2, (GRID, changed(Y[2], 0, np.inf))), "curve 2 contains infinity"),
        (pairs(2, (list("abcdef"), Y[2])), "curve 2: points must hold numbers"),
        (pairs(2, (GRID, list("abcdef"))), "curve 2: values must hold numbers"),
        (pairs(2, (np.c_[GRID, GRID], Y[2])), "curve 0 has points with 1 coordinates, and curve 2 has 2"),
        (pairs(2, (GRID, np.c_[Y[2], Y[2]])), "curve 0 has values with 1 components, and curve 2 has 2"),
        (pairs(2, (GRID, Y[2], -GRID)), "curve 2 needs 6 finite, non-negative weights"),
        (pairs(2, (GRID, Y[2], GRID[:3])), "curve 2 needs 6 finite, non-negative weights"),
        (pairs(2, (GRID, Y[2], 0 * GRID)), "curve 2 has no observation"),
        (pairs(2, (GRID, Y[2], list("abcdef"))), "curve 2: weights must hold numbers"),
        ([(GRID, changed(np.c_[y, y], (0, 1), np.nan)) for y in Y], "curve 0 has a point with NaN for some components"),
    ],
)
def test_scattered_curves_that_are_refused(targets, message):
    refused(message, lambda: regressor(grid=None).fit(X, targets))


def test_grids_of_scattered_curves_that_are_refused():
    for grid, message in (
        ("x", "grid must hold numbers"),
        (np.zeros((3, 2)), "grid must be points of 1 coordinates"),
        ([0.0, np.nan], "grid must be finite numbers"),
    ):
        refused(message, lambda grid=grid: regressor(grid=grid).fit(X, PAIRS))


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[1, 2], [2, 1]], "positive semi-definite .*from -1 to 3.*covariance"),
        ([[0, 0], [0, 0]], "positive semi-definite and not zero"),
        ([[1, 0.2], [0.1, 1]], "must be symmetric"),
        (np.eye(3), r"shape .*\(2, 2\); got \(3, 3\)"),
        ("identity", "must hold numbers"),
        ([[1, np.nan], [np.nan, 1]], "NaN or infinity"),
        (2.0, r"got \(\)"),
    ],
)
def test_output_matrices_that_are_refused(matrix, message):
    refused(message, lambda: regressor(output_matrix=matrix).fit(X, TWO))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        *(({"alpha": alpha}, "alpha must be .*; got") for alpha in (0, -1, "x", None, np.nan, np.inf, True, [1.0])),
        ({"loss": "hubber"}, "loss must be .*'epsilon_insensitive'; got 'hubber'. Did you mean 'huber'"),
        ({"loss": "pinball"}, "loss must be a Loss or one of 'square'"),
        *(
            ({"loss": loss}, "loss must be .*FunctionalRegressor|FunctionalRegressor: loss must")
            for loss in (3, None, Huber)
        ),
        *(({"loss": loss}, "a loss of curves.*KernelQuantileRegressor") for loss in (Pinball(), Expectile())),
        ({"loss": CostSensitiveHinge()}, "a loss of curves.*costs"),
        ({"geometry": "x"}, "geometry must be 'norm', 'pointwise', 'componentwise' or None; got 'x'"),
        ({"loss": "huber", "geometry": 3}, "geometry must be"),
        ({"loss": Huber(), "geometry": "norm"}, "has its parameters already"),
        *(({"representation": r}, "representation must be") for r in ("node", 3, None, HarmonicBasis)),
        *(({"fit_intercept": value}, "fit_intercept must be True or False") for value in ("no", 2)),
        ({"solver": "adm"}, "solver must be .*Did you mean 'admm'"),
        ({"solver": "closed_form", "loss": Huber()}, "requires the square loss"),
        *(({"tol": tol}, "tol must be") for tol in (0, -1, "x", None)),
        *(({"max_iter": value}, "max_iter must be") for value in (0, 1.5, "x")),
        *(({"kernel": kernel}, "kernel must be a Kernel") for kernel in ("x", 3, Gaussian, b"x")),
        *(({"output_kernel": kernel}, "output_kernel must be a Kernel") for kernel in ("x", 3, Gaussian)),
        *(({"output_kernel": kernel}, "a kernel on points of Θ") for kernel in ("precomputed", Precomputed())),
    ],
    ids=str,
)
def test_settings_that_are_refused(settings, message):
    model = regressor(**settings)  # nothing is said before fit, as scikit-learn asks
    refused(message, lambda: model.fit(X, Y))


@pytest.mark.parametrize(
    ("inputs", "weight", "message"),
    [
        (X[:, 0], None, "Expected 2D array"),
        (changed(X, (0, 0), np.nan), None, "X contains NaN"),
        (scipy.sparse.csr_matrix(X), None, "Sparse data"),
        (X.astype(str), None, None),  # text that holds numbers is taken
        (np.array([["a", "b"]] * N), None, "X must hold numbers"),
        (X, -np.ones(N), "non-negative"),
        (X, np.zeros(N), "non-zero|not all zero"),
        (X, np.ones(3), "sample_weight"),
        (X, changed(np.ones(N), 0, np.nan), "NaN"),
        (X, np.eye(N)[0], "needs two curves"),
    ],
)
def test_inputs_and_weights_that_are_refused(inputs, weight, message):
    if message is None:
        assert np.all(np.isfinite(regressor().fit(inputs, Y).predict(inputs)))
    else:
        refused(message, lambda: regressor().fit(inputs, Y, weight))


def test_one_curve():
    refused("n_samples = 1; a regression needs two curves", lambda: regressor().fit(X[:1], Y[:1]))
    refused("n_samples = 1", lambda: regressor(grid=None).fit(X[:1], PAIRS[:1]))


def test_columns_that_only_rows_of_weight_zero_have():
    targets = changed(Y, (slice(1, None), 2), np.nan)
    refused("column 2 of Y holds NaN only", lambda: regressor().fit(X, targets, np.r_[0.0, np.ones(N - 1)]))


@pytest.mark.parametrize("targets", [Y, PAIRS], ids=["grid", "scattered"])
@pytest.mark.parametrize(
    ("gram", "message"),
    [(-np.eye(N), "positive semi-definite"), (np.eye(N)[:, :5], "square"), (np.triu(np.ones((N, N))), "symmetric")],
)
def test_gram_matrices_that_are_refused(targets, gram, message):
    refused(message, lambda: regressor(kernel="precomputed").fit(gram, targets))


def test_questions_to_a_model_that_are_refused():
    model = regressor().fit(X, Y)
    refused("2 coordinates|1 coordinates", lambda: model.predict_at(X, [[0.1, 0.2]]))
    refused("points must be finite", lambda: model.predict_at(X, [np.nan]))
    refused("points must be finite", lambda: model.predict_at(X, []))
    refused("points must hold numbers", lambda: model.predict_derivative(X, ["a"]))
    refused("2 features", lambda: model.predict(X[:, :1]))
    refused("inconsistent numbers", lambda: model.score(X, Y[:5]))
    refused("as long as the curves", lambda: model.score(X, Y[:, :3]))
    refused("2 components; those of the fit had 1", lambda: model.score(X, TWO))
    refused("NaN only", lambda: model.score(X, np.nan * Y))
    refused("requires y", lambda: model.score(X, None))
    refused("non-negative", lambda: model.score(X, Y, -np.ones(N)))
    for ask in ("predict", "predict_at", "predict_derivative"):
        with pytest.raises(NotFittedError):
            getattr(regressor(), ask)(X, *([] if ask == "predict" else [[0.1]]))


def test_a_gap_that_is_not_reached_is_a_warning():
    model = regressor(loss=Huber(0.1), alpha=1e-4, solver="proximal_gradient", max_iter=1)
    with pytest.warns(ConvergenceWarning, match="Increase max_iter") as record:
        model.fit(X, Y)
    assert record[0].filename == __file__
    assert model.status_ == "max_iter"
    assert np.all(np.isfinite(model.predict(X)))


# --- unusual, but fine


def check(model, inputs, targets):
    assert np.all(np.isfinite(model.predict(inputs)))
    assert model.relative_gap_ <= 1e-4
    assert np.isfinite(model.score(inputs, targets))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("loss", "kind"),
    [(loss, kind) for loss in LOSSES[:2] for kind in ("grid", "holes", "scattered", "columns")]
    + [(loss, "grid") for loss in LOSSES[2:]],
)
def test_defaults_on_awkward_data(loss, kind):
    def fit(inputs, curves):
        n = len(curves)
        if kind == "scattered":
            curves, grid = [(GRID[: 3 + i % 4], y[: 3 + i % 4]) for i, y in enumerate(curves)], None
        else:
            curves = np.where(np.arange(n * M).reshape(n, M) % 7 == 3, np.nan, curves) if kind == "holes" else curves
            grid = None if kind == "columns" else GRID
        model = FunctionalRegressor(grid=grid, loss=loss).fit(inputs, curves)
        check(model, inputs, curves)
        return model.predict(inputs), model.score(inputs, curves)

    np.testing.assert_allclose(fit(X, np.full((N, M), 3.3))[0], 3.3)
    fit(X, np.zeros((N, M)))
    fit(X[:2], Y[:2])
    fit(X[:3], Y[:3])  # fewer curves than points
    fit(np.repeat(X[:4], 3, axis=0), Y[:12])  # the same x with different curves
    fit(np.c_[X, np.full(N, 7.0)], Y)
    same, score = fit(np.ones((N, 2)), Y)  # nothing to tell the curves apart
    np.testing.assert_allclose(same - same[0], 0, atol=1e-12)
    assert kind == "scattered" or score < 0.1  # scattered curves are compared with one number
    fit(1e9 * X, 1e9 * Y)
    fit(X, Y + 1e7)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("loss", LOSSES[:3])
def test_one_point(loss):
    for grid in (None, [0.5], Points([0.5], [2.0])):
        for targets in (Y[:, 0], Y[:, :1], TWO[:, :1]):
            model = FunctionalRegressor(grid=grid, loss=loss).fit(X, targets)
            check(model, X, targets)
            assert model.predict(X).shape == targets.shape


@pytest.mark.parametrize(
    "targets",
    [
        np.round(5 * Y).astype(int),
        Y > 0,
        Y.astype(object),
        Y.astype(np.float32),
        Y.tolist(),
        np.asfortranarray(Y),
        Y.astype(str),
    ],
    ids=["int", "bool", "object", "single", "list", "fortran", "text"],
)
def test_kinds_of_numbers(targets):
    same = regressor().fit(X, np.asarray(targets, dtype=float))
    np.testing.assert_array_equal(regressor().fit(X, targets).predict(X), same.predict(X))


def test_what_is_masked_or_none_was_not_observed():
    holes = changed(Y, (slice(0, 5), 2), np.nan)
    expected = regressor().fit(X, holes).predict(X)
    np.testing.assert_array_equal(regressor().fit(X, np.ma.masked_invalid(holes)).predict(X), expected)
    np.testing.assert_array_equal(regressor().fit(X, np.where(np.isnan(holes), None, holes)).predict(X), expected)


def test_rules_as_grids():
    for rule in (GaussLegendre(M), MonteCarlo(M), Points(GRID[::-1])):
        check(FunctionalRegressor(grid=rule).fit(X, Y), X, Y)


def test_a_basis_with_more_functions_than_points():
    check(regressor(representation=HarmonicBasis(30)).fit(X, Y), X, Y)
    check(regressor(representation=HarmonicBasis(30), fit_intercept=False).fit(X, Y), X, Y)


@pytest.mark.parametrize("curves", [Y, TWO, PAIRS], ids=["grid", "two components", "scattered"])
@pytest.mark.parametrize("solver", ["closed_form", "semismooth_newton", "interior_point"])
def test_refusals_of_solvers_name_the_loss_that_was_passed(curves, solver):
    grid = None if curves is PAIRS else GRID
    refused(r" Huber\(kappa=0.5\)", lambda: regressor(grid=grid, loss=Huber(0.5), solver=solver).fit(X, curves))
