package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
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

// start starts the program, and has act called once while the service has the n-th create of it, or
// has just answered that.
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

// longRows returns how many rows the long tests import, 0 if they are not wanted.
func longRows(t *testing.T) int {
	t.Helper()
	text := os.Getenv("BULKIMPORT_ROWS")
	if text == "" {
		return 0
	}
	rows, err := strconv.Atoi(text)
	require.NoError(t, err)
	return rows
}

// TestProgram_killed kills the program again and again, while the service fails in every way, and
// goes on until no row is left.
func TestProgram_killed(t *testing.T) {
	t.Parallel()
	const every = 200 // rows
	rows := max(longRows(t), 600)
	p := newPort(t, rows, fake.WithLatency(time.Millisecond), fake.WithSeed(rand.Uint64()))
	injectChaos(p.server, 0.003)
	kills := 0
	for ; kills < rows/every; kills++ {
		kill := func(program *os.Process) { assert.NoError(t, program.Kill()) }
		if rand.IntN(4) > 0 {
			assert.Error(t, p.start(1+rand.IntN(2*every), rand.IntN(2) == 0, kill).Wait())
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
	t.Logf("%d rows, %d kills: %d created, %d undecided, %d rejected, %d in the service", rows, kills,
		p.count(created), p.count(unknown), p.count(rejected), len(p.server.Pets()))
}

func TestProgram_interrupt(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there are no signals to send")
	}
	p := newPort(t, 100)
	cmd := p.start(20, false, func(program *os.Process) { assert.NoError(t, program.Signal(os.Interrupt)) })
	require.Error(t, cmd.Wait())
	assert.Equal(t, exitStopped, cmd.ProcessState.ExitCode())
	assert.Contains(t, p.out.String(), "bulkimport: interrupt signal received: run it again to go on\n")
	assert.Zero(t, p.count(unknown)+p.count(sending))

	stalled := p.server.Inject(fake.Fault{Operation: petstore.OpCreatePet, Times: fake.Forever, Wire: fake.WireStall})
	gone := make(chan struct{})
	cmd = p.start(1, false, func(program *os.Process) { go signalUntil(gone, program, os.Interrupt) })
	require.Error(t, cmd.Wait())
	close(gone)
	assert.Equal(t, -1, cmd.ProcessState.ExitCode(), "ended by the signal")
	assert.Positive(t, p.count(sending))
	stalled.Remove()

	require.Error(t, p.program().Run())
	p.assertNothingLostOrRepeated(100)
	assert.Positive(t, p.count(unknown))
}

func TestProgram_terminalGone(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there are no signals to send")
	}
	// The test may run under nohup, of which the program is to know nothing: to be ignored is
	// inherited, to be handled is not.
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGHUP)
	defer signal.Stop(heard)
	p := newPort(t, 100)
	p.server.AddKey(secret, fake.Enterprise(40, 0)) // it cannot end before a slow machine has sent the signal
	gone := make(chan struct{})
	cmd := p.start(20, false, func(program *os.Process) {
		assert.NoError(t, program.Signal(syscall.SIGHUP))
		go signalUntil(gone, program, syscall.SIGHUP)
	})
	require.Error(t, cmd.Wait())
	close(gone)
	assert.Equal(t, exitStopped, cmd.ProcessState.ExitCode())
	assert.Zero(t, p.count(unknown)+p.count(sending))
	assert.LessOrEqual(t, p.count(created), 40)

	p.server.AddKey(secret, fake.Plan{})
	require.NoError(t, p.program().Run())
	p.assertNothingLostOrRepeated(100)
}

func TestProgram_closedPipe(t *testing.T) {
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

// signalUntil sends a process a signal again and again, because the first may come too early.
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

func TestRun_usage(t *testing.T) {
	pets := filepath.Join(t.TempDir(), "pets.csv")
	require.NoError(t, os.WriteFile(pets, []byte("name,categoryId,status\n"), 0o600))
	t.Setenv("PETSTORE_BASE_URL", "")
	nowhere := filepath.Join(filepath.Dir(pets), "missing")
	for args, said := range map[string]string{
		"-fast":                            "bulkimport: flag provided but not defined: -fast\nusage: bulkimport [flags]",
		"a.csv b.csv":                      "bulkimport: 2 arguments are given after the flags: one file can be imported at a time\nusage: ",
		"-patience -1s":                    "bulkimport: -patience is negative\nusage: ",
		"-patience soon":                   `invalid value "soon" for flag -patience`,
		nowhere + "/pets.csv":              "missing",
		pets:                               "bulkimport: PETSTORE_BASE_URL is not set; -fake imports into a fake service",
		"-fake -dir " + pets + " " + pets:  "not a directory",
		filepath.Dir(pets) + "/a.csv":      "no such file",
		filepath.Dir(pets):                 "is a directory",
		"-json " + nowhere + "/pets.jsonl": "missing",
	} {
		var out, errs strings.Builder
		assert.Equal(t, exitUsage, run(t.Context(), strings.Fields(args), &out, &errs), args)
		assert.Containsf(t, errs.String(), said, "%s", args)
		if strings.HasPrefix(args, "-json") {
			assert.Contains(t, out.String(), `"exit":2,`)
		} else {
			assert.Empty(t, out.String())
		}
	}
	t.Setenv("PETSTORE_BASE_URL", "https://host/v1")
	t.Setenv("PETSTORE_API_KEY", "not a key")
	var errs strings.Builder
	assert.Equal(t, exitUsage, run(t.Context(), []string{pets}, &errs, &errs))
	assert.Contains(t, errs.String(), "PETSTORE_API_KEY")
	assert.NotContains(t, errs.String(), "not a key")
	left, err := os.ReadDir(filepath.Dir(pets))
	require.NoError(t, err)
	assert.Len(t, left, 1, "the input: %v", left)
}

func TestRun_help(t *testing.T) {
	t.Setenv("PETSTORE_BASE_URL", "")
	var out strings.Builder
	assert.Equal(t, exitCreated, run(t.Context(), []string{"-h"}, &out, nil), "help goes to stdout")
	assert.Contains(t, out.String(), "pets.csv by default, to the service of PETSTORE_BASE_URL and\nPETSTORE_API_KEY")
	pets := filepath.Join(t.TempDir(), "pets.csv")
	require.NoError(t, os.WriteFile(pets, []byte("name,categoryId,status\n"), 0o600))
	assert.Equal(t, exitCreated, run(t.Context(), []string{"-dir", filepath.Join(t.TempDir(), "new"), "-fake", pets}, &out, &out))
	assert.Contains(t, out.String(), "0 rows: 0 created, 0 undecided, 0 rejected, 0 left\n")
}

func TestRun_service(t *testing.T) {
	own := filepath.Join(t.TempDir(), "own.csv")
	require.NoError(t, os.WriteFile(own, []byte("name,categoryId\nRex,1\n"), 0o600))
	for name, test := range map[string]struct {
		file, url, key string
		fake           bool
		want           string
	}{
		"the sample, and nothing set":        {"pets.csv", "", "", false, "a fake in memory"},
		"the sample, and a key":              {"pets.csv", "", "key", false, ""},
		"a file of one's own":                {own, "", "", false, ""},
		"a file of one's own, and a key":     {own, "", "key", false, ""},
		"a file of one's own, into the fake": {own, "", "key", true, "a fake in memory"},
		"all set":                            {own, "https://host/v1/", "key", false, "https://host/v1"},
		"all set, but -fake":                 {own, "https://host/v1", "key", true, "a fake in memory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PETSTORE_BASE_URL", test.url)
			t.Setenv("PETSTORE_API_KEY", test.key)
			in, err := readInput(test.file)
			require.NoError(t, err)
			to, err := chooseService(test.fake, bytes.Equal(in.text, sample))
			if test.want == "" {
				assert.EqualError(t, err, "PETSTORE_BASE_URL is not set; -fake imports into a fake service in memory")
				return
			}
			require.NoError(t, err)
			defer to.close()
			assert.Equal(t, test.want, to.name)
		})
	}
}

func TestRun_dryRun(t *testing.T) {
	t.Setenv("PETSTORE_BASE_URL", "")
	for input, test := range map[string]struct {
		status int
		said   string
	}{
		"name,categoryId\nRex,1\n":                                 {exitCreated, "1 rows: 1 pets, 0 to be rejected\n"},
		"name,categoryId,status\nRex,x,\n,1,\nMax,1,\nBo,1,gone\n": {exitDone, "4 rows: 1 pets, 3 to be rejected\n"},
		"name,categoryId\n\"Rex,1\nMax,2\n":                        {exitUsage, "line 2: a quote is missing or too much"},
	} {
		pets := filepath.Join(t.TempDir(), "pets.csv")
		require.NoError(t, os.WriteFile(pets, []byte(input), 0o600))
		var out, errs strings.Builder
		assert.Equal(t, test.status, run(t.Context(), []string{"-dry-run", pets}, &out, &errs))
		assert.Contains(t, out.String()+errs.String(), test.said)
		files, err := filepath.Glob(pets + "*")
		require.NoError(t, err)
		assert.Len(t, files, 1, "it writes nothing")
	}
}

func TestRun_json(t *testing.T) {
	t.Setenv("PETSTORE_BASE_URL", "")
	pets := filepath.Join(t.TempDir(), "pets.csv")
	require.NoError(t, os.WriteFile(pets, []byte("name,categoryId\nRex,1\nMax,x\n"), 0o600))
	var out, errs strings.Builder
	assert.Equal(t, exitDone, run(t.Context(), []string{"-fake", "-json", pets}, &out, &errs))
	var object map[string]any
	require.NoError(t, json.Unmarshal([]byte(out.String()), &object))
	assert.Positive(t, object["seconds"])
	delete(object, "seconds")
	assert.Equal(t, map[string]any{
		"input": pets, "service": "a fake in memory", "rows": 2., "created": 1., "undecided": 0., "rejected": 1., "left": 0.,
		"exit": 3., "error": "",
	}, object)
	assert.Contains(t, errs.String(), "2 rows: 1 created, 0 undecided, 1 rejected, 0 left\n")
}
