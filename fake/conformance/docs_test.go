package conformance

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rows returns the rows of the table that begins with a header, cell by cell.
func rows(t *testing.T, header string) [][]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/conformance.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), header+"\n|---|")
	require.True(t, found, header)
	var list [][]string
	for line := range strings.Lines(table[strings.Index(table, "\n")+1:]) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		var cells []string
		for cell := range strings.SplitSeq(strings.Trim(strings.TrimSpace(line), "|"), " | ") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		list = append(list, cells)
	}
	return list
}

func unquoted(cell string) string { return strings.Trim(cell, "`") }

func TestDocs(t *testing.T) {
	t.Run("names every clause", func(t *testing.T) {
		var documented, existing []string
		for _, row := range rows(t, "| section | subtests, after the number of the section |") {
			require.Len(t, row, 2, "%q", row)
			for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
				documented = append(documented, row[0]+" "+name[1])
			}
		}
		for _, c := range clauses() {
			existing = append(existing, c.name())
		}
		assert.ElementsMatch(t, existing, documented)
	})
	t.Run("names every question and the answer of the fake", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			answers := observeFake(t).answers()
			// The two need another catalogue and another year.
			answers["empty-list"], answers["removal"] = "[]", "accepted"
			documented := make(map[string]string)
			for _, row := range rows(t, "| section | what is open | key | the fake | to change it |") {
				require.Len(t, row, 5, "%q", row)
				if key := unquoted(row[2]); key != "—" {
					documented[key] = unquoted(row[3])
					assert.Contains(t, row[0], sectionOf(t, key), key)
				}
			}
			assert.Equal(t, answers, documented)
		})
	})
}

func sectionOf(t *testing.T, key string) string {
	t.Helper()
	for _, p := range probes() {
		if p.key == key {
			return p.section
		}
	}
	t.Errorf("there is no question %q", key)
	return ""
}
