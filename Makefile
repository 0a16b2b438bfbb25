# The guide to this project: `make help`.
#
#   PYTHON=python3.12  takes that interpreter instead of the newest supported one
#   TESTS=tests/unit   tests only that
#   MODULES=test_io    cpython-tests runs only these
#   WRITE=1            coverage writes tests/coverage.toml anew

PYTHON ?=
TESTS ?= tests
VENV := .venv
NODE = $${LOOMLET_BENCH_DIR:-$${XDG_CACHE_HOME:-$$HOME/.cache}/loomlet/bench}/node
RUN := $(VENV)/bin/python -m
C_FILES = $(shell find src/core tests/core -name '*.[ch]')
QUICK = $(RUN) pytest -q -p no:cacheprovider -m 'not slow and not stress'
CORE_BEHAVIOUR := tasklets switching channels select scopes locks stackless exceptions threads \
    preemption freezing garbage testing

.DEFAULT_GOAL := help
.PHONY: help build demo peers test stress conformance check cpython-tests coverage format clean \
    check-form check-mypy check-types check-unit check-behaviour

help:    ## this list
	@sed -n 's/^\([a-z]*\):.*## */  make \1\t/p' Makefile | expand -t 16

build:   ## make .venv with the newest supported Python, build and install into it
	@PYTHON='$(PYTHON)' tools/setup $(VENV)

demo: build  ## the founding experiments beside their peers, a table and a report page
	@$(RUN) loomlet bench demo

peers: build ## install the peers of the benchmarks that pip and npm have
	@for peer in dill greenlet gevent uvloop '--pre tealet' \
	    granian uvicorn httptools fastpysgi gunicorn hypercorn websockets \
	    flask 'psycopg[binary]' psycopg-pool fastapi asyncpg; do \
	    $(RUN) pip install -q --only-binary :all: $$peer || echo "no $$peer for this Python"; done
	@$(RUN) pip install -q bjoern >/dev/null 2>&1 || echo "no bjoern: it needs libev's headers"
	@$(RUN) pip install -q socketify >/dev/null 2>&1 || echo "no socketify for this Python"
	@npm install --silent --prefix $(NODE) http-server || echo "no http-server: it needs npm"

test: build  ## every test
	@$(RUN) pytest $(TESTS)

stress: build ## only the long random programs and searches, which `make test` runs too
	@$(RUN) pytest -m stress tests/stress tests/core

conformance: build ## h2spec against the server; gets it by Go
	@command -v h2spec >/dev/null || test -x $(HOME)/go/bin/h2spec || \
	    GOBIN=$(HOME)/go/bin go install github.com/summerwind/h2spec/cmd/h2spec@latest
	@$(RUN) pytest tests/behaviour/http/test_conformance.py

check: build ## what a reviewer runs, in three minutes: form, types, structure, the core's behaviour
	@$(VENV)/bin/python -c 'import clang_format, mypy, ruff' || { \
	    echo 'loomlet: this Python has no clang-format, mypy or ruff: make check PYTHON=3.13'; \
	    exit 1; }
	@$(MAKE) --no-print-directory -k -j2 -O check-form check-types check-unit check-behaviour

check-form:
	$(RUN) ruff format --check .
	$(RUN) ruff check .
	$(VENV)/bin/clang-format --dry-run --Werror $(C_FILES)

check-mypy:
	$(RUN) mypy

check-types: check-mypy
	$(QUICK) tests/typing

check-unit:
	$(QUICK) tests/structure tests/unit tests/core

check-behaviour:
	$(QUICK) $(addprefix tests/behaviour/,$(CORE_BEHAVIOUR))

cpython-tests: ## CPython's own tests of what loomlet patches, on 3.13, some ten minutes
	@PYTHON=3.13 tools/setup .envs/3.13 test
	@.envs/3.13/bin/python tools/cpython_tests/run.py $(MODULES)

coverage: ## lines that the tests reach, per room, against tests/coverage.toml
	@LOOMLET_COVERAGE=ON PYTHON=3.13 tools/setup .envs/coverage \
	    test,test-libraries,test-programs,coverage
	@.envs/coverage/bin/python tools/coverage/measure.py $(if $(WRITE),--write)

format: build ## put all sources into the common form
	$(RUN) ruff check -q --fix-only .
	$(RUN) ruff format .
	$(VENV)/bin/clang-format -i $(C_FILES)

clean:   ## remove all that was made
	rm -rf $(VENV) .envs build dist .pytest_cache .mypy_cache .ruff_cache
	find src tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
