package petstore_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/ratelimit"
)

func TestClientFormat(t *testing.T) {
	client := newClient(t, nil, testKey)
	for _, verb := range []string{"%v", "%+v", "%#v", "%d", "%x"} {
		assert.Equal(t, "petstore.Client(https://service.test/v1)", fmt.Sprintf(verb, client))
	}
	assert.Equal(t, client.String(), client.LogValue().String())
}

func TestClientRateLimit(t *testing.T) {
	counted := status(200, `[]`, quota(60, 41, time.Minute)...)
	client, _ := scripted(t, []responder{counted, status(200, `[]`)}, petstore.WithLimiter(ratelimit.New()))
	assert.True(t, client.RateLimit().IsZero())
	for range 2 {
		require.NoError(t, list(client))
	}
	assert.Equal(t, 60, client.RateLimit().Limit, "a response without headers changes nothing")
	another, err := client.ForKey(testKey)
	require.NoError(t, err)
	assert.Equal(t, client.RateLimit(), another.RateLimit(), "it has sent nothing, but shares the key and the limiter")
	rotates, _ := rotating(t, func(context.Context) (string, error) { return testKey, nil },
		[]responder{counted}, petstore.WithLimiter(ratelimit.New()))
	assert.Empty(t, rotates.KeyID(), "it has no key yet")
	require.NoError(t, list(rotates))
	assert.Equal(t, 41, rotates.RateLimit().Remaining, "of the key that was used last")
	tenant, err := rotates.ForKey("key-of-a-tenant")
	require.NoError(t, err)
	require.NoError(t, list(tenant))
	assert.NotEmpty(t, tenant.KeyID(), "it does not rotate")

	closed, _ := scripted(t, []responder{status(429, "", "Retry-After: 60"), counted},
		petstore.WithLimiter(ratelimit.New()), petstore.WithMaxWait(0))
	for range 2 {
		require.ErrorIs(t, list(closed), petstore.ErrRateLimited)
	}
	closed.ReopenLimit()
	require.NoError(t, list(closed))
	unlimited, _ := scripted(t, []responder{counted})
	require.NoError(t, list(unlimited))
	unlimited.ReopenLimit()
	assert.Zero(t, unlimited.RateLimit(), "there is no limiter")
}

func TestClientForKey(t *testing.T) {
	t.Run("takes the options and traces of the client, and its own as well", func(t *testing.T) {
		var told []string
		trace := func(name string) petstore.Option {
			return petstore.WithTrace(&petstore.ClientTrace{
				AttemptStart: func(context.Context, petstore.Call) { told = append(told, name) },
			})
		}
		client, service := scripted(t, []responder{status(200, "[]")}, petstore.WithHeader("X-Team", "core"),
			trace("1"), trace("2"), trace("3"))
		stop, end := context.WithCancel(t.Context())
		tenant, err := client.ForKey("key-of-a-tenant", trace("own"),
			petstore.WithHeader("User-Agent", "tenant/1"), petstore.WithStop(stop))
		require.NoError(t, err)
		_, err = client.ForKey("key-of-another", trace("another's"))
		require.NoError(t, err)
		require.NoError(t, list(tenant))
		assert.Equal(t, []string{"1", "2", "3", "own"}, told)
		sent := service.sent()[0].header
		assert.Equal(t, "Bearer key-of-a-tenant", sent.Get("Authorization"))
		assert.NotEqual(t, client.KeyID(), tenant.KeyID())
		assert.Equal(t, "tenant/1 petstore-go/"+petstore.Version, sent.Get("User-Agent"))
		assert.Equal(t, "core", sent.Get("X-Team"))
		end()
		require.ErrorIs(t, list(tenant), petstore.ErrStopped)
		require.NoError(t, list(client), "which is not stopped")
	})
}

// The transports of WithTransport wrap each other, the last one outermost. If a transport changes a
// request, the next attempt still begins with the unchanged request.
func TestWithTransport(t *testing.T) {
	var ids []string // of calls
	inner := func(http.RoundTripper) http.RoundTripper {
		return responder(func(r *http.Request) (*http.Response, error) {
			assert.Equal(t, "changed", r.Header.Get("X-Team"))
			call, _ := petstore.CallFromContext(r.Context())
			ids = append(ids, call.ID)
			return status([]int{503, 200}[call.Attempt-1], "[]", "X-Cache: hit")(r)
		})
	}
	outer := func(next http.RoundTripper) http.RoundTripper {
		return responder(func(r *http.Request) (*http.Response, error) {
			assert.Equal(t, "https://service.test/v1/pets", r.URL.String())
			assert.Equal(t, "Bearer "+testKey, r.Header.Get("Authorization"))
			assert.Equal(t, "core", r.Header.Get("X-Team"))
			for _, values := range r.Header {
				values[0] = "changed"
			}
			r.URL.Path = "/changed"
			return next.RoundTrip(r)
		})
	}
	client := newClient(t, nil, testKey, petstore.WithHeader("X-Team", "core"),
		petstore.WithTransport(inner), petstore.WithTransport(outer), quick)
	for range 2 {
		result, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
		assert.Equal(t, "hit", result.Header.Get("X-Cache"))
		assert.Equal(t, 2, result.Attempts)
	}
	assert.Regexp(t, `^[0-9a-f]{16}$`, ids[0])
	assert.Equal(t, ids[0], ids[1])
	assert.NotEqual(t, ids[0], ids[2])
}

// TestIdleConnections checks that the next request uses the connection of the last response.
func TestIdleConnections(t *testing.T) {
	callers := new(http.Transport)
	for name, row := range map[string]struct {
		opt  petstore.Option
		last int // number of the connection that is used after CloseIdleConnections
	}{
		"its own": {petstore.WithTransport(func(own http.RoundTripper) http.RoundTripper { return own }), 2},
		"a clone": {petstore.WithTransport(func(own http.RoundTripper) http.RoundTripper {
			return own.(*http.Transport).Clone()
		}), 2},
		"of the caller": {petstore.WithHTTPClient(&http.Client{Transport: callers}), 1},
	} {
		virtual(t, name, func(t *testing.T) {
			defer callers.CloseIdleConnections()
			var used []int // numbers of connections
			server := fake.NewTestServer(t, fake.WithKey(testKey, fake.PlanFree), fake.WithFaults(
				fake.Fault{Status: 503, Body: bytes.Repeat([]byte("x"), 50_000)},
				fake.Fault{Status: 404}, fake.Fault{Body: []byte(`[{]`)},
				fake.Fault{Status: 302, Header: http.Header{"Location": {"/v1/elsewhere"}}},
			))
			client := served(t, false, func(w http.ResponseWriter, r *http.Request, conn int) {
				used = append(used, conn)
				server.ServeHTTP(w, r)
			}, row.opt)
			other, err := client.ForKey(testKey)
			require.NoError(t, err)
			for range 3 { // the 503 has a retry
				require.Error(t, list(client))
			}
			for range 2 {
				require.NoError(t, list(other))
				other.CloseIdleConnections()
			}
			assert.Equal(t, []int{1, 1, 1, 1, 1, row.last}, used)
		})
	}
}

// A limiter gets each permit back. It need not know Retry-After: the client waits for that.
func TestWithLimiter(t *testing.T) {
	panics := func(*http.Request) (*http.Response, error) { panic("in the transport") }
	gaveUp := func(r *http.Request) (*http.Response, error) {
		time.Sleep(time.Hour) // longer than the timeout of the call; this transport ignores contexts
		return hangs(r)
	}
	limiter := new(permits) // of the subtest
	body := failingReader(func() error {
		assert.Len(t, limiter.released, 1, "the permit is released before the body is read")
		return errReset
	})
	for name, c := range map[string]struct {
		responders []responder
		want       []string // outcome of each permit
		panics     bool
	}{
		"cut off": {responders: []responder{func(r *http.Request) (*http.Response, error) {
			return response(r, 201, body), nil
		}}, want: []string{"201"}},
		"a slow response":        {responders: []responder{hangs}, want: []string{"no response"}},
		"a panic":                {responders: []responder{panics}, want: []string{"no response"}, panics: true},
		"given up by its caller": {responders: []responder{gaveUp}, want: []string{"abandoned"}},
		"429, refused, success": {
			responders: []responder{status(429, ``, "Retry-After: 30"), fails(errRefused), status(201, onePet)},
			want:       []string{"429", "not sent", "201"},
		},
	} {
		virtual(t, name, func(t *testing.T) {
			limiter = new(permits)
			client, service := scripted(t, c.responders,
				petstore.WithLimiter(limiter), petstore.WithCallTimeout(time.Minute))
			func() {
				defer func() { assert.Equal(t, c.panics, recover() != nil) }()
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
	virtual(t, "learns the Retry-After of a 429, also if its own lockout is shorter", func(t *testing.T) {
		var pause time.Duration
		client, _ := scripted(t, []responder{status(429, "", "Retry-After: 5"), status(200, "[]")}, petstore.WithLimiter(
			limiterFunc(func(_ context.Context, r ratelimit.Request) (ratelimit.Permit, error) {
				pause = time.Until(r.NotBefore)
				return closed(time.Second), nil
			})))
		require.NoError(t, list(client))
		assert.Equal(t, 5*time.Second, pause)
	})
	virtual(t, "learns what the call asks for, and may be slow", func(t *testing.T) {
		start, keyID := time.Now(), ""
		var requests []string
		var last context.Context
		limiter := limiterFunc(func(ctx context.Context, r ratelimit.Request) (ratelimit.Permit, error) {
			asked, notBefore := r.Asked.Sub(start), max(0, r.NotBefore.Sub(start))
			requests = append(requests, fmt.Sprintf("MaxWait %.0f, Asked %.0f, NotBefore %.0f",
				r.MaxWait.Seconds(), asked.Seconds(), notBefore.Seconds()))
			assert.True(t, r.Background)
			last = ctx
			assert.Equal(t, keyID, r.Key)
			<-time.After(3 * time.Second)
			return new(permits), nil
		})
		inTime := func(r *http.Request) (*http.Response, error) {
			deadline, _ := r.Context().Deadline()
			assert.Equal(t, 2*time.Second, time.Until(deadline), "the timeout begins after the limiter")
			return status(200, "[]")(r)
		}
		busy := status(503, "")
		client, _ := scripted(t, []responder{busy, status(429, "", "Retry-After: 30"), inTime, busy, inTime},
			petstore.WithLimiter(limiter), petstore.WithStop(t.Context()), petstore.WithAttemptTimeout(2*time.Second), quick)
		keyID = client.KeyID()
		for _, maxWait := range []time.Duration{time.Minute, time.Second} {
			require.NoError(t, list(client, petstore.WithMaxWait(maxWait), petstore.WithBackground()))
		}
		assert.Error(t, last.Err(), "the call leaves nothing in the contexts of its caller")
		// Waits in the limiter and pauses after a 429 shorten MaxWait. All attempts of a call have
		// the same Asked, and so the same place in the queue.
		assert.Equal(t, []string{
			"MaxWait 60, Asked 0, NotBefore 0", "MaxWait 57, Asked 0, NotBefore 2",
			"MaxWait 24, Asked 0, NotBefore 36", "MaxWait 1, Asked 39, NotBefore 0", "MaxWait 0, Asked 39, NotBefore 41",
		}, requests)
	})
}

// limiterFunc is a user's limiter that has only an Acquire.
type limiterFunc func(ctx context.Context, r ratelimit.Request) (ratelimit.Permit, error)

func (f limiterFunc) Acquire(ctx context.Context, r ratelimit.Request) (ratelimit.Permit, error) {
	return f(ctx, r)
}

func (limiterFunc) RateLimit(string) petstore.RateLimit { return petstore.RateLimit{} }

func (limiterFunc) Reopen(string) {}

// refusesBy sets a limiter that returns an error from each Acquire.
func refusesBy(err error) petstore.Option {
	return petstore.WithLimiter(limiterFunc(
		func(context.Context, ratelimit.Request) (ratelimit.Permit, error) { return nil, err }))
}

// closed is a permit whose limiter then closes the key for this time.
type closed time.Duration

func (c closed) Release(ratelimit.Outcome) ratelimit.Lockout {
	return ratelimit.Lockout{Until: time.Now().Add(time.Duration(c))}
}

// permits admits all requests immediately and records their outcomes. It is its own permit, and is
// used by one goroutine at a time.
type permits struct {
	petstore.Limiter
	acquired int
	released []ratelimit.Outcome
}

func (l *permits) Acquire(context.Context, ratelimit.Request) (ratelimit.Permit, error) {
	l.acquired++
	return l, nil
}

func (l *permits) Release(o ratelimit.Outcome) ratelimit.Lockout {
	l.released = append(l.released, o)
	return ratelimit.Lockout{Until: time.Now().Add(-time.Second)} // it has ended already
}
