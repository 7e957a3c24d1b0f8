package petstore_test

import (
	"cmp"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	markdownCode = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading      = regexp.MustCompile(`(?m)^#+ (.+)$`)
)

func TestDocsLinks(t *testing.T) {
	t.Parallel()
	documents := texts(t, ".md")
	for file, text := range documents {
		for _, match := range markdownLink.FindAllStringSubmatch(markdownCode.ReplaceAllString(text, ""), -1) {
			target, anchor, _ := strings.Cut(match[1], "#")
			if strings.Contains(target, ":") {
				continue // of another site
			}
			linked := file
			if target != "" {
				linked = path.Join(path.Dir(file), target)
			}
			_, err := os.Stat(filepath.FromSlash(linked))
			assert.NoError(t, err, "%s links to %s", file, target)
			if anchor != "" {
				assert.Contains(t, anchors(documents[linked]), anchor, "%s links to %s", file, match[1])
			}
		}
	}
}

// anchors returns the anchors of a document's headings, as GitHub makes them.
func anchors(text string) (found []string) {
	for _, match := range heading.FindAllStringSubmatch(text, -1) {
		anchor := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(match[1]), "")
		found = append(found, strings.ReplaceAll(anchor, " ", "-"))
	}
	return found
}

var (
	goBlock   = regexp.MustCompile("(?s)```go\n(.*?)```")
	testName  = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w*`)
	ciCommand = regexp.MustCompile("\\.ci/run ([a-z ]+?)(?:`|\n|  )")
)

// TestDocsNames compares the documents with the code: they show Go code that is compiled elsewhere,
// and name tests and steps of .ci/run that exist. The step readme runs the program of the README.
func TestDocsNames(t *testing.T) {
	t.Parallel()
	words := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	var compiled string
	for _, text := range texts(t, ".go") {
		compiled += words(text) + "\n"
	}
	steps, err := os.ReadFile(".ci/run")
	require.NoError(t, err)
	for file, text := range texts(t, ".md") {
		for _, block := range goBlock.FindAllStringSubmatch(text, -1) {
			known := strings.HasPrefix(block[1], "package main") || strings.Contains(compiled, words(block[1]))
			assert.True(t, known, "no Go file has the code of %s:\n%s", file, block[1])
		}
		for _, name := range testName.FindAllString(text, -1) {
			assert.True(t, strings.Contains(compiled, "func "+name), "%s names %s", file, name)
		}
		for _, match := range ciCommand.FindAllStringSubmatch(text, -1) {
			for step := range strings.FieldsSeq(match[1]) {
				assert.True(t, strings.Contains(string(steps), "\nstep_"+step+"()"), "%s names the step %s", file, step)
			}
		}
	}
}

var (
	packageName = regexp.MustCompile(`(?m)^package (\w+)`)
	comment     = regexp.MustCompile(`(?m)^\s*//(.*)`)
	// docLink is a link of a comment to an exported name: [Name], [Type.Method], [pkg.Name].
	docLink = regexp.MustCompile(`\[\*?(?:([a-z]\w*)\.)?([A-Z]\w*(?:\.[A-Z]\w*)?)\](?:[^(:]|$)`)
	// declared is a name that a line declares: a function, a method, or what begins a line, as
	// types, constants, fields and the methods of an interface do.
	declared = regexp.MustCompile(`(?m)^(?:func (?:\([^)]*\) )?|type |const |var |\t+)([A-Z]\w*)`)
)

// TestDocsCommentLinks finds links of comments to names that do not exist: go doc shows them as text.
func TestDocsCommentLinks(t *testing.T) {
	t.Parallel()
	names, files := map[string][]string{}, texts(t, ".go")
	maps.DeleteFunc(files, func(file, _ string) bool { return strings.HasSuffix(file, "_test.go") })
	for _, text := range files {
		pkg := packageName.FindStringSubmatch(text)[1]
		for _, name := range declared.FindAllStringSubmatch(text, -1) {
			names[pkg] = append(names[pkg], name[1])
		}
	}
	for file, text := range files {
		for _, line := range comment.FindAllStringSubmatch(text, -1) {
			for _, link := range docLink.FindAllStringSubmatch(line[1], -1) {
				ours, found := names[cmp.Or(link[1], packageName.FindStringSubmatch(text)[1])]
				for name := range strings.SplitSeq(link[2], ".") {
					assert.True(t, !found || slices.Contains(ours, name), "%s links to nothing: %s", file, link[0])
				}
			}
		}
	}
}

// TestDocsOperations compares the runbook with the code: it has each line of the logs, and each
// alert, which links to it. TestRunbook looks for the texts of errors.
func TestDocsOperations(t *testing.T) {
	t.Parallel()
	runbook, source := texts(t, ".md")["docs/operations.md"], ""
	for file, text := range texts(t, ".go") {
		if dir := path.Dir(file); (dir == "." || dir == "petstoreredis") && !strings.Contains(file, "_test.") {
			source += text
		}
	}
	alerts, err := os.ReadFile("examples/observability/alerts.yml")
	require.NoError(t, err)
	source += string(alerts)
	found := regexp.MustCompile(`slog\.Level(?:Warn|Info), "([^"]+)"|- alert: (\w+)`).FindAllStringSubmatch(source, -1)
	assert.Greater(t, len(found), 14)
	for _, match := range found {
		assert.Contains(t, runbook, "| `"+match[1]+match[2]+"` | ")
	}
	for _, anchor := range regexp.MustCompile(`runbook_url: .*/docs/operations\.md#(\S+)`).FindAllStringSubmatch(source, -1) {
		assert.Contains(t, anchors(runbook), anchor[1])
	}
	assert.Equal(t, strings.Count(source, "- alert: "), strings.Count(source, "runbook_url: "))
}

func TestDocsOptions(t *testing.T) {
	t.Parallel()
	readme, options := texts(t, "README.md")["README.md"], 0
	for file, text := range texts(t, ".go") {
		if path.Dir(file) != "." {
			continue
		}
		for _, match := range regexp.MustCompile(`(?m)^func (With\w+)\(`).FindAllStringSubmatch(text, -1) {
			options++
			assert.Contains(t, readme, "`"+match[1]+"(", "the table of README.md")
		}
	}
	assert.Greater(t, options, 15)
}
