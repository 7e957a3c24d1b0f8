package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// write writes files, by their paths, into a temporary folder and returns it.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for path, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(path)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, path), []byte(text), 0o600))
	}
	return dir
}

func TestModules(t *testing.T) {
	found, err := modules("../..")
	require.NoError(t, err)
	assert.Subset(t, found, []string{".", "petstoreredis", "tools"})
	assert.NotContains(t, found, "testdata/consumer")
	for folder, ships := range map[string]bool{
		".": true, "petstoreredis": true, "examples/fleet": true,
		"tools": false, "bench": false, "openapi/vacuum": false, "cmd/petstore-fake/uitest": false,
	} {
		assert.Equal(t, ships, shipped(folder), folder)
	}
}

func TestLargeFiles(t *testing.T) {
	list := "i/-text w/-text attr/\tprogram\ni/lf    w/lf    attr/\ttext\ni/-text w/-text attr/\tpicture\n"
	sizes := map[string]int64{"program": 600 << 10, "text": 600 << 10, "picture": 500 << 10}
	assert.Equal(t, []string{"program"}, largeFiles(list, func(path string) int64 { return sizes[path] }))
}

func TestCompareFolders(t *testing.T) {
	const config = "directories:\n  - \"/\"\n  - \"/tools\"\n"
	assert.NoError(t, compareFolders([]string{".", "tools"}, config))
	assert.ErrorContains(t, compareFolders([]string{".", "tools", "bench"}, config), "lacks /bench")
	assert.ErrorContains(t, compareFolders([]string{"."}, config), "/tools, which has no dependencies")
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
		return write(t, map[string]string{
			"go.mod": "module example.com/m\n\ngo 1.26.0\n", "m.go": "package m\n\n" + code,
			"internal/quota/q.go": "package quota\n\ntype Exported int\n", "internal/other/o.go": "package other\n",
		})
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

func TestUnusedNames(t *testing.T) {
	const comment, code = "// Package m is documented here: Documented.\n", `package m

type Used struct{ Field Mentioned }

func (Used) Shown() {}
func (Used) Hidden() {}
func (Used) String() string { return "" }

type Mentioned int

const Constant Mentioned = 1

const Documented, InChangelog = 1, 2

func Lonely() {}
func lower() {}
`
	found, err := api(write(t, map[string]string{"go.mod": "module " + modulePath + "/m\n\ngo 1.26.0\n", "m.go": comment + code}))
	require.NoError(t, err)
	assert.Equal(t, []string{"m.InChangelog", "m.Lonely", "m.Used.Hidden"}, newUses(found[modulePath+"/m"], map[string]string{
		"m/doc.go": comment, "m/m_test.go": "m.Lonely()", "other/o_test.go": "m.Lonely()",
		"m/example_test.go": "var u m.Used", "CHANGELOG.md": "InChangelog", "other/o.go": "u.Shown()",
	}).unused())
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

func TestDependencies(t *testing.T) {
	assert.Equal(t, []string{"a", "b"}, dependencies("user: go1.26\n\tpath\tuser\n\tmod\tuser\t\n\tdep\tb\tv1\th1:\n\tdep\ta\tv1\n"))
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

func TestExpectAndRefuse(t *testing.T) {
	echo, fail := in(".", "echo", "text"), in(".", "sh", "-c", "echo reason >&2; exit 1")
	assert.NoError(t, expect(echo, "text"))
	assert.Error(t, expect(echo, "other"))
	assert.Error(t, expect(fail))
	assert.NoError(t, refuse(fail, "reason"))
	assert.Error(t, refuse(fail, "other"))
	assert.Error(t, refuse(echo))
	assert.Error(t, refuse(in(".", "no-such-program")))
}
