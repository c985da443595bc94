"""What a file may ask for, looked at before anything is allocated for it."""

from __future__ import annotations

__all__ = ["MOST_DEPTH", "MOST_DIRECTORY_BYTES", "MOST_JSON_BYTES", "MOST_MEMBERS", "MOST_VALUES"]

#: members of the archive: the arrays of a model, and its texts
MOST_MEMBERS = 10_000
#: bytes of the table of contents of the archive, and of any single read while it is opened
MOST_DIRECTORY_BYTES = 2**21
#: bytes of one text, and values that it holds: a value of a few characters takes a hundred bytes once it is read
MOST_JSON_BYTES, MOST_VALUES = 2**25, 1_000_000
#: objects within objects
MOST_DEPTH = 60
