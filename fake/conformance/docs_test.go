package conformance

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
)

// documented returns what the document has after a beginning, up to an end.
func documented(t *testing.T, begin, end string) string {
	t.Helper()
	all, err := os.ReadFile("../../docs/conformance.md")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(all), begin)
	require.True(t, found, begin)
	before, _, _ := strings.Cut(after, end)
	return before
}

// rows returns the rows of the table that begins with a header, cell by cell.
func rows(t *testing.T, header string) [][]string {
	t.Helper()
	table := documented(t, header+"\n|---|", "\n\n")
	var list [][]string
	for line := range strings.Lines(table[strings.Index(table, "\n")+1:]) {
		var cells []string
		for cell := range strings.SplitSeq(strings.Trim(strings.TrimSpace(line), "|"), " | ") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		list = append(list, cells)
	}
	return list
}

func TestDocs(t *testing.T) {
	t.Run("counts the clauses of each section", func(t *testing.T) {
		counted, existing := make(map[string]string), make(map[string]int)
		for _, row := range rows(t, "| section | subtests | of what |") {
			require.Len(t, row, 3, "%q", row)
			counted[row[0]] = row[1]
		}
		for _, c := range clauses() {
			existing[c.section]++
		}
		assert.Equal(t, fmt.Sprint(counted), fmt.Sprint(existing))
	})
	t.Run("names every flag", func(t *testing.T) {
		flag.VisitAll(func(f *flag.Flag) {
			if strings.HasPrefix(f.Name, "petstore.") {
				assert.NotEmpty(t, documented(t, "`-"+f.Name, "|"))
			}
		})
	})
	t.Run("names every choice of the fake", func(t *testing.T) {
		for _, field := range reflect.VisibleFields(reflect.TypeFor[fake.Behavior]()) {
			assert.Contains(t, documented(t, "## What the document leaves open", "\x00"), "`"+field.Name+"`")
		}
	})
}
