"""Every estimator comes back from its file: attributes, parameters and predictions, to the last bit."""

import dataclasses
import zipfile

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

import mercer
from mercer import FunctionalRegressor, KernelQuantileRegressor
from mercer._params import Params
from mercer._state import Stateful
from mercer.interop.skfda import CurveForm
from tests.io.models import MODELS, TABLE, X, exported, fitted, predictions, unheard, y


def same(left, right) -> bool:
    """Say whether two values are equal to the last bit, of equal types and, but for slices, layouts of memory."""
    if type(left) is not type(right):
        return False
    if isinstance(left, np.ndarray):
        alike = (left.dtype, left.shape) == (right.dtype, right.shape)
        if left.flags.forc:
            alike = alike and left.flags.f_contiguous == right.flags.f_contiguous
        if left.dtype == object:
            return alike and same(left.ravel().tolist(), right.ravel().tolist())
        return alike and left.tobytes() == right.tobytes()
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, (set, frozenset)):
        return left == right
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    if isinstance(left, BaseEstimator):
        return same(vars(left), vars(right))
    if isinstance(left, Params):
        return same(left.get_params(deep=False), right.get_params(deep=False))
    if isinstance(left, Stateful):
        names = [field.name for field in dataclasses.fields(left)]
        return all(same(getattr(left, name), getattr(right, name)) for name in names)
    if hasattr(left, "dist"):  # of SciPy
        return (left.dist.name, left.args, left.kwds) == (right.dist.name, right.args, right.kwds)
    return left is right or repr(left) == repr(right)


@pytest.fixture(scope="module", params=MODELS)
def pair(request, tmp_path_factory):
    model, inputs = fitted(request.param)
    path = tmp_path_factory.mktemp("models") / "one.mercer"
    mercer.save(model, path)
    return model, mercer.load(path), inputs, path


def test_attributes_and_parameters_come_back(pair):
    model, twin, _, _ = pair
    assert set(vars(twin)) == set(vars(model))
    for name, value in vars(model).items():
        assert same(value, vars(twin)[name]), name
    assert repr(twin) == repr(model)


def test_predictions_are_the_same_to_the_last_bit(pair):
    model, twin, inputs, _ = pair
    expected, found = predictions(model, inputs), predictions(twin, inputs)
    assert len(expected["predict"]) == len(inputs) or len(expected["predict"]) > 0
    for name, value in expected.items():
        assert same(value, found[name]), name


def test_twins_are_cloned_and_written_again(pair, tmp_path):
    model, twin, _, path = pair
    assert repr(clone(twin)) == repr(clone(model))
    mercer.save(twin, tmp_path / "again.mercer")
    assert (tmp_path / "again.mercer").read_bytes() == path.read_bytes()


def test_files_hold_texts_and_arrays_only(pair):
    _, _, _, path = pair
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    assert {"contents.json", "model.json"} <= set(names)
    assert all(name.endswith(".npy") for name in set(names) - {"contents.json", "model.json"})


def mercer_twin(model, folder):
    mercer.save(model, folder / "twin.mercer")
    return mercer.load(folder / "twin.mercer")


@pytest.mark.parametrize("kind", exported(), ids=lambda kind: kind.__name__)
def test_every_estimator_that_is_exported_is_tried(kind, tmp_path):
    """Those with a line in MODELS above; the others, of which nobody here has heard, as they come."""
    assert same(mercer_twin(kind(), tmp_path).get_params(), kind().get_params())
    if any(type(model) is kind for model, _, _ in MODELS.values()):
        return
    model, inputs = unheard(kind)
    twin = mercer_twin(model, tmp_path)
    assert same(vars(twin), vars(model))
    assert same(predictions(twin, inputs), predictions(model, inputs))


def test_estimators_of_which_nobody_has_heard_are_fitted():
    model, _ = unheard(FunctionalRegressor)
    assert hasattr(model, "expansion_")
    with pytest.raises(AssertionError, match="give it a line in MODELS"):
        unheard(type("Nothing", (), {"fit": lambda self, X, y=None: int("x")}))


def test_names_of_columns_are_kept(tmp_path):
    model = mercer_twin(KernelQuantileRegressor().fit(TABLE, y), tmp_path)
    assert model.feature_names_in_.tolist() == ["size", "town", "day", "lift"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(TABLE[["town", "size", "day", "lift"]])


def test_arrays_that_are_one_stay_one(tmp_path):
    model = KernelQuantileRegressor(alpha=0.1).fit(X, y)
    assert model.X_fit_ is model.expansion_.X
    twin = mercer_twin(model, tmp_path)
    assert twin.X_fit_ is twin.expansion_.X
    twin.X_fit_[0] = 1.0  # and can be written on, as before


def test_models_are_fitted_again(tmp_path):
    model = KernelQuantileRegressor(alpha=0.1).fit(X, y)
    twin = mercer_twin(model, tmp_path)
    np.testing.assert_array_equal(twin.fit(X, y).predict(X), model.predict(X))


def test_values_that_json_has_not(tmp_path):
    values = {
        "numbers": (float("nan"), float("inf"), -float("inf"), -0.0, 0.1, 2**70, True),
        "scalars": [np.float32(0.1), np.int8(-3), np.bool_(True), np.str_("a"), np.float64("nan")],
        ("a", 1): slice(1, None, 2),
        "bytes": b"\x00\xff",
        "texts": ["", "\ud800", "é\n\x00"],
        "objects": np.array([["a", 1], [None, 2.5]], dtype=object),
        "arrays": [np.zeros((0, 3)), np.array(1.5), np.asfortranarray(np.eye(3)), np.array(["a", "bc"])],
        "dates": np.array(["2024-01-01", "NaT"], dtype="M8[D]"),
    }
    model = KernelQuantileRegressor()
    model.values_ = values
    twin = mercer_twin(model, tmp_path)
    assert same(twin.values_, values)
    assert str(twin.values_["numbers"]) == str(values["numbers"])


def test_forms_of_other_libraries_come_back(tmp_path):
    """Curves of scikit-fda are given back as such; what knows how is plain, and the library need not be there."""
    model = FunctionalRegressor(alpha=0.1, grid=np.linspace(0, 1, 4)).fit(X, np.outer(y, np.ones(4)))
    names = {"argument_names": ("t",), "coordinate_names": (None,), "domain_range": ((0.0, 1.0),)}
    model.output_form_ = CurveForm((model.grid_,), names)
    twin = mercer_twin(model, tmp_path)
    assert same(twin.output_form_, model.output_form_)
    assert twin.output_form_.grid_points[0] is twin.grid_
