# Supportdesk. `make` alone lists what there is.

.DEFAULT_GOAL := help
.PHONY: help run test check fmt bench lock clean venv ready-run ready-dev

PYTHON ?= python3
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv

# Everything that is fetched stays inside .venv, and uv never brings a Python of its own.
export UV_CACHE_DIR := $(CURDIR)/$(VENV)/uv-cache
export UV_PYTHON_DOWNLOADS := never

help: ## List what there is
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# Every commit of a test is synced to its disk; where there is room enough, that disk is memory.
IN_MEMORY = $(shell [ "$$(df -k --output=avail /dev/shm 2>/dev/null | tail -n 1)" -gt 8000000 ] 2>/dev/null && echo TMPDIR=/dev/shm)

run: ready-run ## Start the desk
	@$(BIN)/python app.py

test: ready-dev ## Run every test, then ask for full branch coverage of domain and steps; ARGS="-k money" runs some
ifeq ($(strip $(ARGS)),)
	$(IN_MEMORY) $(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist worksteal --cov --cov-report=
	$(BIN)/coverage report --include='agent/domain/*,agent/steps/*' --fail-under=100
else
	$(BIN)/python -m pytest $(ARGS)
endif

check: ready-dev ## Lint, format, types, import contracts, dependencies, dead code, spelling
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry .
	$(BIN)/vulture
	$(BIN)/codespell

fmt: ready-dev ## Format the code and mend what can be mended
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

bench: ready-dev ## Measure the desk against plain SQL; ARGS go to the benchmark
	$(BIN)/python -m tests.bench $(ARGS)

LOCK := $(UV) --no-config pip compile --quiet pyproject.toml --extra build --generate-hashes \
	--universal --python-version 3.11 --no-header --no-annotate --no-emit-index-url \
	--no-emit-find-links

lock: venv ## Pin every dependency anew in both lock files; ARGS=--upgrade takes the newest
	$(LOCK) $(ARGS) --output-file requirements.lock
	$(LOCK) $(ARGS) --extra dev --constraint requirements.lock --output-file requirements-dev.lock

clean: ## Remove the environment and the caches; the desk's data in var/ stays
	rm -rf $(VENV) .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Set-up. Three files in .venv say what was finished; each is written last and compared by content,
# so a second run does nothing and a set-up that was cut short is done again:
#   place      where this environment lives and for which Python
#   ready-run  what `make run` needs is installed
#   ready-dev  what everything else needs is installed as well

PLACE = { pwd; $(BIN)/python -V; } 2>&1
RUN_INPUTS := pyproject.toml requirements.lock
DEV_INPUTS := $(RUN_INPUTS) requirements-dev.lock
INSTALL := $(UV) pip install --quiet --python $(BIN)/python
SYNC := $(UV) pip sync --quiet --python $(BIN)/python --require-hashes

# pip serves once, to bring the uv that requirements.lock pins. It runs with an empty PATH because it
# asks any `rustc` it finds for its version, and rustup's then writes to HOME.
venv:
	@$(PLACE) | cmp -s - $(VENV)/place || { \
		python=$$($(PYTHON) -c 'import sys; print(sys.executable); sys.exit(sys.version_info < (3, 11))') || { \
			echo "Supportdesk needs Python 3.11 or newer: make PYTHON=/path/to/python3 ..." >&2; exit 1; } ; \
		echo "Setting up $(VENV) with $$("$$python" -V)" && \
		PATH= "$$python" -m venv --clear $(VENV) && \
		sed -n '/^uv==/,/[^\\]$$/p' requirements.lock > $(VENV)/uv.txt && \
		PATH= $(BIN)/python -m pip --no-cache-dir --disable-pip-version-check --quiet install \
			--no-deps --only-binary :all: --require-hashes --requirement $(VENV)/uv.txt && \
		{ $(PLACE); } > $(VENV)/place; \
	}

ready-run: venv
	@cat $(RUN_INPUTS) | cmp -s - $(VENV)/ready-run || { \
		echo "Installing what requirements.lock pins" && \
		rm -f $(VENV)/ready-run $(VENV)/ready-dev && \
		$(SYNC) requirements.lock && \
		$(INSTALL) --offline --no-deps --no-build-isolation --editable . && \
		cat $(RUN_INPUTS) > $(VENV)/ready-run; \
	}

ready-dev: venv
	@cat $(DEV_INPUTS) | cmp -s - $(VENV)/ready-dev || { \
		echo "Installing what requirements-dev.lock pins" && \
		rm -f $(VENV)/ready-run $(VENV)/ready-dev && \
		$(SYNC) requirements-dev.lock && \
		$(INSTALL) --offline --no-deps --no-build-isolation --editable . && \
		cat $(RUN_INPUTS) > $(VENV)/ready-run && \
		cat $(DEV_INPUTS) > $(VENV)/ready-dev; \
	}
