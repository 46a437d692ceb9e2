# Two commands set everything up on a machine with python3 >= 3.11 and make: `make serve` and `make test`.
# The first call makes .venv and installs exact versions, what a server needs or all there is; later calls start at once.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
TORCH  := torch==2.13.0
PIP    := $(BIN)/python -m pip --quiet --disable-pip-version-check install
LOCKED := $(PIP) --no-deps --require-hashes
DATA   ?= ./data
TYPESCRIPT_SDK := 1.32.2
AXE_CORE := 4.14.1
CYCLONEDX := 7.5.0
PIP_AUDIT := 2.10.1

# Three workers each load what they collect: folders of which nothing is run are left out.
WHOLE     = $(addprefix --ignore=tests/,e2e integrations crash load conformance image browser)
MOST      = -n 3 --dist worksteal $(WHOLE) -m "not e2e and not crash and not load and not conformance and not image \
  and not browser and not cluster"

# What `make test` runs with. Bytecode is kept whatever the shell says: compiling again takes half a minute of each run.
# Its files are in memory where there is room (and programs may be run from there), because a third of the work is
# waiting for a disk and going there. What outlasts a crash is the matter of `make crash`, which has the disk.
MEMORY    = /dev/shm
IN_MEMORY = $(shell awk '$$2 == "$(MEMORY)" && $$4 !~ /noexec/' /proc/mounts 2>/dev/null | grep -q . \
  && test $$(df -Pm $(MEMORY) | awk 'END {print $$4}') -gt 2000 && echo TMPDIR=$(MEMORY))
QUICKLY   = PYTHONDONTWRITEBYTECODE= $(IN_MEMORY)

.DEFAULT_GOAL := help
.PHONY: snapshots help serve install extras models test coverage e2e check fmt bench bench-cluster bench-quality docs crash load cluster conformance ui
.PHONY: races image image-test graph wheel bundle release-check sbom vulnerabilities lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# What serving needs. Byte code is made of what a server imports, for one that may not write here; all of it would be
# 40 MB more.
$(VENV)/.light: requirements/light.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "strongroom needs Python 3.11 or newer")'
	@echo "setting up $(VENV) (once, under a minute) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(LOCKED) --no-compile -r requirements/light.txt
	@$(PIP) --no-deps --no-build-isolation --editable .
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -c 'import faiss, onnxruntime, tiktoken, tokenizers, server.http.serve; \
	  from server.tools import discover; discover()'
	@touch $@

# The extras that read documents and code, send backups away and speak to PostgreSQL.
$(VENV)/.extras: $(VENV)/.light requirements/extras.txt
	@$(LOCKED) --no-compile -r requirements/extras.txt
	@touch $@

# The extra for other models than the bundled one. PyTorch's CPU index first: on Linux the default index gives a CUDA
# build of several GB.
$(VENV)/.models: $(VENV)/.light requirements/models.txt
	@echo "installing PyTorch and sentence-transformers (once, a minute or two) ..."
	@$(PIP) --no-deps --timeout 5 --retries 0 --index-url https://download.pytorch.org/whl/cpu $(TORCH) 2>/dev/null \
	  || $(PIP) $(TORCH)
	@$(LOCKED) -r requirements/models.txt
	@touch $@

$(VENV)/.installed: $(VENV)/.extras $(VENV)/.models requirements/dev.txt
	@$(LOCKED) -r requirements/dev.txt
	@touch $@

# What the end-to-end tests speak to: LangChain's adapters, an S3 server, and the TypeScript SDK where there is npm.
$(VENV)/.clients: $(VENV)/.installed requirements/clients.txt
	@$(BIN)/python -m venv $(VENV)/clients
	@$(VENV)/clients/bin/python -m pip --quiet --disable-pip-version-check install --no-deps --require-hashes \
	  -r requirements/clients.txt
	@command -v npm > /dev/null || { touch $@; exit 0; }; mkdir -p $(VENV)/node && npm install --prefix $(VENV)/node \
	  --ignore-scripts --no-audit --no-fund --loglevel=error @modelcontextprotocol/sdk@$(TYPESCRIPT_SDK)
	@touch $@

# What the tests of the console drive a browser with, and axe-core (MPL-2.0, never passed on) where there is npm.
$(VENV)/.browser: $(VENV)/.installed requirements/browser.txt
	@$(LOCKED) -r requirements/browser.txt
	@command -v npm > /dev/null || { touch $@; exit 0; }; mkdir -p $(VENV)/axe && npm install --prefix $(VENV)/axe \
	  --ignore-scripts --no-audit --no-fund --loglevel=error axe-core@$(AXE_CORE)
	@touch $@

serve: $(VENV)/.light ## run the server on ./data
	@exec $(BIN)/strongroom serve --data $(DATA)

install: $(VENV)/.light ## set up what the server needs, without starting it

extras: $(VENV)/.extras ## add to the server what reads documents and code, sends backups away, speaks to PostgreSQL

models: $(VENV)/.models ## add to the server what serves other models: PyTorch, sentence-transformers

test: $(VENV)/.installed ## the whole suite but e2e, ui, crash, load and conformance
	@$(QUICKLY) $(BIN)/python -m pytest $(MOST)

races: $(VENV)/.installed ## make test where threads are late by chance, as on a busy machine: SEED=2 for another chance
	@$(QUICKLY) $(BIN)/python -m pytest -p tests.late_threads --lateness $(or $(SEED),1) $(MOST)

coverage: $(VENV)/.installed ## make test, counting branches; fails below the floor in pyproject.toml
	@PROPERTY_EXAMPLES=1 $(QUICKLY) $(BIN)/python -m pytest $(MOST) --cov --cov-report=term

e2e: $(VENV)/.clients ## working days of whole clients and servers, each a program of its own
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 3 --dist worksteal -m e2e

ui: $(VENV)/.browser ## the console in a real browser (needs Chromium): TESTS=tests/browser/test_search.py for a part
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -m browser $(or $(TESTS),tests/browser)

check: $(VENV)/.installed ## format, lint, types, import contracts; prints what is long
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@PYTHONPATH=. $(BIN)/lint-imports --no-cache
	@$(BIN)/python -m tests.contracts.sizes

fmt: $(VENV)/.installed ## format and fix what can be fixed
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: $(VENV)/.installed ## measure the figures of docs/figures.md; prints a table, writes bench/out/
	@$(BIN)/python -m bench

bench-cluster: $(VENV)/.installed ## measure the figures of docs/cluster.md: several servers over a PostgreSQL that runs here too
	@$(BIN)/python -m bench --only cluster

bench-quality: $(VENV)/.installed ## what the search finds on the judged sets in ../shared/bench; fails below the floors
	@$(BIN)/python -m bench.quality $(ARGS)

docs: $(VENV)/.installed ## regenerate the parts of the documentation that come from the code
	@$(BIN)/python -m server.cli.reference
	@$(BIN)/python -m tests.contracts.licences

crash: $(VENV)/.installed ## kill real processes at chosen system calls (needs strace)
	@$(BIN)/python -m pytest -m crash

load: $(VENV)/.installed ## many clients for minutes
	@$(BIN)/python -m pytest -m load

cluster: $(VENV)/.installed ## three servers over a PostgreSQL, killed and cut off at random: FAULTS=1000 VAULTS=300 for all of it
	@CLUSTER_FAULTS=$(or $(FAULTS),60) CLUSTER_VAULTS=$(or $(VAULTS),30) CLUSTER_SEED=$(or $(SEED),1) $(QUICKLY) \
	  $(BIN)/python -m pytest -m cluster tests/cluster

conformance: $(VENV)/.installed ## the official conformance suite and other clients (needs Node packages)
	@BIN=$(BIN) bash tests/conformance/run.sh

image: ## build the image, slim and full: with Docker, or with buildah (deploy/image/build.sh says what can be set)
	@deploy/image/build.sh

image-test: $(VENV)/.installed image ## run both images with podman or Docker, as compose.yaml starts them; prints their sizes
	@$(BIN)/python -m pytest -m image tests/image

clean: ## remove the environment and caches; data stays
	@rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache bench/out

graph: $(VENV)/.installed ## write the graph of the bundled model anew
	@$(BIN)/python -m vaults.embed.bert_graph

wheel: $(VENV)/.light ## build dist/strongroom-….whl, which holds the model
	@rm -rf dist && $(BIN)/python -m hatchling build -t wheel

bundle: wheel ## build dist/strongroom-….mcpb, which Claude Desktop installs (packed where there is Node)
	@$(BIN)/python deploy/mcpb/pack.py dist/*.whl

release-check: $(VENV)/.installed ## what must be true before a version is tagged: VERSION=0.2.0
	@$(BIN)/python deploy/release/checklist.py $(VERSION)

sbom: ## write dist/strongroom.cdx.json, what a server is made of, in CycloneDX (needs uv)
	@mkdir -p dist && uv tool run --quiet --from cyclonedx-bom==$(CYCLONEDX) cyclonedx-py requirements --output-reproducible \
	  --pyproject pyproject.toml --of JSON --output-file dist/strongroom.cdx.json requirements/light.txt

vulnerabilities: ## look the packages of a server up among the known vulnerabilities (needs uv and the network)
	@uv tool run --quiet pip-audit==$(PIP_AUDIT) --disable-pip --require-hashes --requirement requirements/light.txt

lock: ## write requirements/*.txt from *.in, with the digest of every file (needs uv)
	@cd requirements && for each in light extras models dev clients browser; do uv pip compile --quiet --universal --no-deps \
	  --python-version 3.11 --generate-hashes --no-header --no-annotate $$each.in -o $$each.txt; done

snapshots: $(VENV)/.installed ## write the golden files of the tools' interface anew
	@$(BIN)/python -m tests.contracts.write_snapshots
