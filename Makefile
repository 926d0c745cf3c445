# Two commands do it all: `make demo` and `make test`. Everything lands in .venv and .cache, once.
.PHONY: setup packages demo demo-all test test-fast campaigns coverage mutants check static types wording site wheel image lock shell clean
.SILENT:
SHELL := bash

PYTHON ?= python3
VENV := .venv/bin
# Three workers, each with clusters of its own: each waits for its brokers often. One test at a time: make test PARALLEL=
PARALLEL ?= -n 3
# Otherwise, each start of Python would compile everything again.
unexport PYTHONDONTWRITEBYTECODE
# Each lock has the hashes of all its packages.
COMPILE := .cache/tools/bin/uv pip compile --universal --no-strip-extras --generate-hashes --no-emit-index-url --no-header --quiet

demo:  ## The main job on a real cluster: declare, deploy, fill, break, audit.
	$(PYTHON) -m tools.set_up demo
	$(VENV)/topicwarden demo

demo-all:  ## The demo with all its chapters: a contract, schemas (Java 21), usage, a lost broker, an alert while a watch runs.
	$(PYTHON) -m tools.set_up demo
	tests/install-prometheus demo
	$(VENV)/topicwarden demo --all

test-fast: packages  ## After each change, at most three minutes: ruff, and the unit tests, without JVM, broker and Pulumi.
	$(VENV)/ruff check .
	$(VENV)/ruff format --check .
	$(VENV)/python -m tests.style
	$(VENV)/pytest $(PARALLEL) tests/unit

test: setup static  ## Everything: units, then the real cluster, the real engine, real Spark, a real browser, a real Prometheus.
	tests/fetch-conformance || echo "The tests that need conformance data are skipped." >&2
	tests/install-browser || echo "The tests of HTML pages are skipped." >&2
	tests/install-prometheus || echo "The tests of metrics and alerts are skipped." >&2
	$(VENV)/pytest $(PARALLEL)

campaigns: setup  ## All random tests at full length, with new seeds: tests/campaigns/README.md. ONLY=name, SEED=number.
	$(VENV)/python -m tests.campaigns $(if $(ONLY),--only $(ONLY)) $(if $(SEED),--seed $(SEED))

coverage: setup  ## The tests again, with the branches of the Python code that they reach: at least 90 %.
	$(VENV)/pytest $(PARALLEL) --cov --cov-report=term --cov-report=xml:.cache/coverage.xml

mutants: packages  ## Which changes of a rule, a consequence or a check no unit test notices: docs/mutants.md.
	$(PYTHON) -m venv .cache/mutmut
	.cache/mutmut/bin/pip install --quiet mutmut==3.8.1
	ls -d $(CURDIR)/.venv/lib/python*/site-packages > $$(ls -d .cache/mutmut/lib/python*/site-packages)/project.pth
	.cache/mutmut/bin/python -P tests/mutants.py run

check: static  ## Style, types, wording, which package may import which, and whether pages and schemas are those of the code.
	$(VENV)/pytest --quiet tests/unit/test_pages.py tests/unit/test_documents.py tests/unit/check/test_editors.py

static: packages
	$(VENV)/ruff check .
	$(VENV)/ruff format --check .
	$(MAKE) --no-print-directory -j 2 types wording

types: packages
	$(VENV)/mypy
	$(VENV)/mypy benchmarks

wording: packages
	$(VENV)/lint-imports
	$(VENV)/python -m tests.style

site: packages  ## The documentation as a website in .cache/site; a broken link or anchor is an error.
	NO_MKDOCS_2_WARNING=1 $(VENV)/mkdocs build --strict --quiet --site-dir .cache/site && echo .cache/site/index.html

wheel:  ## dist/topicwarden-*.whl with the Spark reader, after a check that it serves each supported Spark line.
	$(PYTHON) -m tools.set_up wheel

image: wheel  ## The container image, for this machine. docs/how-to/continuous-integration.md says how to use it.
	docker build --tag topicwarden .

setup:  ## The locked environment, Kafka, the Spark reader, Pulumi.
	$(PYTHON) -m tools.set_up all

packages:
	$(PYTHON) -m tools.set_up packages

shell: setup  ## A shell in which `pulumi up` and `spark-submit` work; STACK=dev where not every stack is on the sandbox.
	eval "$$($(VENV)/topicwarden sandbox env $(if $(STACK),--stack $(STACK)))" && exec "$${SHELL:-bash}"

lock:  ## Resolve the locks of Python packages again: of the repository, the demo, the image and the tools.
	$(PYTHON) -m tools.python_environment tools
	$(COMPILE) pyproject.toml --all-extras --group dev --python-version 3.11 --output-file requirements.lock
	$(COMPILE) pyproject.toml --extra audit --extra deploy --group demo --constraint requirements.lock \
	  --python-version 3.11 --output-file requirements-demo.lock
	$(COMPILE) pyproject.toml --extra audit --extra deploy --extra aws --extra openlineage --constraint requirements.lock \
	  --python-version 3.12 --output-file container/requirements.lock
	$(COMPILE) tools/requirements.in --constraint requirements.lock --python-version 3.11 --output-file tools/requirements.lock

clean:  ## Stop the sandbox and remove everything that can be made again.
	test ! -x $(VENV)/topicwarden || $(VENV)/topicwarden sandbox down
	rm -rf .venv .cache reports dist validation/spark-reader/target
