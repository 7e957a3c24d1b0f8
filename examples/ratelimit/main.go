// Ratelimit lets 64 goroutines share the budget of one key on the Free plan, 60 requests a minute:
// the service rejects none of their requests. The goroutines ignore the limit: the client waits for
// it. The service is a fake whose minute lasts 6 seconds.
//
//	go run ./examples/ratelimit
//
// It prints
//
//	150 requests from 64 goroutines in 14s, 429s: 0
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log"
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
	if err := run(context.Background(), server, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, server *fake.Server, w io.Writer) error {
	defer server.Close()
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
	return cmp.Or(failures...)
}
