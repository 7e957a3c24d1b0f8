package report_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/bench/internal/report"
)

func TestRatiosAreTakenRoundByRound(t *testing.T) {
	// The machine was twice as slow in the second round, and the ratio does not notice.
	s := report.Ratios([]int64{50, 100, 60, 40, 90}, []int64{100, 200, 100, 100, 100})
	assert.InDelta(t, 0.4, s.Min, 1e-9)
	assert.InDelta(t, 0.5, s.Lower, 1e-9)
	assert.InDelta(t, 0.5, s.Median, 1e-9)
	assert.InDelta(t, 0.6, s.Upper, 1e-9)
	assert.InDelta(t, 0.9, s.Max, 1e-9)
	assert.Equal(t, "0.50 (0.50–0.60)", s.String())
}

func TestSpreadLiesBetweenNeighboursWhereItHasTo(t *testing.T) {
	assert.Equal(t, report.Spread{Min: 1, Lower: 1.75, Median: 2.5, Upper: 3.25, Max: 4},
		report.SpreadOf([]float64{4, 1, 3, 2}))
	assert.Equal(t, report.Spread{Min: 7, Lower: 7, Median: 7, Upper: 7, Max: 7}, report.SpreadOf([]float64{7}))
	assert.Zero(t, report.SpreadOf(nil))
	assert.EqualValues(t, 2, report.Median([]int64{3, 2, 1}))
}

// madeUp has one row that ours wins, one in which it is level and one that it loses.
func madeUp() *report.Report {
	r := &report.Report{
		Toolchain: "go1.26.8", Platform: "any", Date: "2026-01-01", Rounds: 3,
		Clients: []report.Client{{Name: "ours"}, {Name: "net/http"}, {Name: "other", Version: "v1.2.3"}},
		Service: &report.Service{Fake: []int64{30}, Constant: []int64{20}},
		Fake:    []report.Benchmark{{Name: "Start", Metrics: []report.Metric{{Value: 1234567, Unit: "ns/op"}}}},
		Heap:    []report.Heap{{Client: "ours", Body: "large", Reference: 1 << 20, Allocated: 2 << 20, Peak: 3 << 19}},
		Writes:  []report.Writes{{"ours", "list 20", 1}, {"ours", "create", 2}},
		Connections: []report.Connections{
			{Client: "ours", Scheme: "http", Scenario: "well", Calls: 3000, Opened: []int{64, 66, 65}},
			{Client: "ours", Scheme: "https", Scenario: "well", Calls: 3000, Opened: []int{70}},
		},
	}
	for operation, cpu := range map[string][]int64{
		"list 20": {50, 40, 60}, "create": {70, 80, 90}, "get": {120, 110, 130},
	} {
		for _, transport := range []string{"stub", "TCP"} {
			row := report.Row{Transport: transport, Goroutines: 1, Operation: operation}
			r.Cells = append(r.Cells,
				report.Cell{Row: row, Client: "ours", CPU: cpu, Wall: 1, Bytes: 1000, Allocs: 20},
				report.Cell{Row: row, Client: "net/http", CPU: []int64{100, 100, 100}},
				report.Cell{Row: row, Client: "other", CPU: []int64{80, 80, 80}})
		}
	}
	return r
}

func TestOursIsComparedWithTheFastestOther(t *testing.T) {
	peer, ratio := madeUp().Best(report.Row{Transport: "stub", Goroutines: 1, Operation: "get"})
	assert.Equal(t, "other", peer)
	assert.InDelta(t, 1.5, ratio.Median, 1e-9)
}

func TestTextHasEverything(t *testing.T) {
	text := report.Text(madeUp())
	for _, line := range []string{
		"go1.26.8, any, 3 rounds",
		"ours 50 1 1000 20 0.50 (0.45–0.55) 0.40–0.60",
		"ours, http, well 3000 65 (64–66) 0",
		"ours, create 2.00",
		"ours, large 2.0 MiB 1.5 MiB 2.00 ×, 1.50 ×",
		"fake 30 1.50 (1.50–1.50)",
		"Start 1,234,567 ns/op",
		"writes per request 1 2.00 **missed**",
		"connections, http, all is well 70 65.00 reached",
		"CPU, list 20 without a network : net/http 0.5 0.50 reached",
	} {
		assert.Contains(t, squeezed(text), line)
	}
}

func squeezed(text string) string { return strings.Join(strings.Fields(text), " ") }

func TestDocumentTellsWhereOursIsNotAhead(t *testing.T) {
	text := report.Documents([]*report.Report{madeUp()})["benchmarks.md"]
	assert.Contains(t, text, "In 4 of 6 rows")
	assert.Contains(t, text, "- get, stub: behind other, 1.50 (1.44–1.56): decoding so little")
	assert.Contains(t, text, "- create, stub: level with other, 1.00 (0.94–1.06): ")
	assert.NotContains(t, text, "- list 20, stub")
	assert.Contains(t, text, "| list 20 | 0.50 (0.45–0.55) | 0.80 (0.80–0.80) | other 0.62 (0.56–0.69), **ahead** |\n")
	assert.Contains(t, text, "| list 20 | 1,000 / 20 | 0 / 0 | 0 / 0 |\n")
	assert.Contains(t, text, "| ours, well | 3,000 | 65 (64–66) | 70 | 0.0 | 0.0 |\n")
}

func TestPlotIsXMLAndHasADotForEachClientButTheYardstick(t *testing.T) {
	plot := report.Documents([]*report.Report{madeUp()})["benchmarks.svg"]
	decoder := xml.NewDecoder(strings.NewReader(plot))
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
	}
	const legend, dots = 2, 2 * 2 * 3
	assert.Equal(t, legend+dots, strings.Count(plot, "<circle"))
}

func TestResultsAreKeptAndFoundAgain(t *testing.T) {
	dir := t.TempDir()
	want := madeUp()
	require.NoError(t, want.Save(dir))
	newer := madeUp()
	newer.Toolchain = "go1.27.4"
	require.NoError(t, newer.Save(dir))
	got, err := report.Load(dir)
	require.NoError(t, err)
	assert.Equal(t, []*report.Report{want, newer}, got)
}
