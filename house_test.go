package petstore_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The house tests check rules of this repository that no compiler or linter checks. These are about
// the modules that packages link. The compiler refuses arrows that point upwards: they would be a
// circle, import a program, or reach into the internal packages of one.

// engine lists all modules that a user of the client links. From Go 1.27 on, the codec is an alias
// for the standard library's.
var engine = []string{
	"github.com/go-json-experiment/json",
	"github.com/hashicorp/go-cleanhttp",
	"github.com/hashicorp/go-retryablehttp",
}

func TestHouseClientLinksItsEngineAndNothingElse(t *testing.T) {
	t.Parallel()
	assert.ElementsMatch(t, engine, foreignModules(goList(t, "-deps", ".")))
}

func TestHouseNoShippedPackageLinksMoreThanTheClient(t *testing.T) {
	t.Parallel()
	// Also programs and examples, because users copy them.
	assert.Subset(t, engine, foreignModules(goList(t, "-deps", "./...")))
}

func TestHouseFakeLinksNothingOfATest(t *testing.T) {
	t.Parallel()
	for _, pkg := range goList(t, "-deps", "./fake") {
		path := pkg.ImportPath
		assert.Falsef(t, isOrBelow(path, "testing"), "fake links %s: each program would get its flags", path)
		assert.Falsef(t, isOrBelow(path, "github.com/stretchr"), "fake links %s: users would link it, too", path)
	}
}

func isOrBelow(path, parent string) bool {
	return path == parent || strings.HasPrefix(path, parent+"/")
}

// listedPackage has the fields of go list -json that the tests use.
type listedPackage struct {
	ImportPath string
	Module     *struct {
		Path string
		Main bool
	}
}

func goList(t *testing.T, args ...string) []listedPackage {
	t.Helper()
	const fields = "-json=ImportPath,Module"
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", fields}, args...)...)
	// A workspace of the user must not replace modules.
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoErrorf(t, err, "go list %v: %s", args, stderr.String())
	return decodePackages(t, out)
}

func decodePackages(t *testing.T, listing []byte) []listedPackage {
	t.Helper()
	var pkgs []listedPackage
	for dec := json.NewDecoder(bytes.NewReader(listing)); ; {
		var pkg listedPackage
		err := dec.Decode(&pkg)
		if errors.Is(err, io.EOF) {
			require.NotEmpty(t, pkgs, "go list named no package")
			return pkgs
		}
		require.NoError(t, err)
		pkgs = append(pkgs, pkg)
	}
}

// foreignModules returns the modules other than this one that pkgs come from.
func foreignModules(pkgs []listedPackage) []string {
	var modules []string
	for _, pkg := range pkgs {
		if pkg.Module != nil && !pkg.Module.Main && !slices.Contains(modules, pkg.Module.Path) {
			modules = append(modules, pkg.Module.Path)
		}
	}
	return modules
}

// treeFiles returns the files of the repository whose names end in suffix, including nested
// modules, except the results of builds and test data.
func treeFiles(t *testing.T, suffix string) []string {
	t.Helper()
	skip := []string{".git", "bin", "dist", "testdata"}
	var found []string
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains(skip, entry.Name()):
			return filepath.SkipDir
		case !entry.IsDir() && strings.HasSuffix(path, suffix):
			found = append(found, path)
		}
		return nil
	})
	require.NoError(t, err)
	return found
}
