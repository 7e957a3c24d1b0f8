// Ratelimit lets 64 goroutines share the budget of one key on the Free plan, 60 requests a minute:
// the service rejects none of them. They do nothing about the limit, the client waits for them.
//
//	go run ./examples/ratelimit
//
// It runs on a fake of the service whose minute lasts 6 seconds.
//
// It prints
//
//	150 requests from 64 goroutines in 14s, 429s: 0
//	The limit is 60 a minute: that needs 2 waits for the next one at least.
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

const goroutines, requests = 64, 150

func main() {
	server := fake.NewServer(fake.WithPlan(fake.PlanFree), fake.WithMinute(6*time.Second))
	defer server.Close()
	if err := run(context.Background(), server, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func run(ctx context.Context, server *fake.Server, w io.Writer) error {
	client := server.Client()
	var begun atomic.Int64
	failures := make([]error, goroutines)
	var group sync.WaitGroup
	start := time.Now()
	for g := range goroutines {
		group.Go(func() {
			for begun.Add(1) <= requests && failures[g] == nil {
				_, failures[g] = client.ListPets(ctx, petstore.ListPetsParams{Limit: 1},
					petstore.WithMaxWait(time.Hour)) // for a job that is in no hurry
			}
		})
	}
	group.Wait()
	fmt.Fprintf(w, "%d requests from %d goroutines in %s, 429s: %d\n",
		len(server.Requests()), goroutines, time.Since(start).Round(time.Second), server.Usage(server.APIKey()).Limited)
	limit := client.RateLimit().Limit
	fmt.Fprintf(w, "The limit is %d a minute: that needs %d waits for the next one at least.\n", limit, (requests-1)/limit)
	return cmp.Or(failures...)
}
