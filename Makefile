TOOLS := go tool -modfile=testdata/tools/go.mod

# All targets compile with the same flags, so that what one of them has compiled
# serves the others. Kustomize can load plugins of Go, which fleetc does not let
# it do; without the tag, the linker cannot leave out unused code. -s leaves out
# the symbol table, which makes binaries smaller and linking faster.
export CGO_ENABLED ?= 0
export GOFLAGS := $(GOFLAGS) -trimpath -tags=kustomize_disable_go_plugin_support -ldflags=-s

.PHONY: check build image demo quick test test-programs race race-all golden generate generate-check bench fuzz lint fmt
check: lint release-types release-check test test-programs race e2e e2e-nodes e2e-gitops e2e-renovate e2e-editor e2e-browser ## Everything that CI runs.

build: ## Build the binary.
	go build -o bin/fleetc ./cmd/fleetc

# A reference to push the image to, such as registry.example.com/fleetc:v1.
PUSH ?=

image: ## Build the container image as an OCI layout in bin/image, and push it to PUSH.
	go run ./testdata/image $(if $(PUSH),-push $(PUSH))

demo: build ## Compile the example fleet into ./clusters.
	bin/fleetc export --out clusters

quick: ## Test what usually breaks: every package but the slow ones, and the scripts.
	go test $$(go list ./... | grep -vE "/(compiler|query|incremental|deliver/export|cmd/fleetc)$$") ./testdata/kubegen
	go test ./compiler -run 'Wings|Budgets|Manners|English'
	go test ./cmd/fleetc -run '^TestScripts$$'

# As in fleetc itself: the tests then spend less CPU time on collecting garbage.
quick test test-programs: export GOGC ?= 300

# Without vet, which make lint runs: it reads all dependencies, for 70 s of CPU time.
test: ## Run the tests against the real parts, but for test-programs and e2e.
	go test -timeout 40m -vet=off -skip '^TestProgramScripts$$' ./... ./testdata/bench ./testdata/helm4 ./testdata/image ./testdata/kubegen ./testdata/site

# These programs take longer to build than fleetc.
test-programs: ## Build sops, vals and helmfile, and run the scripts that compare with them.
	go test -timeout 40m -vet=off ./cmd/fleetc -run '^TestProgramScripts$$'

# The race detector needs C, and makes programs several times slower. CI runs it
# for the packages that share memory between goroutines, and for the scripts of
# commands that work on several clusters at a time; these also run the packages whose
# own tests have one goroutine, such as values, and what SERIAL tests: long tests of one
# goroutine, or of exports and vets, which these scripts run.
# A process that looks for races sleeps for a second before it ends, which thousands
# do here: GORACE turns it off.
RACE = $(shell grep -rlE --include='*.go' --exclude='*_test.go' '\bgo func|\.Go\b|sync\.|atomic\.' compiler/* | xargs -n 1 dirname | grep -vxE 'compiler(/(query|edit|incremental|stage/values))?' | sort -u | sed 's,^,./,')
SERIAL = TestReadsAreComplete|TestBounded|TestBounds|TestDefaultLimits|TestJsonnetLimits|TestAlmostDeep|TestCachedMatchesExecuted|TestSameMerge.*|TestNondeterministicFunctions|FuzzEngine|TestExampleFleet|TestManyLongWords|TestUnpackLimits|TestExports(Example|Helm)|TestVet(HasFaultsOf.*|OfLayouts)
race race-all: export GORACE := atexit_sleep_ms=0
race race-all: export CGO_ENABLED := 1
race: ## Look for data races where goroutines are.
	go test -race -vet=off -timeout 40m -skip '^($(SERIAL))$$' $(RACE)
	go test -race -vet=off -timeout 40m ./cmd/fleetc -run 'Scripts/(export_(tree|git|oci)|diff_clusters|vet_layers|shard|cache)$$|ExampleGolden'

race-all: ## Run all tests with the race detector, as once a night.
	go test -race -vet=off -timeout 90m ./...

golden: ## Rewrite expected output; read the diff.
	go test ./cmd/fleetc -update
	git diff --stat testdata

generate: ## Read what Kubernetes serves from its source again.
	go generate ./compiler/base/kube

generate-check: generate ## The embedded files are what the source says.
	git diff --exit-code -- compiler/base/kube

.PHONY: release-check release-types release-snapshot cross nightly vulnerabilities helm4
# The systems that releases are built for; the first is the one that tests run on.
TARGETS := linux_amd64 linux_arm64 darwin_amd64 darwin_arm64 windows_amd64 windows_arm64
empty :=
comma := ,

# Without signing, which needs the identity of the release workflow. The binaries
# equal those of a release. goreleaser takes long to compile the first time.
release-snapshot: ## Build and check the archives and packages of this commit in dist, without publishing.
	mkdir -p bin
	sed 's/^    targets: .*/    targets: [$(subst $(empty) ,$(comma) ,$(TARGETS))]/' .goreleaser.yaml > bin/goreleaser.yaml
	GOFLAGS="-trimpath -ldflags=-s" go tool -modfile=testdata/tools/release/go.mod goreleaser release --config bin/goreleaser.yaml --snapshot --clean --skip=sign$(if $(findstring windows,$(TARGETS)),,$(comma)scoop) --parallelism 1
	./testdata/release/verify dist

# From an empty cache, a cross compile takes four CPU minutes for each system; this
# takes a quarter of a minute, and finds the same faults but for those of linking.
release-types: ## Check the types of all packages and tests for the systems that tests do not run on.
	mkdir -p bin
	go -C testdata/release build -o ../../bin/release-tool .
	bin/release-tool types $(subst _,/,$(wordlist 2,6,$(TARGETS)))

cross: ## Vet packages and tests for all systems of releases, which compiles dependencies.
	for target in $(TARGETS); do echo "$$target" && GOOS=$${target%_*} GOARCH=$${target#*_} go vet ./... || exit 1; done

nightly: export FRESH := 1
nightly: cross release-snapshot vulnerabilities helm4 ## What takes too long for CI, or needs the internet.

# The tests that may fail are in testdata/helm4/differences.txt.
helm4: ## Compile and test a copy with Helm 4 instead of Helm 3.
	go run ./testdata/helm4

release-check: ## Check the licences of linked modules, and test the programs for releases.
	cd testdata/release && go vet . && go test -count=1 -vet=off .

# It needs https://vuln.go.dev. A vulnerability that the code calls fails, unless
# testdata/release/vulnerabilities.json allows it until a date.
vulnerabilities: ## Look for known vulnerabilities in what fleetc calls.
	mkdir -p bin
	go tool -modfile=testdata/release/go.mod govulncheck -format json ./cmd/fleetc > bin/vulnerabilities.json
	go -C testdata/release build -o ../../bin/release-tool .
	bin/release-tool vulnerabilities < bin/vulnerabilities.json

.PHONY: tools e2e e2e-nodes e2e-gitops e2e-renovate e2e-editor e2e-browser e2e-kill sandbox
tools: ## Build control planes, operators, Flux and Argo CD, and install Renovate, once.
	go run ./testdata/clusters/sandbox -build -operators -flux -argocd
	go run ./testdata/renovate/install

# Tests that wait for control planes more than they compute run beside each
# other; a control plane takes half a gigabyte.
e2e: ## Test against real control planes, which are built once.
	go run ./testdata/clusters/sandbox -build
	go test -count=1 -vet=off -timeout 40m -parallel 6 -skip '^TestNode' ./testdata/clusters ./testdata/e2e

# A real node runs containers, in namespaces of its own. It needs root.
e2e-nodes: ## Test against control planes with real nodes and operators.
	go run ./testdata/clusters/sandbox -build -operators
	go test -count=1 -vet=off -timeout 20m -parallel 4 -run '^TestNode' ./testdata/clusters/nodes ./testdata/e2e

# How many applies, rollbacks and Helm deliveries are killed at random moments.
KILLS ?= 200

e2e-kill: ## Kill commands at random moments, and look for anything lost.
	go run ./testdata/clusters/sandbox -build
	KILLS=$(KILLS) go test -count=1 -timeout 6h ./testdata/e2e -run 'TestKill$$|TestKillDeliveries|TestHistoryKilled'

e2e-gitops: ## Test with real Flux and Argo CD, which are built once.
	go run ./testdata/clusters/sandbox -build -flux -argocd
	go test -count=1 -vet=off -timeout 40m -parallel 3 ./testdata/gitops

e2e-renovate: ## Test the preset with real Renovate, which is installed once.
	go run ./testdata/renovate/install
	go test -count=1 -vet=off -timeout 10m ./testdata/renovate

e2e-editor: ## Check, package and test the extension of VS Code; npm installs its tools once.
	go test -count=1 -vet=off -timeout 10m ./testdata/editors

e2e-browser: ## Test the page of fleetc report and the website in Chromium, which must be installed.
	cd testdata/browser && go vet . && go test -count=1 -vet=off -timeout 10m .

# VERSION is the tag that the site describes, BASE its path on the server, and VERSIONS
# lists the versions that the site links to.
BASE ?= /

.PHONY: site
site: ## Build the website in bin/site; npm installs its tools once.
	go run ./testdata/site -version "$(VERSION)" -base "$(BASE)" -versions "$(VERSIONS)"

# How many real nodes each cluster of the sandbox has.
NODES ?= 0

sandbox: ## Run the clusters of the example fleet here, until Ctrl-C.
	go run ./testdata/clusters/sandbox -nodes $(NODES) $(CLUSTERS)

# benchstat compares files of ten counts or more: make bench-stages COUNT=10.
COUNT ?= 1

.PHONY: bench-fleet bench-stages bench-apply
bench: bench-fleet bench-stages bench-apply ## Time whole fleets, every stage, and applies.

bench-fleet: ## Time fleets of 1, 10 and 50 clusters, and other tools on them.
	go run ./testdata/bench

bench-stages: ## Time every stage alone.
	go test -run '^$$' -bench . -benchmem -count=$(COUNT) ./compiler/...

bench-apply: ## Time applies of 3,000 objects to a control plane, and other tools.
	go run ./testdata/bench/apply

fuzz: ## Fuzz every target for a while.
	./.ci/fuzz 60s

# Wildcards pass over testdata.
HARNESS := ./testdata/bench ./testdata/bench/apply ./testdata/clusters ./testdata/clusters/nodes ./testdata/clusters/sandbox ./testdata/compat/record ./testdata/e2e ./testdata/e2e/standin ./testdata/editors ./testdata/fleets ./testdata/fleets/exported ./testdata/gitops ./testdata/helm4 ./testdata/image ./testdata/kubegen ./testdata/npm ./testdata/operators ./testdata/renovate/... ./testdata/site

FORMATTED := embed.go cmd compiler testdata/bench testdata/clusters testdata/compat testdata/e2e testdata/editors testdata/fleets testdata/gitops testdata/helm4 testdata/image testdata/kubegen testdata/npm testdata/operators testdata/release testdata/renovate testdata/browser testdata/site

lint: ## Check Go and CUE.
	go vet ./... $(HARNESS)
	$(TOOLS) staticcheck ./... $(HARNESS)
	test -z "$$($(TOOLS) gofumpt -l $(FORMATTED))"
	$(TOOLS) cue vet ./schema ./lib/... ./environments/...

fmt: ## Format Go and CUE.
	$(TOOLS) gofumpt -w $(FORMATTED)
	$(TOOLS) cue fmt ./schema ./lib/... ./environments/...
