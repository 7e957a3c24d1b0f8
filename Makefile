# Every fuzz target for FUZZTIME, one after another: docs/fuzzing.md tells what they check.
FUZZTIME ?= 10m

.PHONY: fuzz
fuzz:
	FUZZTIME=$(FUZZTIME) .ci/run fuzz
