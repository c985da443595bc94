"""A page to play with a fit: one HTML file, which opens without a network, in which θ and the inputs are moved."""

from mercer.explorer.report import Report, explore

__all__ = ["Report", "explore"]
