# The commands of a contributor.
.PHONY: test lint format nested golden ci bench fuzz

test: # tests the root module: takes seconds when it is compiled
	go test -short ./...

lint: # checks all modules with gofmt, go vet, staticcheck and the rules on size
	.ci/run lint

format: # formats all Go files
	gofmt -w .

nested: # tests the nested modules that need neither Redis nor a browser
	.ci/run modules

golden: # writes the golden files again, even if other tests fail: read the changes in git diff
	-for folder in $$(grep -rl --include='*_test.go' 'testkit\.AssertGolden' * | \
			xargs -n1 dirname | sort -u); do \
		UPDATE_GOLDEN=1 go -C $$folder test -short .; \
	done

ci: # runs all checks of a change, with Redis and a browser: takes minutes
	.ci/run

# Measures in ROUNDS rounds what a call costs in this client and in others: see docs/design.md.
ROUNDS ?= 60

bench:
	mkdir -p bin
	cd bench && go generate ./... && go test -c -tags generated -o ../bin/bench.test .
	rm bench/ogenapi/oas_* bench/oapiapi/*.gen.go
	for round in $$(seq $(ROUNDS)); do \
		bin/bench.test -test.run - -test.bench . -test.benchtime 20ms -test.cpu 1; \
	done >bin/bench.txt
	cd bench && go tool benchstat -col /client ../bin/bench.txt

# Runs each fuzz target for FUZZTIME, to find inputs that nobody thought of. The first two commands
# print a line "folder target" for each target.
FUZZTIME ?= 10m

fuzz:
	grep -r --include='*_test.go' -o '^func Fuzz[A-Za-z0-9_]*' . | \
	sed 's|/[^/]*:func | |' | \
	while read -r folder target; do \
		go -C $$folder test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) . </dev/null || exit; \
	done
