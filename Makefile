# Bowline: every target is listed, one line each, by `make help`.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# A fresh machine often has Go unpacked but not on PATH.
export PATH := $(PATH):/usr/local/go/bin

# One program for every Linux: with cgo it would need the C library of the machine that built it, and be a fifth larger.
export CGO_ENABLED := 0

GO    ?= go
TOOL  := $(GO) tool -modfile=tools/go.mod

# The version comes from git; a source archive without git says "devel".
VERSION    := $(shell git describe --tags --match "v*" --always --dirty 2>/dev/null || echo devel)
KUBERNETES  = $(shell $(GO) list -m -f '{{.Version}}' k8s.io/kubernetes)

# Kubernetes' own version is stamped too: without it `bowline kubectl version` reports an error.
LDFLAGS = -s -w \
	-X github.com/bowline-dev/bowline/internal/cli.version=$(VERSION) \
	-X k8s.io/component-base/version.gitVersion=$(KUBERNETES) \
	-X k8s.io/client-go/pkg/version.gitVersion=$(KUBERNETES)

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z][a-z0-9.-]*:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9.-]+):.*## (.*)/  \1\t\2/' | expand -t 24

# Without -trimpath on purpose: with it, all of Kubernetes would be compiled once for build and once more for test.
.PHONY: build
build: ## Build bin/bowline
	$(GO) build -buildvcs=false -ldflags '$(LDFLAGS)' -o bin/bowline ./cmd/bowline

# With -trimpath, so that it does not depend on the folders of the machine; all is compiled once more for it.
.PHONY: image
image: ## Build the container image in bin/image, without a container engine (PLATFORMS="linux/amd64 linux/arm64" PUSH=registry.example.org/bowline:v1)
	@mkdir -p bin/image
	@programs=(); for platform in $(or $(PLATFORMS),linux/amd64 linux/arm64); do \
		program="$(CURDIR)/bin/image/bowline-$${platform//\//-}"; echo "building $$program"; \
		GOOS=$${platform%%/*} GOARCH=$${platform##*/} $(GO) build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o "$$program" ./cmd/bowline; \
		programs+=("$$platform=$$program"); \
	done; \
	cd deploy/image && $(GO) run . --name bowline --version '$(VERSION)' --created "$$(git log -1 --format=%ct 2>/dev/null || echo 0)" \
		--source https://github.com/bowline-dev/bowline --out '$(CURDIR)/bin/image' $(if $(PUSH),--push '$(PUSH)') "$${programs[@]}"

.PHONY: kubernetes
kubernetes: ## Build bin/kubernetes, the servers of a Kubernetes control plane for tests
	cd test/kubernetes/servers && $(GO) build -buildvcs=false -ldflags '$(LDFLAGS)' -o '$(CURDIR)/bin/kubernetes' .

.PHONY: kubernetes-1.34
kubernetes-1.34: ## Build bin/kubernetes-1.34, the same servers of an earlier version
	cd test/kubernetes/servers && $(GO) build -modfile=1.34.mod -buildvcs=false \
		-ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$$($(GO) list -modfile=1.34.mod -m -f '{{.Version}}' k8s.io/kubernetes)" \
		-o '$(CURDIR)/bin/kubernetes-1.34' .

.PHONY: helm
helm: ## Build bin/helm, for the tests of the chart
	cd tools/helm && $(GO) build -buildvcs=false -ldflags '-s -w' -o '$(CURDIR)/bin/helm' helm.sh/helm/v4/cmd/helm

.PHONY: terraform-providers
terraform-providers: ## Build bin/terraform/mirror, the Terraform providers of tests and of docs/guides/terraform.md
	@$(GO) run ./internal/testkit/mirror/cmd

.PHONY: quickstart
quickstart: ## From a six-line claim to a running PostgreSQL server
	.ci/ensure-servers
	@$(MAKE) --no-print-directory build
	examples/quickstart/quickstart.sh

.PHONY: example-workload
example-workload: ## On top of the quickstart: a cluster, and an application in it with the Secret of its database
	.ci/ensure-servers
	@$(MAKE) --no-print-directory build
	examples/workload/workload.sh

.PHONY: clean-quickstart
clean-quickstart: build ## Stop and remove the quickstart and the example
	examples/quickstart/quickstart.sh clean

# The tests run many API servers, which collect garbage for a fifth of their processor time; less often takes 300 MB more for each. make verify
# vets all of it, and more thoroughly: the vet of go test would take minutes for the packages of the API server.
test contract: export GOGC = 300

.PHONY: test
test: ## Run all tests; installs PostgreSQL, Redis and Prometheus if they are missing
	.ci/ensure-servers prometheus
	cd deploy/image && $(GO) test ./...
	cd test/terraform/providers && $(GO) test ./...
	$(GO) test -vet=off -timeout 25m ./...
	@echo "Not run here: pods of a real node, which need root (make test-kubernetes-node)."

.PHONY: contract
contract: ## Run all tests and check what they prove of docs/contract.md
	.ci/ensure-servers prometheus
	@$(GO) test -json -vet=off -timeout 25m ./... | $(GO) run ./internal/contract/cmd

.PHONY: chaos
chaos: ## Kill every process 200 times at random moments (BOWLINE_KILLS, BOWLINE_SEED)
	.ci/ensure-servers
	BOWLINE_KILLS=$${BOWLINE_KILLS:-200} $(GO) test -count=1 -timeout 2h -v -run TestKills ./test/chaos

.PHONY: crashpoints
crashpoints: build ## Interrupt every operation of the cloud's kinds, of claims, of applications and of Terraform kinds at every request (ARGS="--kind NodeGroup --operation create")
	.ci/ensure-servers
	$(GO) build -buildvcs=false -o bin/crashpoints ./test/crashpoints
	@bin/crashpoints $(ARGS)
	@[[ -n "$(ARGS)" ]] || $(GO) run ./test/crashpoints/workloads
	@[[ -n "$(ARGS)" ]] || BOWLINE_TERRAFORM_POINTS=all $(GO) test -count=1 -timeout 30m -run TestKilled ./pkg/terraform/external
	@[[ -n "$(ARGS)" ]] || BOWLINE_TERRAFORM_POINTS=all $(GO) test -count=1 -timeout 1h -v ./test/crashpoints/terraform

.PHONY: storm
storm: ## A thousand objects, a cloud that throttles and loses responses, ten kills (BOWLINE_SEED)
	.ci/ensure-servers
	BOWLINE_STORM_NETWORKS=970 BOWLINE_STORM_DATABASES=30 BOWLINE_STORM_KILLS=10 $(GO) test -count=1 -timeout 1h -v \
		-run TestStorm ./test/chaos | sed -u -E -e '/^ *(=== |--- PASS|PASS|ok )/d' -e 's/^    //'

.PHONY: claims-storm
claims-storm: ## Five hundred claims at once, two providers, three classes, six kills (BOWLINE_SEED)
	.ci/ensure-servers
	BOWLINE_CLAIMS_SERVERS=$${BOWLINE_CLAIMS_SERVERS:-20} BOWLINE_CLAIMS_DATABASES=$${BOWLINE_CLAIMS_DATABASES:-480} \
		BOWLINE_CLAIMS_KILLS=$${BOWLINE_CLAIMS_KILLS:-5} $(GO) test -count=1 -timeout 1h -v -run Claims ./test/chaos | \
		sed -u -E -e '/^ *(=== |--- PASS|PASS|ok )/d' -e 's/^    //'

.PHONY: shards
shards: ## Divide twenty thousand objects between two processes, kill one, and let them exchange their objects (BOWLINE_SEED)
	.ci/ensure-servers
	BOWLINE_SHARDS_OBJECTS=$${BOWLINE_SHARDS_OBJECTS:-20000} BOWLINE_SHARDS_REST=$${BOWLINE_SHARDS_REST:-60} \
		$(GO) test -count=1 -timeout 2h -v -run Shards ./test/chaos | sed -u -E -e '/^ *(=== |--- PASS|PASS|ok )/d' -e 's/^    //'

.PHONY: workloads-storm
workloads-storm: ## Two hundred objects of applications in five clusters, three kills (BOWLINE_SEED)
	.ci/ensure-servers
	BOWLINE_WORKLOADS_CLUSTERS=5 BOWLINE_WORKLOADS_TEMPLATES=200 $(GO) test -count=1 -timeout 1h -v -run Workloads ./test/chaos | \
		sed -u -E -e '/^ *(=== |--- PASS|PASS|ok )/d' -e 's/^    //'

.PHONY: test-kubernetes
test-kubernetes: ## Break a real Kubernetes control plane during creations (BOWLINE_FREEZES, BOWLINE_OBJECTS, BOWLINE_SEED)
	BOWLINE_FREEZES=$${BOWLINE_FREEZES:-10} $(GO) test -count=1 -timeout 1h -v -run TestFailures ./test/kubernetes | \
		sed -u -E -e '/^ *(=== |PASS|ok )/d' -e 's/^    //'

.PHONY: node-images
node-images: build ## Build bin/node, the images of the tests on a node
	mkdir -p bin/node
	cd test/kubernetes/servers && $(GO) build -buildvcs=false -ldflags '-s -w' -o '$(CURDIR)/bin/pause' ./pause
	cd deploy/image && $(GO) run . --name bowline --version v1 --out '$(CURDIR)/bin/node' "linux/$$($(GO) env GOARCH)=$(CURDIR)/bin/bowline"
	cd deploy/image && $(GO) run . --name pause --version v1 --out '$(CURDIR)/bin/node' "linux/$$($(GO) env GOARCH)=$(CURDIR)/bin/pause"

.PHONY: test-kubernetes-node
test-kubernetes-node: ## Run the image in pods of a real node: the guide, then with 2000 objects; needs root, installs containerd if it is missing (BOWLINE_OBJECTS)
	@[[ $$EUID -eq 0 ]] || { echo "A node needs root: run this as root, in a checkout of its own." >&2; exit 1; }
	.ci/ensure-servers containerd
	@$(MAKE) --no-print-directory kubernetes$${BOWLINE_KUBERNETES:-} helm node-images
	$(GO) test -c -o bin/kubernetes.test ./test/kubernetes
	cd test/kubernetes && BOWLINE_NODE=1 ./node.sh '$(CURDIR)/bin/kubernetes.test' -test.v -test.run TestGuide -test.timeout 1h

.PHONY: test-kubernetes-skew
test-kubernetes-skew: ## Run the tests of clusters with the servers of Kubernetes 1.34
	.ci/ensure-servers
	BOWLINE_KUBERNETES=-1.34 $(GO) test -count=1 -timeout 1h ./test/kubernetes

.PHONY: backup-proof
backup-proof: ## Restore the backup of 200 claims under load beside the original (BOWLINE_BACKUP_CLAIMS)
	.ci/ensure-servers
	BOWLINE_BACKUP_CLAIMS=$${BOWLINE_BACKUP_CLAIMS:-200} $(GO) test -count=1 -timeout 1h -v ./test/backup | \
		sed -u -E -e '/^ *(=== |--- PASS|PASS|ok )/d' -e 's/^    //'

.PHONY: rotation-proof
rotation-proof: ## Rotate the credentials of 50 databases twice while clients connect (ROTATION_DATABASES)
	.ci/ensure-servers
	ROTATION_DATABASES=$${ROTATION_DATABASES:-50} $(GO) test -count=1 -timeout 30m -v -run TestTenantRotationUnderLoad ./providers/sql

FUZZ = FuzzLife:pkg/reconciler/managed FuzzKinds:test/fuzz FuzzFaults:test/fuzz FuzzProperties:pkg/kind/parameters FuzzDerive:pkg/connection \
	FuzzText:pkg/internal/redact

# Without the coverage that go test -fuzz builds in: requests and goroutines make it noise, and minutes go into compiling for it.
.PHONY: fuzz
fuzz: ## Random lives of managed resources, random settings and templates (FUZZTIME=2m for each target)
	@for target in $(FUZZ); do \
		echo "$$target"; name=$${target%:*}; folder=$${target#*:}; \
		$(GO) test -c -o "bin/$$name.test" "./$$folder"; \
		(cd "$$folder" && "$(CURDIR)/bin/$$name.test" -test.run '^$$' -test.fuzz "^$$name$$" -test.fuzztime $(or $(FUZZTIME),2m) \
			-test.parallel 1 -test.fuzzminimizetime 30s -test.fuzzcachedir "$(CURDIR)/bin/fuzz"); \
	done

.PHONY: bench
bench: build ## Measure requests, CPU and memory of managed resources (N=1000 LATENCY=0 JSON=out.json ARGS="...")
	$(GO) build -buildvcs=false -ldflags '$(LDFLAGS)' -o bin/bench ./test/bench
	@exec bin/bench --objects $(or $(N),1000) --latency $(or $(LATENCY),0) $(if $(JSON),--json '$(JSON)') $(ARGS)

.PHONY: bench-compare
bench-compare: build ## Measure another commit and this tree in turn (REF=v1.0 N=1000 LATENCY=0 ROUNDS=2 ARGS="...")
	$(GO) build -buildvcs=false -ldflags '$(LDFLAGS)' -o bin/bench ./test/bench
	@exec bin/bench against '$(REF)' --objects $(or $(N),1000) --latency $(or $(LATENCY),0) --rounds $(or $(ROUNDS),2) --floor-workers 8 $(ARGS)

.PHONY: bench-report
bench-report: ## Measure all, and write docs/performance.md (N=1000 ROUNDS=2 ARGS="...")
	@$(MAKE) --no-print-directory bench JSON=bin/bench.json ARGS='--measure start,floor,objects,crowd,definitions,kinds,terraform --rounds $(or $(ROUNDS),2) $(ARGS)'
	bin/bench page bin/bench.json docs

.PHONY: verify
verify: ## Check format, go.mod, generated files, vet and staticcheck
	.ci/verify

.PHONY: size
size: ## Print the lines that people maintain, by package, and their limits
	@$(GO) run ./internal/policy/size

.PHONY: generate
generate: ## Generate code, CRDs and docs/reasons.md from the API types
	.ci/generate

.PHONY: manifests
manifests: ## Generate CRDs and the Go code that they need
	.ci/generate manifests

.PHONY: reviewable
reviewable: generate verify test ## Generate, lint and test, as before a review

.PHONY: clean
clean: ## Remove bin/
	rm -rf bin
