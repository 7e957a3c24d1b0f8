// Fleet runs several processes that share the budget of one key through Redis, and counts the 429s:
// none.
//
//	cd examples/fleet && go run .
//
// It starts the processes, miniredis in place of a Redis of yours, and a fake of the service, whose
// minute lasts 10 seconds (-minute 1m).
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/petstore/petstore-go/fake"
)

// fleet is what is run.
type fleet struct {
	workers  int
	requests int // of each worker
	limit    int // of the key, in a minute
	minute   time.Duration
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	minute := flag.Duration("minute", 10*time.Second, "how long a minute of the fake service lasts")
	flag.Parse()
	worker, err := runWorker(ctx)
	if !worker {
		err = fleet{workers: 8, requests: 12, limit: 60, minute: max(*minute, time.Second)}.run(ctx, os.Stdout)
	}
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

// run starts everything, waits for the workers, and prints what the service got.
func (f fleet) run(ctx context.Context, w io.Writer) error {
	service := fake.NewServer(fake.WithPlan(fake.Enterprise(f.limit, 0)), fake.WithMinute(f.minute),
		fake.WithLatency(50*time.Millisecond))
	defer service.Close()
	redis, err := miniredis.Run()
	if err != nil {
		return err
	}
	defer redis.Close()
	fmt.Fprintf(w, "%d processes share a key of %d requests in %s\n", f.workers, f.limit, f.minute)
	start := time.Now()
	err = startWorkers(ctx, f.workers, job{redis.Addr(), service.URL(), service.APIKey(), f.requests})
	fmt.Fprintf(w, "%d requests in %.1f s, 429s: %d\n",
		len(service.Requests()), time.Since(start).Seconds(), service.Usage(service.APIKey()).Limited)
	return err
}
