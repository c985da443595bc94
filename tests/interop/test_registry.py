"""Estimators open what is registered for the package of a type, and leave the rest alone."""

import numpy as np

from mercer import interop
from mercer.estimators import conversion
from mercer.estimators.conversion import open_curves, open_inputs, register


class Opener:
    def open_inputs(self, X):
        return np.zeros((2, 1)), "form"

    def open_curves(self, owner, Y, grid):
        return np.ones((2, 3)), grid, "form"


def test_what_is_registered_opens_its_objects(monkeypatch):
    monkeypatch.setattr(conversion, "providers", {})
    foreign = type("Curves", (), {"__module__": "elsewhere.data"})()
    assert open_inputs(foreign) == (foreign, None)
    register("elsewhere", Opener())
    assert open_inputs(foreign)[1] == "form"
    assert open_curves(None, foreign, [0.0])[1:] == ([0.0], "form")
    assert open_curves(None, "text", None) == ("text", None, None)


def test_interop_has_entered_itself():
    assert conversion.providers == {"skfda": interop.skfda}
