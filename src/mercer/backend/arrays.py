"""Which array library is at hand, and moving small things into it."""

from __future__ import annotations

from typing import Any

import array_api_compat as compat
import array_api_compat.numpy as numpy_namespace
import numpy as np

from mercer.exceptions import UnsupportedError

__all__ = [
    "as_like",
    "clip",
    "to_numpy",
    "device",
    "holds",
    "is_numpy",
    "is_traced",
    "machine_epsilon",
    "namespace",
    "require_numpy",
]

Array = Any


def namespace(*arrays: Array) -> Any:
    """Return the array-API namespace of the arrays; Python scalars and None are passed over.

    Examples
    --------
    >>> import numpy as np
    >>> namespace(np.zeros(2), None, 1.0).__name__
    'array_api_compat.numpy'
    """
    if all(type(array) is np.ndarray for array in arrays) and arrays:  # so often that it should cost nothing
        return numpy_namespace
    return compat.array_namespace(*arrays)


def is_numpy(*arrays: Array) -> bool:
    """Say whether all arrays are NumPy arrays, for which LAPACK and SciPy are at hand."""
    return all(type(array) is np.ndarray or compat.is_numpy_array(array) for array in arrays if array is not None)


def require_numpy(owner: object, remedy: str, *arrays: Array) -> None:
    """Refuse arrays of another library, saying what works on them."""
    for array in arrays:
        if array is not None and not compat.is_numpy_array(array):
            name = owner if isinstance(owner, str) else type(owner).__name__
            raise UnsupportedError(
                f"{name} works on NumPy arrays only; got {type(array).__module__}.{type(array).__name__}. {remedy}"
            )


def as_like(values: Any, like: Array) -> Array:
    """Return ``values`` as an array of the library, device and floating dtype of ``like``.

    Where ``like`` holds integers or booleans it is the default floating dtype, so that no value is truncated.
    """
    if (
        type(like) is np.ndarray
        and type(values) is np.ndarray
        and values.dtype == like.dtype
        and like.dtype.kind == "f"
    ):
        return values
    xp = namespace(like)
    dtype = like.dtype if xp.isdtype(like.dtype, ("real floating", "complex floating")) else xp.asarray(0.0).dtype
    if compat.is_array_api_obj(values) and namespace(values) is xp:
        return xp.astype(values, dtype, copy=False)
    return xp.asarray(to_numpy(values), dtype=dtype, device=device(like))


def to_numpy(array: Any) -> np.ndarray:
    """Return the values as a NumPy array (no copy where they are one)."""
    if compat.is_numpy_array(array):
        return array
    if compat.is_torch_array(array):
        return array.detach().cpu().numpy()
    if compat.is_cupy_array(array):
        return array.get()
    if compat.is_array_api_obj(array):
        return np.from_dlpack(array) if hasattr(array, "__dlpack__") else np.asarray(array)
    return np.asarray(array)


def device(array: Array) -> Any:
    """Return the device on which the array lives, as its library names it."""
    return compat.device(array)


def is_traced(array: Array) -> bool:
    """Say whether this stands for values that are not there yet: within ``jax.jit``, arrays have no device."""
    return compat.is_jax_array(array) and device(array) is None


def holds(condition: Any, unknown: bool = True) -> bool:
    """Return whether a condition on values holds, and ``unknown`` where they are not there yet (see `is_traced`).

    Examples
    --------
    >>> import numpy as np
    >>> holds(np.all(np.isfinite([1.0, np.inf])))
    False
    """
    return unknown if is_traced(condition) else bool(condition)


def clip(values: Array, low: Any, high: Any) -> Array:
    """Clip with bounds that may be scalars or broadcastable arrays."""
    xp = namespace(values)
    if is_numpy(values):
        return np.clip(values, low, high)
    return xp.minimum(xp.maximum(values, low), high)


def machine_epsilon(array: Array) -> float:
    """Return the spacing of floating point numbers at 1 for the dtype of ``array``."""
    return float(namespace(array).finfo(array.dtype).eps)
