package uitest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// programFolder is where the program is built. It outlives every single test.
var programFolder = filepath.Join(os.TempDir(), fmt.Sprintf("petstore-fake-ui-%d", os.Getpid()))

func removeProgram() { _ = os.RemoveAll(programFolder) }

// buildProgram builds the program, once for all tests.
var buildProgram = sync.OnceValues(func() (string, error) {
	path := filepath.Join(programFolder, "petstore-fake")
	cmd := exec.CommandContext(context.Background(), "go", "build", "-buildvcs=false", "-o", path, "./cmd/petstore-fake")
	cmd.Dir = filepath.Join("..", "..", "..")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

// program is petstore-fake in a process of its own.
type program struct {
	t      *testing.T
	origin string
}

// start starts the program on a free port. It ends with the test.
func start(t *testing.T, args ...string) *program {
	t.Helper()
	theBrowser(t) // or the test is skipped
	path, err := buildProgram()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), path, append([]string{"-addr", "127.0.0.1:0"}, args...)...)
	cmd.Env = []string{}
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Wait() })                   // it is ended by the test's context
	first, err := bufio.NewReader(stdout).ReadString('\n') // the port, unless args name one
	require.NoError(t, err)
	if _, err := strconv.Atoi(strings.TrimSpace(first)); err != nil {
		first = "4010"
	}
	return &program{t, "http://127.0.0.1:" + strings.TrimSpace(first)}
}

// reply is an answer that was read to its end.
type reply struct {
	status int
	header http.Header
	body   string
}

// send sends a request to the service with the default key, or to an admin route. An answer that does
// not come has the status 0.
func (p *program) send(method, path, body string) reply {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.origin+path, strings.NewReader(body))
	require.NoError(p.t, err)
	r.Header.Set("Content-Type", "application/json")
	if strings.HasPrefix(path, "/v1/") {
		r.Header.Set("Authorization", "Bearer fake-api-key")
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return reply{}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(p.t, err)
	return reply{resp.StatusCode, resp.Header, string(text)}
}

// list calls listPets so many times.
func (p *program) list(times int) {
	p.t.Helper()
	for range times {
		require.Equal(p.t, http.StatusOK, p.send(http.MethodGet, "/v1/pets", "").status)
	}
}
