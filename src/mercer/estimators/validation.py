"""Where data enter: NumPy-like input through scikit-learn, arrays of other libraries kept in theirs.

Fits are computed in double precision: the representer coefficients of a small λ cancel to far more digits than
single precision has, and so does a duality gap of 1e-3.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import array_api_compat as compat
import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_array, check_X_y, column_or_1d, validate_data

from mercer.backend import as_like, device, holds, is_traced, namespace, to_numpy
from mercer.estimators.tables import encode_inputs, encode_training
from mercer.exceptions import DataError, MercerError, ParameterTypeError
from mercer.features import FeatureMap
from mercer.magnitudes import WIDEST, check_magnitude

__all__ = [
    "TrainingRows",
    "as_array",
    "as_points",
    "check_gram",
    "check_range",
    "first_of_equals",
    "float_array",
    "is_foreign",
    "merge_duplicates",
    "own_errors",
    "read_weight",
    "refuse_words",
    "take_columns",
    "take_rows",
    "validate_inputs",
    "validate_labels",
    "validate_rows",
    "validate_training",
    "validate_weight",
]


#: what to do with text and missing cells
TABLES = (
    "Data frames may have columns of text and missing cells: fit encodes them. For arrays, and where cells are missing "
    "in new rows only, fit make_pipeline(TableEncoder(), estimator), with TableEncoder of mercer.preprocessing."
)

#: what to do with curves that have holes
CURVES = "Rows that are curves may have holes: pass [(t, row) for row in X], with the grid t of the columns."


@contextmanager
def own_errors(what: str) -> Iterator[None]:
    """Let what scikit-learn refuses be a MercerError, too; its messages stay as its users know them.

    It looks for infinities in sums, which overflow where numbers are huge: that is no cause for a warning.
    """
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            yield
    except MercerError:
        raise
    except TypeError as error:
        raise ParameterTypeError(str(error)) from error
    except OverflowError as error:
        raise DataError(f"{what} must hold numbers that a float can: {error}.") from error
    except ValueError as error:
        message = str(error)
        if "could not convert" in message:
            raise DataError(f"{what} must hold numbers: {message}. {TABLES}") from error
        if "Input X contains NaN" in message:
            raise DataError(f"Input X contains NaN. {TABLES} {CURVES}") from error
        raise DataError(message) from error


def is_foreign(array: Any) -> bool:
    """Say whether this is an array of another library: torch's tensors are, which have no ``__array_namespace__``."""
    return compat.is_array_api_obj(array) and not compat.is_numpy_array(array)


class TrainingRows(NamedTuple):
    """Rows of positive weight, checked: X (n, d), y (n,), the weights (n,) or None.

    ``columns`` are those of a Gram matrix that belong to these rows, None where all do.
    """

    X: Any
    y: Any
    weight: Any
    columns: np.ndarray | None


def validate_training(estimator: Any, X: Any, y: Any, sample_weight: Any) -> TrainingRows:
    """Return the rows to train on; those of weight 0 are dropped.

    scikit-learn sets ``n_features_in_`` (and ``feature_names_in_`` for data frames); ``encoder_`` is what data frames
    that are not all numbers were encoded by, None for others.
    """
    encoder = None
    if is_foreign(X):
        X = _check_foreign(estimator, X, reset=True)
        if y is None:
            raise DataError(f"{type(estimator).__name__} requires y to be passed, but the target y is None.")
        y = as_like(y, X)
        if y.ndim != 1 or y.shape[0] != X.shape[0]:
            raise DataError(f"y must have shape ({X.shape[0]},); got {tuple(y.shape)}.")
        if not bool(namespace(y).all(namespace(y).isfinite(y))):
            raise DataError("Input y contains NaN or infinity.")
    else:
        y = to_numpy(y) if is_foreign(y) else y
        with own_errors("X and y"):
            refuse_words(estimator, y)
            encoded, encoder = encode_training(estimator, X, sample_weight)
            if encoded is None:
                X, y = validate_data(estimator, X, y, dtype=np.float64, y_numeric=True, multi_output=True)
            else:
                X, y = check_X_y(encoded, y, dtype=np.float64, y_numeric=True, multi_output=True, estimator=estimator)
            y = column_or_1d(y, warn=True).astype(X.dtype, copy=False)
    estimator.encoder_ = encoder
    _check_inputs(estimator, X)
    check_magnitude(estimator, "y", y)
    keep, weight, columns = _positive_rows(estimator, X, sample_weight)
    if keep is None:
        return TrainingRows(X, y, weight, columns)
    X, y = take_rows(X, keep), take_rows(y, keep)
    return TrainingRows(X if columns is None else take_columns(X, columns), y, take_rows(weight, keep), columns)


def refuse_words(estimator: Any, y: Any) -> None:
    """Refuse targets that are words, for which the remedies of inputs are none."""
    words = np.asarray(y) if isinstance(y, (list, tuple, np.ndarray)) or hasattr(y, "to_numpy") else np.empty(0)
    if words.dtype.kind not in "OUS":
        return
    for word in words.ravel():
        try:
            float(word)
        except (TypeError, ValueError):
            if isinstance(word, (str, bytes)):
                raise DataError(
                    f"{type(estimator).__name__}: y must hold numbers; got {word!r}. For classes there are "
                    "CostSensitiveClassifier and SimplexClassifier, for other objects InputOutputKernelRegressor."
                ) from None


def validate_rows(estimator: Any, X: Any, sample_weight: Any) -> tuple[Any, np.ndarray | None, Any, np.ndarray | None]:
    """Return X (n, d), which rows have positive weight (None: all) and the weights (n,) or None, for any targets.

    Last come the columns of a Gram matrix that belong to those rows (None: all). ``n_features_in_``,
    ``feature_names_in_`` and ``encoder_`` are set as by :func:`validate_training`.
    """
    encoder = None
    if is_foreign(X):
        X = _check_foreign(estimator, X, reset=True)
    else:
        with own_errors("X"):
            encoded, encoder = encode_training(estimator, X, sample_weight)
            X = validate_data(estimator, X, dtype=np.float64) if encoded is None else encoded
    estimator.encoder_ = encoder
    _check_inputs(estimator, X)
    return X, *_positive_rows(estimator, X, sample_weight)


def _check_inputs(estimator: Any, X: Any) -> None:
    check_magnitude(estimator, "X", X, spread=not estimator.__sklearn_tags__().input_tags.pairwise)


def _positive_rows(estimator: Any, X: Any, sample_weight: Any) -> tuple[np.ndarray | None, Any, np.ndarray | None]:
    """Return which rows have positive weight (None: all), the weights, and the columns of a Gram matrix (None: all)."""
    if sample_weight is None:
        _check_features(estimator, X.shape[0])
        return None, None, None
    weight = validate_weight(sample_weight, to_numpy(X))
    keep = weight > 0
    _check_features(estimator, int(np.count_nonzero(keep)))
    if np.all(keep):
        return None, as_like(weight, X), None
    pairwise = estimator.__sklearn_tags__().input_tags.pairwise
    return keep, as_like(weight, X), np.flatnonzero(keep) if pairwise else None


def _check_features(estimator: Any, n_rows: int) -> None:
    """Refuse features that ask for more rows than there are, before equal ones are merged."""
    approximation = getattr(estimator, "approximation", None)
    if isinstance(approximation, FeatureMap):
        approximation.check_rows(n_rows)


def validate_weight(sample_weight: Any, X: np.ndarray) -> np.ndarray:
    """Return the weights of the rows of X, shape (n,): non-negative, the largest about 1; a number is one for all.

    As only ratios of weights matter, they are divided by a power of two, which is exact.
    """
    weight = read_weight(sample_weight, X)
    with np.errstate(under="ignore"):  # what underflows is refused
        scaled = np.ldexp(weight, -np.frexp(weight.max())[1])
    if np.any((weight > 0) & (scaled * WIDEST < scaled.max())):
        raise DataError(
            f"sample_weight must not span more than {WIDEST:g}; got weights from {weight[weight > 0].min():g} to "
            f"{weight.max():g}. Use 0 for a row that should not count."
        )
    return scaled


def read_weight(sample_weight: Any, X: np.ndarray) -> np.ndarray:
    """Return the weights of the rows of X as they are, shape (n,): non-negative and not all 0."""
    number = sample_weight is None or isinstance(sample_weight, numbers.Number)
    with own_errors("sample_weight"):
        weight = _check_sample_weight(sample_weight if number else to_numpy(sample_weight), X, dtype=np.float64)
    if np.any(weight < 0) or not np.any(weight > 0):
        raise DataError(
            f"sample_weight must be non-negative and not all zero; got weights from {weight.min():g} to "
            f"{weight.max():g}. Use 0 for a row that should not count."
        )
    return weight


def validate_labels(estimator: Any, y: Any) -> np.ndarray:
    """Return class labels of any kind (numbers, strings, booleans) as a NumPy array of shape (n,)."""
    if y is None:
        raise DataError(f"{type(estimator).__name__} requires y to be passed, but the target y is None.")
    y = to_numpy(y) if is_foreign(y) else y
    with own_errors("y"):
        y = column_or_1d(check_array(y, ensure_2d=False, dtype=None, input_name="y"), warn=True)
        check_classification_targets(y)
    return y


def check_gram(owner: object, X: Any) -> None:
    """Refuse a square Gram matrix that is not symmetric or has clearly negative eigenvalues."""
    matrix = to_numpy(X)
    if matrix.shape[0] != matrix.shape[1]:
        raise DataError(
            f"{type(owner).__name__}: with kernel='precomputed' X must be a square Gram matrix; got {matrix.shape}."
        )
    slack = max(100 * len(matrix) * np.finfo(matrix.dtype).eps, 1e-9) * np.linalg.norm(matrix)
    if np.max(np.abs(matrix - matrix.T)) > slack:
        raise DataError(
            f"{type(owner).__name__}: with kernel='precomputed' X must be a symmetric positive semi-definite matrix; "
            "it is not symmetric."
        )
    try:
        np.linalg.cholesky((matrix + matrix.T) / 2 + max(slack, np.finfo(float).tiny) * np.eye(len(matrix)))
    except np.linalg.LinAlgError as error:
        raise DataError(
            f"{type(owner).__name__}: with kernel='precomputed' X must be a symmetric positive semi-definite matrix; "
            "it has negative eigenvalues. Shift or clip its spectrum first."
        ) from error


def validate_inputs(estimator: Any, X: Any, fitted: Any, columns: np.ndarray | None, method: str = "predict") -> Any:
    """Return X for prediction by ``method``, of the library and device of ``fitted``; some columns of a Gram matrix.

    Where X is traced (``jax.jit``, ``jax.grad``), its values are taken on trust.
    """
    if is_foreign(X) != is_foreign(fitted) or (
        is_foreign(X) and (namespace(X) is not namespace(fitted) or not (is_traced(X) or device(X) == device(fitted)))
    ):
        raise DataError(
            f"Inputs passed to {type(estimator).__name__}.{method}() must use the same namespace and the same "
            f"device as those passed to fit(); got {type(X).__module__}, fitted on {type(fitted).__module__}."
        )
    if is_foreign(X):
        X = _check_foreign(estimator, X, reset=False)
    else:
        with own_errors("X"):
            encoded = encode_inputs(estimator, X)
            X = validate_data(estimator, X, reset=False, dtype=np.float64) if encoded is None else encoded
    if not is_traced(X):
        check_magnitude(estimator, "X", X, spread=False)
    return X if columns is None else take_columns(X, columns)


def _check_foreign(estimator: Any, X: Any, *, reset: bool) -> Any:
    xp = namespace(X)
    if X.ndim != 2:
        raise DataError(f"Expected 2D array, got {X.ndim}D array instead. Reshape X to (n_samples, n_features).")
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise DataError(f"Found array with shape {tuple(X.shape)} while a minimum of 1 is required.")
    if X.dtype != xp.float64:  # a library or device without float64 keeps what it has
        X = xp.astype(X, xp.float64)
    if not holds(xp.all(xp.isfinite(X))):
        raise DataError("Input X contains NaN or infinity.")
    if reset:
        estimator.n_features_in_ = int(X.shape[1])
    elif X.shape[1] != estimator.n_features_in_:
        raise DataError(
            f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    return X


def merge_duplicates(X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Return the distinct rows (x, y) with summed weights: the same objective, and nothing tuned on copies.

    A row of weight 2 and the row twice then give the same fit, chosen λ included. The order of first appearance
    is kept; without duplicates everything is returned as it came.
    """
    keep, summed = first_of_equals(X, lambda: to_numpy(y).reshape(X.shape[0], -1), weight)
    return (X, y, weight) if keep is None else (take_rows(X, keep), take_rows(y, keep), summed)


def first_of_equals(X: Any, keys: Callable[[], np.ndarray], weight: Any) -> tuple[np.ndarray | None, Any]:
    """Return the first rows of those with equal inputs and equal keys, (n, k), and summed weights.

    None stands for all rows, with the weights as they came; keys are looked at only where inputs are repeated.
    """
    inputs = to_numpy(X)
    if _distinct(inputs):
        return None, weight
    places: dict[bytes, int] = {}
    group = np.array(
        [places.setdefault(pair.tobytes(), len(places)) for pair in np.column_stack([inputs, keys()]) + 0.0]
    )
    if len(places) == len(group):
        return None, weight
    first = np.unique(group, return_index=True)[1]  # groups are numbered as they appear
    counts = np.bincount(group, weights=None if weight is None else to_numpy(weight))
    return first, as_like(counts.astype(float), X)


def _distinct(rows: np.ndarray) -> bool:
    """Say whether no two rows are equal; most often the first column tells."""
    if rows.shape[1] and len(np.unique(rows[:, 0])) == len(rows):
        return True
    return rows.shape[1] > 1 and len({row.tobytes() for row in rows + 0.0}) == len(rows)  # 0.0 for -0.0


def as_points(name: str, points: Any, what: str = "points") -> np.ndarray:
    """Return points of Θ as a finite float array of shape (k, d)."""
    array = float_array(name, as_array(points), what)
    array = array[:, None] if array.ndim == 1 else np.atleast_2d(array)
    if array.ndim != 2 or array.size == 0 or not np.all(np.isfinite(array)):
        raise DataError(f"{name}: {what} must be finite numbers of shape (k,) or (k, d); got shape {array.shape}.")
    return array


def check_range(name: str, points: np.ndarray, known: np.ndarray, extrapolate: bool) -> np.ndarray:
    """Return points of Θ, (k, d), that have as many coordinates as known ones, and lie among them or may not."""
    if points.shape[1] != known.shape[1]:
        raise DataError(
            f"{name}: points must have {known.shape[1]} coordinates as those of the fit; got {points.shape[1]}."
        )
    low, high = known.min(axis=0), known.max(axis=0)
    slack = 1e-9 * (high - low)
    if not extrapolate and (np.any(points < low - slack) or np.any(points > high + slack)):
        raise DataError(
            f"{name}: points must lie in the range of what was observed, from {low.tolist()} to {high.tolist()}. Pass "
            "extrapolate=True to ask for more."
        )
    return points


def as_array(values: Any) -> Any:
    """Return arrays of other libraries as NumPy's; anything else as it is."""
    return to_numpy(values) if compat.is_array_api_obj(values) else values


def float_array(name: str, values: Any, what: str = "Y") -> np.ndarray:
    """Return real numbers as an array of floats, or say that they are none."""
    try:
        array = np.asarray(values)
        if array.dtype.kind == "c":
            raise DataError(f"{name}: Complex data not supported in {what}.")
        return array.astype(float, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{name}: {what} must hold numbers: {str(error).rstrip('.')}.") from error


def take_rows(array: Any, rows: np.ndarray) -> Any:
    """Return some rows, by mask or by index, in any array library."""
    if compat.is_numpy_array(array):
        return array[rows]
    return _take(array, rows, axis=0)


def take_columns(array: Any, columns: np.ndarray) -> Any:
    """Return some columns, by mask or by index, in any array library."""
    return array[:, columns] if compat.is_numpy_array(array) else _take(array, columns, axis=1)


def _take(array: Any, which: np.ndarray, axis: int) -> Any:
    index = np.flatnonzero(which) if which.dtype == bool else which
    xp = namespace(array)
    return xp.take(array, xp.asarray(index, device=device(array)), axis=axis)
