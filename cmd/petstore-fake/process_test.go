package main

import (
	"bufio"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/internal/testkit"
)

// These tests run the program as its users do: in a process of its own, ended by signals.

// asProgram is the environment in which the binary of the tests is the program.
const asProgram = "TESTS_ARE_PETSTORE_FAKE=1"

// TestMain also checks that no test leaves a goroutine behind.
func TestMain(m *testing.M) {
	if slices.Contains(os.Environ(), asProgram) {
		main() // exits
	}
	goleak.VerifyTestMain(m)
}

// command returns the program with a bare environment.
func command(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Env = append([]string{asProgram, "SYSTEMROOT=" + os.Getenv("SYSTEMROOT")}, env...)
	return cmd
}

// startProcess starts the program on a free port, and returns its address.
func startProcess(t *testing.T, args ...string) (cmd *exec.Cmd, host string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no SIGTERM")
	}
	cmd = command(t, []string{"PETSTORE_FAKE_ADDR=" + testkit.Loopback(t) + ":0"}, args...)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	port, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	return cmd, testkit.Loopback(t) + ":" + strings.TrimSpace(port)
}

func TestProcess(t *testing.T) {
	t.Run("ends at once at a second signal", func(t *testing.T) {
		cmd, host := startProcess(t, "-fault", "wire=stall")
		ended := stalled(t, host, 1)
		gone := make(chan error, 1)
		go func() { gone <- cmd.Wait() }()
		// More than two signals, since those that arrive before the program notices the first count as
		// one.
		require.Eventually(t, func() bool {
			_ = cmd.Process.Signal(syscall.SIGTERM) // an error says that it is gone
			return len(gone) == 1
		}, time.Minute, 5*time.Millisecond)
		require.Error(t, <-gone)
		assert.Equal(t, -1, cmd.ProcessState.ExitCode(), "ended by the signal")
		assert.Error(t, <-ended)
	})
	t.Run("exits with the status of run", func(t *testing.T) {
		cmd, _ := startProcess(t)
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		assert.NoError(t, cmd.Wait())
		cmd = command(t, []string{"PETSTORE_FAKE_MINUTE=soon"})
		stderr, err := cmd.CombinedOutput()
		require.Error(t, err)
		assert.Equal(t, exitUsage, cmd.ProcessState.ExitCode())
		assert.Contains(t, string(stderr), "PETSTORE_FAKE_MINUTE")
	})
}
