# What a person can do here. `make help` lists it.
.DEFAULT_GOAL := help
SHELL := bash
GO ?= go
LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
# The packages in which goroutines meet, and those of them that need no process
# or server of their own.
RACE := ./adapters/... ./eventstore/... ./projections/... ./cmd/...
QUICK_RACE := ./adapters/... ./eventstore ./eventstore/memory ./eventstore/logtest/... ./projections/...

.PHONY: help
help: ## list what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

.PHONY: build
build: ## build ./bin/arena
	@$(GO) build -o bin/arena ./cmd/arena

.PHONY: run
run: build ## start the arena with house bots, in a fresh folder
	@./bin/arena demo

.PHONY: deps
deps: ## install the Debian packages that tests use, where root; elsewhere name them
	@missing=; \
	command -v node > /dev/null || missing+=" nodejs"; \
	command -v python3 > /dev/null || missing+=" python3"; \
	if [ -n "$$missing" ]; then \
		if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
			apt-get update -qq && apt-get install -y -qq --no-install-recommends $$missing > /dev/null; \
		else false; fi \
		|| echo "Bots in other languages are not tested. On Debian: apt-get install$$missing"; \
	fi

.PHONY: test
test: deps ## run all tests, and those that need no server again under the race detector
	@$(GO) test ./...
	@$(GO) test -race $(QUICK_RACE)

.PHONY: race
race: deps ## run the tests of all concurrent packages under the race detector
	@$(GO) test -race $(RACE)

.PHONY: lint
lint: ## check style and imports
	@$(GO) run $(LINT) run ./...

.PHONY: bench
bench: build ## measure the engine and the log
	@./bin/arena bench engine
	@./bin/arena bench log

.PHONY: soak
soak: build ## the long tests: 50 kills, outages, faults of the disk, ten million events
	@ARENA_SOAK=1 $(GO) test -count=1 -timeout 60m -run 'Soak' ./...
	@./bin/arena bench growth

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (default 30s)
	@set -e; for file in $$(grep -rl --include='*_test.go' '^func Fuzz' .); do \
		for target in $$(grep -oE '^func Fuzz\w+' $$file | cut -c6-); do \
			$(GO) test -run xxx -fuzz "^$$target$$" -fuzztime $${FUZZTIME:-30s} -fuzzminimizetime 10x $$(dirname $$file); \
		done; \
	done
