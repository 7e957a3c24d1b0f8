package petstoreredis

import (
	"encoding/csv"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/golden"
)

const scalingFile = "testdata/simulated.csv"

// scalingFleets are the rows of scalingFile: two and a half windows of requests, by more and more
// processes.
func scalingFleets() []fleet {
	var fleets []fleet
	for _, f := range []struct{ limit, processes, goroutines int }{
		{60, 8, 4}, {300, 8, 4}, {1000, 1, 32}, {1000, 8, 4}, {1000, 8, 1}, {1000, 100, 1}, {1000, 1000, 1}, {10_000, 100, 4},
	} {
		fleets = append(fleets, fleet{
			window: fake.WindowFixed, limit: f.limit, processes: f.processes, goroutines: f.goroutines,
			requests: f.limit * 5 / 2, least: 20 * time.Millisecond, most: 200 * time.Millisecond, seed: 1,
		})
	}
	return fleets
}

func TestLimiterAcquire_largeFleets(t *testing.T) {
	long(t)
	table := [][]string{{
		"requests a minute", "processes", "goroutines in each", "429s", "time over the bound", "round trips for each request",
		"requests of a process, least and mean",
	}}
	for _, f := range scalingFleets() {
		if !golden.Update() && f.processes*f.limit > 100_000 {
			continue
		}
		out := f.run(t)
		assert.Zero(t, out.rejected, "rejections of %s", f)
		assert.Positive(t, out.fewest, "%s", f)
		table = append(table, []string{
			fmt.Sprint(f.limit), fmt.Sprint(f.processes), fmt.Sprint(f.goroutines), fmt.Sprint(out.rejected),
			fmt.Sprintf("%.3f", out.ratio), fmt.Sprintf("%.2f", out.trips),
			fmt.Sprintf("%d, %.1f", out.fewest, float64(f.requests)/float64(f.processes)),
		})
	}
	var text strings.Builder
	require.NoError(t, csv.NewWriter(&text).WriteAll(table))
	t.Log("\n" + text.String())
	if golden.Update() {
		require.NoError(t, os.WriteFile(scalingFile, []byte(text.String()), 0o644))
	}
}
