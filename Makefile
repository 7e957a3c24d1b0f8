# The cost of a call, compared with other clients. It takes some minutes; see docs/benchmarks.md.
.PHONY: bench
bench:
	bench/run
	bench/tables

# Each fuzz target for FUZZTIME, one after another; see docs/fuzzing.md.
FUZZTIME ?= 10m

.PHONY: fuzz
fuzz:
	FUZZTIME=$(FUZZTIME) .ci/run fuzz
