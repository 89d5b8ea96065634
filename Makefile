# Two commands matter: `make demo` and `make test`. README shows the same steps without make.
PYTHON ?= python3
BIN    := .venv/bin
DATA   ?= data
TRIALS ?= 5
RUNS   ?= 9

.PHONY: demo test check slow bench lock format clean

demo: .venv/.ready
	PATH="$(CURDIR)/$(BIN):$$PATH" TRIALS=$(TRIALS) RUNS=$(RUNS) DATA="$(DATA)" sh evals/demo.sh

test: .venv/.ready-dev
	$(MAKE) check

check:
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	PYTHONPATH=. $(BIN)/lint-imports
	$(BIN)/nbstripout --verify --keep-id notebooks/*.ipynb
	$(BIN)/pytest -q

slow: .venv/.ready-dev
	$(BIN)/pytest -q -m "slow or not slow"

bench: .venv/.ready-dev
	$(BIN)/python benchmarks/bench_runner.py

format:
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The locks hold versions and hashes, never the address of an index.
lock: .venv/.uv
	$(BIN)/uv pip compile -q pyproject.toml --universal --python-version 3.11 --generate-hashes --no-header --no-annotate -o requirements.lock
	$(BIN)/uv pip compile -q pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes --no-header --no-annotate -o requirements-dev.lock

.venv/.uv:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q --disable-pip-version-check uv
	touch $@

.venv/.ready: .venv/.uv requirements.lock pyproject.toml
	$(BIN)/uv pip install -q --python $(BIN)/python --require-hashes -r requirements.lock
	$(BIN)/uv pip install -q --python $(BIN)/python --no-deps -e .
	touch $@

.venv/.ready-dev: .venv/.uv requirements-dev.lock pyproject.toml
	$(BIN)/uv pip install -q --python $(BIN)/python --require-hashes -r requirements-dev.lock
	$(BIN)/uv pip install -q --python $(BIN)/python --no-deps -e .
	touch $@

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache
