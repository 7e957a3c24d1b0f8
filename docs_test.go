package petstore_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	goBlock    = regexp.MustCompile("(?s)```go\n(.*?)```")
	shellBlock = regexp.MustCompile("(?s)```(?:sh)?\n(.*?)```")
)

// TestDocsGo runs the complete programs of the documents, and looks for all other Go code in files
// that are compiled, so that no document shows code of its own.
func TestDocsGo(t *testing.T) {
	t.Parallel()
	compiled := ""
	for _, text := range texts(t, ".go") {
		compiled += undented(text)
	}
	for path, text := range texts(t, ".md") {
		for _, block := range goBlock.FindAllStringSubmatch(text, -1) {
			if strings.HasPrefix(block[1], "package main") {
				assert.Equal(t, "added Rex with id 1\n", runInNewModule(t, block[1]), path)
				continue
			}
			assert.Contains(t, compiled, undented(block[1]), path)
		}
	}
}

// undented returns a text without white space at the ends of its lines.
func undented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimSpace(line) + "\n")
	}
	return b.String()
}

// runInNewModule runs a program as the README proposes it before the first release: in a module
// that replaces this one by the clone.
func runInNewModule(t *testing.T, program string) string {
	t.Helper()
	clone, err := os.Getwd()
	require.NoError(t, err)
	sums, err := os.ReadFile("go.sum")
	require.NoError(t, err)
	mod, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	_, required, _ := strings.Cut(string(mod), "require ")
	const path = "github.com/petstore/petstore-go"
	dir := t.TempDir()
	for name, text := range map[string]string{
		"main.go": program, "go.sum": string(sums),
		"go.mod": "module example.com/first\n\ngo 1.26.0\n\nrequire " + path + " v0.2.0\n\nreplace " + path + " => " +
			clone + "\n\nrequire " + required,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	run := exec.CommandContext(t.Context(), "go", "run", "-mod=mod", ".")
	run.Dir = dir
	out, err := run.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

var (
	folderOf = regexp.MustCompile(`(?:cd|go -C) ([\w./-]+)`)
	packages = regexp.MustCompile(`go (?:run|test)\b[^#\n]*? (\./[\w./-]+|\.)(?:\s|$)`)
	testsOf  = regexp.MustCompile(`go test\b[^#\n]*? -(?:run|fuzz|bench) '?([^ '\n]+)'?`)
	ciSteps  = regexp.MustCompile(`(?m)\.ci/run ([a-z ]+)`)
)

// TestDocsCommands compares the commands of the documents with what they call: packages, tests and
// steps that exist.
func TestDocsCommands(t *testing.T) {
	t.Parallel()
	run, err := os.ReadFile(".ci/run")
	require.NoError(t, err)
	steps := texts(t, ".go")["tools/ci/main.go"] + string(run)
	for path, text := range texts(t, ".md") {
		for _, block := range shellBlock.FindAllStringSubmatch(text, -1) {
			folder := "."
			for line := range strings.Lines(block[1]) {
				command, _, _ := strings.Cut(line, " #")
				if match := folderOf.FindStringSubmatch(command); match != nil && !strings.Contains(line, "git clone") {
					folder = match[1]
				}
				if match := packages.FindStringSubmatch(command); match != nil {
					of, _, _ := strings.Cut(filepath.Join(folder, match[1]), "...")
					files, err := filepath.Glob(filepath.Join(of, "*.go"))
					require.NoError(t, err)
					assert.NotEmpty(t, files, "%s: %s", path, line)
				}
				if match := testsOf.FindStringSubmatch(command); match != nil {
					assert.True(t, hasTest(t, folder, match[1]), "%s: %s", path, line)
				}
				for _, match := range ciSteps.FindAllStringSubmatch(command, -1) {
					for step := range strings.FieldsSeq(match[1]) {
						exists := strings.Contains(steps, `"`+step+`":`) || strings.Contains(steps, "step_"+step) ||
							strings.Contains(steps, "\n  "+step+")")
						assert.True(t, exists, "%s: %s", path, step)
					}
				}
			}
		}
	}
}

// hasTest reports whether a test, benchmark or fuzz target below folder has a name that the first
// part of pattern matches; - matches none on purpose.
func hasTest(t *testing.T, folder, pattern string) bool {
	t.Helper()
	first, _, _ := strings.Cut(pattern, "/")
	wanted, err := regexp.Compile(first)
	require.NoError(t, err, pattern)
	if first == "-" || first == "." {
		return true
	}
	for path, text := range texts(t, "_test.go") {
		if folder != "." && !strings.HasPrefix(path, filepath.ToSlash(folder)+"/") {
			continue
		}
		for _, match := range regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz|Example)\w*)\(`).FindAllStringSubmatch(text, -1) {
			if wanted.MatchString(match[1]) {
				return true
			}
		}
	}
	return false
}

// TestDocsOperations compares the runbook with the code: it has each line of the logs, each alert,
// error, metric and exit status.
func TestDocsOperations(t *testing.T) {
	t.Parallel()
	runbook := texts(t, ".md")["docs/operations.md"]
	source := texts(t, ".go")
	alerts, err := os.ReadFile("examples/observability/alerts.yml")
	require.NoError(t, err)
	for _, list := range []struct {
		what, text, pattern, row string
		least                    int
	}{
		{"log", source["log.go"], `"(petstore: [^"]+)"`, "\n| `%` | ", 7},
		{"log of petstoreredis", source["petstoreredis/fallback.go"], `"(petstoreredis: [^"]+)"`, "\n| `%` | ", 3},
		{"alerts", string(alerts), `- alert: (\w+)`, "\n| `%` | ", 6},
		{"sentinel errors", source["errors.go"], `(Err\w+) += errors.New`, "`%`", 7},
		{"error types", source["errors.go"], `(?m)^type ([A-Z]\w+Error) struct`, "`%`", 5},
		{"metrics", source["petstoreotel/metrics.go"], `(?i)metric\w+ = "([^"]+)"`, "\n| `%` | ", 7},
		{"exit statuses", source["cmd/petstore-fake/main.go"], `exit\w+ += (\d)`, "\n| petstore-fake | % | ", 3},
		{"exit statuses", source["examples/bulkimport/main.go"], `exit\w+ += (\d)`, "\n| bulkimport | % | ", 4},
	} {
		found := regexp.MustCompile(list.pattern).FindAllStringSubmatch(list.text, -1)
		assert.GreaterOrEqual(t, len(found), list.least, list.what)
		for _, match := range found {
			assert.Contains(t, runbook, strings.Replace(list.row, "%", match[1], 1), list.what)
		}
	}
}
