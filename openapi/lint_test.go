package openapi

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/internal/golden"
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

// passed has the sum of openapi.yaml and of the linter's modules. The outcome depends on nothing else:
// what has passed once is not tried again, except for a release, which sets SLOW.
const passed = "vacuum/passed.sha256"

func sum(t *testing.T) string {
	t.Helper()
	hash := sha256.New()
	for _, file := range []string{document, "vacuum/go.sum"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		hash.Write(text)
	}
	return hex.EncodeToString(hash.Sum(nil)) + "\n"
}

func TestDocumentIsCleanUnderTheRecommendedRules(t *testing.T) {
	if !*vacuum {
		t.Skip("run with -vacuum: the linter takes minutes to build")
	}
	if before, err := os.ReadFile(passed); err == nil && string(before) == sum(t) && os.Getenv("SLOW") == "" {
		t.Skip("it has passed this openapi.yaml")
	}
	out, err := lint(t, document)
	require.NoErrorf(t, err, "%s", out)
	assert.Contains(t, out, "100/100")

	bare := filepath.Join(t.TempDir(), "bare.yaml")
	require.NoError(t, os.WriteFile(bare, []byte("openapi: 3.1.0\ninfo: {title: T, version: v}\npaths: {}\n"), 0o600))
	out, err = lint(t, bare)
	assert.Errorf(t, err, "the linter finds nothing wrong with a bare document: %s", out)
	if golden.Update() {
		golden.Assert(t, passed, sum(t))
	}
}
