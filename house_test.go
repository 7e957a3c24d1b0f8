package petstore_test

import (
	"context"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
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
)

// The house tests check rules of this repository that neither the compiler nor a linter checks.

// refused has the imports that source files of the root module must not have, except some. All but
// the reason are patterns: of paths of files, of import paths, and of both with a space between.
var refused = []struct{ files, imports, except, reason string }{
	{
		`^`, `^\w[\w-]*\.[a-z]+/`,
		` github\.com/(petstore/petstore-go|go-json-experiment/json)(/\S+)?$| github\.com/hashicorp/go-(retryablehttp|cleanhttp)$`,
		"users would link another module",
	},
	{
		`^`, `^testing$`, `^(fake/(faketest|conformance)|internal/(golden|loopback)|\S*test(kit)?)/`,
		"users would link what is for tests",
	},
	{`^fake/`, `^github\.com/hashicorp/`, `^$`, "the fake is the other side of the wire"},
	{`^internal/`, `petstore-go(/fake.*)?$`, `^$`, "internal packages are below the client"},
}

func TestHouseImports(t *testing.T) {
	t.Parallel()
	seen := 0
	for path, text := range texts(t, ".go") {
		if strings.HasSuffix(path, "_test.go") || inNestedModule(path) {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ImportsOnly)
		require.NoError(t, err)
		for _, spec := range file.Imports {
			seen++
			name := strings.Trim(spec.Path.Value, `"`)
			for _, rule := range refused {
				wrong := regexp.MustCompile(rule.files).MatchString(path) && regexp.MustCompile(rule.imports).MatchString(name)
				excepted := regexp.MustCompile(rule.except).MatchString(path + " " + name)
				assert.True(t, !wrong || excepted, "%s imports %s: %s", path, name, rule.reason)
			}
		}
	}
	assert.Greater(t, seen, 100)
}

// inNestedModule reports whether a file belongs to a module below the root.
func inNestedModule(path string) bool {
	for dir := filepath.Dir(path); dir != "."; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return true
		}
	}
	return false
}

// lists are the files that must have every operation, and the form in which they have it.
var lists = map[string]string{
	"pets.go":                        `"%s"`,
	"doc.go":                         `\b%s\b`,
	"service_test.go":                `"%s":`,
	"fake/operation.go":              `petstore\.Op%s,`,
	"cmd/petstore-fake/openapi.yaml": `operationId: %s\n`,
	"cmd/petstore-fake/e2e/openapi/openapi_test.go": `"%s 2`,
	"internal/chaos/call_test.go":                   `petstore\.Op%s, `,
	"README.md":                                     `\b%s\b`,
	"docs/conformance.md":                           `\b%s\b`,
}

// TestHouseOperations names each list that lacks an operation which the client or the document has.
func TestHouseOperations(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("cmd/petstore-fake/openapi.yaml")
	require.NoError(t, err)
	var operations []string
	for _, match := range regexp.MustCompile(`operationId: (\w+)`).FindAllStringSubmatch(string(document), -1) {
		operations = append(operations, match[1])
		method := strings.ToUpper(match[1][:1]) + match[1][1:]
		_, found := reflect.TypeFor[*petstore.Client]().MethodByName(method)
		assert.True(t, found, "the client lacks %s", method)
	}
	for method := range reflect.TypeFor[*petstore.Client]().Methods() {
		// Do is for what is no operation of the document.
		if method.Name != "Do" && method.Type.NumIn() > 1 && method.Type.In(1) == reflect.TypeFor[context.Context]() {
			operations = append(operations, strings.ToLower(method.Name[:1])+method.Name[1:])
		}
	}
	require.GreaterOrEqual(t, len(operations), 6)
	for path, form := range lists {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, operation := range operations {
			assert.True(t, regexp.MustCompile("(?i)"+fmt.Sprintf(form, operation)).Match(text), "%s lacks %s", path, operation)
		}
	}
}

// TestHouseGolden runs make golden with a go whose tests fail: it still visits each folder that has
// golden files.
func TestHouseGolden(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("there is no make")
	}
	dir := t.TempDir()
	failing := "#!/bin/sh\necho \"visits $2\"\nexit 1\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), []byte(failing), 0o700))
	cmd := exec.CommandContext(t.Context(), "make", "golden")
	cmd.Env = append(os.Environ(), "PATH="+dir+string(filepath.ListSeparator)+os.Getenv("PATH"), "MAKEFLAGS=")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for path, text := range texts(t, "_test.go") {
		if strings.Contains(text, "golden."+"Assert(") {
			assert.Contains(t, string(out), "visits "+filepath.ToSlash(filepath.Dir(path))+"\n")
		}
	}
}

// texts returns the files of the repository whose names end in suffix, by their paths with slashes.
// Results of builds and test data are not among them.
func texts(t *testing.T, suffix string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", "bin", "dist", "testdata", "node_modules"}, entry.Name()):
			return filepath.SkipDir
		case !entry.IsDir() && strings.HasSuffix(path, suffix):
			text, err := os.ReadFile(path)
			all[filepath.ToSlash(path)] = string(text)
			return err
		}
		return nil
	})
	require.NoError(t, err)
	return all
}
