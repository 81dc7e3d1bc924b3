# Every target works on a fresh checkout: the virtual environment is made on demand.
PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin
# Stamps of what is installed: for the demonstration, for the tests, for the site.
LIGHT   = $(VENV)/.light
READY   = $(VENV)/.ready
DOCS    = $(VENV)/.docs
MINIMUM = .venv-minimum
SITE    = docs/_build/html

.PHONY: help demo house test coverage test-docs test-minimum fuzz mutants bench reproduce lint format docs clean

help:
	@echo "make demo | test [RANDOM=1] | coverage | docs | test-docs | test-minimum | fuzz | mutants | lint | house | format | clean"
	@echo "     bench [QUICK=1] | reproduce [FULL=1]"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(LIGHT): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[demo]'
	touch $@

$(READY): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $(LIGHT) $@

$(DOCS): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $(LIGHT) $@

demo: $(LIGHT)
	$(BIN)/sarlearn demo

# Two test processes, one thread each, a file or folder in one of them (tests/conftest.py): what
# its tests share is made once. Processes that tests start find the package compiled to bytecode.
PYTEST = OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 2 --dist loadfile -q

# With RANDOM=1 in a random order of tests.
test: $(READY)
	$(PYTEST) $(if $(RANDOM),--random-order)

# The same, and which lines and branches no test reaches: it takes nearly twice as long.
coverage: $(READY)
	$(PYTEST) --cov --cov-fail-under=95

# Small changes of the source, and the tests that must notice them. By hand, not in CI.
mutants: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python tests/mutants/run.py

# Ten thousand new examples of data and settings, with whatever fails shrunk to a small one.
fuzz: $(READY)
	OMP_NUM_THREADS=1 SARLEARN_FUZZ=500 $(BIN)/python -m pytest -n 2 -q tests/engine/test_fuzz.py tests/test_fuzz_estimators.py

# The site, from what is installed: no network, warnings are errors, two examples at a time.
docs: $(DOCS)
	rm -rf docs/generated/api
	OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -b html -q -W --keep-going docs $(SITE)
	@echo "Open $(SITE)/index.html"

# What is on the pages, and in a real browser.
test-docs: $(DOCS)
	$(BIN)/python -m pytest -q tests/docs

# The oldest versions that pyproject.toml declares, exactly.
test-minimum:
	test -x $(MINIMUM)/bin/python || $(PYTHON) -m venv $(MINIMUM)
	$(MINIMUM)/bin/python tests/minimum_versions.py > $(MINIMUM)/constraints.txt
	$(MINIMUM)/bin/python -m pip install --quiet --constraint $(MINIMUM)/constraints.txt --editable '.[dev]'
	OMP_NUM_THREADS=1 $(MINIMUM)/bin/python -m pytest -n 2 --dist loadfile -q

# The peer to compare with is wanted here only.
bench: $(READY)
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	$(BIN)/python -m benchmarks.run $(if $(QUICK),--quick)
	$(if $(QUICK),,$(BIN)/python -m benchmarks.bench_priors)

# The paper's experiments: the reduced grid, or with FULL=1 the whole protocol. It can be stopped and
# started again; only missing cells run.
reproduce: $(READY)
	$(BIN)/python -m experiments run experiments/paper/$(if $(FULL),full,reduced).toml
	$(BIN)/python -m experiments report paper
	$(BIN)/python -m experiments numbers
	$(BIN)/python -m experiments numbers --check

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# How large the package is, beside the limits, and how many files a fit enters.
house: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.house

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) $(MINIMUM) build dist docs/_build docs/generated docs/sg_execution_times.rst
	rm -rf .pytest_cache .mypy_cache .ruff_cache .coverage*
