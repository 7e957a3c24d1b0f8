package sim

import (
	"encoding/csv"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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

var seed = flag.Uint64("seed", defaultSeed, "the seed of the latencies, the faults and the phase")

// documentSeeds is with how many seeds the document is made.
const documentSeeds = 5

// missesFile has the runs in which petstore-go falls short of its figures, for the document.
const missesFile = "testdata/misses.md"

// TestTable runs petstore-go in every cell of every suite, with -short in one of forty, and holds it
// to its figures. To write the tables of the document, it runs the other contenders, too, and with
// more seeds.
func TestTable(t *testing.T) {
	seeds := []uint64{*seed}
	for golden.Update() && len(seeds) < documentSeeds {
		seeds = append(seeds, *seed+uint64(len(seeds)))
	}
	rows, misses := map[string][]row{}, ""
	for _, n := range seeds {
		for _, s := range suites(n) {
			found, missed := runSuite(t, s)
			rows[s.name] = append(rows[s.name], found...)
			misses += missed
		}
	}
	t.Logf("missed:\n%s", misses)
	if !golden.Update() || testing.Short() {
		return
	}
	golden.Assert(t, missesFile, misses)
	for _, s := range suites(*seed) {
		golden.Assert(t, s.file(), s.csv(rows[s.name]))
	}
}

func (s suite) file() string { return filepath.Join("testdata", s.name+".csv") }

// TestTable_isInTheDocument makes docs/limiter.md of the files that TestTable wrote.
func TestTable_isInTheDocument(t *testing.T) {
	misses, err := os.ReadFile(missesFile)
	require.NoError(t, err)
	runs, tables := 0, map[string]string{}
	for _, s := range suites(*seed) {
		text, err := os.ReadFile(s.file())
		require.NoError(t, err)
		lines, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
		require.NoError(t, err)
		for _, line := range lines[1:] {
			n, err := strconv.Atoi(line[2])
			require.NoError(t, err)
			runs += n
		}
		tables[s.name] = s.markdown(lines)
		for _, c := range s.cells {
			assert.Contains(t, tables[s.name], "\n| "+c.text+" |", "UPDATE_GOLDEN=1 go test -run TestTable -timeout 2h")
		}
	}
	prose, err := template.ParseFiles("limiter.md.tmpl")
	require.NoError(t, err)
	var page strings.Builder
	require.NoError(t, prose.Execute(&page, map[string]any{"Runs": runs, "Misses": string(misses), "Table": tables}))
	golden.Assert(t, "../../docs/limiter.md", page.String())
}

// runSuite runs the cells of a suite, and returns the rows of those that -run has chosen and in what
// they fall short.
func runSuite(t *testing.T, s suite) (rows []row, misses string) {
	t.Helper()
	cells := s.cells
	if golden.Update() && s.name == "job" { // the document shows no others
		cells = slices.DeleteFunc(cells, func(c cell) bool { return !c.compared })
	}
	results, missed := make([][]row, len(cells)), make([]string, len(cells))
	t.Run(s.name, func(t *testing.T) {
		for i, c := range cells {
			if testing.Short() && i%40 != 0 {
				continue
			}
			t.Run(c.String(), func(t *testing.T) {
				t.Parallel()
				results[i], missed[i] = s.runContenders(t, c)
				// After a lost response a sliding window may be fuller than it seems: there, it is chance. The
				// document names the others.
				if mayMiss := golden.Update() || c.window == fake.WindowSliding && c.byChance(); !mayMiss {
					assert.Empty(t, missed[i], "go test -run 'TestTable/%s/%s$' -v -seed %d", s.name, c, c.seed)
				}
			})
		}
	})
	return slices.Concat(results...), listed(cells, missed)
}

// runContenders runs ours in a cell, and the others if the document compares them, and returns in
// what ours falls short.
func (s suite) runContenders(t *testing.T, c cell) (rows []row, missed string) {
	t.Helper()
	var misses []string
	for _, k := range s.contenders {
		if !k.ours && !(golden.Update() && c.compared) {
			continue
		}
		synctest.Test(t, func(*testing.T) { rows = append(rows, row{c, k, runCell(c, k)}) })
		if k.ours {
			misses = append(misses, s.figure(c, k.told).misses(rows[len(rows)-1].result)...)
		}
	}
	return rows, strings.Join(misses, ", ")
}

// listed returns a line for each condition with misses: those of its first cell.
func listed(cells []cell, missed []string) string {
	var text strings.Builder
	count := map[string]int{}
	for i, c := range cells {
		if missed[i] != "" {
			count[c.name]++
		}
	}
	for i, c := range cells {
		n := count[c.name]
		if missed[i] == "" || n == 0 {
			continue
		}
		delete(count, c.name)
		fmt.Fprintf(&text, "- `%s`, seed %d: %s", c, c.seed, missed[i])
		if n > 1 {
			fmt.Fprintf(&text, "; the first of %d such cells", n)
		}
		text.WriteString(".\n")
	}
	return text.String()
}

// TestRun_sameTwice runs one cell of each kind twice. Conditions with failures are not among them:
// no seed decides the random part of the backoff after one.
func TestRun_sameTwice(t *testing.T) {
	short := jobs(*seed).cells
	for _, c := range []cell{short[3], short[22], herds(*seed).cells[18], loads(*seed).cells[0]} {
		for _, k := range toldToo() {
			var results [2]result
			for i := range results {
				synctest.Test(t, func(*testing.T) { results[i] = runCell(c, k) })
			}
			assert.Equal(t, results[0], results[1], "%s in %s", k.name, c)
		}
	}
}
