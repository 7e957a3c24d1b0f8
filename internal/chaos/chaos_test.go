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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	callsOfAWorld   = 500
	callsOfASocket  = 200
	callsOfAControl = 120
	usualCalls      = 5 * callsOfAWorld
)

func TestChaosLosesNothingAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	all := newFigures()
	for _, seed := range seeds(t) {
		d := doors()[seed%uint64(len(doors()))]
		t.Run(fmt.Sprintf("seed %d, %s", seed, d.name), func(t *testing.T) {
			r := runInBubble(t, draw(seed, d, callsOfAWorld), nil)
			r.assertFine(t)
			all.add(r)
		})
	}
	t.Log(all)
}

func TestChaosOnSocketsLosesNothingAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	all := newFigures()
	seed := seeds(t)[0]
	for _, d := range sockets() {
		t.Run(d.name, func(t *testing.T) {
			r := draw(seed, d, callsOfASocket).run(t.Context(), nil)
			r.assertFine(t)
			all.add(r)
		})
	}
	t.Log(all)
}

// seeds are those of the worlds to run: that of PETSTORE_SEED, or as many as PETSTORE_CHAOS takes for its
// number of calls.
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
	for seed := range uint64((calls + callsOfAWorld - 1) / callsOfAWorld) {
		all = append(all, seed)
	}
	return all
}

// assertFine fails the test with what it takes to see the same again.
func (r *report) assertFine(t *testing.T) {
	t.Helper()
	const most = 10
	var texts []string
	for _, f := range r.findings[:min(len(r.findings), most)] {
		texts = append(texts, f.String())
	}
	assert.Emptyf(t, texts, "%d findings; once more: PETSTORE_SEED=%d go test -count=1 -run Chaos ./internal/chaos",
		len(r.findings), r.world.seed)
}

// figures are what happened in many worlds.
type figures struct {
	worlds, calls, requests int
	met, outcomes           map[string]int
}

func newFigures() *figures { return &figures{met: map[string]int{}, outcomes: map[string]int{}} }

func (f *figures) add(r *report) {
	f.worlds++
	f.calls += r.calls
	f.requests += r.requests
	for name, n := range r.met {
		f.met[name] += n
	}
	for name, n := range r.outcomes {
		f.outcomes[name] += n
	}
}

// String returns the figures as a table.
func (f *figures) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d worlds, %d calls, %d requests\n", f.worlds, f.calls, f.requests)
	for _, counts := range []map[string]int{f.outcomes, f.met} {
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			fmt.Fprintf(&b, "%8d  %s\n", counts[name], name)
		}
	}
	return b.String()
}
