# The way of a contributor. CONTRIBUTING.md says what each part is for.
.PHONY: test lint format nested golden ci bench fuzz

test: # the root module, in seconds
	go test -short ./...

lint: # builds golangci-lint the first time
	.ci/run lint

format: # writes
	.ci/run format || bin/tools/golangci-lint fmt .

nested: # lints and tests the nested modules that the changes since origin/main reach
	.ci/run changed

golden: # writes the golden files of all modules anew: read the difference
	for folder in . examples/bulkimport openapi; do UPDATE_GOLDEN=1 go -C $$folder test -short ./... || exit; done

ci: # all checks of CI
	.ci/run

# The cost of a call, compared with other clients. It takes some minutes; see docs/benchmarks.md.
bench:
	bench/run

# Each fuzz target for FUZZTIME, one after another; see docs/fuzzing.md.
FUZZTIME ?= 10m

fuzz:
	FUZZTIME=$(FUZZTIME) .ci/run fuzz
