"""Every transformer gives the tables that its user asked for, with names and rows as they came."""

import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import mercer
import mercer.preprocessing
from mercer import KernelAutoencoder
from mercer.preprocessing import KernelFeatures, TableEncoder

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame({"a": RNG.normal(size=20), "b": np.arange(20.0)}, index=range(100, 120))
TRANSFORMERS = [TableEncoder(), KernelFeatures(random_state=0), KernelAutoencoder(alpha=1e-2)]


def test_none_is_left_out():
    found = {
        name
        for module in (mercer, mercer.preprocessing)
        for name in module.__all__
        if inspect.isclass(kind := getattr(module, name))
        and hasattr(kind, "transform")
        and hasattr(kind(), "transform")
    }
    assert found == {type(each).__name__ for each in TRANSFORMERS}


@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("given", ["pandas", "polars", "numpy"])
def test_tables_out(transformer, given):
    polars = pytest.importorskip("polars")
    X = {"pandas": TABLE, "polars": polars.DataFrame(dict(TABLE)), "numpy": TABLE.to_numpy()}[given]
    plain = clone(transformer).fit(X)
    values, names = plain.transform(X), list(plain.get_feature_names_out())
    assert isinstance(values, np.ndarray)
    assert values.shape == (20, len(names))
    for library, kind in (("pandas", pd.DataFrame), ("polars", polars.DataFrame)):
        found = clone(transformer).set_output(transform=library).fit(X).transform(X)
        assert isinstance(found, kind)
        assert list(found.columns) == names
        np.testing.assert_allclose(found.to_numpy(), values, rtol=1e-9, atol=1e-12)
        if library == given == "pandas":
            assert found.index.equals(TABLE.index)
