package petstoreredis_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreredis"
)

// job is what a worker process is to do.
type job struct {
	Redis      []string // addresses, of Sentinels if there is a Master; none: it uses its own limiter
	Master     string
	Service    string
	Goroutines int
	Pause      time.Duration // between two calls
	Delay      time.Duration // of each command of Redis
	Drops      int           // of a hundred commands, those that break their connection
}

// report is what a worker has done.
type report struct {
	Done, Failed int
	Longest      time.Duration // of a call, also of one that was waiting at the end
	Stats        petstoreredis.Stats
}

const jobVariable = "PETSTORE_TEST_JOB"

// TestMain is a worker if it is told a job, and the tests otherwise.
func TestMain(m *testing.M) {
	text := os.Getenv(jobVariable)
	if text == "" {
		logging.Disable() // of go-redis, which writes to standard error
		goleak.VerifyTestMain(m)
	}
	var w work
	err := json.Unmarshal([]byte(text), &w.job)
	if err == nil {
		err = w.run()
	}
	if err != nil {
		panic(err)
	}
	_ = json.NewEncoder(os.Stdout).Encode(w.report)
}

// work is a job that is being done.
type work struct {
	job
	mu     sync.Mutex
	report report
}

// run begins with the first line of standard input, and stops at its end.
func (w *work) run() error {
	limiter := petstore.NewLimiter()
	var shared *petstoreredis.Limiter
	if len(w.Redis) > 0 {
		rdb := redis.NewUniversalClient(&redis.UniversalOptions{Addrs: w.Redis, MasterName: w.Master, Dialer: w.dial})
		defer func() { _ = rdb.Close() }()
		var err error
		shared, err = petstoreredis.NewLimiter(rdb, "the fleet's key",
			petstoreredis.WithLogger(slog.New(slog.NewTextHandler(os.Stderr, nil))))
		if err != nil {
			return err
		}
		limiter = shared
	}
	client, err := petstore.NewClient(w.Service, fake.DefaultAPIKey, petstore.WithLimiter(limiter),
		petstore.WithMaxWait(time.Hour), petstore.WithHeader("X-Worker", strconv.Itoa(os.Getpid())))
	if err != nil {
		return err
	}
	input := bufio.NewScanner(os.Stdin)
	fmt.Println("ready")
	input.Scan()
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		defer stop()
		input.Scan()
	}()
	var group sync.WaitGroup
	for range w.Goroutines {
		group.Go(func() { w.calls(ctx, client) })
	}
	group.Wait()
	if shared == nil {
		return nil
	}
	w.report.Stats = shared.Stats()
	ctx, stop = context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	if err := shared.Flush(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err) // Redis may be away
	}
	return nil
}

// calls makes one call after the other.
func (w *work) calls(ctx context.Context, client *petstore.Client) {
	for ctx.Err() == nil {
		begun := time.Now()
		_, err := client.ListPets(ctx, petstore.ListPetsParams{Limit: 1})
		w.note(time.Since(begun), err, ctx.Err() != nil)
		if err != nil {
			wait(ctx, time.Second)
		}
		wait(ctx, w.Pause)
	}
}

func (w *work) note(took time.Duration, err error, stopped bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.report.Longest = max(w.report.Longest, took)
	switch {
	case err == nil:
		w.report.Done++
	case !stopped:
		fmt.Fprintln(os.Stderr, err)
		w.report.Failed++
	}
}

// dial connects to a Redis that may be far away, slow or breaking.
func (w *work) dial(ctx context.Context, network, address string) (net.Conn, error) {
	wait(ctx, w.Delay)
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	return distantConn{conn, w}, err
}

type distantConn struct {
	net.Conn
	work *work
}

func (c distantConn) Write(b []byte) (int, error) {
	wait(context.Background(), c.work.Delay)
	if rand.IntN(100) < c.work.Drops {
		_ = c.Close()
		return 0, io.EOF
	}
	return c.Conn.Write(b)
}

// wait waits for d, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// worker is a process that does a job.
type worker struct {
	*exec.Cmd
	input  io.WriteCloser
	output *bufio.Reader
	errors *bytes.Buffer // what it writes until it ends
}

func (w *worker) id() string { return strconv.Itoa(w.Process.Pid) }

// hire starts processes that wait for begin.
func hire(t *testing.T, n int, j job) []*worker {
	t.Helper()
	text, err := json.Marshal(j)
	require.NoError(t, err)
	var workers []*worker
	for range n {
		w := &worker{Cmd: exec.CommandContext(t.Context(), os.Args[0]), errors: &bytes.Buffer{}}
		w.Env = append(os.Environ(), jobVariable+"="+string(text))
		w.Stderr = w.errors
		w.input, err = w.StdinPipe()
		require.NoError(t, err)
		output, err := w.StdoutPipe()
		require.NoError(t, err)
		w.output = bufio.NewReader(output)
		require.NoError(t, w.Start())
		t.Cleanup(w.kill)
		workers = append(workers, w)
	}
	for _, w := range workers {
		line, err := w.output.ReadString('\n')
		require.NoError(t, err, "%s", w.errors)
		require.Equal(t, "ready\n", line)
	}
	return workers
}

// begin has workers begin.
func begin(workers []*worker) {
	for _, w := range workers {
		_, _ = io.WriteString(w.input, "\n")
	}
}

// result waits for a worker to end.
func (w *worker) result(t *testing.T) report {
	t.Helper()
	_ = w.input.Close()
	var r report
	require.NoError(t, json.NewDecoder(w.output).Decode(&r), "%s", w.errors)
	require.NoError(t, w.Wait())
	return r
}

// kill ends a worker without giving it time to say anything.
func (w *worker) kill() {
	_ = w.Process.Kill()
	_ = w.Wait()
}
