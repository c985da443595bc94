"""Data made on the spot, for examples, tests and benchmarks; nothing is downloaded."""

from mercer.datasets.synthetic import make_sine, sine_quantiles

__all__ = ["make_sine", "sine_quantiles"]
