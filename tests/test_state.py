"""What objects of a fit consist of, and objects made of that again."""

import json
from dataclasses import dataclass
from inspect import isabstract
from typing import Any

import numpy as np
import pytest

from mercer._params import Params
from mercer._state import Stateful, is_plain
from mercer.estimators.intercept_function import InterceptFunction
from mercer.exceptions import DataError
from mercer.features import RandomFourier
from mercer.kernels import FeatureKernel, Gaussian, Kernel
from mercer.measures import GaussLegendre, Measure
from mercer.operator_valued import (
    BoundCoefficients,
    BoundPairs,
    CurlFree,
    Decomposable,
    Expansion,
    ExpansionKernel,
    FeatureExpansion,
    FourierFeatureBasis,
    FunctionBasis,
    HarmonicBasis,
    KernelExpansion,
    LaplacianBasis,
    MatrixExpansion,
    MatrixValuedKernel,
    NystromBasis,
    PiecewiseLinearRepresenters,
    ScatteredExpansion,
    SumExpansion,
    VectorFeatureExpansion,
)

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(6, 2))
NEW = RNG.uniform(size=(4, 2))
MU = GaussLegendre(4).build()
POINTS = np.linspace(0.1, 0.9, 5)[:, None]
MATRIX = np.array([[2.0, 0.5], [0.5, 1.0]])


def cubes(x):
    return np.hstack([x, x**3])


def lines(t):
    return np.hstack([t**0, t])


@dataclass(eq=False, repr=False)
class Turned(MatrixValuedKernel):
    gamma: float = 1.0

    def blocks(self, X, Z):
        return Gaussian(self.gamma)(X, Z)[:, :, None, None] * MATRIX


BASES = {
    "harmonics": HarmonicBasis(3).bind(MU),
    "laplacian": LaplacianBasis(3).bind(MU),
    "fourier": FourierFeatureBasis(3, random_state=0).bind(MU),
    "nystrom": NystromBasis(3).bind(MU, Gaussian(5.0)),
    "functions": FunctionBasis(lines, [1.0, 0.5]).bind(MU),
}
SMOOTH = Decomposable(Gaussian(1.0), Gaussian(5.0))
TRUNCATED = Decomposable(Gaussian(1.0), ExpansionKernel(BASES["functions"]))
PAIRS = BoundPairs(Gaussian(1.0), Gaussian(5.0), np.array([0, 2, 5]), np.array([0.1, 0.1, 0.7]), 2, MATRIX)
HATS = PiecewiseLinearRepresenters(np.array([0.2, 0.5, 0.7]), np.eye(3), np.eye(3))
FUNCTIONS = {
    "rows": SMOOTH.bind(MU).expand(X, RNG.normal(size=(6, 4))),
    "rows, slopes": SMOOTH.bind(MU, POINTS).expand(X, RNG.normal(size=(6, 9))),
    "rows, matrix": Decomposable(Gaussian(1.0), Gaussian(5.0), MATRIX).bind(MU).expand(X, RNG.normal(size=(6, 8))),
    "rows, truncated": TRUNCATED.bind(MU).expand(X, RNG.normal(size=(6, 4))),
    "rows, linear": KernelExpansion(Gaussian(1.0), X, RNG.normal(size=(6, 3)), HATS),
    "features": Decomposable(FeatureKernel(cubes), Gaussian(5.0)).bind(MU).expand(X, RNG.normal(size=(6, 4))),
    "sum": (SMOOTH + TRUNCATED).bind(MU).expand(X, RNG.normal(size=(6, 4))),
    "observations": PAIRS.expand(X, RNG.normal(size=(3, 2))),
    "matrices": Turned(2.0).bind(Measure(np.arange(2.0), np.ones(2))).expand(X, RNG.normal(size=(6, 2))),
    "waves": RandomFourier(5, random_state=0)
    .bind(CurlFree(Gaussian(2.0)), X)
    .bind(Measure(np.arange(2.0), np.ones(2)))
    .expand(X, RNG.normal(size=(6, 2))),
    "random features": Decomposable(RandomFourier(5, random_state=0).bind(Gaussian(2.0), X), Gaussian(5.0))
    .bind(MU)
    .expand(X, RNG.normal(size=(6, 4))),
} | {
    name: BoundCoefficients(Gaussian(1.0), basis, MU).expand(X, RNG.normal(size=(6, len(basis) + 1)))
    for name, basis in BASES.items()
}


def written(value, arrays):
    """Return a state as text can hold it, its arrays apart: what a file without pickle is made of."""
    if isinstance(value, np.ndarray):
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if isinstance(value, dict):
        return {name: written(part, arrays) for name, part in value.items()}
    if isinstance(value, Stateful):
        return {"state": written(value.state(), arrays)}
    if isinstance(value, Params):
        arrays.append(value)  # records are written by their parameters, which are not the business of this test
        return {"array": len(arrays) - 1}
    return value


def read(value, arrays):
    if not isinstance(value, dict):
        return value
    return arrays[value["array"]] if "array" in value else {name: read(part, arrays) for name, part in value.items()}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_come_back_from_plain_states(name):
    h = FUNCTIONS[name]
    state = h.state()
    assert is_plain(state)
    arrays: list[Any] = []
    text = json.dumps(written(state, arrays))
    twin = Expansion.from_state(read(json.loads(text), arrays))
    assert type(twin) is type(h)
    points = np.arange(2.0) if name in ("matrices", "waves") else POINTS
    np.testing.assert_array_equal(twin.evaluate(NEW, points), h.evaluate(NEW, points))
    assert twin.norm == h.norm


def test_every_kind_of_function_was_tried():
    ours = {kind for kind in Expansion._kinds() if kind.__module__.startswith("mercer.") and not isabstract(kind)}
    assert ours == {type(h) for h in FUNCTIONS.values()}
    assert ours == {
        *(KernelExpansion, FeatureExpansion, ScatteredExpansion, MatrixExpansion, SumExpansion),
        VectorFeatureExpansion,
    }


@pytest.mark.parametrize("nodes", [None, MU], ids=["constant", "nodes"])
def test_intercepts_come_back(nodes):
    b = InterceptFunction(np.arange(4.0), nodes)
    assert is_plain(b.state())
    twin = InterceptFunction.from_state(b.state())
    np.testing.assert_array_equal(twin.evaluate(POINTS), b.evaluate(POINTS))
    np.testing.assert_array_equal(twin.slope(POINTS), b.slope(POINTS))


def test_a_state_is_made_of_what_is_promised():
    state = FUNCTIONS["harmonics"].state()
    assert state["class"] == "KernelExpansion"
    assert isinstance(state["kernel"], Kernel)
    assert state["coef"] is FUNCTIONS["harmonics"].coef
    assert state["representers"]["class"] == "BasisRepresenters"
    assert state["representers"]["basis"]["class"] == "BoundTrigonometric"
    observed = Measure(np.arange(2.0), np.ones(2), np.ones((3, 2), dtype=bool)).state()
    assert list(observed) == ["class", "points", "weights", "observed", "levels"]


def test_what_is_not_plain():
    assert not is_plain(FUNCTIONS["rows"])  # its state is
    assert not is_plain({"basis": BASES["harmonics"]})
    assert not is_plain({"function": lines})
    assert not is_plain({"values": np.arange(3.0), "set": {1, 2}})
    assert is_plain({"kernel": FeatureKernel(cubes)})  # a record keeps functions of the user
    assert is_plain({"kernel": ExpansionKernel(BASES["functions"])})


def test_states_of_classes_that_are_not_there():
    state = FUNCTIONS["rows"].state()
    with pytest.raises(DataError, match=r"'Unheard', but no class below Expansion .* Import the module"):
        Expansion.from_state(state | {"class": "Unheard"})
    with pytest.raises(DataError, match=r"no class below Measure has that name"):
        Measure.from_state(state)
    with pytest.raises(DataError, match=r"is None, but no class"):
        Expansion.from_state({"coef": 1})


def test_classes_of_one_name():
    def makes(name):
        kind = type("Twin", (Measure,), {"__module__": name})
        return dataclass(frozen=True, eq=False)(kind)

    first, again, other = makes("here"), makes("here"), makes("there")
    points = Measure(np.arange(2.0), np.ones(2)).state() | {"class": "Twin"}
    assert type(first.from_state(points)) is first
    with pytest.raises(DataError, match=r"several classes have that name\. Call from_state of the right one"):
        Measure.from_state(points)
    other.__name__ = "Other"
    assert type(Measure.from_state(points)) is again  # what was defined last, as in a notebook


def test_piecewise_linear_representers():
    functions = PiecewiseLinearRepresenters(np.array([0.0, 1.0, 3.0]), np.array([[0.0, 2.0, 2.0]]), np.eye(1))
    points = np.array([[-1.0], [0.5], [1.0], [2.0], [4.0]])
    np.testing.assert_allclose(functions.values(points), [[0, 1, 2, 2, 2]])
    np.testing.assert_allclose(functions.slopes(points), [[0, 2, 0, 0, 0]])
    assert functions.gram().to_dense() == 1
