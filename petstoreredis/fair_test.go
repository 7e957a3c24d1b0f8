package petstoreredis

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestLimiterAcquire_fair(t *testing.T) {
	long(t)
	for _, f := range []struct {
		rush

		least float64
	}{
		{rush{limit: 300, processes: 8, goroutines: 8}, 0.8},
		{rush{limit: 1000, processes: 8, goroutines: 8}, 0.8},
		{rush{limit: 300, processes: 32, goroutines: 2}, 0.7},
		{rush{limit: 1000, processes: 32, goroutines: 2}, 0.7},
	} {
		f.minutes = 3
		t.Run(fmt.Sprintf("%d processes on %d a minute", f.processes, f.limit), func(t *testing.T) {
			out := f.run(t)
			sum := 0
			for _, n := range out.counts {
				sum += n
			}
			fairness := float64(slices.Min(out.counts)) * float64(f.processes) / float64(sum)
			t.Logf("least/mean %.2f, share %.3f, %.2f trips a call, the longest call %v", fairness,
				float64(sum)/float64(3*f.limit), float64(out.trips)/float64(sum), out.longest)
			assert.GreaterOrEqual(t, fairness, f.least)
			assert.Less(t, out.longest, 2*time.Minute, "a call has waited for two windows while others had one")
			assert.Zero(t, out.usage.Limited)
		})
	}
}
