package petstore_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestHouseImports checks what source files of the root module import. The compiler keeps the
// layers apart: an import of a package above would be a cycle.
func TestHouseImports(t *testing.T) {
	nested := regexp.MustCompile(`^(bench|petstoreotel|petstoreredis|tools)/`) // modules of their own
	linked := regexp.MustCompile(
		`^([^.]+$|github\.com/(petstore/petstore-go|go-json-experiment/json|hashicorp/go-(retryablehttp|cleanhttp))(/|$))`)
	forTests := regexp.MustCompile(`^(fake/(faketest|conformance)|\S*test(kit)?)/`)
	for file, text := range texts(t, ".go", "_test.go") {
		for _, name := range found(`(?m)^(?:import |\t)(?:\w+ )?"([^"\s]+)"(?: //.*)?$`, text) {
			assert.True(t, linked.MatchString(name) || nested.MatchString(file), "%s: users would link %s", file, name)
			assert.True(t, name != "testing" || forTests.MatchString(file), "%s: users would link testing", file)
		}
	}
}

// TestHouseOperations reports each file that lacks an operation, and what should be there. In the
// patterns and forms, @ stands for the operation, in letters of any case.
func TestHouseOperations(t *testing.T) {
	files := texts(t, "")
	operations := append(found(`operationId: (\w+)`, files["openapi.yaml"]),
		found(`\nfunc \(c \*Client\) (\w+)\(\s*ctx`, files["pets.go"])...)
	require.GreaterOrEqual(t, len(operations), 6)
	for _, row := range []struct{ file, pattern, form string }{
		{"pets.go", `"@"`, `a constant whose value is "@"`},
		{"doc.go", `(?:reads|writes) are [^;:]*\b@\b`, `"reads are … @" or "writes are … @", above the table of retries`},
		{"helper_test.go", `"@":`, `a row "@": {…} in samples`},
		{"fake/operation.go", `petstore\.Op@,`, `an operation with the name petstore.Op@`},
		{"fake/operation.go", `\(x \*exchange\) @\(`, `a method @ of exchange`},
		{"fake/conformance/clauses.go", `"5", "@ `, `a clause of section 5 that begins with "@ "`},
		{"openapi.yaml", `operationId: @\n`, `operationId: @`},
		{"internal/chaos/call_test.go", `petstore\.Op@,`, `petstore.Op@ in operations`},
		{"README.md", `\b@\b`, `the word @`}, {"docs/conformance.md", `\b@\b`, `the word @`},
	} {
		for _, operation := range operations {
			pattern, form := strings.ReplaceAll(row.pattern, "@", operation), strings.ReplaceAll(row.form, "@", operation)
			assert.NotEmpty(t, found("(?i)("+pattern+")", files[row.file]), "%s lacks %s", row.file, form)
		}
	}
}

func TestDocsLinks(t *testing.T) {
	inClone(t)
	documents := texts(t, ".md")
	for file, text := range documents {
		text = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`").ReplaceAllString(text, "")
		for _, link := range found(`\]\(([^):\s]+)\)`, text) { // a link with a colon leads to another site
			target, anchor, _ := strings.Cut(link, "#")
			if target = path.Join(path.Dir(file), target); strings.HasPrefix(link, "#") {
				target = file
			}
			_, err := os.Stat(target)
			assert.NoError(t, err, "%s links to %s, which is no file", file, link)
			assert.True(t, anchor == "" || slices.Contains(anchors(documents[target]), anchor), "%s: no heading %s", file, link)
		}
	}
}

// inClone skips a test of all documents if only the root module is there, as in a module cache.
func inClone(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("petstoreredis/go.mod"); err != nil {
		t.Skip("this is no clone of the repository")
	}
}

// anchors returns the anchors that GitHub makes from the headings of a document.
func anchors(text string) []string {
	headings := strings.ToLower(strings.Join(found(`(?m)^#+ (.+)$`, text), "\n"))
	headings = regexp.MustCompile(`[^\p{L}\p{N} \n_-]`).ReplaceAllString(headings, "")
	return strings.Split(strings.ReplaceAll(headings, " ", "-"), "\n")
}

// TestDocsNames checks three things: Go code in documents is also in a file that is compiled, tests
// named in documents exist, and docs/operations.md has all alerts and all lines of the log.
func TestDocsNames(t *testing.T) {
	inClone(t)
	words := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	documents, code := texts(t, ".md"), ""
	for _, text := range texts(t, ".go") {
		code += words(text) + "\n"
	}
	for file, text := range documents {
		for _, block := range found("(?s)```go\n(.*?)```", text) { // .ci/run readme runs the program of the README
			known := strings.HasPrefix(block, "package main") || strings.Contains(code, words(block))
			assert.True(t, known, "%s has Go code that no file which is compiled has:\n%s", file, block)
		}
		for _, name := range found(`\b((?:Test|Fuzz|Benchmark)[A-Z]\w*)`, text) {
			assert.True(t, strings.Contains(code, "func "+name), "%s names %s, but no function has that name", file, name)
		}
	}
	runbook, alerts := documents["docs/operations.md"], texts(t, "alerts.yml")["petstoreotel/alerts.yml"]
	printed := found(`slog\.Level(?:Warn|Info), "(petstore[^"]+)"`, code)
	for _, row := range slices.Concat(printed, found(`- alert: (\w+)`, alerts)) {
		assert.Contains(t, runbook, "| `"+row+"` | ", "docs/operations.md lacks a row of a table for it")
	}
}

// found returns each text that the group of a pattern matches.
func found(pattern, text string) (all []string) {
	for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		all = append(all, match[1])
	}
	return all
}

// texts returns the contents of the files of the repository by their paths, without .git, testdata,
// node_modules and the results of builds. It takes a file if its path ends in suffix, and does not
// end in one of except.
func texts(t *testing.T, suffix string, except ...string) map[string]string {
	all, built := map[string]string{}, regexp.MustCompile(`(^|/)(\.git|bin|dist|testdata|node_modules)/`)
	require.NoError(t, fs.WalkDir(os.DirFS("."), ".", func(path string, entry fs.DirEntry, err error) error {
		ends := func(suffix string) bool { return strings.HasSuffix(path, suffix) }
		if err != nil || entry.IsDir() || built.MatchString(path) || !ends(suffix) || slices.ContainsFunc(except, ends) {
			return err
		}
		text, err := os.ReadFile(path)
		all[path] = string(text)
		return err
	}))
	return all
}
