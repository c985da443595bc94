"""The detector: fractions of outliers, nesting, special cases, bad input."""

import sys
import types
import warnings

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.svm import OneClassSVM

from mercer import LevelSetDetector
from mercer.exceptions import MercerError
from mercer.interpolation import interpolation
from mercer.kernels import Gaussian, Linear, Precomputed
from mercer.linalg import Dense
from mercer.measures import GaussLegendre, Grid, MonteCarlo, Points, Trapezoid
from mercer.problems import level_set_problem
from mercer.solvers.level_sets import LevelPath

RNG = np.random.default_rng(0)
X = np.vstack([RNG.normal(size=(180, 2)), 0.5 * RNG.normal(size=(120, 2)) + [3, 1]])
NEW = RNG.uniform(-5, 6, size=(400, 2))
LEVELS = np.linspace(0.05, 0.95, 20)
TWENTY = Trapezoid(20, stats.uniform(0.05, 0.9))
FEW = Points([0.05, 0.2, 0.5, 0.9])


def optimum(*args, **settings):
    """Return a detector whose offsets are those of the optimum, and count training rows."""
    return LevelSetDetector(*args, calibration=None, **settings)


@pytest.fixture(scope="module")
def detector():
    return LevelSetDetector().fit(X)


# --- fractions of training outliers: offsets of the optimum


@pytest.mark.parametrize("kernel", [None, "laplacian", Gaussian(20.0)])
def test_the_fraction_of_training_outliers_is_the_level(kernel):
    fitted = optimum(kernel, measure=TWENTY).fit(X)
    values = fitted.predict_at(X, LEVELS)
    on_the_boundary = np.abs(values) <= 1e-8
    outliers = np.mean(values < 0, axis=0)
    assert np.all(outliers <= LEVELS + 1e-12)
    assert np.all(np.mean((values < 0) | on_the_boundary, axis=0) >= LEVELS - 1 / len(X))
    assert np.max(np.abs(outliers - LEVELS)) <= 0.02


def test_the_default_levels_are_exact_and_those_between_them_nearly():
    detector = optimum().fit(X)
    nodes = detector.measure_.locations
    outliers = np.mean(detector.predict_at(X, nodes) < 0, axis=0)
    assert np.max(np.abs(outliers - nodes)) <= 0.02
    between = (nodes[1:] + nodes[:-1]) / 2
    outliers = np.mean(detector.predict_at(X, between) < 0, axis=0)
    assert np.max(np.abs(outliers - between)) <= 0.03
    assert detector.measure_.weights.sum() == pytest.approx(1)


def test_the_fraction_of_new_outliers_is_near_the_level():
    rng = np.random.default_rng(1)
    fitted = LevelSetDetector(measure=TWENTY).fit(rng.normal(size=(500, 2)))
    outliers = np.mean(fitted.predict_at(rng.normal(size=(2000, 2)), LEVELS) < 0, axis=0)
    assert np.mean(np.abs(outliers - LEVELS)) <= 0.03
    scores = fitted.score_samples(rng.normal(size=(2000, 2)))
    assert np.mean(scores < 0.3) == pytest.approx(0.3, abs=0.05)


def test_weights_count_as_repetitions():
    weight = np.arange(300) % 3
    weighted = LevelSetDetector(measure=FEW).fit(X, sample_weight=weight)
    repeated = LevelSetDetector(measure=FEW).fit(np.repeat(X, weight, axis=0))
    assert len(weighted.X_fit_) == 200
    assert weighted.predict_at(NEW, [0.05, 0.5]) == pytest.approx(repeated.predict_at(NEW, [0.05, 0.5]), abs=1e-10)
    keep = weight > 0
    problem = level_set_problem(Dense(weighted.kernel_(X[keep])), weighted.measure_, weight[keep])
    exact = LevelPath(tol=1e-9).solve(problem)
    precise = optimum(measure=FEW, tol=1e-9).fit(X, sample_weight=weight)
    assert precise.offset_ == pytest.approx(-exact.intercept, abs=1e-6)
    rough = optimum(measure=FEW).fit(X, sample_weight=weight)
    share = weight @ (rough.decision_function(X, 0.2) < 0) / weight.sum()
    assert share == pytest.approx(0.2, abs=0.01)


def test_the_order_of_the_rows_does_not_matter(detector):
    shuffled = LevelSetDetector().fit(X[np.random.default_rng(5).permutation(300)])
    assert shuffled.decision_function(NEW) == pytest.approx(detector.decision_function(NEW), abs=1e-8)


# --- special cases


@pytest.mark.parametrize("nu", [0.05, 0.4])
def test_one_level_is_the_one_class_svm(nu):
    theirs = OneClassSVM(nu=nu, gamma=0.4, tol=1e-10).fit(X)
    ours = optimum(Gaussian(0.4), measure=Points([nu]), tol=1e-9).fit(X)
    # libsvm normalises Σα = νn where we have Σδ = 1
    assert ours.decision_function(NEW, level=nu) * nu * 300 == pytest.approx(theirs.decision_function(NEW), abs=2e-3)
    assert ours.offset_ * nu * 300 == pytest.approx(theirs.offset_, abs=2e-3)
    assert ours.level_ == nu


def test_a_constant_output_kernel_has_one_function_and_nested_sets():
    fitted = optimum(output_kernel="constant", coupling=0.1, measure=FEW, tol=1e-5).fit(X)
    values = fitted.predict_at(NEW, [0.05, 0.2, 0.5, 0.9])
    assert np.allclose(np.diff(values, axis=1), -np.diff(fitted.offset_))
    assert np.all(np.diff(fitted.offset_) > 0)
    doubled = optimum(output_kernel="constant", coupling=1.2, measure=FEW, tol=1e-5).fit(X)
    assert doubled.offset_ * 2.2 == pytest.approx(fitted.offset_ * 1.1, rel=2e-2)


def test_coupling_evaluates_the_output_kernel_between_levels():
    fitted = LevelSetDetector(Gaussian(0.5), output_kernel=Gaussian(2.0), coupling=0.05, measure=FEW).fit(X)
    for level in (0.3, 0.5, 0.71):
        weights = fitted.output_kernel_(fitted.measure_.points, np.array([[level]]))
        h = Gaussian(0.5)(NEW, fitted.X_fit_) @ fitted.dual_coef_ @ weights
        t = fitted.offset_ @ interpolation([0.05, 0.2, 0.5, 0.9], [level])
        assert fitted.decision_function(NEW, level) == pytest.approx(h[:, 0] - t, abs=1e-5)


def test_levels_between_trained_ones_are_linear_without_coupling(detector):
    low, middle, high = detector.predict_at(NEW, [0.2, 0.235, 0.25]).T
    assert middle == pytest.approx(0.3 * low + 0.7 * high, abs=1e-12)


def test_the_algorithm_follows_the_penalties():
    for settings, name in (
        ({}, "LevelPath"),
        ({"alpha": 0.1}, "OffsetNewton"),
        ({"coupling": 0.1}, "SemismoothNewton"),
    ):
        assert type(LevelSetDetector(measure=FEW, **settings).fit(X).solver_).__name__ == name


def test_a_penalty_on_offsets_shrinks_them():
    sizes = [np.linalg.norm(optimum(alpha=a, measure=FEW).fit(X).offset_) for a in (0.0, 1.0, 10.0)]
    assert sizes[0] > sizes[1] > sizes[2] > 0


def test_changing_parameters_after_fitting_changes_no_model():
    fitted = LevelSetDetector(measure=FEW).fit(X)
    before = fitted.decision_function(NEW, 0.3)
    fitted.set_params(coupling=1.0, kernel="linear", alpha=1.0)
    assert np.array_equal(fitted.decision_function(NEW, 0.3), before)


# --- nesting


def crossing_data():
    """Few points, narrow kernel, uneven levels: sets of neighbouring levels cross."""
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(30, 1)) * rng.choice([0.1, 3.0], size=(30, 1))
    return rows, np.linspace(-8, 8, 801)[:, None]


@pytest.mark.parametrize(
    "settings",
    [{}, {"coupling": 0.02, "output_kernel": Gaussian(100.0)}, {"alpha": 1.0, "offset_kernel": Gaussian(100.0)}],
)
def test_nested_sets_are_nested_and_consistent(settings):
    rows, new = crossing_data()
    levels = np.sort(np.random.default_rng(0).uniform(0.03, 0.97, size=60))
    measure = GaussLegendre(12, stats.uniform(0.015, 0.97))
    plain = optimum(Gaussian(2.0), measure=measure, **settings).fit(rows)
    nested = optimum(Gaussian(2.0), measure=measure, nested=True, **settings).fit(rows)
    raw, values = plain.predict_at(new, levels), nested.predict_at(new, levels)
    assert np.any(np.diff((raw >= 0).astype(int), axis=1) > 0)  # or the data would not be adversarial
    assert np.all(np.diff(values, axis=1) <= 1e-15)
    assert np.all(values >= raw - 1e-15)
    scores = nested.score_samples(new)
    assert np.array_equal(scores, plain.score_samples(new))
    for j, level in enumerate(levels):
        clear = np.abs(values[:, j]) > 1e-12
        assert np.array_equal((scores >= level)[clear], (nested.predict(new, level) == 1)[clear])
        assert nested.decision_function(new, level) == pytest.approx(values[:, j], abs=1e-13)


def test_scores_are_the_largest_levels_of_inliers(detector):
    scores = detector.score_samples(NEW)
    fine = np.linspace(0.01, 0.99, 981)
    inlier = detector.predict_at(NEW, fine) >= 0
    within = inlier.any(axis=1)
    brute = fine[len(fine) - 1 - np.argmax(inlier[:, ::-1], axis=1)]
    assert np.max(np.abs(scores - brute)[within]) <= 1.01e-3
    assert np.all(scores[within] >= 0.01)
    assert np.all(scores[~within] < 0.01)
    assert detector.score_samples(np.array([[1e6, 1e6]])) == 0
    assert detector.score_samples(X).max() == pytest.approx(0.99)


# --- what is stored


def test_the_certificate_is_stored(detector):
    assert detector.status_ == "converged"
    assert 0 <= detector.relative_gap_ <= 1e-3
    assert detector.dual_gap_ <= 1e-3 * abs(detector.objective_)
    assert detector.n_iter_ > 0
    assert detector.dual_coef_.shape == (300, len(detector.measure_))
    assert detector.dual_coef_.sum(axis=0) == pytest.approx(np.ones(len(detector.measure_)))
    assert detector.level_ == 0.05


def test_a_fit_that_did_not_converge_warns():
    with pytest.warns(ConvergenceWarning, match="tol = 1e-09 was not reached"):
        fitted = LevelSetDetector(tol=1e-9, max_iter=2).fit(X)
    assert fitted.status_ == "max_iter"
    assert np.all(np.isfinite(fitted.decision_function(NEW)))


@pytest.mark.parametrize("seed", [0, 1])
def test_a_tiny_penalty_on_offsets_ends_within_the_iterations(seed):
    """The second sample stops Newton's method far from the solution."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = LevelSetDetector(alpha=1e-9, max_iter=20).fit(np.random.default_rng(seed).normal(size=(60, 2)))
    assert fitted.n_iter_ <= 20
    assert (fitted.status_ == "converged") == (fitted.relative_gap_ <= 1e-3)
    assert np.all(np.isfinite(fitted.offset_))


def test_the_smallest_coupling_keeps_the_fractions():
    rows = np.random.default_rng(1).normal(size=(60, 2))
    fitted = optimum(coupling=5.3e-8).fit(rows)
    nodes = fitted.measure_.locations
    assert np.all(np.mean(fitted.predict_at(rows, nodes) < 0, axis=0) <= nodes + 1e-12)


def test_progress_is_reported_on_request(capsys):
    LevelSetDetector(measure=FEW, verbose=1).fit(X)
    assert "LevelPath: iteration" in capsys.readouterr().err


def test_random_levels_follow_the_random_state():
    measure = MonteCarlo(5, stats.uniform(0.1, 0.8))
    first, again = (LevelSetDetector(measure=measure, random_state=3).fit(X) for _ in range(2))
    assert np.array_equal(first.grid_, again.grid_)


# --- edge cases


@pytest.mark.parametrize("settings", [{}, {"alpha": 0.1}, {"coupling": 0.1}])
@pytest.mark.parametrize("rows", [X[:1], X[:2], np.ones((5, 2)), 1e8 + X[:20], 1e-9 * X[:20]])
def test_small_and_odd_data_give_finite_models(rows, settings):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = LevelSetDetector(**settings).fit(rows)
    assert np.all(np.isfinite(fitted.predict_at(rows, fitted.grid_)))
    assert np.all(np.isfinite(fitted.score_samples(rows)))


def test_level_one_and_equal_levels():
    fitted = optimum(measure=Points([1.0, 0.5, 0.5])).fit(X)
    assert np.mean(fitted.predict(X, 1.0) == -1) >= 0.99
    assert np.mean(fitted.predict(X, 0.5) == -1) == pytest.approx(0.5, abs=0.01)


# --- bad input


def changed(value):
    rows = X.copy()
    rows[0, 0] = value
    return rows


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (changed(np.nan), "Input X contains NaN"),
        (changed(np.inf), "Input X contains infinity"),
        (X[:, 0], "Expected 2D array"),
        (X[:0], "0 sample"),
        (X[:, :0], "0 feature"),
        (3.0, "must have shape"),
        ([["a", "b"]], "must hold numbers"),
        (sparse.csr_array(X), "[Ss]parse"),
        (X + 1j, "Complex data"),
    ],
)
def test_bad_data_are_refused(rows, message):
    with pytest.raises(MercerError, match=message):
        LevelSetDetector(measure=FEW).fit(rows)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (-np.ones(300), "non-negative"),
        (np.zeros(300), "non-zero"),
        (np.ones(3), "shape"),
        ("many", "sample_weight"),
    ],
)
def test_bad_weights_are_refused(weight, message):
    with pytest.raises(MercerError, match=message):
        LevelSetDetector(measure=FEW).fit(X, sample_weight=weight)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tol": 0}, "tol must be"),
        ({"tol": "small"}, "tol must be"),
        ({"alpha": -1}, "alpha must be"),
        ({"alpha": None}, "alpha must be"),
        ({"alpha": "auto"}, "alpha must be"),
        ({"coupling": np.inf}, "coupling must be"),
        ({"coupling": 1e-10}, "coupling must be 0 or at least"),
        ({"alpha": 1e-16}, "alpha must be 0 or at least"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"max_iter": 1.5}, "max_iter must be"),
        ({"nested": "yes"}, "nested must be True or False"),
        ({"calibration": "split"}, 'calibration must be "cross" or None'),
        ({"calibration": False}, 'calibration must be "cross" or None'),
        ({"measure": [0.1, 0.5]}, "measure must be a MeasureRule"),
        ({"measure": Points([0.0, 0.5])}, "measure must be a rule whose points are fractions"),
        ({"measure": Points([5.0])}, "0.05, not 5"),
        ({"measure": Points([[0.1, 0.2]])}, "measure must be a rule"),
        ({"kernel": "gausian"}, "Did you mean 'gaussian'"),
        ({"kernel": 3}, "kernel must be"),
        ({"output_kernel": Precomputed()}, "output_kernel must be a kernel on levels"),
        ({"offset_kernel": "unheard of"}, "offset_kernel must be"),
        ({"random_state": "seed"}, "random_state must be"),
    ],
)
def test_bad_parameters_are_refused(settings, message):
    with pytest.raises(MercerError, match=message):
        LevelSetDetector(**settings).fit(X)


def test_bad_gram_matrices_are_refused():
    for matrix, message in (
        (np.ones((3, 2)), "square"),
        (-np.eye(3), "negative eigenvalues"),
        (np.triu(np.ones((3, 3))), "symmetric"),
    ):
        with pytest.raises(MercerError, match=message):
            LevelSetDetector("precomputed").fit(matrix)


@pytest.mark.parametrize("method", ["predict", "decision_function"])
@pytest.mark.parametrize(
    ("level", "message"),
    [
        (0.0, r"in \(0, 1\]"),
        (-0.1, r"in \(0, 1\]"),
        (5, "0.05, not 5"),
        (np.nan, r"in \(0, 1\]"),
        ("low", r"in \(0, 1\]"),
        ("0.05", r"in \(0, 1\]"),
        ([0.1, 0.2], "predict_at takes several"),
        (0.001, "from 0.01 to 0.99"),
        (0.001, r"add such levels to Points, for instance Points\(\[0.001"),
        (1.0, "from 0.01 to 0.99"),
        (1.0, r"add such levels to Points, for instance Points\(\[.*1.0\]\)"),
    ],
)
def test_bad_levels_are_refused(detector, method, level, message):
    with pytest.raises(MercerError, match=message):
        getattr(detector, method)(X, level=level)


def test_bad_prediction_input_is_refused(detector):
    with pytest.raises(MercerError, match="levels must be"):
        detector.predict_at(X, [])
    with pytest.raises(MercerError, match="expecting 2 features"):
        detector.score_samples(np.ones((3, 5)))
    with pytest.raises(MercerError, match="NaN"):
        detector.predict(changed(np.nan))
    for method in ("predict", "decision_function", "score_samples"):
        with pytest.raises(NotFittedError):
            getattr(LevelSetDetector(), method)(X)


def test_rounded_levels_at_the_end_of_the_range_are_taken():
    fitted = LevelSetDetector(measure=Points([0.1, 0.3])).fit(X)
    assert np.array_equal(fitted.predict(X, 0.1 + 0.2), fitted.predict(X, 0.3))


def test_arrays_of_other_libraries_are_refused_with_a_remedy():
    strict = pytest.importorskip("array_api_strict")
    with pytest.raises(MercerError, match="Convert X with numpy"):
        LevelSetDetector().fit(strict.asarray(X))


def test_tensors_of_torch_are_refused_with_a_remedy(monkeypatch):
    """They have no __array_namespace__; array_api_compat knows them by their type."""
    torch = types.ModuleType("torch")

    class Tensor:
        shape, ndim, __module__ = X.shape, 2, "torch"

        def __len__(self):
            return len(X)

    torch.Tensor = Tensor
    monkeypatch.setitem(sys.modules, "torch", torch)
    with pytest.raises(MercerError, match=r"NumPy arrays only; got torch.Tensor. Convert X with numpy.asarray"):
        LevelSetDetector().fit(Tensor())


@pytest.mark.parametrize("settings", [{}, {"coupling": 0.1}, {"alpha": 0.01}], ids=["alone", "coupled", "penalised"])
@pytest.mark.parametrize("m", [51, 94])
def test_many_levels_on_a_grid(settings, m):
    x = np.random.default_rng(0).normal(size=(60, 2))
    detector = LevelSetDetector(measure=Grid(np.linspace(0.02, 0.98, m)), **settings).fit(x)
    assert detector.status_ == "converged"


# --- fractions hold for scores that are computed anew, whatever their rounding


@pytest.mark.parametrize("coupling", [0.0, 1e-3])
@pytest.mark.parametrize("kernel", [Linear(), Gaussian(1.0) + Linear()], ids=["linear", "sum"])
def test_fractions_hold_where_scores_cancel(kernel, coupling):
    levels = [0.36, 0.54, 0.55, 0.68, 0.97]
    for seed in range(25):
        rng = np.random.default_rng(seed)
        data = 10.0 ** rng.integers(-6, 7) * rng.integers(-2, 3, size=(int(rng.integers(5, 45)), 2))
        data = np.unique(data, axis=0)
        weight = rng.uniform(0.1, 1.0, size=len(data))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            detector = optimum(kernel, coupling=coupling, measure=Points(levels), max_iter=200)
            detector.fit(data, sample_weight=weight)
        for level in levels:
            outliers = detector.predict(data, level=level) == -1
            assert weight[outliers].sum() <= level * weight.sum() * (1 + 1e-12)


def test_scores_are_finite_where_offsets_are_next_to_nothing():
    rows = 1e6 + np.random.default_rng(3).normal(size=(6, 2))
    model = LevelSetDetector("linear", measure=Points([1e-9, 1e-3, 0.5]), alpha=1e300, calibration=None).fit(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.all(np.isfinite(model.score_samples(np.concatenate([rows, -1e50 * rows]))))
