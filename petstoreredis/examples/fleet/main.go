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

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if address := os.Getenv(redisVariable); address != "" {
		err = work(ctx, address)
	} else {
		err = run(ctx, os.Stdout, 8, 60, 10*time.Second)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// work makes this process part of the fleet: its limiter shares the budget with those of the
// others.
func work(ctx context.Context, address string) error {
	rdb := redis.NewClient(&redis.Options{Addr: address})
	defer func() { _ = rdb.Close() }()
	limiter, err := petstoreredis.NewLimiter(rdb, petstoreredis.WithLogger(slog.New(slog.NewTextHandler(os.Stderr, nil))))
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
func run(ctx context.Context, w io.Writer, workers, limit int, minute time.Duration) error {
	service := fake.NewServer(fake.WithPlan(fake.Plan{PerMinute: limit}), fake.WithMinute(minute),
		fake.WithLatency(50*time.Millisecond))
	defer service.Close()
	server, err := miniredis.Run()
	if err != nil {
		return err
	}
	defer server.Close()
	fmt.Fprintf(w, "%d processes share a key of %d requests in %s\n", workers, limit, minute)
	start, ended := time.Now(), make(chan error)
	for range workers {
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = []string{redisVariable + "=" + server.Addr(), "PETSTORE_BASE_URL=" + service.URL(), "PETSTORE_API_KEY=" + service.APIKey()}
		cmd.Stderr = os.Stderr
		go func() { ended <- cmd.Run() }()
	}
	for range workers {
		err = errors.Join(err, <-ended)
	}
	fmt.Fprintf(w, "%d requests in %.1f s, 429s: %d\n",
		len(service.Requests()), time.Since(start).Seconds(), service.Usage(service.APIKey()).Limited)
	return err
}
