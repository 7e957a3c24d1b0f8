package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/bench/internal/report"
)

func TestEveryClientBringsTheSameResults(t *testing.T) {
	tree, err := findTree(t.Context())
	require.NoError(t, err)
	driver, err := tree.build(t.Context(), t.TempDir())
	require.NoError(t, err)
	_, err = run(t.Context(), tree.bench, driver, "-check")
	assert.NoError(t, err)
	t.Run("and is counted and compared", func(t *testing.T) {
		r, err := tree.measure(t.Context(), driver, options{quick: true, rounds: 1, only: "calls,writes"})
		require.NoError(t, err)
		assert.Len(t, r.Clients, 7)
		assert.Len(t, r.Rows(), 20)
		assert.Len(t, r.Cells, 140)
		for _, c := range r.Cells {
			assert.Positive(t, c.Allocs, "%v %s", c.Row, c.Client)
		}
		for _, w := range r.Writes {
			assert.InDelta(t, 1, w.PerCall, 0.001, "%s, %s", w.Client, w.Operation)
		}
		assert.Contains(t, report.Text(r), "list 100, TCP, 64 goroutines")
	})
}

func TestDocumentIsThatOfTheKeptResults(t *testing.T) {
	tree, err := findTree(t.Context())
	require.NoError(t, err)
	reports, err := report.Load(tree.results())
	require.NoError(t, err)
	require.NotEmpty(t, reports)
	for name, want := range report.Documents(reports) {
		got, err := os.ReadFile(filepath.Join(tree.root, "docs", name))
		require.NoError(t, err)
		assert.Equal(t, want, string(got), "%s: go run . -render writes it anew", name)
	}
}

func TestFlags(t *testing.T) {
	o, err := parse([]string{"-quick", "-only", "heap,writes", "-rounds", "4"})
	require.NoError(t, err)
	p := o.plan()
	assert.Equal(t, 4, p.Rounds)
	assert.True(t, p.has("heap"))
	assert.False(t, p.has("calls"))

	for _, args := range [][]string{{"-quick", "-update"}, {"-update", "-only", "heap"}, {"surplus"}} {
		_, err := parse(args)
		assert.Error(t, err, "%q", args)
	}
}

func TestResultsOfGoTestAreRead(t *testing.T) {
	const text = `=== RUN   TestADayOfRetryAfter
    bench_test.go:177: 117.655µs of real time
--- PASS: TestADayOfRetryAfter (0.00s)
goos: linux
BenchmarkDirectDoor
BenchmarkDirectDoor/list-2         	  100	     17471 ns/op	    5007 B/op	      19 allocs/op
BenchmarkTCP/fake-2                	   10	    111634 ns/op	    111300 cpu-ns/op
PASS
`
	assert.Equal(t, []report.Benchmark{
		{Name: "DirectDoor/list", Metrics: []report.Metric{{Value: 17471, Unit: "ns/op"}, {Value: 5007, Unit: "B/op"}, {Value: 19, Unit: "allocs/op"}}},
		{Name: "TCP/fake", Metrics: []report.Metric{{Value: 111634, Unit: "ns/op"}, {Value: 111300, Unit: "cpu-ns/op"}}},
	}, benchmarks(text))
	assert.Equal(t, []report.Benchmark{
		{Name: "ADayOfRetryAfter", Metrics: []report.Metric{{Value: 117655, Unit: "ns/op"}}},
	}, virtualDays(text))
}
