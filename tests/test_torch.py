"""Models made of torch tensors, where torch is installed: the numbers of NumPy, and slopes by autograd."""

import numpy as np
import pytest

from mercer import CostSensitiveClassifier, FunctionalRegressor, KernelQuantileRegressor, VectorValuedRegressor
from mercer.datasets import make_sine
from mercer.exceptions import DataError
from mercer.kernels import Gaussian
from mercer.measures import GaussLegendre

torch = pytest.importorskip("torch")

X, Y = make_sine(20, random_state=0)
GRID = np.linspace(0, 1, 5)
SETTINGS = {"alpha": 0.1, "measure": GaussLegendre(5), "tol": 1e-3}
THETA = [0.3, 0.6]


def fits(convert):
    x, y = convert(X), convert(Y)
    curves = FunctionalRegressor(Gaussian(2.0), grid=GRID, output_kernel=Gaussian(2.0), alpha=1e-3)
    return {
        "quantiles": KernelQuantileRegressor(**SETTINGS).fit(x, y),
        "costs": CostSensitiveClassifier(**SETTINGS).fit(x, y > 0),
        "curves": curves.fit(x, convert(np.sin(3 * (GRID + X)))),
        "vectors": VectorValuedRegressor("gaussian", alpha=1e-2).fit(x, convert(np.stack([Y, -Y], axis=1))),
    }


@pytest.fixture(scope="module")
def models():
    return fits(np.asarray), fits(torch.asarray)


@pytest.mark.parametrize("name", ["quantiles", "costs", "curves", "vectors"])
def test_the_same_numbers(models, name):
    ours, theirs = (each[name] for each in models)
    expected, found = (
        (model.predict_at(new, THETA) if hasattr(model, "predict_at") else model.predict(new))
        for model, new in ((ours, X), (theirs, torch.asarray(X)))
    )
    assert isinstance(found, torch.Tensor)
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-2, atol=2e-2)


@pytest.mark.parametrize("name", ["quantiles", "costs", "curves"])
def test_slopes_by_autograd(models, name):
    model, step = models[1][name], 1e-5
    new = torch.tensor([[0.31], [0.84]], dtype=torch.float64, requires_grad=True)
    model.predict_at(new, THETA).sum().backward()
    there = new.detach()
    ahead, back = (model.predict_at(there + sign * step, THETA).sum(dim=1) for sign in (1, -1))
    np.testing.assert_allclose(new.grad[:, 0].numpy(), ((ahead - back) / (2 * step)).numpy(), rtol=1e-4, atol=1e-6)


def test_arrays_of_two_libraries_are_refused(models):
    with pytest.raises(DataError, match="same namespace"):
        models[0]["quantiles"].predict(torch.asarray(X))
