"""Kernels on objects by name, and what else stands for one."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

from mercer.exceptions import parameter_error
from mercer.kernels.base import Kernel
from mercer.kernels.objects.adapters import ObjectFunction, OnVectors
from mercer.kernels.objects.base import ObjectKernel
from mercer.kernels.objects.counts import Intersection, Jaccard, Spectrum
from mercer.kernels.objects.fingerprints import Tanimoto, TanimotoGaussian
from mercer.kernels.objects.graphs import WeisfeilerLehman
from mercer.kernels.objects.labels import Agreement, Kendall
from mercer.kernels.objects.wrappers import Normalised
from mercer.kernels.registry import NAMES

__all__ = ["as_object_kernel"]

OBJECT_KERNELS: dict[str, Callable[[], ObjectKernel]] = {
    "tanimoto": Tanimoto,
    "tanimoto_gaussian": TanimotoGaussian,
    "intersection": Intersection,
    "jaccard": Jaccard,
    "agreement": Agreement,
    "kendall": Kendall,
    "spectrum": lambda: Normalised(Spectrum()),
    "weisfeiler_lehman": lambda: Normalised(WeisfeilerLehman()),
}


def as_object_kernel(value: Any, owner: object = "as_object_kernel", name: str = "kernel") -> ObjectKernel:
    """Return the kernel on objects that is meant: itself, one of vectors, a name, or a function of two lists.

    Examples
    --------
    >>> as_object_kernel("jaccard")
    Jaccard()
    >>> as_object_kernel("gaussian")
    OnVectors(kernel=Gaussian())
    """
    if isinstance(value, ObjectKernel):
        return value
    if isinstance(value, Kernel) and not value.pairwise:
        return OnVectors(value)
    known = [*OBJECT_KERNELS, *(key for key in NAMES if key not in ("precomputed", "identity"))]
    hint = ""
    if isinstance(value, str):
        if value in OBJECT_KERNELS:
            return OBJECT_KERNELS[value]()
        if value in known:
            return OnVectors(NAMES[value]())
        close = difflib.get_close_matches(value.lower(), known, n=1, cutoff=0.5)
        hint = f"Did you mean {close[0]!r}?" if close else ""
    elif isinstance(value, type):
        hint = f"Pass an instance: {value.__name__}()." if issubclass(value, (Kernel, ObjectKernel)) else ""
    elif callable(value) and not isinstance(value, Kernel):
        return ObjectFunction(value)
    allowed = f"an ObjectKernel, a Kernel, a function of two lists of objects or one of {', '.join(map(repr, known))}"
    raise parameter_error(owner, name, value, allowed, hint)
