"""The command ``mercer``: from tables in files to models and predictions in files."""

from mercer.cli.main import main

__all__ = ["main"]
