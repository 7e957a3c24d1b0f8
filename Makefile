# What a call costs beside other clients, in some minutes: docs/benchmarks.md explains what is measured.
.PHONY: bench
bench:
	bench/run
	bench/tables

# Every fuzz target for FUZZTIME, one after another: docs/fuzzing.md tells what they check.
FUZZTIME ?= 10m

.PHONY: fuzz
fuzz:
	FUZZTIME=$(FUZZTIME) .ci/run fuzz
