package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
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

func TestProcess(t *testing.T) {
	t.Parallel()
	t.Run("ends at once at a second signal", func(t *testing.T) {
		t.Parallel()
		p := startProcess(t, "-fault", "wire=stall")
		ended := stalled(t, p.host, 1)
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
	t.Run("exits with the status of run", func(t *testing.T) {
		t.Parallel()
		p := startProcess(t)
		require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
		assert.NoError(t, p.cmd.Wait())
		cmd := command(t, []string{"PETSTORE_FAKE_MINUTE=soon"})
		stderr, err := cmd.CombinedOutput()
		require.Error(t, err)
		assert.Equal(t, exitUsage, cmd.ProcessState.ExitCode())
		assert.Contains(t, string(stderr), "PETSTORE_FAKE_MINUTE")
	})
}
