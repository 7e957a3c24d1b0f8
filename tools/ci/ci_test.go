package main

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestModules(t *testing.T) {
	found, err := repository{root: "../.."}.shippedModules()
	require.NoError(t, err)
	assert.Equal(t, []string{
		".", "examples/bulkimport", "examples/fleet", "examples/observability", "petstoreotel", "petstoreredis",
	}, found)
}

// A binary in the repository is what a build left behind.
func TestFilesAreTextOrSmall(t *testing.T) {
	files, err := output(in("../..", "git", "ls-files", "--eol"))
	require.NoError(t, err)
	for line := range strings.Lines(files) {
		attributes, path, _ := strings.Cut(strings.TrimSpace(line), "\t")
		info, err := os.Stat("../../" + path)
		if err == nil && strings.HasPrefix(attributes, "i/-text") {
			assert.LessOrEqual(t, info.Size(), int64(512<<10), path)
		}
	}
}

func TestDependabotUpdatesEveryFolder(t *testing.T) {
	r := repository{root: "../.."}
	modules, err := r.modules()
	require.NoError(t, err)
	npm, err := r.folders("*package.json")
	require.NoError(t, err)
	config, err := os.ReadFile("../../.github/dependabot.yml")
	require.NoError(t, err)
	var listed []string
	for _, match := range regexp.MustCompile(`(?m)^ *- "/(.*)"$`).FindAllStringSubmatch(string(config), -1) {
		listed = append(listed, cmp.Or(match[1], "."))
	}
	assert.ElementsMatch(t, append(modules, npm...), listed)
}

func TestAllowed(t *testing.T) {
	rows, err := licenseRows("b,url,GPL-3.0\n"+modulePath+"/fake,url,MPL-2.0\na,url,MIT\n", ".")
	require.NoError(t, err)
	assert.Equal(t, []string{"b,GPL-3.0,.", "a,MIT,."}, rows)
	for row, is := range map[string]bool{
		"a,MIT,.": true, "b,GPL-3.0,.": false, "c,Unknown,.": false, "d,BSL-1.0,examples/fleet": true, "d,BSL-1.0,.": false,
	} {
		assert.Equal(t, is, allowed(row), row)
	}
}

func TestAPIChanges(t *testing.T) {
	tree := func(code string) string {
		dir := t.TempDir()
		for path, text := range map[string]string{
			"go.mod": "module example.com/m\n\ngo 1.26.0\n", "m.go": "package m\n\n" + code,
			"internal/quota/q.go": "package quota\n\ntype Exported int\n", "internal/other/o.go": "package other\n",
		} {
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, path), []byte(text), 0o600))
		}
		return dir
	}
	for _, row := range []struct {
		before, after, says string
		breaks              bool
	}{
		{"func F() {}", "func F() {}", "", false},
		{"func F() {}", "func F() {}\n\nfunc G() {}", "G: added", false},
		{"func F() {}", "func f() {}", "F: removed", true},
		{"func F() {}", "func F(int) {}", "F: changed", true},
	} {
		var out strings.Builder
		broken, err := repository{out: &out}.apiChanges(tree(row.before), tree(row.after))
		require.NoError(t, err)
		assert.Equal(t, row.breaks, broken, row.after)
		assert.Contains(t, out.String(), row.says)
	}
	_, err := api(tree("func"))
	assert.Error(t, err, "a tree that does not compile")
	found, err := api(tree(""))
	require.NoError(t, err)
	assert.Len(t, found, 2)
	assert.Contains(t, found, "example.com/m/internal/quota")
}

func TestMissingLines(t *testing.T) {
	const comment = "// Go runs.\n//\n//\tgo run .\n//\n// It prints\n//\n//\t3 pets\n//\t...\n//\tbye\n//\npackage main\n\n//\tx\n"
	assert.Empty(t, missingLines(comment, "12 pets\nmore\nbye"))
	assert.Equal(t, []string{"3 pets", "bye"}, missingLines(comment, "3 petsbye\n"))
}

func TestMayBreak(t *testing.T) {
	assert.NoError(t, mayBreak("0.1.3", "0.2.0"))
	assert.Error(t, mayBreak("0.2.0", "0.2.1"))
	client, err := os.ReadFile("../../client.go")
	require.NoError(t, err)
	assert.NotEmpty(t, submatch(versionLine, string(client)))
}

func TestReached(t *testing.T) {
	for _, row := range []struct {
		folder, files string
		is            bool
	}{
		{"petstoreotel", "petstoreotel/attempt_test.go", true},
		{"petstoreotel", "call.go", true},
		{"petstoreotel", "call_test.go README.md", false},
		{"openapi", "cmd/petstore-fake/openapi.yaml", true},
		{"bench", "fake/server.go", true},
		{"tools", "call.go", false},
		{"petstoreotel", "bench/call.go", false},
	} {
		assert.Equal(t, row.is, reached(row.folder, strings.Fields(row.files)), "%s: %s", row.folder, row.files)
	}
	assert.Nil(t, testOf(".", true))
	assert.Equal(t, []string{"./run", "check"}, testOf("bench", false))
}

func TestExpect(t *testing.T) {
	assert.NoError(t, expect(in(".", "echo", "text"), "text"))
	assert.Error(t, expect(in(".", "echo", "text"), "other"))
	assert.ErrorContains(t, expect(in(".", "sh", "-c", "echo reason >&2; exit 1")), "reason")
}
