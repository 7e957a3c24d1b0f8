package petstore_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRunbook searches docs/operations.md as somebody on call does: for what was printed, such as
// the errors of TestErrorGoldenFiles. TestDocsNames looks for the lines of the log.
func TestRunbook(t *testing.T) {
	rows := runbookRows(t)
	errors, err := os.ReadFile("testdata/errors.txt")
	require.NoError(t, err)
	for line := range strings.Lines(string(errors)) {
		printed, ok := strings.CutPrefix(line, "\t")
		var found []string
		for _, row := range rows[1:] {
			if slices.ContainsFunc(row, func(key string) bool { return strings.Contains(printed, key) }) {
				found = append(found, row[0])
			}
		}
		// The page has no row for these two: nobody knows the cause, or the program has a bug.
		known := !strings.Contains(line, "anything") && !strings.Contains(line, ": Limit: ")
		assert.True(t, !ok || !known || len(found) == 1 || len(found) == 2, "%q for %s", found, printed)
	}
	log, err := os.ReadFile("testdata/errors.log")
	require.NoError(t, err)
	for line := range strings.Lines(string(log)) {
		inDoubt := strings.Contains(line, rows[0][0])
		assert.Equal(t, inDoubt, strings.Contains(line, "outcome_unknown=true"), "the first row is for %s", line)
	}
	sources := strings.Join(slices.Collect(maps.Values(texts(t, ".go", "_test.go"))), "") + texts(t, "alerts.yml")["examples/observability/alerts.yml"]
	for _, key := range slices.Concat(rows...) {
		inSource := strings.Contains(sources, `"`+key) || strings.Contains(sources, "alert: "+key+"\n")
		assert.True(t, strings.Contains(string(errors), key) || inSource, "nothing prints %q", key)
	}
}

// runbookRows returns the texts that a reader of the tables looks for, row by row. The first row is
// about writes in doubt.
func runbookRows(t *testing.T) (rows [][]string) {
	t.Helper()
	text, err := os.ReadFile("docs/operations.md")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if first, _, ok := strings.Cut(line, " | "); ok && strings.HasPrefix(line, "| `") {
			rows = append(rows, strings.Split(strings.Trim(strings.TrimPrefix(first, "| "), "`"), "`, `"))
		}
	}
	require.Greater(t, len(rows), 40)
	return rows
}
