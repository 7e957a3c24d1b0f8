package petstore_test

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// These house tests are about documentation: every exported name has some, and every deprecation is
// one that tools find and people can act on.

func TestHouseEveryExportedNameIsDocumented(t *testing.T) {
	t.Parallel()
	for _, pkg := range goList(t, "./...") {
		path, _ := inModule(pkg.ImportPath)
		if pkg.Name == "main" || isOrBelow(path, "examples") {
			continue // nobody imports it
		}
		for _, fault := range docFaults(parseDoc(t, readPackage(t, pkg.Dir)...)) {
			t.Errorf("%s: %s", pkg.ImportPath, fault)
		}
	}
}

func TestHouseFindsWhatIsNotDocumented(t *testing.T) {
	t.Parallel()
	faults := docFaults(parseDoc(t, undocumentedSource))
	want := []string{
		"package p: its comment does not start with \"Package p \"",
		"const Alone", "const InGroup", "func F", "type T", "field T.Field", "method T.M", "method I.Ask",
	}
	require.Len(t, faults, len(want), "%q", faults)
	for _, start := range want {
		starts := func(fault string) bool { return strings.HasPrefix(fault, start) }
		assert.Truef(t, slices.ContainsFunc(faults, starts), "%s is missing in %q", start, faults)
	}
}

const undocumentedSource = `package p

const Alone = 1

const (
	InGroup = 2
	// Told has its own comment.
	Told = 3
)

// A group's comment speaks for its members.
const (
	Member = 4
)

// The function F does not come first here.
func F() {}

type T struct { Field, hidden int }

func (T) M() {}

// I speaks of one method, Told.
type I interface { Ask(); Told() }

// Good is documented. So is its Field.
type Good struct {
	Field int
	// Own and Other have one comment.
	Own, _ int
	Other  int
}
`

func TestHouseDeprecationsStandAloneAndHaveADate(t *testing.T) {
	t.Parallel()
	for _, path := range treeFiles(t, ".go") {
		for _, fault := range deprecationFaults(parseFile(t, path)) {
			t.Errorf("%s: %s", path, fault)
		}
	}
}

func TestHouseFindsBadDeprecations(t *testing.T) {
	t.Parallel()
	faults := deprecationFaults(parseText(t, token.NewFileSet(), "p.go", `package p

// Good is fine.
//
// Deprecated: gone on 5 December 2030. Use [Better].
func Good() {}

// Hidden is old.
// Deprecated: gone on 5 December 2030.
func Hidden() {}

// Undated is old.
//
// Deprecated: some day.
func Undated() {}
`))
	require.Len(t, faults, 2)
	assert.Contains(t, faults[0], "paragraph of its own")
	assert.Contains(t, faults[1], "date")
}

func TestHouseGetPetNamesItsEndAndItsSuccessor(t *testing.T) {
	t.Parallel()
	for _, typ := range parseDoc(t, readPackage(t, ".")...).Types {
		for _, method := range typ.Methods {
			if typ.Name == "Client" && method.Name == "GetPet" {
				_, notice, found := strings.Cut(method.Doc, "\n\nDeprecated: ")
				require.True(t, found, "GetPet has no Deprecated paragraph")
				assert.Contains(t, notice, "5 December 2030")
				assert.Contains(t, notice, "[Client.ListPets]")
				return
			}
		}
	}
	t.Error("Client.GetPet is gone, and this test with it")
}

var dated = regexp.MustCompile(`\b\d{1,2} (January|February|March|April|May|June|July|August|` +
	`September|October|November|December) \d{4}\b`)

var deprecation = regexp.MustCompile(`\bDeprecated:`)

func deprecationFaults(file *ast.File) []string {
	var faults []string
	for _, group := range file.Comments {
		for paragraph := range strings.SplitSeq(group.Text(), "\n\n") {
			switch {
			case !deprecation.MatchString(paragraph):
			case !strings.HasPrefix(paragraph, "Deprecated: "):
				faults = append(faults, "Deprecated: needs a paragraph of its own, or tools miss it: "+paragraph)
			case !dated.MatchString(paragraph):
				faults = append(faults, "a deprecation needs a date: "+paragraph)
			}
		}
	}
	return faults
}

// docFaults returns one line for each exported name of pkg that is not documented as the house wants.
func docFaults(pkg *doc.Package) []string {
	var faults []string
	if !strings.HasPrefix(pkg.Doc, "Package "+pkg.Name+" ") {
		faults = append(faults, fmt.Sprintf("package %s: its comment does not start with \"Package %[1]s \"", pkg.Name))
	}
	faults = append(faults, valueFaults(pkg.Consts)...)
	faults = append(faults, valueFaults(pkg.Vars)...)
	faults = append(faults, funcFaults("func ", pkg.Funcs)...)
	for _, typ := range pkg.Types {
		faults = append(faults, nameFaults("type", typ.Name, typ.Name, typ.Doc)...)
		faults = append(faults, memberFaults(typ)...)
		faults = append(faults, valueFaults(typ.Consts)...)
		faults = append(faults, valueFaults(typ.Vars)...)
		faults = append(faults, funcFaults("func ", typ.Funcs)...)
		faults = append(faults, funcFaults("method "+typ.Name+".", typ.Methods)...)
	}
	return faults
}

func nameFaults(kind, label, name, text string) []string {
	rest, ok := strings.CutPrefix(text, name)
	if ok && !token.IsIdentifier("a"+rest[:min(1, len(rest))]) {
		return nil
	}
	return []string{fmt.Sprintf("%s %s: no comment that starts with its name", kind, label)}
}

func funcFaults(prefix string, funcs []*doc.Func) []string {
	var faults []string
	for _, fn := range funcs {
		kind, owner, _ := strings.Cut(prefix, " ")
		faults = append(faults, nameFaults(kind, owner+fn.Name, fn.Name, fn.Doc)...)
	}
	return faults
}

// valueFaults judges constants and variables: in a group its comment or one of their own is enough.
func valueFaults(values []*doc.Value) []string {
	var faults []string
	for _, value := range values {
		kind := value.Decl.Tok.String()
		if !value.Decl.Lparen.IsValid() {
			faults = append(faults, nameFaults(kind, value.Names[0], value.Names[0], value.Doc)...)
			continue
		}
		for _, spec := range value.Decl.Specs {
			val, ok := spec.(*ast.ValueSpec)
			if ok && value.Doc == "" && val.Doc == nil && val.Comment == nil && val.Names[0].IsExported() {
				faults = append(faults, fmt.Sprintf("%s %s: neither it nor its group has a comment", kind, val.Names[0]))
			}
		}
	}
	return faults
}

// knownElsewhere are the types whose members another package documents.
var knownElsewhere = map[string]string{"TB": "the methods are those of testing.TB"}

// memberFaults judges the fields of a struct and the methods of an interface: each has a comment, or
// one of its type's comments speaks of it.
func memberFaults(typ *doc.Type) []string {
	if knownElsewhere[typ.Name] != "" {
		return nil
	}
	kind, list := members(typ)
	told := typ.Doc
	for _, field := range list {
		told += field.Doc.Text() + field.Comment.Text()
	}
	var faults []string
	for _, field := range list {
		for _, name := range field.Names {
			own := field.Doc != nil || field.Comment != nil
			if name.IsExported() && !own && !mentions(told, name.Name) {
				faults = append(faults, fmt.Sprintf("%s %s.%s: no comment, and %[2]s's others are silent about it",
					kind, typ.Name, name))
			}
		}
	}
	return faults
}

func members(typ *doc.Type) (kind string, list []*ast.Field) {
	for _, spec := range typ.Decl.Specs {
		if decl, ok := spec.(*ast.TypeSpec); ok && decl.Name.Name == typ.Name {
			switch underlying := decl.Type.(type) {
			case *ast.StructType:
				return "field", underlying.Fields.List
			case *ast.InterfaceType:
				return "method", underlying.Methods.List
			}
		}
	}
	return "", nil
}

func mentions(text, name string) bool {
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).MatchString(text)
}

// readPackage returns the texts of the files in dir that belong to its package, not those that test it.
func readPackage(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	var texts []string
	for _, path := range paths {
		if !strings.HasSuffix(path, "_test.go") {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			texts = append(texts, string(text))
		}
	}
	require.NotEmptyf(t, texts, "no package in %s", dir)
	return texts
}

func parseDoc(t *testing.T, texts ...string) *doc.Package {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	for i, text := range texts {
		files = append(files, parseText(t, fset, fmt.Sprintf("text%d.go", i), text))
	}
	pkg, err := doc.NewFromFiles(fset, files, modulePath)
	require.NoError(t, err)
	return pkg
}

func parseText(t *testing.T, fset *token.FileSet, name, text string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	return file
}

// parseFile parses the text of one file.
func parseFile(t *testing.T, path string) *ast.File {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return parseText(t, token.NewFileSet(), path, string(text))
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
		assert.Contains(t, tests.String(), "func "+name[1]+"(t *testing.T)")
	}
}
