// Fleet runs several processes that share the budget of one key through Redis, and counts the 429s:
// none.
//
//	cd petstoreredis && go run ./examples/fleet
//
// It starts the processes, miniredis in place of a Redis of yours, and a fake of the service, whose
// minute lasts 10 seconds.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreredis"
)

// fleet is what is run.
type fleet struct {
	workers  int
	requests int // of each worker
	limit    int // of the key, in a minute
	minute   time.Duration
}

// job is the task of a worker, which the environment gives it.
type job struct {
	Redis, Service, Key string
	Requests            int
}

const jobVariable = "FLEET_JOB"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	if text := os.Getenv(jobVariable); text != "" {
		err = work(ctx, text)
	} else {
		err = fleet{workers: 8, requests: 12, limit: 60, minute: 10 * time.Second}.run(ctx, os.Stdout)
	}
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

// work makes this process part of the fleet: its client gets a limiter that the others have as well.
func work(ctx context.Context, text string) error {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return err
	}
	rdb := redis.NewClient(&redis.Options{Addr: j.Redis})
	defer func() { _ = rdb.Close() }()
	limiter, err := petstoreredis.NewLimiter(rdb, "the fleet's key",
		petstoreredis.WithLogger(slog.New(slog.NewTextHandler(os.Stderr, nil))),
		petstoreredis.WithMeterProvider(otel.GetMeterProvider())) // records nothing, unless the program sets one
	if err != nil {
		return err
	}
	client, err := petstore.NewClient(j.Service, j.Key, petstore.WithLimiter(limiter), petstore.WithMaxWait(time.Hour))
	for i := 0; i < j.Requests && err == nil; i++ {
		_, err = client.ListPets(ctx, petstore.ListPetsParams{Limit: 1})
	}
	return errors.Join(err, limiter.Flush(ctx)) // this process ends at once
}

// run starts everything, waits for the workers, and prints what the service got.
func (f fleet) run(ctx context.Context, w io.Writer) error {
	service := fake.NewServer(fake.WithPlan(fake.Enterprise(f.limit, 0)), fake.WithMinute(f.minute),
		fake.WithLatency(50*time.Millisecond))
	defer service.Close()
	server, err := miniredis.Run()
	if err != nil {
		return err
	}
	defer server.Close()
	fmt.Fprintf(w, "%d processes share a key of %d requests in %s\n", f.workers, f.limit, f.minute)
	start := time.Now()
	err = startWorkers(ctx, f.workers, job{server.Addr(), service.URL(), service.APIKey(), f.requests})
	fmt.Fprintf(w, "%d requests in %.1f s, 429s: %d\n",
		len(service.Requests()), time.Since(start).Seconds(), service.Usage(service.APIKey()).Limited)
	return err
}

// startWorkers runs n workers at once, each a process of its own, and waits for them.
func startWorkers(ctx context.Context, n int, j job) error {
	text, err := json.Marshal(j)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	failures := make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			cmd := exec.CommandContext(ctx, program)
			cmd.Env = append(os.Environ(), jobVariable+"="+string(text))
			cmd.Stderr = os.Stderr
			if err := cmd.Run(); err != nil {
				failures[i] = fmt.Errorf("worker %d: %w", i+1, err)
			}
		})
	}
	group.Wait()
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	return errors.Join(failures...)
}
