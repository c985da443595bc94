"""Features in place of a kernel: where they are asked for, and where the kernel itself would take too long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mercer._state import Stateful
from mercer.backend import is_numpy, to_numpy
from mercer.exceptions import UnsupportedError, parameter_error
from mercer.features import FeatureMap, Nystroem
from mercer.kernels import Kernel
from mercer.linalg import affordable_rank, eigenbasis_work, eigh_fits, memory_budget, positive_solver
from mercer.operator_valued import OperatorValuedKernel

__all__ = ["Approximation", "StandIn", "check_approximation", "stand_in"]

#: rows up to which "auto" has the kernel itself, whatever it costs
ALWAYS_EXACT_ROWS = 5000
#: multiplications that "auto" waits for: about a minute of one core
PATIENT_WORK = 2e12
#: part of the trace that the eigenbasis of a fit leaves out, for a guess of its size: of robust losses, and of the
#: square loss, which is solved to rounding
GUESSED_SHARE, ROUNDED_SHARE = 1e-6, 1e-14
#: landmarks that "auto" takes: so many that features of all rows are this many numbers, within bounds
FACTOR_NUMBERS, FEWEST_LANDMARKS, AUTOMATIC_LANDMARKS = 50_000_000, 500, 1500
#: rows of which a comparison with the exact kernel learns, and which it predicts
COMPARED_ROWS, PREDICTED_ROWS = 2000, 1000


@dataclass(frozen=True, eq=False)
class Approximation(Stateful):
    """Which features took the place of a kernel, and what that costs in accuracy.

    Parameters
    ----------
    features : FeatureMap
        The map.
    kernel : Kernel or MatrixValuedKernel
        What it made of the kernel: k̃(x, z) = φ(x)·φ(z), of which the fit is exact.
    n_features : int
        How many features there are.
    kernel_error : float
        Root mean square of k̃(x, z) − k(x, z) over that of k(x, z), over pairs of rows of a sample.
    lost_accuracy : float or None
        How much larger the squared error on new rows is than with k, relatively: of ridge regressions on 2 000 rows at
        most, with λ of the fit and of the kernel, on 1 000 others. None without targets.
    """

    features: FeatureMap
    kernel: Any
    n_features: int
    kernel_error: float
    lost_accuracy: float | None


def check_approximation(owner: Any) -> None:
    """Refuse an ``approximation`` that is no feature map, "auto" or None, and one of kernel values."""
    given = owner.approximation
    if given is None or (isinstance(given, str) and given == "auto"):
        return
    if not isinstance(given, FeatureMap):
        hint = "They are records of mercer.features."
        raise parameter_error(owner, "approximation", given, "'auto', None, Nystroem(300), RandomFourier(500)", hint)
    if owner.__sklearn_tags__().input_tags.pairwise:
        hint = "With a Gram matrix in place of X there are no points that features could be computed of."
        raise parameter_error(owner, "approximation", given, "'auto' or None with kernel='precomputed'", hint)


class StandIn(NamedTuple):
    """A kernel, what a fit has in its place, and the map that this comes from: None where it is the kernel itself."""

    exact: Any
    kernel: Any
    features: FeatureMap | None

    def compared(self, X: Any, Y: Any, alpha: float | None, own: float | None = None) -> Approximation | None:
        """Return what features cost in accuracy, from a sample of rows and targets; None without features."""
        if self.features is None:
            return None
        return compare(self.exact, self.kernel, self.features, X, Y, alpha, own)


def stand_in(
    owner: Any, kernel: Any, X: Any, streams: bool = False, share: float = GUESSED_SHARE, work: float | None = None
) -> StandIn:
    """Return the kernel, or the features that ``owner.approximation`` has in its place.

    "auto" takes features where an eigenbasis of the kernel matrix does not fit into the memory budget, or would take
    more than a minute: 500 to 1 500 landmarks, the more the fewer rows there are.

    Parameters
    ----------
    owner : estimator
        With ``approximation``.
    kernel : Kernel or OperatorValuedKernel
        With numbers for its parameters.
    X : array of shape (n, d)
        Rows.
    streams : bool, default=False
        Whether the fit can do without the features of all rows in memory.
    share : float, default=1e-6
        Part of the trace that the eigenbasis of a fit with the kernel itself would leave out.
    work : float, optional
        Multiplications that the fit with the kernel itself takes; those of an eigenbasis by default.
    """
    given = owner.approximation
    if isinstance(given, str):
        given = _affordable(kernel, X, streams, share, work)
    if given is None:
        return StandIn(kernel, kernel, None)
    made = given.limited(X.shape[0]).bind(kernel, X, 0)  # a fit counts equal rows once
    if not getattr(made, "explicit", False):
        raise UnsupportedError(
            f"{type(owner).__name__}: {given!r} has no features of {kernel!r} as a whole. Pass kernel={given!r}.bind("
            "kernel, X), which replaces the kernels inside, and approximation=None."
        )
    return StandIn(kernel, made, given)


def _affordable(kernel: Any, X: Any, streams: bool, share: float, work: float | None) -> FeatureMap | None:
    """Return features where the kernel itself is too expensive, else None."""
    n = X.shape[0]
    if (n <= ALWAYS_EXACT_ROWS and eigh_fits(n)) or not is_numpy(X):
        return None
    if isinstance(kernel, OperatorValuedKernel) or kernel.explicit or kernel.pairwise:
        return None
    if (eigenbasis_work(kernel.gram(X), share) if work is None else work) <= PATIENT_WORK:
        return None
    size = min(max(FEWEST_LANDMARKS, FACTOR_NUMBERS // n), AUTOMATIC_LANDMARKS, n)
    affordable = max(1, affordable_rank(n))
    if streams and affordable < FEWEST_LANDMARKS // 2:  # then some rows at a time
        return Nystroem(size, random_state=0)
    return Nystroem(min(size, affordable), random_state=0)


def compare(
    kernel: Any, features: Any, given: FeatureMap, X: Any, Y: Any, alpha: float | None, own: float | None = None
) -> Approximation:
    """Return what features cost in accuracy, from a sample of the rows.

    Parameters
    ----------
    kernel, features : Kernel or MatrixValuedKernel
        K, and K̃ that took its place.
    given : FeatureMap
        Where K̃ came from.
    X : array of shape (n, d)
        Rows.
    Y : array of shape (n, m) or None
        Targets.
    alpha : float or None
        λ of ridge regression.
    own : float, optional
        That of the features; ``alpha`` by default.
    """
    X, width = to_numpy(X), features.features(to_numpy(X[:1, :])).shape
    most = min(COMPARED_ROWS + PREDICTED_ROWS, int((memory_budget() / 64) ** 0.5))
    most = max(most // (width[1] if len(width) == 3 else 1), 2)
    rows = np.random.default_rng(0).permutation(len(X))[:most]
    cut = max(1, (2 * len(rows)) // 3)
    learn, new = rows[:cut], rows[cut:] if cut < len(rows) else rows
    cross = _matrix(kernel, X[new], X[learn])
    size = float(np.sqrt(np.mean(cross**2)))
    error = float(np.sqrt(np.mean((_matrix(features, X[new], X[learn]) - cross) ** 2))) / size if size > 0 else 0.0
    if Y is None or alpha is None:
        return Approximation(given, features, int(width[-1]), error, None)
    Y = to_numpy(Y).astype(float)
    Y = Y - Y[learn].mean(axis=0)
    errors = []
    for one, shrinkage in ((kernel, alpha), (features, alpha if own is None else own)):
        gram, across = _matrix(one, X[learn], X[learn]), _matrix(one, X[new], X[learn])
        targets = Y[learn].reshape(len(gram), -1)
        found = across @ _ridge(gram, targets, shrinkage * len(learn))
        errors.append(float(np.mean((Y[new].reshape(found.shape) - found) ** 2)))
    lost = errors[1] / errors[0] - 1 if errors[0] > 0 else 0.0
    return Approximation(given, features, int(width[-1]), error, lost)


def _matrix(kernel: Any, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Return the kernel matrix between rows; values that are matrices are blocks of it."""
    if isinstance(kernel, Kernel):
        return np.asarray(kernel(X.astype(float), Z.astype(float)))
    blocks = np.asarray(kernel.blocks(X.astype(float), Z.astype(float)))
    return blocks.transpose(0, 2, 1, 3).reshape(len(X) * blocks.shape[2], -1)


def _ridge(gram: np.ndarray, targets: np.ndarray, shift: float) -> np.ndarray:
    """Return (K + λn)⁻¹Y."""
    rounding = 8 * np.finfo(float).eps * float(np.trace(gram))
    gram[np.diag_indices_from(gram)] += max(shift, rounding)
    return positive_solver(gram, rounding)(targets)
