"""Kernel autoencoders: gradients, special cases, kernel PCA beside them, precomputed Grams, scikit-learn."""

import warnings

import numpy as np
import pytest
import scipy.optimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import KernelAutoencoder
from mercer.estimators import kernel_autoencoder
from mercer.estimators.code_layers import CodeLayers
from mercer.estimators.pre_image import fixed_point_pre_images, nearest_pre_images
from mercer.exceptions import DataError, MercerError, UnsupportedError
from mercer.kernels import Gaussian, Linear, Matern, Polynomial, RationalQuadratic
from mercer.losses import EpsilonInsensitive, EpsilonRidge, Huber, Pinball, Square
from mercer.solvers import ProximalGradient

RNG = np.random.default_rng(0)
ANGLE = RNG.uniform(0, 5, size=70)
ARC = np.stack([np.cos(ANGLE), np.sin(ANGLE)], axis=1) + 0.03 * RNG.normal(size=(70, 2))
BALL = RNG.normal(size=(12, 3))


@parametrize_with_checks([KernelAutoencoder(1, max_iter=200), KernelAutoencoder(1, loss="epsilon_ridge")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def parts(loss, kernel, hidden=(), X=BALL):
    """The layers and the decoder of a small problem, as fit makes them."""
    model = KernelAutoencoder(2, kernel=Gaussian(0.3), hidden=hidden)
    model.encoder_, model.n_features_in_ = None, X.shape[1]
    outputs, factor = model._factors(X)
    layers = CodeLayers(factor, (*hidden, 2, *hidden), kernel, 0.02)
    return layers, kernel_autoencoder.CodeDecoder(outputs, kernel, loss, 0.05, model._solve)


@pytest.mark.parametrize("hidden", [(), (4,)])
@pytest.mark.parametrize("kernel", [Gaussian(0.7), Matern(2.5, 1.5), RationalQuadratic(1.0, 1.0), 0.1 * Polynomial(2)])
@pytest.mark.parametrize("loss", [Square(), Huber(0.3), EpsilonRidge(0.4), EpsilonInsensitive(0.3)], ids=repr)
def test_gradients_are_exact(loss, kernel, hidden, monkeypatch):
    monkeypatch.setattr(kernel_autoencoder, "COMPARED_GAP", 1e-11)
    layers, decoder = parts(loss, kernel, hidden)
    objective = decoder.objective(layers)
    rng = np.random.default_rng(1)
    flat, step = 0.3 * rng.normal(size=layers.size), rng.normal(size=layers.size)
    numeric = (objective(flat + 1e-5 * step)[0] - objective(flat - 1e-5 * step)[0]) / 2e-5
    assert objective(flat)[1] @ step == pytest.approx(numeric, rel=1e-4, abs=1e-6)


def test_the_objective_is_that_of_kernel_ridge_regression_on_codes():
    layers, decoder = parts(Square(), Gaussian(0.7))
    flat = 0.3 * np.random.default_rng(1).normal(size=layers.size)
    value = decoder.objective(layers)(flat)[0]
    (codes,), F = layers.rows(flat), decoder.outputs.values
    ridge = KernelRidge(alpha=0.05 * len(F), kernel="rbf", gamma=0.7).fit(codes, F)
    K = Gaussian(0.7)(codes)
    fit = np.mean(np.sum((F - K @ ridge.dual_coef_) ** 2, axis=1)) / 2
    norm = 0.05 / 2 * np.sum(ridge.dual_coef_ * (K @ ridge.dual_coef_))
    assert value == pytest.approx(fit + norm + 0.02 / 2 * np.sum(flat**2), rel=1e-6)


def test_the_end_is_stationary_and_no_direct_minimisation_is_better():
    model = KernelAutoencoder(1, kernel=Gaussian(1.0), alpha=1e-2, tol=1e-7).fit(ARC[:15])
    assert model.status_ == "converged"
    assert model.slope_ <= 1e-5
    K = Gaussian(1.0)(ARC[:15])
    k2 = model.decoder_kernel_

    def objective(coef):  # of Φ, with the closed form of the decoder
        codes = K @ coef[:, None]
        inverse = np.linalg.inv(k2(codes) + 1e-2 * 15 * np.eye(15))
        return 1e-2 / 2 * np.sum(inverse * K) + 1e-3 / 2 * coef @ K @ coef

    own = np.zeros(15)
    own[model.encoder_pivots_] = model.coefs_[0][:, 0]
    assert objective(own) == pytest.approx(model.objective_, rel=1e-5)
    assert scipy.optimize.minimize(objective, own, method="BFGS").fun >= model.objective_ * (1 - 1e-4)


def test_codes_and_errors_of_new_rows_are_those_of_the_training_rows():
    for hidden in ((), (5,)):
        model = KernelAutoencoder(2, hidden=hidden, max_iter=60)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(ARC)
        assert np.allclose(model.transform(ARC), model.embedding_, atol=1e-5)
        assert model.transform(ARC).shape == (70, 2)
        assert model.score(ARC) > 0.97
        assert model.score(ARC) == pytest.approx(1 - model.reconstruction_error(ARC).mean(), rel=1e-9)


def test_one_code_finds_the_arc_which_one_component_does_not():
    model = KernelAutoencoder(1).fit(ARC)
    order = np.argsort(model.embedding_[:, 0])
    steps = np.abs(np.diff(ANGLE[order]))
    assert np.mean(steps) < 0.2  # neighbours in the code are neighbours on the arc
    gram = model.kernel_(ARC)
    centred = gram - gram.mean(0) - gram.mean(1)[:, None] + gram.mean()
    left = np.sum(np.linalg.eigvalsh(centred)[:-1]) / 70  # what one kernel principal component leaves
    assert model.reconstruction_error(ARC).mean() < 0.2 * left
    for method in ("fixed_point", "nearest"):
        again = model.inverse_transform(model.transform(ARC), method)
        assert np.sqrt(np.mean((again - ARC) ** 2)) < 0.1


def test_a_precomputed_gram_is_the_same_model():
    kernel = Gaussian(1.0)
    model = KernelAutoencoder(1, kernel=kernel).fit(ARC[:50])
    other = KernelAutoencoder(1, kernel="precomputed").fit(kernel(ARC[:50]))
    assert np.allclose(other.embedding_, model.embedding_, atol=1e-6)
    new = kernel(ARC[50:], ARC[:50])
    assert np.allclose(other.transform(new), model.transform(ARC[50:]), atol=1e-6)
    errors = model.reconstruction_error(ARC[50:])
    assert np.allclose(other.reconstruction_error(new, diagonal=np.ones(20)), errors, atol=1e-6)
    nearest = other.nearest_objects(other.embedding_[:5])
    assert np.allclose(ARC[nearest], model.inverse_transform(model.embedding_[:5], "nearest"))
    with pytest.raises(DataError, match="pass diagonal="):
        other.reconstruction_error(new)
    with pytest.raises(UnsupportedError, match="nearest_objects"):
        other.inverse_transform(other.embedding_)


def test_thresholds_without_effect_give_the_square_loss():
    square = KernelAutoencoder(1, kernel=Gaussian(1.0)).fit(ARC)
    for loss in (Huber(10.0), EpsilonRidge(0.0)):
        other = KernelAutoencoder(1, kernel=Gaussian(1.0), loss=loss).fit(ARC)
        assert other.objective_ == pytest.approx(square.objective_, rel=1e-4)
        assert np.allclose(other.embedding_, square.embedding_, atol=0.02)


def test_large_epsilon_discards_objects():
    supports = [len(KernelAutoencoder(1, loss=EpsilonRidge(e)).fit(ARC).support_) for e in (0.0, 0.1, 1.1)]
    assert supports[0] == 70
    assert supports[0] > supports[1] > supports[2] == 0


def test_the_unit_of_a_kernel_does_not_matter():
    one, many = (KernelAutoencoder(1, kernel=scale * Gaussian(1.0)).fit(ARC[:30]) for scale in (1.0, 4.0))
    assert np.allclose(one.reconstruction_error(ARC), many.reconstruction_error(ARC), rtol=1e-3, atol=1e-7)


def test_it_is_deterministic_and_more_starts_are_no_worse():
    first = KernelAutoencoder(1, n_init=3, random_state=0).fit(ARC)
    again = clone(first).fit(ARC)
    assert np.array_equal(first.embedding_, again.embedding_)
    assert first.objective_ <= KernelAutoencoder(1).fit(ARC).objective_ * (1 + 1e-9)


def test_parameters_are_tuned_like_any_others():
    search = GridSearchCV(KernelAutoencoder(1, kernel=Gaussian(1.0)), {"kernel__gamma": [0.5, 1.0]}, cv=2).fit(ARC)
    assert search.best_score_ > 0.7


def test_pre_images_of_images_are_the_points():
    X = RNG.normal(size=(30, 2))
    for kernel in (Gaussian(0.5), Matern(2.5, 2.0), RationalQuadratic(1.0, 2.0)):
        found = fixed_point_pre_images(kernel, X, np.eye(30))
        assert np.allclose(found, X)
        middle = np.full((1, 30), 1 / 30)
        first = X[nearest_pre_images(kernel, X, middle)]
        point = fixed_point_pre_images(kernel, X, middle)

        def distance(x, kernel=kernel):
            return kernel.diagonal(x)[0] - 2 * np.mean(kernel(x, X))

        best = min(scipy.optimize.minimize(lambda x: distance(x[None]), first[0]).fun, distance(first))
        assert distance(point) == pytest.approx(best, abs=1e-5)
    assert np.allclose(fixed_point_pre_images(Linear(), X, np.full((1, 30), 1 / 30)), X.mean(axis=0))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components must be an integer >= 1"),
        ({"loss": "pinball"}, "loss must be a Loss of norms or one of"),
        ({"loss": Pinball()}, "a loss of the norm of residuals"),
        ({"loss": Huber(1.0, "pointwise")}, "a loss of the norm of residuals"),
        ({"hidden": 3}, "hidden must be a tuple"),
        ({"hidden": (0,)}, "hidden must be an integer >= 1"),
        ({"decoder_kernel": Matern(0.5, 1.0)}, "a kernel with derivatives"),
        ({"alpha": -1.0}, "alpha must be"),
        ({"kernel": "precomputed", "encoder_kernel": Gaussian(1.0)}, "None with a precomputed kernel"),
        ({"solver": "adm"}, "solver must be"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    X = Gaussian(1.0)(BALL) if parameters.get("kernel") == "precomputed" else BALL
    with pytest.raises(MercerError, match=message):
        KernelAutoencoder(**parameters).fit(X)


def test_bad_data_are_refused():
    with pytest.raises(DataError, match="two objects"):
        KernelAutoencoder(1).fit(BALL[:1])
    with pytest.raises(DataError, match="negative eigenvalues"):
        KernelAutoencoder(1, kernel="precomputed").fit(np.array([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(DataError, match="there is nothing to encode"):
        KernelAutoencoder(1, kernel=Linear()).fit(np.zeros((4, 2)))
    model = KernelAutoencoder(2).fit(BALL)
    with pytest.raises(DataError, match="codes have 2 columns"):
        model.inverse_transform(np.zeros((1, 3)))
    with pytest.raises(MercerError, match="method must be"):
        model.inverse_transform(np.zeros((1, 2)), "mean")
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        KernelAutoencoder(2, max_iter=1).fit(BALL)
    K = Gaussian(1.0)(BALL)
    given = KernelAutoencoder(1, kernel="precomputed", max_iter=50).fit(K)
    assert np.isfinite(given.score(K))
    with pytest.raises(DataError, match="pass diagonal"):  # as many rows as columns, but others
        given.reconstruction_error(K[::-1])
    with pytest.warns(ConvergenceWarning, match="relative duality gap"):
        KernelAutoencoder(1, max_iter=2, loss="huber", solver=ProximalGradient(max_iter=1)).fit(BALL)
