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

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreredis"
)

const (
	requests      = 12 // of each worker
	redisVariable = "FLEET_REDIS"
)

// fleet is what is run.
type fleet struct {
	workers int
	limit   int // of the key, in a minute
	minute  time.Duration
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	if address := os.Getenv(redisVariable); address != "" {
		err = work(ctx, address)
	} else {
		err = fleet{workers: 8, limit: 60, minute: 10 * time.Second}.run(ctx, os.Stdout)
	}
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

// work makes this process part of the fleet: its limiter shares the budget with those of the others.
func work(ctx context.Context, address string) error {
	rdb := redis.NewClient(&redis.Options{Addr: address})
	defer func() { _ = rdb.Close() }()
	limiter, err := petstoreredis.NewLimiter(rdb,
		petstoreredis.WithLogger(slog.New(slog.NewTextHandler(os.Stderr, nil))))
	if err != nil {
		return err
	}
	client, err := petstore.NewClientFromEnv(petstore.WithLimiter(limiter), petstore.WithMaxWait(time.Hour))
	for i := 0; i < requests && err == nil; i++ {
		_, err = client.ListPets(ctx, petstore.ListPetsParams{Limit: 1})
	}
	return errors.Join(err, limiter.Flush(ctx)) // this process ends at once
}

// run starts everything, waits for the workers, and prints what the service got.
func (f fleet) run(ctx context.Context, w io.Writer) error {
	service := fake.NewServer(fake.WithPlan(fake.Plan{PerMinute: f.limit}), fake.WithMinute(f.minute),
		fake.WithLatency(50*time.Millisecond))
	defer service.Close()
	server, err := miniredis.Run()
	if err != nil {
		return err
	}
	defer server.Close()
	fmt.Fprintf(w, "%d processes share a key of %d requests in %s\n", f.workers, f.limit, f.minute)
	start := time.Now()
	err = startWorkers(ctx, f.workers, redisVariable+"="+server.Addr(),
		"PETSTORE_BASE_URL="+service.URL(), "PETSTORE_API_KEY="+service.APIKey())
	fmt.Fprintf(w, "%d requests in %.1f s, 429s: %d\n",
		len(service.Requests()), time.Since(start).Seconds(), service.Usage(service.APIKey()).Limited)
	return err
}

// startWorkers runs n workers at once, each a process of its own, and waits for them.
func startWorkers(ctx context.Context, n int, env ...string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	failures := make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			cmd := exec.CommandContext(ctx, program)
			cmd.Env = env
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
