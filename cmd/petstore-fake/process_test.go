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
	cmd  *exec.Cmd
	host string
}

// startProcess starts the program on a free port.
func startProcess(t *testing.T, args ...string) *process {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no SIGTERM")
	}
	p := &process{cmd: command(t, []string{"PETSTORE_FAKE_ADDR=" + loopback.Host(t) + ":0"}, args...)}
	stdout, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	port, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	p.host = loopback.Host(t) + ":" + strings.TrimSpace(port)
	return p
}

// end sends SIGTERM, after which the program must end well within a time.
func (p *process) end(t *testing.T, most time.Duration) {
	t.Helper()
	begun := time.Now()
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	assert.NoError(t, p.cmd.Wait())
	assert.Less(t, time.Since(begun), most)
}

// wait sends so many requests on connections of their own, which get no response, and returns where
// their errors arrive.
func (p *process) wait(t *testing.T, requests int) <-chan error {
	t.Helper()
	ended := make(chan error, requests)
	for range requests {
		c, r := keepingClient(t), requestTo(t, p.host, "GET", "/v1/pets", "")
		go func() {
			_, _, err := do(c, r)
			ended <- err
		}()
	}
	// The requests are there when their faults have struck.
	require.Eventually(t, func() bool {
		_, text, err := do(http.DefaultClient, requestTo(t, p.host, "GET", "/_fake/requests?status=0", ""))
		assert.NoError(t, err)
		return strings.Count(text, `"seq":`) == requests
	}, 5*time.Second, 5*time.Millisecond)
	return ended
}

func TestProcess(t *testing.T) {
	t.Parallel()
	t.Run("conforms to the service document", func(t *testing.T) {
		t.Parallel()
		p := startProcess(t)
		conformance.Run(t, conformance.Target{
			BaseURL: "http://" + p.host + "/v1", APIKey: "fake-api-key", HTTPClient: keepingClient(t),
		})
		p.end(t, grace) // nothing is open but connections that are kept
	})
	t.Run("ends at once at a second signal", func(t *testing.T) {
		t.Parallel()
		p := startProcess(t, "-fault", "wire=stall")
		ended := p.wait(t, 1)
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
	t.Run("ends despite open requests, and ends open streams", func(t *testing.T) {
		t.Parallel()
		p := startProcess(t, "-fault", "wire=stall", "-fault", "delay=1h")
		resp, err := keepingClient(t).Do(requestTo(t, p.host, "GET", "/_fake/events", ""))
		require.NoError(t, err)
		defer resp.Body.Close()
		ended := p.wait(t, 2)
		p.end(t, 3*grace)
		assert.Error(t, <-ended)
		assert.Error(t, <-ended)
		_, err = io.Copy(io.Discard, resp.Body)
		assert.NoError(t, err, "it ended, and was not broken off")
	})
	t.Run("exits with the status of run", func(t *testing.T) {
		t.Parallel()
		cmd := command(t, []string{"PETSTORE_FAKE_MINUTE=soon"})
		stderr, err := cmd.CombinedOutput()
		require.Error(t, err)
		assert.Equal(t, exitUsage, cmd.ProcessState.ExitCode())
		assert.Contains(t, string(stderr), "PETSTORE_FAKE_MINUTE")
	})
}
