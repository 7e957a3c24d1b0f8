package petstore_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/ratelimit"
)

// A service that closes each connection when it has read its second request.
func TestAttemptIsOneRequest(t *testing.T) {
	virtual(t, "a read whose connection is stale is repeated at once, by the client", func(t *testing.T) {
		var read atomic.Int64
		transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			conn, service := net.Pipe()
			go func() {
				defer service.Close()
				for reader, n := bufio.NewReader(service), 1; ; n++ {
					if _, err := http.ReadRequest(reader); err != nil {
						return
					}
					if read.Add(1); n == 2 {
						return
					}
					_, _ = io.WriteString(service, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n[]")
				}
			}()
			return conn, nil
		}}
		defer transport.CloseIdleConnections()
		limiter := new(permits)
		client, err := petstore.NewClient("http://service.test/v1", testKey, petstore.WithInsecureHTTP(),
			petstore.WithHTTPClient(&http.Client{Transport: transport}), petstore.WithLimiter(limiter),
			petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 2, BaseDelay: time.Hour}))
		require.NoError(t, err)
		require.NoError(t, list(client))
		start := time.Now()
		result, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
		assert.Equal(t, 2, result.Attempts)
		assert.Zero(t, time.Since(start))
		err = list(client, petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 1}))
		require.NotErrorIs(t, err, petstore.ErrNotSent, "the service has read it")
		assert.EqualValues(t, 4, read.Load())
		assert.Equal(t, 4, limiter.acquired, "a permit for each request")
	})
}

func TestWriteWithoutBody(t *testing.T) {
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		virtual(t, method+" is tried again after a refused dial, and only then", func(t *testing.T) {
			for _, c := range []struct {
				err      error
				requests int
				unknown  bool
			}{{errRefused, 4, false}, {errReset, 1, true}} {
				client, service := scripted(t, []responder{fails(c.err)})
				_, err := client.Do(t.Context(), method, "pets/7", nil, nil)
				assert.Len(t, service.sent(), c.requests)
				assert.Equal(t, c.unknown, errors.Is(err, petstore.ErrOutcomeUnknown), "%v", err)
				assert.Equal(t, !c.unknown, errors.Is(err, petstore.ErrNotSent), "%v", err)
			}
		})
	}
}

func TestTransportRefuses(t *testing.T) {
	open := fmt.Errorf("circuit open: %w", petstore.ErrNotSent)
	for operation, call := range operations {
		virtual(t, operation+" ends at once", func(t *testing.T) {
			client, service := scripted(t, []responder{fails(open)})
			err := call(client)
			assert.Len(t, service.sent(), 1)
			require.ErrorIs(t, err, petstore.ErrNotSent)
			require.NotErrorIs(t, err, petstore.ErrOutcomeUnknown)
			assert.Zero(t, as[*petstore.TransportError](t, err).Attempts)
		})
	}
	virtual(t, "but not a write whose body it has read", func(t *testing.T) {
		client, _ := scripted(t, []responder{func(r *http.Request) (*http.Response, error) {
			_, _ = io.Copy(io.Discard, r.Body)
			return nil, open
		}})
		require.ErrorIs(t, create(client), petstore.ErrOutcomeUnknown)
	})
}

// A limiter or an errgroup may end a context with the error of another call as its cause.
func TestCauseOfAnotherCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := &petstore.RateLimitError{RetryAt: time.Now().Add(time.Hour), Err: &petstore.APIError{RetryAfter: time.Hour}}
		closed := petstore.WithLimiter(ratelimit.New())
		for name, opts := range map[string][]petstore.Option{"in flight": nil, "waiting": {closed}} {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(fmt.Errorf("import: %w", cause)) })
			client, _ := scripted(t, []responder{hangs}, opts...)
			go func() { _ = list(client, petstore.WithAttemptTimeout(time.Minute)) }()
			synctest.Wait()
			_, err := client.ListPets(ctx, petstore.ListPetsParams{})
			require.ErrorIs(t, err, context.Canceled, name)
			require.ErrorContains(t, err, "import: ", name)
			_, known := petstore.RetryAfter(err)
			assert.False(t, known, name)
			_, api := errors.AsType[*petstore.APIError](err)
			assert.False(t, api, name)
			time.Sleep(time.Hour)
		}
	})
}

func TestCallStartKeepsTheCallersDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		for name, change := range map[string]func(context.Context) context.Context{
			"detached": context.WithoutCancel,
			"ended": func(ctx context.Context) context.Context {
				ctx, cancel := context.WithCancel(ctx)
				cancel()
				return ctx
			},
			"another": func(context.Context) context.Context { return context.Background() },
		} {
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("the user left"))
			defer cancel()
			client, _ := scripted(t, []responder{func(r *http.Request) (*http.Response, error) {
				assert.Equal(t, 7, r.Context().Value(key{}), name)
				_, ok := petstore.CallFromContext(r.Context())
				assert.True(t, ok)
				return hangs(r)
			}}, petstore.WithTrace(&petstore.ClientTrace{CallStart: func(ctx context.Context, _ petstore.Call) context.Context {
				return context.WithValue(change(ctx), key{}, 7)
			}}))
			start := time.Now()
			_, err := client.ListPets(ctx, petstore.ListPetsParams{})
			require.ErrorIs(t, err, context.DeadlineExceeded, name)
			require.ErrorContains(t, err, "the user left", name)
			assert.Equal(t, time.Second, time.Since(start), name)
		}
	})
}

func TestHTTPClientTimeoutAndAttemptTimeout(t *testing.T) {
	for name, c := range map[string]struct{ client, call, want time.Duration }{
		"the client's is shorter": {time.Second, time.Hour, time.Second}, "the call's is shorter": {time.Hour, time.Second, time.Second},
		"the call has none": {time.Second, 0, time.Second}, "only the call has one": {0, 2 * time.Second, 2 * time.Second},
	} {
		virtual(t, name, func(t *testing.T) {
			hc := &http.Client{Transport: responder(hangs), Timeout: c.client}
			client, err := petstore.NewClient("https://service.test/v1", testKey, petstore.WithHTTPClient(hc),
				petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 1}))
			require.NoError(t, err)
			start := time.Now()
			require.ErrorIs(t, list(client, petstore.WithAttemptTimeout(c.call)), petstore.ErrTimeout)
			assert.Equal(t, c.want, time.Since(start))
			assert.Equal(t, c.client, hc.Timeout, "it is the caller's")
		})
	}
}

func TestTransportMayKeepAndChangeWhatItGets(t *testing.T) {
	cached := response(nil, 200, http.NoBody)
	cached.Header.Set("X-Cache", "hit")
	client, service := scripted(t, []responder{func(r *http.Request) (*http.Response, error) {
		for _, values := range r.Header {
			values[0] = "overwritten"
		}
		resp := *cached
		resp.Body = io.NopCloser(strings.NewReader("[]"))
		return &resp, nil
	}}, petstore.WithHeader("X-Team", "core"))
	for range 2 {
		result, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
		assert.Equal(t, "hit", result.Header.Get("X-Cache"))
		result.Header.Set("X-Cache", "changed")
	}
	assert.Equal(t, service.sent()[0].header, service.sent()[1].header)
	assert.Equal(t, "Bearer "+testKey, service.sent()[1].header.Get("Authorization"))
}

func TestBodyThatNeverEnds(t *testing.T) {
	client, _ := scripted(t, []responder{func(r *http.Request) (*http.Response, error) {
		return response(r, 200, failingReader{func() error { return nil }}), nil // (0, nil) for ever
	}}, petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 1}))
	require.ErrorIs(t, list(client), io.ErrNoProgress)
}

func TestHeaderNameThatRepeatsTheKey(t *testing.T) {
	name := "X" + strings.Repeat(testKey, 1<<15)
	client, _ := scripted(t, []responder{status(200, "[]", name+": "+testKey)})
	result, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
	require.NoError(t, err)
	assert.Equal(t, http.Header{"Content-Type": {"application/json"}}, result.Header)
}

// A write that waited is not sent as a gamble: its response would come after the deadline.
func TestDeadlineIsNoGamble(t *testing.T) {
	for operation, sample := range samples {
		for left, waits := range map[time.Duration]bool{500 * time.Millisecond: false, 1500 * time.Millisecond: true} {
			virtual(t, fmt.Sprint(operation, " with ", left, " left after a 429"), func(t *testing.T) {
				slowly := func(respond responder) responder {
					return func(r *http.Request) (*http.Response, error) { time.Sleep(time.Second); return respond(r) }
				}
				success := status(sample.code, sample.body)
				client, service := scripted(t, []responder{slowly(status(429, "", "Retry-After: 10")), slowly(success)},
					petstore.WithLimiter(ratelimit.New()), petstore.WithRetryPolicy(petstore.RetryPolicy{BaseDelay: 1, MaxDelay: 1}))
				start := time.Now()
				err := sample.call(client, petstore.WithCallTimeout(11*time.Second+left))
				if waits {
					require.NoError(t, err)
					return
				}
				require.NotErrorIs(t, err, petstore.ErrOutcomeUnknown)
				if sample.writes {
					require.ErrorIs(t, err, petstore.ErrRateLimited)
					assert.Len(t, service.sent(), 1)
					assert.Equal(t, time.Second, time.Since(start), "it does not wait for nothing")
				}
			})
		}
	}
	virtual(t, "after the wait for the response of another request", func(t *testing.T) {
		client, service := scripted(t, []responder{func(r *http.Request) (*http.Response, error) {
			time.Sleep(900 * time.Millisecond) // after a second, the limiter would not wait for it
			return status(201, onePet)(r)
		}}, petstore.WithLimiter(ratelimit.New()))
		go func() { _ = create(client) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		_, err := client.CreatePet(ctx, newPet())
		require.ErrorIs(t, err, petstore.ErrNotSent)
		require.ErrorContains(t, err, "less time is left than responses take")
		assert.Len(t, service.sent(), 1)
	})
}

func TestDoRaw(t *testing.T) {
	const csv = "id,name\n7,Rex\n"
	text := []petstore.CallOption{petstore.WithHeader("Content-Type", "text/csv"), petstore.WithHeader("Accept", "text/csv")}
	for name, in := range map[string]any{"[]byte": []byte(csv), "RawMessage": json.RawMessage(csv)} {
		client, service := scripted(t, []responder{status(200, csv, "Content-Type: ", "Content-Type: text/csv"), status(200, "", "Content-Type: ")})
		var out []byte
		_, err := client.Do(t.Context(), "POST", "imports", in, &out, text...)
		require.NoError(t, err, name)
		assert.Equal(t, csv, string(out))
		var raw json.RawMessage
		_, err = client.Do(t.Context(), "PUT", "imports", []byte{}, &raw, text...)
		require.NoError(t, err, name)
		assert.Empty(t, raw)
		sent := service.sent()
		assert.Equal(t, csv, sent[0].body)
		assert.Equal(t, []string{"text/csv"}, sent[0].header["Content-Type"])
		assert.Equal(t, []string{"text/csv"}, sent[0].header["Accept"])
		_, err = client.Do(t.Context(), "POST", "imports", struct{}{}, &out, text...)
		require.ErrorIs(t, err, petstore.ErrInvalidArgument, "the client encodes it")
		require.ErrorIs(t, create(client, text...), petstore.ErrInvalidArgument)
	}
	client, service := scripted(t, []responder{status(200, csv)})
	in := []byte(`{"name":"Rex"}`)
	_, err := client.Do(t.Context(), "POST", "pets", in, nil)
	require.NoError(t, err)
	assert.True(t, bytes.Equal(in, []byte(service.sent()[0].body)), "JSON that is encoded already")
}

func TestForKeyOptions(t *testing.T) {
	client, service := scripted(t, []responder{status(200, "[]")}, petstore.WithHeader("X-Team", "core"))
	stop, end := context.WithCancel(t.Context())
	tenant, err := client.ForKey("key-of-a-tenant", petstore.WithUserAgent("tenant/1"), petstore.WithStop(stop))
	require.NoError(t, err)
	require.NoError(t, list(tenant))
	sent := service.sent()[0].header
	assert.Equal(t, "Bearer key-of-a-tenant", sent.Get("Authorization"))
	assert.Equal(t, "tenant/1 petstore-go/"+petstore.Version, sent.Get("User-Agent"))
	assert.Equal(t, "core", sent.Get("X-Team"))
	end()
	require.ErrorIs(t, list(tenant), petstore.ErrStopped)
	require.NoError(t, list(client), "which is not stopped")
	for name, opt := range map[string]petstore.Option{
		"WithHTTPClient": petstore.WithHTTPClient(new(http.Client)), "WithInsecureHTTP": petstore.WithInsecureHTTP(),
		"WithTransport":  petstore.WithTransport(func(t http.RoundTripper) http.RoundTripper { return t }),
		"WithAPIKeyFunc": petstore.WithAPIKeyFunc(func(context.Context) (string, error) { return "", nil }),
	} {
		_, err := client.ForKey("key-of-a-tenant", opt)
		assert.Equal(t, name, as[*petstore.ArgumentError](t, err).Argument)
	}
	_, err = client.ForKey("key-of-a-tenant", petstore.WithProcesses(2), petstore.WithLimiter(nil))
	assert.Equal(t, &petstore.ArgumentError{
		Operation: "ForKey", Argument: "WithProcesses", Reason: "cannot be combined with WithLimiter; give the number to the limiter",
	}, err)
}

func TestErrAPIKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		vault := errors.New("sealed")
		for _, c := range []struct {
			key string
			err error
		}{{"", vault}, {"not a key", nil}, {"", nil}} {
			client, service := rotating(t, func(context.Context) (string, error) { return c.key, c.err }, nil)
			err := create(client)
			require.ErrorIs(t, err, petstore.ErrAPIKey)
			require.ErrorIs(t, err, petstore.ErrNotSent)
			require.Equal(t, c.err != nil, errors.Is(err, vault))
			assert.Empty(t, service.sent())
		}
	})
}
