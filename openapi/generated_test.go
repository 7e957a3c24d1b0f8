package openapi

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// The commands that generate code into the folder OUT. The drivers and servers are in testdata.
const (
	ogenClient = "ogen --config testdata/ogen/config.yaml --target OUT --package petapi"
	ogenServer = "ogen --config testdata/ogenserver/config.yaml --target OUT --package petapi"
	oapiClient = "oapi-codegen -generate types,client -package petapi -o OUT/petapi.go"
	oapiServer = "oapi-codegen -generate types,std-http-server,strict-server -package petapi -o OUT/petapi.go"
)

func TestGeneratedClientsDriveTheFake(t *testing.T) {
	for name, command := range map[string]string{"ogen": ogenClient, "oapicodegen": oapiClient} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program := build(t, name, command)
			srv := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(6, 0)))
			golden.Assert(t, "testdata/driver.golden", run(t, program, srv.URL(), srv.APIKey()))
		})
	}
}

// build generates code into a temporary folder, and builds the program in testdata/name with it.
func build(t *testing.T, name, command string) string {
	t.Helper()
	generated := t.TempDir()
	run(t, "go", strings.Fields("tool "+strings.ReplaceAll(command, "OUT", generated)+" "+document)...)
	program := filepath.Join(t.TempDir(), name)
	run(t, "go", "build", "-buildvcs=false", "-overlay", overlay(t, name, generated), "-o", program, "./generated/"+name)
	return program
}

// overlay writes the file that puts generated code and its program into this module for one build,
// as packages below generated/, so that go.mod decides about their imports.
func overlay(t *testing.T, name, generated string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(generated, "*.go"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "nothing was generated")
	here, err := os.Getwd()
	require.NoError(t, err)
	folder := filepath.Join(here, "generated", name)
	replace := map[string]string{filepath.Join(folder, "main.go"): filepath.Join(here, "testdata", name, "main.go")}
	for _, file := range files {
		replace[filepath.Join(folder, "petapi", filepath.Base(file))] = file
	}
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
