# Argosy. `make help` lists what there is. `make hub` and `make e2e` need redis-server besides Go and Git.

GO       ?= go
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
REVISION ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)

# Programs, tests, linters and the components of a whole hub are compiled in one way, and hence
# share what Go keeps: with Argo CD, Helm and Kubernetes' packages that is some 4 minutes of both
# cores for each way of its own. Programs and tests are linked without data for debuggers, so none
# is made.
GOFLAGS     ?= -buildvcs=false -trimpath -gcflags=all=-dwarf=false
CGO_ENABLED ?= 0
export GOFLAGS CGO_ENABLED

# The time of everything in images and archives: that of the commit.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
export SOURCE_DATE_EPOCH

# Tools are built once per version and compiler, outside the checkout.
CACHE                 := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/argosy
GOLANGCI_LINT_VERSION := v2.6.2
ACTIONLINT_VERSION    := v1.7.7
GOLANGCI_LINT_DIR     := $(CACHE)/tools/golangci-lint-$(GOLANGCI_LINT_VERSION)-$(shell $(GO) env GOVERSION)
GOLANGCI_LINT         := $(GOLANGCI_LINT_DIR)/golangci-lint
COSIGN_VERSION        := v2.6.5
COSIGN                := $(CACHE)/tools/cosign-$(COSIGN_VERSION)-$(shell $(GO) env GOVERSION)/cosign
GOTESTSUM_VERSION     := v1.13.0
GOTESTSUM             := $(CACHE)/tools/gotestsum-$(GOTESTSUM_VERSION)-$(shell $(GO) env GOVERSION)/gotestsum
GOVULNCHECK_VERSION   := v1.9.0
GOVULNCHECK           := $(CACHE)/tools/govulncheck-$(GOVULNCHECK_VERSION)-$(shell $(GO) env GOVERSION)/govulncheck

# promtool of the PATH, or of Debian's package, which is not installed: its service would listen.
PROMTOOL := $(or $(shell command -v promtool),$(CACHE)/tools/promtool)

# Hugo of the PATH, or of Debian's packages, unpacked with the libraries that it needs.
HUGO := $(or $(shell command -v hugo),$(CACHE)/tools/hugo/hugo)

# What `make run` serves; for example: make run HUB=hub-us LISTEN=127.0.0.1:8080
SOURCE ?= .
HUB    ?= hub-eu
FACTS  ?= examples/facts.yaml
LISTEN ?= 127.0.0.1:4355
WEB    ?= 127.0.0.1:4356

# Which Argo CD `make hub` and `make e2e` run: 3.6, 3.5 or 2.14.
ARGOCD ?= 3.6

# Arguments for go test, for example: make test TESTFLAGS='-run TestGolden -update'
TESTFLAGS ?=

# The packages of `make race`; 1 for `make e2e` with the service from its image; and a file for the events of its tests.
RACE   ?= ./...
IMAGE  ?=
EVENTS ?=

# More flags of `make hub`, and the folder of another build for `make responses`.
HUBFLAGS ?=
BEFORE   ?=

# Which fleets `make bench` measures, how often, and what else to tell it: BENCHFLAGS='-save before.json', and after a
# change BENCHFLAGS='-compare before.json'.
CLUSTERS   ?= 100,1000,10000
ROUNDS     ?= 3
BENCHFLAGS ?=

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z][a-z0-9-]*:.*## / {printf "  %-11s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

.PHONY: run
run: bin/generator-plugin bin/summary ## Serve this repository's own fleet with its pages, and print where they are
	@SOURCE='$(SOURCE)' HUB='$(HUB)' FACTS='$(FACTS)' LISTEN='$(LISTEN)' WEB='$(WEB)' CACHE='$(CACHE)' exec hack/run.sh

.PHONY: build
build: ## Build bin/generator-plugin and bin/argosy
	@echo 'building the service and the CLI: some 4 minutes the first time on two cores, then seconds'
	@$(MAKE) --no-print-directory bin/generator-plugin bin/argosy

# Go decides what has to be compiled again.
.PHONY: bin/generator-plugin bin/argosy
bin/generator-plugin bin/argosy:
	$(GO) build -ldflags '-s -w -X main.version=$(VERSION)' -o $@ ./cmd/$(@F)

.PHONY: bin/summary
bin/summary:
	@$(GO) build -ldflags '-s -w' -o $@ ./hack/summary

.PHONY: hub
hub: build bin/hub ## Start a whole hub of real components on 127.0.0.1, show what happens, end it on Ctrl-C (HUBFLAGS=-clusters: it makes clusters, too)
	@exec bin/hub --argocd $(ARGOCD) $(HUBFLAGS)

.PHONY: bin/hub
bin/hub:
	@cd test/e2e && $(GO) build -o ../../bin/hub ./cmd/hub

# How many times as many generated cases the property tests try.
CASES ?= 1

# `make lint` has the checks of go vet, in all modules. Here go vet would look at each dependency first.
# Tests are linked without data for debuggers.
GO_TEST_FLAGS := -vet=off -ldflags=-w
GO_TEST       := $(GO) test $(GO_TEST_FLAGS)

.PHONY: test
test: export ARGOSY_CASES = $(CASES)
test: export GOGC ?= 400 # a collector that runs less often, in the linker and in the tests, saves a sixth of the time
test: ## Run every test but e2e (CASES=20: twenty times as many generated cases)
	$(GO_TEST) $(TESTFLAGS) ./...

.PHONY: helm4
helm4: ## Compare Helm 4 with the Helm 3 that argosy renders with, and with the merge of values
	mkdir -p bin
	$(GO_TEST) -count=1 ./internal/hierarchy -run '^TestWriteHelmCases$$' -helm-cases '$(CURDIR)/bin/helm-cases.txtar'
	cd test/helm4 && HELM_CASES='$(CURDIR)/bin/helm-cases.txtar' $(GO_TEST) -count=1 ./...

.PHONY: e2e
e2e: export GENERATOR_PLUGIN = $(if $(IMAGE),$(CURDIR)/hack/image-run.sh)
e2e: export PROMTOOL := $(PROMTOOL)
e2e: export COSIGN := $(COSIGN)
e2e: build bin/hub bin/release $(PROMTOOL) $(COSIGN) $(GOTESTSUM) $(if $(IMAGE),image-root) ## Run the flows on a whole hub of real components (IMAGE=1: the service from its image)
	bin/hub --build --argocd $(ARGOCD)
	cd test/kustomizations && $(GO_TEST) ./...
	cd test/e2e && $(GO_TEST) -timeout 30m $$($(GO) list ./... | tail -n +2 | grep -v /terraform$$)
	cd test/e2e && $(GO_TEST) -count=1 ./internal/terraform # Go does not see that files outside of the module change
	cd test/e2e && ARGOCD=$(ARGOCD) $(GOTESTSUM) --format standard-verbose --no-color $(if $(EVENTS),--jsonfile '$(EVENTS)') -- $(GO_TEST_FLAGS) -count=1 -timeout 60m $(TESTFLAGS) .

.PHONY: browser
browser: bin/generator-plugin ## Drive Chromium through the pages of the service
	cd test/browser && $(GO_TEST) -count=1 -timeout 15m $(TESTFLAGS) .

.PHONY: screenshots
screenshots: bin/generator-plugin ## Write the pictures of the documentation (docs/images)
	mkdir -p docs/images
	cd test/browser && $(GO) test -count=1 -run TestScreenshots . -screenshots $(CURDIR)/docs/images

# Where images get Debian's packages from: the archive of this machine's apt if it is Debian's, or a folder of .deb files (DEBS=FOLDER).
MIRROR ?= $(or $(shell apt-get indextargets --format '$$(REPO_URI)' 2>/dev/null | sed -n 's|/debian/$$||p' | head -1),http://deb.debian.org)
DEBS   ?=
RELEASE = bin/release -version '$(VERSION)' -revision '$(REVISION)' -cache '$(CACHE)' -mirror '$(MIRROR)' -debs '$(DEBS)'
NEEDS_DEBS = $(RELEASE) debs || { test $$? = 75 && echo '$@: skipped: the pinned packages are not to be had here' && exit 0; exit 1; }

.PHONY: bin/release
bin/release:
	@cd hack/release && $(GO) build -o ../../bin/release .

.PHONY: image
image: bin/release ## Write the images of service and command line for amd64 and arm64 as OCI layouts into dist/image
	$(RELEASE) image

.PHONY: image-root
image-root: bin/release ## Unpack the service's image into dist/image-root
	$(RELEASE) image generator-plugin
	bin/release unpack dist/image/generator-plugin dist/image-root

.PHONY: image-check
image-check: bin/release ## Build the images twice, compare, and serve a commit from the service's; passes where no Debian archive is
	@$(NEEDS_DEBS) && $(MAKE) --no-print-directory image-twice

.PHONY: image-twice
image-twice: image
	rm -rf dist/twice && mkdir -p dist/twice/checkout
	tar --create --exclude=./.git --exclude=./bin --exclude=./dist . | tar --extract --directory dist/twice/checkout
	cd dist/twice/checkout && ../../../$(RELEASE) -dist ../dist image >/dev/null
	diff -r dist/image dist/twice/dist/image
	rm -rf dist/twice
	bin/release unpack dist/image/generator-plugin dist/image-root
	cd hack/release && $(GO) test -count=1 -v -run TestServiceRunsFromImageFiles .

# What signs a release: a private key (KEY=cosign.key), or none, and then cosign asks who you are.
KEY      ?=
REGISTRY ?= ghcr.io/argosy-hub
# The platforms of the archives.
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64
RELEASE_SIGN = $(RELEASE) -cosign '$(COSIGN)' -key '$(KEY)'

.PHONY: release
release: bin/release ## Write archives, images, charts, SBOMs and checksums into dist/release: make release VERSION=v0.1.0
	$(RELEASE) -platforms '$(PLATFORMS)' release

.PHONY: release-dry
release-dry: bin/release $(COSIGN) ## Make a release of the newest version in CHANGELOG.md for Linux, sign it with a new key, and verify it
	@$(NEEDS_DEBS) && hack/release-dry.sh '$(COSIGN)'

.PHONY: release-sign
release-sign: bin/release $(COSIGN) ## Sign the checksums in dist/release and their provenance (KEY=FILE; without, keyless)
	$(RELEASE_SIGN) sign

.PHONY: release-push
release-push: bin/release $(COSIGN) ## Push the images and charts of dist/release to REGISTRY, and sign them
	$(RELEASE_SIGN) push '$(REGISTRY)'

$(COSIGN):
	GOBIN='$(@D)' $(GO) install -ldflags '-s -w' github.com/sigstore/cosign/v2/cmd/cosign@$(COSIGN_VERSION)

.PHONY: tools
tools: $(PROMTOOL) $(COSIGN) $(GOTESTSUM) ## Install the tools that tests use outside the checkout

.PHONY: pins
pins: bin/release ## Pin today's versions of the Debian packages in the images
	$(RELEASE) pins

# The database of vulnerabilities, and the statements on those that do not concern us.
DB  ?= https://vuln.go.dev
VEX := .vex/argosy.openvex.json

.PHONY: vulncheck
vulncheck: bin/release $(GOVULNCHECK) ## Look for known vulnerabilities in both programs; each is fixed or argued in .vex
	$(RELEASE) vulncheck '$(GOVULNCHECK)' '$(DB)' $(VEX)

.PHONY: licenses
licenses: bin/release ## Look for licences that are not allowed in what both programs are made of
	$(RELEASE) licenses

$(GOVULNCHECK):
	GOBIN='$(@D)' $(GO) install -ldflags '-s -w' golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION)

.PHONY: release-test
release-test: $(COSIGN) ## Test the tools that make releases; cosign verifies what they sign
	cd hack/release && COSIGN='$(COSIGN)' $(GO_TEST) ./...

# How many accidents `make chaos` has happen, and the seed that they come from.
ACCIDENTS ?= 1000
SEED      ?= 42

.PHONY: chaos
chaos: build bin/hub ## Try to lose something: 1,000 accidents in the repository under a real Argo CD, the service killed among them
	bin/hub --build --argocd $(ARGOCD)
	cd test/e2e && ARGOCD=$(ARGOCD) $(GO) test -count=1 -timeout 240m -v -run 'TestChaos$$' . -accidents $(ACCIDENTS) -seed $(SEED)

.PHONY: chaos-model
chaos-model: ## The same accidents under an Argo CD in small, which needs nothing but Go and Git
	$(GO) test -count=1 -timeout 120m -v -run 'TestNoAccidentDeletes|TestNoCommitPassesTheDefaultBudget' ./test/chaos -accidents $(ACCIDENTS) -seed $(SEED)

# How much each parser is fuzzed; what is found is kept in its testdata/fuzz and is a case of `make test` from then on. A
# number of inputs and no time: when a time ends while workers are busy, Go before 1.27 may call it a failure, "context
# deadline exceeded" (go.dev/issue/75804). An input that hangs fails after ten seconds with either. An input that reaches
# new code is made smaller by at most 10 attempts: Go's default, a minute for each, is longer than all else.
FUZZTIME ?= 20000x

# What a parser is compiled with, so that new code guides the fuzzer: by -fuzz in all packages, which takes long the first
# time. Only in those of Argosy: FUZZED='-gcflags=github.com/argosy-hub/argosy/...=-d=libfuzzer'.
FUZZED ?= -fuzz .

.PHONY: fuzz
fuzz: walls ## Fuzz every parser with FUZZTIME inputs (default 20000x each); a package is linked once for all its parsers
	@set -e; programs=$$(mktemp -d); trap 'rm -rf "$$programs"' EXIT; found=$$($(GO) env GOCACHE)/fuzz; \
	for package in $$(grep -rlE '^func Fuzz' --include='*_test.go' internal | xargs -n 1 dirname | sort -u); do \
		$(GO_TEST) -c $(FUZZED) -o "$$programs/fuzz" "./$$package"; \
		for target in $$(sed -nE 's/^func (Fuzz[A-Za-z]+)\(.*/\1/p' $$package/*_test.go); do \
			echo "== $$package $$target"; \
			(cd "$$package" && "$$programs/fuzz" -test.run '^$$' -test.fuzz "^$$target$$" -test.fuzztime $(FUZZTIME) -test.fuzzminimizetime 10x \
				-test.fuzzcachedir "$$found/github.com/argosy-hub/argosy/$$package"); \
		done; \
	done

# Rule W1 over many commits, without the cost of coverage: half of them are inputs of the fuzzer's corpus with a few changes.
COMMITS ?= 100000

.PHONY: walls
walls: ## Try COMMITS generated commits of a tenant and of a mount's repository (default 100000), a tenth as many sets of teams' names, with the projects that Argo CD judges, and changes that CI approves of a team: nothing changes for anybody else
	ARGOSY_CASES=$$(( ($(COMMITS) + 99) / 100 )) GOMAXPROCS=1 GOGC=400 \
		$(GO_TEST) -timeout 60m -run '^(TestTenantFolders|TestMountReachesNobodyElse)$$' -v ./internal/testkit/tenanttest ./internal/fleet/mount
	ARGOSY_CASES=$$(( ($(COMMITS) + 5999) / 6000 )) $(GO_TEST) -run '^TestReachOfTeam$$' -v ./internal/fleet/mount
	ARGOSY_CASES=$$(( ($(COMMITS) + 1999) / 2000 )) $(GO_TEST) -run '^TestNoTeamReachesAnothers$$' -v ./internal/fleet/team
	ARGOSY_CASES=$$(( ($(COMMITS) + 299) / 300 )) $(GO_TEST) -run '^TestTeamProjectPermitsTheTeamAlone$$' -v ./test/charts

# How many generated commits `make plans` plans, and the first.
PLANS ?= 5000
PLANS_FROM ?= 0

.PHONY: plans
plans: ## Plan PLANS generated commits (default 5000): each names exactly what differs in the responses and the rendered objects of both revisions
	ARGOSY_FROM=$(PLANS_FROM) ARGOSY_CASES=$$(( ($(PLANS) + 39) / 40 )) GOGC=400 \
		$(GO_TEST) -timeout 120m -run '^TestPlanNamesExactlyWhatDiffers$$' -v ./internal/change/pipeline

.PHONY: race
race: ## Run the tests with the race detector (RACE names packages; default all)
	CGO_ENABLED=1 $(GO_TEST) -race -short -timeout 30m $(TESTFLAGS) $(RACE)

.PHONY: bench
bench: ## Measure the engine on generated fleets: goals and figures side by side (CLUSTERS=20,30 ROUNDS=1: does it measure?)
	@$(GO) test -count=1 -timeout 60m -tags bench -run TestFigures ./test/bench -v -args -clusters $(CLUSTERS) -rounds $(ROUNDS) -load 3s $(BENCHFLAGS)

.PHONY: bench-hub
bench-hub: build bin/hub ## Measure what a push costs a real Argo CD with 4,000 Applications, plain and with Argosy (20 minutes to an hour; BENCHFLAGS='-rounds 1': a third)
	bin/hub --build --argocd $(ARGOCD)
	cd test/e2e && $(GO) run ./cmd/benchhub -checkout ../.. -argocd $(ARGOCD) $(BENCHFLAGS)

.PHONY: responses
responses: build ## Compare all responses with those of another build: make responses BEFORE=FOLDER
	$(GO) run ./hack/responses '$(BEFORE)' bin

.PHONY: microbench
microbench: ## Run the packages' own benchmarks
	$(GO) test -run '^$$' -bench . -benchmem $(TESTFLAGS) ./internal/...

.PHONY: lint
lint: $(GOLANGCI_LINT) ## Run the linters (.golangci.yml); the first time builds them
	$(GOLANGCI_LINT) run
	$(GO) mod tidy -diff
	$(GO) run github.com/rhysd/actionlint/cmd/actionlint@$(ACTIONLINT_VERSION) .github/workflows/*.yaml docs/ci/github-actions*.yaml
	cd test/e2e && $(GOLANGCI_LINT) run --config ../../.golangci.yml && $(GO) mod tidy -diff
	cd test/e2e/components/cloud-standin && $(GOLANGCI_LINT) run --config ../../../../.golangci.yml && $(GO) mod tidy -diff
	cd test/accidents && $(GOLANGCI_LINT) run --config ../../.golangci.yml && $(GO) mod tidy -diff
	cd hack/release && $(GOLANGCI_LINT) run --config ../../.golangci.yml && $(GO) mod tidy -diff
	cd test/kustomizations && $(GOLANGCI_LINT) run --config ../../.golangci.yml && $(GO) mod tidy -diff
	cd test/helm4 && $(GOLANGCI_LINT) run --config ../../.golangci.yml && $(GO) mod tidy -diff
	cd test/browser && $(GOLANGCI_LINT) run --config ../../.golangci.yml && $(GO) mod tidy -diff

.PHONY: fmt
fmt: $(GOLANGCI_LINT) ## Format the Go code
	$(GOLANGCI_LINT) fmt

# It prints what failed once more at the end, apart from what ran beside it.
$(GOTESTSUM):
	GOBIN='$(@D)' $(GO) install -ldflags '-s -w' gotest.tools/gotestsum@$(GOTESTSUM_VERSION)

$(GOLANGCI_LINT):
	GOBIN='$(GOLANGCI_LINT_DIR)' $(GO) install -ldflags '-s -w' \
		github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)

.PHONY: docs
docs: ## Write the references of the commands and the tables of compatibility.md again
	$(GO) test ./cmd/argosy ./cmd/generator-plugin ./test/docs -run 'DocIsUpToDate$$' -update

# The commit of an Argo CD's tag, where its module gitops-engine has no releases (3.5).
GITOPS_ENGINE ?=

.PHONY: bump-argocd
bump-argocd: ## Move a minor version of Argo CD to another release, with sums and pages: make bump-argocd VERSION=v3.6.2
	hack/bump-argocd.sh '$(VERSION)' '$(GITOPS_ENGINE)'

.PHONY: docs-site
docs-site: $(HUGO) ## Write the documentation as a site that needs no network into dist/site; a dead link fails
	hack/docs-site.sh '$(HUGO)'

$(CACHE)/tools/hugo/hugo:
	@mkdir -p $(@D)
	set -e; dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; cd "$$dir"; \
		apt-get download -q hugo libsass1 libwebp7 2>/dev/null || { apt-get update -q && apt-get download -q hugo libsass1 libwebp7; }; \
		for deb in *.deb; do dpkg-deb --fsys-tarfile "$$deb" | tar -x; done; \
		cp -P usr/bin/hugo $(@D)/program; cp usr/lib/*/lib*.so.? $(@D)/; \
		printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s/program "$$@"\n' '$(@D)' '$(@D)' >$@; chmod +x $@

.PHONY: alerts
alerts: $(PROMTOOL) ## Test the alerts of charts/generator-plugin with promtool
	$(PROMTOOL) check rules charts/generator-plugin/alerts.yaml
	$(PROMTOOL) test rules test/alerts/cases.yaml

$(CACHE)/tools/promtool:
	@mkdir -p $(@D)
	set -e; dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; cd "$$dir"; \
		apt-get download -q prometheus 2>/dev/null || { apt-get update -q && apt-get download -q prometheus; }; \
		dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x ./usr/bin/promtool; mv usr/bin/promtool $@

.PHONY: generate
generate: ## Write the generated files again
	$(GO) generate ./...

.PHONY: clean
clean: ## Remove what was built here
	rm -rf bin dist
