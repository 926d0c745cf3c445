# Two commands do it all: `make demo` and `make test`. Everything lands in .venv and .cache, once.
.PHONY: setup demo demo-all test test-fast campaigns coverage mutants check types wording site wheel image lock shell clean
.SILENT:
SHELL := bash

PYTHON ?= python3
VENV := .venv/bin
LOCKED := .venv/.locked
# Three workers, each with clusters of its own: each waits for its brokers often. One test at a time: make test PARALLEL=
PARALLEL ?= -n 3
# Otherwise, each start of Python would compile everything again.
unexport PYTHONDONTWRITEBYTECODE
# What pip says, as a number that grows; nothing in a log.
COUNT := if test -t 1; then awk '/^Collecting/ { printf "\r%d packages", ++n; fflush() } END { print "" }'; else cat >/dev/null; fi

demo: setup  ## The whole way on a real cluster: declare, deploy, fill, break, audit.
	$(VENV)/topicwarden demo

demo-all: setup  ## The demo with all its chapters: schemas (Java 21), usage, a lost broker, an alert while a watch runs.
	tests/install-prometheus demo
	$(VENV)/topicwarden demo --all

test-fast: $(LOCKED)  ## After each change, at most three minutes: ruff, and the unit tests, without JVM, broker and Pulumi.
	$(VENV)/ruff check .
	$(VENV)/ruff format --check .
	$(VENV)/pytest $(PARALLEL) tests/unit

test: setup check  ## Everything: units, then the real cluster, the real engine, real Spark, a real browser, a real Prometheus.
	tests/fetch-conformance || echo "The tests that need conformance data are skipped." >&2
	tests/install-browser || echo "The tests of HTML pages are skipped." >&2
	tests/install-prometheus || echo "The tests of metrics and alerts are skipped." >&2
	$(VENV)/pytest $(PARALLEL)

campaigns: setup  ## All random tests at full length, with new seeds: tests/campaigns/README.md. ONLY=name, SEED=number.
	$(VENV)/python -m tests.campaigns $(if $(ONLY),--only $(ONLY)) $(if $(SEED),--seed $(SEED))

coverage: setup  ## The tests again, with the branches of the Python code that they reach: at least 90 %.
	$(VENV)/pytest $(PARALLEL) --cov --cov-report=term --cov-report=xml:.cache/coverage.xml

mutants: $(LOCKED)  ## Which changes of a rule, a consequence or a check no unit test notices: docs/mutants.md.
	$(PYTHON) -m venv .cache/mutmut
	.cache/mutmut/bin/pip install --quiet mutmut==3.8.1
	ls -d $(CURDIR)/.venv/lib/python*/site-packages > $$(ls -d .cache/mutmut/lib/python*/site-packages)/project.pth
	.cache/mutmut/bin/python -P tests/mutants.py run

check: $(LOCKED)  ## Style, types, wording, and which room may import which.
	$(VENV)/ruff check .
	$(VENV)/ruff format --check .
	$(MAKE) --no-print-directory -j 2 types wording

types: $(LOCKED)
	$(VENV)/mypy
	$(VENV)/mypy benchmarks

wording: $(LOCKED)
	$(VENV)/lint-imports
	$(VENV)/python -m tests.style

site: $(LOCKED)  ## The documentation as a website in .cache/site; a broken link or anchor is an error.
	NO_MKDOCS_2_WARNING=1 $(VENV)/mkdocs build --strict --quiet --site-dir .cache/site && echo .cache/site/index.html

wheel: $(LOCKED)  ## dist/topicwarden-*.whl with the Spark reader, after a check that it serves each supported Spark line.
	$(VENV)/python -W ignore::RuntimeWarning -m topicwarden.toolchain.spark_reader
	$(VENV)/python -m hatchling build --target wheel

image: wheel  ## The container image, for this machine. docs/how-to/continuous-integration.md says how to use it.
	docker build --tag topicwarden .

setup: $(LOCKED)  ## The locked environment, Kafka, the Spark reader, Pulumi.
	$(VENV)/topicwarden sandbox install

$(LOCKED): requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "Python 3.11 or later is needed, seen: $$($(PYTHON) --version 2>&1); install it, or: make PYTHON=python3.12 setup"; exit 2; }
	echo "Installing the locked environment into .venv"
	$(PYTHON) -m venv .venv || { echo "no virtual environment: on Debian, apt-get install python3-venv"; exit 2; }
	set -o pipefail; $(VENV)/pip install --require-hashes -r requirements.lock | $(COUNT)
	$(VENV)/pip install --quiet --no-deps --no-build-isolation --editable .
	touch $(LOCKED)

shell: setup  ## A shell in which `pulumi up` and `spark-submit` work; STACK=dev where not every stack is on the sandbox.
	eval "$$($(VENV)/topicwarden sandbox env $(if $(STACK),--stack $(STACK)))" && exec "$${SHELL:-bash}"

lock:  ## Resolve requirements.lock and container/requirements.lock again, from pyproject.toml.
	$(PYTHON) -m venv .cache/uv && .cache/uv/bin/pip install --quiet uv
	.cache/uv/bin/uv pip compile pyproject.toml --all-extras --group dev --universal --python-version 3.11 \
	  --no-strip-extras --generate-hashes --no-emit-index-url --no-header --quiet --output-file requirements.lock
	.cache/uv/bin/uv pip compile pyproject.toml --extra audit --extra deploy --extra aws --constraint requirements.lock \
	  --universal --python-version 3.12 \
	  --no-strip-extras --generate-hashes --no-emit-index-url --no-header --quiet --output-file container/requirements.lock

clean:  ## Stop the sandbox and remove everything that can be made again.
	test ! -x $(VENV)/topicwarden || $(VENV)/topicwarden sandbox down
	rm -rf .venv .cache reports dist validation/spark-reader/target
