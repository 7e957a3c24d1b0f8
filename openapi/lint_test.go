package openapi

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var vacuum = flag.Bool("vacuum", false, "lint openapi.yaml with vacuum's recommended rules")

// lint runs the linter that vacuum/go.mod pins, with its recommended rules, and with a hint being a
// failure.
func lint(t *testing.T, file string) (string, error) {
	t.Helper()
	file, err := filepath.Abs(file)
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "go", "-C", "vacuum", "tool", "vacuum",
		"lint", "--details", "--no-style", "--no-banner", "--fail-severity", "info", file)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestDocumentIsCleanUnderTheRecommendedRules(t *testing.T) {
	if !*vacuum {
		t.Skip("run with -vacuum: the linter takes minutes to build")
	}
	out, err := lint(t, document)
	require.NoErrorf(t, err, "%s", out)
	assert.Contains(t, out, "100/100")

	bare := filepath.Join(t.TempDir(), "bare.yaml")
	require.NoError(t, os.WriteFile(bare, []byte("openapi: 3.1.0\ninfo: {title: T, version: v}\npaths: {}\n"), 0o600))
	out, err = lint(t, bare)
	assert.Errorf(t, err, "the linter finds nothing wrong with a bare document: %s", out)
}
