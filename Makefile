# What a call costs beside other clients, in three minutes: docs/benchmarks.md tells what is measured.
.PHONY: bench
bench:
	cd bench && go run .

# Every fuzz target for FUZZTIME, one after another: docs/fuzzing.md tells what they check.
FUZZTIME ?= 10m

.PHONY: fuzz
fuzz:
	FUZZTIME=$(FUZZTIME) .ci/run fuzz
