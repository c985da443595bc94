"""Tables as numbers: data frames with text, categories, booleans, dates, curves and missing cells."""

from mercer.preprocessing.curve_table import CurveTable
from mercer.preprocessing.kernel_features import KernelFeatures
from mercer.preprocessing.long_frames import curves_from_long
from mercer.preprocessing.table import TableEncoder

__all__ = ["CurveTable", "KernelFeatures", "TableEncoder", "curves_from_long"]
