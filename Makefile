# The commands of a contributor.
.PHONY: test lint format nested golden ci bench fuzz

test: # the root module: seconds, once it is compiled
	go test -short ./...

lint: # all modules: go vet, staticcheck, and the rules on size
	.ci/run lint

format: # writes
	gofmt -w .

nested: # tests the nested modules that need neither Redis nor a browser
	.ci/run modules

golden: # writes the golden files anew, also where other tests fail: read the difference
	-for folder in $$(grep -rl --include='*_test.go' 'testkit\.AssertGolden' * | \
			xargs -n1 dirname | sort -u); do \
		UPDATE_GOLDEN=1 go -C $$folder test -short .; \
	done

ci: # all checks of CI, with Redis and a browser: minutes
	.ci/run

# The cost of a call, compared with other clients, in rounds; docs/design.md has the table.
ROUNDS ?= 60

bench:
	mkdir -p bin
	cd bench && go generate ./... && go test -c -tags generated -o ../bin/bench.test .
	rm bench/ogenapi/oas_* bench/oapiapi/*.gen.go
	for round in $$(seq $(ROUNDS)); do \
		bin/bench.test -test.run - -test.bench . -test.benchtime 20ms -test.cpu 1; \
	done >bin/bench.txt
	cd bench && go tool benchstat -col /client ../bin/bench.txt

# Each fuzz target for FUZZTIME, one after another: inputs that nobody thought of. The first two
# commands print "folder target" for each of them.
FUZZTIME ?= 10m

fuzz:
	grep -r --include='*_test.go' -o '^func Fuzz[A-Za-z0-9_]*' . | \
	sed 's|/[^/]*:func | |' | \
	while read -r folder target; do \
		go -C $$folder test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) . </dev/null || exit; \
	done
