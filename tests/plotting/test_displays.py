"""What the displays draw is what the estimators say."""

import subprocess
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVR

from mercer import ConformalQuantileRegressor, CostSensitiveClassifier, KernelQuantileRegressor, LevelSetDetector
from mercer.datasets import make_sine
from mercer.exceptions import DataError, MercerError, UnsupportedError
from mercer.measures import Points
from mercer.plotting import (
    CostCurveDisplay,
    ExpectedCostDisplay,
    LevelSetDisplay,
    PITDisplay,
    QuantileCalibrationDisplay,
    QuantileFanDisplay,
    ThetaPropertyDisplay,
)
from mercer.plotting.style import GAP, binomial_band, blues, label_right, per_cent


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def quantiles():
    X, y = make_sine(120, random_state=0)
    return KernelQuantileRegressor(alpha=1e-3, measure=Points([0.1, 0.5, 0.9])).fit(X, y), X, y


@pytest.fixture(scope="module")
def detector():
    X = np.random.default_rng(0).normal(size=(150, 2)) * [1.0, 10.0]
    return LevelSetDetector(measure=Points([0.05, 0.1, 0.25, 0.5, 0.75])).fit(X), X


@pytest.fixture(scope="module")
def classifier():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 2))
    y = np.where(X[:, 0] + rng.normal(size=120) > 0, "ill", "well")
    return CostSensitiveClassifier(alpha=0.01, measure=Points([0.2, 0.5, 0.8])).fit(X, y), X, y


def labels(texts):
    return [text.get_text() for text in texts]


# -- fan --------------------------------------------------------------------------------------------------------


def band_ends(collection, x):
    """Lower and upper ends of a filled band at the positions x."""
    vertices = collection.get_paths()[0].vertices
    at = [vertices[vertices[:, 0] == position, 1] for position in x]
    return np.array([[each.min(), each.max()] for each in at])


def test_fan_shows_intervals_median_and_data(quantiles):
    model, X, y = quantiles
    display = QuantileFanDisplay.from_estimator(model, X, y, coverages=[0.8, 0.4], grid_resolution=50)
    grid = np.linspace(X.min(), X.max(), 50)
    np.testing.assert_array_equal(display.median_.get_xdata(), grid)
    np.testing.assert_allclose(display.median_.get_ydata(), model.predict(grid[:, None]))
    for band, coverage in zip(display.bands_, (0.8, 0.4), strict=True):  # the widest first, below the others
        np.testing.assert_allclose(band_ends(band, grid), model.predict_interval(grid[:, None], coverage))
    np.testing.assert_array_equal(display.points_.get_offsets(), np.column_stack([X[:, 0], y]))
    assert labels(display.legend_.get_texts()) == ["80 %", "40 %", "median"]
    assert display.ax_.get_xlim() == (grid[0], grid[-1])
    assert display.figure_ is display.ax_.figure
    shades = [np.sum(band.get_facecolor()[0, :3]) for band in display.bands_]
    assert shades[0] > shades[1]


def test_fan_has_other_columns_at_their_medians(quantiles):
    _, X, y = quantiles
    wide = np.column_stack([X, np.random.default_rng(0).exponential(size=len(X))])
    model = KernelQuantileRegressor(alpha=1e-2, measure=Points([0.5])).fit(wide, y)
    display = QuantileFanDisplay.from_estimator(model, wide, feature=1, grid_resolution=20)
    rows = np.column_stack([np.full(20, np.median(X)), np.linspace(wide[:, 1].min(), wide[:, 1].max(), 20)])
    np.testing.assert_allclose(display.median_.get_ydata(), model.predict(rows))
    assert display.points_ is None
    assert display.ax_.get_xlabel() == "column 1"
    assert display.ax_.get_title() == "slice, other columns at their medians"
    alone = QuantileFanDisplay.from_estimator(*quantiles)
    assert (alone.ax_.get_title(), alone.ax_.get_xlabel(), alone.ax_.get_ylabel()) == ("", "x", "y")


@pytest.fixture(scope="module")
def houses():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {
            "town": rng.choice(["Lyon", "Nice", "Paris"], p=[0.2, 0.5, 0.3], size=80),
            "area": rng.uniform(20, 120, size=80),
            "rooms": rng.integers(1, 6, size=80),
            "kind": pandas.Categorical(rng.choice(["flat", "house"], p=[0.3, 0.7], size=80)),
            "garden": rng.uniform(size=80) < 0.2,
        }
    )
    price = 3 * frame["area"] + 50 * (frame["town"] == "Paris") + rng.normal(size=80)
    encode = make_column_transformer(
        (OneHotEncoder(), ["town", "kind"]), (StandardScaler(), ["area", "rooms"]), ("passthrough", ["garden"])
    )
    model = KernelQuantileRegressor("gaussian", alpha=1e-3, measure=Points([0.1, 0.5, 0.9]))
    return make_pipeline(encode, model).fit(frame, price.rename("price")), frame, price.rename("price")


def test_fan_of_a_pipeline_with_columns_of_text(houses):
    pipeline, frame, price = houses
    display = QuantileFanDisplay.from_estimator(pipeline, frame, price, feature="area", grid_resolution=10)
    held = {"town": "Nice", "rooms": frame["rooms"].median(), "kind": "house", "garden": False}
    rows = frame.iloc[:10].assign(area=np.linspace(frame["area"].min(), frame["area"].max(), 10), **held)
    np.testing.assert_allclose(display.median, pipeline.predict(rows))
    assert display.ax_.get_title() == "slice, other columns at their medians and most frequent values"
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("area", "price")


def test_fan_of_polars_frames_is_that_of_pandas_frames(houses):
    polars = pytest.importorskip("polars")
    _, frame, price = houses
    frame = frame.assign(area=frame["area"].where(frame.index != 3))  # with a missing cell
    table = polars.DataFrame({name: frame[name].tolist() for name in frame})
    settings = {"feature": "area", "grid_resolution": 10}
    drawn = []
    for rows in (frame, table.with_columns(polars.col("kind").cast(polars.Categorical))):
        model = KernelQuantileRegressor("gaussian", alpha=1e-3, measure=Points([0.1, 0.5, 0.9])).fit(rows, price)
        drawn.append(QuantileFanDisplay.from_estimator(model, rows, price, **settings))
    for display in drawn:
        assert display.ax_.get_title() == "slice, other columns at their medians and most frequent values"
        assert display.ax_.get_xlabel() == "area"
        np.testing.assert_allclose(display.bands, drawn[0].bands, rtol=1e-6)
    with pytest.raises(MercerError, match=r"such as one of \['area', 'rooms'\]"):
        QuantileFanDisplay.from_estimator(model, table, feature="town")


def test_fan_refuses_columns_without_an_order_and_arrays_of_text(houses):
    pipeline, frame, _ = houses
    for feature in ("town", "kind", "garden", 0):
        with pytest.raises(
            MercerError, match=r"feature must be a column of numbers, such as one of \['area', 'rooms'\]"
        ):
            QuantileFanDisplay.from_estimator(pipeline, frame, feature=feature)
    with pytest.raises(DataError, match=r"X must hold numbers; .* Pass a data frame"):
        QuantileFanDisplay.from_estimator(pipeline, frame.to_numpy(), feature=1)


def test_fan_of_frames_and_pipelines(quantiles):
    pandas = pytest.importorskip("pandas")
    model, X, y = quantiles
    frame = pandas.DataFrame({"hour": X[:, 0], "other": 0.0})
    pipeline = make_pipeline(StandardScaler(), KernelQuantileRegressor("gaussian", alpha=1e-3, measure=Points([0.5])))
    pipeline.fit(frame, y)
    for estimator in (pipeline, FrozenEstimator(pipeline)):
        display = QuantileFanDisplay.from_estimator(estimator, frame, feature="hour", grid_resolution=10)
        rows = frame.iloc[:10].assign(hour=np.linspace(X.min(), X.max(), 10))
        np.testing.assert_allclose(display.median_.get_ydata(), pipeline.predict(rows))
        assert display.ax_.get_xlabel() == "hour"
    calibrated = ConformalQuantileRegressor(FrozenEstimator(model)).fit(X, y)
    display = QuantileFanDisplay.from_estimator(calibrated, X, coverages=[0.9])
    np.testing.assert_allclose(display.median, calibrated.predict(display.x[:, None]))


@pytest.mark.parametrize("feature", [1, -1, "hour", None, True, 0.0001])
def test_fan_refuses_columns_that_are_not_there(quantiles, feature):
    with pytest.raises(MercerError, match=r"feature must be one of the columns, \[0\]"):
        QuantileFanDisplay.from_estimator(*quantiles[:2], feature=feature)


def test_fan_refuses_what_cannot_be_drawn(quantiles):
    model, X, y = quantiles
    for coverages in (95, [0.5, 95]):
        with pytest.raises(MercerError, match=r"coverages must be .* Coverages are probabilities: 0\.95, not 95"):
            QuantileFanDisplay.from_estimator(model, X, coverages=coverages)
    with pytest.raises(MercerError, match="grid_resolution"):
        QuantileFanDisplay.from_estimator(model, X, grid_resolution=1)
    with pytest.raises(DataError, match="must hold numbers"):
        QuantileFanDisplay.from_estimator(model, [["a"]])
    with pytest.raises(UnsupportedError, match="SVR has no method predict_quantile"):
        QuantileFanDisplay.from_estimator(SVR().fit(X, y), X)
    with pytest.raises(DataError, match="inconsistent numbers of samples, 120 and 119"):
        QuantileFanDisplay.from_estimator(model, X, y[:-1])
    with pytest.raises(DataError, match="a sample at least"):
        QuantileFanDisplay.from_estimator(model, X[:0])


def test_grids_have_no_gram_matrices(quantiles, detector):
    _, X, y = quantiles
    model = KernelQuantileRegressor("precomputed", alpha=0.1, measure=Points([0.5])).fit(X @ X.T, y)
    for wrapped in (model, FrozenEstimator(model), ConformalQuantileRegressor(FrozenEstimator(model))):
        with pytest.raises(UnsupportedError, match=r"takes Gram matrices .* Fit it with a kernel on inputs"):
            QuantileFanDisplay.from_estimator(wrapped, X @ X.T)
    with pytest.raises(UnsupportedError, match="takes Gram matrices"):
        LevelSetDisplay.from_estimator(LevelSetDetector(kernel="precomputed"), detector[1])


# -- calibration ------------------------------------------------------------------------------------------------


def test_calibration_shows_shares_below_quantiles(quantiles):
    model, X, y = quantiles
    display = QuantileCalibrationDisplay.from_estimator(model, X, y, levels=[0.8, 0.2])
    shares = [np.mean(y <= model.predict_quantile(X, level)[:, 0]) for level in (0.2, 0.8)]
    np.testing.assert_array_equal(display.line_.get_xdata(), [0.2, 0.8])
    np.testing.assert_allclose(display.line_.get_ydata(), shares)
    np.testing.assert_array_equal(display.diagonal_.get_xydata(), [[0, 0], [1, 1]])
    assert display.ax_.get_xlim() == display.ax_.get_ylim() == (0, 1)
    low, high = band_ends(display.band_, [0.5])[0]
    assert [low, high] == pytest.approx([49 / 120, 71 / 120])  # binomial quantiles: 60 ± 1.96·√30
    assert QuantileCalibrationDisplay([0.5], [0.4]).plot().band_ is None


def test_displays_of_targets_say_what_these_are_called(quantiles):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    model, X, y = quantiles
    for display, axis in ((QuantileCalibrationDisplay, "y"), (PITDisplay, "x"), (QuantileFanDisplay, "y")):
        drawn = {
            "rent": display.from_estimator(model, X, pd.Series(y, name="rent")),
            "price": display.from_estimator(model, X, pl.Series("price", y)),
            "euros": display.from_estimator(model, X, pd.Series(y, name="rent"), target_name="euros"),
        }
        for name, each in drawn.items():
            assert name in getattr(each.ax_, f"get_{axis}label")()
        unnamed = [display.from_estimator(model, X, targets) for targets in (y, pd.Series(y), pl.Series(y))]
        assert len({getattr(each.ax_, f"get_{axis}label")() for each in unnamed}) == 1
    quantile = model.predict_quantile(X, [0.5])
    named = QuantileCalibrationDisplay.from_predictions(pd.Series(y, name="rent"), quantile, [0.5])
    assert named.ax_.get_ylabel() == "share of rent below the θ-quantile"


def test_diagonals_and_bands_are_named():
    band = QuantileCalibrationDisplay([0.5], [0.4], n_samples=20).plot()
    assert labels(band.legend_.get_texts()) == ["calibrated", "95 % of shares if calibrated"]
    assert labels(QuantileCalibrationDisplay([0.5], [0.4]).plot().legend_.get_texts()) == ["calibrated"]
    theta = ThetaPropertyDisplay([0.1], [0.1], [0.2], n_test=30).plot()
    assert labels(theta.legend_.get_texts()) == ["as asked", "95 % of new fractions if as asked"]


def test_calibration_refuses_other_shapes():
    with pytest.raises(DataError, match=r"\(3, 2\); got \(2, 3\)"):
        QuantileCalibrationDisplay.from_predictions(np.zeros(3), np.zeros((2, 3)), [0.2, 0.8])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda y: y[:, None], r"y must have shape \(n_samples,\) .* got shape \(120, 1\). Pass y.ravel\(\)"),
        (lambda y: y[:0], r"a sample at least; got shape \(0,\)"),
        (lambda y: y[0], r"got shape \(\)"),
        (lambda y: np.where(y == y[3], np.nan, y), "y must not contain NaN"),
        (lambda y: np.where(y == y[3], np.inf, y), "NaN or infinity"),
        (lambda y: ["high"] * len(y), "y must hold numbers"),
        (lambda y: y[1:], "inconsistent numbers of samples, 120 and 119"),
    ],
)
@pytest.mark.parametrize("display", [QuantileCalibrationDisplay, PITDisplay, QuantileFanDisplay])
def test_targets_that_are_refused(quantiles, display, change, message):
    model, X, y = quantiles
    with pytest.raises(DataError, match=rf"{display.__name__}: .*{message}"):
        display.from_estimator(model, X, change(y))


def test_calibration_refuses_quantiles_that_are_no_numbers():
    for quantiles, message in (([[np.nan]], "must not contain NaN"), ([["a"]], "quantiles must hold numbers")):
        with pytest.raises(DataError, match=message):
            QuantileCalibrationDisplay.from_predictions([1.0], quantiles, [0.5])
    with pytest.raises(DataError, match="y must not contain NaN"):
        QuantileCalibrationDisplay.from_predictions([np.nan], [[1.0]], [0.5])


def test_binomial_band_holds_its_share():
    rng = np.random.default_rng(2)
    levels = np.array([0.1, 0.5, 0.8])
    low, high = binomial_band(levels, 200)
    shares = rng.binomial(200, levels, size=(20_000, 3)) / 200
    inside = np.mean((low <= shares) & (shares <= high), axis=0)
    assert np.all((inside >= 0.95 - 0.005) & (inside < 0.975))


def test_pit_shows_densities_of_levels(quantiles):
    model, X, y = quantiles
    display = PITDisplay.from_estimator(model, X, y, bins=5)
    pit = model.predict_cdf(X, y)
    np.testing.assert_allclose(display.pit, pit)
    heights = [bar.get_height() for bar in display.bars_]
    np.testing.assert_allclose(heights, np.histogram(pit, 5, (0, 1), density=True)[0])
    assert np.mean(heights) == pytest.approx(1)
    assert display.ax_.get_ylim()[1] > max(heights)
    assert all(display.band_.get_zorder() < bar.get_zorder() < display.uniform_.get_zorder() for bar in display.bars_)
    assert labels(display.labels_) == ["95 % of heights\nif calibrated"]


def test_pit_of_an_estimator_with_quantiles_only():
    class Uniform:
        def predict_quantile(self, X, levels):
            return np.tile(levels, (len(X), 1))

    y = np.linspace(0.01, 0.99, 50)
    np.testing.assert_allclose(PITDisplay.from_estimator(Uniform(), np.zeros((50, 1)), y).pit, y)


def test_pit_refusals():
    with pytest.raises(DataError, match="probabilities"):
        PITDisplay(np.array([0.5, 1.5])).plot()
    with pytest.raises(DataError, match="pit must hold numbers"):
        PITDisplay(["a"]).plot()
    with pytest.raises(MercerError, match="bins must be an integer"):
        PITDisplay(np.array([0.5])).plot(bins=0)


# -- costs ------------------------------------------------------------------------------------------------------


def test_cost_curve_shows_the_operating_curve(classifier):
    model, X, y = classifier
    display = CostCurveDisplay.from_estimator(model, X, y, costs=[0.7, 0.3])
    curve = model.operating_curve(X, y, costs=[0.3, 0.7])
    np.testing.assert_allclose(display.sensitivity_.get_xydata(), np.column_stack([[0.3, 0.7], curve.sensitivity]))
    np.testing.assert_allclose(display.specificity_.get_xydata(), np.column_stack([[0.3, 0.7], curve.specificity]))
    assert labels(display.labels_) == ["well", "ill"]
    assert display.ax_.get_xlabel() == "cost θ of a missed well"
    again = CostCurveDisplay(display.costs, display.sensitivity, display.specificity).plot()
    assert labels(again.labels_) == ["positives", "negatives"]
    assert again.ax_.get_xlabel() == "cost θ of a missed positive"
    assert len(CostCurveDisplay.from_estimator(model, X, y).costs) == 99
    colours = [display.sensitivity_.get_color(), display.specificity_.get_color()]
    assert [text.get_color() for text in display.labels_] == colours
    with pytest.raises(DataError, match="same length"):
        CostCurveDisplay([0.1, 0.2], [1.0], [1.0, 1.0]).plot()


def test_cost_curves_name_the_classes():
    X = np.random.default_rng(1).normal(size=(60, 2))
    numbers, names = (X[:, 0] > 0).astype(int), np.where(X[:, 0] > 0, "well", "ill")
    settings = {"alpha": 0.1, "measure": Points([0.2, 0.8])}
    for y, positive, expected in ((numbers, None, ["class 1", "class 0"]), (names, "ill", ["ill", "well"])):
        pipeline = make_pipeline(StandardScaler(), CostSensitiveClassifier(pos_label=positive, **settings)).fit(X, y)
        display = CostCurveDisplay.from_estimator(pipeline, X, y, costs=[0.2, 0.8])
        assert labels(display.labels_) == expected
        assert display.ax_.get_xlabel() == f"cost θ of a missed {expected[0]}"
        paid = ExpectedCostDisplay.from_estimator(pipeline, X, y, costs=[0.2, 0.8])
        assert paid.ax_.get_xlabel() == display.ax_.get_xlabel()
        assert labels(paid.legend_.get_texts()) == [f"all called {expected[1]}, or all {expected[0]}", "classifier"]


@pytest.mark.parametrize("weighted", [False, True])
def test_expected_cost_is_that_of_the_predictions(classifier, weighted):
    model, X, y = classifier
    weight = np.random.default_rng(0).uniform(size=len(y)) if weighted else np.ones(len(y))
    display = ExpectedCostDisplay.from_estimator(
        model, X, y, costs=[0.7, 0.3], sample_weight=weight if weighted else None
    )
    np.testing.assert_array_equal(display.expected_cost_.get_xdata(), [0.3, 0.7])
    for cost, found in display.expected_cost_.get_xydata():
        price = np.where(y == "well", cost, 1 - cost)
        assert found == pytest.approx(np.average(price * (model.predict(X, cost) != y), weights=weight))
    share = np.average(y == "well", weights=weight)
    for cost in (0.1, 0.5, 0.9):  # all rows are called the same
        constant = min(cost * share, (1 - cost) * (1 - share))
        assert np.interp(cost, *display.constant_.get_xydata().T) == pytest.approx(constant)
    assert len(ExpectedCostDisplay.from_estimator(model, X, y).costs) == 99
    assert display.ax_.get_ylim()[0] == 0


def test_expected_cost_refusals(classifier):
    model, X, y = classifier
    with pytest.raises(DataError, match="same length"):
        ExpectedCostDisplay([0.1, 0.2], [1.0], 0.5).plot()
    with pytest.raises(MercerError, match=r"ExpectedCostDisplay: prevalence must be a finite number in \[0, 1\]"):
        ExpectedCostDisplay([0.1], [1.0], 50).plot()
    with pytest.raises(MercerError, match="ExpectedCostDisplay: costs must be"):
        ExpectedCostDisplay.from_estimator(model, X, y, costs=[5.0])
    with pytest.raises(UnsupportedError, match="SVR has no method operating_curve"):
        ExpectedCostDisplay.from_estimator(SVR().fit(X, X[:, 0]), X, y)


# -- level sets -------------------------------------------------------------------------------------------------


def test_level_sets_show_each_decision_function(detector):
    model, X = detector
    display = LevelSetDisplay.from_estimator(model, X, levels=[0.5, 0.1], grid_resolution=40)
    np.testing.assert_array_equal(display.levels, [0.1, 0.5])
    for level, decision, boundary in zip((0.1, 0.5), display.decisions, display.boundaries_, strict=True):
        column, row = 7, 22
        point = [[display.axes[0][column], display.axes[1][row]]]
        assert decision[row, column] == pytest.approx(model.decision_function(point, level=level)[0])
        line = np.concatenate([path.vertices for path in boundary.get_paths()])
        assert np.max(np.abs(model.decision_function(line, level=level))) < 0.02 * np.max(np.abs(decision))
    outlier = model.predict(X, level=0.1) == -1
    np.testing.assert_array_equal(display.outliers_.get_offsets(), X[outlier])
    np.testing.assert_array_equal(display.points_.get_offsets(), X[~outlier])
    assert set(labels(display.labels_)) == {"90 % inside", "50 % inside"}


def test_level_sets_of_pipelines_and_frames(detector):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(detector[1], columns=["length", "width"])
    pipeline = make_pipeline(StandardScaler(), LevelSetDetector(measure=Points([0.1, 0.5]))).fit(frame)
    display = LevelSetDisplay.from_estimator(pipeline, frame, levels=[0.1], grid_resolution=10)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("length", "width")
    np.testing.assert_array_equal(display.outlier, pipeline[-1].predict(pipeline[:-1].transform(frame), 0.1) == -1)


def test_level_sets_refusals(detector):
    model, X = detector
    with pytest.raises(DataError, match="two columns"):
        LevelSetDisplay.from_estimator(model, X[:, :1])
    with pytest.raises(DataError, match="X must hold numbers"):
        LevelSetDisplay.from_estimator(model, [["a", "b"]])
    with pytest.raises(DataError, match="a row at least"):
        LevelSetDisplay.from_estimator(model, X[:0])
    with pytest.raises(DataError, match=r"level 0\.3 has no point"):
        LevelSetDisplay(([0, 1], [0, 1]), -np.ones((1, 2, 2)), [0.3]).plot()


def test_theta_property_counts_outliers(detector):
    model, X = detector
    new = np.random.default_rng(3).normal(size=(80, 2)) * [1.0, 10.0]
    display = ThetaPropertyDisplay.from_estimator(model, X, X_test=new)
    levels = [0.05, 0.1, 0.25, 0.5, 0.75]
    for line, rows in ((display.train_, X), (display.test_, new)):
        counted = [np.mean(model.predict(rows, level=level) == -1) for level in levels]
        np.testing.assert_allclose(line.get_xydata(), np.column_stack([levels, counted]))
    assert labels(display.labels_) == ["training", "new"]
    assert display.band_ is not None
    alone = ThetaPropertyDisplay.from_estimator(model, X, levels=[0.2])
    assert (alone.test_, alone.band_, labels(alone.labels_)) == (None, None, ["training"])
    with pytest.raises(DataError, match=r"shape \(2,\)"):
        ThetaPropertyDisplay([0.1, 0.2], [0.1]).plot()


@pytest.mark.parametrize("display", [LevelSetDisplay, ThetaPropertyDisplay])
@pytest.mark.parametrize("levels", [5, [0.1, 1.01], 0.0, [], [[0.1]], "a", [np.nan]])
def test_levels_of_outliers_that_are_refused(detector, display, levels):
    with pytest.raises(MercerError, match=r"levels must be .* in \(0, 1\]; .* fractions of outliers: 0\.05, not 5"):
        display.from_estimator(*detector, levels=levels)


def test_default_levels_are_within_those_that_were_trained_on(detector):
    model, X = detector
    np.testing.assert_array_equal(LevelSetDisplay.from_estimator(model, X).levels, [0.05, 0.25, 0.5, 0.75])
    narrow = LevelSetDetector(measure=Points([0.6, 0.3])).fit(X)
    np.testing.assert_array_equal(LevelSetDisplay.from_estimator(narrow, X).levels, [0.3, 0.5, 0.6])
    np.testing.assert_array_equal(ThetaPropertyDisplay.from_estimator(narrow, X).levels, [0.3, 0.6])


def test_level_one_is_a_level(detector):
    X = detector[1]
    model = LevelSetDetector(measure=Points([0.5, 1.0]), calibration=None).fit(X)
    display = ThetaPropertyDisplay.from_estimator(model, X)
    np.testing.assert_array_equal(display.levels, [0.5, 1.0])
    np.testing.assert_allclose(display.train, [0.5, 1.0], atol=0.03)

    class Cone:
        def predict_at(self, X, levels):
            return 1.5 - np.asarray(levels) - np.hypot(*np.transpose(X))[:, None]

    rows = [[-1.0, -1.0], [1.0, 1.0], [0.0, 0.1]]
    display = LevelSetDisplay.from_estimator(Cone(), rows, levels=1.0)
    assert display.outlier.tolist() == [True, True, False]
    np.testing.assert_array_equal(LevelSetDisplay.from_estimator(Cone(), rows).levels, [0.05, 0.25, 0.5, 0.75, 0.95])
    with pytest.raises(MercerError, match="levels must be given, as Cone does not tell"):
        ThetaPropertyDisplay.from_estimator(Cone(), rows)


def test_lists_are_drawn_as_arrays_are(quantiles, detector):
    (model, X, y), (sets, rows) = quantiles, detector
    for display in (QuantileFanDisplay, QuantileCalibrationDisplay, PITDisplay):
        display.from_estimator(model, X.tolist(), y.tolist())
    ThetaPropertyDisplay.from_estimator(sets, rows.tolist(), X_test=rows.tolist(), levels=[0.1])
    drawn = LevelSetDisplay.from_estimator(sets, rows.tolist(), levels=[0.1], grid_resolution=20)
    axes, decisions = [side.tolist() for side in drawn.axes], drawn.decisions.tolist()
    again = LevelSetDisplay(axes, decisions, [0.1], data=rows.tolist(), outlier=drawn.outlier.tolist()).plot()
    np.testing.assert_array_equal(again.outliers_.get_offsets(), drawn.outliers_.get_offsets())
    fan = QuantileFanDisplay([0.0, 1.0], [0.0, 1.0], [[[-1.0, 1.0]], [[0.0, 3.0]]], coverages=[0.5]).plot()
    np.testing.assert_array_equal(band_ends(fan.bands_[0], [0.0, 1.0]), [[-1.0, 1.0], [0.0, 3.0]])


# -- what all share ---------------------------------------------------------------------------------------------

DISPLAYS = [
    QuantileFanDisplay(np.arange(3.0), np.zeros(3), np.tile([-1.0, 1.0], (3, 1, 1)), coverages=np.array([0.5])),
    QuantileCalibrationDisplay(np.array([0.2, 0.8]), np.array([0.3, 0.7]), n_samples=50),
    PITDisplay(np.array([0.1, 0.6])),
    CostCurveDisplay([0.2, 0.8], [0.5, 1.0], [1.0, 0.5]),
    ExpectedCostDisplay([0.2, 0.8], [0.1, 0.2], 0.4),
    LevelSetDisplay((np.arange(3), np.arange(3)), np.eye(3)[None] - 0.5, [0.1]),
    ThetaPropertyDisplay([0.1, 0.9], [0.1, 0.9]),
]


@pytest.mark.parametrize("display", DISPLAYS, ids=lambda display: type(display).__name__)
def test_axes_are_used_again_or_made(display):
    figure, axes = plt.subplots(1, 2)
    assert display.plot(axes[1]) is display
    assert display.ax_ is axes[1]
    assert display.figure_ is figure
    assert len(plt.get_fignums()) == 1
    assert not axes[0].has_data()
    display.plot()
    assert display.figure_ is not figure
    assert display.ax_.get_xlabel()
    assert display.ax_.get_ylabel()
    display.figure_.canvas.draw()


def test_labels_keep_their_distance_and_their_order():
    _, ax = plt.subplots()
    ax.set_ylim(0, 10)
    heights = [5.0, 5.0, 0.0, 9.0, 5.1]
    placed = np.array([text.get_position()[1] for text in label_right(ax, heights, list("abcde"), ["k"] * 5)])
    assert np.min(np.diff(np.sort(placed))) >= GAP * 10 - 1e-12
    assert placed[2] == pytest.approx(0)
    assert placed[3] == pytest.approx(9)
    assert np.argmax(placed[[0, 1, 4]]) == 2
    assert np.mean(placed[[0, 1, 4]]) == pytest.approx(np.mean([5.0, 5.0, 5.1]))


def test_shades_are_evenly_darker_and_shares_are_written_shortly():
    luminance = [0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b, _ in blues(5)]
    assert np.all(np.diff(luminance) < -0.05)
    assert [per_cent(share) for share in (0.025, 0.95, 1 / 3)] == ["2.5 %", "95 %", "33.33 %"]


def test_matplotlib_waits_until_something_is_drawn_and_the_extra_is_named():
    code = """
import sys
from mercer.plotting import PITDisplay
assert not any(name.startswith("matplotlib") for name in sys.modules)
sys.modules["matplotlib"] = None
try:
    PITDisplay([0.5]).plot()
except ImportError as error:
    assert 'pip install "mercer[plot]"' in str(error), error
else:
    raise AssertionError("matplotlib was found")
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
