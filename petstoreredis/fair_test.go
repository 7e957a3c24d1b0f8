package petstoreredis

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLimiterAcquire_fair(t *testing.T) {
	for _, f := range []struct {
		rush
		least float64
	}{
		{rush{limit: 300, processes: 8, goroutines: 8}, 0.5},
		{rush{limit: 1000, processes: 8, goroutines: 8}, 0.5},
		{rush{limit: 300, processes: 32, goroutines: 2}, 0.4},
		{rush{limit: 1000, processes: 32, goroutines: 2}, 0.4},
	} {
		f.minutes = 3
		out := f.run(t)
		sum := 0
		for _, n := range out.counts {
			sum += n
		}
		fairness := float64(slices.Min(out.counts)) * float64(f.processes) / float64(sum)
		t.Logf("%d processes with %d goroutines on %d a minute: least/mean %.2f, share %.3f, %.2f trips a call", f.processes,
			f.goroutines, f.limit, fairness, float64(sum)/float64(3*f.limit), float64(out.trips)/float64(sum))
		assert.GreaterOrEqual(t, fairness, f.least)
		assert.Zero(t, out.usage.Limited)
	}
}
