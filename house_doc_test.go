package petstore_test

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// These house tests are about documentation that no linter judges. That every exported name has a
// comment of the usual form is checked by revive and godoclint, and that a deprecation is a
// paragraph by gocritic.

func TestHouseEveryExportedFieldIsDocumented(t *testing.T) {
	t.Parallel()
	nobodysImport := regexp.MustCompile(`_test\.go$|^(bench|cmd|examples)/`)
	for _, path := range treeFiles(t, ".go") {
		if !nobodysImport.MatchString(filepath.ToSlash(path)) {
			assert.Empty(t, undocumentedFields(parseFile(t, path)), path)
		}
	}
	t.Run("control", func(t *testing.T) {
		assert.Equal(t, []string{"T.Field"}, undocumentedFields(parseText(t, `package p

type T struct { Field, hidden int }

// Good is documented. So is its Field.
type Good struct {
	Field int
	// Own and Other have one comment.
	Own, _ int
	Other  int
	Behind int // a comment
}

type hidden struct{ Field int }
`)))
	})
}

// undocumentedFields returns the exported fields of exported structs that neither have a comment
// nor are mentioned in one of their struct's.
func undocumentedFields(file *ast.File) []string {
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		decl, ok := n.(*ast.GenDecl)
		if !ok || len(decl.Specs) != 1 {
			return true
		}
		spec, ok := decl.Specs[0].(*ast.TypeSpec)
		if !ok || !spec.Name.IsExported() {
			return true
		}
		list, ok := spec.Type.(*ast.StructType)
		if !ok {
			return true
		}
		comments := decl.Doc.Text()
		for _, field := range list.Fields.List {
			comments += field.Doc.Text()
		}
		for _, field := range list.Fields.List {
			for _, name := range field.Names {
				mentioned := regexp.MustCompile(`\b` + name.Name + `\b`).MatchString(comments)
				if name.IsExported() && field.Doc == nil && field.Comment == nil && !mentioned {
					found = append(found, spec.Name.Name+"."+name.Name)
				}
			}
		}
		return true
	})
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
	for _, path := range treeFiles(t, ".go") {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, notice := range deprecation.FindAllString(string(text), -1) {
			assert.Regexp(t, dated, notice, path)
			all += notice
		}
	}
	assert.Contains(t, all, "5 December 2030. Use [Client.ListPets]", "GetPet names its end and its successor")
}

// A threat model is worth what its tests are.
func TestHouseTheThreatModelNamesTestsThatExist(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("SECURITY.md")
	require.NoError(t, err)
	named := regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(string(text), -1)
	require.NotEmpty(t, named)
	var tests strings.Builder
	for _, path := range treeFiles(t, "_test.go") {
		source, err := os.ReadFile(path)
		require.NoError(t, err)
		tests.Write(source)
	}
	for _, name := range named {
		found := strings.Contains(tests.String(), "func "+name[1]+"(t *testing.T)")
		assert.Truef(t, found, "SECURITY.md names %s, which does not exist", name[1])
	}
}
