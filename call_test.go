package petstore_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestRateLimitedCall(t *testing.T) {
	t.Run("waits for the next minute, and the log shows it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(3, 0)), fake.WithStrict(),
				fake.WithLatency(100*time.Millisecond))
			var log bytes.Buffer
			client := server.Client(petstore.WithLogger(logTo(&log, slog.LevelDebug, asText)))
			var group sync.WaitGroup
			for range 5 {
				group.Go(func() { assert.NoError(t, list(client)) })
				synctest.Wait() // the first request is in flight, and the other calls are in the queue
			}
			group.Wait()
			assert.Contains(t, log.String(), `reason=response`)
			assert.Contains(t, log.String(), "waiting=4")
			require.NoError(t, list(client))
			require.NoError(t, list(client))
			assert.Contains(t, log.String(), "reason=minute until=2000-01-01T00:02:")
			assert.NotContains(t, log.String(), server.APIKey())
		})
	})
	t.Run("fails locally until the day is over if its quota is used up", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(1000, 5)), fake.WithStrict())
			client, start := server.Client(), time.Now()
			for range 5 {
				require.NoError(t, list(client))
			}
			for range 10 {
				err := create(client)
				limited, ok := errors.AsType[*petstore.RateLimitError](err)
				require.True(t, ok, "%T: %v", err, err)
				assert.Equal(t, petstore.ScopeDay, limited.Scope)
				assert.Zero(t, limited.Attempts)
				assert.InDelta(t, 24, limited.RetryAt.Sub(start).Hours(), 0.01)
				assert.NotErrorIs(t, err, petstore.ErrOutcomeUnknown)
				time.Sleep(time.Hour)
			}
			assert.Len(t, server.Requests(), 5)
			time.Sleep(15 * time.Hour)
			require.NoError(t, list(client), "the next day, the client works again")
		})
	})
}

func TestCallContext(t *testing.T) {
	t.Run("a deadline that has passed before its timer fires still has its cause", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			closingTime := errors.New("closing time")
			client, _ := scripted(t, []responder{func(*http.Request) (*http.Response, error) {
				time.Sleep(time.Second)
				return nil, io.ErrUnexpectedEOF
			}})
			inner, cancel := context.WithTimeoutCause(t.Context(), time.Second+time.Millisecond, closingTime)
			defer cancel()
			ctx := slowContext{inner, time.Now().Add(time.Second)}
			_, err := client.ListPets(ctx, petstore.ListPetsParams{})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorIs(t, err, closingTime)
			require.Error(t, ctx.Err(), "the error is returned after the context has ended")
		})
	})
	t.Run("a context that a limiter ends is not the caller's", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			client, _ := scripted(t, []responder{status(200, "[]")}, petstore.WithLimiter(cancelledLimiter{petstore.NewLimiter()}))
			require.ErrorIs(t, list(client), context.Canceled)
			assert.Zero(t, time.Since(start))
		})
	})
}

// slowContext ends some time after its deadline, as a context does whose timer fires late.
type slowContext struct {
	context.Context
	deadline time.Time
}

func (c slowContext) Deadline() (time.Time, bool) { return c.deadline, true }

func TestDo(t *testing.T) {
	once := petstore.WithRetryPolicy(petstore.RetryPolicy{BaseDelay: 1})
	client, service := scripted(t, []responder{status(503, ""), status(200, `{"a":1}`)}, once)
	var out struct{ A int }
	resp, err := client.Do(t.Context(), "GET", "/orders/7?full=true", nil, &out)
	require.NoError(t, err)
	assert.Equal(t, 2, resp.Attempts)
	assert.Equal(t, 1, out.A)
	assert.Len(t, service.sent(), 2)

	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		for _, in := range []any{nil, map[string]int{"a": 1}} {
			client, service = scripted(t, []responder{status(503, "")}, once)
			_, err = client.Do(t.Context(), method, "orders", in, nil)
			require.ErrorIs(t, err, petstore.ErrOutcomeUnknown)
			assert.Len(t, service.sent(), 1)
			client, _ = scripted(t, []responder{status(204, "")}, once)
			_, err = client.Do(t.Context(), method, "orders", in, &out)
			require.NoError(t, err)
			client, _ = scripted(t, []responder{status(404, "")}, once)
			_, err = client.Do(t.Context(), method, "orders", in, &out)
			require.ErrorIs(t, err, petstore.ErrNotFound)
			require.NotErrorIs(t, err, petstore.ErrOutcomeUnknown)
		}
	}
}

func TestDoStaysBelowTheBaseURL(t *testing.T) {
	client, service := scripted(t, nil)
	for _, path := range []string{
		"", "//evil.test/x", "../admin", "pets/%2e%2e/admin", "a b", "pets?a b", // internal/credential has all
	} {
		_, err := client.Do(t.Context(), http.MethodGet, path, nil, nil)
		require.ErrorIs(t, err, petstore.ErrInvalidArgument, path)
	}
	for _, method := range []string{"", "get", "CONNECT", "TRACE", "A B"} {
		_, err := client.Do(t.Context(), method, "pets", nil, nil)
		require.ErrorIs(t, err, petstore.ErrInvalidArgument, method)
	}
	_, err := client.Do(t.Context(), "GET", "pets", 1, nil)
	require.ErrorIs(t, err, petstore.ErrInvalidArgument)
	_, err = client.Do(t.Context(), "POST", "pets", func() {}, nil)
	require.ErrorIs(t, err, petstore.ErrInvalidArgument)
	_, err = client.Do(t.Context(), "POST", "pets", nil, struct{}{})
	require.ErrorIs(t, err, petstore.ErrInvalidArgument)
	assert.Empty(t, service.sent())
}
