package openapi

import (
	"bufio"
	"flag"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
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
	args = append([]string{"-addr", "127.0.0.1:0", "-minute", "2s"}, args...)
	port := start(t, exec.CommandContext(t.Context(), program, args...))
	return "http://127.0.0.1:" + port + "/v1"
}

// start starts a program that ends with the test, and returns the first line that it prints.
func start(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(line)
}

func TestWorkflows(t *testing.T) {
	redocly := installed(t, ".bin", "redocly")
	respect := func(baseURL string) (string, error) {
		cmd := exec.CommandContext(t.Context(), redocly, "respect", "workflows.arazzo.yaml",
			"--server", "petstore="+baseURL, "--input", "apiKey=fake-api-key")
		cmd.Env = append(os.Environ(), "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true")
		out, err := cmd.CombinedOutput()
		return string(out), err
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
	require.NoError(t, os.Symlink(filepath.Dir(installed(t, ".package-lock.json")), filepath.Join(dir, "node_modules")))
	copyFile(t, "testdata/node/client.mts", filepath.Join(dir, "client.mts"))
	run(t, installed(t, ".bin", "openapi-typescript"), document, "-o", filepath.Join(dir, "petstore.d.ts"))
	tsc := []string{
		filepath.Join(dir, "client.mts"), "--strict", "--target", "es2022", "--module", "esnext",
		"--moduleResolution", "bundler", "--lib", "es2022,dom", "--skipLibCheck",
	}
	run(t, installed(t, ".bin", "tsc"), tsc...)
	got := run(t, "node", filepath.Join(dir, "client.mjs"), startProgram(t, "-plan", "enterprise:8,0"), "fake-api-key")
	golden.Assert(t, "testdata/node/output.golden", got)

	// The control: a field that the document does not have must not compile.
	text, err := os.ReadFile(filepath.Join(dir, "client.mts"))
	require.NoError(t, err)
	broken := strings.Replace(string(text), "created.data.name", "created.data.breed", 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "client.mts"), []byte(broken), 0o600))
	out, err := exec.CommandContext(t.Context(), installed(t, ".bin", "tsc"), tsc...).Output()
	require.Error(t, err)
	assert.Contains(t, string(out), "Property 'breed' does not exist")
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, text, 0o600))
}

func TestConformance_prismMock(t *testing.T) {
	prism := installed(t, ".bin", "prism")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	start(t, exec.CommandContext(t.Context(), prism, "mock", "-h", "127.0.0.1", "-p", port, document))
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
