"""Kernels on networks: without PyTorch an error that names the extra, with it slopes, training, and what comes out."""

import doctest
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import (
    CostSensitiveClassifier,
    FunctionalRegressor,
    KernelQuantileRegressor,
    LevelSetDetector,
    VectorValuedRegressor,
)
from mercer.exceptions import DataError, ParameterError, ParameterTypeError, UnsupportedError
from mercer.interop.torch import DeepKernel
from mercer.kernels import Gaussian
from mercer.measures import Measure, Points

BLOCKED = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torch":
            raise ImportError(name)

sys.meta_path.insert(0, Block())
from mercer.interop.torch import DeepKernel
try:
    DeepKernel(None).fit([[1.0], [2.0]], [1.0, 2.0])
except ImportError as error:
    print(error)
"""


def test_without_torch_the_error_names_the_extra():
    done = subprocess.run([sys.executable, "-c", BLOCKED], capture_output=True, text=True, check=True)
    assert 'pip install "mercer[torch]"' in done.stdout


def test_nothing_imports_it():
    code = "import sys, mercer, mercer.interop.torch; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


torch = pytest.importorskip("torch", reason='mercer.interop.torch trains with PyTorch: pip install "mercer[torch]"')
nn = torch.nn

RNG = np.random.default_rng(0)
N = 160
X = RNG.normal(size=(N, 1, 6)).astype(np.float32)  # short series, of which the energy matters
ENERGY = np.sqrt(np.sum(X[:, 0] ** 2, axis=1)).astype(float)
Y = ENERGY + 0.1 * RNG.normal(size=N)
FEW = Points([0.2, 0.5, 0.8])
QUANTILES = KernelQuantileRegressor(measure=FEW)


@pytest.fixture(autouse=True)
def seeded():
    """Networks and words are drawn alike, whichever tests ran before."""
    torch.manual_seed(0)


def network(width=2):
    torch.manual_seed(0)
    layers = [nn.Flatten(), nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, width)]
    return nn.Sequential(*layers, nn.BatchNorm1d(width, affine=False))


def small(**settings):
    return DeepKernel(network(), **({"estimator": QUANTILES, "batch_size": 64, "max_epochs": 2} | settings))


def test_the_examples_run():
    module = sys.modules["mercer.interop.torch"]
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


def unavoidable(estimator):
    if estimator.module.weight.dtype == torch.float64:
        return {}
    return {"check_methods_subset_invariance": "products of single precision round otherwise for other numbers of rows"}


@parametrize_with_checks(
    [
        DeepKernel(nn.LazyLinear(20, dtype=dtype), estimator=VectorValuedRegressor(), max_epochs=1)
        for dtype in (torch.float32, torch.float64)
    ],
    expected_failed_checks=unavoidable,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("model", "targets"),
    [
        (KernelQuantileRegressor(Gaussian(0.3), output_kernel=Gaussian(3.0), measure=FEW), Y),
        (CostSensitiveClassifier(Gaussian(0.3), output_kernel=Gaussian(3.0), measure=FEW), ENERGY > 2.4),
        (VectorValuedRegressor(Gaussian(0.3)), np.stack([Y, Y**2], axis=1)),
    ],
    ids=["quantiles", "costs", "vectors"],
)
def test_slopes_in_features(model, targets):
    from mercer.interop.network_training import predicted_halves

    Z, targets, step = RNG.normal(size=(24, 2)), targets[:24], 1e-3
    model = clone(model).set_params(alpha=0.2, tol=1e-9)
    slopes = predicted_halves(model, Z, targets)[1]
    for place in ((0, 0), (7, 1), (12, 1), (23, 0)):
        ends = []
        for sign in (1, -1):
            moved = Z.copy()
            moved[place] += sign * step
            ends.append(predicted_halves(model, moved, targets)[0])
        assert slopes[place] == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=3e-3 * np.max(np.abs(slopes)))


def test_equal_rows_share_a_slope():
    from mercer.estimators.value_slopes import row_slopes

    Z = RNG.normal(size=(12, 2))
    model = VectorValuedRegressor(Gaussian(0.3), alpha=0.01)
    pair = np.tile(Z, (2, 1)), np.tile(Y[:12], 2)
    twice = row_slopes(clone(model).fit(*pair), *pair)
    once = row_slopes(clone(model).fit(Z, Y[:12]), Z, Y[:12])
    np.testing.assert_allclose(twice, np.tile(once, (2, 1)) / 2, atol=1e-6)
    weight = np.repeat([1.0, 3.0], 12)
    np.testing.assert_allclose(row_slopes(clone(model).fit(*pair, weight), *pair, weight)[12:], 0.75 * once, atol=1e-6)


def test_equal_features_have_the_slopes_of_their_own_targets():
    """Features that a network makes equal, of rows with other targets, do not take each other's slope."""
    from mercer.estimators.value_slopes import row_slopes

    Z, targets = RNG.normal(size=(12, 2)), Y[:12].copy()
    Z[[3, 7, 9]], targets[9] = Z[0], targets[3]  # the fit merges 3 and 9
    model = VectorValuedRegressor(Gaussian(0.3), alpha=0.01, tol=1e-9)
    found, step = row_slopes(clone(model).fit(Z, targets), Z, targets), 1e-4
    for row in (0, 3, 7, 9):
        ends = []
        for sign in (1, -1):
            moved = Z.copy()
            moved[row, 1] += sign * step
            ends.append(clone(model).fit(moved, targets).objective_)
        assert found[row, 1] == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-4)


def test_it_learns_what_the_kernel_on_raw_inputs_does_not():
    def bent(series):
        return np.tanh(2 * series[:, 0].astype(float) @ np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0]))

    new = RNG.normal(size=(300, 1, 6)).astype(np.float32)
    module = nn.Sequential(nn.Flatten(), nn.Linear(6, 1))
    model = small(max_epochs=25, learning_rate=0.03, patience=25).set_params(module=module).fit(X, bent(X))
    history = model.history_
    assert history["held_out_loss"][model.best_epoch_] == history["held_out_loss"].min()
    assert history["held_out_loss"].min() < 0.7 * history["held_out_loss"][0]
    raw = clone(QUANTILES).set_params(stages="joint").fit(X[:, 0].astype(float), bent(X))
    assert model.score(new, bent(new)) > raw.score(new[:, 0].astype(float), bent(new)) + 0.1
    assert model.estimator_.relative_gap_ <= model.estimator_.tol
    quantiles = model.predict_quantile(new, np.arange(1, 10) / 10)
    assert np.all(np.diff(quantiles, axis=1) >= 0)
    assert model.features(new).shape == (300, 1)
    assert set(model.held_out_) < set(range(N))


def test_the_network_that_is_given_stays_and_seeds_repeat():
    model = small()
    before = [weight.clone() for weight in model.module.parameters()]
    first = model.fit(X, Y).predict(X)
    assert all(torch.equal(*pair) for pair in zip(before, model.module.parameters(), strict=True))
    np.testing.assert_array_equal(clone(model).fit(X, Y).predict(X), first)
    assert not torch.equal(before[0], next(model.module_.parameters()))


def test_layers_that_are_not_to_be_trained_are_not():
    module = network()
    module[1].requires_grad_(False)
    model = small().set_params(module=module).fit(X, Y)
    assert torch.equal(module[1].weight, model.module_[1].weight)
    assert not torch.equal(module[3].weight, model.module_[3].weight)


def test_features_that_are_learned_are_those_that_predict():
    """Batch normalisation has the statistics of rows from the start on, and the kernel the length of its features."""
    model = small(max_epochs=1, learning_rate=1e-6).fit(1e3 * X, Y)
    np.testing.assert_allclose(model.features(1e3 * X).std(axis=0), 1, rtol=0.2)
    gamma = model.estimator_.kernel_.gamma
    assert 0.1 < gamma < 1.5  # 1/median² of distances of features of variance 1


def test_layers_that_are_not_to_be_trained_keep_their_statistics():
    module = nn.Sequential(nn.Flatten(), nn.BatchNorm1d(6), nn.Linear(6, 2), nn.BatchNorm1d(2))
    module[1].requires_grad_(False)
    module[1].running_mean.fill_(0.5)
    found = small().set_params(module=module).fit(X, Y).module_
    assert torch.equal(found[1].running_mean, module[1].running_mean)
    assert not torch.equal(found[3].running_mean, module[3].running_mean)
    assert found[3].momentum == module[3].momentum


@pytest.mark.parametrize(
    ("head", "targets"),
    [
        (VectorValuedRegressor(loss="huber", geometry="componentwise"), np.stack([Y, Y**2], axis=1)),
        (KernelQuantileRegressor(measure=FEW), Y),
        (FunctionalRegressor(loss="huber", grid=np.linspace(0, 1, 5)), Y[:, None] * np.linspace(0, 1, 5)),
    ],
    ids=["thresholds", "levels", "curves"],
)
def test_what_judges_a_pass_is_the_loss_of_rows_held_out(head, targets):
    """Both values are those of one problem, whatever an estimator chooses, and the added weight hardly counts."""
    from mercer.interop.network_training import NetworkTraining
    from mercer.interop.tensor_rows import TensorRows

    module = nn.Flatten()
    rows = TensorRows.of_arrays(X, targets, torch.zeros(1))
    order = np.random.default_rng(0).permutation(N)
    head = clone(head).set_params(kernel=Gaussian("median"))
    training = NetworkTraining(module, rows, head, order[40:], order[:40], None)
    loss, alpha = training._held_out_loss()
    model = clone(training.settled).set_params(alpha=alpha / 120, tol=1e-8)
    model.fit(training.features(order[40:]), targets[order[40:]])
    Z, out = training.features(order[:40]), targets[order[:40]]
    if isinstance(model, KernelQuantileRegressor):
        residuals = out[:, None] - model.expansion_.evaluate(Z, model.measure_.points) - model.intercept_
        theta = model.measure_.locations
        expected = np.mean(np.maximum(theta * residuals, (theta - 1) * residuals) @ model.measure_.weights)
        assert loss == pytest.approx(expected, rel=1e-2)
    else:
        predicted = model.predict(Z)
        measure = Measure(np.arange(2.0), np.ones(2)) if out.shape[1] == 2 else model.measure_
        assert loss == pytest.approx(np.mean(model.loss_.value(out, predicted, measure)), rel=1e-2)


def test_lambda_follows_what_rows_held_out_ask_for():
    from mercer.interop.network_training import NetworkTraining
    from mercer.interop.tensor_rows import TensorRows

    noise = RNG.normal(size=N)
    rows = TensorRows.of_arrays(X, noise, torch.zeros(1))
    head = VectorValuedRegressor(Gaussian("median"))
    training = NetworkTraining(nn.Flatten(), rows, head, np.arange(40, N), np.arange(40), None)
    training.alpha, losses = 1e-3, []
    for _ in range(8):
        loss, training.alpha = training._held_out_loss()
        losses.append(loss)
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.7 * losses[0]
    assert training.alpha > 1
    assert isinstance(small(max_epochs=1).fit(X, noise).estimator_.alpha, float)


def test_a_loader_is_the_same_as_its_arrays():
    data = torch.utils.data.TensorDataset(torch.from_numpy(X), torch.from_numpy(Y))
    loader = torch.utils.data.DataLoader(data, batch_size=64, shuffle=True)
    by_loader, by_arrays = small().fit(loader), small().fit(X, Y)
    np.testing.assert_allclose(by_loader.predict(X), by_arrays.predict(X))
    np.testing.assert_allclose(by_loader.predict(torch.from_numpy(X)), by_arrays.predict(X))
    with pytest.raises(DataError, match="leave y out"):
        small().fit(loader, Y)


def test_classifiers_and_regressors_are_what_their_estimator_is():
    costs = small(estimator=CostSensitiveClassifier(measure=FEW))
    assert is_classifier(costs)
    assert is_regressor(small())
    labels = np.where(ENERGY > 2.4, "loud", "quiet")
    costs.fit(X, labels)
    assert set(costs.predict(X)) <= set(costs.classes_) == {"loud", "quiet"}
    assert costs.predict_proba(X).shape == (N, 2)
    assert not hasattr(small(), "predict_proba")


@pytest.mark.parametrize("columns", [(), (1,)])
def test_rare_classes_are_in_every_half_of_every_batch(columns):
    labels = np.where(np.sort(ENERGY)[-9] < ENERGY, "loud", "quiet").reshape(N, *columns)  # eight of 160
    model = small(estimator=CostSensitiveClassifier(measure=FEW), batch_size=16).fit(X, labels)
    assert set(model.predict(X)) <= {"loud", "quiet"}
    with pytest.raises(DataError, match="rows to learn from are of class loud"):
        model.fit(X, np.where(np.sort(ENERGY)[-4] < ENERGY, "loud", "quiet"))


def test_a_given_lambda_is_that_of_all_rows():
    model = small(estimator=clone(QUANTILES).set_params(alpha=0.02)).fit(X, Y)
    assert model.estimator_.alpha_ == 0.02


def test_files_refuse_a_network_and_say_so(tmp_path):
    model = small(max_epochs=1).fit(X, Y)
    with pytest.raises(UnsupportedError, match=r"module.*"):
        mercer.save(model, tmp_path / "model.mercer")
    assert "what a Sequential makes of each row" in model.summary()
    mercer.save(model.estimator_, tmp_path / "head.mercer")
    again = mercer.load(tmp_path / "head.mercer")
    np.testing.assert_array_equal(again.predict(model.features(X)), model.predict(X))


def test_tensors_of_integers_stay_integers():
    words = torch.randint(0, 5, (N, 4))
    module = nn.Sequential(nn.Embedding(5, 3), nn.Flatten(), nn.Linear(12, 2))
    model = small(max_epochs=1).set_params(module=module).fit(words, Y)
    data = torch.utils.data.TensorDataset(words, torch.from_numpy(Y))
    loader = torch.utils.data.DataLoader(data, batch_size=64)
    np.testing.assert_allclose(
        small(max_epochs=1).set_params(module=module).fit(loader).predict(words), model.predict(words)
    )
    with pytest.raises(DataError, match=r"failed on inputs of shape \(160, 4\), torch\.float32"):
        model.predict(words.numpy())


def test_a_fit_leaves_the_seed_of_others_alone():
    model, before = small(max_epochs=1), torch.random.get_rng_state()
    model.fit(X, Y)
    assert torch.equal(before, torch.random.get_rng_state())


@pytest.mark.parametrize(
    ("items", "settings", "message"),
    [
        ((X, Y), {}, "batch_size = 1"),
        ((X[:0], Y[:0]), {"batch_size": 8}, "n_samples = 0"),
        ((X, Y, Y), {"batch_size": 8}, "pairs"),
        ((X[:, :, :3], Y), {"batch_size": 8}, "the module failed"),
        ((X, Y), {"batch_sampler": [[0, 1]]}, "knows its length"),
    ],
    ids=["batch", "empty", "triples", "shape", "sampler"],
)
def test_loaders_that_do_not_fit_are_refused(items, settings, message):
    data = torch.utils.data.TensorDataset(*map(torch.from_numpy, items))
    with pytest.raises(DataError, match=message):
        small().fit(torch.utils.data.DataLoader(data, **settings))


def test_inputs_that_are_no_tensors_are_refused():
    pairs = [({"series": torch.zeros(6)}, 1.0)] * 20
    with pytest.raises(DataError, match="one tensor; got dict"):
        small().fit(torch.utils.data.DataLoader(pairs, batch_size=8))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"estimator": LevelSetDetector()}, "one of KernelQuantileRegressor"),
        ({"max_epochs": 0}, "max_epochs"),
        ({"learning_rate": -1.0}, "learning_rate"),
        ({"validation_fraction": 1.0}, "validation_fraction"),
        ({"module": nn.Conv1d(1, 2, 3)}, "shape"),
        ({"module": "network"}, r"torch\.nn\.Module"),
        ({"module": nn.Flatten()}, "weights that are to be trained"),
        ({"device": "nowhere"}, "a device that PyTorch has"),
        ({"random_state": "seed"}, "random_state"),
        ({"validation_fraction": 0.99}, "leaves 4 of 160 rows"),
        ({"learning_rate": 1e30, "max_epochs": 3}, "a smaller learning_rate"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises((ParameterError, ParameterTypeError, DataError), match=message):
        small().set_params(**settings).fit(X, Y)


def test_words_for_targets_are_refused():
    with pytest.raises(DataError, match="y must hold numbers"):
        small().fit(X, np.where(ENERGY > 2.4, "loud", "quiet"))
