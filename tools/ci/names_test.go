package main

import (
	"go/types"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// unused are exported names that no other text has, with the reason why they stay.
var unused = map[string]string{
	"BodyForm":           "the type of a field of fake.Behavior",
	"InvalidParam":       "the type of two fields of fake.Behavior",
	"LimitInfo":          "what petstore.Limiter gets",
	"LogValue":           "slog calls it",
	"AttributeOperation": "for views of the metrics of petstoreotel by operation",
	"WaitForRequests":    "for tests whose requests are sent beside them; only the changelog has it",
	"ScopeName":          "for views of the instrumentation petstoreotel",
}

// An exported name that no example, document or other package has would be promised for nothing.
func TestExportedNamesAreUsed(t *testing.T) {
	for _, module := range released {
		packages, err := api("../../" + module)
		require.NoError(t, err)
		for _, pkg := range packages {
			if isInternal(pkg.Path()) {
				continue
			}
			words := wordsOfOthers(t, path.Join(".", strings.TrimPrefix(pkg.Path(), modulePath+"/")))
			for _, name := range exported(pkg) {
				assert.True(t, words[name] || unused[name] != "", "%s: %s", pkg.Path(), name)
			}
		}
	}
}

// wordsOfOthers returns the words of the documents, the examples and the code outside a folder.
func wordsOfOthers(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := output(in("../..", "git", "ls-files", "*.go", "*.md", ":!tools", ":!CHANGELOG.md"))
	require.NoError(t, err)
	words := map[string]bool{}
	for file := range strings.FieldsSeq(files) {
		example := regexp.MustCompile(`(^|/)(examples/|example|doc\.go)`).MatchString(file)
		own := path.Dir(file) == folder && strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go")
		if own && !example {
			continue
		}
		text, err := os.ReadFile("../../" + file)
		require.True(t, err == nil || os.IsNotExist(err), "%v", err) // deleted, and not yet committed
		for _, word := range regexp.MustCompile(`\w+`).FindAllString(string(text), -1) {
			words[word] = true
		}
	}
	return words
}

// exported returns the exported names of a package and of its methods, without constants of a type.
func exported(pkg *types.Package) (names []string) {
	for _, name := range pkg.Scope().Names() {
		o := pkg.Scope().Lookup(name)
		named, isNamed := o.Type().(*types.Named)
		_, isType := o.(*types.TypeName)
		if o.Exported() && (isType || !isNamed || named.Obj().Pkg() != pkg) {
			names = append(names, name)
		}
		if isType && isNamed {
			for method := range named.Methods() {
				if method.Exported() {
					names = append(names, method.Name())
				}
			}
		}
	}
	return names
}
