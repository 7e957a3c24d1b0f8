package bench_test

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/internal/golden"

	"github.com/petstore/petstore-go/bench/internal/rounds"
)

const page = "../docs/benchmarks.md"

// columns are the clients of the tables, in order; the ratios are to the first.
var columns = []string{"net/http", "petstore-go", "go-retryablehttp", "ogen"}

// TestPage holds the tables of docs/benchmarks.md to what was measured.
func TestPage(t *testing.T) {
	old, err := os.ReadFile(page)
	require.NoError(t, err)
	const start, end = "<!-- tables -->\n", "<!-- end of tables -->\n"
	before, rest, found := strings.Cut(string(old), start)
	require.True(t, found)
	_, after, found := strings.Cut(rest, end)
	require.True(t, found)
	golden.Assert(t, page, before+start+tables(t)+end+after)
}

func tables(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	paths, err := filepath.Glob("testdata/*.csv") // by toolchain
	require.NoError(t, err)
	for _, path := range paths {
		text.WriteString("\n## With " + strings.TrimSuffix(filepath.Base(path), ".csv") + "\n")
		m := readMeasured(t, path)
		for _, kind := range []struct{ title, key string }{
			{"CPU, no network", "stub"}, {"CPU, TCP, one caller", "TCP"}, {"CPU, TCP, 64 callers", "TCP64"},
		} {
			m.table(&text, kind.title, kind.key, columns[1:], ratio)
		}
		m.table(&text, "Allocations of a call", "allocations", columns, count)
		m.table(&text, "The fake beside a constant handler", "server", []string{"fake"}, ratio)
	}
	return text.String() + "\n"
}

// measured is one file of results: the rows in their order, and the ratios by row and client.
type measured struct {
	rows    []string
	ratios  map[string]map[string]rounds.Ratio
	inexact map[string]bool // rows with a ratio that is not exact
}

func readMeasured(t *testing.T, path string) measured {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	lines, err := csv.NewReader(file).ReadAll()
	require.NoError(t, err)
	m := measured{ratios: map[string]map[string]rounds.Ratio{}, inexact: map[string]bool{}}
	for _, line := range lines {
		var r rounds.Ratio
		_, err := fmt.Sscan(strings.Join(line[2:], " "), &r.Median, &r.Low, &r.High)
		require.NoError(t, err)
		if m.ratios[line[0]] == nil {
			m.rows, m.ratios[line[0]] = append(m.rows, line[0]), map[string]rounds.Ratio{}
		}
		m.ratios[line[0]][line[1]] = r
		m.inexact[line[0]] = m.inexact[line[0]] || !r.Exact()
	}
	return m
}

// table writes the rows of one kind. It leaves out those that are not exact.
func (m measured) table(w *strings.Builder, title, kind string, clients []string, cell func(rounds.Ratio) string) {
	head := fmt.Sprintf("\n| %s | %s |\n|---|%s\n", title, strings.Join(clients, " | "), strings.Repeat("--:|", len(clients)))
	for _, what := range m.rows {
		op, found := strings.CutPrefix(what, kind+" ")
		if !found || m.inexact[what] {
			continue
		}
		w.WriteString(head)
		head = ""
		fmt.Fprintf(w, "| %s |", op)
		for _, c := range clients {
			w.WriteString(" " + cell(m.ratios[what][c]) + " |")
		}
		w.WriteString("\n")
	}
}

func ratio(r rounds.Ratio) string {
	spread := max(r.High-r.Median, r.Median-r.Low) / r.Median
	return fmt.Sprintf("%.2f ±%.0f%%", r.Median, math.Ceil(100*spread))
}

func count(r rounds.Ratio) string { return fmt.Sprintf("%.0f", r.Median) }
