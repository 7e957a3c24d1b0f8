package petstore_test

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/internal/fakecontrol"
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
			if !strings.Contains(compiled, undented(block[1])) {
				assert.Failf(t, "no Go file has the code of a document", "%s:\n%s", path, block[1])
			}
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
	return first == "-" || first == "." || slices.ContainsFunc(testsBelow(t, folder), wanted.MatchString)
}

// testsBelow returns the names of the tests, benchmarks, fuzz targets and examples below folder.
func testsBelow(t *testing.T, folder string) (names []string) {
	t.Helper()
	for path, text := range texts(t, "_test.go") {
		if folder == "." || strings.HasPrefix(path, filepath.ToSlash(folder)+"/") {
			for _, match := range regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz|Example)\w*)\(`).FindAllStringSubmatch(text, -1) {
				names = append(names, match[1])
			}
		}
	}
	return names
}

// TestDocsFuzzing compares the table of docs/fuzzing.md with the fuzz targets.
func TestDocsFuzzing(t *testing.T) {
	t.Parallel()
	var named []string
	for _, match := range regexp.MustCompile("`(Fuzz\\w+)`").FindAllStringSubmatch(texts(t, ".md")["docs/fuzzing.md"], -1) {
		named = append(named, match[1])
	}
	targets := slices.DeleteFunc(testsBelow(t, "."), func(name string) bool { return !strings.HasPrefix(name, "Fuzz") })
	assert.Subset(t, named, targets)
	assert.Subset(t, targets, named)
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
		{"error types", source["errors.go"] + source["ratelimit.go"], `(?m)^type ([A-Z]\w+Error) struct`, "`%`", 5},
		{"metrics", source["petstoreotel/metrics.go"] + source["petstoreotel/budgets.go"], `"(petstore\.client\.[^"]+)"`, "\n| `%` | ", 7},
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

// These house tests are about documentation, links between documents, goroutines and sleeps. The
// linters in .golangci.yml check comments of exported names and the form of deprecations, but none
// of these.

func TestHouseFieldsAreDocumented(t *testing.T) {
	t.Parallel()
	notImported := regexp.MustCompile(`_test\.go$|^(bench|cmd|examples)/`)
	for path, text := range texts(t, ".go") {
		if !notImported.MatchString(path) {
			assert.Empty(t, undocumentedFields(parse(t, text)), path)
		}
	}
	assert.Equal(t, []string{"Field"}, undocumentedFields(parse(t, `package p

type T struct {
	Field, hidden int
	Behind        int // a comment
}

// Good is documented. So is its Field.
type Good struct {
	Field int
	// Own and Other have one comment.
	Own, _ int
	Other  int
}
`)))
}

// undocumentedFields returns the exported fields of exported structs without a comment. A comment
// of the struct or of another field that mentions the field is enough.
func undocumentedFields(file *ast.File) (found []string) {
	for _, decl := range file.Decls {
		types, _ := decl.(*ast.GenDecl)
		for spec := range ast.Preorder(decl) {
			declared, _ := spec.(*ast.TypeSpec)
			if types == nil || declared == nil || !declared.Name.IsExported() {
				continue
			}
			fields, ok := declared.Type.(*ast.StructType)
			if !ok {
				continue
			}
			comments := types.Doc.Text() + declared.Doc.Text()
			for _, field := range fields.Fields.List {
				comments += field.Doc.Text() + field.Comment.Text()
			}
			for _, field := range fields.Fields.List {
				for _, name := range field.Names {
					documented := field.Doc != nil || field.Comment != nil || strings.Contains(comments, name.Name)
					if name.IsExported() && !documented {
						found = append(found, name.Name)
					}
				}
			}
		}
	}
	return found
}

var (
	deprecation = regexp.MustCompile(`(?m)^\s*// Deprecated: .*(?:\n\s*// .*)*`)
	dated       = regexp.MustCompile(`\b\d{1,2} (January|February|March|April|May|June|July|August|` +
		`September|October|November|December) \d{4}\b`)
)

func TestHouseDeprecationsHaveADate(t *testing.T) {
	t.Parallel()
	all := ""
	for path, text := range texts(t, ".go") {
		for _, notice := range deprecation.FindAllString(text, -1) {
			assert.Regexp(t, dated, notice, path)
			all += notice
		}
	}
	assert.Contains(t, all, "5 December 2030. Use [Client.ListPets]", "the notice of GetPet")
}

func TestHouseThreatModelNamesTestsThatExist(t *testing.T) {
	t.Parallel()
	threats, err := os.ReadFile("SECURITY.md")
	require.NoError(t, err)
	named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(threats), -1)
	require.NotEmpty(t, named)
	exists := testsBelow(t, ".")
	for _, name := range named {
		assert.True(t, slices.Contains(exists, name[1]), name[1])
	}
}

func TestHouseReadmeIsShort(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	assert.LessOrEqual(t, len(lines), 150, "a reader should be able to read it in one visit")
	assert.Contains(t, lines, "```go")
	assert.Less(t, slices.Index(lines, "```go"), 20, "the first Go code is within the first 20 lines")
	assert.Contains(t, string(text), "go run ./examples/quickstart")
	assert.Contains(t, string(text), "go test ./...")
}

func TestHouseOptionTablesAreComplete(t *testing.T) {
	t.Parallel()
	tables := texts(t, "doc.go")["doc.go"] + texts(t, "README.md")["README.md"]
	for path, text := range texts(t, "options.go") {
		if strings.Contains(path, "/") {
			continue // of another package
		}
		for _, match := range regexp.MustCompile(`(?m)^func (With\w+)\(`).FindAllStringSubmatch(text, -1) {
			assert.Contains(t, tables, "//\t"+match[1]+" ", "the table of doc.go")
			assert.Contains(t, tables, "`"+match[1]+"(", "the table of README.md")
		}
	}
}

// TestHouseOperationsAreEverywhere names each list that lacks an operation which the client or the
// fake has.
func TestHouseOperationsAreEverywhere(t *testing.T) {
	t.Parallel()
	var methods []string
	for method := range reflect.TypeFor[*petstore.Client]().Methods() {
		if method.Name == "Do" {
			continue // for what is no operation of the document
		}
		if method.Type.NumIn() > 1 && method.Type.In(1) == reflect.TypeFor[context.Context]() {
			methods = append(methods, strings.ToLower(method.Name[:1])+method.Name[1:])
		}
	}
	operations := slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(methods), fakecontrol.Operations()...))))
	for name, list := range map[string][]string{
		"the client": methods, "fake/route.go": fakecontrol.Operations(), "service_test.go": slices.Collect(maps.Keys(calls(nil))),
	} {
		for _, operation := range operations {
			assert.True(t, slices.Contains(list, operation), "%s lacks %s", name, operation)
		}
		assert.Subset(t, operations, list, name)
	}
	for path, form := range map[string]string{
		"cmd/petstore-fake/openapi.yaml": `operationId: %s\n`, "openapi/testdata/document.golden": `(?m)^%s: `, "openapi/contract_test.go": `\b%s\b`,
		"README.md": `(?i)\b%s\b`, "docs/conformance.md": `\b%s\b`,
		"internal/chaos/call_test.go":               `(?i)\.%s\(`,
		"cmd/petstore-fake/internal/replay/code.go": `(?i)\bcase petstore.Op%s:|"%[1]s"`,
	} {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, operation := range operations {
			assert.True(t, regexp.MustCompile(fmt.Sprintf(form, operation)).Match(text), "%s lacks %s", path, operation)
		}
	}
}

var (
	markdownCode = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
)

func TestHouseLinksBetweenDocuments(t *testing.T) {
	t.Parallel()
	for path, text := range texts(t, ".md") {
		prose := markdownCode.ReplaceAllString(text, "")
		for _, match := range markdownLink.FindAllStringSubmatch(prose, -1) {
			target, anchor, _ := strings.Cut(match[1], "#")
			if strings.Contains(target, ":") {
				continue
			}
			file := path
			if target != "" {
				file = filepath.Join(filepath.Dir(path), filepath.FromSlash(target))
			}
			_, err := os.Stat(file)
			assert.NoErrorf(t, err, "%s links to %s", path, target)
			if anchor != "" {
				assert.Containsf(t, anchors(t, file), anchor, "%s links to %s", path, match[1])
			}
		}
	}
}

// anchors returns the anchors of a document's headings, as GitHub makes them.
func anchors(t *testing.T, path string) (found []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, match := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(string(text), -1) {
		anchor := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(match[1]), "")
		found = append(found, strings.ReplaceAll(anchor, " ", "-"))
	}
	return found
}

// leaveGoroutines are the folders whose tests need not use goleak, with the reason.
var leaveGoroutines = map[string]string{
	"cmd/petstore-fake/e2e/ui": "the driver of the browser keeps some until the program ends",
}

func TestHouseTestsUseGoleak(t *testing.T) {
	t.Parallel()
	uses := map[string]bool{}
	for path, text := range texts(t, "_test.go") {
		folder := filepath.ToSlash(filepath.Dir(path))
		uses[folder] = uses[folder] || strings.Contains(text, "goleak.")
	}
	for folder, does := range uses {
		assert.True(t, does || leaveGoroutines[folder] != "", "the tests of %s do not use goleak", folder)
	}
}

// TestHouseTestsSleepInBubbles looks for files whose tests sleep in real time.
func TestHouseTestsSleepInBubbles(t *testing.T) {
	t.Parallel()
	sleep := regexp.MustCompile(`time\.Sleep\(`)
	bubble := regexp.MustCompile(`synctest\.Test\(|(?i:bubble)\(t, |\brecorded\(t, `) // the last two call the first
	for path, text := range texts(t, "_test.go") {
		assert.True(t, !sleep.MatchString(text) || bubble.MatchString(text), path)
	}
}

func parse(t *testing.T, text string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution|parser.ParseComments)
	require.NoError(t, err)
	return file
}

// texts returns the files of the repository whose names end in suffix, by their paths with slashes.
func texts(t *testing.T, suffix string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, path := range treeFiles(t, suffix) {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		all[filepath.ToSlash(path)] = string(text)
	}
	return all
}
