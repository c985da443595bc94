"""Files of older versions load, and predict what they did."""

import json

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer.io import summary_of
from tests.io.golden import FOLDER, golden_models

FILES = sorted(FOLDER.glob("*.mercer"))


def test_the_files_are_there_and_small():
    assert {path.stem for path in FILES} == {name for name, *_ in golden_models()}
    assert sum(path.stat().st_size for path in FILES) < 150_000
    assert {summary_of(path).schema for path in FILES} >= {1}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_old_files_predict_what_they_did(path):
    """Up to rounding: matrices are multiplied otherwise on other machines."""
    model, known = mercer.load(path), json.loads(path.with_suffix(".json").read_text())
    predicted = getattr(model, known["method"])(pd.DataFrame(known["inputs"]), *known["arguments"])
    np.testing.assert_allclose(predicted, known["predicted"], rtol=1e-7, atol=1e-10)
