package petstore_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/ratelimit"
)

func TestLimiterOfTheUser(t *testing.T) {
	for name, c := range map[string]struct {
		responders []responder
		want       []string // outcome of each permit
	}{
		"success": {[]responder{status(201, onePet)}, []string{"201"}},
		"error":   {[]responder{status(500, ``)}, []string{"500"}},
		"cut off": {[]responder{cutOff(201, errReset)}, []string{"201"}},
		"reset":   {[]responder{fails(errReset)}, []string{"no response"}},
		"a panic": {[]responder{func(*http.Request) (*http.Response, error) { panic("in the transport") }}, []string{"no response"}},
		"given up by its caller": {[]responder{func(r *http.Request) (*http.Response, error) {
			_, _ = io.Copy(io.Discard, r.Body)
			time.Sleep(time.Hour) // the call may take a minute
			return hangs(r)
		}}, []string{"abandoned"}},
		"429, refused and success": {
			[]responder{status(429, ``, "Retry-After: 30"), fails(errRefused), status(201, onePet)},
			[]string{"429", "not sent", "201"},
		},
	} {
		virtual(t, "gets each permit back, and need not know Retry-After: "+name, func(t *testing.T) {
			limiter := &permits{}
			client, service := scripted(t, c.responders, petstore.WithLimiter(limiter), petstore.WithCallTimeout(time.Minute))
			func() {
				defer func() { assert.Equal(t, name == "a panic", recover() != nil) }()
				_ = create(client)
			}()
			var released []string
			for _, o := range limiter.released {
				text := fmt.Sprint(o.StatusCode)
				if o.Sent.IsZero() {
					text = "not sent"
				} else if o.Abandoned {
					text = "abandoned"
				} else if o.Received.IsZero() {
					text = "no response"
				}
				released = append(released, text)
			}
			assert.Equal(t, c.want, released)
			assert.Equal(t, limiter.acquired, len(released))
			if sent := service.sent(); len(sent) > 1 {
				assert.GreaterOrEqual(t, sent[1].at.Sub(sent[0].at), 30*time.Second)
			}
		})
	}
	t.Run("its refusal is the error of the call", func(t *testing.T) {
		at := time.Now().Add(time.Hour)
		client, service := scripted(t, nil, petstore.WithLimiter(returns(nil, &ratelimit.Error{RetryAt: at})))
		limited := as[*petstore.RateLimitError](t, list(client))
		assert.Equal(t, "listPets", limited.Operation)
		assert.Equal(t, at, limited.RetryAt)
		require.ErrorIs(t, limited, petstore.ErrNotSent)
		assert.Empty(t, service.sent())
	})
	virtual(t, "may be slow: the attempt's timeout begins after it", func(t *testing.T) {
		var left time.Duration
		client, _ := scripted(t, []responder{func(r *http.Request) (*http.Response, error) {
			deadline, _ := r.Context().Deadline()
			left = time.Until(deadline)
			return status(200, "[]")(r)
		}}, petstore.WithLimiter(slow(ratelimit.New(), 2*time.Second)), petstore.WithAttemptTimeout(3*time.Second))
		require.NoError(t, list(client))
		assert.Equal(t, 3*time.Second, left)
	})
	virtual(t, "learns when a call asked first, and may report waits", func(t *testing.T) {
		inner, start := ratelimit.New(), time.Now()
		var requests []ratelimit.Request
		wait := ratelimit.Wait{Reason: ratelimit.ReasonResponse, Waiting: 7}
		done := ratelimit.Wait{Duration: 3 * time.Second}
		l := limiterFunc(func(ctx context.Context, r ratelimit.Request) (ratelimit.Permit, error) {
			requests = append(requests, r)
			r.Observer.WaitStart(wait)
			<-time.After(3 * time.Second)
			r.Observer.WaitDone(done)
			return inner.Acquire(ctx, r)
		})
		var waits []ratelimit.Wait
		note := func(_ context.Context, _ petstore.Call, w ratelimit.Wait) { waits = append(waits, w) }
		client, _ := scripted(t, []responder{status(503, ""), status(503, ""), status(200, "[]")}, petstore.WithLimiter(l),
			petstore.WithTrace(&petstore.ClientTrace{WaitStart: note, WaitDone: note}))
		for range 2 {
			require.NoError(t, list(client, petstore.WithMaxWait(time.Minute)))
		}
		require.Len(t, requests, 4)
		for i, left := range []time.Duration{60, 57, 54, 60} { // the 3 s of each wait count against WithMaxWait
			assert.Equal(t, left*time.Second, requests[i].MaxWait)
		}
		assert.Equal(t, start, requests[2].Asked, "a retried call keeps its place")
		assert.True(t, requests[3].Asked.After(start))
		require.Len(t, waits, 12, "with two backoffs")
		assert.Equal(t, []ratelimit.Wait{wait, done}, waits[:2])
		assert.Equal(t, ratelimit.ReasonBackoff, waits[2].Reason)
	})
	virtual(t, "learns from when on a request after a 429 may be sent", func(t *testing.T) {
		var notBefore []time.Time
		client, _ := scripted(t, []responder{status(429, "", "Retry-After: 30"), status(200, "[]")}, petstore.WithLimiter(
			limiterFunc(func(_ context.Context, r ratelimit.Request) (ratelimit.Permit, error) {
				notBefore = append(notBefore, r.NotBefore)
				return new(permits), nil
			})))
		start := time.Now()
		require.NoError(t, list(client))
		assert.Zero(t, notBefore[0])
		assert.GreaterOrEqual(t, notBefore[1].Sub(start), 30*time.Second)
	})
}
