package petstore_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestWithStopLosesNoCreate(t *testing.T) {
	cause := errors.New("interrupt signal received")
	for name, plan := range map[string]fake.Plan{"in flight": fake.PlanBusiness, "waiting for the minute": fake.PlanFree} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := fake.NewTestServer(t, fake.WithPlan(plan), fake.WithLatency(100*time.Millisecond))
				stop, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(1550*time.Millisecond, func() { cancel(cause) })
				client := server.Client(petstore.WithStop(stop))
				var left, created atomic.Int64
				left.Store(500)
				start := time.Now()
				var group sync.WaitGroup
				for range 16 {
					group.Go(func() {
						for left.Add(-1) >= 0 {
							if err := create(client); err != nil {
								assert.NotErrorIs(t, err, petstore.ErrOutcomeUnknown)
								assert.ErrorIs(t, err, petstore.ErrNotSent)
								assert.ErrorIs(t, err, cause)
								return
							}
							created.Add(1)
						}
					})
				}
				group.Wait()
				assert.EqualValues(t, len(server.Pets()), created.Load())
				assert.Positive(t, left.Load())
				assert.Greater(t, created.Load(), int64(40))
				assert.Less(t, time.Since(start), 2*time.Second)
			})
		})
	}
}

func TestWithStopEndsEachWait(t *testing.T) {
	cause := errors.New("interrupt signal received")
	busy := status(503, "", "Retry-After: 60")
	waits := func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() }
	for name, row := range map[string]struct {
		respond responder
		opts    []petstore.Option
		sent    int
	}{
		"Retry-After of a 503": {busy, nil, 1},
		"Retry-After of a 429": {status(429, "", "Retry-After: 60"), nil, 1},
		"backoff":              {fails(errRefused), []petstore.Option{petstore.WithRetryPolicy(petstore.RetryPolicy{BaseDelay: time.Hour})}, 0},
		"limiter":              {nil, []petstore.Option{petstore.WithLimiter(blocks{})}, 0},
		"key":                  {nil, []petstore.Option{petstore.WithAPIKeyFunc(waits), petstore.WithAttemptTimeout(0)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stop, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(10*time.Second, func() { cancel(cause) })
				key := testKey
				if name == "key" {
					key = ""
				}
				service := &service{responders: []responder{row.respond}}
				client, err := petstore.NewClient("https://service.test/v1", key, append([]petstore.Option{
					petstore.WithLimiter(nil), petstore.WithHTTPClient(&http.Client{Transport: service}), petstore.WithStop(stop),
				}, row.opts...)...)
				require.NoError(t, err)
				start := time.Now()
				err = list(client)
				require.ErrorIs(t, err, cause)
				assert.Equal(t, row.sent == 0, errors.Is(err, petstore.ErrNotSent), "%v", err)
				assert.Equal(t, 10*time.Second, time.Since(start))
			})
		})
	}
	_, err := petstore.NewClient("https://service.test/v1", testKey, petstore.WithStop(nil)) //nolint:staticcheck // nil is the case
	require.ErrorIs(t, err, petstore.ErrInvalidArgument)
}

// blocks is a limiter that waits for the end of the context.
type blocks struct{ closed }

func (blocks) Acquire(ctx context.Context, _ time.Duration) (petstore.Permit, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestClientWithKey(t *testing.T) {
	const keys = 1000
	var opts []fake.Option
	for n := range keys {
		opts = append(opts, fake.WithKey(fmt.Sprintf("key-%d", n), fake.PlanFree))
	}
	server := fake.NewTestServer(t, opts...)
	client, err := petstore.NewClient(server.URL(), "key-0", petstore.WithHeader("X-A", "1"))
	require.NoError(t, err)
	var group sync.WaitGroup
	for n := range keys {
		other, err := client.WithKey(fmt.Sprintf("key-%d", n))
		require.NoError(t, err)
		group.Go(func() { assert.NoError(t, list(other)) })
	}
	group.Wait()
	assert.LessOrEqual(t, server.Usage("key-7").Minute, 1)
	client.CloseIdleConnections() // TestMain looks for goroutines

	_, err = client.WithKey("two words")
	require.ErrorIs(t, err, petstore.ErrInvalidArgument)
	for _, none := range []*petstore.Client{nil, {}} {
		_, err = none.WithKey("key")
		require.ErrorIs(t, err, petstore.ErrInvalidArgument)
		none.CloseIdleConnections()
	}
	own := &countsCloses{}
	client, err = petstore.NewClient(server.URL(), "key-0", petstore.WithHTTPClient(&http.Client{Transport: own}))
	require.NoError(t, err)
	client.CloseIdleConnections()
	assert.Zero(t, own.closed.Load(), "the transport is the caller's")
}

// countsCloses is a transport that counts the calls of CloseIdleConnections.
type countsCloses struct {
	http.Transport
	closed atomic.Int32
}

func (c *countsCloses) CloseIdleConnections() { c.closed.Add(1) }
