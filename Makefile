# Two commands matter: `make demo` and `make test`. Both bring what they need and say so.
.DEFAULT_GOAL := help
SHELL := /bin/bash
CARGO ?= cargo
# Two cores and 8 GB are enough; more are used when they are there.
JOBS ?= $(shell n=$$(nproc); echo $$(( n > 8 ? 8 : n )))

.PHONY: help setup demo test test-rust test-ui test-long test-engines bench lab heap-many lint fmt ui jmh agent deny fuzz

help: ## these lines
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

setup: ## bring what the tests need (said as it happens)
	@scripts/setup.sh test

# Without buckets, whose TLS it would compile for nothing.
demo: ## run a real JVM that gets slow, record it, and let fathom say why
	@scripts/setup.sh demo
	$(CARGO) build --profile demo -j $(JOBS) -p fathom --bin fathom --no-default-features
	target/demo/fathom demo

# What the tests in the browser need was built by those in Rust.
test: export FATHOM = $(CURDIR)/target/debug/fathom
test: export EXAMPLES = $(CURDIR)/target/debug/examples
test: export FATHOM_TEST_NOTES = $(CURDIR)/target/test-notes.txt
test: setup ## all tests, with real JVMs and a real browser
	@mkdir -p target && rm -f $(FATHOM_TEST_NOTES)
	@$(MAKE) --no-print-directory test-rust test-ui; passed=$$?; scripts/test-notes.sh $(FATHOM_TEST_NOTES); \
	  if [ $$passed = 0 ]; then echo "make test: all passed"; else echo "make test: FAILED"; exit $$passed; fi

# The importers of other viewers, with which exports are read back, are packages of the page's tests.
test-rust:
	npm --prefix ui ci --no-audit --no-fund --silent
	$(CARGO) test --workspace -j $(JOBS)

test-ui:
	@[ -d ui/node_modules ] || npm --prefix ui ci --no-audit --no-fund --silent
	npm --prefix ui run --silent check
	npm --prefix ui run --silent current
	npm --prefix ui test --silent
	npm --prefix ui run --silent browser

# Whole diagnoses of programs that need a minute each; what they look at is in short in `make test`, too.
test-long: export FATHOM_TEST_NOTES = $(CURDIR)/target/test-notes.txt
test-long: setup ## tests that take a minute each, which `make test` leaves out
	@mkdir -p target && rm -f $(FATHOM_TEST_NOTES)
	$(CARGO) test --workspace -j $(JOBS) $(addprefix --test ,agent jvm symbols) -- --ignored; \
	  passed=$$?; scripts/test-notes.sh $(FATHOM_TEST_NOTES); exit $$passed

# 1.5 GB of packages, and minutes of starting servers: not a part of `make test`.
ENGINES = target/tmp/engines-venv
test-engines: export FATHOM_FLEET_PYTHON = $(CURDIR)/$(ENGINES)/bin/python
test-engines: export FATHOM_TEST_TRINO = $(CURDIR)/target/tmp/trino-476
test-engines: ## queries of a fleet on Spark, ClickHouse, Trino and tables of Iceberg
	@[ -x $(ENGINES)/bin/python ] || python3 -m venv $(ENGINES)
	$(ENGINES)/bin/pip install -q --disable-pip-version-check duckdb chdb pandas pyarrow pyspark==4.3.0 trino 'pyiceberg[pyarrow,sql-sqlite]'
	scripts/trino.sh $(FATHOM_TEST_TRINO)
	$(CARGO) test -p fathom-fleet -j $(JOBS) --test engines -- --ignored --nocapture

bench: ## fathom compared with its rivals, and its time by the size of its input (PARTS='logs flights profilers observers' MEGABYTES=400 ROUNDS=3 ONLY=growth JITWATCH=class path)
	bench/run

lab: ## faults with a known cause, and how often fathom names it (ARGS='run --quick', 'score')
	$(CARGO) build --release -j $(JOBS) --bin fathom
	lab/run $(or $(ARGS),list)

heap-many: ## a heap dump of more than 2³¹ objects (39 GB of disk in TMPDIR, 8 GB of memory)
	$(CARGO) test --release -p fathom-heap --test many -- --ignored

lint: ## formatting, sizes of files, words of the field, circles of modules, Biome, clippy, dependencies' licences and advisories; all warnings are errors
	$(CARGO) fmt --all --check
	scripts/house.py
	@[ -x ui/node_modules/.bin/biome ] || npm --prefix ui ci --no-audit --no-fund --silent
	npm --prefix ui run --silent lint
	$(CARGO) clippy --workspace --all-targets -j $(JOBS) -- -D warnings
	scripts/deny.sh

deny: ## licences, sources and advisories of the dependencies
	scripts/deny.sh

fuzz: ## every fuzz target for SECONDS_EACH (60)
	scripts/fuzz.sh $(or $(SECONDS_EACH),60)

fmt: ## format the code
	$(CARGO) fmt --all
	npm --prefix ui run --silent format

ui: ## rebuild the report's page into crates/render/assets
	npm --prefix ui ci --no-audit --no-fund
	npm --prefix ui run build

jmh: ## the profiler of JMH as jmh/target/fathom-jmh.jar (needs maven)
	mvn -q -B -f jmh/pom.xml package
	@echo jmh/target/fathom-jmh.jar

agent: ## the agent of fathom method --way agent as jvmagent/target/fathom-calls.jar (needs maven)
	mvn -q -B -f jvmagent/pom.xml package
	@echo jvmagent/target/fathom-calls.jar
