package petstoreredis_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
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
	Redis, Service string
	Requests       int
	Goroutines     int
	Lease          time.Duration
}

// report is what a worker has done.
type report struct {
	Done, Failed int
	Away         bool `json:",omitempty"` // from Redis, at the end
}

const jobVariable = "PETSTORE_TEST_JOB"

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
	r, err := j.run()
	if err != nil {
		panic(err)
	}
	_ = json.NewEncoder(os.Stdout).Encode(r)
}

// run begins when standard input ends.
func (j job) run() (report, error) {
	rdb := redis.NewClient(&redis.Options{Addr: j.Redis})
	defer func() { _ = rdb.Close() }()
	limiter, err := petstoreredis.NewLimiter(rdb, "the fleet's key", petstoreredis.WithLease(j.Lease),
		petstoreredis.WithLogger(slog.New(slog.NewTextHandler(os.Stderr, nil))))
	if err != nil {
		return report{}, err
	}
	client, err := petstore.NewClient(j.Service, fake.DefaultAPIKey,
		petstore.WithLimiter(limiter), petstore.WithMaxWait(time.Hour),
		petstore.WithHeader("X-Worker", strconv.Itoa(os.Getpid())))
	if err != nil {
		return report{}, err
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	var left, done, failed atomic.Int64
	left.Store(int64(j.Requests))
	var group sync.WaitGroup
	for range j.Goroutines {
		group.Go(func() {
			for left.Add(-1) >= 0 {
				if _, err := client.ListPets(context.Background(), petstore.ListPetsParams{Limit: 1}); err != nil {
					fmt.Fprintln(os.Stderr, err)
					failed.Add(1)
					continue
				}
				done.Add(1)
			}
		})
	}
	group.Wait()
	return report{int(done.Load()), int(failed.Load()), limiter.Stats().Away}, limiter.Flush(context.Background())
}

// worker is a process that does a job.
type worker struct {
	*exec.Cmd
	input  io.Closer
	output *bufio.Reader
	errors *lockedBuilder
}

// lockedBuilder takes what a process writes while the test reads it.
type lockedBuilder struct {
	mu   sync.Mutex
	text []byte
}

func (b *lockedBuilder) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = append(b.text, p...)
	return len(p), nil
}

func (b *lockedBuilder) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.text)
}

// hire starts processes that wait for begin.
func hire(t *testing.T, n int, j job) []*worker {
	t.Helper()
	text, err := json.Marshal(j)
	require.NoError(t, err)
	var workers []*worker
	for range n {
		w := &worker{Cmd: exec.CommandContext(t.Context(), os.Args[0]), errors: &lockedBuilder{}}
		w.Env = append(os.Environ(), jobVariable+"="+string(text))
		w.Stderr = w.errors
		w.input, err = w.StdinPipe()
		require.NoError(t, err)
		output, err := w.StdoutPipe()
		require.NoError(t, err)
		w.output = bufio.NewReader(output)
		require.NoError(t, w.Start())
		t.Cleanup(func() {
			if t.Failed() {
				t.Log(w.errors)
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

func begin(workers []*worker) {
	for _, w := range workers {
		_ = w.input.Close()
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
