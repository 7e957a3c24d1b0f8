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

// TestDocsFuzzing compares the table of docs/fuzzing.md with the fuzz targets.
func TestDocsFuzzing(t *testing.T) {
	t.Parallel()
	named, targets := map[string]bool{}, map[string]bool{}
	for _, match := range regexp.MustCompile("`(Fuzz\\w+)`").FindAllStringSubmatch(texts(t, ".md")["docs/fuzzing.md"], -1) {
		named[match[1]] = true
	}
	for _, text := range texts(t, "_test.go") {
		for _, match := range regexp.MustCompile(`(?m)^func (Fuzz\w+)\(f \*testing\.F\)`).FindAllStringSubmatch(text, -1) {
			targets[match[1]] = true
		}
	}
	assert.Equal(t, targets, named)
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
			assert.Empty(t, undocumentedFields(text), path)
		}
	}
	t.Run("control", func(t *testing.T) {
		assert.Equal(t, []string{"T.Field"}, undocumentedFields(`
type T struct {
	Field, hidden int
}

// Good is documented. So is its Field.
type Good struct {
	Field int
	// Own and Other have one comment.
	Own, _ int
	Other  int
	Behind int // a comment
}

type hidden struct {
	Field int
}
`))
	})
}

var (
	exportedStruct = regexp.MustCompile(`(?ms)((?:^//[^\n]*\n)*)^type ([A-Z]\w*)(?:\[[^\]]*\])? struct \{\n(.*?)^\}`)
	fieldLine      = regexp.MustCompile(`^\t([A-Z]\w*)(?:, \w+)* +\S`)
)

// undocumentedFields returns the exported fields of exported structs without a comment. A comment
// of the struct or of another field that mentions the field is enough.
func undocumentedFields(source string) (found []string) {
	for _, match := range exportedStruct.FindAllStringSubmatch(source, -1) {
		lines, comments := strings.Split(match[3], "\n"), match[1]
		for _, line := range lines {
			_, comment, _ := strings.Cut(line, "//")
			comments += comment + "\n"
		}
		for i, line := range lines {
			field := fieldLine.FindStringSubmatch(line)
			if field == nil || strings.Contains(line, "//") || i > 0 && strings.HasPrefix(lines[i-1], "\t//") {
				continue
			}
			if !regexp.MustCompile(`\b` + field[1] + `\b`).MatchString(comments) {
				found = append(found, match[2]+"."+field[1])
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
	exists := map[string]bool{}
	for _, text := range texts(t, "_test.go") {
		for _, match := range regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`).FindAllStringSubmatch(text, -1) {
			exists[match[1]] = true
		}
	}
	for _, name := range named {
		assert.True(t, exists[name[1]], name[1])
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
		"cmd/petstore-fake/openapi.yaml": `operationId: %s\n`, "openapi/document_test.go": `"%s"`, "openapi/contract_test.go": `\b%s\b`,
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
	"cmd/petstore-fake/uitest": "the driver of the browser keeps some until the program ends",
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

func TestHouseTestsSleepInBubbles(t *testing.T) {
	t.Parallel()
	folders := map[string][]*ast.File{}
	for path, text := range texts(t, "_test.go") {
		folders[filepath.Dir(path)] = append(folders[filepath.Dir(path)], parse(t, text))
	}
	for folder, files := range folders {
		assert.Empty(t, sleepers(files), "%s: time.Sleep outside a synctest bubble", folder)
	}
	t.Run("control", func(t *testing.T) {
		assert.ElementsMatch(t, []string{"TestReal", "shared", "RoundTrip", "var"}, sleepers([]*ast.File{parse(t, `package p

func TestReal(t *testing.T) { time.Sleep(1) }
func TestCallsSharedInBubble(t *testing.T) { synctest.Test(t, func(t *testing.T) { shared(); virtual() }) }
func TestCallsSharedOutside(t *testing.T) { shared() }
func shared() { time.Sleep(1) }
func virtual() { deeper() }
func deeper() { time.Sleep(1) }
func TestInBubble(t *testing.T) { synctest.Test(t, func(t *testing.T) { go func() { time.Sleep(1) }() }) }
func TestNamed(t *testing.T) { synctest.Test(t, named) }
func named(t *testing.T) { time.Sleep(1) }
func bubble(t *testing.T, f func()) { synctest.Test(t, func(*testing.T) { f() }) }
func TestByRunner(t *testing.T) { bubble(t, func() { time.Sleep(1) }) }
func (d double) RoundTrip() { time.Sleep(1) }
var table = []func(){func() { time.Sleep(1) }}
`)}))
	})
}

// part is a declaration of a test file.
type part struct {
	name   string
	idents map[string]bool // all identifiers in it
	sleeps bool
	bubble bool // it opens a bubble
}

// sleepers returns the declarations that call time.Sleep, unless they open a bubble, or only
// declarations that open one lead to them.
func sleepers(files []*ast.File) (found []string) {
	parts := partsOf(files)
	var inBubble func(name string, path []string) bool
	inBubble = func(name string, path []string) bool {
		if slices.Contains(path, name) {
			return true // a circle of declarations, or methods with the same name
		}
		used := false
		for _, user := range parts {
			if user.idents[name] {
				used = true
				if !user.bubble && !inBubble(user.name, append(path, name)) {
					return false
				}
			}
		}
		return used
	}
	for _, p := range parts {
		if p.sleeps && !p.bubble && !inBubble(p.name, nil) {
			found = append(found, p.name)
		}
	}
	return found
}

// partsOf returns the declarations of files. A declaration opens a bubble if it calls
// synctest.Test, or a function that passes its own argument to synctest.Test.
func partsOf(files []*ast.File) (parts []*part) {
	openers := map[string]bool{}
	for _, file := range files {
		for _, decl := range file.Decls {
			p, body := &part{name: "var", idents: map[string]bool{}}, ast.Node(decl)
			if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil {
				p.name, body = f.Name.Name, f.Body
			}
			ast.Inspect(body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					x, _ := n.X.(*ast.Ident)
					p.sleeps = p.sleeps || x != nil && x.Name == "time" && n.Sel.Name == "Sleep"
					p.bubble = p.bubble || x != nil && x.Name == "synctest" && n.Sel.Name == "Test"
				case *ast.Ident:
					p.idents[n.Name] = true
				}
				return true
			})
			openers[p.name] = openers[p.name] || p.bubble && takesFunc(decl)
			parts = append(parts, p)
		}
	}
	for _, p := range parts {
		for name := range p.idents {
			p.bubble = p.bubble || openers[name]
		}
	}
	return parts
}

func takesFunc(decl ast.Decl) bool {
	f, ok := decl.(*ast.FuncDecl)
	return ok && slices.ContainsFunc(f.Type.Params.List, func(param *ast.Field) bool {
		_, ok := param.Type.(*ast.FuncType)
		return ok
	})
}

func parse(t *testing.T, text string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
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
