"""FunctionalRegressor on arrays of other libraries: type in = type out, with the numbers of NumPy."""

import numpy as np
import pytest

from mercer import FunctionalRegressor
from mercer.backend import to_numpy
from mercer.exceptions import DataError, UnsupportedError
from mercer.kernels import Gaussian
from mercer.losses import Huber

xp = pytest.importorskip("array_api_strict")

RNG = np.random.default_rng(0)
N, M = 16, 5
X = RNG.uniform(size=(N, 2))
GRID = np.linspace(0, 1, M)
CURVES = np.sin(3 * X[:, :1] + 4 * GRID) + 0.1 * RNG.normal(size=(N, M))
HOLES = np.where(RNG.random((N, M)) < 0.2, np.nan, CURVES)
WEIGHT = np.r_[0.0, RNG.uniform(0.5, 2.0, N - 1)]
NEW = RNG.uniform(size=(4, 2))
POINTS = [0.1, 0.77]


def both(Y, weight=None, **settings):
    """The same fit on NumPy and on strict arrays."""
    settings = {"grid": GRID, "tol": 1e-6} | settings
    here = FunctionalRegressor(**settings).fit(X, Y, weight)
    there = FunctionalRegressor(**settings).fit(
        xp.asarray(X), xp.asarray(Y), None if weight is None else xp.asarray(weight)
    )
    return here, there


@pytest.mark.parametrize(
    ("Y", "settings"),
    [
        (CURVES, {}),
        (CURVES, {"fit_intercept": False}),
        (CURVES, {"representation": "eigen"}),
        (CURVES, {"loss": Huber(0.1), "alpha": 0.05, "output_kernel": Gaussian(3.0), "solver": "proximal_gradient"}),
        (np.stack([CURVES, -CURVES], axis=2), {"output_matrix": [[1.0, 0.3], [0.3, 1.0]]}),
        (HOLES, {"alpha": 0.05, "output_kernel": Gaussian(3.0)}),
    ],
    ids=["grid", "no intercept", "eigen", "huber", "components", "holes"],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_strict_arrays_give_the_same(Y, settings, weighted):
    here, there = both(Y, WEIGHT if weighted else None, **settings)
    new = xp.asarray(NEW)
    pairs = {
        "predict": (there.predict(new), here.predict(NEW)),
        "predict_at": (there.predict_at(new, POINTS), here.predict_at(NEW, POINTS)),
        "predict_derivative": (there.predict_derivative(new, POINTS), here.predict_derivative(NEW, POINTS)),
        "intercept_": (there.intercept_, here.intercept_),
        "grid_": (there.grid_, here.grid_),
        "X_fit_": (there.X_fit_, here.X_fit_),
        "support_": (there.support_, here.support_),
        "saturated_": (there.saturated_, here.saturated_),
    }
    for name, (got, wanted) in pairs.items():
        assert type(got) is type(new), name
        np.testing.assert_allclose(to_numpy(got), wanted, rtol=1e-4, atol=1e-4, err_msg=name)
    assert there.score(xp.asarray(X), xp.asarray(Y)) == pytest.approx(here.score(X, Y), abs=1e-5)
    assert there.alpha_ == pytest.approx(here.alpha_)
    assert type(there.alpha_) is type(there.relative_gap_) is type(there.objective_) is float


def test_automatic_smoothness_with_holes():
    """Where each λ takes a solve."""
    here, there = both(HOLES, tol=1e-3)
    assert there.alpha_ == pytest.approx(here.alpha_)
    assert there.output_kernel_ == here.output_kernel_


def test_the_type_of_x_decides():
    assert isinstance(FunctionalRegressor(grid=xp.asarray(GRID)).fit(X, xp.asarray(CURVES)).predict(NEW), np.ndarray)
    strict = FunctionalRegressor(grid=GRID).fit(xp.asarray(X), CURVES).predict(xp.asarray(NEW))
    assert type(strict) is type(xp.asarray(X))
    whole = FunctionalRegressor(grid=GRID).fit(xp.asarray(X), xp.asarray((10 * CURVES).astype(int)))
    assert whole.predict(xp.asarray(NEW)).dtype == xp.float64


def test_strict_precomputed():
    K, k = Gaussian(2.0)(X), Gaussian(2.0)(NEW, X)
    here = FunctionalRegressor("precomputed", grid=GRID).fit(K, CURVES, WEIGHT)
    there = FunctionalRegressor("precomputed", grid=GRID).fit(xp.asarray(K), xp.asarray(CURVES), WEIGHT)
    np.testing.assert_allclose(to_numpy(there.predict(xp.asarray(k))), here.predict(k), atol=1e-9)


def test_what_is_refused():
    model = FunctionalRegressor(grid=GRID).fit(X, CURVES)
    with pytest.raises(DataError, match="must use the same namespace"):
        model.predict(xp.asarray(NEW))
    with pytest.raises(UnsupportedError, match=r"NumPy arrays only.*common grid"):
        FunctionalRegressor().fit(xp.asarray(X), [(GRID, y) for y in CURVES])
    parts = {"kernel": Gaussian(1.0), "output_kernel": Gaussian(2.0), "alpha": 0.1}
    with pytest.raises(UnsupportedError, match="works on NumPy arrays only"):
        FunctionalRegressor(grid=GRID, loss=Huber(0.1), solver="admm", **parts).fit(xp.asarray(X), xp.asarray(CURVES))
    for bad, message in (
        (xp.asarray(CURVES[:-1]), "inconsistent numbers of samples"),
        (xp.asarray(CURVES + np.inf), "contains infinity"),
        (xp.asarray(np.where(GRID == 0, np.nan, CURVES)), "column 0 of Y holds NaN only"),
        (xp.asarray(CURVES[:, :, None, None]), "Y must have shape"),
    ):
        with pytest.raises(DataError, match=message):
            FunctionalRegressor(grid=GRID).fit(xp.asarray(X), bad)
