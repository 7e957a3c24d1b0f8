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
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreredis"
)

// job is what a worker process is to do.
type job struct {
	Redis      []string // addresses, of Sentinels if there is a Master
	Master     string
	Service    string
	Goroutines int
	Delay      time.Duration // of each command of Redis
	SlowFor    time.Duration // how long Delay lasts; 0: for ever
	Drops      int           // of a hundred commands, those that break their connection
	Burn       bool          // keep the processor busy, and do nothing else
}

// report is what a worker has done.
type report struct {
	Done, Failed int
	Longest      time.Duration // of a call, also of one that was waiting at the end
	Stats        petstoreredis.Stats
}

const (
	jobVariable = "PETSTORE_TEST_JOB"
	// pauseAfterError is between a call that failed and the next one: nobody should call in a loop
	// without it.
	pauseAfterError = time.Second
)

// TestMain is a worker if it is told a job, and the tests otherwise.
func TestMain(m *testing.M) {
	text := os.Getenv(jobVariable)
	if text == "" {
		goleak.VerifyTestMain(m)
	}
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		panic(err)
	}
	w := work{job: j}
	if err := w.run(); err != nil {
		panic(err)
	}
	_ = json.NewEncoder(os.Stdout).Encode(w.report)
}

// work is a job that is being done.
type work struct {
	job
	begun  time.Time
	mu     sync.Mutex
	report report
}

// run begins with the first line of standard input, and stops at its end.
func (w *work) run() error {
	options := &redis.UniversalOptions{Addrs: w.Redis, MasterName: w.Master}
	if w.Delay > 0 {
		options.Dialer = w.dial
	}
	rdb := redis.NewUniversalClient(options)
	defer func() { _ = rdb.Close() }()
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	limiter, err := petstoreredis.NewLimiter(rdb, "the fleet's key", petstoreredis.WithLogger(logger))
	if err != nil {
		return err
	}
	client, err := petstore.NewClient(w.Service, fake.DefaultAPIKey,
		petstore.WithLimiter(limiter), petstore.WithMaxWait(time.Hour),
		petstore.WithHeader("X-Worker", strconv.Itoa(os.Getpid())))
	if err != nil {
		return err
	}
	input := bufio.NewScanner(os.Stdin)
	fmt.Println("ready")
	input.Scan()
	w.begun = time.Now()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		defer stop()
		input.Scan()
	}()
	w.calls(ctx, client)
	w.report.Stats = limiter.Stats()
	ctx, stop = context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	if err := limiter.Flush(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err) // Redis may be away
	}
	return nil
}

// dial connects to a Redis far away or slow.
func (w *work) dial(ctx context.Context, network, address string) (net.Conn, error) {
	w.delay(ctx)
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	return petstoreredis.DistantConn{Conn: conn, Before: func() error {
		w.delay(context.Background())
		if rand.IntN(100) < w.Drops {
			return io.EOF
		}
		return nil
	}}, err
}

func (w *work) delay(ctx context.Context) {
	if w.SlowFor == 0 || time.Since(w.begun) < w.SlowFor {
		wait(ctx, w.Delay)
	}
}

func (w *work) calls(ctx context.Context, client *petstore.Client) {
	var group sync.WaitGroup
	for range w.Goroutines {
		group.Go(func() {
			for ctx.Err() == nil {
				begun := time.Now()
				_, err := client.ListPets(ctx, petstore.ListPetsParams{Limit: 1})
				w.note(time.Since(begun), err, ctx.Err() != nil)
				if err != nil {
					wait(ctx, pauseAfterError)
				}
			}
		})
	}
	if w.Burn {
		group.Go(func() {
			for ctx.Err() == nil {
			}
		})
	}
	group.Wait()
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

// wait waits for d, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
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
		t.Cleanup(func() {
			w.kill()
			if t.Failed() && !j.Burn {
				t.Logf("worker %d: %s", w.Process.Pid, w.errors)
			}
		})
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
