"""The location: posterior means and leave-one-out residuals against brute force; honest residuals."""

import numpy as np
import pytest

from mercer.stages import Location, Relevance, learn_location
from mercer.stages import location as module
from mercer.stages.location import condition

RNG = np.random.default_rng(0)
Z = RNG.normal(size=(40, 2))
T = np.sin(2 * Z[:, 0]) + 0.3 * RNG.normal(size=40)
FOUND = Relevance(np.array([1.5, 0.1]), 1.2, 0.2, 0.1)
WEIGHT = RNG.uniform(0.5, 2.0, size=40)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weights"])
@pytest.mark.parametrize("landmarks", [False, True])
def test_leaving_a_row_out_is_what_the_residuals_say(weight, landmarks, monkeypatch):
    if landmarks:  # with all rows among them the process is the same
        monkeypatch.setattr(module, "EXACT_ROWS", 0)
    process, residuals = condition(FOUND, Z, T, weight)
    monkeypatch.undo()
    for i in (0, 7, 39):
        others = np.arange(40) != i
        other, _ = condition(FOUND, Z[others], T[others], None if weight is None else weight[others])
        assert residuals[i] == pytest.approx(T[i] - other(Z[i : i + 1])[0], rel=1e-5, abs=1e-7)
    exact, _ = condition(FOUND, Z, T, weight)
    np.testing.assert_allclose(process(Z + 0.1), exact(Z + 0.1), atol=1e-4)


def test_few_landmarks_are_near_the_whole():
    rng = np.random.default_rng(1)
    many = rng.normal(size=(1500, 2))
    t = np.sin(2 * many[:, 0]) + 0.3 * rng.normal(size=1500)
    process, residuals = condition(FOUND, many, t, None)
    assert len(process.coef) == module.LOCATION_LANDMARKS
    assert residuals.std() == pytest.approx(0.3, rel=0.1)
    new = rng.normal(size=(200, 2))
    assert np.abs(process(new) - np.sin(2 * new[:, 0])).mean() < 0.1


def test_residuals_are_as_large_as_those_of_new_rows():
    """Many columns, few rows: where parameters have seen a row, leaving it out is too kind."""
    ratios = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        train, test = rng.normal(size=(60, 15)), rng.normal(size=(2000, 15))

        def truth(rows):
            return np.sin(rows[:, 0]) + 0.5 * rows[:, 1]

        t = truth(train) + 0.3 * rng.normal(size=60)
        found = learn_location(train, t)
        new = truth(test) + 0.3 * rng.normal(size=2000) - found(test)
        ratios.append(found.residuals.std() / new.std())
    assert 0.9 < np.mean(ratios) < 1.3


def test_relevance_is_a_share():
    found = learn_location(Z, T)
    assert isinstance(found, Location)
    assert found.relevance.sum() == pytest.approx(1)
    assert found.relevance[0] > 0.8
    np.testing.assert_allclose(found(Z), np.mean([process(Z) for process in found.processes], axis=0))


def test_rounding_does_not_stop_it():
    """Two equal rows and hardly any noise: the matrix is singular but for rounding."""
    double = np.repeat(Z[:20], 2, axis=0)
    sharp = Relevance(np.array([1e-4, 1e-4]), 1.0, 1.0, 1e-14)
    process, residuals = condition(sharp, double, np.repeat(T[:20], 2), None)
    assert np.all(np.isfinite(residuals))
    assert np.all(np.isfinite(process(Z)))
