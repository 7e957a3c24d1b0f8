package sim

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"text/template"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/golden"
)

// No test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var seed = flag.Uint64("seed", 1, "the seed of the latencies, the faults and the phase")

// TestTable runs every cell of every suite, with -short one of forty, and holds it to its figures.
func TestTable(t *testing.T) {
	for _, s := range suites(*seed) {
		rows := runSuite(t, s)
		if golden.Update() && !testing.Short() {
			golden.Assert(t, s.file(), s.markdown(rows))
		}
	}
}


func (s suite) file() string { return filepath.Join("testdata", s.name+".md") }

// TestTable_isInTheDocument makes docs/limiter.md of the files that the other tests wrote.
func TestTable_isInTheDocument(t *testing.T) {
	tables := map[string]string{}
	for _, name := range []string{"job", "load", "burst", "fleet"} {
		text, err := os.ReadFile(filepath.Join("testdata", name+".md"))
		require.NoError(t, err)
		tables[name] = string(text)
	}
	for _, s := range suites(*seed) {
		for _, c := range s.cells {
			assert.Contains(t, tables[s.name], "\n| "+c.text+" |", "UPDATE_GOLDEN=1 go test -run 'TestTable|Growth'")
		}
	}
	prose, err := template.ParseFiles("limiter.md.tmpl")
	require.NoError(t, err)
	var page strings.Builder
	require.NoError(t, prose.Execute(&page, tables))
	golden.Assert(t, "../../docs/limiter.md", page.String())
}

// runSuite runs the cells of a suite, and returns the rows of those that -run has chosen.
func runSuite(t *testing.T, s suite) []row {
	t.Helper()
	results := make([][]row, len(s.cells))
	t.Run(s.name, func(t *testing.T) {
		for i, c := range s.cells {
			if testing.Short() && i%40 != 0 {
				continue
			}
			t.Run(c.String(), func(t *testing.T) {
				t.Parallel()
				results[i] = s.runCell(t, c)
			})
		}
	})
	return slices.Concat(results...)
}

// runCell runs a cell, and holds it to its figures.
func (s suite) runCell(t *testing.T, c cell) (rows []row) {
	t.Helper()
	for _, told := range []bool{false, true} {
		if told && !s.toldToo {
			continue
		}
		synctest.Test(t, func(*testing.T) { rows = append(rows, row{c, told, runCell(c, told)}) })
		misses := s.figure(c, told).misses(rows[len(rows)-1].result)
		// After a lost response a sliding window may be fuller than it seems: there, it is chance.
		if c.window != fake.WindowSliding || !c.byChance() {
			assert.Empty(t, misses, "told: %v; go test -run 'TestTable/%s/%s$' -v -seed %d", told, s.name, c, c.seed)
		}
	}
	return rows
}

// TestRun_sameTwice runs one cell of each kind twice. Conditions with failures are not among them:
// no seed decides the random part of the backoff after one.
func TestRun_sameTwice(t *testing.T) {
	short := jobs(*seed).cells
	for _, c := range []cell{short[3], short[22], fleets(*seed).cells[0], loads(*seed).cells[0]} {
		var results [2]result
		for i := range results {
			synctest.Test(t, func(*testing.T) { results[i] = runCell(c, false) })
		}
		assert.Equal(t, results[0], results[1], "%s", c)
	}
}
