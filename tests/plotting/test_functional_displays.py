"""Displays of curves, profiles and faces show what the estimators say."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from mercer import FunctionalRegressor
from mercer.datasets import (
    LANDMARKS,
    contaminate_curves,
    drop_observations,
    emotion_coordinates,
    make_curves,
    make_faces,
)
from mercer.exceptions import DataError, MercerError, UnsupportedError
from mercer.losses import EpsilonRidge, Huber
from mercer.plotting import CurvesDisplay, FaceMorphDisplay, RobustnessProfileDisplay, SparsityProfileDisplay


class Wave(BaseEstimator):
    """y(θ) = x·sin(θ), with p components x·sin(θ), x·sin(θ) + 1, …, on a grid that it knows."""

    def __init__(self, grid, p=None):
        self.grid = grid
        self.p = p

    @property
    def grid_(self):
        return self.grid

    def fit(self, X, Y):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        return self.predict_at(X, self.grid_)

    def predict_at(self, X, points):
        values = np.asarray(X)[:, :1] * np.sin(np.ravel(points))
        return values if self.p is None else values[..., None] + np.arange(self.p)


class Location(RegressorMixin, BaseEstimator):
    """The same curve for every x: the minimiser of the mean loss, by reweighting; tells which curves pull at it."""

    def __init__(self, loss="square", geometry=None):
        self.loss = loss
        self.geometry = geometry

    def fit(self, X, Y):
        self.curve_ = np.mean(Y, axis=0)
        threshold = getattr(self.loss, "kappa", np.inf)
        for _ in range(100):
            norms = np.sqrt(np.mean((Y - self.curve_) ** 2, axis=1))
            weights = np.minimum(1, threshold / np.maximum(norms, 1e-12))
            self.curve_ = weights @ Y / weights.sum()
        self.n_support_ = int(np.sum(norms > getattr(self.loss, "epsilon", -1.0)))
        return self

    def predict(self, X):
        return np.tile(self.curve_, (len(X), 1))


@pytest.fixture
def waves():
    rng = np.random.default_rng(0)
    grid, X = np.linspace(0, 3, 12), rng.normal(size=(9, 1))
    return Wave(grid), X, X * np.sin(grid) + 0.1 * rng.normal(size=(9, 12)), grid


def rms(residual, grid):
    """Root of the mean over the grid, by the trapezoid rule."""
    return np.sqrt(np.trapezoid(residual**2, grid, axis=1) / np.ptp(grid))


def texts(labels):
    return [label.get_text() for label in labels]


# -- curves -----------------------------------------------------------------------------------------------------


def test_curves_show_predictions_observations_and_residuals(waves):
    model, X, Y, grid = waves
    Y[4] += 2.0
    display = CurvesDisplay.from_estimator(model, X, Y, n_worst=2)
    errors = rms(Y - X * np.sin(grid), grid)
    np.testing.assert_allclose(display.errors, errors)
    order = np.argsort(errors)
    for line, index in zip(display.predicted_.get_segments(), order, strict=True):
        np.testing.assert_allclose(line, np.column_stack([grid, model.predict(X)[index]]))
    seen = np.column_stack([np.tile(grid, 9), Y[order].ravel()])
    np.testing.assert_allclose(display.observed_.get_offsets(), seen)
    np.testing.assert_allclose(display.observed_.get_array(), np.repeat(errors[order], 12))
    np.testing.assert_allclose(display.predicted_.get_array(), errors[order])
    assert display.predicted_.get_clim() == display.observed_.get_clim() == (0, display.errors.max())
    np.testing.assert_array_equal(display.worst_, order[:-3:-1])
    assert display.worst_[0] == 4
    assert texts(display.labels_) == [str(index) for index in display.worst_]
    widths = display.predicted_.get_linewidths()
    assert min(widths[-2:]) > max(widths[:-2])
    low, high = display.ax_.get_ylim()
    assert low < Y.min()
    assert high > Y.max()
    assert display.ax_.get_xlim() == (0, 3)


def test_curves_of_pipelines_and_of_other_regressors(waves):
    _, X, Y, grid = waves
    ridge = KernelRidge(alpha=0.1).fit(X, Y)
    display = CurvesDisplay.from_estimator(ridge, X, Y)
    np.testing.assert_array_equal(display.grid, np.arange(12))
    np.testing.assert_allclose(display.errors, np.sqrt(np.mean((Y - ridge.predict(X)) ** 2, axis=1)))
    scaled = make_pipeline(StandardScaler(), FrozenEstimator(Wave(grid))).fit(X, Y)
    display = CurvesDisplay.from_estimator(scaled, X, Y)
    np.testing.assert_allclose(display.predicted, (X - X.mean()) / X.std() * np.sin(grid))
    np.testing.assert_array_equal(display.grid, grid)


def test_curves_with_holes(waves):
    model, X, Y, grid = waves
    holes = drop_observations(Y, share=0.4, random_state=0)
    display = CurvesDisplay.from_estimator(model, X, holes)
    assert len(display.observed_.get_offsets()) == np.sum(~np.isnan(holes))
    weights = np.full(12, 1.0)
    weights[[0, -1]] = 0.5
    residual = Y - X * np.sin(grid)
    for index, row in enumerate(holes):
        seen = ~np.isnan(row)
        expected = np.sqrt(np.average(residual[index, seen] ** 2, weights=weights[seen]))
        assert display.errors[index] == pytest.approx(expected)
        np.testing.assert_array_equal(display.observed[index][0], grid[seen])


def test_curves_at_points_of_their_own(waves):
    model, X, Y, grid = waves
    rng = np.random.default_rng(1)
    points = [rng.permutation(rng.uniform(0, 3, size=size)) for size in range(2, 11)]
    scattered = [(where, np.sin(where) * x + 0.5) for where, x in zip(points, X[:, 0], strict=True)]
    display = CurvesDisplay.from_estimator(model, X, scattered)
    np.testing.assert_allclose(display.errors, 0.5)
    np.testing.assert_array_equal(display.observed[3][0], np.sort(points[3]))
    np.testing.assert_allclose(display.observed[3][1], np.sin(np.sort(points[3])) * X[3] + 0.5)
    np.testing.assert_array_equal(display.grid, grid)
    same = [(grid, row, np.ones(12)) for row in Y]  # weights are allowed
    errors = CurvesDisplay.from_estimator(model, X, same).errors
    np.testing.assert_allclose(errors, np.sqrt(np.mean((Y - X * np.sin(grid)) ** 2, axis=1)))
    holes = [(grid, np.where(np.arange(12) < 5, np.nan, row)) for row in Y]
    assert len(CurvesDisplay.from_estimator(model, X, holes).observed[0][0]) == 7


def test_one_component_of_many(waves):
    _, X, Y, grid = waves
    model = Wave(grid, p=3)
    stacked = Y[..., None] + np.array([0.0, 2.0, 2.0])
    display = CurvesDisplay.from_estimator(model, X, stacked, component=1)
    np.testing.assert_allclose(display.predicted, X * np.sin(grid) + 1)
    np.testing.assert_allclose(display.errors, rms(Y + 1 - X * np.sin(grid), grid))
    pairs = [(grid, row) for row in stacked]
    again = CurvesDisplay.from_estimator(model, X, pairs, component=1)
    np.testing.assert_allclose(again.observed[2][1], stacked[2, :, 1])
    for given, message in ((None, "component must be given"), (3, "from 0 to 2; got 3"), (True, "got True")):
        with pytest.raises(MercerError, match=message):
            CurvesDisplay.from_estimator(model, X, stacked, component=given)


def test_curves_from_predictions_and_names(waves):
    _, _, Y, grid = waves
    names = [f"city {index}" for index in range(9)]
    display = CurvesDisplay.from_predictions(Y, np.zeros_like(Y), grid=grid, names=names, n_worst=1)
    np.testing.assert_allclose(display.errors, rms(Y, grid))
    assert texts(display.labels_) == [f"city {np.argmax(display.errors)}"]
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("θ", "y(θ)")
    said = CurvesDisplay.from_predictions(Y, Y, grid=grid, theta_name="day", target_name="temperature").ax_
    assert (said.get_xlabel(), said.get_ylabel()) == ("day", "temperature")
    plain = CurvesDisplay.from_predictions(Y, Y, n_worst=0)
    np.testing.assert_array_equal(plain.errors, 0)
    assert plain.labels_ == []


def test_curves_of_foreign_containers(waves):
    """What scikit-fda's containers look like, in numbers."""
    model, X, Y, grid = waves

    class FDataGrid:
        data_matrix = Y[..., None]

    class FDataIrregular:
        start_indices = np.arange(0, Y.size, 12)
        points = np.tile(grid, 9)[:, None]
        values = Y.reshape(-1, 1)

    np.testing.assert_allclose(
        CurvesDisplay.from_estimator(model, X, FDataGrid()).errors, rms(Y - X * np.sin(grid), grid)
    )
    display = CurvesDisplay.from_estimator(model, X, FDataIrregular())
    np.testing.assert_allclose(display.observed[5], [grid, Y[5]])


def test_curves_that_are_refused(waves):
    model, X, Y, grid = waves
    refused = [
        (Y[:, 1:], r"must have the same shape.*\(9, 11, 1\), \(9, 12, 1\)"),
        (Y[1:], "must have the same shape"),
        (np.where(np.arange(9)[:, None] == 2, np.nan, Y), "Y has rows without an observation"),
        (Y[:, 0], r"Y must have shape"),
        ([["a"] * 12] * 9, "Y must hold numbers"),
        ([(grid, row) for row in Y[1:]], "inconsistent numbers of samples, 9 and 8"),
        ([(grid[1:], row) for row in Y], "curve 0 has 11 points and 12 values"),
        ([(grid, np.nan * row) for row in Y], "curve 0 has no observation"),
    ]
    for values, message in refused:
        with pytest.raises(DataError, match=f"CurvesDisplay: .*{message}"):
            CurvesDisplay.from_estimator(model, X, values)
    with pytest.raises(UnsupportedError, match="KernelRidge has no method predict_at"):
        CurvesDisplay.from_estimator(KernelRidge().fit(X, Y), X, [(grid, row) for row in Y])
    with pytest.raises(DataError, match="9 curves and 2 names"):
        CurvesDisplay.from_predictions(Y, Y, names=["a", "b"])
    with pytest.raises(MercerError, match="n_worst must be an integer"):
        CurvesDisplay.from_predictions(Y, Y, n_worst=-1)
    with pytest.raises(DataError, match="a curve is over a line"):
        CurvesDisplay.from_predictions(Y, Y, grid=np.column_stack([grid, grid]))


# -- profiles ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def spoilt():
    """Curves around one curve, a fifth of them far away."""
    rng = np.random.default_rng(0)
    Y = np.sin(np.linspace(0, 3, 15)) + 0.3 * rng.normal(size=(40, 15))
    Y[rng.choice(40, 8, replace=False)] += 5.0
    return np.zeros((40, 1)), Y


def cross_validated(estimator, X, Y, cv):
    scores = []
    for train, test in cv.split(X):
        scores.append(np.mean((Y[test] - estimator.fit(X[train], Y[train]).predict(X[test])) ** 2))
    return np.mean(scores)


def test_robustness_profile_is_cross_validated(spoilt):
    X, Y = spoilt
    cv = KFold(4, shuffle=True, random_state=0)
    kappas = [2.0, 0.1, 100.0]
    display = RobustnessProfileDisplay.from_estimator(Location(Huber()), X, Y, values=kappas, cv=cv)
    expected = [cross_validated(Location(Huber(kappa)), X, Y, cv) for kappa in sorted(kappas)]
    np.testing.assert_array_equal(display.line_.get_xdata(), sorted(kappas))
    np.testing.assert_allclose(display.line_.get_ydata(), expected)
    ridge = cross_validated(Location(), X, Y, cv)
    assert display.ridge_error == pytest.approx(ridge)
    np.testing.assert_allclose(display.ridge_.get_ydata(), ridge)
    assert expected[2] == pytest.approx(ridge)  # κ beyond all residuals is the square loss
    best = int(np.argmin(expected))
    np.testing.assert_allclose(display.best_.get_xydata(), [[sorted(kappas)[best], expected[best]]])
    assert display.ax_.get_xlabel() == "κ"
    assert display.ax_.get_xscale() == "log"


def test_profiles_of_names_pipelines_and_scorers(spoilt):
    X, Y = spoilt
    settings = {"values": [0.5, 1.0], "cv": KFold(4)}
    direct = RobustnessProfileDisplay.from_estimator(Location(Huber(geometry="pointwise")), X, Y, **settings)
    named = RobustnessProfileDisplay.from_estimator(Location("huber", geometry="pointwise"), X, Y, **settings)
    np.testing.assert_allclose(direct.errors, named.errors)
    assert named.ridge_error == pytest.approx(direct.ridge_error)
    pipeline = make_pipeline(StandardScaler(), Location("huber"))
    wrapped = RobustnessProfileDisplay.from_estimator(pipeline, X, Y, parameter="location__loss__kappa", **settings)
    np.testing.assert_allclose(wrapped.errors, direct.errors)
    assert wrapped.ax_.get_xlabel() == "κ"
    scored = RobustnessProfileDisplay.from_estimator(
        Location("huber"), X, Y, scoring="neg_mean_absolute_error", **settings
    )
    assert scored.errors[0] == pytest.approx(np.mean(np.abs(Y - _out_of_fold(Location(Huber(0.5)), X, Y))))


def test_random_splits_are_the_same_for_all_values(spoilt):
    X, Y = spoilt
    for cv in (ShuffleSplit(3), (split for split in KFold(3).split(X))):
        display = RobustnessProfileDisplay.from_estimator(Location("huber"), X, Y, values=[50.0, 100.0], cv=cv)
        np.testing.assert_allclose(display.errors, display.ridge_error)  # all three are the mean curve


def _out_of_fold(estimator, X, Y):
    return np.vstack([estimator.fit(X[train], Y[train]).predict(X[test]) for train, test in KFold(4).split(X)])


def test_robustness_profile_says_how_much_is_gained():
    display = RobustnessProfileDisplay([0.5, 1.0], [0.9, 0.75], ridge_error=1.0).plot()
    assert texts(display.labels_) == ["best: κ = 1, −25 %", "ridge"]
    worse = RobustnessProfileDisplay([1.0], [1.1], ridge_error=1.0, name="ν").plot()
    assert texts(worse.labels_) == ["best: ν = 1, +10 %", "ridge"]
    for rounding in (3.5e-11, -3.5e-11):
        same = RobustnessProfileDisplay([1.0], [1.0 + rounding], ridge_error=1.0).plot()
        assert texts(same.labels_) == ["best: κ = 1, 0 %", "ridge"]
    alone = RobustnessProfileDisplay([1.0, 0.5], [1.1, 1.0]).plot()
    assert alone.ridge_ is None
    assert texts(alone.labels_) == ["best: κ = 0.5"]
    assert alone.ax_.get_xscale() == "linear"


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        (np.linspace(0.05, 6, 30), "linear"),
        (np.geomspace(0.05, 6, 30), "log"),
        (np.geomspace(1, 5, 9), "linear"),
        ([0.0, 1.0, 100.0], "linear"),
        ([0.3], "linear"),
    ],
)
def test_axes_are_logarithmic_for_values_that_are_even_there(values, scale):
    assert RobustnessProfileDisplay(values, np.ones(len(values))).plot().ax_.get_xscale() == scale
    shares = np.zeros(len(values))
    assert SparsityProfileDisplay(values, np.ones(len(values)), shares).plot().ax_.get_xscale() == scale


def test_sparsity_profile_counts_zeros(spoilt):
    X, Y = spoilt
    cv = KFold(4)
    epsilons = [0.0, 1.05, 2.0, 50.0]
    display = SparsityProfileDisplay.from_estimator(Location(EpsilonRidge()), X, Y, values=epsilons, cv=cv)
    shares = []
    for epsilon in epsilons:
        counts = [Location(EpsilonRidge(epsilon)).fit(X[train], Y[train]).n_support_ for train, _ in cv.split(X)]
        shares.append(1 - np.mean(counts) / 30)
    np.testing.assert_allclose(display.shares_.get_ydata(), shares)
    assert shares[0] == 0
    assert 0 < shares[1] < shares[2] < 1
    assert shares[3] == 1
    np.testing.assert_allclose(display.line_.get_ydata(), display.ridge_error)  # Location does not mind ε
    assert display.ax_.get_xlabel() == "ε"
    assert display.share_ax_.get_ylim()[1] > 1
    assert display.share_ax_.figure is display.figure_
    pipeline = make_pipeline(StandardScaler(), Location("epsilon_ridge"))
    again = SparsityProfileDisplay.from_estimator(
        pipeline, X, Y, values=epsilons, cv=cv, parameter="location__loss__epsilon"
    )
    np.testing.assert_allclose(again.zero_shares, shares)


def test_profiles_that_are_refused(spoilt):
    X, Y = spoilt
    with pytest.raises(UnsupportedError, match=r"Square\(\) has no parameter kappa.*such as Huber\(\)"):
        RobustnessProfileDisplay.from_estimator(Location(), X, Y, values=[1.0])
    with pytest.raises(MercerError, match=r"parameter must be .* Here perhaps location__loss__kappa"):
        RobustnessProfileDisplay.from_estimator(make_pipeline(Location("huber")), X, Y, values=[1.0])
    with pytest.raises(MercerError, match="KernelRidge has no loss"):
        SparsityProfileDisplay.from_estimator(KernelRidge(), X, Y, values=[1.0])
    with pytest.raises(MercerError, match="values must be a non-empty"):
        RobustnessProfileDisplay.from_estimator(Location("huber"), X, Y, values=[])
    with pytest.raises(MercerError, match="kappa must be"):
        RobustnessProfileDisplay.from_estimator(Location("huber"), X, Y, values=[-1.0])
    with pytest.raises(UnsupportedError, match="no method n_support_"):
        SparsityProfileDisplay.from_estimator(Mute(EpsilonRidge()), X, Y, values=[1.0])
    with pytest.raises(DataError, match=r"values and errors must be .* \(2,\) and \(3,\)"):
        RobustnessProfileDisplay([1, 2], [1, 2, 3]).plot()
    with pytest.raises(DataError, match="values and zero_shares must be"):
        SparsityProfileDisplay([1, 2], [1, 2], [0]).plot()


class Mute(Location):
    """A location that does not tell about its support."""

    def fit(self, X, Y):
        super().fit(X, Y)
        del self.n_support_
        return self


# -- faces ------------------------------------------------------------------------------------------------------


class Morph(BaseEstimator):
    """A face that grows with valence."""

    def fit(self, X, Y):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def predict_at(self, X, points):
        return np.asarray(X)[:, None, :] * (1 + np.asarray(points)[None, :, :1])


@pytest.fixture(scope="module")
def face():
    return make_faces(1, noise=0, random_state=0).X[0]


def segments(collection):
    return np.concatenate(collection.get_segments())


def test_faces_are_drawn_in_a_row_at_their_size(face):
    path = np.linspace(0, 0.5, 4)[:, None] * np.array([[1.0, -1.0]])
    display = FaceMorphDisplay.from_estimator(Morph(), face, path, reference=face)
    assert len(display.faces_) == len(display.references_) == 4
    middles = []
    for index, (scale, drawn, behind) in enumerate(
        zip(1 + path[:, 0], display.faces_, display.references_, strict=True)
    ):
        points = segments(drawn)
        shift = points[0] - scale * face[:2]
        contour = scale * face.reshape(68, 2)[:17] + shift
        np.testing.assert_allclose(drawn.get_segments()[0], contour)
        np.testing.assert_allclose(segments(behind)[0], face[:2] + shift)
        assert shift[1] == pytest.approx(0)
        middles.append(shift[0])
        x, y = display.labels_[index].get_position()
        assert y > points[:, 1].max()
        assert points[:, 0].min() < x < points[:, 0].max() + 0.2
    assert np.min(np.diff(middles)) > np.ptp(1.5 * face.reshape(68, 2)[:, 0])  # side by side
    assert texts(display.labels_) == ["(0.00, 0.00)", "(0.17, −0.17)", "(0.33, −0.33)", "(0.50, −0.50)"]
    bottom, top = display.ax_.get_ylim()
    assert bottom > top  # the second axis points down
    width, height = display.figure_.get_size_inches()
    assert width > 2 * height


def test_eyes_and_lips_are_closed(face):
    display = FaceMorphDisplay([face], [[0.0, 0.0]]).plot()
    lines = dict(zip(LANDMARKS, display.faces_[0].get_segments(), strict=True))
    for name, line in lines.items():
        closed = name.endswith(("eye", "lips"))
        assert len(line) == len(LANDMARKS[name]) + closed
        assert np.array_equal(line[0], line[-1]) == closed


def test_faces_of_other_landmarks_and_other_paths(face):
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    dots = FaceMorphDisplay([square, 2 * square], [0.0, 1.0]).plot()
    np.testing.assert_array_equal(dots.faces_[0].get_offsets(), square)
    assert texts(dots.labels_) == ["0.00", "1.00"]
    joined = FaceMorphDisplay([square], [[0.0]], outlines=[[0, 1, 2, 3, 0]], names=["box"]).plot()
    np.testing.assert_array_equal(joined.faces_[0].get_segments()[0], square[[0, 1, 2, 3, 0]])
    assert texts(joined.labels_) == ["box"]
    flat = FaceMorphDisplay(np.stack([face]), emotion_coordinates(["happy"])).plot()
    whole = FaceMorphDisplay(face.reshape(1, 68, 2), emotion_coordinates(["happy"])).plot()
    np.testing.assert_array_equal(segments(flat.faces_[0]), segments(whole.faces_[0]))
    rows = make_faces(5, random_state=1).X
    pipeline = make_pipeline(StandardScaler(), FrozenEstimator(Morph())).fit(rows, None)
    display = FaceMorphDisplay.from_estimator(pipeline, face, [[0.0, 0.0]])
    np.testing.assert_allclose(display.faces, [(face - rows.mean(axis=0)) / rows.std(axis=0)])


def test_faces_that_are_refused(face):
    refused = [
        (lambda: FaceMorphDisplay.from_estimator(Morph(), np.stack([face, face]), [[0, 0]]), "x must be one input"),
        (lambda: FaceMorphDisplay.from_estimator(Wave(np.arange(3)), face, [[0.0], [1.0]]), r"got \(1, 2\)"),
        (lambda: FaceMorphDisplay.from_estimator(Morph(), face, np.zeros((0, 2))), "path must have shape"),
        (lambda: FaceMorphDisplay([face], [[0, 0], [1, 1]]).plot(), "for each of 1 faces"),
        (lambda: FaceMorphDisplay([face], [[0, 0]], names=["a", "b"]).plot(), "for each of 1 faces"),
        (lambda: FaceMorphDisplay([face[:-1]], [[0, 0]]).plot(), "faces must hold x and y of each landmark"),
        (lambda: FaceMorphDisplay([face], [[0, 0]], reference=face[:-1]).plot(), "reference must hold x and y"),
    ]
    for draw, message in refused:
        with pytest.raises(DataError, match=message):
            draw()
    with pytest.raises(UnsupportedError, match="SVR has no method predict_at"):
        FaceMorphDisplay.from_estimator(SVR(), face, [[0, 0]])


# -- with functional regression ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def curves():
    data = make_curves(40, 15, random_state=0)
    return data, FunctionalRegressor("gaussian", output_kernel="gaussian", alpha=1e-2, grid=data.grid)


def test_curves_of_a_functional_regressor(curves):
    data, regressor = curves
    Y = drop_observations(data.Y, "window", 0.3, random_state=0)
    model = regressor.fit(data.X, Y)
    display = CurvesDisplay.from_estimator(model, data.X, Y)
    np.testing.assert_allclose(display.predicted, model.predict(data.X))
    pairs = [(data.grid[::2], row[::2]) for row in data.Y]
    scattered = FunctionalRegressor("gaussian", output_kernel="gaussian", alpha=1e-2).fit(data.X, pairs)
    display = CurvesDisplay.from_estimator(scattered, data.X, pairs)
    fitted = scattered.predict_at(data.X, data.grid[::2])
    np.testing.assert_allclose(display.errors, np.sqrt(np.mean((data.Y[:, ::2] - fitted) ** 2, axis=1)))
    np.testing.assert_allclose(display.grid, scattered.grid_)


def test_profiles_of_a_functional_regressor(curves):
    data, regressor = curves
    Y, _ = contaminate_curves(data.Y, share=0.1, scale=3.0, random_state=0)
    regressor.set_params(loss="huber", fit_intercept=False)
    robust = RobustnessProfileDisplay.from_estimator(regressor, data.X, Y, values=[0.5, 100.0], cv=2)
    assert robust.errors[1] == pytest.approx(robust.ridge_error, rel=1e-2)  # κ beyond all residuals
    assert abs(robust.errors[0] / robust.ridge_error - 1) > 0.01
    assert regressor.loss == "huber"
    regressor.set_params(loss=EpsilonRidge())
    sparse = SparsityProfileDisplay.from_estimator(regressor, data.X, data.Y, values=[0.0, 1.0, 100.0], cv=2)
    assert sparse.zero_shares[0] < sparse.zero_shares[1] < sparse.zero_shares[2] == 1
    assert sparse.errors[0] == pytest.approx(sparse.ridge_error, rel=1e-2)


def test_faces_of_a_functional_regressor():
    data = make_faces(12, random_state=0)
    model = FunctionalRegressor("gaussian", output_kernel="gaussian", alpha=1e-3, grid=data.emotions)
    model.fit(data.X, data.Y)
    display = FaceMorphDisplay.from_estimator(model, data.X[3], data.emotions, names=data.names)
    np.testing.assert_allclose(display.faces, model.predict(data.X[3:4])[0], atol=1e-6)
    with pytest.raises(DataError, match="extrapolate"):
        FaceMorphDisplay.from_estimator(model, data.X[3], [[0.0, -2.0]])
    far = FaceMorphDisplay.from_estimator(model, data.X[3], [[0.0, -2.0]], extrapolate=True)
    assert far.faces.shape == (1, 136)


# -- what all share ---------------------------------------------------------------------------------------------

DISPLAYS = [
    CurvesDisplay([0.0, 1.0], [[0.0, 1.0]], [([0.0, 1.0], [0.0, 2.0])], [1.0]),
    RobustnessProfileDisplay([0.1, 0.5], [1.0, 0.8], ridge_error=1.2),
    SparsityProfileDisplay([0.1, 0.5], [1.0, 0.8], [0.0, 0.5], ridge_error=1.2),
    FaceMorphDisplay([[0.0, 0.0, 1.0, 1.0]], [[0.0, 0.0]]),
]


@pytest.mark.parametrize("display", DISPLAYS, ids=lambda display: type(display).__name__)
def test_axes_are_used_again_or_made(display):
    figure, axes = plt.subplots(1, 2)
    size = tuple(figure.get_size_inches())
    assert display.plot(axes[1]) is display
    assert display.ax_ is axes[1]
    assert display.figure_ is figure
    assert len(plt.get_fignums()) == 1
    assert not axes[0].has_data()
    assert tuple(figure.get_size_inches()) == size
    display.plot()
    assert display.figure_ is not figure
    display.figure_.canvas.draw()


def test_labels_stay_apart_from_what_they_name():
    """A name beside the curves is drawn between them and the colour bar."""
    Y, _ = contaminate_curves(np.random.default_rng(0).normal(size=(20, 10)), scale=5.0, random_state=0)
    display = CurvesDisplay.from_predictions(Y, np.zeros((20, 10)), names=[f"a city {index}" for index in range(20)])
    display.figure_.canvas.draw()
    right = max(text.get_window_extent().x1 for text in display.labels_)
    assert right < display.colorbar_.ax.get_window_extent().x0
    assert min(text.get_window_extent().x0 for text in display.labels_) >= display.ax_.get_window_extent().x1
