package petstore_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
)

func TestLimiterErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, why := petstore.NewLimiter(), errors.New("shutting down")
		acquire := func(patience time.Duration) (petstore.Permit, error) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), patience, why)
			defer cancel()
			return l.Acquire(ctx, petstore.LimitRequest{MaxWait: time.Minute})
		}
		refused := func(patience time.Duration, text string) *petstore.RateLimitError {
			t.Helper()
			_, err := acquire(patience)
			require.ErrorIs(t, err, petstore.ErrNotSent)
			assert.ErrorContains(t, err, text)
			return as[*petstore.RateLimitError](t, err)
		}
		require.ErrorIs(t, refused(0, "before the request was sent: context deadline exceeded: shutting down"), why)
		permit, err := acquire(time.Second)
		require.NoError(t, err)
		assert.Zero(t, refused(time.Second, "while waiting for a response: context deadline exceeded").RetryAt)
		now := time.Now()
		permit.Release(petstore.Observation{
			Delivery: petstore.DeliveryAnswered, Sent: now, Received: now, StatusCode: 429, Date: now,
			RateLimit: petstore.RateLimit{Limit: 1000, Reset: now.Add(time.Hour)},
		})
		assert.Equal(t, petstore.ScopeDay, refused(2*time.Hour, "(day)").Scope)
	})
}

func TestLimiterOfTheUser(t *testing.T) {
	for name, c := range map[string]struct {
		responders []responder
		want       []string // delivery and status of each permit
	}{
		"success": {[]responder{status(201, onePet)}, []string{"answered 201"}},
		"error":   {[]responder{status(500, ``)}, []string{"answered 500"}},
		"cut off": {[]responder{cutOff(201, errReset)}, []string{"answered 201"}},
		"reset":   {[]responder{fails(errReset)}, []string{"no_response 0"}},
		"a panic": {[]responder{func(*http.Request) (*http.Response, error) { panic("in the transport") }}, []string{"no_response 0"}},
		"429, refused and success": {
			[]responder{status(429, ``, "Retry-After: 30"), fails(errRefused), status(201, onePet)},
			[]string{"answered 429", " 0", "not_sent 0", "answered 201"},
		},
	} {
		virtual(t, "gets each permit back, and need not know Retry-After: "+name, func(t *testing.T) {
			limiter := &permits{}
			client, service := scripted(t, c.responders, petstore.WithLimiter(limiter))
			func() {
				defer func() { assert.Equal(t, name == "a panic", recover() != nil) }()
				_ = create(client)
			}()
			var released []string
			for _, o := range limiter.released {
				released = append(released, fmt.Sprintf("%s %d", o.Delivery, o.StatusCode))
			}
			assert.Equal(t, c.want, released)
			assert.Equal(t, limiter.acquired, len(released))
			if sent := service.sent(); len(sent) > 1 {
				assert.GreaterOrEqual(t, sent[1].at.Sub(sent[0].at), 30*time.Second)
			}
		})
	}
	t.Run("its refusal is the error of the call, and a permit beside it is released", func(t *testing.T) {
		permit, at := new(permits), time.Now().Add(time.Hour)
		client, service := scripted(t, nil, petstore.WithLimiter(returns(permit, &petstore.RateLimitError{RetryAt: at})))
		limited := as[*petstore.RateLimitError](t, list(client))
		assert.Equal(t, "listPets", limited.Operation)
		assert.Equal(t, at, limited.RetryAt)
		require.ErrorIs(t, limited, petstore.ErrNotSent)
		assert.Empty(t, service.sent())
		assert.Len(t, permit.released, 1)
	})
	t.Run("may return a nil pointer as its error", func(t *testing.T) {
		for _, err := range []error{(*petstore.RateLimitError)(nil), (*net.OpError)(nil)} {
			permit := new(permits)
			client, _ := scripted(t, []responder{status(200, "[]")}, petstore.WithLimiter(returns(permit, err)))
			require.NoError(t, list(client))
			assert.Len(t, permit.released, 1)
		}
	})
	virtual(t, "may be slow: the attempt's timeout begins after it", func(t *testing.T) {
		var left time.Duration
		client, _ := scripted(t, []responder{func(r *http.Request) (*http.Response, error) {
			deadline, _ := r.Context().Deadline()
			left = time.Until(deadline)
			return status(200, "[]")(r)
		}}, petstore.WithLimiter(slow(petstore.NewLimiter(), 2*time.Second)), petstore.WithAttemptTimeout(3*time.Second))
		require.NoError(t, list(client))
		assert.Equal(t, 3*time.Second, left)
	})
	virtual(t, "may be too slow: the permit is released", func(t *testing.T) {
		permit := new(permits)
		client, service := scripted(t, nil, petstore.WithLimiter(slow(permit, 2*time.Second)), petstore.WithCallTimeout(time.Second))
		err := list(client)
		require.ErrorIs(t, err, petstore.ErrTimeout)
		require.ErrorIs(t, err, petstore.ErrNotSent)
		assert.Empty(t, service.sent())
		assert.Equal(t, []petstore.Observation{{}}, permit.released)
	})
	virtual(t, "counts as waiting for WithMaxWait, all of it", func(t *testing.T) {
		client, service := scripted(t, []responder{status(429, "", "Retry-After: 5")},
			petstore.WithLimiter(slow(petstore.NewLimiter(), 2*time.Second)), petstore.WithMaxWait(6*time.Second))
		require.ErrorIs(t, list(client), petstore.ErrRateLimited)
		assert.Len(t, service.sent(), 1)
	})
	virtual(t, "learns when a call asked first, and may report waits", func(t *testing.T) {
		inner, start := petstore.NewLimiter(), time.Now()
		var requests []petstore.LimitRequest
		l := limiterFunc(func(ctx context.Context, r petstore.LimitRequest) (petstore.Permit, error) {
			requests = append(requests, r)
			done := r.StartWait(petstore.Wait{Reason: petstore.WaitResponse, Waiting: 7})
			<-time.After(3 * time.Second)
			done(time.Duration(len(requests)%2) * time.Second) // one second of the first wait is free
			return inner.Acquire(ctx, r)
		})
		var begun, done []petstore.Wait
		client, _ := scripted(t, []responder{status(503, ""), status(503, ""), status(200, "[]")}, petstore.WithLimiter(l),
			petstore.WithTrace(&petstore.ClientTrace{
				WaitStart: func(_ context.Context, w petstore.Wait) { begun = append(begun, w) },
				WaitDone:  func(_ context.Context, w petstore.Wait) { done = append(done, w) },
			}))
		for range 2 {
			require.NoError(t, list(client, petstore.WithMaxWait(time.Minute)))
		}
		require.Len(t, requests, 4)
		for i, left := range []time.Duration{60, 58, 55, 60} {
			assert.Equal(t, left*time.Second, requests[i].MaxWait, "what is free does not count")
		}
		assert.Equal(t, start, requests[2].Asked, "a retried call keeps its place")
		assert.True(t, requests[3].Asked.After(start))
		assert.NotEmpty(t, requests[0].Call.KeyID)
		require.Len(t, begun, 6, "with the backoff")
		assert.Equal(t, "listPets", begun[0].Call.Operation)
		assert.Equal(t, 7, begun[0].Waiting)
		assert.Zero(t, begun[0].Duration)
		assert.Equal(t, petstore.WaitBackoff, begun[1].Reason)
		assert.Equal(t, 3*time.Second, done[0].Duration)
	})
	virtual(t, "may end a context of its own, which is not the caller's", func(t *testing.T) {
		ending := limiterFunc(func(ctx context.Context, r petstore.LimitRequest) (petstore.Permit, error) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return petstore.NewLimiter().Acquire(ctx, r)
		})
		start := time.Now()
		client, _ := scripted(t, []responder{status(200, "[]")}, petstore.WithLimiter(ending))
		require.ErrorIs(t, list(client), context.Canceled)
		assert.Zero(t, time.Since(start))
	})
	t.Run("may be used outside a call", func(t *testing.T) {
		petstore.LimitRequest{}.StartWait(petstore.Wait{})(0)
	})
}

func TestReopenLimitWithoutReopen(t *testing.T) {
	(*petstore.Client)(nil).ReopenLimit()
	for _, limiter := range []petstore.Limiter{nil, refuses, new(unwrapsItself)} {
		client, _ := scripted(t, nil, petstore.WithLimiter(limiter))
		client.ReopenLimit()
	}
}

// unwrapsItself is a limiter whose Unwrap returns itself.
type unwrapsItself struct{ limiterFunc }

func (l *unwrapsItself) Unwrap() petstore.Limiter { return l }
