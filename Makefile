# The one list of commands. Needs Python >= 3.11 and make; everything else comes into .venv.
# `make e2e`, `make demo-real` and `make control-plane` need Go too, unless the binaries are there.

PYTHON ?= $(firstword $(foreach name,python3.11 python3.12 python3.13 python3.14 python3 python,$(if $(shell $(name) -c 'import sys; print(sys.version_info >= (3, 11) or "")' 2>/dev/null),$(name))))
VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime
TOOLS := $(VENV)/.tools
RIVALS := $(VENV)/.rivals
PICTURES := $(VENV)/.pictures
SCHEMAS := $(VENV)/.schemas
FUZZ := $(VENV)/.fuzz
RELEASE := $(VENV)/.release
MUTATION := build/mutation
# The time in everything that is built: that of the commit.
export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
IMAGE ?= espalier:dev
FILE ?= tests/data/vectors.json
OPS ?=
FLAGS ?=
DIR ?=
N ?= 20000
SEED ?=
ROUNDS ?=
CRDS ?=
# Processes that run tests: all cores, but no more than eight, since each collects all tests.
WORKERS ?= auto
# Control planes side by side. Tests on them mostly wait, so more than there are cores.
PLANES ?= 3
E2E := tests/cluster tests/contract tests/e2e tests/sandbox

.DEFAULT_GOAL := help
.PHONY: help venv docs docs-site lock notices sbom krew lint format typing imports unit test vectors cases crds differential differential-older control-plane e2e mutation bench-schema bench-start bench-validate bench-migrate bench-survey bench-idle bench-scale bench-definitions fuzz fuzz-coverage e2e-chaos e2e-large page fleet monitoring chart demo demo-real image clean image-check matrix debian-python soak bundle signing

help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' Makefile

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: install it, or say make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "Making $(VENV) with $(PYTHON) ..."
	@$(PYTHON) -m venv $(VENV) || { echo "$(PYTHON) cannot make virtual environments: on Debian, install python3-venv" >&2; rm -rf $(VENV); exit 1; }
	@echo "Installing pip ..."
	@$(PIP) install --upgrade 'pip>=25.1'

$(RUNTIME): pyproject.toml | $(BIN)/python
	@echo "Installing espalier and what it needs ..."
	@$(PIP) install --editable .
	@touch $@

$(TOOLS): $(RUNTIME)
	@echo "Installing the tools that check it ..."
	@$(PIP) install --group dev
	@touch $@

$(PICTURES): $(TOOLS)
	@echo "Installing what drives a browser ..."
	@$(PIP) install --group page
	@touch $@

$(RELEASE): $(TOOLS)
	@echo "Installing what locks versions ..."
	@$(PIP) install --group release
	@touch $@

$(FUZZ): $(TOOLS)
	@echo "Installing what fuzzes by coverage ..."
	@$(PIP) install --group fuzz
	@touch $@

$(SCHEMAS): $(TOOLS)
	@echo "Installing the schemas of Kubernetes ..."
	@$(PIP) install --group chart
	@touch $@

$(RIVALS): $(RUNTIME)
	@echo "Installing what it is compared with ..."
	@$(PIP) install --group bench
	@touch $@

venv: $(TOOLS) ## Make .venv with everything in it

lint: $(TOOLS) ## ruff, rules and format
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check . || { echo "Not formatted: run make format" >&2; exit 1; }
	@echo "lint: clean"

format: $(TOOLS) ## Rewrite the code as ruff formats it
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format .

typing: $(TOOLS) ## mypy, strict
	@$(BIN)/mypy

imports: $(TOOLS) ## import-linter: the layers hold
	@$(BIN)/lint-imports --no-cache

unit: $(TOOLS) ## The tests that need no cluster, on all cores: WORKERS=0 FLAGS=tests/cli
	@$(BIN)/pytest -m "not e2e" -q -n $(WORKERS) --maxprocesses 8 --dist worksteal $(FLAGS)

test: $(TOOLS) ## All that needs no cluster: lint, typing, imports and the tests
	@$(MAKE) --no-print-directory --jobs=2 lint typing imports
	@$(MAKE) --no-print-directory unit

vectors: $(TOOLS) ## Run test vectors: FILE=other.json OPS=prune,default
	@$(BIN)/python -m tests.vectors "$(FILE)" $(if $(OPS),--ops "$(OPS)")

cases: $(TOOLS) ## Run a folder of cases: DIR=tests/data/cases
	@$(BIN)/python -m tests.cases $(if $(DIR),"$(DIR)")

crds: $(TOOLS) ## Judge a folder of definitions with .oracle.json beside them: DIR=folder
	@$(BIN)/python -m tests.crds $(if $(DIR),"$(DIR)")

differential: $(TOOLS) ## Compare with the API server's packages (needs Go): N=20000 SEED=1 OPS=prune
	@$(BIN)/python -m tests.differential --examples $(N) $(if $(SEED),--seed $(SEED)) $(if $(OPS),--ops "$(OPS)")

differential-older: $(TOOLS) ## Compare with the packages of older API servers (needs Go; the first build takes long): N=2000
	@$(BIN)/python -m tests.differential.older_servers $(if $(filter command line,$(origin N)),--examples $(N))

mutation: $(TOOLS) ## Mutate the schema core in a copy and name the mutants that tests miss (15 minutes)
	@rm -rf $(MUTATION) && mkdir -p $(MUTATION)
	@cp -R operator $(MUTATION)/src && cp -R tests pyproject.toml $(MUTATION)
	@cd $(MUTATION) && $(CURDIR)/$(BIN)/mutmut run --max-children 1 && $(CURDIR)/$(BIN)/mutmut results

fuzz: $(TOOLS) ## Try hostile definitions and objects: FLAGS="--cases 10000 --seed 0 --processes 2"
	@$(BIN)/python -m tests.fuzz $(FLAGS)

fuzz-coverage: $(FUZZ) ## Try hostile cases, and keep those that reach more lines: FLAGS="-max_total_time=600 corpus"
	@mkdir -p build/fuzz
	@$(BIN)/python -m tests.fuzz.guided -timeout=900 -len_control=0 -rss_limit_mb=2048 -artifact_prefix=build/fuzz/ $(or $(FLAGS),-max_total_time=600)

bench-schema: $(RUNTIME) ## Measure the schema core: copies, normal forms, compile times
	@$(BIN)/python -m benchmarks.schema

bench-validate: $(RIVALS) ## Measure validation against other validators (needs Go): CRDS="a.yaml b.yaml" ROUNDS=5
	@$(BIN)/python -m benchmarks.validate $(if $(ROUNDS),--rounds $(ROUNDS)) $(FLAGS) $(CRDS)

bench-start: $(RUNTIME) ## Measure how long commands take to start: ROUNDS=9
	@$(BIN)/python -m benchmarks.start $(if $(ROUNDS),--rounds $(ROUNDS))

bench-migrate: control-plane ## Measure migrations against a bare loop (needs Go): N=10000 ROUNDS=5 FLAGS=--no-in-tree
	@$(BIN)/python -m benchmarks.migrate $(if $(filter-out file,$(origin N)),--objects $(N)) $(if $(ROUNDS),--rounds $(ROUNDS)) $(FLAGS)

bench-survey: control-plane ## Measure surveys of stored objects against kubectl-validate (needs Go): N=100000 ROUNDS=3
	@$(BIN)/python -m benchmarks.survey $(if $(filter-out file,$(origin N)),--objects $(N)) $(if $(ROUNDS),--rounds $(ROUNDS)) $(FLAGS)

bench-definitions: $(RUNTIME) ## Measure the operator with many definitions in a sandbox: N=10000
	@$(BIN)/python -m benchmarks.definitions $(if $(filter-out file,$(origin N)),--definitions $(N))

bench-idle: control-plane ## Measure the memory of an idle operator: FLAGS="--definitions 400 --fields 480 5600"
	@$(BIN)/python -m benchmarks.idle $(FLAGS)

bench-scale: control-plane ## Migrate a million small objects, an hour and 10 GiB of memory: N=1000000
	@$(BIN)/python -m benchmarks.scale $(if $(filter-out file,$(origin N)),--objects $(N)) $(FLAGS)

e2e-chaos: control-plane ## Kill the operator and the servers in mid-run, twelve minutes: SEED=1 FLAGS="--parts 4"
	@$(BIN)/python -m tests.e2e.chaos $(if $(SEED),--seed $(SEED)) $(FLAGS)

soak: control-plane ## Hundreds of faults while definitions are migrated, hours: SEED=1 FLAGS="--faults 100"
	@$(BIN)/python -m tests.e2e.soak $(if $(SEED),--seed $(SEED)) $(FLAGS)

control-plane: $(TOOLS) ## Find or build kube-apiserver, etcd, kubectl (11 minutes, once)
	@$(BIN)/python -m tests.e2e.controlplane

e2e: control-plane ## Tests against real kube-apiservers and etcds, three at a time: PLANES=1
	@$(BIN)/pytest -m e2e -q -n $(PLANES) --dist loadfile --no-loadscope-reorder $(E2E) $(FLAGS)

e2e-large: control-plane ## The tests of parts and replicas at full size, not in CI: FLAGS=-x
	@ESPALIER_E2E_SIZE=large $(BIN)/pytest -m e2e -q tests/e2e/test_parts.py tests/e2e/test_replicas.py $(FLAGS)

fleet: control-plane ## Read twenty sandboxes, a real server and three bad clusters at once
	@$(BIN)/python -m tests.fleet
matrix: control-plane ## Older API servers and other Pythons, hours: FLAGS="--kubernetes 1.34 --python 3.12 --no-chaos"
	@$(BIN)/python -m tests.e2e.matrix $(FLAGS)

debian-python: $(TOOLS) ## Fetch a Python for the matrix from Debian's newest packages (root, Debian, amd64): N=3.14
	@$(BIN)/python -m tests.e2e.matrix.pythons $(if $(filter-out file,$(origin N)),$(N),3.14)

page: $(PICTURES) ## Take pictures of the operator's page in Chromium, and check it with axe: DIR=build/page
	@$(BIN)/python -m tests.screens $(if $(DIR),"$(DIR)",build/page)

monitoring: $(TOOLS) ## Check metrics, alerts and the dashboard with a real Prometheus (fetched as a Debian package)
	@$(BIN)/python -m tests.debian prometheus
	@$(BIN)/pytest -q tests/observe
	@$(BIN)/python -m tests.panels

chart: $(SCHEMAS) ## Check the Helm chart with Helm and kubeconform (built with Go in 5 minutes, once)
	@$(BIN)/python -m tests.charts
	@$(BIN)/pytest -q tests/charts

demo: $(RUNTIME) ## See Espalier work, without a cluster: FLAGS=--keep stays up
	@$(BIN)/espalier demo $(FLAGS)

demo-real: control-plane ## The same story against a real kube-apiserver and etcd
	@$(BIN)/python -m tests.e2e.controlplane run -- $(BIN)/espalier demo --kubeconfig-from-env $(FLAGS)

image: ## Build the container image: IMAGE=name:tag
	docker build --tag $(IMAGE) .

image-check: control-plane ## Build the Dockerfile twice with buildah, compare, and migrate with the image (root, Debian, 10 minutes): FLAGS=image.tar keeps it
	@$(BIN)/python -m tests.release.image_check $(FLAGS)

bundle: $(TOOLS) ## Make everything that an installation without a network needs: FLAGS="--image image.tar"
	@$(BIN)/python -m tests.release.bundle $(FLAGS)
	@ESPALIER_BUNDLE="$$(ls dist/espalier-*-bundle.tar)" $(BIN)/pytest -q tests/release/test_bundle.py tests/release/test_signing.py

signing: $(TOOLS) ## Sign and verify with a real cosign, a key of its own and no network (fetched as a Debian package, root)
	@$(BIN)/python -m tests.debian cosign sid
	@$(BIN)/python -m tests.debian docker-registry
	@$(BIN)/pytest -q tests/release/test_signing.py

docs: $(TOOLS) ## Write docs/reference/{cli,rights,log-messages}.md from --help, the manifests, the source; parts of the chart
	@$(BIN)/python -m tests.docs.commands
	@$(BIN)/python -m tests.docs.log_messages
	@$(BIN)/python -m tests.docs.rights
	@$(BIN)/python -m tests.charts.generating

docs-site: $(TOOLS) ## Build the site of the documentation, and check its links: build/docs/site
	@$(BIN)/python -m tests.docs.site

lock: $(RELEASE) ## Write requirements.lock and requirements-build.lock: FLAGS=--upgrade
	@$(BIN)/python -m tests.release.lock $(FLAGS)

notices: $(TOOLS) ## Write THIRD-PARTY-NOTICES.txt from the wheels of the locked packages
	@$(BIN)/python -m tests.release.notices

sbom: $(TOOLS) ## Write a bill of materials in CycloneDX into dist
	@$(BIN)/python -m tests.release.sbom

krew: $(TOOLS) ## Make the archive of the kubectl plugin for krew, and write its manifest
	@$(BIN)/python -m tests.manifests.krew

clean: ## Take .venv and all caches away
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
