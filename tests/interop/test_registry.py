"""Estimators open what is registered for the package of a type, and leave the rest alone."""

import numpy as np

from mercer import interop
from mercer.estimators.conversion import open_curves
from mercer.preprocessing import CurveTable, providers
from mercer.preprocessing.curve_table import as_table
from mercer.preprocessing.providers import register


class Opener:
    def open_inputs(self, X):
        return [("left", [([0.0, 1.0], [1.0, 2.0])]), ("right", [([0.0, 1.0], [3.0, 4.0])])]

    def open_curves(self, owner, Y, grid):
        return np.ones((2, 3)), grid, "form"


def test_what_is_registered_opens_its_objects(monkeypatch):
    monkeypatch.setattr(providers, "providers", {})
    foreign = type("Curves", (), {"__module__": "elsewhere.data"})()
    assert as_table(foreign) is foreign
    register("elsewhere", Opener())
    assert as_table(foreign).columns == ["left", "right"]
    assert CurveTable({"both": foreign, "age": [7.0]}).columns == ["both left", "both right", "age"]
    assert open_curves(None, foreign, [0.0])[1:] == ([0.0], "form")
    assert open_curves(None, "text", None) == ("text", None, None)


def test_interop_has_entered_itself():
    assert providers.providers == {"skfda": interop.skfda}
