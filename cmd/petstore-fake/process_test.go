package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/fake/conformance"
	"github.com/petstore/petstore-go/internal/loopback"
)

// These tests run the program as its users do: built, in a process of its own, ended by signals.

// TestMain sees, too, that no test leaves a goroutine behind.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(buildFolder)
		os.Exit(code)
	}))
}

// buildFolder is where the program is built. It outlives every single test.
var buildFolder = filepath.Join(os.TempDir(), fmt.Sprintf("petstore-fake-test-%d", os.Getpid()))

// build builds the program, once for all tests.
var build = sync.OnceValues(func() (string, error) {
	path := filepath.Join(buildFolder, "petstore-fake.exe") // Windows insists on the ending
	out, err := exec.CommandContext(context.Background(), "go", "build", "-buildvcs=false", "-o", path, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, exec.CommandContext(context.Background(), path, "-version").Run()
})

// command returns the program with a bare environment.
func command(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := build()
	if errors.Is(err, fs.ErrPermission) {
		t.Skip("TMPDIR allows no programs:", err)
	}
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Env = append([]string{"SYSTEMROOT=" + os.Getenv("SYSTEMROOT")}, env...)
	return cmd
}

// process is the program in a process of its own.
type process struct {
	cmd    *exec.Cmd
	host   string
	stderr strings.Builder
}

// startProcess starts the program on a free port.
func startProcess(t *testing.T, args ...string) *process {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no SIGTERM")
	}
	p := &process{cmd: command(t, []string{"PETSTORE_FAKE_ADDR=" + loopback.Host(t) + ":0"}, args...)}
	p.cmd.Stderr = &p.stderr
	stdout, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	port, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	p.host = loopback.Host(t) + ":" + strings.TrimSpace(port)
	return p
}

// end sends a signal and returns the exit status and how long it took.
func (p *process) end(t *testing.T, signal os.Signal) (status int, took time.Duration) {
	t.Helper()
	begun := time.Now()
	require.NoError(t, p.cmd.Process.Signal(signal))
	_ = p.cmd.Wait() // the status tells
	return p.cmd.ProcessState.ExitCode(), time.Since(begun)
}

// list sends a request on a connection of its own, and returns where its error arrives.
func (p *process) list(t *testing.T) <-chan error {
	t.Helper()
	c, r := keepingClient(t), requestTo(t, p.host, "GET", "/v1/pets", "")
	ended := make(chan error, 1)
	go func() {
		_, _, err := do(c, r)
		ended <- err
	}()
	return ended
}

// openRequests returns how many requests have no response yet.
func openRequests(t *testing.T, host string) int {
	t.Helper()
	_, text, err := do(http.DefaultClient, requestTo(t, host, "GET", "/_fake/requests?status=0", ""))
	assert.NoError(t, err)
	return strings.Count(text, `"seq":`)
}

func TestProcess(t *testing.T) {
	t.Parallel()
	t.Run("serves the SDK", func(t *testing.T) {
		t.Parallel()
		p := startProcess(t, "-log", "text")
		c := keepingClient(t)
		client, err := petstore.NewClient("http://"+p.host+"/v1", "fake-api-key", petstore.WithHTTPClient(c))
		require.NoError(t, err)
		_, err = client.CreatePet(t.Context(), petstore.NewPet{Name: "Mimi", CategoryID: 2})
		require.NoError(t, err)
		listed, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
		assert.Len(t, listed.Pets, 1)
		assert.Equal(t, fake.PlanBusiness.PerMinute-2, listed.RateLimit.Remaining)

		status, took := p.end(t, syscall.SIGTERM)
		assert.Zero(t, status)
		assert.Less(t, took, grace, "nothing was open but a connection that is kept")
		assert.Equal(t, 2, strings.Count(p.stderr.String(), "msg=request"))
		_, after, _ := strings.Cut(p.stderr.String(), "msg=request")
		assert.NotContains(t, after, "fake-api-key")
	})
	t.Run("conforms to the service document", func(t *testing.T) {
		t.Parallel()
		p := startProcess(t)
		conformance.Run(t, conformance.Target{
			BaseURL: "http://" + p.host + "/v1", APIKey: "fake-api-key", HTTPClient: keepingClient(t),
		})
		status, _ := p.end(t, syscall.SIGTERM)
		assert.Zero(t, status)
	})
	t.Run("ends at once at a second signal", func(t *testing.T) {
		t.Parallel()
		p := startProcess(t, "-fault", "wire=stall")
		ended := p.list(t)
		require.Eventually(t, func() bool { return openRequests(t, p.host) == 1 }, 5*time.Second, 5*time.Millisecond)
		gone := make(chan error, 1)
		go func() { gone <- p.cmd.Wait() }()
		// More than two, since those that arrive while the first is being noticed are the same
		// signal.
		require.Eventually(t, func() bool {
			_ = p.cmd.Process.Signal(syscall.SIGTERM) // an error says that it is gone
			return len(gone) == 1
		}, grace/2, 5*time.Millisecond)
		require.Error(t, <-gone)
		assert.Equal(t, -1, p.cmd.ProcessState.ExitCode(), "ended by the signal")
		assert.Error(t, <-ended)
	})
	t.Run("ends despite open requests", func(t *testing.T) {
		t.Parallel()
		p := startProcess(t, "-fault", "wire=stall", "-fault", "delay=1h")
		first, second := p.list(t), p.list(t)
		// The requests are there when their faults have struck.
		require.Eventually(t, func() bool { return openRequests(t, p.host) == 2 }, 5*time.Second, 5*time.Millisecond)
		status, took := p.end(t, syscall.SIGTERM)
		assert.Zero(t, status)
		assert.Less(t, took, 3*grace)
		assert.Error(t, <-first)
		assert.Error(t, <-second)
	})
	t.Run("ends open streams", func(t *testing.T) {
		t.Parallel()
		p := startProcess(t)
		resp, err := keepingClient(t).Do(requestTo(t, p.host, "GET", "/_fake/events", ""))
		require.NoError(t, err)
		defer resp.Body.Close()
		_, err = resp.Body.Read(make([]byte, 1))
		require.NoError(t, err)
		status, took := p.end(t, syscall.SIGTERM)
		assert.Zero(t, status)
		assert.Less(t, took, grace)
		_, err = io.Copy(io.Discard, resp.Body)
		assert.NoError(t, err, "it ended, and was not broken off")
	})
	t.Run("exits with the status of run", func(t *testing.T) {
		t.Parallel()
		cmd := command(t, []string{"PETSTORE_FAKE_MINUTE=soon"})
		var stdout, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		require.Error(t, cmd.Run())
		assert.Equal(t, exitUsage, cmd.ProcessState.ExitCode())
		assert.Empty(t, stdout.String())
		assert.Contains(t, stderr.String(), "PETSTORE_FAKE_MINUTE")
	})
}
