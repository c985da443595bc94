"""Who listens hears of factorisations; who does not, does not."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer.linalg import Dense, eigh, heard_by, pivoted_cholesky, solve

MATRIX = Dense(np.eye(120) + 0.1)


def test_what_is_heard():
    heard = []
    with heard_by(heard.append):
        eigh(MATRIX)
        solve(MATRIX, 1.0, np.ones((120, 1)))
        pivoted_cholesky(MATRIX, 1e-3, max_rank=30)
        Gaussian(1.0).gram(np.ones((5, 1))).to_dense()
    names = ["eigendecomposition", "Cholesky factorisation", "pivoted Cholesky factorisation", "kernel matrix"]
    assert [work.what for work in heard] == names
    assert [work.rows for work in heard] == [120, 120, 120, 5]
    assert [work.bound for work in heard] == [False, False, True, False]
    assert heard[2].size == 8 * 120 * 30
    assert heard[0].operations > heard[1].operations > 0


def test_listening_ends_and_is_of_one_thread():
    heard = []
    with pytest.raises(ValueError, match="enough"), heard_by(heard.append):  # noqa: PT012
        thread = threading.Thread(target=eigh, args=(MATRIX,))
        thread.start()
        thread.join()
        with heard_by(None):
            eigh(MATRIX)
        raise ValueError("enough")
    eigh(MATRIX)
    assert heard == []
