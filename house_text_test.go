package petstore_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// These house tests are about the README, the links between documents, and tests that sleep.

func TestHouseReadmeComesToThePoint(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	assert.Less(t, len(lines), 200, "a README is read on one visit")
	assert.Less(t, slices.Index(lines, "```go"), 20, "the first Go code stands within the first 20 lines")
	assert.Contains(t, lines, "```go")
	assert.Contains(t, string(text), "go run ./examples/quickstart")
	assert.Contains(t, string(text), "go test ./...")
}

var (
	markdownCode = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
)

func TestHouseLinksBetweenDocumentsLead(t *testing.T) {
	t.Parallel()
	for _, path := range treeFiles(t, ".md") {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		prose := markdownCode.ReplaceAllString(string(text), "")
		for _, match := range markdownLink.FindAllStringSubmatch(prose, -1) {
			target, _, _ := strings.Cut(match[1], "#")
			if target == "" || strings.Contains(target, ":") {
				continue
			}
			_, err := os.Stat(filepath.Join(filepath.Dir(path), filepath.FromSlash(target)))
			assert.NoErrorf(t, err, "%s links to %s", path, target)
		}
	}
}

// Every package looks after its tests for goroutines that they have left, those of the modules that users get too.
func TestHouseTestsLeaveNoGoroutines(t *testing.T) {
	t.Parallel()
	looks := map[string]bool{}
	for _, path := range treeFiles(t, "_test.go") {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		folder := filepath.Dir(path)
		looks[folder] = looks[folder] || bytes.Contains(text, []byte("goleak."))
	}
	for folder, does := range looks {
		assert.True(t, does || leaveGoroutines[filepath.ToSlash(folder)] != "", "the tests of %s do not use goleak", folder)
	}
}

// leaveGoroutines are the folders whose tests need not look, with the reason why.
var leaveGoroutines = map[string]string{
	"cmd/petstore-fake/uitest": "the driver of the browser keeps some until the program ends",
}

// realSleeps are the tests that sleep on the wall clock, as "folder: function", with the reason why.
var realSleeps = map[string]string{}

func TestHouseTestsSleepInBubblesOnly(t *testing.T) {
	t.Parallel()
	folders := map[string][]*ast.File{}
	for _, path := range treeFiles(t, "_test.go") {
		dir := filepath.ToSlash(filepath.Dir(path))
		folders[dir] = append(folders[dir], parseFile(t, path))
	}
	unused := maps.Clone(realSleeps)
	for dir, files := range folders {
		for _, name := range sleepers(files) {
			entry := dir + ": " + name
			assert.NotEmptyf(t, realSleeps[entry], "%s calls time.Sleep outside a synctest bubble", entry)
			delete(unused, entry)
		}
	}
	assert.Empty(t, unused, "realSleeps has entries that are not needed")
}

func TestHouseTellsSleepsInBubblesFromOthers(t *testing.T) {
	t.Parallel()
	got := sleepers([]*ast.File{parseText(t, `package p

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
`)})
	assert.ElementsMatch(t, []string{"TestReal", "shared", "RoundTrip", "var"}, got)
}

// parseFile parses the text of one file.
func parseFile(t *testing.T, path string) *ast.File {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return parseText(t, string(text))
}

func parseText(t *testing.T, text string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	return file
}

// A sleepSurvey knows, for the functions of one folder's tests, who sleeps and who calls whom, and which
// of that stands in the arguments of synctest.Test or of a function that passes its own on to it.
type sleepSurvey struct {
	runners []string            // functions that run a function of the caller's in a bubble
	calls   map[string][]string // function → the functions that name it outside a bubble
	inside  map[string]bool     // functions that are named inside a bubble
	sleeps  []string            // functions that sleep outside a bubble, as far as their own text tells
}

// sleepers returns the functions that call time.Sleep and may run outside a bubble. A function whose
// every use is inside one, directly or through others, only sleeps in virtual time. Functions are told
// apart by name alone, which errs on the side of reporting.
func sleepers(files []*ast.File) []string {
	survey := sleepSurvey{calls: map[string][]string{}, inside: map[string]bool{}}
	funcs := functions(files)
	for _, fn := range funcs {
		if takesFunc(fn.typ) && callsSynctest(fn.body) {
			survey.runners = append(survey.runners, fn.name)
		}
	}
	for _, fn := range funcs {
		survey.visit(fn.name, fn.body, false)
	}
	var found []string
	for _, name := range survey.sleeps {
		if !survey.bubbleOnly(name, nil) && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	return found
}

// visit records what the text below node, part of function name, says.
func (s *sleepSurvey) visit(name string, node ast.Node, inBubble bool) {
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if !inBubble && s.opensBubble(n.Fun) {
				for _, arg := range n.Args {
					s.visit(name, arg, true)
				}
				return false
			}
			if isSelector(n.Fun, "time", "Sleep") && !inBubble {
				s.sleeps = append(s.sleeps, name)
			}
		case *ast.Ident:
			if inBubble {
				s.inside[n.Name] = true
			} else {
				s.calls[n.Name] = append(s.calls[n.Name], name)
			}
		}
		return true
	})
}

func (s *sleepSurvey) opensBubble(fun ast.Expr) bool {
	name, ok := fun.(*ast.Ident)
	return isSelector(fun, "synctest", "Test") || ok && slices.Contains(s.runners, name.Name)
}

// bubbleOnly reports whether the function is used, and inside bubbles only. The path of functions that
// led here ends circles.
func (s *sleepSurvey) bubbleOnly(name string, path []string) bool {
	if slices.Contains(path, name) {
		return true
	}
	callers := s.calls[name]
	if len(callers) == 0 {
		return s.inside[name]
	}
	return !slices.ContainsFunc(callers, func(caller string) bool {
		return !s.bubbleOnly(caller, append(path, name))
	})
}

type function struct {
	name string
	typ  *ast.FuncType
	body ast.Node
}

// functions returns what the files declare: functions by name, and all else as if it were the body of
// a function "var", for function literals may stand there.
func functions(files []*ast.File) []function {
	var funcs []function
	for _, file := range files {
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Body != nil {
					funcs = append(funcs, function{decl.Name.Name, decl.Type, decl.Body})
				}
			case *ast.GenDecl:
				funcs = append(funcs, function{"var", &ast.FuncType{Params: &ast.FieldList{}}, decl})
			}
		}
	}
	return funcs
}

func takesFunc(typ *ast.FuncType) bool {
	return slices.ContainsFunc(typ.Params.List, func(param *ast.Field) bool {
		_, ok := param.Type.(*ast.FuncType)
		return ok
	})
}

func callsSynctest(body ast.Node) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		found = found || ok && isSelector(call.Fun, "synctest", "Test")
		return !found
	})
	return found
}

func isSelector(expr ast.Expr, pkg, name string) bool {
	selector, ok := expr.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := selector.X.(*ast.Ident)
	return ok && x.Name == pkg && selector.Sel.Name == name
}
