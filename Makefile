# What a call costs compared to other clients, in some minutes: docs/benchmarks.md explains it.
.PHONY: bench
bench:
	bench/run
	bench/tables

# Every fuzz target for FUZZTIME, one after another: docs/fuzzing.md says what they check.
FUZZTIME ?= 10m

.PHONY: fuzz
fuzz:
	FUZZTIME=$(FUZZTIME) .ci/run fuzz
