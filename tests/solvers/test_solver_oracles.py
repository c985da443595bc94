"""The printed numbers of the tiny problem T4 (spec 7.2), with every solver that takes the loss."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.exceptions import UnsupportedError
from mercer.linalg import Dense, Kronecker
from mercer.losses import (
    CostSensitiveHinge,
    EpsilonRidge,
    Expectile,
    Huber,
    MoreauPinball,
    Pinball,
    Square,
    WeightedHuber,
)
from mercer.measures import Measure
from mercer.problems import DualProblem
from mercer.solvers import ADMM, LBFGS, ClosedForm, InteriorPoint, ProximalGradient, SemismoothNewton

X = np.array([0, 0.3, 0.7, 1])
THETA = np.array([0.1, 0.5, 0.9])
ETA = np.array([0.3, 0.4, 0.3])
y = np.array([0.2, -0.1, 0.5, 0.4])
CONSTANT = np.repeat(y[:, None], 3, 1)
CURVES = y[:, None] * (1 + THETA)
LABELS = np.repeat(np.array([1.0, -1.0, 1.0, 1.0])[:, None], 3, 1)

ORACLES = {
    "O1 square": (
        Square(),
        CONSTANT,
        {
            "P": 0.024009203,
            "h": 0.209081,
            "alpha": [
                [0.138683, 0.130242, 0.138683],
                [-0.216107, -0.234170, -0.216107],
                [0.241927, 0.187726, 0.241927],
                [0.107726, 0.041886, 0.107726],
            ],
            "c0": [0.104012, 0.130242, 0.104012],
            "H": [
                [0.061317, 0.069758, 0.061317],
                [0.116107, 0.134170, 0.116107],
                [0.258073, 0.312274, 0.258073],
                [0.292274, 0.358114, 0.292274],
            ],
        },
    ),
    "O2 pinball": (
        Pinball(),
        CONSTANT,
        {
            "P": 0.05258132,
            "h": 0.077860,
            "alpha": [[0.1, 0.5, -0.047202], [-0.579080, -0.5, -0.1], [0.1, 0.5, 0.653493], [0.1, -0.074766, -0.1]],
            "H": [
                [-0.077539, 0.152409, 0.200000],
                [-0.100000, 0.211888, 0.337140],
                [0.065361, 0.392167, 0.500000],
                [0.166903, 0.400000, 0.437129],
            ],
        },
    ),
    "O3a weighted Huber": (
        WeightedHuber(0.5),
        CONSTANT,
        {
            "P": 0.01971473,
            "h": 0.110629,
            "H0": [-0.023795, 0.067663, 0.136703],
            "H3": [0.171362, 0.333603, 0.345532],
        },
    ),
    "O3b Moreau pinball": (MoreauPinball(0.5), CONSTANT, {"P": 0.03040794}),
    "O3c expectiles": (
        Expectile(),
        CONSTANT,
        {
            "H": [
                [-0.006570, 0.066849, 0.114437],
                [0.019495, 0.130764, 0.188562],
                [0.100458, 0.250035, 0.288337],
                [0.130083, 0.268542, 0.283932],
            ]
        },
    ),
    "O4 costs": (
        CostSensitiveHinge(),
        LABELS,
        {
            "P": 0.30992739,
            "H": [
                [-0.148282, 0.472133, 0.822781],
                [-0.159527, 0.534107, 0.881674],
                [0.181645, 0.859350, 1],
                [0.417237, 1, 1],
            ],
        },
    ),
    "O5a Huber pointwise": (
        Huber(0.15, "pointwise"),
        CURVES,
        {
            "P": 0.04332976,
            "h": 0.279568,
            "alpha0": [0.110770, 0.137491, 0.150000],
            "H0": [0.109230, 0.162509, 0.137251],
            "H3": [0.323614, 0.441644, 0.348526],
        },
    ),
    "O5b epsilon-ridge pointwise": (
        EpsilonRidge(0.1, "pointwise"),
        CURVES,
        {
            "P": 0.03584682,
            "h": 0.239559,
            "alpha3": [0.056757, 0.042786, 0.195834],
            "H3": [0.283243, 0.457214, 0.464166],
        },
    ),
    "O5c Huber norm": (
        Huber(0.2, "norm"),
        CURVES,
        {
            "P": 0.05099557,
            "norms": [0.164459, 0.2, 0.2, 0.181158],
            "H0": [0.100405, 0.156043, 0.160406],
        },
    ),
    "O5d epsilon-ridge norm": (
        EpsilonRidge(0.15, "norm"),
        CURVES,
        {
            "P": 0.02637460,
            "norms": [0.086866, 0.176947, 0.258859, 0.086769],
            "H0": [0.046773, 0.074916, 0.080901],
        },
    ),
}
SOLVERS = [
    ClosedForm(1e-13),
    ProximalGradient(1e-13),
    ADMM(1e-13),
    InteriorPoint(1e-13),
    SemismoothNewton(1e-13),
    LBFGS(1e-13),
]


def gaussian(gamma, a, b):
    return np.exp(-gamma * (np.atleast_1d(a)[:, None] - b) ** 2)


def make(loss, Y):
    gram = Kronecker(Dense(gaussian(2, X, X)), Dense(gaussian(3, THETA, THETA)))
    return DualProblem(gram, loss, Y, Measure(THETA, ETA), 0.1)


def test_lipschitz_constant():
    assert make(Square(), CONSTANT).scale * make(Square(), CONSTANT).gram.norm2() == pytest.approx(4.526699, abs=5e-7)


def accepts(solver, problem):
    try:
        solver.check(problem)
    except UnsupportedError:
        return False
    return True


PAIRS = [
    pytest.param(name, solver, id=f"{name}-{type(solver).__name__}")
    for name, (loss, Y, _) in ORACLES.items()
    for solver in SOLVERS
    if accepts(solver, make(loss, Y))
]


@pytest.mark.parametrize(("name", "solver"), PAIRS)
def test_oracle(name, solver):
    loss, Y, expected = ORACLES[name]
    problem = make(loss, Y)
    result = solver.solve(problem)
    assert result.relative_gap < 1e-11
    A, H, C = result.coef, problem.predict(result.coef), problem.primal_coef(result.coef)
    middle = gaussian(2, 0.5, X) @ C @ gaussian(3, 0.25, THETA).T
    got = {
        "P": result.objective,
        "h": middle[0, 0],
        "alpha": A,
        "alpha0": A[0],
        "alpha3": A[3],
        "c0": C[0],
        "H": H,
        "H0": H[0],
        "H3": H[3],
        "norms": problem.measure.norm(A),
    }
    for key, value in expected.items():
        digits = 1e-8 if key == "P" else 1e-6
        np.testing.assert_allclose(got[key], value, rtol=0, atol=0.6 * digits, err_msg=key)
