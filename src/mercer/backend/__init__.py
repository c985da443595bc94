"""The arrays at hand decide: namespace, device, dtype, and the few factorisations the array API lacks."""

from mercer.backend.arrays import (
    as_like,
    clip,
    device,
    holds,
    is_numpy,
    is_traced,
    machine_epsilon,
    namespace,
    require_numpy,
    to_numpy,
)
from mercer.backend.factorisations import cholesky_solve, eigh, positive_inverse

__all__ = [
    "as_like",
    "cholesky_solve",
    "positive_inverse",
    "clip",
    "to_numpy",
    "device",
    "eigh",
    "holds",
    "is_numpy",
    "is_traced",
    "machine_epsilon",
    "namespace",
    "require_numpy",
]
