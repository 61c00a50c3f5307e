# make demo: a validated search.  make check: the quick loop.  make test: all that a change can break.
# make test-campaigns: what takes long, and the oldest Dask.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BASE := $(VENV)/.base-installed
DEV := $(VENV)/.dev-installed
CAMPAIGNS := $(VENV)/.campaigns-installed
OLDEST := .venv-oldest
PIP_INSTALL := install --quiet --disable-pip-version-check
PYTEST := -m pytest -n 2 --dist loadfile

.PHONY: demo test test-campaigns test-oldest check lint types clean

# the base package only: what a user of pip install daskbfs gets
demo: $(BASE)
	$(BIN)/daskbfs run kron:20 --sources 8 --validate

check: lint types
	$(BIN)/python $(PYTEST) --ignore tests/campaigns -m "not slow"

test: lint types
	$(BIN)/python $(PYTEST) --ignore tests/campaigns

test-campaigns: $(CAMPAIGNS)
	$(BIN)/python $(PYTEST) tests/campaigns
	$(MAKE) test-oldest

# the Dask that dask-cuda pins, dask-cuda, and the oldest bokeh: whatever talks to them must run there
test-oldest: $(OLDEST)/.installed
	$(OLDEST)/bin/python $(PYTEST) -m "not slow or oldest" tests/cluster tests/engine \
		tests/distribution tests/telemetry/test_recorder.py tests/algorithms/test_pagerank.py \
		tests/campaigns/test_dask_cuda.py
	$(OLDEST)/bin/python $(PYTEST) tests/campaigns/test_dashboard.py \
		tests/campaigns/test_cluster_configs.py -k "installed or click or thousand or gpus"

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
	$(BIN)/pip $(PIP_INSTALL) --no-compile --editable ".[dev]"
	touch $(BASE) $@

$(CAMPAIGNS): pyproject.toml | $(DEV)
	$(BIN)/pip $(PIP_INSTALL) --no-compile --editable ".[test-campaigns]"
	touch $@

$(OLDEST)/.installed: pyproject.toml
	test -x $(OLDEST)/bin/python || $(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/pip $(PIP_INSTALL) --no-compile --editable ".[cuda13,test-campaigns]" \
		dask==2026.7.1 distributed==2026.7.1 "bokeh==3.4.*"
	touch $@

clean:
	rm -rf $(VENV) $(OLDEST) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
