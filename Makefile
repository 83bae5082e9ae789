.PHONY: test ci lint bench
test:
	go test ./... ./examples/...
ci:
	.ci/run
lint:
	.ci/run lint
bench:
	go test -run '^$$' -bench . ./...
# Breaks the library in small ways and shows that the tests notice: see internal/mutants.
# ONLY is a regular expression of names, REPORT a file.
.PHONY: mutants
mutants:
	go test ./internal/mutants -run '^TestMutants$$' -v -timeout 0 -mutants -mutants.only='$(ONLY)' -mutants.report='$(abspath $(REPORT))'
# Measures at full size that memory follows the number of keys, not of events.
.PHONY: bounds
bounds:
	go test ./deltafifo ./indexer ./informer ./reflector ./reflector/rest ./workqueue -p 1 -run '^Test(Bounds|ListHeap$$)' -v -count=1 -timeout 30m -bounds.full
# Runs informers beside client-go's against a real Kubernetes API server: see examples/e2e.
.PHONY: e2e
e2e:
	cd examples/e2e && GOWORK=off go test -count=1 -timeout 60m -v . $(if $(REPORT),-report '$(abspath $(REPORT))')
# Asks a real Kubernetes API server what examples/apiserver/conformance asks; RECORD=1 writes down what it answers.
.PHONY: conformance
conformance:
	cd examples/e2e && GOWORK=off go test -count=1 -timeout 30m -v -run '^TestConformance$$' . $(if $(RECORD),-record)
# Measures the reference API server beside a real one: see examples/apiserver. FIGURES is a file that keeps the figures.
.PHONY: figures
figures:
	cd examples/e2e && GOWORK=off go run ./figures $(if $(FIGURES),-json '$(abspath $(FIGURES))')
# Simulates the library under faults for SIM_SECONDS, or SIM_COUNT scenarios, from SIM_SEED on (by
# default another one each time). The last line tells what was done; it fails when a guarantee broke.
.PHONY: sim
SIM_SECONDS ?= 300
sim:
	@out=$$(mktemp); code=0; \
	go test ./fakes/simulation -run '^TestSimulation$$' -count=1 -timeout 0 -v \
		-sim.for=$(SIM_SECONDS)s -sim.count=$(or $(SIM_COUNT),0) -sim.seed=$(or $(SIM_SEED),0) >$$out 2>&1 || { code=1; cat $$out; }; \
	sed -n 's/.*\(simulation: seed .* violations\).*/\1/p' $$out | tail -n 1; rm -f $$out; exit $$code
# Shows that the simulation finds five planted bugs, each by the guarantee that it breaks.
.PHONY: planted
planted:
	$(MAKE) mutants ONLY='^planted-'
# Kills the parts of a cluster at random for CHAOS_TIME while deployments come and go: see examples/cluster. CHAOS_SEED repeats
# what was done by chance.
.PHONY: chaos
CHAOS_TIME ?= 10m
chaos:
	go test ./examples/cluster -run '^TestChaos$$' -count=1 -timeout 0 -v -cluster.chaos=$(CHAOS_TIME) $(if $(CHAOS_SEED),-cluster.seed=$(CHAOS_SEED))
