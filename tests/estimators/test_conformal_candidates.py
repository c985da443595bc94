"""Conformal sets of candidates: coverage in simulation, and that sets are what they are called."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import CandidateLists, ConformalCandidates, InputOutputKernelRegressor, KernelQuantileRegressor
from mercer.exceptions import DataError, ParameterError, UnsupportedError
from mercer.kernels import Gaussian
from mercer.kernels.objects import Spectrum


def draw(rng, n):
    X = rng.uniform(size=(n, 1))
    return X, [frozenset(np.flatnonzero(rng.random(3) < [x, 1 - x, 0.5]).tolist()) for x in X[:, 0]]


EVERY = [frozenset(j for j in range(3) if code >> j & 1) for code in range(8)]


@pytest.mark.parametrize("loss", ["square", "max_margin"])
def test_coverage_over_draws_of_calibration_and_new_rows(loss):
    """P(Z ∈ set) ≥ c over calibration rows and a new row together, and not far above it as misfits hardly tie."""
    rng = np.random.default_rng(0)
    base = InputOutputKernelRegressor(Gaussian(5.0), "jaccard", alpha=1e-3, loss=loss).fit(*draw(rng, 60))
    inside, sizes = [], []
    for _ in range(150):
        model = ConformalCandidates(FrozenEstimator(base)).fit(*draw(rng, 39))
        X, Z = draw(rng, 20)
        sets = model.predict_set(X, EVERY, coverage=0.8)
        inside += [truth in found for truth, found in zip(Z, sets, strict=True)]
        sizes += [len(found) for found in sets]
    assert 0.78 < np.mean(inside) < 0.84  # ⌈40·0.8⌉/40 = 0.8; 3 000 new rows, with 150 calibrations in common
    assert np.mean(sizes) < 7


def test_sets_are_candidates_of_small_misfit_and_grow_with_the_coverage():
    rng = np.random.default_rng(1)
    X, Z = draw(rng, 80)
    model = ConformalCandidates(InputOutputKernelRegressor(output_kernel="jaccard"), random_state=0).fit(X, Z)
    assert model.n_calibration_ == 20
    new, _ = draw(rng, 5)
    regression = model.estimator_
    misfits = regression.misfits(new, EVERY)
    for i, one in enumerate(model.predict_set(new, EVERY, coverage=0.7)):
        bound = model.misfits_[int(np.ceil(21 * 0.7)) - 1]
        assert one == [EVERY[j] for j in np.argsort(misfits[i], kind="stable") if misfits[i, j] <= bound]
        np.testing.assert_allclose(misfits[i], [regression.misfit(new[[i]], [z])[0] for z in EVERY])
    small, large = (model.predict_set(new, EVERY, coverage=c) for c in (0.5, 0.9))
    assert all(set(a) <= set(b) for a, b in zip(small, large, strict=True))
    lists = CandidateLists([EVERY[:3]] * 5)
    for some, every in zip(model.predict_set(new, lists), model.predict_set(new, EVERY), strict=True):
        assert some == [z for z in every if z in EVERY[:3]]
    assert model.predict(new) == regression.predict(new)


def test_pipelines_objects_and_gram_matrices():
    rng = np.random.default_rng(2)
    X, Z = draw(rng, 60)
    base = InputOutputKernelRegressor(Gaussian(1.0), "jaccard", alpha=1e-3)
    model = ConformalCandidates(make_pipeline(StandardScaler(), base), random_state=0).fit(X, Z)
    assert len(model.predict_set(X[:3], EVERY)) == 3
    words = ["".join(rng.choice(list("ab"), 4)) for _ in range(60)]
    kernel = Spectrum(2)
    direct = ConformalCandidates(InputOutputKernelRegressor(kernel, "jaccard", alpha=1e-2), random_state=0)
    gram = ConformalCandidates(InputOutputKernelRegressor("precomputed", "jaccard", alpha=1e-2), random_state=0)
    direct.fit(words, Z)
    gram.fit(kernel(words), Z)
    assert direct.predict_set(words[:5], EVERY) == gram.predict_set(kernel(words[:5], words), EVERY)


def test_what_is_refused():
    rng = np.random.default_rng(3)
    X, Z = draw(rng, 40)
    with pytest.raises(UnsupportedError, match="no scores of objects"):
        ConformalCandidates(KernelQuantileRegressor()).fit(X, Z)
    with pytest.raises(UnsupportedError, match="is not split"):
        ConformalCandidates(InputOutputKernelRegressor(output_kernel="precomputed")).fit(X, np.eye(40))
    with pytest.raises(DataError, match="inconsistent numbers"):
        ConformalCandidates(InputOutputKernelRegressor(output_kernel="jaccard")).fit(X, Z[:3])
    model = ConformalCandidates(InputOutputKernelRegressor(output_kernel="jaccard"), random_state=0).fit(X, Z)
    with pytest.raises(ParameterError, match="coverage must be at most"):
        model.predict_set(X, EVERY, coverage=0.99)


def test_names_of_columns():
    rng = np.random.default_rng(3)
    X, Z = draw(rng, 40)
    frame = pd.DataFrame(X).set_axis([f"c{j}" for j in range(np.shape(X)[1])], axis=1)
    model = ConformalCandidates(InputOutputKernelRegressor(output_kernel="jaccard"), random_state=0).fit(frame, Z)
    assert model.feature_names_in_.tolist() == list(frame)
    assert not hasattr(model.fit(X, Z), "feature_names_in_")


def test_misfits_that_tie_are_inside():
    """One object that is everywhere: all misfits are equal, but for the rounding of products of other shapes."""
    rng = np.random.default_rng(0)
    X, Z = np.full((90, 3), 0.1), (rng.random((90, 7)) < 0.5).astype(float)
    base = InputOutputKernelRegressor(Gaussian(1.0), "linear", alpha=0.3).fit(X, Z)
    for _ in range(20):
        one = rng.normal(size=(1, 7))
        model = ConformalCandidates(FrozenEstimator(base)).fit(X, one.repeat(90, axis=0))
        assert all(len(found) == 1 for found in model.predict_set(X[:50], one))


def test_gram_matrices_of_the_wrong_shape_and_other_fits():
    rng = np.random.default_rng(2)
    X, Z = draw(rng, 40)
    gram = Gaussian(1.0)(X)
    model = ConformalCandidates(InputOutputKernelRegressor("precomputed", "jaccard", alpha=0.1), random_state=0)
    model.fit(gram, Z)
    assert model.n_features_in_ == 40
    for wrong in (gram[:, :7], gram[0]):
        with pytest.raises(DataError, match="a column for each of the 40 rows"):
            model.predict_set(wrong)
    with pytest.raises(DataError, match=r"an array \(n, n\)"):
        model.fit(gram[0], Z)
    frozen = FrozenEstimator(InputOutputKernelRegressor(Gaussian(1.0), "jaccard", alpha=0.1).fit(X, Z))
    assert model.set_params(estimator=frozen).fit(X, Z).n_features_in_ == 1
    assert len(model.predict_set(X[:3], EVERY)) == 3
