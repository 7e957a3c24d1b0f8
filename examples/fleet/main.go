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
	"os"
	"os/signal"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/petstore/petstore-go/fake"
)

// fleet has the values of the flags.
type fleet struct {
	workers  int
	requests int // of each worker
	limit    int // of the key, in a minute
	minute   time.Duration
}

func main() {
	var f fleet
	flag.IntVar(&f.workers, "workers", 8, "how many processes share the key")
	flag.IntVar(&f.requests, "requests", 12, "how many requests each of them sends")
	flag.IntVar(&f.limit, "limit", 60, "how many requests a minute the key allows")
	flag.DurationVar(&f.minute, "minute", 10*time.Second, "how long a minute of the fake service lasts")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	worker, err := runWorker(ctx)
	if !worker {
		err = f.run(ctx, os.Stdout)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run starts everything, waits for the workers, and prints their results.
func (f fleet) run(ctx context.Context, w io.Writer) error {
	if f.workers < 1 || f.requests < 1 || f.limit < 1 || f.minute < time.Second {
		return fmt.Errorf("-workers, -requests and -limit are at least 1, -minute is at least 1s")
	}
	service := fake.NewServer(fake.WithPlan(fake.Enterprise(f.limit, 0)), fake.WithMinute(f.minute),
		fake.WithLatency(50*time.Millisecond))
	defer service.Close()
	redis, err := miniredis.Run()
	if err != nil {
		return err
	}
	defer redis.Close()
	fmt.Fprintf(w, "%d processes share a key of %d requests in %s\n\n", f.workers, f.limit, f.minute)
	results, err := startWorkers(ctx, f.workers, job{redis.Addr(), service.URL(), f.requests})
	if err != nil {
		return err
	}
	return printResults(w, results)
}

// printResults prints a line for each worker, and the total.
func printResults(w io.Writer, results []result) error {
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "worker\tcalls\t429s\tdone after\t")
	var total result
	for i, r := range results {
		fmt.Fprintf(table, "%d\t%d\t%d\t%.1f s\t\n", i+1, r.Calls, r.Rejected, r.Took.Seconds())
		total.Calls += r.Calls
		total.Rejected += r.Rejected
		total.Took = max(total.Took, r.Took)
	}
	fmt.Fprintf(table, "total\t%d\t%d\t%.1f s\t\n", total.Calls, total.Rejected, total.Took.Seconds())
	return table.Flush()
}
