package petstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
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
	"github.com/petstore/petstore-go/internal/loopback"
)

func TestRateLimitedCall(t *testing.T) {
	t.Run("waits for the next minute, and the log shows it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(3, 0)), fake.WithStrict(),
				fake.WithLatency(100*time.Millisecond))
			var log lockedBuilder
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
	t.Run("sends nothing until the ban is over", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			server := fake.NewTestServer(t)
			client := server.Client()
			require.NoError(t, list(client))
			server.BanKey(server.APIKey(), time.Hour)
			err := list(client)
			limited, ok := errors.AsType[*petstore.RateLimitError](err)
			require.True(t, ok, "%T: %v", err, err)
			assert.Positive(t, limited.Attempts)
			_, ok = errors.AsType[*petstore.APIError](err)
			assert.True(t, ok)
			for range 5 {
				require.ErrorIs(t, list(client), petstore.ErrRateLimited)
			}
			assert.Len(t, server.Requests(), 2)
			time.Sleep(61 * time.Minute)
			require.NoError(t, list(client))
		})
	})
}

// lockedBuilder is a strings.Builder that may be read while a handler of slog writes to it.
type lockedBuilder struct {
	mu sync.Mutex
	strings.Builder
}

func (b *lockedBuilder) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Builder.Write(p)
}

func (b *lockedBuilder) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Builder.String()
}

func TestWithLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t, fake.WithPlan(fake.PlanFree), fake.WithBan(1, time.Hour), fake.WithStrict())
		limiter := petstore.NewLimiter()
		start := time.Now()
		var group sync.WaitGroup
		for range 2 {
			client := server.Client(petstore.WithLimiter(limiter))
			for range 60 {
				group.Go(func() { assert.NoError(t, list(client)) })
			}
		}
		group.Wait()
		assert.Zero(t, server.Usage(server.APIKey()).Limited)
		assert.InDelta(t, 60, time.Since(start).Seconds(), 2)
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

// orders is a service with a further path, orders, under the limits of a fake. It loses each seventh
// response, half of them before the request was carried out.
type orders struct {
	*fake.Server
	requests atomic.Int64
	mu       sync.Mutex
	posts    map[string]int // by their bodies
}

func (o *orders) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if r.Method == http.MethodPost {
		o.mu.Lock()
		o.posts[string(body)]++
		o.mu.Unlock()
	}
	n := o.requests.Add(1)
	if n%14 == 0 {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.URL.Path = strings.Replace(r.URL.Path, "orders", "pets", 1)
	o.Server.ServeHTTP(w, r)
	if n%7 == 0 {
		panic(http.ErrAbortHandler)
	}
}

// RoundTrip is the service as a transport of the user.
func (o *orders) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	defer func() {
		if recover() != nil {
			err = io.ErrUnexpectedEOF
		}
	}()
	w := httptest.NewRecorder()
	o.ServeHTTP(w, r.Clone(r.Context()))
	return w.Result(), nil
}

func TestDoBesideOtherCalls(t *testing.T) {
	for name, http2 := range map[string]bool{"over HTTP/1": false, "over HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loopback.Need(t)
			service := &orders{Server: fake.NewTestServer(t), posts: map[string]int{}}
			server := httptest.NewUnstartedServer(service)
			server.EnableHTTP2 = http2
			server.StartTLS()
			t.Cleanup(server.Close)
			callAndDo(t, service, server.URL, server.Client())
		})
	}
	t.Run("through a transport of the user, over several windows", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			service := &orders{Server: fake.NewTestServer(t, fake.WithPlan(fake.PlanFree)), posts: map[string]int{}}
			callAndDo(t, service, "https://service.test", &http.Client{Transport: service})
		})
	})
}

// callAndDo has 64 goroutines call the service, half of them through Do.
func callAndDo(t *testing.T, service *orders, url string, hc *http.Client) {
	t.Helper()
	client, err := petstore.NewClient(url+"/v1", fake.DefaultAPIKey, petstore.WithHTTPClient(hc), petstore.WithMaxWait(time.Hour))
	require.NoError(t, err)
	var created atomic.Int64
	var group sync.WaitGroup
	for n := range 32 {
		group.Go(func() {
			for range 6 {
				_ = list(client)
			}
		})
		group.Go(func() {
			for round := range 6 {
				pet := petstore.NewPet{Name: fmt.Sprintf("%d-%d", n, round), CategoryID: 1}
				_, err := client.Do(t.Context(), http.MethodPost, "orders", pet, nil)
				assert.Equal(t, err != nil, errors.Is(err, petstore.ErrOutcomeUnknown), "%v", err)
				if err == nil {
					created.Add(1)
				}
			}
		})
	}
	group.Wait()
	service.AssertNoLimited(t)
	assert.Greater(t, created.Load(), int64(32*4))
	assert.LessOrEqual(t, int(created.Load()), len(service.posts))
	for body, times := range service.posts {
		assert.Equal(t, 1, times, body)
	}
}
