package openapi

import (
	"bytes"
	"flag"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/internal/golden"
)

var npm = flag.Bool("npm", false, "run what comes from the npm registry; the step openapi of .ci/run installs it")

// installed returns the path of something in node_modules, where the step openapi of .ci/run puts
// it.
func installed(t *testing.T, path ...string) string {
	t.Helper()
	if !*npm {
		t.Skip("run with -npm: it takes what npm/package.json names")
	}
	file, err := filepath.Abs(filepath.Join(append([]string{"..", "bin", "openapi", "node_modules"}, path...)...))
	require.NoError(t, err)
	require.FileExists(t, file, ".ci/run openapi installs it")
	return file
}

// startProgram builds petstore-fake, starts it with a minute of two seconds, and returns its base
// address.
func startProgram(t *testing.T, args ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "petstore-fake")
	run(t, "go", "build", "-C", "..", "-o", program, "./cmd/petstore-fake")
	port := start(t, program, append([]string{"-addr", "127.0.0.1:0", "-minute", "2s"}, args...)...)
	return "http://127.0.0.1:" + port + "/v1"
}

func redocly(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), installed(t, ".bin", "redocly"), args...)
	cmd.Env = append(os.Environ(), "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestDocumentIsCleanUnderStrictRules(t *testing.T) {
	out, err := redocly(t, "lint", "--extends", "recommended-strict", document)
	require.NoErrorf(t, err, "%s", out)

	bare := filepath.Join(t.TempDir(), "bare.yaml")
	require.NoError(t, os.WriteFile(bare, []byte("openapi: 3.1.0\ninfo: {title: T, version: v}\npaths: {}\n"), 0o600))
	out, err = redocly(t, "lint", "--extends", "recommended-strict", bare)
	assert.Errorf(t, err, "the linter finds nothing wrong with a bare document: %s", out)
}

func TestWorkflows(t *testing.T) {
	installed(t, ".bin", "redocly")
	respect := func(baseURL string) (string, error) {
		return redocly(t, "respect", "workflows.arazzo.yaml", "--server", "petstore="+baseURL, "--input", "apiKey=fake-api-key")
	}
	out, err := respect(startProgram(t, "-plan", "enterprise:10,0"))
	require.NoErrorf(t, err, "%s", out)
	assert.Contains(t, out, "Workflows: 3 passed, 3 total")

	// The control: without an Error body in a 429, the engine must find the service broken.
	out, err = respect(startProgram(t, "-plan", "enterprise:10,0", "-variant", "limit-body=empty"))
	require.Error(t, err)
	assert.Contains(t, out, "Workflows: 2 passed, 1 failed, 3 total")
}

func TestNodeClient(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "client.mts")
	require.NoError(t, os.Symlink(filepath.Dir(installed(t, ".package-lock.json")), filepath.Join(dir, "node_modules")))
	text, err := os.ReadFile("testdata/node/client.mts")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(program, text, 0o600))
	run(t, installed(t, ".bin", "openapi-typescript"), document, "-o", filepath.Join(dir, "petstore.d.ts"))
	tsc := []string{
		program, "--strict", "--target", "es2022", "--module", "esnext",
		"--moduleResolution", "bundler", "--lib", "es2022,dom", "--skipLibCheck",
	}
	run(t, installed(t, ".bin", "tsc"), tsc...)
	got := run(t, "node", filepath.Join(dir, "client.mjs"), startProgram(t, "-plan", "enterprise:8,0"), "fake-api-key")
	golden.Assert(t, "testdata/node/output.golden", got)

	// The control: a field that the document does not have must not compile.
	broken := bytes.Replace(text, []byte("created.data.name"), []byte("created.data.breed"), 1)
	require.NoError(t, os.WriteFile(program, broken, 0o600))
	out, err := exec.CommandContext(t.Context(), installed(t, ".bin", "tsc"), tsc...).Output()
	require.Error(t, err)
	assert.Contains(t, string(out), "Property 'breed' does not exist")
}

func TestConformance_prismMock(t *testing.T) {
	prism := installed(t, ".bin", "prism")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	start(t, prism, "mock", "-h", "127.0.0.1", "-p", port, document)
	require.Eventually(t, func() bool {
		resp, err := http.Get("http://" + address + "/pets")
		if err == nil {
			_ = resp.Body.Close()
		}
		return err == nil
	}, 30*time.Second, 100*time.Millisecond)
	// Prism serves the paths without the prefix of the servers in the document.
	target, err := url.Parse("http://" + address)
	require.NoError(t, err)
	proxy := httptest.NewServer(http.StripPrefix("/v1", httputil.NewSingleHostReverseProxy(target)))
	t.Cleanup(proxy.Close)
	assertFails(t, proxy.URL+"/v1",
		// It returns the examples of the document whatever it is asked, and remembers nothing.
		"2 Pet/id is unique",
		"4.1 limit and status go together",
		"4.1 status=pending returns pending pets only",
		"4.1 status=sold returns sold pets only",
		"4.2 the body is the pet that was sent, with an id",
		"4.3 an unknown pet is 404",
		// Any key will do.
		"5 createPet with an invalid key is 401",
		"5 getPet with an invalid key is 401",
		"5 listPets with an invalid key is 401",
		// It answers a body that is not JSON not at all; that takes the run's timeout of 30
		// seconds.
		"4.2 a body that is not JSON is 400",
		// Its own refusals are problem documents (RFC 9457) without the headers, and the example of
		// X-RateLimit-Reset is a time in another year.
		"2 Error/status is the HTTP status",
		"8.2 X-RateLimit-Reset is a Unix timestamp",
		"8.2 every response carries X-RateLimit-Limit",
		"8.2 every response carries X-RateLimit-Remaining",
		"8.2 every response carries X-RateLimit-Reset",
	)
}
