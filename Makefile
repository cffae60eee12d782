# Every target does its own set-up: Python 3.11 or newer, make and git are enough to begin with.

PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$python && break; \
	done)
BIN := .venv/bin
INSTALLED := .venv/.installed
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --custom-compile-command "make lock"
# Workers share a Temporal server, and few have a control plane; many more than cores, because what runs in real
# time mostly waits.
# In the order of collection, which puts the longest first, and not the files with the most tests.
SIDE_BY_SIDE := --numprocesses 7 --dist loadfile --no-loadscope-reorder
# Each of the many processes that tests start would compile our modules anew.
unexport PYTHONDONTWRITEBYTECODE
GO_TOOLCHAIN := tools/devcluster/controlplane/go-toolchain

.PHONY: types tests help install packages servers helm demo test fast bench format lock release histories conformance english site

help: ## this list
	@grep -E '^[a-z]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 10

packages: $(INSTALLED) ## the Python packages alone: enough for `paramedic demo --context NAME`

install: $(INSTALLED) servers ## set everything up, and nothing else

demo: install ## a node fails and is remediated, on a control plane of its own
	@$(BIN)/paramedic demo

test: install helm ## everything that must be true of a commit
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	@$(MAKE) --no-print-directory --jobs 2 types tests

types:
	@# A new clone checks only the files that the last one on this machine did not have.
	MYPY_CACHE_DIR="$${XDG_CACHE_HOME:-$$HOME/.cache}/paramedic/mypy" $(BIN)/mypy
	$(BIN)/lint-imports

tests:
	@# Compiled once here, and not by each worker.
	@test -d tests/__pycache__ || $(BIN)/pytest --collect-only --quiet --quiet >/dev/null
	$(BIN)/pytest $(SIDE_BY_SIDE) --every-right-is-used

fast: $(INSTALLED) ## the inner loop: the same without what starts a control plane or programs, or replays
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest $(SIDE_BY_SIDE) -m "not cluster" --ignore tests/cli --ignore tests/devcluster \
		--ignore tests/workflows/test_without_a_detector.py --ignore tests/workflows/test_recorded_histories.py

bench: install ## the figures, beside their goals; about twenty minutes
	@$(BIN)/python -m bench

format: $(INSTALLED) ## lay the code out, and mend what can be mended
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

release: $(INSTALLED) ## VERSION=1.2.3 IMAGE=registry/name [SIGN_KEY=key.pem] [DOWNLOAD_URL=https://…]: what is published of a version, into dist/
	@test -n "$(VERSION)" -a -n "$(IMAGE)" || { echo "Say which: make release VERSION=1.2.3 IMAGE=registry.example.com/paramedic" >&2; exit 2; }
	@rm -rf dist.new
	@$(BIN)/python -m release "$(VERSION)" --image "$(IMAGE)" --into dist.new $(if $(SIGN_KEY),--sign-key "$(SIGN_KEY)") $(if $(DOWNLOAD_URL),--download-url "$(DOWNLOAD_URL)")
	@rm -rf dist && mv dist.new dist

histories: $(INSTALLED) ## record the incidents that have no history yet: see CONTRIBUTING.md
	@$(BIN)/python -m tests.histories.record

conformance: $(INSTALLED) ## write docs/conformance.md, and the tests of each rule to dist/
	@$(BIN)/python -m tests.conformance

site: $(INSTALLED) ## build the site of the documentation into dist/site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --config-file tools/site/mkdocs.yml
	@echo "open dist/site/index.html"

english: $(INSTALLED) ## write the numbers of hard sentences after some were rewritten: see CONTRIBUTING.md
	@$(BIN)/python -m tests.english

# Versions that fit stay: delete requirements.lock first to take the newest of everything.
lock: $(INSTALLED) ## write the lock files anew after a change of the dependencies
	$(COMPILE) --extra dev --extra tracing --output-file requirements.lock pyproject.toml
	$(COMPILE) --extra tracing --constraint requirements.lock --output-file deploy/image/requirements.lock pyproject.toml
	$(COMPILE) --output-file $(GO_TOOLCHAIN).txt $(GO_TOOLCHAIN).in

servers: $(INSTALLED)
	@$(BIN)/python -m devcluster.assets

# Only tests need them: Helm renders the chart, promtool reads the alerts.
helm: $(INSTALLED)
	@$(BIN)/python -m devcluster.go_programs

$(INSTALLED): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "Paramedic needs Python 3.11 or newer: install it, or say where it is with PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Paramedic needs Python 3.11 or newer, and $(PYTHON) is older: name another with PYTHON=..." >&2; exit 1; }
	@echo "installing Python packages into .venv"
	@$(PYTHON) -m venv .venv
	@# The wheels stay: from those of the image a test builds what an image contains, without a network.
	@$(BIN)/python -m pip download --disable-pip-version-check --progress-bar=on --require-hashes --no-deps \
		--dest .venv/wheels -r requirements.lock
	@$(BIN)/python -m pip install --disable-pip-version-check --quiet --require-hashes --no-deps \
		--no-index --find-links .venv/wheels -r requirements.lock
	@$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-index --no-deps --no-build-isolation --editable .
	@touch $(INSTALLED)
