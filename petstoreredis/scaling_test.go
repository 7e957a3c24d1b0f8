package petstoreredis

import (
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

const (
	scalingDocument = "../docs/scaling.md"
	tableBegin      = "<!-- simulated by scaling_test.go -->\n"
	tableEnd        = "<!-- end -->\n"
)

// scalingFleets are the rows of the table: two and a half windows of requests, by more and more
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
	var table strings.Builder
	table.WriteString("| requests a minute | processes | goroutines in each | 429s | time over the bound | " +
		"round trips for each request | requests of a process, least and mean |\n|---|---|---|---|---|---|---|\n")
	for _, f := range scalingFleets() {
		if !golden.Update() && f.processes*f.limit > 100_000 {
			continue
		}
		out := f.run(t)
		assert.Zero(t, out.rejected, "rejections of %s", f)
		assert.Positive(t, out.fewest, "%s", f)
		fmt.Fprintf(&table, "| %d | %d | %d | %d | %.3f | %.2f | %d, %.1f |\n", f.limit, f.processes, f.goroutines,
			out.rejected, out.ratio, out.trips, out.fewest, float64(f.requests)/float64(f.processes))
	}
	t.Log("\n" + table.String())
	if golden.Update() {
		writeTable(t, table.String())
	}
}

// writeTable puts a table in the place of the one in the document.
func writeTable(t *testing.T, table string) {
	t.Helper()
	text, err := os.ReadFile(scalingDocument)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), tableBegin)
	require.True(t, ok, "no place for the table")
	_, after, ok := strings.Cut(rest, tableEnd)
	require.True(t, ok, "the place for the table does not end")
	require.NoError(t, os.WriteFile(scalingDocument, []byte(before+tableBegin+"\n"+table+"\n"+tableEnd+after), 0o644))
}
