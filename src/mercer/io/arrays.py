"""Arrays as members of a file: NumPy's own format, read without evaluating its header."""

from __future__ import annotations

import io
import math
import re

import numpy as np

from mercer.exceptions import ModelFileError

__all__ = ["array_bytes", "is_numeric", "read_array"]

#: the first bytes of an array, with the version of the format; the length of the header follows in two bytes
MAGIC = b"\x93NUMPY\x01\x00"
#: what NumPy writes: kind and size of an entry, the order of the entries, the shape
HEADER = re.compile(
    rb"\{'descr': '([<>|][biufcSUMm]\d{1,8}(?:\[[a-zA-Z0-9]{1,8}\])?)', 'fortran_order': (True|False), "
    rb"'shape': \(((?:\d{1,18}, ?)*(?:\d{1,18})?)\), \} *\n"
)
#: kinds of entries: booleans, integers, floats, complex numbers, bytes, text, dates and durations
ENTRY_KINDS = "biufcSUMm"


def is_numeric(array: np.ndarray) -> bool:
    """Say whether the entries of an array are bytes of a fixed size that mean the same on every machine."""
    long = array.dtype.kind in "fc" and array.dtype.itemsize > (8 if array.dtype.kind == "f" else 16)
    return array.dtype.kind in ENTRY_KINDS and not long


def array_bytes(array: np.ndarray) -> bytes:
    """Return an array as a member of a file.

    Examples
    --------
    >>> read_array(array_bytes(np.eye(2)))
    array([[1., 0.],
           [0., 1.]])
    """
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asarray(array), version=(1, 0), allow_pickle=False)
    return stream.getvalue()


def read_array(data: bytes | bytearray) -> np.ndarray:
    """Return the array of :func:`array_bytes`; what is not exactly that is refused, and nothing is evaluated."""
    start = len(MAGIC) + 2
    if data[: len(MAGIC)] != MAGIC or len(data) < start:
        raise ModelFileError("an array does not begin as NumPy's arrays do.")
    end = start + int.from_bytes(data[len(MAGIC) : start], "little")
    found = HEADER.fullmatch(data[start:end])
    if found is None:
        raise ModelFileError("an array has a header that NumPy does not write.")
    kind, fortran, sizes = found.groups()
    try:
        dtype = np.dtype(kind.decode())
    except TypeError as error:
        raise ModelFileError(f"an array has entries of an unknown type, {kind.decode()!r}.") from error
    shape = tuple(int(size) for size in sizes.decode().replace(" ", "").split(",") if size)
    if len(shape) > 32 or dtype.itemsize * math.prod(shape) != len(data) - end:
        raise ModelFileError(f"an array of shape {shape} and type {dtype} does not take {len(data) - end} bytes.")
    if dtype.itemsize == 0:  # text of length 0: the shape costs nothing, and could be anything
        raise ModelFileError("an array has entries without a size.")
    # the copy is writable and aligned, as arrays that were computed are
    entries = np.frombuffer(data, dtype, offset=end).copy()
    return entries.reshape(shape, order="F" if fortran == b"True" else "C")
