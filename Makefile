# The way of a contributor. CONTRIBUTING.md says what each part is for.
.PHONY: test lint format nested golden ci bench fuzz

test: # the root module, in seconds
	go test -short ./...

lint:
	.ci/run lint

format: # writes
	gofmt -w .

nested: # tests the nested modules that need neither Redis nor a browser
	.ci/run modules

golden: # writes all golden files anew, also where other tests fail: read the difference
	-for folder in $$(git ls-files '*go.mod' | xargs -n1 dirname); do UPDATE_GOLDEN=1 go -C $$folder test -short ./...; done

ci: # all checks of CI
	.ci/run

# The cost of a call, compared with other clients. It takes some minutes; see docs/benchmarks.md.
bench:
	bench/run

# Each fuzz target for FUZZTIME, one after another; see docs/fuzzing.md.
FUZZTIME ?= 10m

fuzz:
	FUZZTIME=$(FUZZTIME) .ci/run fuzz
