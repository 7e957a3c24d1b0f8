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
	"time"

	"github.com/stretchr/testify/require"
)

// programFolder is where the program is built. It outlives every single test.
var programFolder = filepath.Join(os.TempDir(), fmt.Sprintf("petstore-fake-ui-%d", os.Getpid()))

// buildProgram builds the program, once for all tests, and returns its path.
var buildProgram = sync.OnceValues(func() (string, error) {
	path := filepath.Join(programFolder, "petstore-fake")
	cmd := exec.CommandContext(context.Background(), "go", "build", "-buildvcs=false", "-o", path, "./cmd/petstore-fake")
	cmd.Dir, cmd.Stderr = "../../../..", os.Stderr
	return path, cmd.Run()
})

// program is petstore-fake in a process of its own.
type program struct {
	t       *testing.T
	origin  string
	process *os.Process
}

// start starts the program on a free port. It ends with the test.
func start(t *testing.T, args ...string) *program {
	t.Helper()
	return startAt(t, "127.0.0.1:0", args...)
}

func startAt(t *testing.T, addr string, args ...string) *program {
	t.Helper()
	theBrowser(t) // skips the test if there is no browser
	path, err := buildProgram()
	require.NoError(t, err)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), path, append(args, "-addr", addr)...)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { // after the tabs of the test are closed
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	first, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	if host, ok := strings.CutSuffix(addr, ":0"); ok {
		addr = host + ":" + strings.TrimSpace(first)
	}
	return &program{t, "http://" + addr, cmd.Process}
}

// sendAs sends a request with a key, and returns the response, or as much of it as came.
func (p *program) sendAs(ctx context.Context, key, method, path, body string) (status int, text string) {
	r, err := http.NewRequestWithContext(ctx, method, p.origin+path, strings.NewReader(body))
	require.NoError(p.t, err)
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close()
	read, _ := io.ReadAll(resp.Body) // a fault may cut it off
	return resp.StatusCode, string(read)
}

func (p *program) send(method, path, body string) (status int, text string) {
	return p.sendAs(p.t.Context(), "fake-api-key", method, path, body)
}

// admin sends a request to an admin route, which must succeed.
func (p *program) admin(method, path, body string) string {
	status, text := p.send(method, "/_fake/"+path, body)
	require.Less(p.t, status, 300, "%s %s: %s", method, path, text)
	return text
}

// list calls listPets so many times.
func (p *program) list(times int) {
	for range times {
		p.send(http.MethodGet, "/v1/pets?status=available&limit=50", "")
	}
}

// burst sends so many requests, at so many a second.
func (p *program) burst(requests, rate int) {
	const workers = 8
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			tick := time.NewTicker(time.Second * workers / time.Duration(rate))
			defer tick.Stop()
			for range requests / workers {
				<-tick.C
				p.list(1)
			}
		})
	}
	all.Wait()
}

// morning is what a few minutes of work look like.
func (p *program) morning() {
	for i := range 46 {
		p.list(1 + (i*7)%5 + i%3*2)
		p.admin(http.MethodPost, "clock", `advance=5s`)
	}
	p.admin(http.MethodPost, "clock", `advance=61s`)
	p.send(http.MethodPost, "/v1/pets", `{"name":"Nori"}`)
	p.send(http.MethodGet, "/v1/pets/3", "")
	p.admin(http.MethodPost, "faults", `[{"wire":"truncate"},{"status":503,"afterCommit":true,"operation":"createPet"}]`)
	p.list(2)
	p.send(http.MethodPost, "/v1/pets", `{"name":"Nori","categoryId":2,"status":"pending"}`)
	p.admin(http.MethodPatch, "keys/1", `plan={"perMinute":4,"perDay":1000}`)
	p.list(3)
	p.admin(http.MethodPost, "faults", "status=503,chance=0.1,times=-1,for=10m")
}
