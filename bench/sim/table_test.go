package sim

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/golden"
)

var (
	full = flag.Bool("full", false, "run every contender in every cell")
	seed = flag.Uint64("seed", defaultSeed, "the seed of the latencies, the faults and the phase")
)

const docs = "../../docs"

// mayMiss reports whether the cell meets its figures by chance only: after a lost response a
// sliding window may be fuller than it seems.
func mayMiss(c cell) bool { return c.window == fake.WindowSliding && c.byChance() }

// documentSeeds is with how many seeds the document is made.
const documentSeeds = 5

// TestTable runs petstore-go in every cell of every suite, with -short in one of forty, and holds it
// to its figures. The other contenders run for the document, where it has them, and with -full
// everywhere.
func TestTable(t *testing.T) {
	seeds := []uint64{*seed}
	for golden.Update() && len(seeds) < documentSeeds {
		seeds = append(seeds, *seed+uint64(len(seeds)))
	}
	rows, misses := runSuites(t, seeds)
	t.Logf("missed:\n%s", misses)
	groups := map[string][]group{}
	for _, s := range suites(*seed) {
		groups[s.name] = s.groups(rows[s.name])
		if *full || golden.Update() {
			t.Log(s.summary(groups[s.name]))
		}
	}
	if !golden.Update() || testing.Short() {
		return
	}
	require.NoError(t, newDocument(len(seeds), groups, misses).write(docs))
	for _, s := range suites(*seed) {
		require.NoError(t, s.writeCSV("testdata", groups[s.name]))
	}
}

// runSuites returns the rows of each suite with these seeds, and in what they fall short.
func runSuites(t *testing.T, seeds []uint64) (rows map[string][]row, misses string) {
	t.Helper()
	rows = map[string][]row{}
	for _, n := range seeds {
		for _, s := range suites(n) {
			found := runSuite(t, s)
			rows[s.name] = append(rows[s.name], found...)
			misses += s.missesOf(found, n)
		}
	}
	return rows, misses
}

// missesOf returns a line for each condition in which rows fall short: that of its first cell.
func (s suite) missesOf(rows []row, seed uint64) string {
	var lines []string
	cells, line := map[string]int{}, map[string]int{}
	for _, r := range rows {
		missed, name := s.misses(r), r.cell.condition.name
		if len(missed) == 0 {
			continue
		}
		if cells[name]++; cells[name] == 1 {
			line[name] = len(lines)
			lines = append(lines, fmt.Sprintf("- `%s`, seed %d: %s", r.cell, seed, strings.Join(missed, ", ")))
		}
	}
	for name, i := range line {
		if n := cells[name]; n > 1 {
			lines[i] += fmt.Sprintf("; the first of %d such cells", n)
		}
		lines[i] += ".\n"
	}
	return strings.Join(lines, "")
}

// runSuite runs the cells of a suite, and returns the rows of those that -run has chosen.
func runSuite(t *testing.T, s suite) []row {
	t.Helper()
	cells := s.cells
	if testing.Short() {
		cells = sampled(cells, 40)
	}
	if golden.Update() && s.name == "job" { // the document shows no others
		cells = slices.DeleteFunc(cells, func(c cell) bool { return !c.listed() })
	}
	rows := make([]row, len(cells))
	t.Run(s.name, func(t *testing.T) {
		for i, c := range cells {
			t.Run(c.String(), func(t *testing.T) {
				t.Parallel()
				rows[i] = row{c, runAll(t, s, c, *full || golden.Update() && s.compared(c))}
				judge(t, s, rows[i])
			})
		}
	})
	return slices.DeleteFunc(rows, func(r row) bool { return len(r.results) == 0 })
}

// sampled returns one of n cells.
func sampled(cells []cell, n int) []cell {
	var some []cell
	for i := 0; i < len(cells); i += n {
		some = append(some, cells[i])
	}
	return some
}

// runAll returns the results of the contenders, or only ours, in a cell.
func runAll(t *testing.T, s suite, c cell, all bool) []result {
	t.Helper()
	var results []result
	for i, k := range s.contenders {
		if all || i < s.ours {
			synctest.Test(t, func(*testing.T) { results = append(results, run(c, k)) })
		}
	}
	return results
}

// misses returns where petstore-go falls short of its figures.
func (s suite) misses(r row) []string {
	var misses []string
	for i, result := range r.results[:min(s.ours, len(r.results))] {
		misses = append(misses, s.figure(r.cell, i).misses(result)...)
	}
	return misses
}

// judge fails the test if petstore-go falls short of its figures. The document names those that do.
func judge(t *testing.T, s suite, r row) {
	t.Helper()
	if misses := s.misses(r); len(misses) > 0 && !mayMiss(r.cell) && !golden.Update() {
		t.Errorf("%s\ngo test -run 'TestTable/%s/%s$' -v -seed %d",
			strings.Join(misses, "\n"), s.name, regexp.QuoteMeta(r.cell.String()), r.cell.seed)
	}
}

func TestTable_isInTheDocument(t *testing.T) {
	if golden.Update() {
		t.Skip("it is being written")
	}
	text, err := os.ReadFile(filepath.Join(docs, documentName))
	require.NoError(t, err)
	const again = "write it anew: UPDATE_GOLDEN=1 go test -run TestTable -timeout 2h"
	for _, k := range contenders() {
		assert.Contains(t, string(text), k.text, again)
	}
	for _, s := range suites(*seed) {
		for _, c := range s.cells {
			assert.Contains(t, string(text), "| "+s.label(c)+" |", again)
		}
	}
}

// TestRun_sameTwice runs one cell of each kind twice. Conditions with failures are not among them:
// no seed decides the random part of the backoff after one.
func TestRun_sameTwice(t *testing.T) {
	for _, c := range []cell{
		exampleCell(*seed), herds(*seed).cells[18], loads(*seed).cells[0],
		{condition: conditions()[0], perMinute: 60, goroutines: 512, seed: *seed},
	} {
		for _, k := range herds(*seed).contenders {
			var results [2]result
			for i := range results {
				synctest.Test(t, func(*testing.T) { results[i] = run(c, k) })
				results[i].start = results[0].start
				results[i].banEnd = results[0].banEnd
			}
			assert.Equal(t, results[0], results[1], "%s in %s", k.name, c)
		}
	}
}
