"""Models as files that run no code when they are opened."""

from mercer.io.model_file import ModelSummary, load, save, summary_of

__all__ = ["ModelSummary", "load", "save", "summary_of"]
