package petstore_test

import (
	"go/ast"
	"go/parser"
	"go/token"
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
	compiled, declared := "", texts(t, ".go")
	for _, file := range slices.Sorted(maps.Keys(declared)) {
		compiled += unindented(declared[file])
	}
	steps, err := os.ReadFile(".ci/run")
	require.NoError(t, err)
	for file, text := range texts(t, ".md") {
		for _, block := range goBlock.FindAllStringSubmatch(text, -1) {
			known := strings.HasPrefix(block[1], "package main") || strings.Contains(compiled, unindented(block[1]))
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

// unindented returns a text without white space at the ends of its lines.
func unindented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimSpace(line) + "\n")
	}
	return b.String()
}

// docLink is a link of a comment to an exported name: [Name], [Type.Method], [pkg.Name].
var docLink = regexp.MustCompile(`\[\*?(?:([a-z]\w*)\.)?([A-Z]\w*(?:\.[A-Z]\w*)?)\](?:[^(:]|$)`)

// TestDocsCommentLinks finds links of comments to names that do not exist: go doc shows them as text.
func TestDocsCommentLinks(t *testing.T) {
	t.Parallel()
	names, files := map[string]map[string]bool{}, map[string]*ast.File{} // by package
	for file, text := range texts(t, ".go") {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ParseComments)
		require.NoError(t, err)
		if !strings.HasSuffix(file, "_test.go") {
			files[file] = parsed
			pkg := parsed.Name.Name
			if names[pkg] == nil {
				names[pkg] = map[string]bool{}
			}
			declare(parsed, names[pkg])
		}
	}
	for file, parsed := range files {
		for _, group := range parsed.Comments {
			for _, match := range docLink.FindAllStringSubmatch(group.Text(), -1) {
				pkg := match[1]
				if pkg == "" {
					pkg = parsed.Name.Name
				}
				if ours := names[pkg]; ours != nil {
					assert.True(t, ours[match[2]], "%s links to nothing: %s", file, match[0])
				}
			}
		}
	}
}

// declare adds the names that a file declares, with Type.Method and Type.Field.
func declare(file *ast.File, names map[string]bool) {
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok {
			name := f.Name.Name
			if f.Recv != nil {
				receiver := f.Recv.List[0].Type
				if star, ok := receiver.(*ast.StarExpr); ok {
					receiver = star.X
				}
				if id, ok := receiver.(*ast.Ident); ok {
					name = id.Name + "." + name
				}
			}
			names[name] = true
			continue
		}
		for node := range ast.Preorder(decl) {
			switch node := node.(type) {
			case *ast.ValueSpec:
				for _, id := range node.Names {
					names[id.Name] = true
				}
			case *ast.TypeSpec:
				names[node.Name.Name] = true
				for field := range ast.Preorder(node.Type) {
					if field, ok := field.(*ast.Field); ok {
						for _, id := range field.Names {
							names[node.Name.Name+"."+id.Name] = true
						}
					}
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
	tables := texts(t, "doc.go")["doc.go"] + texts(t, "README.md")["README.md"]
	for _, match := range regexp.MustCompile(`(?m)^func (With\w+)\(`).FindAllStringSubmatch(texts(t, "options.go")["options.go"], -1) {
		assert.Contains(t, tables, "//\t"+match[1]+" ", "the table of doc.go")
		assert.Contains(t, tables, "`"+match[1]+"(", "the table of README.md")
	}
}
