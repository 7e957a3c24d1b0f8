package chaos

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/petstore/petstore-go/fake"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

const (
	callsInMemory  = 500
	callsOfControl = 120
	firstOfControl = 0 // the first seed of the wrong clients
	usualCalls     = 5 * callsInMemory
)

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestChaosInMemory(t *testing.T) {
	t.Parallel()
	all := newFigures()
	for _, seed := range seeds(t) {
		d := entryPoints()[seed%uint64(len(entryPoints()))]
		t.Run(fmt.Sprintf("seed %d, %s", seed, d.name), func(t *testing.T) {
			r := runInBubble(t, draw(seed, d, callsInMemory), nil)
			r.assertFine(t)
			all.add(r)
		})
	}
	t.Log(all)
	if all.calls >= usualCalls { // a single scenario may be short of anything
		all.assertDone(t, 2)
		for name, n := range all.met {
			assert.Positive(t, n, "calls that met %q", name)
		}
	}
}

// seeds returns the seeds of the scenarios: PETSTORE_SEED, or as many as the number of calls in
// PETSTORE_CHAOS needs.
func seeds(t *testing.T) []uint64 {
	t.Helper()
	if s := os.Getenv("PETSTORE_SEED"); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		require.NoError(t, err, "PETSTORE_SEED")
		return []uint64{seed}
	}
	calls, err := strconv.Atoi(cmp.Or(os.Getenv("PETSTORE_CHAOS"), strconv.Itoa(usualCalls)))
	require.NoError(t, err, "PETSTORE_CHAOS")
	var all []uint64
	for seed := range uint64((calls + callsInMemory - 1) / callsInMemory) {
		all = append(all, seed)
	}
	return all
}

// assertFine fails the test if there are findings, with the command that repeats the scenario.
func (r *report) assertFine(t *testing.T) {
	t.Helper()
	const most = 10
	var texts []string
	for _, f := range r.findings[:min(len(r.findings), most)] {
		texts = append(texts, f.String())
	}
	assert.Emptyf(t, texts, "%d findings; once more: PETSTORE_SEED=%d go test -count=1 -run Chaos ./internal/chaos",
		len(r.findings), r.scenario.seed)
}

// figures counts what happened in one or more scenarios.
type figures struct {
	scenarios, calls, requests int
	met                        map[string]int // requests by kind
	outcomes                   map[string]int // calls by operation and outcome
}

func newFigures() *figures { return &figures{met: map[string]int{}, outcomes: map[string]int{}} }

func (f *figures) add(r *report) {
	f.scenarios++
	f.calls += r.calls
	f.requests += r.requests
	for name, n := range r.met {
		f.met[name] += n
	}
	for name, n := range r.outcomes {
		f.outcomes[name] += n
	}
}

// assertDone fails the test unless one in that many calls succeeded: rules that no call puts to the
// test are not broken either, as without a network.
func (f *figures) assertDone(t *testing.T, oneIn int) {
	t.Helper()
	done := 0
	for _, o := range fake.Operations() {
		operation := o.Name
		assert.Positive(t, f.outcomes[operation+" done"], "calls of %s that succeeded", operation)
		done += f.outcomes[operation+" done"]
	}
	assert.GreaterOrEqual(t, oneIn*done, f.calls, "calls that succeeded: %d", done)
}

// String returns the figures as a table.
func (f *figures) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d scenarios, %d calls, %d requests\n", f.scenarios, f.calls, f.requests)
	for _, counts := range []map[string]int{f.outcomes, f.met} {
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			fmt.Fprintf(&b, "%8d  %s\n", counts[name], name)
		}
	}
	return b.String()
}
