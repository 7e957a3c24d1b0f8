package main

import (
	"bytes"
	"context"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/fake"
)

// TestMain is the program itself where a test has started it as one, to kill it. It sees that no test leaves a
// goroutine behind.
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
	if p.left--; p.left == 0 && r.Method == http.MethodPost {
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

// start starts the program, and has act called once while the service has the n-th create of it, or has just
// answered that.
func (p *port) start(n int, after bool, act func(*os.Process)) *exec.Cmd {
	p.Helper()
	cmd := p.program()
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

func TestAProgramThatIsKilledAgainAndAgainLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	const rows, kills = 500, 12
	p := newPort(t, rows, fake.WithLatency(2*time.Millisecond))
	for _, f := range []fake.Fault{
		{Wire: fake.WireReset}, {Wire: fake.WireReset, AfterCommit: true}, {Status: http.StatusServiceUnavailable},
	} {
		f.Operation, f.Chance, f.Times = fake.OpCreatePet, 0.05, fake.Forever
		p.server.Inject(f)
	}
	for range kills {
		cmd := p.start(1+rand.IntN(rows/kills), rand.IntN(2) == 0, func(program *os.Process) {
			assert.NoError(t, program.Kill())
		})
		assert.Error(t, cmd.Wait())
	}
	for range 3 { // ten undecided in a row are possible
		if p.program().Run() == nil {
			break
		}
	}
	p.assertNothingLostOrRepeated(rows)
	p.assertNoFileHasTheKey()
	t.Logf("%d kills: %d created, %d undecided, %d in the service", kills,
		p.count(created), p.count(unknown), len(p.server.Pets()))
}

func TestAnInterruptedProgramFinishesAndASecondInterruptEndsIt(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there are no signals to send")
	}
	p := newPort(t, 100)
	cmd := p.start(20, false, func(program *os.Process) { assert.NoError(t, program.Signal(os.Interrupt)) })
	require.Error(t, cmd.Wait())
	assert.Equal(t, exitStopped, cmd.ProcessState.ExitCode())
	assert.Contains(t, p.out.String(), "stopped: interrupt signal received: run it again to go on\n")
	assert.Zero(t, p.count(unknown)+p.count(sending))

	stalled := p.server.Inject(fake.Fault{Operation: fake.OpCreatePet, Times: fake.Forever, Wire: fake.WireStall})
	gone := make(chan struct{})
	cmd = p.start(1, false, func(program *os.Process) { go signalUntil(gone, program, os.Interrupt) })
	require.Error(t, cmd.Wait())
	close(gone)
	assert.Equal(t, -1, cmd.ProcessState.ExitCode(), "ended by the signal")
	assert.Positive(t, p.count(sending))
	stalled.Remove()

	require.NoError(t, p.program().Run())
	p.assertNothingLostOrRepeated(100)
	assert.Positive(t, p.count(unknown))
}

func TestATerminalThatGoesAwayStopsTheImportAsAnInterruptDoes(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there are no signals to send")
	}
	// The test may run under nohup, of which the program is to know nothing: to be ignored is inherited, to be handled is not.
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGHUP)
	defer signal.Stop(heard)
	p := newPort(t, 100, fake.WithLatency(20*time.Millisecond))
	gone := make(chan struct{})
	cmd := p.start(20, false, func(program *os.Process) {
		assert.NoError(t, program.Signal(syscall.SIGHUP))
		go signalUntil(gone, program, syscall.SIGHUP)
	})
	require.Error(t, cmd.Wait())
	close(gone)
	assert.Equal(t, exitStopped, cmd.ProcessState.ExitCode())
	assert.Zero(t, p.count(unknown)+p.count(sending))
	assert.Less(t, p.count(created), 100)

	require.NoError(t, p.program().Run())
	p.assertNothingLostOrRepeated(100)
}

func TestAnImportGoesOnWhenNobodyReadsWhatItPrints(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there are no signals to send")
	}
	p := newPort(t, 30)
	r, w, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, r.Close())
	cmd := p.program()
	cmd.Stdout, cmd.Stderr = w, w
	assert.NoError(t, cmd.Run())
	require.NoError(t, w.Close())
	p.assertNothingLostOrRepeated(30)
	assert.Equal(t, 30, p.count(created))
}

// signalUntil sends a process a signal again and again, since nothing tells when the first has been noticed.
func signalUntil(gone <-chan struct{}, process *os.Process, s os.Signal) {
	for {
		_ = process.Signal(s) // which fails once the process is gone
		select {
		case <-gone:
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func TestOnATerminalThereIsABarAndElsewhereAreLines(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there is no terminal to be had")
	}
	p := newPort(t, 130, fake.WithMinute(2*time.Second))
	p.server.AddKey(secret, fake.Enterprise(100, 0))
	cmd := p.program()
	cmd.Stdout, cmd.Stderr = nil, nil // the terminal
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 100})
	require.NoError(t, err)
	defer terminal.Close()
	var screen bytes.Buffer
	_, err = screen.ReadFrom(terminal)
	var gone *fs.PathError // as Linux says that the program has closed the other end
	assert.True(t, err == nil || assert.ErrorAs(t, err, &gone))
	require.NoError(t, cmd.Wait())
	text := screen.String()
	assert.Contains(t, text, "100% |████████████████████████| (130/130) ")
	assert.Regexp(t, ` 76% \|█+ +\| \(100/130\) \d+\.\d/s, [12]s left, waits until \d\d:\d\d:\d\d for 100 more \r`, text)
	assert.Contains(t, text, "\n130 rows: 130 created, 0 undecided, 0 rejected, 0 left\r\n")
	assert.NotContains(t, text, "of 130 rows")
}

func TestWhatCannotBeBegunIsSaidAndHasAStatusOfItsOwn(t *testing.T) {
	pets := filepath.Join(t.TempDir(), "pets.csv")
	require.NoError(t, os.WriteFile(pets, []byte("name,categoryId,status\n"), 0o600))
	t.Setenv("PETSTORE_BASE_URL", "")
	nowhere := filepath.Join(filepath.Dir(pets), "missing")
	for args, said := range map[string]string{
		"-fast":                       "flag provided but not defined: -fast",
		"a.csv b.csv":                 "usage: bulkimport [-dir folder] [-chaos] [file.csv | file.jsonl]",
		nowhere + "/pets.csv":         "missing",
		"-dir " + pets + " " + pets:   "not a directory",
		filepath.Dir(pets) + "/a.csv": "no such file",
	} {
		var out, errs strings.Builder
		assert.Equal(t, exitUsage, run(t.Context(), strings.Fields(args), &out, &errs), args)
		assert.Contains(t, errs.String(), said)
		assert.Empty(t, out.String())
	}
	t.Setenv("PETSTORE_BASE_URL", "https://host/v1")
	for args, said := range map[string]string{
		"-chaos " + pets: "-chaos is for the fake service",
		pets:             "apiKey",
	} {
		var errs strings.Builder
		t.Setenv("PETSTORE_API_KEY", "not a key")
		assert.Equal(t, exitUsage, run(t.Context(), strings.Fields(args), &errs, &errs), args)
		assert.Contains(t, errs.String(), said)
		assert.NotContains(t, errs.String(), "not a key")
	}
	left, err := os.ReadDir(filepath.Dir(pets))
	require.NoError(t, err)
	assert.Len(t, left, 2, "the input, and the lock of the import that found no key to begin with: %v", left)
}

func TestHelpIsNoFailureAndNeitherIsAnInputWithoutRows(t *testing.T) {
	t.Setenv("PETSTORE_BASE_URL", "")
	var out strings.Builder
	assert.Equal(t, exitDone, run(t.Context(), []string{"-h"}, &out, &out))
	assert.Contains(t, out.String(), "pets.csv unless given, to the service that PETSTORE_BASE_URL\nand PETSTORE_API_KEY")
	pets := filepath.Join(t.TempDir(), "pets.csv")
	require.NoError(t, os.WriteFile(pets, []byte("name,categoryId,status\n"), 0o600))
	assert.Equal(t, exitDone, run(t.Context(), []string{"-dir", filepath.Join(t.TempDir(), "new"), pets}, &out, &out))
	assert.Contains(t, out.String(), "0 rows: 0 created, 0 undecided, 0 rejected, 0 left\n")
}

func TestAStoppedProgramSaysHowToGoOn(t *testing.T) {
	t.Setenv("PETSTORE_BASE_URL", "")
	pets := filepath.Join(t.TempDir(), "pets.jsonl")
	require.NoError(t, os.WriteFile(pets, []byte(`{"name":"Rex","categoryId":1}`), 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out strings.Builder
	assert.Equal(t, exitStopped, run(ctx, []string{pets}, &out, &out))
	assert.Contains(t, out.String(), "1 rows: 0 created, 0 undecided, 0 rejected, 1 left\n")
	assert.Contains(t, out.String(), "stopped: context canceled: run it again to go on\n")
	assert.Equal(t, exitDone, run(t.Context(), []string{pets}, &out, &out))
	assert.Contains(t, out.String(), "1 rows: 1 created")
}
