# make run · test · check · contract · bench · fuzz · lock
PYTHON ?= python3
BIN := .venv/bin

export PYTHONPATH := .

.PHONY: run test check format contract fuzz bench lock

run: .make/run
	$(BIN)/python -m service

test: .make/dev
	$(BIN)/pytest -q -n 2

check: .make/dev
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

format: .make/dev
	$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

contract: .make/dev
	$(BIN)/python -m service.api.contract > openapi/openapi.json

lock: .make/dev
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 pyproject.toml -o deploy/requirements.txt
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 pyproject.toml --extra dev -c deploy/requirements.txt -o deploy/requirements-dev.txt

# Installed from hashed locks, once for each change of a lock.
.venv:
	$(PYTHON) -m venv .venv

.make/run: deploy/requirements.txt | .venv
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r $<
	@mkdir -p .make && touch $@

.make/dev: deploy/requirements-dev.txt | .venv
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r $<
	@mkdir -p .make && touch .make/run $@
