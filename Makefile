# Everything that is built or fetched lands in .cache and bin; nothing else of the machine is touched, but by deps.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo build test test-interop faults check lint current fmt generate golden bench bench-mock cluster node envoy deps clean

CONTROLLER_GEN := go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0
GOLANGCI_LINT := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
MODULES := . test/localcluster test/bench test/outputs

# Packages tested at once: each may run a control plane and an Envoy of its own.
TEST_PARALLEL ?= 2
BENCH ?= .
PACKAGES ?= ./...

# One setting for all but the race detector, which needs C, so that all share one build cache.
export CGO_ENABLED := 0

# Go refuses to build where git does not show it the history: a checkout of another user, an unpacked archive.
ifneq ($(shell git rev-parse HEAD >/dev/null 2>&1 && echo yes),yes)
export GOFLAGS := $(GOFLAGS) -buildvcs=false
endif

ifdef CLUSTER
override CLUSTER := $(abspath $(CLUSTER))
endif
export CLUSTER ONCE

help: ## Show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  \033[1m%-12s\033[0m %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "  CLUSTER=<kubeconfig>  use that cluster for demo, test and check: none is built or started"

demo: build cluster node envoy ## Show Tidelock at work: a cluster, an Envoy, a git push (ONCE=1: run through and stop)
	@go build -o .cache/bin/demo ./test/demo
	@TIDELOCK_BIN=$(CURDIR)/bin/tidelock LOCALCLUSTER_BIN=$(CURDIR)/.cache/bin/localcluster \
		ENVOY_BIN=$(CURDIR)/.cache/bin/envoy .cache/bin/demo

build: ## Build bin/tidelock, one static binary
	go build -o bin/tidelock ./cmd/tidelock

test: cluster node envoy ## Run all tests, with the race detector, against a real API server, node and Envoy
	@tools/deps.sh cc
	CGO_ENABLED=1 go test -race -shuffle=on -tags e2e -timeout 20m -p $(TEST_PARALLEL) $(PACKAGES)
	cd test/localcluster && go test ./...

test-interop: ## Hold the mock against published OpenAPI documents and another validator (npm, Python)
	@tools/interop.sh
	go test -tags interop -timeout 20m -count 1 -v ./test/interop

faults: cluster envoy ## Let everything around the daemon fail at every place; make test takes a sample
	go test -tags e2e -count=1 -timeout 120m -v ./test/faults -every

check: lint test current ## Everything that CI checks: lint, tests, generated code, modules

# All of Kubernetes stands behind the program of test/localcluster: with types the linters take 6 GB for it.
lint: ## Run the linters, formatting among them
	$(GOLANGCI_LINT) run ./...
	cd test/localcluster && $(GOLANGCI_LINT) run ./internal/... && $(GOLANGCI_LINT) run --fast-only ./...
	cd test/bench && go vet ./... && $(GOLANGCI_LINT) run --fast-only ./...

current: ## Check that generated code and the modules' files are current
	@tools/current.sh make --no-print-directory generate
	@for module in $(MODULES); do (set -x; cd $$module && go mod tidy -diff && go mod verify); done

fmt: ## Format the code as the linters want it
	@for module in $(MODULES); do (set -x; cd $$module && $(GOLANGCI_LINT) fmt ./...); done

generate: ## Generate deep copies in api/ and the CRDs in deploy/crds
	$(CONTROLLER_GEN) object crd paths=./api/... output:crd:dir=deploy/crds

golden: ## Rewrite the golden files: review them as source
	go test $$(grep -rl --include='*_test.go' 'flag.Bool("update"' . | xargs -r -n1 dirname | sort -u) -update

bench: build cluster ## Measure: the packages' benchmarks, then the line beside its peers (BENCH=<pattern> PACKAGES=<packages>)
	go test -run '^$$' -bench '$(BENCH)' -benchmem $(PACKAGES)
	cd test/bench && go run . -root ../..
	@$(MAKE) --no-print-directory bench-mock

bench-mock: build ## Measure the mock beside bare net/http and Prism (npm)
	@tools/prism.sh
	cd test/bench && go run ./mock -root ../..

cluster: ## Build the local cluster: minutes the first time, then only when it changes
	@$(if $(CLUSTER),echo "using the cluster of $(CLUSTER)",tools/cluster.sh)

node: ## Fetch what the local cluster needs to run pods, where this is root
	@$(if $(CLUSTER),true,tools/node.sh)

envoy: ## Find or fetch Envoy
	@tools/envoy.sh

deps: ## Install what is missing beside Go, git, make and Python: a C compiler, pip
	@tools/deps.sh cc pip

clean: ## Remove all that was built and fetched here
	rm -rf .cache bin
