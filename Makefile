.PHONY: test ci lint bench
test:
	go test ./... ./examples/...
ci:
	.ci/run
lint:
	.ci/run lint
bench:
	go test -run '^$$' -bench . ./...
