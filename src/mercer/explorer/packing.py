"""Numbers and texts on their way into a page: small, finite, and nothing that a browser would take for markup."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

__all__ = ["embedded", "packed", "rounded"]

#: the largest code of a number, and the code of what is missing
LARGEST_CODE, MISSING = 65534, 65535
#: digits of numbers that stay decimal
DIGITS = 6
#: what may not stand in a script as it is
FORBIDDEN = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def packed(values: Any) -> dict[str, Any]:
    """Return an array as two bytes a number: steps of 1/65534 of its range, one more code for what is not finite.

    Examples
    --------
    >>> packed([[0.0, 1.0]])
    {'shape': [1, 2], 'low': 0.0, 'high': 1.0, 'codes': 'AAD+/w=='}
    """
    array = np.asarray(values, dtype=float)
    there = np.isfinite(array)
    low, high = (float(end(array[there])) for end in (np.min, np.max)) if there.any() else (0.0, 0.0)
    scale = LARGEST_CODE / (high - low) if high > low else 0.0
    codes = np.where(there, np.rint((np.where(there, array, low) - low) * scale), MISSING).astype("<u2")
    text = base64.b64encode(np.ascontiguousarray(codes).tobytes()).decode("ascii")
    return {"shape": list(array.shape), "low": low, "high": high, "codes": text}


def rounded(values: Any, digits: int = DIGITS) -> Any:
    """Return numbers as nested lists with few digits, None for what is not finite.

    Examples
    --------
    >>> rounded([1 / 3, float("nan")])
    [0.333333, None]
    """
    array = np.asarray(values, dtype=float)
    if array.ndim:
        return [rounded(value, digits) for value in array]
    return float(f"{float(array):.{digits}g}") if np.isfinite(array) else None


def embedded(data: Any) -> str:
    r"""Return data as JSON that may stand in a script of a page, whatever its texts are.

    Examples
    --------
    >>> embedded({"column": "</script>"})
    '{"column":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for mark, code in FORBIDDEN.items():
        text = text.replace(mark, code)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")  # halves of pairs, which no file can hold
