"""What has changed its name since files were written, so that old files load.

Classes are known by their bare names, so that modules may move. A field or parameter that is new must have a default;
one that is gone, or has another name, is said here, and never taken out again.
"""

from __future__ import annotations

from typing import Any

__all__ = ["NEW_CLASSES", "NEW_FIELDS", "SCHEMA", "class_today", "fields_today"]

#: the version of the layout of files that is written; it grows when older libraries could not read what is new
SCHEMA = 1
#: the name of a class in old files → its name today
NEW_CLASSES: dict[str, str] = {}
#: (class today, its field in old files) → its name today, None where it is no more
NEW_FIELDS: dict[tuple[str, str], str | None] = {}


def class_today(name: str) -> str:
    """Return the name of a class today."""
    return NEW_CLASSES.get(name, name)


def fields_today(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an object of a class, by their names today."""
    renamed = {NEW_FIELDS.get((name, field), field): value for field, value in fields.items()}
    return {field: value for field, value in renamed.items() if field is not None}
