# Two commands on a bare machine with Python 3.11+ and make: `make run`, `make test`.
.DEFAULT_GOAL := help
.PHONY: help run check test test-long bench conformance build e2e e2e-long licences audit mutate fuzz format clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WORKERS ?= 2
SAM := $(BIN)/python -m infra.packaging.sam
export ARCHITECTURE ?= arm64
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

help: ## Show the commands
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

$(READY): pyproject.toml uv.lock
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed")'
	test -x $(BIN)/uv || { $(PYTHON) -m venv $(VENV) && $(BIN)/python -m pip install --quiet uv; }
	UV_PROJECT_ENVIRONMENT=$(VENV) $(BIN)/uv sync --quiet --frozen --inexact --python $(BIN)/python
	touch $@

run: $(READY) ## Serve HTTP and MCP on 127.0.0.1:3000 (PORT, DYNAMODB_ENDPOINT)
	@$(BIN)/python -m infra.local

check: $(READY) ## Lint, format, types, import rules, template
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/cfn-lint template.yaml

test: $(READY) ## The tests: all on moto, then the integration suite on MiniStack
	$(PYTEST) -m "not long"
	$(PYTEST) -m "integration and not long" --engine=ministack

test-long: $(READY) ## The tests that take minutes, on MiniStack
	$(PYTEST) -m long --engine=ministack

bench: $(READY) ## Calls, rows and time of each verb
	$(BIN)/python -m infra.bench

conformance: $(READY) ## The official MCP conformance suite (needs Node 22)
	infra/mcp/conformance.sh

build: $(READY) ## Validate the template and build every bundle (ARCHITECTURE; needs Python 3.13)
	$(SAM) validate --lint
	$(SAM) build
	$(BIN)/python -m infra.supply sbom .aws-sam/sbom.json

e2e: $(READY) ## Deploy to a local emulator with IAM enforced, ask everything, delete (needs Python 3.13)
	$(BIN)/python -m infra.e2e

e2e-long: $(READY) ## The same, and take each right from each role
	$(BIN)/python -m infra.e2e --rights

licences: $(READY) ## List the licences of what is shipped, in docs/licences.md
	$(BIN)/python -m infra.supply licences

audit: $(READY) ## Known vulnerabilities of what is locked (asks a public service)
	mkdir -p .aws-sam
	$(BIN)/uv --quiet export --frozen --no-emit-project --all-groups --output-file .aws-sam/requirements.txt
	$(BIN)/uv tool run pip-audit==2.10.1 --disable-pip --require-hashes --requirement .aws-sam/requirements.txt

mutate: $(READY) ## Mutants of the rules, and which of them live (docs/mutation.md)
	$(BIN)/python -m tests.mutation

fuzz: $(READY) ## Schemathesis against what `make run` serves (PORT)
	$(BIN)/uv tool run schemathesis==4.32.5 run http://127.0.0.1:$(or $(PORT),3000)/openapi.json \
	  --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance \
	  --header "Authorization: Bearer $$($(BIN)/python -c 'from infra.local.events import dev_token; from infra.local.serve import OPERATOR; print(dev_token(OPERATOR))')"

format: $(READY) ## Format and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean: ## Remove what was built, and the local store
	rm -rf $(VENV) .aws-sam .hopscope .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
