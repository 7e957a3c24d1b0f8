package main

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/testkit"
)

// TestMain runs the program instead of the tests if a test has started this binary, to kill it.
func TestMain(m *testing.M) {
	if os.Getenv("BULKIMPORT_TEST_PROGRAM") != "" {
		main()
	}
	goleak.VerifyTestMain(m)
}

const secret = "a-key-that-is-in-no-file"

// newProgramBench returns a bench whose service the program reaches over TCP.
func newProgramBench(t *testing.T, rows int, opts ...fake.Option) *bench {
	t.Helper()
	testkit.Loopback(t)
	return newBench(t, fake.NewTestServer(t, append(opts, fake.WithKey(secret, fake.Plan{}))...), rows)
}

// start starts the program.
func (b *bench) start(out io.Writer) *exec.Cmd {
	b.Helper()
	self, err := os.Executable()
	require.NoError(b, err)
	cmd := exec.CommandContext(b.Context(), self, b.path)
	cmd.Env = append(os.Environ(), "BULKIMPORT_TEST_PROGRAM=1",
		"PETSTORE_BASE_URL="+b.server.URL(), "PETSTORE_API_KEY="+secret, "PETSTORE_API_KEY_FILE=")
	cmd.Stdout, cmd.Stderr = out, out
	require.NoError(b, cmd.Start())
	return cmd
}

// TestProgram_killed kills an import of 300 rows 25 times, while the service fails in every way,
// and then lets it go on until no row is left. It does all this BULKIMPORT_ROUNDS times.
func TestProgram_killed(t *testing.T) {
	const rows, kills = 300, 25
	rounds, _ := strconv.Atoi(os.Getenv("BULKIMPORT_ROUNDS"))
	for range max(rounds, 1) {
		b := newProgramBench(t, rows, fake.WithSeed(rand.Uint64()))
		injectChaos(b.server, 0.003)
		for range kills {
			cmd := b.start(&b.out)
			ctx, cancel := context.WithTimeout(t.Context(), rand.N(300*time.Millisecond))
			_ = b.server.WaitForRequests(ctx, len(b.server.Requests())+rand.IntN(2*rows/kills))
			cancel()
			_ = cmd.Process.Kill() // before, while or after a request is sent
			_ = cmd.Wait()
		}
		status := exitLeft
		for runs := 0; status == exitLeft && runs < 20; runs++ {
			cmd := b.start(&b.out)
			_ = cmd.Wait()
			status = cmd.ProcessState.ExitCode()
		}
		assert.Contains(t, []int{exitCreated, exitDone}, status)
		assert.Contains(t, b.out.String(), " undecided, 0 left\n")
		b.assertNothingLostOrRepeated(rows)
		t.Logf("%d of %d rows are undecided", b.count(undecided), rows)
		journal, err := os.ReadFile(b.path + ".journal")
		require.NoError(t, err)
		assert.NotContains(t, string(journal)+b.out.String(), secret)
	}
}

// TestProgram_signals sends SIGHUP and closes the program's output, after which the program must go
// on; then it interrupts the program twice.
func TestProgram_signals(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no signals to send")
	}
	b := newProgramBench(t, 20)
	stalled := b.server.Inject(fake.Fault{Operation: petstore.OpCreatePet, Skip: 15, Wire: fake.WireStall})
	r, w, err := os.Pipe()
	require.NoError(t, errors.Join(err, r.Close()))
	cmd := b.start(w)
	require.NoError(t, b.server.WaitForRequests(t.Context(), 5))
	require.NoError(t, cmd.Process.Signal(syscall.SIGHUP))
	require.NoError(t, b.server.WaitForRequests(t.Context(), 16))
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	require.Eventually(t, func() bool { // again and again, because two at once may count as one
		_ = cmd.Process.Signal(os.Interrupt)
		return len(ended) > 0
	}, time.Minute, 50*time.Millisecond)
	require.Error(t, <-ended)
	assert.Equal(t, -1, cmd.ProcessState.ExitCode(), "ended by the second signal")
	stalled.Remove()
	require.NoError(t, w.Close())
	require.Error(t, b.start(&b.out).Wait())
	b.assertNothingLostOrRepeated(20)
	assert.Equal(t, 1, b.count(undecided))
}

func TestImportSample(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Setenv("TMPDIR", t.TempDir())
		var out strings.Builder
		status, err := importSample(t.Context(), &out)
		require.NoError(t, err)
		assert.Equal(t, exitCreated, status)
		assert.Contains(t, out.String(), "\n500 of 500 rows\n500 created, 0 rejected, 0 undecided, 0 left\n")
	})
}

// TestImportFile_namedPipe has a pipe in place of the journal, and of the input: to open or read it
// would block.
func TestImportFile_namedPipe(t *testing.T) {
	b := newBench(t, fake.NewTestServer(t), 1)
	if err := exec.CommandContext(t.Context(), "mkfifo", b.path+".journal").Run(); err != nil {
		t.Skip("there are no named pipes:", err)
	}
	for range 2 {
		status, err := importFile(t.Context(), b.path, b.connect, io.Discard)
		assert.Equal(t, exitUsage, status)
		assert.ErrorContains(t, err, ".journal is not a regular file")
		b.path += ".journal"
	}
}
