package petstore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/ratelimit"
)

func TestWithMaxWait(t *testing.T) {
	const enough, less = time.Hour, 59 * time.Second
	for name, c := range map[string]struct {
		code                           int
		maxWait, deadline, callTimeout time.Duration
	}{
		"never wait":       {429, 0, enough, enough},
		"max wait":         {429, less, enough, enough},
		"deadline":         {429, enough, less, enough},
		"call timeout":     {429, enough, enough, less},
		"503 and max wait": {503, less, enough, enough},
	} {
		virtual(t, "fails a call immediately if its wait would be too long: "+name, func(t *testing.T) {
			client, service := scripted(t, []responder{status(c.code, "", "Retry-After: 60")},
				petstore.WithCallTimeout(c.callTimeout))
			ctx, cancel := context.WithTimeout(t.Context(), c.deadline)
			defer cancel()
			start := time.Now()
			err := listFor(ctx, client, petstore.WithMaxWait(c.maxWait))
			assert.Zero(t, time.Since(start))
			assert.Len(t, service.sent(), 1)
			assert.Equal(t, c.code, as[*petstore.APIError](t, err).StatusCode)
			assert.Equal(t, c.code == 429, errors.Is(err, petstore.ErrRateLimited))
			assert.NotErrorIs(t, err, context.DeadlineExceeded)
			assert.NotErrorIs(t, err, petstore.ErrNotSent)
			after, _ := petstore.RetryAfter(err)
			assert.Equal(t, time.Minute, after)
		})
	}
	virtual(t, "limits the waits of a call together", func(t *testing.T) {
		client, service := scripted(t, []responder{status(429, ``, "Retry-After: 50")})
		require.ErrorIs(t, list(client), petstore.ErrRateLimited) // 2 minutes by default
		assert.Len(t, service.sent(), 3, "two waits of 50 s fit, a third does not")
	})
	virtual(t, "does not limit backoffs", func(t *testing.T) {
		busy, limited, done := status(503, ""), status(429, "", "Retry-After: 60"), status(200, "[]")
		client, _ := scripted(t, []responder{busy, done})
		require.NoError(t, list(client, petstore.WithMaxWait(0)))
		client, _ = scripted(t, []responder{busy, busy, limited, done},
			petstore.WithRetryPolicy(petstore.RetryPolicy{BaseDelay: 10 * time.Second}))
		require.NoError(t, list(client, petstore.WithMaxWait(70*time.Second)))
	})
}

// TestEndOfWaits ends a call while it waits, by its context or by WithStop.
func TestEndOfWaits(t *testing.T) {
	cause := errors.New("the user\nleft")
	backoff := petstore.WithRetryPolicy(petstore.RetryPolicy{BaseDelay: 20 * time.Second})
	waits := petstore.WithLimiter(limiterFunc(func(ctx context.Context, _ ratelimit.Request) (ratelimit.Permit, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}))
	usedUp := []string{ // for 30 s after the start of a bubble
		"X-RateLimit-Limit: 60", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 946684830",
	}
	for name, c := range map[string]struct {
		respond responder
		option  petstore.Option // nil: the test makes a limiter, which must happen in the bubble
		code    int             // of the response before the wait; 0 for none
	}{
		"Retry-After of a 429": {status(429, "", "Retry-After: 60"), backoff, 429},
		"Retry-After of a 503": {status(503, "", "Retry-After: 60"), backoff, 503},
		"backoff":              {status(502, ""), backoff, 502},
		"backoff of a dial":    {fails(errRefused), backoff, 0},
		"the key is closed":    {status(429, ""), nil, 429},
		"nothing is left":      {status(503, "", usedUp...), nil, 503},
		"limiter":              {nil, waits, 0},
		"key":                  {nil, backoff, 0},
	} {
		for way, stops := range map[string]bool{"WithStop": true, "its context": false} {
			virtual(t, name+", by "+way, func(t *testing.T) {
				ending, cancel := context.WithCancelCause(context.Background())
				time.AfterFunc(5*time.Second, func() { cancel(cause) })
				ctx, stop, open := ending, t.Context(), 0
				if stops {
					ctx, stop = stop, ctx
				}
				opts := []petstore.Option{petstore.WithStop(stop), petstore.WithTrace(&petstore.ClientTrace{
					WaitStart: func(context.Context, petstore.Call, ratelimit.Wait) { open++ },
					WaitDone:  func(context.Context, petstore.Call, ratelimit.Wait) { open-- },
				}), petstore.WithLimiter(ratelimit.New())}
				if c.option != nil {
					opts = append(opts, petstore.WithLimiter(nil), c.option)
				}
				client, service := rotating(t, func(ctx context.Context) (string, error) {
					if name == "key" {
						<-ctx.Done()
					}
					return testKey, ctx.Err()
				}, []responder{c.respond}, opts...)
				call, start := listFor, time.Now()
				if c.code == http.StatusTooManyRequests { // a create is sent again, and so waits, only then
					call = createFor
				}
				err := call(ctx, client)
				assert.Equal(t, 5*time.Second, time.Since(start).Truncate(time.Second))
				assert.Zero(t, open, "each wait has its end")
				require.ErrorIs(t, err, cause)
				assert.Equal(t, stops, errors.Is(err, petstore.ErrStopped))
				assert.Equal(t, !stops, errors.Is(err, context.Canceled))
				limited := c.code == 429 || !stops && c.option == nil
				assert.Equal(t, limited, errors.Is(err, petstore.ErrRateLimited), "%v", err)
				assert.Equal(t, c.code == 0, errors.Is(err, petstore.ErrNotSent), "%v", err)
				assert.NotErrorIs(t, err, petstore.ErrOutcomeUnknown)
				assert.NotContains(t, err.Error(), "\n")
				if c.code != 0 {
					assert.Equal(t, c.code, as[*petstore.APIError](t, err).StatusCode)
				}
				_, ok := petstore.RetryAfter(err)
				if stops {
					assert.Equal(t, c.code == 429 || strings.HasPrefix(name, "Retry-After"), ok, "it stays reachable")
				} else if c.option == nil {
					// A caller that waits until RetryAt must not find the window still closed.
					next := as[*petstore.RateLimitError](t, list(client, petstore.WithMaxWait(time.Second)))
					assert.Equal(t, next.RetryAt, as[*petstore.RateLimitError](t, err).RetryAt)
				}
				sent := len(service.sent())
				time.Sleep(5 * time.Minute)
				assert.Len(t, service.sent(), sent, "nothing is sent after the end")
			})
		}
	}
}

// WithStop ends a read in flight immediately, and lets a write finish.
func TestWithStopDuringARequest(t *testing.T) {
	for operation, sample := range samples {
		virtual(t, operation, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, stop)
			client, service := scripted(t, []responder{func(r *http.Request) (*http.Response, error) {
				select {
				case <-r.Context().Done():
					return nil, r.Context().Err()
				case <-time.After(5 * time.Second):
					return status(sample.success, onePet)(r) // a read has ended by now
				}
			}}, petstore.WithStop(ctx))
			start, took := time.Now(), time.Second
			err := sample.call(client)
			if sample.writes {
				took = 5 * time.Second
			}
			assert.Equal(t, took, time.Since(start))
			assert.Equal(t, sample.writes, err == nil, "%v", err)
			assert.Equal(t, !sample.writes, errors.Is(err, petstore.ErrStopped), "%v", err)
			require.ErrorIs(t, sample.call(client), petstore.ErrNotSent)
			assert.Len(t, service.sent(), 1)
		})
	}
}

func TestWithAttemptTimeout(t *testing.T) {
	for _, c := range []struct{ client, attempt, call, want time.Duration }{ // in seconds; 0 for none
		{1, 9, 0, 1}, {9, 1, 0, 1}, {1, 0, 9, 1}, {0, 2, 0, 2}, {0, 0, 3, 3}, {9, 9, 3, 3},
	} {
		name := fmt.Sprintf("of %d s for http.Client, %d s and %d s for the call", c.client, c.attempt, c.call)
		virtual(t, name+", the shortest one applies", func(t *testing.T) {
			own := petstore.WithHTTPClient(&http.Client{Transport: responder(hangs), Timeout: c.client * time.Second})
			client, start := newClient(t, nil, testKey, own, petstore.WithCallTimeout(c.call*time.Second)), time.Now()
			err := create(client, petstore.WithAttemptTimeout(c.attempt*time.Second))
			assert.Equal(t, c.want*time.Second, time.Since(start))
			assert.ErrorContains(t, err, fmt.Sprintf(" timed out after %ds", c.want))
			require.ErrorIs(t, err, petstore.ErrTimeout)
			require.ErrorIs(t, err, petstore.ErrOutcomeUnknown)
			assert.NotErrorIs(t, err, context.DeadlineExceeded, "which is for the caller's deadline")
			assert.True(t, as[net.Error](t, err).Timeout())
		})
	}
}

func TestLimiterOfTheUser(t *testing.T) {
	panics := func(*http.Request) (*http.Response, error) { panic("in the transport") }
	gaveUp := func(r *http.Request) (*http.Response, error) {
		time.Sleep(time.Hour) // the call may take a minute
		return hangs(r)
	}
	for name, c := range map[string]struct {
		responders []responder
		want       []string // outcome of each permit
	}{
		"success":                {[]responder{status(201, onePet)}, []string{"201"}},
		"cut off":                {[]responder{cutOff(201, errReset)}, []string{"201"}},
		"reset":                  {[]responder{fails(errReset)}, []string{"no response"}},
		"a panic":                {[]responder{panics}, []string{"no response"}},
		"given up by its caller": {[]responder{gaveUp}, []string{"abandoned"}},
		"429, refused, success": {
			[]responder{status(429, ``, "Retry-After: 30"), fails(errRefused), status(201, onePet)},
			[]string{"429", "not sent", "201"},
		},
	} {
		virtual(t, "gets each permit back, and need not know Retry-After: "+name, func(t *testing.T) {
			limiter := &permits{}
			client, service := scripted(t, c.responders,
				petstore.WithLimiter(limiter), petstore.WithCallTimeout(time.Minute))
			func() {
				defer func() { assert.Equal(t, name == "a panic", recover() != nil) }()
				_ = create(client)
			}()
			var released []string
			for _, o := range limiter.released {
				text := fmt.Sprint(o.StatusCode)
				switch {
				case o.Sent.IsZero():
					text = "not sent"
				case o.Abandoned:
					text = "abandoned"
				case o.Received.IsZero():
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
	t.Run("gets the permit back before the body is read", func(t *testing.T) {
		limiter := &permits{}
		client, _ := scripted(t, []responder{func(r *http.Request) (*http.Response, error) {
			return response(r, 404, failingReader(func() error {
				assert.Len(t, limiter.released, 1)
				return io.EOF
			})), nil
		}}, petstore.WithLimiter(limiter))
		require.ErrorIs(t, list(client), petstore.ErrNotFound)
	})
	virtual(t, "learns what the call asks for, and may be slow", func(t *testing.T) {
		start, keyID := time.Now(), ""
		var requests []string
		limiter := limiterFunc(func(_ context.Context, r ratelimit.Request) (ratelimit.Permit, error) {
			asked, notBefore := r.Asked.Sub(start), max(0, r.NotBefore.Sub(start))
			requests = append(requests, fmt.Sprintf("MaxWait %.0f, Asked %.0f, NotBefore %.0f",
				r.MaxWait.Seconds(), asked.Seconds(), notBefore.Seconds()))
			assert.True(t, r.Background)
			assert.Equal(t, keyID, r.Key)
			<-time.After(3 * time.Second)
			return new(permits), nil
		})
		inTime := func(r *http.Request) (*http.Response, error) {
			deadline, _ := r.Context().Deadline()
			assert.Equal(t, 2*time.Second, time.Until(deadline), "the timeout begins after the limiter")
			return status(200, "[]")(r)
		}
		client, _ := scripted(t, []responder{status(503, ""), status(429, "", "Retry-After: 30"), inTime},
			petstore.WithLimiter(limiter), petstore.WithAttemptTimeout(2*time.Second), quick)
		keyID = client.KeyID()
		for range 2 {
			require.NoError(t, list(client, petstore.WithMaxWait(time.Minute), petstore.WithBackground()))
		}
		// MaxWait falls by waits in the limiter and pauses after a 429; Asked is the place in the queue.
		assert.Equal(t, []string{
			"MaxWait 60, Asked 0, NotBefore 0", "MaxWait 57, Asked 0, NotBefore 2",
			"MaxWait 24, Asked 0, NotBefore 36", "MaxWait 60, Asked 39, NotBefore 0",
		}, requests)
	})
}
