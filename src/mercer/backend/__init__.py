"""The arrays at hand decide: namespace, device, dtype, and the few factorisations the array API lacks."""

from mercer.backend.arrays import (
    as_like,
    clip,
    device,
    is_numpy,
    machine_epsilon,
    namespace,
    require_numpy,
    to_numpy,
)
from mercer.backend.factorisations import cholesky_solve, eigh

__all__ = [
    "as_like",
    "cholesky_solve",
    "clip",
    "to_numpy",
    "device",
    "eigh",
    "is_numpy",
    "machine_epsilon",
    "namespace",
    "require_numpy",
]
