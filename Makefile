# make repro: regenerate every table and leaderboard.  make test: run the test suite.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready-$(shell cksum requirements.lock | cut -d' ' -f1)
RUN := PATH="$(CURDIR)/$(BIN):$$PATH"

.PHONY: repro test test-long check lock clean
.DEFAULT_GOAL := repro

$(READY): requirements.lock
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; set PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	rm -f $(VENV)/.ready-*
	touch $@

repro: $(READY)
	$(RUN) dvc repro
	@echo; echo "The leaderboard is reports/leaderboard.md; its lineage is reports/manifest.json."

test: check
	$(RUN) python -m pytest -n 2 -m "not long"

test-long: check
	$(RUN) python -m pytest -n 2

check: $(READY)
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy

# New pins, from the names in pyproject.toml.
lock:
	$(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet --disable-pip-version-check ".[dev]"
	{ echo '# Every package of the environment, pinned. Made by `make lock`.'; \
	  build/lock/bin/python -m pip freeze --exclude ctxeval-pipeline; } > requirements.lock

clean:
	rm -rf $(VENV) build
