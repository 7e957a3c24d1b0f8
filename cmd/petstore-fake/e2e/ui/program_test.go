package ui

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// programFolder is where the program is built. It outlives every single test.
var programFolder = filepath.Join(os.TempDir(), fmt.Sprintf("petstore-fake-ui-%d", os.Getpid()))

// buildProgram builds the program, once for all tests.
var buildProgram = sync.OnceValues(func() (string, error) {
	path := filepath.Join(programFolder, "petstore-fake")
	cmd := exec.CommandContext(context.Background(), "go", "build", "-buildvcs=false", "-o", path, "./cmd/petstore-fake")
	cmd.Dir = filepath.Join("..", "..", "..", "..")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

// program is petstore-fake in a process of its own.
type program struct {
	t       *testing.T
	origin  string
	stop    func()
	process *os.Process
}

// signal sends SIGSTOP, after which the program's connections stay open, or SIGCONT.
func (p *program) signal(s os.Signal) {
	p.t.Helper()
	require.NoError(p.t, p.process.Signal(s))
}

// start starts the program on a free port. It ends with the test.
func start(t *testing.T, args ...string) *program {
	t.Helper()
	return startAt(t, "127.0.0.1:0", args...)
}

// startAt starts the program on an address.
func startAt(t *testing.T, addr string, args ...string) *program {
	t.Helper()
	theBrowser(t) // or the test is skipped
	path, err := buildProgram()
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context())) // it outlives the tabs of the test
	cmd := exec.CommandContext(ctx, path, append([]string{"-addr", addr}, args...)...)
	cmd.Env = []string{}
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	stop := sync.OnceFunc(func() {
		cancel()
		_ = cmd.Wait() // it was ended
	})
	t.Cleanup(stop)
	first, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	if host, ok := strings.CutSuffix(addr, ":0"); ok {
		addr = host + ":" + strings.TrimSpace(first)
	}
	return &program{t, "http://" + addr, stop, cmd.Process}
}

// reply is a response, as far as it came.
type reply struct {
	status int
	header http.Header
	body   string
}

// send sends a request to the service with the default key, or to an admin route. A response that
// does not come has the status 0.
func (p *program) send(method, path, body string) reply {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.origin+path, strings.NewReader(body))
	require.NoError(p.t, err)
	r.Header.Set("Content-Type", "application/json")
	if strings.HasPrefix(path, "/v1/") {
		r.Header.Set("Authorization", "Bearer fake-api-key")
	}
	return p.do(r)
}

// do sends any request.
func (p *program) do(r *http.Request) reply {
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return reply{}
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body) // a fault may cut it off
	return reply{resp.StatusCode, resp.Header, string(text)}
}

// list calls listPets so many times.
func (p *program) list(times int) {
	p.t.Helper()
	for range times {
		require.Equal(p.t, http.StatusOK, p.send(http.MethodGet, "/v1/pets", "").status)
	}
}
