package petstore_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/ratelimit"
)

func TestCallFromContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []petstore.Call
		note := func(respond responder) responder {
			return func(req *http.Request) (*http.Response, error) {
				c, ok := petstore.CallFromContext(req.Context())
				assert.True(t, ok)
				seen = append(seen, c)
				go func() { // as a dialer may do when the attempt, or even the call, is over
					for range 1000 {
						later, _ := petstore.CallFromContext(req.Context())
						assert.Equal(t, c.ID, later.ID)
					}
				}()
				return respond(req)
			}
		}
		client, _ := scripted(t, []responder{
			note(status(429, `{}`, "Retry-After: 3")), note(status(200, onePet)), note(status(201, onePet)),
		}, petstore.WithRetryPolicy(petstore.RetryPolicy{BaseDelay: 1, MaxDelay: 1}))
		require.NoError(t, get(client))
		require.NoError(t, create(client, petstore.WithBackground()))
		_, ok := petstore.CallFromContext(t.Context())
		assert.False(t, ok, "there is no call")

		require.Len(t, seen, 3)
		first := seen[0]
		assert.Regexp(t, `^[0-9a-f]{16}$`, first.ID)
		assert.NotEqual(t, first.ID, seen[2].ID)
		assert.NotContains(t, first.KeyID, testKey)
		again := first
		again.Attempt, again.Waited = 2, 3*time.Second
		assert.Equal(t, []petstore.Call{
			{
				ID: first.ID, BaseURL: "https://service.test/v1", Operation: "getPet", Method: "GET",
				Template: "/v1/pets/{petId}", Attempt: 1, KeyID: first.KeyID,
			},
			again,
			{
				ID: seen[2].ID, BaseURL: "https://service.test/v1", Operation: "createPet", Method: "POST",
				Template: "/v1/pets", Attempt: 1, KeyID: first.KeyID, Background: true,
			},
		}, seen)
	})
}

type markKey struct{}

// hooked returns a trace that marks the context of each call. Each of its functions calls the hook
// with its own name.
func hooked(hook func(ctx context.Context, c petstore.Call, function string)) *petstore.ClientTrace {
	return &petstore.ClientTrace{
		CallStart: func(ctx context.Context, c petstore.Call) context.Context {
			ctx = context.WithValue(ctx, markKey{}, true)
			hook(ctx, c, "CallStart")
			return ctx
		},
		CallDone:     func(ctx context.Context, info petstore.CallDoneInfo) { hook(ctx, info.Call, "CallDone") },
		WaitStart:    func(ctx context.Context, c petstore.Call, _ ratelimit.Wait) { hook(ctx, c, "WaitStart") },
		WaitDone:     func(ctx context.Context, c petstore.Call, _ ratelimit.Wait) { hook(ctx, c, "WaitDone") },
		AttemptStart: func(ctx context.Context, c petstore.Call) { hook(ctx, c, "AttemptStart") },
		AttemptDone:  func(ctx context.Context, info petstore.AttemptDoneInfo) { hook(ctx, info.Call, "AttemptDone") },
		LimitClosed:  func(ctx context.Context, c petstore.Call, _ ratelimit.Lockout) { hook(ctx, c, "LimitClosed") },
		LimitOpened:  func(ctx context.Context, c petstore.Call, _ ratelimit.Lockout) { hook(ctx, c, "LimitOpened") },
	}
}

func TestClientTrace(t *testing.T) {
	virtual(t, "gets the events of a call in order", func(t *testing.T) {
		var events []string
		var waits []ratelimit.Wait
		var tries []petstore.AttemptDoneInfo
		client, _ := scripted(t, []responder{
			status(429, "", append(quota(10, 0, 0), "Retry-After: 3")...), fails(errReset), status(200, "[]", quota(10, 8, time.Minute)...),
		}, petstore.WithLimiter(ratelimit.New()), petstore.WithCallTimeout(time.Minute),
			petstore.WithTrace(hooked(func(ctx context.Context, c petstore.Call, function string) {
				events = append(events, function)
				assert.NotNil(t, ctx.Value(markKey{}))
				assert.NoError(t, ctx.Err(), function)
				found, _ := petstore.CallFromContext(ctx)
				assert.Equal(t, c.ID, found.ID, function)
			})),
			petstore.WithTrace(&petstore.ClientTrace{
				WaitDone:    func(_ context.Context, c petstore.Call, w ratelimit.Wait) { waits = append(waits, w) },
				AttemptDone: func(_ context.Context, info petstore.AttemptDoneInfo) { tries = append(tries, info) },
				CallDone: func(_ context.Context, info petstore.CallDoneInfo) {
					assert.GreaterOrEqual(t, info.Duration, 3*time.Second)
					assert.NoError(t, info.Err)
				},
			}))
		require.NoError(t, list(client))
		assert.Equal(t, []string{
			"CallStart", "AttemptStart", "LimitClosed", "AttemptDone", "WaitStart", "WaitDone", "AttemptStart", "AttemptDone",
			"WaitStart", "WaitDone", "AttemptStart", "LimitOpened", "AttemptDone", "CallDone",
		}, events)
		require.Len(t, tries, 3)
		assert.Equal(t, 429, tries[0].StatusCode)
		assert.Equal(t, 3*time.Second, tries[0].RetryAfter)
		assert.ErrorIs(t, tries[1].Err, errReset)
		assert.True(t, tries[1].Sent)
		assert.Equal(t, 8, tries[2].RateLimit.Remaining)
		require.Len(t, waits, 2)
		assert.GreaterOrEqual(t, waits[0].Duration, 3*time.Second)
		assert.Equal(t, ratelimit.ReasonMinute, waits[0].Reason)
		assert.Equal(t, ratelimit.ReasonBackoff, waits[1].Reason)
	})
	virtual(t, "says why a call waits", func(t *testing.T) {
		var reasons []ratelimit.Reason
		client, _ := scripted(t, []responder{
			status(503, ""), status(503, "", "Retry-After: 1"), status(429, "", "Retry-After: 1"), status(200, "[]"),
		}, petstore.WithTrace(&petstore.ClientTrace{
			WaitStart: func(_ context.Context, _ petstore.Call, w ratelimit.Wait) { reasons = append(reasons, w.Reason) },
		}))
		require.NoError(t, list(client))
		assert.Equal(t, []ratelimit.Reason{"backoff", "backoff", "backoff"}, reasons)
	})
	t.Run("gets the error of each call, also of one that panics", func(t *testing.T) {
		var done []petstore.CallDoneInfo
		client, _ := scripted(t, []responder{
			status(200, "no JSON"), func(*http.Request) (*http.Response, error) { panic("transport") },
		}, petstore.WithTrace(&petstore.ClientTrace{
			CallDone: func(_ context.Context, info petstore.CallDoneInfo) { done = append(done, info) },
		}))
		err := list(client)
		require.Error(t, err)
		_, invalid := client.ListPets(t.Context(), petstore.ListPetsParams{Limit: -1})
		require.Error(t, invalid)
		assert.PanicsWithValue(t, "transport", func() { _ = list(client) })
		require.Len(t, done, 2, "there is no call with an invalid argument")
		assert.Equal(t, err, done[0].Err)
		assert.Equal(t, done[0].Call.ID, as[*petstore.ResponseError](t, err).CallID)
		assert.Error(t, done[1].Err)
	})
	t.Run("calls several traces in order, and none of their nil functions", func(t *testing.T) {
		var order []int
		nth := func(n int) petstore.Option {
			return petstore.WithTrace(&petstore.ClientTrace{
				CallStart: func(context.Context, petstore.Call) context.Context { order = append(order, n); return nil },
			})
		}
		client, _ := scripted(t, []responder{status(200, "[]")}, nth(1), petstore.WithTrace(&petstore.ClientTrace{}), nth(2))
		require.NoError(t, list(client))
		assert.Equal(t, []int{1, 2}, order)
	})
}

func TestCallStartKeepsTheEndOfTheCallersContext(t *testing.T) {
	type key struct{}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for name, other := range map[string]func(context.Context) context.Context{
		"detached": context.WithoutCancel,
		"another":  func(context.Context) context.Context { return context.Background() },
		"ended":    func(context.Context) context.Context { return ended },
	} {
		virtual(t, name, func(t *testing.T) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("the user left"))
			defer cancel()
			client, _ := scripted(t, []responder{func(r *http.Request) (*http.Response, error) {
				assert.Equal(t, 7, r.Context().Value(key{}))
				_, ok := petstore.CallFromContext(r.Context())
				assert.True(t, ok)
				return hangs(r)
			}}, petstore.WithTrace(&petstore.ClientTrace{
				CallStart: func(ctx context.Context, _ petstore.Call) context.Context {
					return context.WithValue(other(ctx), key{}, 7)
				},
			}))
			start := time.Now()
			_, err := client.ListPets(ctx, petstore.ListPetsParams{})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorContains(t, err, "the user left")
			assert.Equal(t, time.Second, time.Since(start))
		})
	}
}

// hookedPermit calls a hook after its release.
type hookedPermit struct {
	ratelimit.Permit
	hook func(function string)
}

func (p hookedPermit) Release(o ratelimit.Outcome) ratelimit.Lockout {
	defer p.hook("Release")
	return p.Permit.Release(o)
}

// TestPanicOfTheUser lets each function of the user panic. After the panic, no permit, lock or
// connection may be held.
func TestPanicOfTheUser(t *testing.T) {
	for _, function := range []string{
		"CallStart", "CallDone", "WaitStart", "WaitDone", "AttemptStart", "AttemptDone", "LimitClosed", "LimitOpened",
		"Acquire", "Release", "Release without a response", "transport", "key",
	} {
		virtual(t, function, func(t *testing.T) {
			var on atomic.Bool
			var requests, panics, open, succeeded atomic.Int64 // open counts starts without an end
			hook := func(at string) {
				if strings.HasPrefix(function, at) && on.Load() {
					panics.Add(1)
					panic("user")
				}
			}
			counts := petstore.WithTrace(hooked(func(_ context.Context, _ petstore.Call, at string) {
				if strings.HasSuffix(at, "Start") {
					open.Add(1)
				} else if strings.HasSuffix(at, "Done") {
					open.Add(-1)
				}
			}))
			inner := ratelimit.New()
			limiter := limiterFunc(func(ctx context.Context, r ratelimit.Request) (ratelimit.Permit, error) {
				hook("Acquire")
				permit, err := inner.Acquire(ctx, r)
				return hookedPermit{permit, hook}, err
			})
			server := fake.NewTestServer(t, fake.WithPlan(fake.Plan{PerMinute: 30}), fake.WithLatency(100*time.Millisecond))
			transport := responder(func(r *http.Request) (*http.Response, error) {
				hook("transport")
				if requests.Add(1) == 1 {
					return status(503, "")(r) // for a backoff
				}
				if on.Load() && strings.HasSuffix(function, "without a response") {
					return nil, errReset
				}
				return server.HTTPClient().Transport.RoundTrip(r)
			})
			client := newClient(t, transport, "", petstore.WithMaxWait(time.Hour), petstore.WithLimiter(limiter), counts,
				petstore.WithTrace(hooked(func(_ context.Context, _ petstore.Call, at string) { hook(at) })), counts,
				petstore.WithAPIKeyFunc(func(context.Context) (string, error) { hook("key"); return server.APIKey(), nil }))
			calls := func(n int) {
				var all sync.WaitGroup
				for range n {
					all.Go(func() {
						defer func() { _ = recover() }()
						if list(client) == nil {
							succeeded.Add(1)
						}
					})
				}
				all.Wait()
			}
			on.Store(true)
			server.BanKey(server.APIKey(), time.Second)
			calls(60)
			assert.Positive(t, panics.Load())
			on.Store(false)
			succeeded.Store(0)
			calls(40)
			assert.EqualValues(t, 40, succeeded.Load())
			assert.Zero(t, open.Load(), "each start has its end")
		})
	}
}
