"""Rows that come in batches: arrays, memory maps, files, or any function that gives an iterator of batches."""

from mercer.rows.arrays import ArrayRows
from mercer.rows.base import Batch, MappedRows, Rows
from mercer.rows.stream import StreamRows

__all__ = ["ArrayRows", "Batch", "MappedRows", "Rows", "StreamRows"]
