"""Every operator of features against its adjoint and against its dense matrix: blocks, rows of a problem, landmarks."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mercer.features import Nystroem, RandomFourier, SeededFeatures, SeededFourier
from mercer.kernels import FeatureKernel, Gaussian, Laplacian, Linear
from mercer.losses import Square
from mercer.measures import Measure
from mercer.operator_valued import CurlFree, Delayed, Helmholtz
from mercer.problems import FeatureProblem
from mercer.problems.row_blocks import Block
from mercer.rows import ArrayRows
from mercer.solvers.feature_blocks import feature_blocks

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(15, 2))
WAVES = RandomFourier(7, random_state=0)
MU = Measure(np.array([0.2, 0.6]), np.array([0.3, 1.7]))
FACTOR = RNG.normal(size=(2, 3))
SCALAR = {
    "waves": WAVES.bind(Gaussian(1.0), X),
    "sum": WAVES.bind(Laplacian(1.0) + Linear(), X),
    "product": WAVES.bind(Gaussian(1.0).restrict(0) * Laplacian(0.5).restrict(1), X),
    "landmarks": Nystroem(6, random_state=0).bind(Gaussian(1.0), X),
    "given": FeatureKernel(lambda X: np.hstack([X, X**2])),
    "seeded": SeededFourier(3, 5).bind(Gaussian(1.0), X),
}
MATRICES = {
    "curl-free": WAVES.bind(CurlFree(Gaussian(1.0)), X),
    "both": WAVES.bind(Helmholtz(Gaussian(1.0), Gaussian(0.5)), X),
    "delays": WAVES.bind(Delayed(Gaussian(1.0), [[0.3, 0.0], [0.0, 0.0]]), X),
    "field landmarks": Nystroem(5, random_state=0).bind(Helmholtz(Gaussian(1.0), Gaussian(0.5)), X),
    "seeded field": SeededFourier(3, 5).bind(CurlFree(Gaussian(1.0)), X),
}
ALL = SCALAR | MATRICES
KERNELS = {name: one for name, one in ALL.items() if not isinstance(one, SeededFeatures)}


@pytest.mark.parametrize("kernel", ALL.values(), ids=ALL)
@pytest.mark.parametrize("nodes", [np.array([0, 1]), np.array([1, 1, 0])], ids=["all", "drawn"])
def test_blocks_have_adjoints(kernel, nodes):
    scalar = any(kernel is one for one in SCALAR.values())
    blocks = feature_blocks(kernel, MU, FACTOR if scalar else None)
    for index in range(blocks.n_blocks):
        block, rng = blocks(index), np.random.default_rng(index)
        coef, array = rng.normal(size=block.shape(X)), rng.normal(size=(len(X), len(nodes)))
        left = float(np.vdot(block.forward(X, coef, nodes), array))
        assert math.isclose(left, float(np.vdot(coef, block.adjoint(X, array, nodes))), rel_tol=1e-10)


@pytest.mark.parametrize("kernel", MATRICES.values(), ids=MATRICES)
def test_products_of_matrix_valued_features_are_those_of_the_dense_ones(kernel):
    made = kernel.block(1) if isinstance(kernel, SeededFeatures) else kernel
    dense, rng = np.asarray(made.features(X)), np.random.default_rng(1)
    w, array = rng.normal(size=dense.shape[2]), rng.normal(size=(len(X), 2))
    np.testing.assert_allclose(made.forward(X, w), dense @ w, atol=1e-10)
    np.testing.assert_allclose(made.adjoint(X, array), np.einsum("ijr,ij->r", dense, array), atol=1e-10)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_of_a_problem_have_adjoints_in_the_geometry_of_weights(kernel, dtype):
    scalar = any(kernel is one for one in SCALAR.values())
    weight = RNG.uniform(0.5, 2, len(X))
    Y = RNG.normal(size=(len(X), 2))
    problem = FeatureProblem((kernel, ArrayRows(X, Y, weight)), Square(), MU, 1e-2, FACTOR if scalar else None)
    rows = problem.terms.rows(Block(np.asarray(kernel.features(X)), Y, weight), dtype)
    coef, array = RNG.normal(size=problem.coef_shape), RNG.normal(size=Y.shape).astype(dtype)
    left = float(rows.sample_weight @ rows.measure.inner(rows.predict(coef), array))
    assert math.isclose(left, float(np.vdot(coef, rows.along(array))), rel_tol=1e-10 if dtype == np.float64 else 1e-4)
