// Ratelimit lets 64 goroutines share the budget of one key on the Free plan, 60 requests a minute,
// and counts the 429s of the service: there are none.
//
//	go run ./examples/ratelimit
//
// It runs on a fake of the service whose minute lasts 6 seconds, so that you need not wait for a
// real one (-minute 1m). To run it on a real service set PETSTORE_BASE_URL and PETSTORE_API_KEY.
//
// It prints
//
//	a fake service with 60 requests a minute, which lasts 6s here
//	150 requests from 64 goroutines in 14s, 429s: 0
//	The limit is 60 a minute: that needs 2 waits for the next one at least. A client without
//	limiter gets a 429 for each request too many, up to 90 here, and the service may ban its key.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func main() {
	requests := flag.Int("requests", 150, "how many requests to send")
	minute := flag.Duration("minute", 6*time.Second, "how long a minute of the fake service lasts")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	client, done, err := connect(*minute)
	if err == nil {
		err = run(ctx, client, *requests, os.Stdout)
		done()
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const goroutines = 64

// run sends requests from 64 goroutines. It does nothing about the rate limit: the client waits
// when that is necessary.
func run(ctx context.Context, client *petstore.Client, requests int, w io.Writer) error {
	var begun, limited atomic.Int64
	failures := make([]error, goroutines)
	var group sync.WaitGroup
	start := time.Now()
	for g := range goroutines {
		group.Go(func() {
			for begun.Add(1) <= int64(requests) && failures[g] == nil {
				result, err := client.ListPets(ctx, petstore.ListPetsParams{Limit: 1},
					petstore.WithMaxWait(time.Hour)) // for a job that is in no hurry
				if failures[g] = err; err == nil {
					limited.Add(int64(result.Attempts - 1)) // on the fake, only a 429 is retried here
				}
			}
		})
	}
	group.Wait()
	if err := cmp.Or(failures...); err != nil {
		return err
	}
	fmt.Fprintf(w, "%d requests from %d goroutines in %s, 429s: %d\n",
		requests, goroutines, time.Since(start).Round(time.Second), limited.Load())
	if limit := client.RateLimit().Limit; limit > 0 {
		fmt.Fprintf(w, "The limit is %d a minute: that needs %d waits for the next one at least. A client without\n"+
			"limiter gets a 429 for each request too many, up to %d here, and the service may ban its key.\n",
			limit, (requests-1)/limit, max(0, requests-limit))
	}
	return nil
}

func connect(minute time.Duration) (client *petstore.Client, done func(), err error) {
	if os.Getenv("PETSTORE_BASE_URL") != "" {
		client, err = petstore.NewClientFromEnv()
		return client, func() {}, err
	}
	fmt.Fprintf(os.Stdout, "a fake service with 60 requests a minute, which lasts %s here\n", minute)
	server := fake.NewServer(fake.WithPlan(fake.PlanFree), fake.WithMinute(minute))
	return server.Client(), server.Close, nil
}
