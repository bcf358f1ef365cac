# Tasks of this repository. `make help` lists them.
.DEFAULT_GOAL := help
SHELL := bash
GO ?= go
LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
# The arena and its libraries need no C code. Without it, the build is faster and needs no
# C compiler. Only the race detector needs one.
export CGO_ENABLED := 0
# RACE lists the concurrent packages, except those whose tests start programs or a
# browser: with the race detector, these tests would take half an hour.
RACE := $(patsubst %,./%/...,$(filter-out adapters/web,$(wildcard adapters/*))) ./eventstore/... ./projections/... ./domain/tournament/... ./domain/search/... ./cmd/arena/listen/... ./cmd/arena/practice/view/...
# SLOW lists the packages whose tests take longest, the slowest first. They start first,
# so that no other package has to wait for them at the end.
SLOW := $(addprefix ./,cmd/arena adapters/web eventstore/node cmd/arena/practice eventstore/esdb cmd/arena/practice/conformance eventstore/logtest/outage domain/audit adapters/referee adapters/api cmd/arena/verify adapters/botwire)

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

BIN := bin/arena

# -s and -w leave out the symbols for debuggers, 30 % of the binary. Stack traces and
# profiles do not need them.
.PHONY: build
build: ## build bin/arena
	@$(GO) build -ldflags '-s -w' -o $(BIN) ./cmd/arena

.PHONY: run
run: build ## start the arena with house bots, in a new folder
	@./bin/arena demo

# Tests use these npm modules. `make deps` installs them into the user's cache, where
# the tests look for them.
NPM_MODULES := @eventstore/db-client@6.2.1 @redocly/cli@2.77.0 @stoplight/spectral-cli@6.16.3 axe-core@4.14.1 openapi-fetch@0.17.0 openapi-typescript@7.13.0 tsx@4.23.15 typescript@5.9.3 ws@8.23.0
CACHE_DIR := $(if $(filter Darwin,$(shell uname)),$(HOME)/Library/Caches,$(or $(XDG_CACHE_HOME),$(HOME)/.cache))/hexarena
NPM_DIR := $(CACHE_DIR)/npm
# Tests use these Python packages. `make deps` installs them into the user's cache too.
PYTHON_PACKAGES := cryptography==50.0.2 duckdb==2.0.0 esdbclient==1.1.7 openapi-python-client==0.29.1 pandas==3.1.1 pyarrow==26.0.1
PYTHON_DIR := $(CACHE_DIR)/python

# Tests run this witness. It has a module of its own, so that the arena does not depend
# on its libraries. `make deps` downloads and compiles them.
LITEWITNESS := cmd/arena/testdata/litewitness

.PHONY: deps
deps: ## install the Debian packages (as root), npm modules, Python packages and Go modules that tests need; print those that cannot be installed
	@missing=; \
	for need in node:nodejs npm:npm python3:python3 chromium:chromium; do \
		command -v $${need%:*} > /dev/null || missing+=" $${need#*:}"; done; \
	python3 -c 'import ensurepip' 2> /dev/null || missing+=" python3-venv"; \
	if [ -n "$$missing" ]; then \
		if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
			apt-get update -qq && apt-get install -y -qq --no-install-recommends $$missing > /dev/null; \
		else false; fi \
		|| echo "Missing packages:$$missing. Tests of pages in a browser and of bots in other languages will be skipped. On Debian, run: apt-get install$$missing"; \
	fi
	@[ "$$(cat "$(NPM_DIR)/modules" 2> /dev/null)" = "$(NPM_MODULES)" ] || { \
		mkdir -p "$(NPM_DIR)" && npm install --prefix "$(NPM_DIR)" --no-audit --no-fund --silent $(NPM_MODULES) 2> /dev/null \
		&& echo "$(NPM_MODULES)" > "$(NPM_DIR)/modules"; } \
	|| echo "npm cannot install $(NPM_MODULES). Tests of accessibility, of the OpenAPI document, of the TypeScript bot and of the Node.js client will be skipped."
	@[ "$$(cat "$(PYTHON_DIR)/packages" 2> /dev/null)" = "$(PYTHON_PACKAGES)" ] || { \
		mkdir -p "$(CACHE_DIR)" && python3 -m venv "$(PYTHON_DIR)" && "$(PYTHON_DIR)/bin/pip" install -q --disable-pip-version-check $(PYTHON_PACKAGES) 2> /dev/null \
		&& echo "$(PYTHON_PACKAGES)" > "$(PYTHON_DIR)/packages"; } \
	|| echo "pip cannot install $(PYTHON_PACKAGES). Tests that read exports with other programs, and tests of the Python clients, will be skipped."
	@$(GO) build -C $(LITEWITNESS) -o /dev/null filippo.io/torchwood/cmd/litewitness \
	|| echo "Go cannot build litewitness. Tests of witnesses will fail."

.PHONY: test
test: deps ## run all tests
	@$(GO) run ./cmd/runtests -first "$(SLOW)"

.PHONY: flakes
flakes: deps ## look for flaky tests: run all tests FLAKES times (default 20) in random order, under different loads (LOAD: none, busy, both); RESULTS=FILE continues an interrupted hunt
	@$(GO) run ./cmd/runtests -first "$(SLOW)" -race "$(RACE)" -rounds $${FLAKES:-20} -load $${LOAD:-both} $${RESULTS:+-results "$$RESULTS"}

.PHONY: simulate
simulate: ## play SEEDS simulated histories (default 100) from the seed FROM (default 1) in JOBS processes (default: one per core)
	@$(GO) test -c -o bin/simulate.test ./cmd/arena
	@cd cmd/arena && ARENA_SIMULATE_SEEDS=$${SEEDS:-100} ARENA_SIMULATE_FROM=$${FROM:-1} ARENA_SIMULATE_JOBS=$${JOBS:-} ../../bin/simulate.test -test.timeout 0 -test.v -test.run '^TestSimulatedHistories$$'

.PHONY: screenshots
screenshots: deps ## write a picture of each page, at seven sizes and in both themes, into screenshots/
	@mkdir -p screenshots
	@ARENA_SCREENSHOTS=$(CURDIR)/screenshots $(GO) test -count=1 -timeout 1h -run 'TestEveryPageIsSoundInABrowser|TestViewRecordsInABrowser|TestPagesOfAilingBotsInABrowser|TestTrialsOnThePages|TestScreenshotsOfMatches' ./cmd/arena ./adapters/web

.PHONY: race
race: deps ## run the tests of concurrent packages under the race detector (needs a C compiler)
	@CGO_ENABLED=1 $(GO) test -race -vet=off -tags=pebblegozstd -timeout 20m $(RACE)

.PHONY: lint
lint: ## check style and imports
	@$(GO) run $(LINT) run ./...

.PHONY: bench
bench: build ## measure the figures that have a bar (a target), and print each with its bar
	@./bin/arena bench all

.PHONY: bench-more
bench-more: build ## measure read models, exports, API responses, the cost of each call, signed calls and live boards
	@./bin/arena bench projections
	@./bin/arena bench export --tables 100
	@./bin/arena bench reads
	@./bin/arena bench calls
	@$(GO) test -run xxx -bench '^BenchmarkMe$$' -cpu 1 ./adapters/api
	@./bin/arena bench live --seconds 5

.PHONY: soak
soak: build ## run the long tests (hours): 500 kills, crashes at named points, outages, disk faults, 20,000 connections, hostile callers, ten million events
	@ARENA_SOAK=1 ARENA_SOAK_KILLS=$${ARENA_SOAK_KILLS:-500} $(GO) test -count=1 -timeout 4h -run 'Soak' -skip '^TestSoakCrashesAtEveryPoint$$' ./...
	@ARENA_SOAK=1 $(GO) test -count=1 -timeout 1h -v -run '^TestSoakCrashesAtEveryPoint$$' ./cmd/arena
	@./bin/arena bench growth

.PHONY: audit-long
audit-long: ## check a ladder and its 1,000 matches with the Python checker, and compare the results with those of arena verify
	@ARENA_AUDIT=1 $(GO) test -count=1 -timeout 20m -v -run 'AuditLong' ./domain/audit

.PHONY: clients
clients: ## test the official Java and Rust clients against the node; print the tools that are missing
	@ARENA_CLIENTS=1 $(GO) test -count=1 -timeout 30m -v -run 'TestJava|TestRust' ./docs/recipes

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (default 30s)
	@set -e; for file in $$(grep -rl --include='*_test.go' '^func Fuzz' .); do \
		for target in $$(grep -oE '^func Fuzz\w+' $$file | cut -c6-); do \
			$(GO) test -run xxx -fuzz "^$$target$$" -fuzztime $${FUZZTIME:-30s} -fuzzminimizetime 10x $$(dirname $$file); \
		done; \
	done
