package openapi

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/golden"

	// What the generated clients import, so that go.mod and go.sum know it.
	_ "github.com/go-faster/errors"
	_ "github.com/go-faster/jx"
	_ "github.com/oapi-codegen/runtime"
	_ "github.com/ogen-go/ogen/conv"
	_ "github.com/ogen-go/ogen/http"
	_ "github.com/ogen-go/ogen/ogenerrors"
	_ "github.com/ogen-go/ogen/uri"
	_ "github.com/ogen-go/ogen/validate"
)

const document = "../cmd/petstore-fake/openapi.yaml"

func TestClientGeneratedByOgenDrivesTheFake(t *testing.T) {
	t.Parallel()
	drive(t, "ogen", func(dir string) []string {
		return []string{"ogen", "--config", "testdata/ogen/config.yaml", "--target", dir, "--package", "petapi", document}
	})
}

func TestClientGeneratedByOapiCodegenDrivesTheFake(t *testing.T) {
	t.Parallel()
	drive(t, "oapicodegen", func(dir string) []string {
		return []string{
			"oapi-codegen", "-generate", "types,client", "-package", "petapi",
			"-o", filepath.Join(dir, "petapi.go"), document,
		}
	})
}

// drive generates a client, builds the driver in testdata/name with it, and runs it against the
// fake.
func drive(t *testing.T, name string, generate func(dir string) []string) {
	t.Helper()
	program := build(t, name, generate)
	srv := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(6, 0)))
	golden.Assert(t, "testdata/driver.golden", run(t, program, srv.URL(), srv.APIKey()))
}

// build generates code into a temporary folder, and builds the program in testdata/name with it.
func build(t *testing.T, name string, generate func(dir string) []string) string {
	t.Helper()
	generated := t.TempDir()
	run(t, "go", append([]string{"tool"}, generate(generated)...)...)
	program := filepath.Join(t.TempDir(), name)
	run(t, "go", "build", "-buildvcs=false", "-overlay", overlay(t, name, generated), "-o", program, "./generated/"+name)
	return program
}

// overlay writes the file that puts the generated client and its driver into this module for one
// build, as packages below generated/, so that go.mod decides about their imports.
func overlay(t *testing.T, name, generated string) string {
	t.Helper()
	replace := make(map[string]string)
	add := func(files []string, into ...string) {
		for _, file := range files {
			from, err := filepath.Abs(file)
			require.NoError(t, err)
			to, err := filepath.Abs(filepath.Join(append(into, filepath.Base(file))...))
			require.NoError(t, err)
			replace[to] = from
		}
	}
	files, err := filepath.Glob(filepath.Join(generated, "*.go"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "nothing was generated")
	add(files, "generated", name, "petapi")
	add([]string{filepath.Join("testdata", name, "main.go")}, "generated", name)

	text, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "overlay.json")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	return file
}

// run runs a program without network and returns its standard output.
func run(t *testing.T, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOPROXY=off", "GOFLAGS=-mod=readonly")
	out, err := cmd.Output()
	if failure, ok := err.(*exec.ExitError); ok { //nolint:errorlint // Output returns it as it is
		t.Logf("%s", failure.Stderr)
	}
	require.NoErrorf(t, err, "%s %v: %s", program, args, out)
	return string(out)
}
