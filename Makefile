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

.PHONY: demo docs test test-all test-oldest test-pythons release-check lint fuzz fuzz-files bench bench-rivals bench-curves clean

$(VENV)/.demo: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[plot]"
	touch $@

$(VENV)/.dev: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@

$(VENV)/.release: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[release]"
	touch $@

# python3.11, as that is the oldest, too
.venv-oldest/.test: pyproject.toml release/oldest.py
	test -x .venv-oldest/bin/python || $(OLDEST_PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python release/oldest.py > .venv-oldest/constraints.txt
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check \
		--constraint .venv-oldest/constraints.txt --editable ".[test]"
	touch $@

$(VENV)/.bench: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[bench]"
	touch $@

$(VENV)/.docs: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[docs]"
	touch $@

demo: $(VENV)/.demo
	OMP_NUM_THREADS=2 $(BIN)/python demo/quantiles.py

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/python -m pytest -q -n 2

test-oldest: .venv-oldest/.test
	.venv-oldest/bin/python -m pytest -q -n 2 $(TESTS)

test-pythons:
	for version in $(PYTHONS); do \
		python$$version --version || continue; \
		test -x .venv-$$version/bin/python || python$$version -m venv .venv-$$version; \
		.venv-$$version/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[test]" && \
		.venv-$$version/bin/python -m pytest -q -n 2 $(TESTS) || exit 1; \
	done

release-check: $(VENV)/.release
	$(BIN)/python release/check.py

# what CI runs, and the campaigns that take their time
test-all: test fuzz fuzz-files

fuzz: $(VENV)/.dev
	$(BIN)/python -m fuzz --minutes $(MINUTES)

fuzz-files: $(VENV)/.dev
	$(BIN)/python -m fuzz.model_files --files 10000

# the site, in docs/_build/html; a warning is an error
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/quantiles.py

# with two BLAS threads, on a machine that does nothing else
bench-rivals: $(VENV)/.bench
	OMP_NUM_THREADS=2 $(BIN)/python benchmarks/infinite_tasks.py

bench-curves: $(VENV)/.bench
	$(BIN)/python benchmarks/functional.py

clean:
	rm -rf $(VENV) .venv-* .pytest_cache .ruff_cache .mypy_cache .hypothesis build dist docs/_build docs/api docs/gallery
