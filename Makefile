# Two commands do everything on a fresh machine with Python >= 3.11, pip and make:
#   make demo   create .venv, install, fit, leave demo/quantiles.png and the page demo/report.html
#   make test   create .venv, install, run the checks and tests that CI runs
# and one looks for what the tests do not know of yet:
#   make fuzz   random fits for ten minutes (MINUTES=60), each of them recomputed independently
#   make fuzz-files   10 000 model files that were damaged or forged
# and before a release
#   make release-check   build wheel and sdist, install both in clean environments, use them
#   make test-oldest     the tests with the oldest version of each dependency (TESTS=tests/io for some of them)
#   make test-pythons    the tests with each of Python 3.11 to 3.13 that is there

PYTHON ?= python3
VENV := .venv
MINUTES ?= 10
OLDEST_PYTHON ?= python3.11
PYTHONS ?= 3.11 3.12 3.13
TESTS ?=
BIN := $(VENV)/bin
# BLAS threads multiply with the test workers: one each
export OMP_NUM_THREADS ?= 1

	rm -rf $(VENV) .pytest_cache .ruff_cache .mypy_cache .hypothesis build dist docs/_build docs/api docs/gallery
