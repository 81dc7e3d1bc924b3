# Every target works on a fresh checkout: the virtual environment is made on demand.
PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin
READY   = $(VENV)/.ready

.PHONY: help demo test fuzz bench reproduce lint format clean

help:
	@echo "make demo | test | fuzz | bench [QUICK=1] | reproduce [FULL=1] | lint | format | clean"

$(READY): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

demo: $(READY)
	$(BIN)/sarlearn demo

# Two test processes, one thread each.
test: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal -q --cov --cov-fail-under=95

# Ten thousand new examples of data and settings, with whatever fails shrunk to a small one.
fuzz: $(READY)
	OMP_NUM_THREADS=1 SARLEARN_FUZZ=400 $(BIN)/python -m pytest -n 2 -q tests/engine/test_fuzz.py

# The peer to compare with is wanted here only.
bench: $(READY)
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	$(BIN)/python -m benchmarks.run $(if $(QUICK),--quick)
	$(BIN)/python -m benchmarks.bench_priors $(if $(QUICK),--quick)

# The paper's experiments: the reduced grid, or with FULL=1 the whole protocol. It can be stopped and
# started again; only missing cells run.
reproduce: $(READY)
	$(BIN)/python -m experiments run experiments/paper/$(if $(FULL),full,reduced).toml
	$(BIN)/python -m experiments report paper
	$(BIN)/python -m experiments numbers README.md

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .coverage*
