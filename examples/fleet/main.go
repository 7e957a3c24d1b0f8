// Fleet runs several processes that share the budget of one key through Redis, and counts the 429s:
// none.
//
//	cd examples/fleet && go run .
//
// It starts the processes, a redis-server on a free port if there is one on the path (and otherwise
// a small Redis of its own), and a fake of the service, whose minute lasts 10 seconds (-minute 1m).
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"text/tabwriter"
	"time"

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
	ctx, stop := untilStopped()
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

// untilStopped returns a context that ends with the program, so that its processes end as well.
func untilStopped() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
}

// run starts everything, waits for the workers, and prints their results.
func (f fleet) run(ctx context.Context, w io.Writer) error {
	if f.workers < 1 || f.requests < 1 || f.limit < 1 || f.minute < time.Second {
		return fmt.Errorf("-workers, -requests and -limit are at least 1, -minute is at least 1s")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the processes that still run
	service := fake.NewServer(fake.WithPlan(fake.Enterprise(f.limit, 0)), fake.WithMinute(f.minute),
		fake.WithLatency(50*time.Millisecond))
	defer service.Close()
	redis, err := startRedis(ctx)
	if err != nil {
		return err
	}
	defer redis.stop()
	fmt.Fprintf(w, "%d processes share a key of %d requests in %s through %s\n\n",
		f.workers, f.limit, f.minute, redis.name)
	results, err := startWorkers(ctx, f.workers, job{redis.address, service.URL(), f.requests})
	if err != nil {
		return err
	}
	return f.print(w, results, service)
}

// print prints a line for each worker, and the total.
func (f fleet) print(w io.Writer, results []result, service *fake.Server) error {
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "worker\tcalls\t429s\tdone after\t")
	calls, rejected := 0, 0
	for i, r := range results {
		fmt.Fprintf(table, "%d\t%d\t%d\t%.1f s\t\n", i+1, r.Calls, r.Rejected, r.Took.Seconds())
		calls += r.Calls
		rejected += r.Rejected
	}
	took, bound := f.times(service.Requests())
	fmt.Fprintf(table, "total\t%d\t%d\t%.1f s\t\n", calls, rejected, took.Seconds())
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nThe least possible time is %.1f s. The other %.1f s: X-RateLimit-Reset has whole seconds,\n"+
		"which costs up to a second for each further window.\n", bound.Seconds(), (took - bound).Seconds())
	return nil
}

// times returns how long the requests took, and the least time that the windows allow: each window
// begins on the whole second of its first request, and the last request needs the last window.
func (f fleet) times(requests []fake.Request) (took, bound time.Duration) {
	first, last := requests[0], requests[len(requests)-1]
	took = last.Time.Add(last.Duration).Sub(first.Time)
	windows := (f.workers*f.requests - 1) / f.limit
	opens := first.Time
	if windows > 0 {
		opens = first.Time.Truncate(time.Second).Add(time.Duration(windows) * f.minute)
	}
	return took, opens.Add(last.Duration).Sub(first.Time)
}

// result is the outcome of a worker.
type result struct {
	Calls, Rejected int
	Took            time.Duration
}

func decode(text io.Reader) (r result, err error) {
	err = json.NewDecoder(text).Decode(&r)
	return r, err
}
