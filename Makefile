# Every target sets up and uses .venv in this checkout. Only the cluster targets need root.
# JOBS=N sets the number of test processes, GO=1 adds the Go reference to the benchmark.

.DEFAULT_GOAL := help
.PHONY: help demo test test-all check lint types shell schemas links bench clean tools \
	cluster cluster-down image e2e soak latency fuzz

VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check install --quiet
SHELLS := dash busybox mksh posh yash
# One more than cores: many tests of the hook wait. worksteal, because a few tests take a hundred times longer than most.
JOBS ?= $(shell n=$$(nproc 2>/dev/null || echo 2); [ $$n -gt 7 ] && n=7; echo $$((n + 1)))
HAS_ENGINE := $(PY) -c 'import xllamacpp' 2>/dev/null
PYTEST := $(PY) -m pytest -n $(JOBS) --dist worksteal -q

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

demo: $(VENV)/.demo ## admission reviews over TLS, then a real engine ended without and with the hook
	@$(HAS_ENGINE) || { echo "the llama.cpp server needs a library that is missing: sudo apt-get install libgomp1"; exit 1; }
	@$(PY) -m demo

test: $(VENV)/.dev tools ## the tests that take minutes at most (the real engine among them)
	@$(PYTEST) -m "not slow and not cluster and not e2e"

test-all: $(VENV)/.dev tools ## every test, the full matrices too (SLOW=1: only those that make test leaves out)
	@$(PYTEST) -m "$(if $(SLOW),slow and )not cluster and not e2e"

check: lint types shell schemas links ## ruff, mypy, shellcheck, checkbashisms, schemas of manifests, links of docs

lint: $(VENV)/.dev
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .

types: $(VENV)/.dev
	@$(VENV)/bin/mypy

shell: $(VENV)/.dev
	@$(VENV)/bin/shellcheck drain_scripts/*.sh .ci/run
	@if command -v checkbashisms >/dev/null; then checkbashisms drain_scripts/*.sh && echo "checkbashisms: no bashisms"; \
	else echo "checkbashisms is missing, this check is left out: sudo apt-get install devscripts"; fi

schemas: $(VENV)/.dev
	@$(PY) -m tests.checks.schemas

links: $(VENV)/.dev
	@$(PY) -m tests.checks.links

bench: $(VENV)/.dev ## speed and memory beside their goals (GO=1: also a Go webhook, in the same run)
	@GO=$(GO) $(PY) -m tests.benchmarks

# KUBERNETES=1.36.4 builds another version than tests/cluster/go.mod pins; PROVIDER=kind or minikube uses that tool.
CLUSTER = $(PY) -m tests.cluster
CLUSTER_OPTIONS = $(if $(KUBERNETES),--kubernetes $(KUBERNETES)) $(if $(PROVIDER),--provider $(PROVIDER))

cluster: $(VENV)/.dev ## a real Kubernetes on this machine, with the images of the tests (root, Debian)
	@$(CLUSTER) up $(CLUSTER_OPTIONS)

cluster-down: $(VENV)/.dev ## end it and look for leftovers
	@$(CLUSTER) down $(CLUSTER_OPTIONS)

image: $(VENV)/.dev ## the image of the Dockerfile, built by docker or buildah, and its size; put on the cluster's node
	@$(CLUSTER) image

# ROUNDS=1 SHORT=1 is the form of CI; JOBS_E2E=3 tells more stories at a time; ENGINE=vllm: the story of a real vLLM.
STORIES = $(PY) -m tests.e2e $(if $(JOBS_E2E),--jobs $(JOBS_E2E))

e2e: $(VENV)/.dev ## the stories on that cluster: disruptions under load, with and without drainhook, three times each
	@$(STORIES) $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(SHORT),--short) $(if $(ENGINE),--engine $(ENGINE))

soak: JOBS_E2E ?= 4
soak: $(VENV)/.dev ## the same, twenty times each, four stories at a time (more than an hour)
	@$(STORIES) --rounds 20 --requests 10000 --endings 200

latency: $(VENV)/.dev ## what the webhook adds to the creation of a pod on that cluster
	@$(PY) -m tests.latency

# COUNT=100000 is the long form; SEED=text gives other pods; LIVE=0 leaves out the dry runs on the cluster.
fuzz: $(VENV)/.dev ## generated pods, judged by Kubernetes' own validation without and with the patch
	@$(PY) -m tests.fuzz $(if $(COUNT),--count $(COUNT)) $(if $(SEED),--seed $(SEED)) $(if $(LIVE),--live $(LIVE))

clean: ## remove what the targets made
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- set-up -----------------------------------------------------------------------------------------------------

# The first interpreter that is new enough and can make environments, else the first that is new enough (to say what
# it lacks). A version manager's shim may be there and not run.
PYTHON ?= $(shell for needs in 'ensurepip, venv, sys' sys; do \
	for p in python3.13 python3.12 python3.11 python3 python3.14; do \
	$$p -c "import $$needs; sys.exit(sys.version_info < (3, 11))" 2>/dev/null && echo $$p && break 2; done; done)

$(PY):
	@if [ -z "$(PYTHON)" ]; then echo "Python 3.11 or later is missing: sudo apt-get install python3 python3-venv"; exit 1; fi
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "$(PYTHON) cannot make a virtual environment: sudo apt-get install python3-venv"; exit 1; }
	@echo "setting up $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.dev: pyproject.toml | $(PY)
	@echo "installing drainhook and its test tools into $(VENV)"
	@$(PIP) -e '.[dev,engine]'
	@touch $(VENV)/.dev $(VENV)/.demo

$(VENV)/.demo: pyproject.toml | $(PY)
	@echo "installing drainhook and a llama.cpp server into $(VENV)"
	@$(PIP) -e '.[serve,engine]'
	@touch $(VENV)/.demo

tools:
	@$(HAS_ENGINE) || echo "a library is missing, tests of the real engine are skipped: sudo apt-get install libgomp1"
	@missing=; for s in $(SHELLS); do command -v $$s >/dev/null || missing="$$missing $$s"; done; \
	[ -z "$$missing" ] || echo "missing shells, their tests are skipped: sudo apt-get install$$missing"
