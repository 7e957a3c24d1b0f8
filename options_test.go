package petstore_test

import (
	"context"
	"errors"
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
	limited, busy := status(429, ``, "Retry-After: 60"), status(503, ``, "Retry-After: 60")
	for name, c := range map[string]struct {
		respond           responder
		maxWait, deadline time.Duration
		callTimeout       time.Duration
		limited           bool
	}{
		"max wait":         {limited, 59 * time.Second, time.Hour, 0, true},
		"never wait":       {limited, 0, time.Hour, 0, true},
		"deadline":         {limited, time.Hour, 59 * time.Second, 0, true},
		"call timeout":     {limited, time.Hour, time.Hour, 59 * time.Second, true},
		"503 and max wait": {busy, 59 * time.Second, time.Hour, 0, false},
	} {
		virtual(t, "fails a call immediately if its wait would be too long: "+name, func(t *testing.T) {
			client, service := scripted(t, []responder{c.respond})
			ctx, cancel := context.WithTimeout(t.Context(), c.deadline)
			defer cancel()
			start := time.Now()
			_, err := client.ListPets(ctx, petstore.ListPetsParams{}, petstore.WithMaxWait(c.maxWait), petstore.WithCallTimeout(c.callTimeout))
			assert.Zero(t, time.Since(start), "virtual time passed")
			assert.Len(t, service.sent(), 1)
			as[*petstore.APIError](t, err)
			assert.NotErrorIs(t, err, context.DeadlineExceeded)
			assert.NotErrorIs(t, err, petstore.ErrNotSent)
			assert.Equal(t, c.limited, errors.Is(err, petstore.ErrRateLimited))
			after, _ := petstore.RetryAfter(err)
			assert.Equal(t, time.Minute, after)
		})
	}
	virtual(t, "limits the waits of a call together", func(t *testing.T) {
		client, service := scripted(t, []responder{status(429, ``, "Retry-After: 50")})
		require.ErrorIs(t, list(client), petstore.ErrRateLimited) // 2 minutes by default
		assert.Len(t, service.sent(), 3, "two waits of 50 s fit, a third does not")
	})
}

// TestEndOfWaits ends a call while it waits, by its context or by WithStop.
func TestEndOfWaits(t *testing.T) {
	cause := errors.New("the user\nleft")
	vault := func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() }
	waits := limiterFunc(func(ctx context.Context, _ ratelimit.Request) (ratelimit.Permit, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	usedUp := []string{"X-RateLimit-Limit: 60", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 946684830"} // 30 s after the start of a bubble
	longBackoff := func() petstore.Option {
		return petstore.WithRetryPolicy(petstore.RetryPolicy{BaseDelay: 20 * time.Second})
	}
	limiter := func() petstore.Option { return petstore.WithLimiter(ratelimit.New()) }
	for name, c := range map[string]struct {
		respond responder
		option  func() petstore.Option
		limited bool // for the rate limit
		code    int  // of the response before the wait; 0 for none
	}{
		"Retry-After of a 429":    {status(429, "", "Retry-After: 60"), longBackoff, true, 429},
		"Retry-After of a 503":    {status(503, "", "Retry-After: 60"), longBackoff, false, 503},
		"backoff":                 {status(502, ""), longBackoff, false, 502},
		"backoff of a dial":       {fails(errRefused), longBackoff, false, 0},
		"while the key is closed": {status(429, ""), limiter, true, 429},
		"while nothing is left":   {status(503, "", usedUp...), limiter, true, 503},
		"failing attempt": {func(r *http.Request) (*http.Response, error) {
			time.Sleep(5*time.Second + 1)
			return status(502, "")(r)
		}, longBackoff, false, 502},
		"limiter": {nil, func() petstore.Option { return petstore.WithLimiter(waits) }, false, 0},
		"key":     {nil, func() petstore.Option { return petstore.WithAPIKeyFunc(vault) }, false, 0},
	} {
		for way, stops := range map[string]bool{"WithStop": true, "its context": false} {
			virtual(t, name+", by "+way, func(t *testing.T) {
				ending, cancel := context.WithCancelCause(context.Background())
				time.AfterFunc(5*time.Second, func() { cancel(cause) })
				waits := 0
				ctx, opts, key := ending, []petstore.Option{
					c.option(), petstore.WithAttemptTimeout(0), petstore.WithStop(t.Context()), petstore.WithTrace(&petstore.ClientTrace{
						WaitStart: func(context.Context, petstore.Call, ratelimit.Wait) { waits++ },
						WaitDone:  func(context.Context, petstore.Call, ratelimit.Wait) { waits-- },
					}),
				}, testKey
				if stops {
					ctx, opts = t.Context(), append(opts, petstore.WithStop(ending))
				}
				if name == "key" {
					key = ""
				}
				service := &service{responders: []responder{c.respond}}
				client, start := newClient(t, service, key, opts...), time.Now()
				var err error
				if c.code == http.StatusTooManyRequests {
					_, err = client.CreatePet(ctx, newPet())
				} else { // a create is sent again, and so waits, only after a 429
					_, err = client.ListPets(ctx, petstore.ListPetsParams{})
				}
				assert.Equal(t, 5*time.Second, time.Since(start).Truncate(time.Second))
				assert.Zero(t, waits, "each wait has its end")
				require.ErrorIs(t, err, cause)
				assert.Equal(t, stops, errors.Is(err, petstore.ErrStopped))
				assert.Equal(t, !stops, errors.Is(err, context.Canceled))
				assert.Equal(t, c.code == 429 || !stops && c.limited, errors.Is(err, petstore.ErrRateLimited), "%v", err)
				assert.Equal(t, c.code == 0, errors.Is(err, petstore.ErrNotSent), "%v", err)
				assert.NotErrorIs(t, err, petstore.ErrOutcomeUnknown)
				assert.NotContains(t, err.Error(), "\n")
				if stops {
					assert.ErrorContains(t, err, "stopped by WithStop: the user left")
					_, ok := petstore.RetryAfter(err)
					assert.Equal(t, c.code == 429 || name == "Retry-After of a 503", ok, "it stays reachable")
				}
				if c.code != 0 {
					assert.Equal(t, c.code, as[*petstore.APIError](t, err).StatusCode)
				}
				if !stops && strings.HasPrefix(name, "while") {
					// A caller that goes by RetryAt must not come back into a closed window.
					limited, next := as[*petstore.RateLimitError](t, err), as[*petstore.RateLimitError](t, list(client, petstore.WithMaxWait(time.Second)))
					assert.Equal(t, next.RetryAt, limited.RetryAt)
					assert.Equal(t, next.Reason, limited.Reason)
				}
				sent := len(service.sent())
				time.Sleep(5 * time.Minute)
				assert.Len(t, service.sent(), sent, "nothing is sent after the end")
			})
		}
	}
}

// WithStop ends a read on its way at once, and lets a write finish.
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
					return status(sample.code, sample.body)(r)
				}
			}}, petstore.WithStop(ctx))
			start := time.Now()
			err := sample.call(client)
			assert.Equal(t, sample.writes, err == nil, "%v", err)
			assert.Equal(t, !sample.writes, errors.Is(err, petstore.ErrStopped), "%v", err)
			assert.Equal(t, map[bool]time.Duration{true: 5 * time.Second, false: time.Second}[sample.writes], time.Since(start))
			require.ErrorIs(t, sample.call(client), petstore.ErrNotSent)
			assert.Len(t, service.sent(), 1)
		})
	}
}

// funcs is a context that counts the functions that are to be called at its end.
type funcs struct {
	context.Context
	done    chan struct{}
	waiting int
}

func (c *funcs) Done() <-chan struct{} { return c.done }

// AfterFunc is the method that context.AfterFunc calls.
func (c *funcs) AfterFunc(func()) (stop func() bool) {
	c.waiting++
	return func() bool { c.waiting--; return true }
}

func TestWithStopForgetsEachCall(t *testing.T) {
	stop := &funcs{Context: context.Background(), done: make(chan struct{})}
	client, _ := scripted(t, []responder{status(200, "[]")}, petstore.WithStop(stop))
	for range 3 {
		require.NoError(t, list(client))
	}
	assert.Zero(t, stop.waiting, "or a program that runs for long would keep all its calls")
}

func TestWithAttemptTimeout(t *testing.T) {
	virtual(t, "limits attempts, not waits", func(t *testing.T) {
		client, s := scripted(t, []responder{hangs, status(429, ``, "Retry-After: 60"), status(200, twoPets)})
		require.NoError(t, list(client, petstore.WithAttemptTimeout(2*time.Second)))
		require.Len(t, s.sent(), 3)
		assert.Less(t, s.sent()[1].at.Sub(s.sent()[0].at), 3*time.Second)
	})
	for name, c := range map[string]struct{ client, call, want time.Duration }{
		"http.Client's is shorter": {client: time.Second, call: time.Hour, want: time.Second},
		"the call's is shorter":    {client: time.Hour, call: time.Second, want: time.Second},
		"the call has none":        {client: time.Second, want: time.Second},
		"http.Client has none":     {call: 2 * time.Second, want: 2 * time.Second},
	} {
		virtual(t, "the shorter timeout applies: "+name, func(t *testing.T) {
			hc := &http.Client{Transport: responder(hangs), Timeout: c.client}
			client, err := petstore.NewClient("https://service.test/v1", testKey, petstore.WithHTTPClient(hc),
				once)
			require.NoError(t, err)
			start := time.Now()
			require.ErrorIs(t, list(client, petstore.WithAttemptTimeout(c.call)), petstore.ErrTimeout)
			assert.Equal(t, c.want, time.Since(start))
			assert.Equal(t, c.client, hc.Timeout, "it is the caller's")
		})
	}
}
