"""Tables as numbers: data frames with text, categories, booleans, dates and missing cells."""

from mercer.preprocessing.table import TableEncoder

__all__ = ["TableEncoder"]
