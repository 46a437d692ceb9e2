# Two commands set everything up on a machine with python3 >= 3.11 and make: `make serve` and `make test`.
# The first call makes .venv, installs exact versions and prepares the bundled model; later calls start at once.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
TORCH  := torch==2.13.0
PIP    := $(BIN)/python -m pip --quiet --disable-pip-version-check install
DATA   ?= ./data
TYPESCRIPT_SDK := 1.32.2

MOST      = -n 3 --dist worksteal -m "not e2e and not crash and not load and not conformance"

# What `make test` runs with. Bytecode is kept whatever the shell says: compiling again takes half a minute of each run.
# Its files are in memory where there is room (and programs may be run from there), because a third of the work is
# waiting for a disk and going there. What outlasts a crash is the matter of `make crash`, which has the disk.
MEMORY    = /dev/shm
IN_MEMORY = $(shell awk '$$2 == "$(MEMORY)" && $$4 !~ /noexec/' /proc/mounts 2>/dev/null | grep -q . \
  && test $$(df -Pm $(MEMORY) | awk 'END {print $$4}') -gt 2000 && echo TMPDIR=$(MEMORY))
QUICKLY   = PYTHONDONTWRITEBYTECODE= $(IN_MEMORY)

.DEFAULT_GOAL := help
.PHONY: snapshots help serve test coverage e2e check fmt bench bench-quality docs crash load conformance clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.installed: requirements/base.txt requirements/full.txt requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "strongroom needs Python 3.11 or newer")'
	@echo "setting up $(VENV) (once, a minute or two) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@# PyTorch's CPU index first: on Linux the default index gives a CUDA build of several GB.
	@$(PIP) --no-deps --timeout 5 --retries 0 --index-url https://download.pytorch.org/whl/cpu $(TORCH) 2>/dev/null \
	  || $(PIP) $(TORCH)
	@$(PIP) --no-deps -r requirements/dev.txt
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.model: $(VENV)/.installed
	@$(BIN)/strongroom model prepare
	@touch $@

# What the end-to-end tests speak to: LangChain's adapters, an S3 server, and the TypeScript SDK where there is npm.
$(VENV)/.clients: $(VENV)/.installed requirements/clients.txt
	@$(BIN)/python -m venv $(VENV)/clients
	@$(VENV)/clients/bin/python -m pip --quiet --disable-pip-version-check install --no-deps -r requirements/clients.txt
	@command -v npm > /dev/null || { touch $@; exit 0; }; mkdir -p $(VENV)/node && npm install --prefix $(VENV)/node \
	  --ignore-scripts --no-audit --no-fund --loglevel=error @modelcontextprotocol/sdk@$(TYPESCRIPT_SDK)
	@touch $@

serve: $(VENV)/.model ## run the server on ./data
	@exec $(BIN)/strongroom serve --data $(DATA)

test: $(VENV)/.model ## the whole suite but e2e, crash, load and conformance
	@$(QUICKLY) $(BIN)/python -m pytest $(MOST)

coverage: $(VENV)/.model ## make test, counting branches; fails below the floor in pyproject.toml
	@$(QUICKLY) $(BIN)/python -m pytest $(MOST) --cov --cov-report=term

e2e: $(VENV)/.model $(VENV)/.clients ## working days of whole clients and servers, each a program of its own
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 3 --dist worksteal -m e2e

check: $(VENV)/.installed ## format, lint, types, import contracts; prints what is long
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@PYTHONPATH=. $(BIN)/lint-imports --no-cache
	@$(BIN)/python -m tests.contracts.sizes

fmt: $(VENV)/.installed ## format and fix what can be fixed
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: $(VENV)/.model ## measure the figures of docs/figures.md; prints a table, writes bench/out/
	@$(BIN)/python -m bench

bench-quality: $(VENV)/.model ## what the search finds on the judged sets in ../shared/bench; fails below the floors
	@$(BIN)/python -m bench.quality $(ARGS)

docs: $(VENV)/.installed ## regenerate the parts of the documentation that come from the code
	@$(BIN)/python -m server.cli.reference

crash: $(VENV)/.model ## kill real processes at chosen system calls (needs strace)
	@$(BIN)/python -m pytest -m crash

load: $(VENV)/.model ## many clients for minutes
	@$(BIN)/python -m pytest -m load

conformance: $(VENV)/.model ## the official conformance suite and other clients (needs Node packages)
	@BIN=$(BIN) bash tests/conformance/run.sh

clean: ## remove the environment and caches; data stays
	@rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache bench/out

snapshots: $(VENV)/.installed ## write the golden files of the tools' interface anew
	@$(BIN)/python -m tests.contracts.write_snapshots
