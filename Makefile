# Everything is in `roost` and `scripts/`; this file only gives it short names.
.DEFAULT_GOAL := help
BIN := .venv/bin
WITHOUT_ROOT := tests/unit tests/flows tests/style

# What `make bundle` puts into the archive.
TEMPLATES := base
PYTHONS := 3.12
WITH_TOOLS :=

.PHONY: help environment up setup test test-real test-served test-unit test-bundle soak bench bundle pictures fmt lint clean

help:
	@echo "make up         install what is missing, then serve in the foreground (needs root)"
	@echo "make setup      install what is missing, without serving (needs root)"
	@echo "make test       set-up, lint and every test (needs root)"
	@echo "make test-unit  the tests that need no root"
	@echo "make test-bundle  build a bundle and install it without a network: minutes (needs root)"
	@echo "make soak       two hundred sleeps with a live client (needs root)"
	@echo "make bench      measure against the bars; results in bench/results (needs root)"
	@echo "make bundle     write dist/roost-VERSION-linux-MACHINE.tar, for machines without a network (needs root);"
	@echo "                TEMPLATES=base,desktop or minimal, PYTHONS=3.11,3.12,3.13, WITH_TOOLS=1 for nft and mkfs.btrfs"
	@echo "make pictures   picture every page of Mission Control into docs/screenshots (needs root)"
	@echo "make fmt        format the code"
	@echo "make lint       ruff, import-linter, pyright; eslint, prettier and tsc for web/"
	@echo "make clean      remove what make made in this directory (not the home, not the cache)"

environment:
	@scripts/environment

up: environment
	@$(BIN)/roost up

setup: environment
	@$(BIN)/roost setup

test: environment
	$(BIN)/roost setup --cache-only
	$(MAKE) --no-print-directory lint
	scripts/web run -s test
	$(BIN)/pytest -n 2 $(WITHOUT_ROOT) tests/conformance
	$(BIN)/python scripts/test-packages
	$(MAKE) --no-print-directory --jobs=2 --output-sync=target test-real test-served
	$(BIN)/python scripts/test-packages browser
	$(BIN)/pytest tests/web

# Side by side: each waits for machines more than it computes. Their output comes when they end. Tests of one directory never run
# beside each other, since they share servers, addresses and names.
test-real:
	$(BIN)/pytest tests/real

test-served:
	$(BIN)/pytest tests/chaos tests/security tests/e2b

test-unit: environment
	scripts/web run -s test
	$(BIN)/pytest -n 2 $(WITHOUT_ROOT)

test-bundle: environment
	$(BIN)/roost setup --cache-only
	$(BIN)/pytest -o timeout=3600 tests/bundle

soak: environment
	$(BIN)/roost setup --cache-only
	$(BIN)/pytest -o timeout=0 tests/soak

bench: environment
	$(BIN)/roost setup --cache-only
	$(BIN)/python scripts/test-packages browser
	$(BIN)/python -m bench

bundle: environment
	@$(BIN)/python scripts/bundle --templates $(TEMPLATES) --pythons $(PYTHONS) $(if $(WITH_TOOLS),--with-tools)

pictures: environment
	$(BIN)/roost setup --cache-only
	$(BIN)/python scripts/test-packages browser
	$(BIN)/python scripts/screenshots

fmt: environment
	$(BIN)/python scripts/blocking-client
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	scripts/web run -s format

lint: environment
	$(BIN)/python scripts/blocking-client --check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/pyright
	scripts/web run -s types:check
	scripts/web run -s lint
	scripts/web run -s format:check
	scripts/web run -s check

clean:
	rm -rf .venv .uv .pytest_cache .ruff_cache .hypothesis .import_linter_cache dist web/node_modules web/dist
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +
