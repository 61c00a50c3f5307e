# make demo: a validated search.  make check: the quick loop.  make test: everything.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BASE := $(VENV)/.base-installed
DEV := $(VENV)/.dev-installed
OLDEST := .venv-oldest
PIP_INSTALL := install --quiet --disable-pip-version-check
TWO := -n 2 --dist loadfile
QUICK := $(BIN)/pytest $(TWO) -m "not slow and not browser"

.PHONY: demo test test-oldest check lint types clean

# the base package only: what a user of pip install daskbfs gets
demo: $(BASE)
	$(BIN)/daskbfs run kron:20 --sources 8 --validate

test: lint types
	$(QUICK)
	$(BIN)/pytest $(TWO) -m "slow or browser"
	$(MAKE) test-oldest

# the Dask that dask-cuda pins, dask-cuda, and the oldest bokeh: whatever talks to them must run there
test-oldest: $(OLDEST)/.installed
	$(OLDEST)/bin/python -m pytest -m "not slow or oldest" tests/cluster/test_tuning.py \
		tests/cluster/test_hybrid.py tests/cluster/test_dask_cuda.py tests/engine \
		tests/distribution tests/telemetry/test_recorder.py tests/algorithms/test_pagerank.py
	$(OLDEST)/bin/python -m pytest tests/dashboard -k "installed or click or thousand"
	$(OLDEST)/bin/python -m pytest tests/cluster/test_cluster_configs.py -k gpus

check: lint types
	$(QUICK)

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(DEV)
	$(BIN)/mypy

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(BASE): pyproject.toml | $(BIN)/python
	$(BIN)/pip $(PIP_INSTALL) --no-compile --editable . # Python compiles what is imported
	touch $@

$(DEV): pyproject.toml | $(BIN)/python
	$(BIN)/pip $(PIP_INSTALL) --editable ".[dev]"
	touch $(BASE) $@

$(OLDEST)/.installed: pyproject.toml
	test -x $(OLDEST)/bin/python || $(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/pip $(PIP_INSTALL) --editable ".[test,cuda13]" \
		dask==2026.7.1 distributed==2026.7.1 "bokeh==3.4.*"
	touch $@

clean:
	rm -rf $(VENV) $(OLDEST) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
