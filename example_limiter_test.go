package petstore_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// fewAtOnce is a Limiter that also limits how many requests are in flight at the same time. The
// limiter in it does everything else.
type fewAtOnce struct {
	petstore.Limiter
	inFlight chan struct{}
}

// Unwrap lets Client.ReopenLimit find the limiter in l.
func (l fewAtOnce) Unwrap() petstore.Limiter { return l.Limiter }

func (l fewAtOnce) Acquire(ctx context.Context, r petstore.LimitRequest) (petstore.Permit, error) {
	select {
	case l.inFlight <- struct{}{}:
	default:
		if err := l.wait(ctx, r); err != nil {
			return nil, err
		}
	}
	permit, err := l.Limiter.Acquire(ctx, r)
	if err != nil {
		<-l.inFlight
		return nil, err
	}
	return inFlightPermit{permit, l.inFlight}, nil
}

// wait waits for the end of another request, which WithMaxWait does not count.
func (l fewAtOnce) wait(ctx context.Context, r petstore.LimitRequest) error {
	start, done := time.Now(), r.StartWait(petstore.Wait{Reason: petstore.WaitResponse, Waiting: 1})
	defer func() { done(time.Since(start)) }()
	select {
	case l.inFlight <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// inFlightPermit ends the flight of a request with its permit.
type inFlightPermit struct {
	petstore.Permit
	inFlight chan struct{}
}

func (p inFlightPermit) Release(o petstore.Observation) {
	<-p.inFlight
	p.Permit.Release(o)
}

// A Limiter of your own, around the one of the client.
func ExampleLimiter() {
	server := fake.NewServer()
	defer server.Close()
	client := server.Client(petstore.WithLimiter(fewAtOnce{petstore.NewLimiter(), make(chan struct{}, 2)}))

	var calls sync.WaitGroup
	for range 10 {
		calls.Go(func() {
			if _, err := client.ListPets(context.Background(), petstore.ListPetsParams{}); err != nil {
				fmt.Println(err)
			}
		})
	}
	calls.Wait()
	fmt.Println(len(server.Requests()), "requests, at most 2 at a time")
	// Output: 10 requests, at most 2 at a time
}
