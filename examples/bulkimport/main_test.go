package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
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
	"github.com/petstore/petstore-go/internal/loopback"
)

// TestMain is the program itself where a test has started it as one, to kill it. It sees that no
// test leaves a goroutine behind.
func TestMain(m *testing.M) {
	if os.Getenv("BULKIMPORT_TEST_PROGRAM") != "" {
		main()
	}
	goleak.VerifyTestMain(m)
}

const secret = "a-key-that-is-in-no-file"

// programBench returns a bench whose service the program reaches over TCP, with a key that no file
// may have.
func programBench(t *testing.T, rows int, opts ...fake.Option) *bench {
	t.Helper()
	loopback.Host(t)
	return newBench(t, fake.NewTestServer(t, append(opts, fake.WithKey(secret, fake.Plan{}))...), rows)
}

// start starts the program.
func (b *bench) start(out io.Writer) *exec.Cmd {
	b.Helper()
	self, err := os.Executable()
	require.NoError(b, err)
	cmd := exec.CommandContext(b.Context(), self, b.input)
	cmd.Env = append(os.Environ(), "BULKIMPORT_TEST_PROGRAM=1",
		"PETSTORE_BASE_URL="+b.server.URL(), "PETSTORE_API_KEY="+secret, "PETSTORE_API_KEY_FILE=")
	cmd.Stdout, cmd.Stderr = out, out
	require.NoError(b, cmd.Start())
	return cmd
}

func (b *bench) assertNoFileHasTheKey() {
	b.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(b.input), "*"))
	require.NoError(b, err)
	assert.GreaterOrEqual(b, len(files), 3)
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(b, err)
		assert.NotContains(b, string(content), secret, file)
	}
	assert.NotContains(b, b.out.String(), secret)
}

// TestProgram_killed kills the program again and again, while the service fails in every way, and
// goes on until no row is left. For each 100 of BULKIMPORT_ROWS rows there is a kill.
func TestProgram_killed(t *testing.T) {
	t.Parallel()
	rows, _ := strconv.Atoi(os.Getenv("BULKIMPORT_ROWS"))
	rows = max(rows, 600)
	b := programBench(t, rows, fake.WithLatency(time.Millisecond), fake.WithSeed(rand.Uint64()),
		fake.WithJournal(10*rows))
	injectChaos(b.server, 0.003)
	for range rows / 100 {
		cmd := b.start(&b.out)
		ctx, cancel := context.WithTimeout(t.Context(), rand.N(300*time.Millisecond))
		_ = b.server.WaitForRequests(ctx, len(b.server.Requests())+rand.IntN(200))
		cancel()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	status := exitStopped
	for runs := 0; status == exitStopped && runs < 20; runs++ {
		cmd := b.start(&b.out)
		_ = cmd.Wait()
		status = cmd.ProcessState.ExitCode()
	}
	assert.Equal(t, exitDone, status)
	b.assertNothingLostOrRepeated(rows)
	b.assertNoFileHasTheKey()
	assert.Contains(t, b.out.String(), fmt.Sprintf("\n%d rows: %d created, %d undecided, %d rejected, 0 left\n",
		rows, b.count(created), b.count(unknown), b.count(rejected)))
}

func TestProgram_interrupted(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there are no signals to send")
	}
	b := programBench(t, 100, fake.WithLatency(20*time.Millisecond))
	stalled := b.server.Inject(fake.Fault{Operation: petstore.OpCreatePet, Times: fake.Forever, Wire: fake.WireStall})
	cmd := b.start(&b.out)
	require.NoError(t, b.server.WaitForRequests(t.Context(), 1))
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	require.Eventually(t, func() bool { // again and again, because two at once may count as one
		_ = cmd.Process.Signal(os.Interrupt)
		return len(ended) > 0
	}, time.Minute, 50*time.Millisecond)
	require.Error(t, <-ended)
	assert.Equal(t, -1, cmd.ProcessState.ExitCode(), "ended by the second signal")
	assert.Positive(t, b.count(sending))
	stalled.Remove()
	require.Error(t, b.start(&b.out).Wait())
	b.assertNothingLostOrRepeated(100)
	assert.Positive(t, b.count(unknown))
}

// TestProgram_terminalGone closes what the program writes to, and hangs up.
func TestProgram_terminalGone(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there are no signals to send")
	}
	b := programBench(t, 30, fake.WithLatency(20*time.Millisecond))
	r, w, err := os.Pipe()
	require.NoError(t, errors.Join(err, r.Close()))
	cmd := b.start(w)
	require.NoError(t, b.server.WaitForRequests(t.Context(), 10))
	require.NoError(t, cmd.Process.Signal(syscall.SIGHUP))
	assert.NoError(t, cmd.Wait())
	require.NoError(t, w.Close())
	b.assertNothingLostOrRepeated(30)
	assert.Equal(t, 30, b.count(created))
}

func TestRunSample(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Setenv("TMPDIR", t.TempDir())
		var out output
		status, err := runSample(t.Context(), &out)
		require.NoError(t, err)
		assert.Equal(t, exitCreated, status)
		assert.Contains(t, out.String(), "\n450 of 500 rows\n500 of 500 rows\n"+
			"500 rows: 497 created, 0 undecided, 3 rejected, 0 left\n")
	})
}

func TestRunFile_usage(t *testing.T) {
	pets := filepath.Join(t.TempDir(), "pets.csv")
	require.NoError(t, os.WriteFile(pets, []byte(header), 0o600))
	t.Setenv("PETSTORE_API_KEY", "not a key")
	t.Setenv("PETSTORE_BASE_URL", "https://host/v1")
	to := service{"https://host/v1", petstore.NewClientFromEnv}
	for said, path := range map[string]string{
		"no such file": pets + ".gz", "is a directory": filepath.Dir(pets), "PETSTORE_API_KEY": pets,
	} {
		status, err := runFile(t.Context(), path, to, false, io.Discard)
		assert.Equal(t, exitUsage, status)
		assert.ErrorContains(t, err, said)
		assert.NotContains(t, err.Error(), "not a key")
	}
	assert.NoFileExists(t, pets+".journal")
}

func TestRunFile_banned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, fake.NewTestServer(t), 10)
		b.server.Inject(fake.Fault{Status: 429, RetryAfter: "3600"})
		for range 2 {
			status, err := runFile(t.Context(), b.input, b.service(), false, &b.out)
			assert.Equal(t, exitStopped, status)
			assert.Regexp(t, `: run it again after \w+, .*, or with -now for another key or plan$`, err.Error())
		}
		assert.Len(t, b.server.Requests(), 1)
		status, err := runFile(t.Context(), b.input, b.service(), true, &b.out)
		require.NoError(t, err)
		assert.Equal(t, exitCreated, status)
		assert.True(t, strings.HasSuffix(b.out.String(), "10 rows: 10 created, 0 undecided, 0 rejected, 0 left\n"))
	})
}
