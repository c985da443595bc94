"""Fits on a Dask cluster of two processes are those in memory, whatever dies."""

import os
import pickle
import signal

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from mercer import (
    CostSensitiveClassifier,
    FunctionalRegressor,
    KernelQuantileRegressor,
    VectorValuedRegressor,
    load,
    save,
)
from mercer.exceptions import DataError, MercerError, RowsLostError, UnsupportedError
from mercer.features import Nystroem, RandomFourier
from mercer.kernels import Gaussian
from mercer.losses import Pinball
from mercer.measures import Measure, Points
from mercer.problems import FeatureProblem, LocalBlocks
from mercer.rows import ArrayRows
from mercer.solvers import NormalEquations, StreamedADMM, StreamedClosedForm

dask = pytest.importorskip("dask", reason="dask is an extra: pip install mercer[dask]")
distributed = pytest.importorskip("distributed", reason="distributed is an extra: pip install mercer[dask]")
da = pytest.importorskip("dask.array", reason="dask.array is part of the extra dask")

from mercer.interop import dask as on_dask  # noqa: E402

ONE = Measure(np.array([0.5]), np.ones(1))
#: of the memory of a worker, what Dask keeps there before it spills: 41 MiB
SHARE_IN_MEMORY = 0.04


@pytest.fixture(scope="module")
def cluster():
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "memory_limit": "1GiB"}
    spilling = {"distributed.worker.memory.target": SHARE_IN_MEMORY}
    with dask.config.set(spilling), distributed.LocalCluster(processes=True, **settings) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def client(cluster):
    with distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(600, 3))
    Y = np.column_stack([np.sin(3 * X[:, 0]), X[:, 1] * X[:, 2]]) + 0.2 * rng.normal(size=(600, 2))
    return X, Y, rng.uniform(0.5, 2.0, size=600)


def chunked(array, size=200):
    return da.from_array(array, chunks=(size, *array.shape[1:]))


def features():
    return Nystroem(20, random_state=0)


def close_in_loss(fitted, reference, loss):
    """Both are within their gaps of one minimum."""
    assert fitted.relative_gap_ <= fitted.tol
    bound = (fitted.dual_gap_ + reference.dual_gap_) * (1 + 1e-6)
    assert abs(fitted.objective_ - reference.objective_) <= bound, loss


# -- estimators -------------------------------------------------------------------------------------------------------


def test_square_loss_is_that_in_memory(client, data):
    X, Y, weight = data
    landmarks = Nystroem(60, random_state=0)
    settings = {"kernel": Gaussian(), "approximation": landmarks, "output_matrix": [[1.0, 0.3], [0.3, 1.0]]}
    fitted = on_dask.fit(VectorValuedRegressor(**settings), chunked(X), chunked(Y), chunked(weight))
    reference = VectorValuedRegressor(**settings).fit(X, Y, weight)
    assert fitted.alpha_ == reference.alpha_
    assert fitted.kernel_ == reference.kernel_
    for ours, theirs in zip(fitted.predict(X, return_std=True), reference.predict(X, return_std=True), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-10)
    np.testing.assert_allclose(fitted.objective_, reference.objective_, rtol=1e-10)
    np.testing.assert_allclose(fitted.noise_variance_, reference.noise_variance_, rtol=1e-8)
    assert isinstance(fitted.solver_, StreamedClosedForm)
    assert fitted.X_fit_ is None
    assert fitted.relative_gap_ < 1e-8


def test_quantiles_are_those_in_memory_to_the_gap_and_are_saved(client, data, tmp_path):
    X, Y, weight = data
    model = KernelQuantileRegressor(
        Gaussian(1.0), alpha=1e-2, approximation=features(), measure=Points([0.2, 0.8]), tol=1e-2
    )
    settings = model.get_params(deep=False)
    fitted = on_dask.fit(model, chunked(X, 300), chunked(Y[:, 0], 300), chunked(weight, 300))
    assert fitted is model
    assert fitted.get_params(deep=False) == settings
    reference = KernelQuantileRegressor(**settings).fit(X, Y[:, 0], weight)
    close_in_loss(fitted, reference, "pinball")
    expected = fitted.predict_quantile(X, [0.2, 0.5, 0.8])
    np.testing.assert_allclose(expected, reference.predict_quantile(X, [0.2, 0.5, 0.8]), atol=0.1)
    save(fitted, tmp_path / "model.mercer")
    np.testing.assert_array_equal(load(tmp_path / "model.mercer").predict_quantile(X, [0.2, 0.5, 0.8]), expected)
    lazy = on_dask.predict(fitted.predict_quantile, chunked(X, 250), [0.2, 0.5, 0.8])
    assert lazy.chunks == ((250, 250, 100), (3,))
    np.testing.assert_allclose(lazy.compute(), expected, rtol=0, atol=1e-12)
    assert on_dask.predict(fitted.predict, chunked(X, 250)).shape == (600,)


def test_robust_vectors_with_holes_are_those_in_memory_to_the_gap(client, data):
    X, Y, _ = data
    Y = np.where(np.arange(1200).reshape(600, 2) % 7 == 0, np.nan, Y)
    settings = {"kernel": Gaussian(1.0), "alpha": 1e-3, "approximation": features(), "loss": "huber", "tol": 1e-3}
    fitted = on_dask.fit(VectorValuedRegressor(**settings), chunked(X, 300), chunked(Y, 300))
    reference = VectorValuedRegressor(**settings).fit(X, Y)
    assert fitted.loss_ == reference.loss_
    close_in_loss(fitted, reference, "huber")


def test_costs_of_parquet_files_with_text(client, data, tmp_path):
    pandas = pytest.importorskip("pandas")
    frames = pytest.importorskip("dask.dataframe")
    X, Y, _ = data
    rng = np.random.default_rng(1)
    table = pandas.DataFrame(X, columns=list("abc")).assign(kind=rng.choice(["hot", "cold"], size=600))
    labels = np.where(Y[:, 0] + (table.kind == "hot") > 0.5, "yes", "no")
    pytest.importorskip("pyarrow")
    for k in range(3):  # of small files Dask would read several at once, as many as a column is small
        table.assign(label=labels)[k * 200 : (k + 1) * 200].to_parquet(tmp_path / f"{k}.parquet")
    rows = frames.read_parquet(tmp_path)
    settings = {"kernel": Gaussian(), "approximation": features(), "measure": Points([0.3, 0.7]), "tol": 1e-2}
    fitted = on_dask.fit(CostSensitiveClassifier(**settings), rows[[*"abc", "kind"]], rows["label"])
    reference = CostSensitiveClassifier(**settings).fit(table, labels)
    close_in_loss(fitted, reference, "hinge")
    assert fitted.score(table, labels) > 0.85
    lazy = on_dask.predict(fitted.predict, rows[[*"abc", "kind"]])
    np.testing.assert_array_equal(lazy.compute(), fitted.predict(table))


# -- blocks -----------------------------------------------------------------------------------------------------------


def test_normal_equations_and_what_a_chunk_may_be(client, data):
    """Chunks of unknown sizes, empty ones, and columns in several chunks change nothing."""
    X, Y, weight = data
    kernel = RandomFourier(15, random_state=0).bind(Gaussian(1.0), X)
    measure = Measure(np.arange(2.0), np.ones(2))
    expected = NormalEquations(kernel, measure).read(ArrayRows(X, Y, weight)).solve([1e-3]).fit(1e-3)
    kept = chunked(X[:, 0] > -2) & (da.arange(600, chunks=200) != 600)
    both = da.hstack([chunked(X), chunked(Y), chunked(weight[:, None])])
    nothing = da.where(da.arange(900, chunks=100) < 600, True, False)
    padded = da.concatenate([both, da.zeros((300, 6), chunks=(100, 6))]).rechunk((100, 2))
    for table, mask in ((both, kept), (padded, nothing)):
        some = table[mask]
        assert np.isnan(some.shape[0])
        rows = on_dask.DaskRows(some[:, :3], some[:, 3:5], some[:, 5])
        assert rows.n_rows == 600
        assert sum(batch.n_rows for batch in rows) == 600
        found = NormalEquations(kernel, measure).read(on_dask.DaskBlocks(kernel, rows)).solve([1e-3]).fit(1e-3)
        np.testing.assert_allclose(found.coef, expected.coef, rtol=0, atol=1e-10)
        np.testing.assert_allclose(found.intercept, expected.intercept, rtol=0, atol=1e-10)


def spilled(dask_worker):
    """Numbers of values that a worker has on disk."""
    return len(dask_worker.data.slow)


def test_chunks_that_exceed_the_memory_of_workers_are_spilled(client):
    client.wait_for_workers(2)
    shape, chunks = (200_000, 60), (20_000, 60)  # 92 MiB, where both workers together keep 82
    X = da.random.default_rng(0).uniform(-1, 1, size=shape, chunks=chunks)
    y = X[:, :2].sum(axis=1)
    kernel = RandomFourier(4, random_state=0).bind(Gaussian(0.01), np.zeros((1, 60)))
    rows = on_dask.DaskRows(X, y)
    found = NormalEquations(kernel, ONE).read(on_dask.DaskBlocks(kernel, rows)).solve([1e-3]).fit(1e-3)
    assert sum(client.run(spilled).values()) > 0
    whole = X.compute()
    expected = NormalEquations(kernel, ONE).update((whole, whole[:, :2].sum(axis=1))).solve([1e-3]).fit(1e-3)
    np.testing.assert_allclose(found.coef, expected.coef, rtol=0, atol=1e-10)


def test_a_partition_without_rows_changes_nothing(client, data):
    pandas = pytest.importorskip("pandas")
    frames = pytest.importorskip("dask.dataframe")
    X, Y, _ = data
    table = pandas.DataFrame(X, columns=list("abc")).assign(y=Y[:, 0], part=np.repeat(range(3), 200))
    rows = frames.from_pandas(table, npartitions=3)
    rows = rows[rows["part"] != 1]
    settings = {"kernel": Gaussian(1.0), "alpha": 1e-3, "approximation": features()}
    fitted = on_dask.fit(VectorValuedRegressor(**settings), rows[[*"abc"]], rows["y"])
    kept = table[table.part != 1]
    reference = VectorValuedRegressor(**settings).fit(kept[[*"abc"]], kept.y)
    np.testing.assert_allclose(fitted.predict(table[[*"abc"]]), reference.predict(table[[*"abc"]]), atol=1e-9)


def test_workers_serve_searches(client, data):
    joblib = pytest.importorskip("joblib")
    X, Y, _ = data
    model = VectorValuedRegressor(Gaussian(1.0), approximation=features())
    search = GridSearchCV(model, {"alpha": [1e-4, 1e-2, 1.0]}, cv=3)
    alone = clone(search).fit(X, Y)
    with joblib.parallel_config("dask", client=client):
        found = search.fit(X, Y)
    assert found.best_params_ == alone.best_params_
    np.testing.assert_allclose(found.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"], rtol=1e-12)


def problem_of(blocks, fit_intercept=True):
    return FeatureProblem(blocks, Pinball(), ONE, 1e-2, None, fit_intercept)


def test_a_worker_killed_in_mid_fit_changes_nothing(client, data):
    X, Y, _ = data
    kernel = RandomFourier(15, random_state=0).bind(Gaussian(1.0), X)
    client.wait_for_workers(2)
    solver = StreamedADMM(tol=3e-3)

    def kill(n_iter, certificate):
        if not killed:
            address, process = min(client.run(os.getpid).items())
            killed.update(address=address, step=n_iter)
            os.kill(process, signal.SIGKILL)

    local = solver.solve(problem_of(LocalBlocks(kernel, ArrayRows(X, Y[:, 0]))))
    results, killed = [], {}
    for callback in (None, kill):
        blocks = on_dask.DaskBlocks(kernel, on_dask.DaskRows(chunked(X), chunked(Y[:, 0])))
        results.append(solver.solve(problem_of(blocks), callback=callback))
    quiet, disturbed = results
    assert killed["address"] not in client.nthreads()  # its rows and states were worked out again
    client.wait_for_workers(2)
    assert disturbed.n_iter == quiet.n_iter > killed["step"]
    np.testing.assert_array_equal(disturbed.coef, quiet.coef)
    np.testing.assert_array_equal(disturbed.intercept, quiet.intercept)
    assert disturbed.relative_gap == quiet.relative_gap <= 3e-3
    np.testing.assert_allclose(quiet.coef, local.coef, atol=1e-8)


def test_what_is_exchanged_in_a_step_does_not_grow_with_the_rows(client, data):
    sizes = []
    for n in (150, 600):
        X, y = data[0][:n], data[1][:n, 0]
        kernel = RandomFourier(15, random_state=0).bind(Gaussian(1.0), X)
        blocks = on_dask.DaskBlocks(kernel, on_dask.DaskRows(chunked(X, n // 2), chunked(y, n // 2)))
        sent = []

        class Counted(on_dask.DaskBlocks):
            def map(self, work, states=None, features=True):
                states, sums = super().map(work, states, features)
                sent.append(len(pickle.dumps(work)) + len(pickle.dumps(sums)))  # noqa: B023
                return states, sums

        blocks.__class__ = Counted
        StreamedADMM(tol=0.5, max_iter=1).solve(problem_of(blocks, False))
        sizes.append(max(sent))
    assert abs(sizes[1] - sizes[0]) < 100


# -- bad input --------------------------------------------------------------------------------------------------------


def test_a_client_that_is_gone(cluster, client, data):
    X, Y, _ = data
    kernel = RandomFourier(15, random_state=0).bind(Gaussian(1.0), X)
    other = distributed.Client(cluster, set_as_default=False)
    blocks = on_dask.DaskBlocks(kernel, on_dask.DaskRows(chunked(X), chunked(Y[:, 0]), client=other))
    problem = problem_of(blocks)
    gaps = []

    def close(n_iter, certificate):
        gaps.append(certificate.relative_gap)
        other.close()

    with pytest.warns(UserWarning, match="best model so far is kept"):
        result = StreamedADMM(tol=1e-6).solve(problem, callback=close)
    assert result.status == "stopped"
    assert result.relative_gap == gaps[0]
    assert np.any(result.coef)
    with pytest.raises(RowsLostError, match="cannot be reached"):
        problem_of(blocks)
    with pytest.raises(RowsLostError, match="client of Dask is closed"):
        on_dask.DaskRows(chunked(X), chunked(Y), client=other)


def test_bad_collections_are_refused(client, data):
    X, Y, _ = data
    with pytest.raises(MercerError, match="X must be a dask array"):
        on_dask.DaskRows(X, Y)
    with pytest.raises(MercerError, match=r"client must be a distributed\.Client"):
        on_dask.DaskRows(chunked(X), chunked(Y), client="here")
    with pytest.raises(DataError, match="X has 600 rows and Y has 500"):
        on_dask.DaskRows(chunked(X), chunked(Y[:500]))
    unknown = chunked(X)[chunked(X[:, 0]) > 0]
    with pytest.raises(DataError, match=r"numbers differ: X 3, Y 6.*compute_chunk_sizes"):
        on_dask.DaskRows(unknown, chunked(Y, 100))
    with pytest.raises(DataError, match=r"chunk \d has parts of different numbers of rows"):
        on_dask.DaskRows(unknown, chunked(Y))
    with pytest.raises(DataError, match="none of the 3 chunks has a row"):
        on_dask.DaskRows(chunked(X)[chunked(X[:, 0]) > 2], chunked(Y)[chunked(X[:, 0]) > 2])
    broken = X.copy()
    broken[250, 1] = np.nan
    kernel = RandomFourier(15, random_state=0).bind(Gaussian(1.0), X)
    with pytest.raises(DataError, match="chunk 1: X must be finite"):
        on_dask.DaskBlocks(kernel, on_dask.DaskRows(chunked(broken), chunked(Y)))


def test_what_cannot_be_fitted_is_refused_and_left_as_it_was(client, data):
    X, Y, _ = data
    with pytest.raises(UnsupportedError, match="FunctionalRegressor cannot be fitted to rows in blocks"):
        on_dask.fit(FunctionalRegressor(), chunked(X), chunked(Y))
    for settings in ({"approximation": None}, {"solver": "interior_point"}, {"metric": "variance"}):
        model = VectorValuedRegressor(Gaussian(1.0), **({"approximation": features()} | settings))
        with pytest.raises(MercerError, match=next(iter(settings))):
            on_dask.fit(model, chunked(X), chunked(Y))
    with pytest.raises(MercerError, match="noncrossing must be 'rearrange' or None"):
        on_dask.fit(KernelQuantileRegressor(noncrossing="guarantee"), chunked(X), chunked(Y[:, 0]))
    broken = Y[:, 0].copy()
    broken[301] = np.inf
    model = KernelQuantileRegressor(Gaussian(1.0), alpha=1e-2, approximation=features())
    with pytest.raises(DataError, match="chunk 1: Y must be finite"):
        on_dask.fit(model, chunked(X), chunked(broken), n_sample=100)
    assert not hasattr(model, "alpha_")
