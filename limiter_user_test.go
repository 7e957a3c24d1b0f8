package petstore_test

import (
	"context"
	"errors"
	"net"
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

func TestLimiterOfTheUser(t *testing.T) {
	virtual(t, "need not know Retry-After", func(t *testing.T) {
		limiter := &permits{}
		client, service := scripted(t, []responder{status(429, ``, "Retry-After: 30"), fails(errRefused), success("createPet")},
			petstore.WithLimiter(limiter))
		_, err := client.CreatePet(t.Context(), newPet())
		require.NoError(t, err)
		assert.GreaterOrEqual(t, service.sent()[1].at.Sub(service.sent()[0].at), 30*time.Second)
		require.Len(t, limiter.released, limiter.acquired, "each permit is released once")
		var codes []int
		for _, o := range limiter.released {
			if o.Delivery == petstore.DeliveryAnswered {
				codes = append(codes, o.StatusCode)
			}
		}
		assert.Equal(t, []int{429, 201}, codes, "what was not sent is not observed")
	})
	t.Run("gets each permit back, and learns what was not carried out", func(t *testing.T) {
		for name, responders := range map[string][]responder{
			"success": {success("createPet")}, "error": {status(500, ``)}, "reset": {fails(errReset)},
			"refused": {fails(errRefused)}, "cut off": {cutOff(201, errReset)}, "limited": {status(429, ``)},
			"a panic": {func(*http.Request) (*http.Response, error) { panic("in the transport") }},
		} {
			virtual(t, name, func(t *testing.T) {
				limiter := &permits{}
				client, _ := scripted(t, responders, petstore.WithLimiter(limiter))
				func() {
					defer func() { assert.Equal(t, name == "a panic", recover() != nil) }()
					_, _ = client.CreatePet(t.Context(), newPet())
				}()
				require.Len(t, limiter.released, max(limiter.acquired, 1))
				assert.Equal(t, name == "refused" || name == "limited", limiter.released[0].NotDone)
				delivery, failed := map[string]petstore.Delivery{
					"refused": petstore.DeliveryNotSent, "reset": petstore.DeliveryNoResponse, "a panic": petstore.DeliveryNoResponse,
				}[name]
				assert.Equal(t, failed, limiter.released[0].Delivery == delivery)
				assert.Equal(t, !failed, limiter.released[0].Delivery == petstore.DeliveryAnswered)
			})
		}
	})
	t.Run("its refusal is the error of the call", func(t *testing.T) {
		at := time.Now().Add(time.Hour)
		client, service := scripted(t, []responder{success("listPets")},
			petstore.WithLimiter(returns(nil, &petstore.RateLimitError{RetryAt: at})))
		err := list(client)
		limited := as[*petstore.RateLimitError](t, err)
		assert.Equal(t, "listPets", limited.Operation)
		assert.Equal(t, at, limited.RetryAt)
		require.ErrorIs(t, err, petstore.ErrNotSent)
		assert.Empty(t, service.sent())
	})
	t.Run("may return a nil pointer as its error", func(t *testing.T) {
		for _, err := range []error{(*petstore.RateLimitError)(nil), (*net.OpError)(nil)} {
			permit := new(permits)
			client, _ := scripted(t, []responder{status(200, "[]")}, petstore.WithLimiter(returns(permit, err)))
			require.NoError(t, list(client))
			assert.Len(t, permit.released, 1)
		}
	})
	t.Run("may return a permit with an error: the permit is released", func(t *testing.T) {
		permit := new(permits)
		client, service := scripted(t, nil, petstore.WithLimiter(returns(permit, errors.New("no"))))
		require.Error(t, list(client))
		assert.Len(t, permit.released, 1)
		assert.Empty(t, service.sent())
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
	virtual(t, "counts as waiting for WithMaxWait, all of it", func(t *testing.T) {
		client, service := scripted(t, []responder{status(429, "", "Retry-After: 5")},
			petstore.WithLimiter(slow(petstore.NewLimiter(), 2*time.Second)), petstore.WithMaxWait(6*time.Second))
		err := list(client)
		require.ErrorIs(t, err, petstore.ErrRateLimited)
		assert.Len(t, service.sent(), 1)
	})
	virtual(t, "learns when a call asked first, and may report waits", func(t *testing.T) {
		inner, start := petstore.NewLimiter(), time.Now()
		var requests []petstore.LimitRequest
		l := limiterFunc(func(ctx context.Context, r petstore.LimitRequest) (petstore.Permit, error) {
			requests = append(requests, r)
			done := r.StartWait(petstore.Wait{Reason: petstore.WaitResponse, Waiting: 7})
			<-time.After(time.Second)
			done(time.Second)
			return inner.Acquire(ctx, r)
		})
		var begun, done []petstore.Wait
		client, _ := scripted(t, []responder{status(503, ""), status(200, "[]")}, petstore.WithLimiter(l),
			petstore.WithTrace(&petstore.ClientTrace{
				WaitStart: func(_ context.Context, w petstore.Wait) { begun = append(begun, w) },
				WaitDone:  func(_ context.Context, w petstore.Wait) { done = append(done, w) },
			}))
		for range 2 {
			require.NoError(t, list(client, petstore.WithMaxWait(0)))
		}
		require.Len(t, requests, 3)
		assert.Equal(t, start, requests[1].Asked, "a retried call keeps its place")
		assert.True(t, requests[2].Asked.After(start))
		assert.NotEmpty(t, requests[0].Call.KeyID)
		require.Len(t, begun, 4, "with the backoff")
		assert.Equal(t, "listPets", begun[0].Call.Operation)
		assert.Equal(t, 7, begun[0].Waiting)
		assert.Zero(t, begun[0].Duration)
		assert.Equal(t, petstore.WaitBackoff, begun[1].Reason)
		assert.Equal(t, time.Second, done[0].Duration)
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

func TestReopenOfAWrappedLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t)
		client := server.Client(petstore.WithLimiter(fewAtOnce{petstore.NewLimiter(), make(chan struct{}, 2)}))
		server.BanKey(server.APIKey(), time.Hour)
		require.ErrorIs(t, list(client), petstore.ErrRateLimited)
		server.BanKey(server.APIKey(), 0)
		require.ErrorIs(t, list(client), petstore.ErrRateLimited)
		client.ReopenLimit()
		require.NoError(t, list(client))
	})
}

// hooked returns a trace that calls a hook with the name of each function, and counts the starts
// without an end.
func hooked(hook func(function string), open *atomic.Int64) *petstore.ClientTrace {
	return &petstore.ClientTrace{
		CallStart:    func(ctx context.Context, _ petstore.Call) context.Context { open.Add(1); hook("CallStart"); return ctx },
		CallDone:     func(context.Context, petstore.CallDoneInfo) { open.Add(-1); hook("CallDone") },
		WaitStart:    func(context.Context, petstore.Wait) { open.Add(1); hook("WaitStart") },
		WaitDone:     func(context.Context, petstore.Wait) { open.Add(-1); hook("WaitDone") },
		AttemptStart: func(context.Context, petstore.Call) { open.Add(1); hook("AttemptStart") },
		AttemptDone:  func(context.Context, petstore.AttemptDoneInfo) { open.Add(-1); hook("AttemptDone") },
		LimitClosed:  func(context.Context, petstore.LimitInfo) { hook("LimitClosed") },
		LimitOpened:  func(context.Context, petstore.LimitInfo) { hook("LimitOpened") },
	}
}

// hookedPermit calls a hook after its release.
type hookedPermit struct {
	petstore.Permit
	hook func(function string)
}

func (p hookedPermit) Release(o petstore.Observation) {
	p.Permit.Release(o)
	p.hook("Release")
}

// TestPanicOfTheUser has a panic in each function of the user, which must leave nothing held.
func TestPanicOfTheUser(t *testing.T) {
	for _, function := range []string{
		"CallStart", "CallDone", "WaitStart", "WaitDone", "AttemptStart", "AttemptDone", "LimitClosed", "LimitOpened",
		"Acquire", "Release", "transport", "key",
	} {
		virtual(t, function, func(t *testing.T) {
			var on atomic.Bool
			var panics atomic.Int64
			var open [3]atomic.Int64
			hook := func(at string) {
				if at == function && on.Load() {
					panics.Add(1)
					panic("user")
				}
			}
			harmless := func(string) {}
			inner := petstore.NewLimiter()
			limiter := limiterFunc(func(ctx context.Context, r petstore.LimitRequest) (petstore.Permit, error) {
				hook("Acquire")
				permit, err := inner.Acquire(ctx, r)
				if err != nil {
					return nil, err
				}
				return hookedPermit{permit, hook}, nil
			})
			server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(30, 0)), fake.WithLatency(100*time.Millisecond))
			transport := responder(func(r *http.Request) (*http.Response, error) {
				hook("transport")
				return server.HTTPClient().Transport.RoundTrip(r)
			})
			client := newClient(t, transport, "", petstore.WithMaxWait(time.Hour), petstore.WithLimiter(limiter),
				petstore.WithTrace(hooked(harmless, &open[0])), petstore.WithTrace(hooked(hook, &open[1])), petstore.WithTrace(hooked(harmless, &open[2])),
				petstore.WithAPIKeyFunc(func(context.Context) (string, error) { hook("key"); return server.APIKey(), nil }))
			succeed := func(n int) (succeeded int64) {
				var all sync.WaitGroup
				var ok atomic.Int64
				for range n {
					all.Go(func() {
						defer func() { _ = recover() }()
						if list(client) == nil {
							ok.Add(1)
						}
					})
				}
				all.Wait()
				return ok.Load()
			}
			on.Store(true)
			server.BanKey(server.APIKey(), time.Second)
			succeed(60)
			assert.Positive(t, panics.Load())
			on.Store(false)
			assert.EqualValues(t, 40, succeed(40))
			for i := range open {
				assert.Zero(t, open[i].Load(), "each start has its end")
			}
		})
	}
}
