"""The version of the library that is installed."""

from importlib.metadata import PackageNotFoundError, version

__all__ = ["__version__"]

try:
    __version__ = version("mercer")
except PackageNotFoundError:  # a source tree that was not installed
    __version__ = "0+unknown"
