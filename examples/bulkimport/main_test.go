package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
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

// port is a bench whose service the program reaches over TCP. It can act when a create arrives.
type port struct {
	*bench
	url string

	mu    sync.Mutex
	left  int // creates to come before act is called
	after bool
	act   func()
}

func newPort(t *testing.T, rows int, opts ...fake.Option) *port {
	t.Helper()
	loopback.Need(t)
	server := fake.NewTestServer(t, append(opts, fake.WithKey(secret, fake.Plan{}))...)
	p := &port{bench: newBench(t, server, rows)}
	listener := httptest.NewServer(p)
	t.Cleanup(listener.Close)
	p.url = listener.URL + "/v1"
	return p
}

func (p *port) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	act := func() {}
	p.mu.Lock()
	if p.left--; p.left == 0 {
		act = p.act
	}
	after := p.after
	p.mu.Unlock()
	if after {
		defer act()
	} else {
		act()
	}
	p.server.ServeHTTP(w, r)
}

// program returns the program, ready to be started.
func (p *port) program() *exec.Cmd {
	p.Helper()
	self, err := os.Executable()
	require.NoError(p, err)
	cmd := exec.CommandContext(p.Context(), self, p.input)
	cmd.Env = append(os.Environ(), "BULKIMPORT_TEST_PROGRAM=1",
		"PETSTORE_BASE_URL="+p.url, "PETSTORE_API_KEY="+secret, "PETSTORE_API_KEY_FILE=")
	cmd.Stdout, cmd.Stderr = &p.out, &p.out
	return cmd
}

// start starts the program, and has act called once while the service has the n-th create of it, or
// has just answered that.
func (p *port) start(n int, after bool, out io.Writer, act func(*os.Process)) *exec.Cmd {
	p.Helper()
	cmd := p.program()
	cmd.Stdout, cmd.Stderr = out, out
	started := make(chan struct{})
	p.mu.Lock()
	p.left, p.after, p.act = n, after, func() {
		<-started
		act(cmd.Process)
	}
	p.mu.Unlock()
	require.NoError(p, cmd.Start())
	close(started)
	return cmd
}

func (p *port) assertNoFileHasTheKey() {
	p.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(p.input), "*"))
	require.NoError(p, err)
	assert.GreaterOrEqual(p, len(files), 3)
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(p, err)
		assert.NotContains(p, string(content), secret, file)
	}
	assert.NotContains(p, p.out.String(), secret)
}

// TestProgram_killed kills the program again and again, while the service fails in every way, and
// goes on until no row is left. BULKIMPORT_ROWS is the number of rows, and for each 200 of them
// there is a kill.
func TestProgram_killed(t *testing.T) {
	t.Parallel()
	const every = 200 // rows
	rows, _ := strconv.Atoi(os.Getenv("BULKIMPORT_ROWS"))
	rows = max(rows, 600)
	p := newPort(t, rows, fake.WithLatency(time.Millisecond), fake.WithSeed(rand.Uint64()))
	injectChaos(p.server, 0.003)
	for range rows / every {
		kill := func(program *os.Process) { assert.NoError(t, program.Kill()) }
		if rand.IntN(4) > 0 {
			assert.Error(t, p.start(1+rand.IntN(2*every), rand.IntN(2) == 0, &p.out, kill).Wait())
			continue
		}
		cmd := p.program() // killed at any time
		require.NoError(t, cmd.Start())
		timer := time.AfterFunc(rand.N(200*time.Millisecond), func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		timer.Stop()
	}
	status := exitStopped
	for runs := 0; status == exitStopped && runs < 20; runs++ {
		cmd := p.program()
		_ = cmd.Run()
		status = cmd.ProcessState.ExitCode()
	}
	assert.Equal(t, exitDone, status)
	p.assertNothingLostOrRepeated(rows)
	p.assertNoFileHasTheKey()
	assert.Contains(t, p.out.String(), fmt.Sprintf("\n%d rows: %d created, %d undecided, %d rejected, 0 left\n",
		rows, p.count(created), p.count(unknown), p.count(rejected)))
}

func TestProgram_interrupted(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there are no signals to send")
	}
	p := newPort(t, 100)
	cmd := p.start(20, false, &p.out, func(program *os.Process) { assert.NoError(t, program.Signal(os.Interrupt)) })
	require.Error(t, cmd.Wait())
	assert.Equal(t, exitStopped, cmd.ProcessState.ExitCode())
	assert.Regexp(t, "bulkimport: .*: run it again to go on\n", p.out.String())
	assert.Zero(t, p.count(unknown)+p.count(sending))

	stalled := p.server.Inject(fake.Fault{Operation: petstore.OpCreatePet, Times: fake.Forever, Wire: fake.WireStall})
	gone := make(chan struct{})
	cmd = p.start(1, false, &p.out, func(program *os.Process) { go interruptUntil(gone, program) })
	require.Error(t, cmd.Wait())
	close(gone)
	assert.Equal(t, -1, cmd.ProcessState.ExitCode(), "ended by the second signal")
	assert.Positive(t, p.count(sending))
	stalled.Remove()

	require.Error(t, p.program().Run())
	p.assertNothingLostOrRepeated(100)
	assert.Positive(t, p.count(unknown))
}

// interruptUntil interrupts a process again and again, because the first may come too early.
func interruptUntil(gone <-chan struct{}, process *os.Process) {
	for {
		_ = process.Signal(os.Interrupt) // which fails once the process is gone
		select {
		case <-gone:
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// TestProgram_terminalGone closes what the program writes to, and hangs up.
func TestProgram_terminalGone(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there are no signals to send")
	}
	p := newPort(t, 30)
	r, w, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, r.Close())
	cmd := p.start(10, false, w, func(program *os.Process) { assert.NoError(t, program.Signal(syscall.SIGHUP)) })
	assert.NoError(t, cmd.Wait())
	require.NoError(t, w.Close())
	p.assertNothingLostOrRepeated(30)
	assert.Equal(t, 30, p.count(created))
}

func TestRunSample(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Setenv("TMPDIR", t.TempDir())
		var out output
		status, err := runSample(t.Context(), &out)
		require.NoError(t, err)
		assert.Equal(t, exitCreated, status)
		assert.Contains(t, out.String(), "\n450 of 500 rows\n500 of 500 rows\n500 rows: 497 created, 0 undecided, 3 rejected, 0 left\n")
		reports, err := filepath.Glob(filepath.Join(os.TempDir(), "*", "pets.csv.*.csv"))
		require.NoError(t, err)
		require.Len(t, reports, 1)
		text, err := os.ReadFile(reports[0])
		require.NoError(t, err)
		assert.Equal(t, `name,categoryId,status,line,reason
Tweety,bird,available,59,"categoryId ""bird"" is not a 64-bit integer"
,2,sold,235,petstore: createPet: Name: is empty
Sleepy,3,asleep,403,"petstore: createPet: Status: ""asleep"" is none of available, pending, sold"
`, string(text))
	})
}

func TestRunFile_usage(t *testing.T) {
	pets := filepath.Join(t.TempDir(), "pets.csv")
	require.NoError(t, os.WriteFile(pets, []byte(header), 0o600))
	t.Setenv("PETSTORE_API_KEY", "not a key")
	t.Setenv("PETSTORE_BASE_URL", "https://host/v1")
	to := service{"https://host/v1", petstore.NewClientFromEnv}
	for said, paths := range map[string][]string{
		"one file can be imported at a time": {pets, pets},
		"no such file":                       {pets + ".gz"},
		"is a directory":                     {filepath.Dir(pets)},
		"PETSTORE_API_KEY":                   {pets},
	} {
		status, err := runFile(t.Context(), paths, to, false, io.Discard)
		assert.Equal(t, exitUsage, status)
		assert.ErrorContains(t, err, said)
		assert.NotContains(t, err.Error(), "not a key")
	}
	left, err := os.ReadDir(filepath.Dir(pets))
	require.NoError(t, err)
	assert.Len(t, left, 1, "the input: %v", left)
}

func TestRunFile_banned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, fake.NewTestServer(t), 10)
		b.server.Inject(fake.Fault{Status: 429, RetryAfter: "3600"})
		for range 2 {
			status, err := runFile(t.Context(), []string{b.input}, b.service(), false, &b.out)
			assert.Equal(t, exitStopped, status)
			assert.Regexp(t, `: run it again after \w+, .*, or with -now for another key or plan$`, err.Error())
		}
		b.server.AssertRequests(t, "", 1)
		status, err := runFile(t.Context(), []string{b.input}, b.service(), true, &b.out)
		require.NoError(t, err)
		assert.Equal(t, exitCreated, status)
		assert.True(t, strings.HasSuffix(b.out.String(), "10 rows: 10 created, 0 undecided, 0 rejected, 0 left\n"))
	})
}
