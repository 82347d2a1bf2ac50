# Everything a developer or CI runs. Needs make and Python 3.11 or newer; each target makes its environment in .venv
# when it is absent or the locks have changed. PYTHON=/path/to/python3.12 chooses another interpreter.

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?=
PYTEST_ARGS ?=
DEMO_ARGS ?=
BENCH_ARGS ?=
# Keeps what Python compiles also where the shell says otherwise: the tests and the demo start dozens of processes, and
# each would compile every module anew.
export PYTHONDONTWRITEBYTECODE :=
# A resolver for the locks only; what is installed comes from the locks. Extras stay in them: the pip that comes with
# Python 3.11 does not see a pin without its extra, and takes a newer release that has no hash here.
COMPILE := $(BIN)/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-strip-extras
# What the tests run in. Tools, and a driver for browsers, are half of all that would be fetched: `make test` does without
# them, unless there is a Chromium to try the pages in.
CHROMIUM := $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)
TESTED_IN := $(if $(CHROMIUM),.dev,.tests)
# Not compiled beforehand: most modules of the larger packages are never imported, and it takes longer than the download.
PIP := $(BIN)/python -u -m pip --disable-pip-version-check install --require-virtualenv --no-compile
# pip says three lines a package; here one line counts them, in its place where there is a terminal. What goes wrong pip
# says on standard error. A pipe in sh ends as its last part does, hence the word that tells of a failure.
INSTALL = @all=$$(grep -c '^[a-z].*==' $<); n=0; say() { \
		if [ -t 1 ]; then printf '\r\033[K  %s' "$$1"; elif [ -n "$$2" ]; then echo "  $$1"; fi; }; \
	{ $(PIP) --progress-bar off --require-hashes -r $< || echo FAILED; } | { \
		while read -r word rest; do case $$word in \
			Collecting|Ignoring) n=$$((n + 1)); say "package $$n of $$all: $${rest%% *}" "$$([ $$((n % 20)) != 0 ] || echo 1)" ;; \
			Installing) say "unpacking them ..." 1 ;; \
			Successfully) say "done." 1 ;; \
			FAILED) exit 1 ;; \
		esac; done; [ ! -t 1 ] || echo; }

.PHONY: help demo test check control-plane format bench lock clean

help:
	@echo "make demo            watch a sick GPU being repaired on a simulated cluster   (DEMO_ARGS=...)"
	@echo "make test            run all tests                                            (PYTEST_ARGS=...)"
	@echo "make control-plane   build a real control plane for the tests, once; needs Go"
	@echo "make check           formatting, lint, types, and who may import whom"
	@echo "make format          put the formatting right"
	@echo "make bench           measure on a simulated cluster, and on a real API server (BENCH_ARGS=...)"
	@echo "make lock            write the locks anew from pyproject.toml                 (UPGRADE=--upgrade)"
	@echo "make clean           remove the environment and all caches"

demo: $(VENV)/.runtime
	@$(BIN)/sickbay demo $(DEMO_ARGS)

bench: $(VENV)/.runtime
	@$(BIN)/python -m tests.control_plane.bench $(BENCH_ARGS)

test: $(VENV)/$(TESTED_IN)
	$(BIN)/python -m pytest -n auto --dist worksteal $(PYTEST_ARGS)

# Some minutes of compiling into ~/.cache/sickbay. Without it, tests that need it are skipped.
control-plane: $(VENV)/.runtime
	$(BIN)/python -m tests.control_plane.binaries
	$(BIN)/python -m tests.chart.helm

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/hadolint Dockerfile images/*/Dockerfile

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lock: $(VENV)/.dev
	UV_CUSTOM_COMPILE_COMMAND="make lock" $(COMPILE) $(UPGRADE) --group build -o requirements.lock
	UV_CUSTOM_COMPILE_COMMAND="make lock" $(COMPILE) $(UPGRADE) --group dev -c requirements.lock -o requirements-dev.lock
	UV_CUSTOM_COMPILE_COMMAND="make lock" $(COMPILE) --group build --group tests -c requirements-dev.lock -o requirements-tests.lock

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage .coverage.* htmlcov
	find app workers simulator tests -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps say what the environment holds: .runtime what the image needs, .tests what most tests need besides, .dev all.
$(VENV)/.runtime: requirements.lock pyproject.toml | $(BIN)/python
	@echo "Installing what Sickbay runs on into $(VENV) ..."
	$(INSTALL)
	@$(PIP) --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.tests: requirements-tests.lock pyproject.toml | $(BIN)/python
	@echo "Installing what Sickbay runs on, and what its tests need, into $(VENV) ..."
	$(INSTALL)
	@$(PIP) --quiet --no-deps --no-build-isolation --editable .
	@touch $(VENV)/.runtime $@

$(VENV)/.dev: requirements-dev.lock pyproject.toml | $(BIN)/python
	@echo "Installing what Sickbay runs on, and the tools to test and check it, into $(VENV) ..."
	$(INSTALL)
	@$(PIP) --quiet --no-deps --no-build-isolation --editable .
	@touch $(VENV)/.runtime $(VENV)/.tests $@

# The first of these that is new enough. Each is run, since a name on the PATH may be a shim for nothing.
$(BIN)/python:
	@for python in $(if $(PYTHON),"$(PYTHON)",python3 python3.14 python3.13 python3.12 python3.11); do \
		if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found=$$python; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
		echo "Sickbay needs Python 3.11 or newer; $(or $(PYTHON),python3) is $$("$(or $(PYTHON),python3)" --version 2>/dev/null || echo absent)." >&2; \
		echo "Install one, or name it: make PYTHON=/path/to/python3.12 ..." >&2; exit 1; \
	fi; \
	echo "Making $(VENV) with $$("$$found" --version) ..."; \
	"$$found" -m venv $(VENV) || { \
		rm -rf $(VENV); \
		echo "This Python cannot make virtual environments. On Debian or Ubuntu: apt install python3-venv" >&2; exit 1; \
	}
