"""Inputs and outputs of a regression of objects as they are given: what is read, kept and refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.estimators.candidates import count_objects
from mercer.estimators.object_space import ObjectSpace, given_space
from mercer.estimators.validation import (
    as_array,
    check_gram,
    float_array,
    is_foreign,
    take_columns,
    take_rows,
    validate_rows,
    validate_weight,
)
from mercer.exceptions import DataError, parameter_error
from mercer.kernels.objects import ObjectKernel, as_objects, take_objects

__all__ = ["check_same_number", "read_gram_outputs", "read_inputs", "read_object_outputs", "rows_to_fit"]


def read_inputs(owner: Any, X: Any, sample_weight: Any, of_objects: bool) -> tuple[Any, int, np.ndarray, Any]:
    """Return inputs and their number, the rows of positive weight and their weights."""
    name = type(owner).__name__
    if of_objects:
        X = as_objects(owner, X)
        n = count_objects(X)
        weight = None if sample_weight is None else validate_weight(sample_weight, np.zeros((n, 1)))
        keep = None if weight is None else weight > 0
    else:
        X, keep, weight, _ = validate_rows(owner, X, sample_weight)
        n = X.shape[0]
        if is_foreign(X):
            raise DataError(f"{name}: inputs must be NumPy's arrays; convert them.")
    kept = np.arange(n) if keep is None else np.flatnonzero(keep)
    if len(kept) < 2:
        raise DataError(f"{name}: n_samples = {len(kept)}; a regression needs two objects of positive weight.")
    return X, n, kept, weight if keep is None else take_rows(weight, keep)


def rows_to_fit(owner: Any, X: Any, keep: np.ndarray, pairwise: bool) -> Any:
    """Return the rows to keep as a fit takes them: arrays, or Gram matrices."""
    if isinstance(owner.kernel, ObjectKernel):
        gram = owner.kernel.adapt(X)(take_objects(X, keep))
        if not owner.kernel.definite:
            check_gram(owner, gram)
        return gram
    if pairwise:
        check_gram(owner, X)
        return take_columns(take_rows(X, keep), keep)
    return X if len(keep) == len(X) else take_rows(X, keep)


def read_gram_outputs(owner: Any, y: Any, n: int, keep: np.ndarray) -> ObjectSpace:
    """Return the space of outputs that are known by their Gram matrix."""
    gram = float_array(type(owner).__name__, as_array(_present(owner, y)), "Z")
    check_same_number(owner, count_objects(gram), n)
    if gram.shape != (n, n):
        raise DataError(
            f"{type(owner).__name__}: with output_kernel='precomputed' Z is the Gram matrix of the outputs, of shape "
            f"{(n, n)}; got {gram.shape}."
        )
    rank = owner.output_approximation
    if rank is not None and not isinstance(rank, (int, np.integer)):
        allowed = "a number of landmarks or None where outputs are a Gram matrix"
        raise parameter_error(owner, "output_approximation", rank, allowed)
    return given_space(take_columns(take_rows(gram, keep), keep), keep, n, None if rank is None else int(rank))


def read_object_outputs(owner: Any, y: Any, n: int | None = None) -> Any:
    """Return the outputs as a sequence, as long as the inputs where their number is known."""
    objects = as_objects(owner, _present(owner, y))
    if n is not None:
        check_same_number(owner, count_objects(objects), n)
    return objects


def _present(owner: Any, y: Any) -> Any:
    if y is None:
        raise DataError(f"{type(owner).__name__} requires y to be passed, but the target y is None.")
    return y


def check_same_number(owner: Any, count: int, n: int) -> None:
    """Refuse another number of outputs than of inputs."""
    if count != n:
        raise DataError(f"{type(owner).__name__}: X and Z have inconsistent numbers of samples, {n} and {count}.")
