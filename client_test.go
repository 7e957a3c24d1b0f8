package petstore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
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

func TestNewClient(t *testing.T) {
	t.Run("refuses an invalid base URL or key, and does not repeat it", func(t *testing.T) {
		for url, reason := range map[string]string{
			"https://user:pw-hidden@service.test/v1": "has user information; pass the API key as apiKey",
			"http://hidden.test/v1":                  "is plain http to a host that is not loopback; see WithInsecureHTTP",
		} {
			client, err := petstore.NewClient(url, testKey)
			require.Nil(t, client)
			assert.Equal(t, &petstore.ArgumentError{Operation: "NewClient", Argument: "baseURL", Reason: reason}, err)
		}
		_, err := petstore.NewClient("https://service.test/v1", "hidden\r\nX-Evil: 1")
		assert.Equal(t, &petstore.ArgumentError{Operation: "NewClient", Argument: "apiKey", Reason: "has a character that a bearer token cannot have"}, err)
		_, err = petstore.NewClient("http://service.test/v1", testKey, petstore.WithInsecureHTTP())
		assert.NoError(t, err)
	})
	t.Run("refuses invalid options by name", func(t *testing.T) {
		key := func(context.Context) (string, error) { return testKey, nil }
		for _, c := range []struct {
			argument string
			opt      petstore.Option
		}{
			{"option 1", nil},
			{"option 1", petstore.Options(nil)},
			{"WithHTTPClient", petstore.WithHTTPClient(nil)},
			{"WithUserAgent", petstore.WithUserAgent("x\r\ny")},
			{"WithAPIKeyFunc", petstore.WithAPIKeyFunc(nil)},
			{"apiKey", petstore.WithAPIKeyFunc(key)}, // and there is a key, too
			{"WithMaxResponseBytes", petstore.WithMaxResponseBytes(0)},
			{"WithMaxWait", petstore.WithMaxWait(-1)},
			{"WithMaxWait", petstore.Options(petstore.WithMaxWait(-1))},
			{"WithAttemptTimeout", petstore.WithAttemptTimeout(-1)},
			{"WithCallTimeout", petstore.WithCallTimeout(-1)},
			{"WithRetryPolicy", petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: -1})},
			{"WithRetryPolicy", petstore.WithRetryPolicy(petstore.RetryPolicy{BaseDelay: 2, MaxDelay: 1})},
			{"WithHeader", petstore.WithHeader("a b", "x")},
			{"WithTrace", petstore.WithTrace(nil)},
			{"WithTransport", petstore.WithTransport(nil)},
			{"WithTransport", petstore.WithTransport(func(http.RoundTripper) http.RoundTripper { return nil })},
			{"WithStop", petstore.WithStop(nil)}, //lint:ignore SA1012 nil is the case
			{"WithHTTPClient", petstore.WithHTTPClient(&http.Client{Jar: new(cookiejar.Jar)})},
			{"WithHeader", petstore.WithHeader("Content-Type", "text/csv")},
		} {
			_, err := petstore.NewClient("https://service.test/v1", testKey, c.opt)
			assert.Equal(t, c.argument, as[*petstore.ArgumentError](t, err).Argument)
		}
	})
}

func TestWithHeader(t *testing.T) {
	for _, key := range []string{
		"authorization", "Host", "Content-Length", "content-type", "TE", "Connection", "", "a:b",
		"Idempotency-Key", "x-idempotency-key", // with these, net/http repeats a POST if a kept connection breaks
	} {
		_, err := petstore.NewClient("https://service.test/v1", testKey, petstore.WithHeader(key, "x"))
		require.ErrorIs(t, err, petstore.ErrInvalidArgument, key)
	}
	client, service := scripted(t, []responder{status(200, `[]`)}, petstore.WithHeader("X-Team", "core"))
	require.NoError(t, list(client, petstore.WithHeader("x-team", "edge")))
	refused := as[*petstore.ArgumentError](t, list(client, petstore.WithHeader("x-trace", "a\nb")))
	assert.Equal(t, &petstore.ArgumentError{Operation: "listPets", Argument: "WithHeader", Reason: "has an invalid value"}, refused)
	require.NoError(t, list(client))
	require.Len(t, service.sent(), 2)
	assert.Equal(t, []string{"edge"}, service.sent()[0].header["X-Team"], "a call's header overrides the client's")
	assert.Equal(t, []string{"core"}, service.sent()[1].header["X-Team"], "and does not change it")
}

func TestClientFormat(t *testing.T) {
	client, err := petstore.NewClient("https://service.test/v1/", testKey, petstore.WithHeader("X-Proxy-Token", "tok-1234567"))
	require.NoError(t, err)
	assert.Equal(t, "petstore.Client(https://service.test/v1)", fmt.Sprint(client))
	assert.NotContains(t, fmt.Sprintf("%#v", client), "tok-1234567")
	assert.Equal(t, "petstore.Client()", (*petstore.Client)(nil).String())
	assert.Equal(t, "petstore.Client()", fmt.Sprint(new(petstore.Client)))
	text, err := json.Marshal(client) //lint:ignore SA9005 an encoded client is empty
	require.NoError(t, err)
	assert.JSONEq(t, `{}`, string(text))
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("made", "client", client)
	assert.Contains(t, log.String(), `"client":"petstore.Client(https://service.test/v1)"`)
}

func TestClientRateLimit(t *testing.T) {
	client, _ := scripted(t, []responder{status(200, `[]`, quota(60, 41, time.Minute)...), status(200, `[]`)})
	assert.True(t, client.RateLimit().IsZero())
	assert.Empty(t, client.RateLimit().LogValue().Group())
	for range 2 {
		require.NoError(t, list(client))
	}
	assert.Equal(t, 41, client.RateLimit().Remaining, "a response without headers changes nothing")
	assert.True(t, (*petstore.Client)(nil).RateLimit().IsZero())
}

func TestClientForKey(t *testing.T) {
	loopback.Host(t)
	const keys = 1000
	var opts []fake.Option
	for n := range keys {
		opts = append(opts, fake.WithKey(fmt.Sprintf("key-%d", n), fake.PlanFree))
	}
	server := fake.NewTestServer(t, opts...)
	var open atomic.Int64
	listening := httptest.NewUnstartedServer(server)
	listening.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed:
			open.Add(-1)
		}
	}
	listening.Start()
	defer listening.Close()
	client, err := petstore.NewClient(listening.URL+"/v1", "key-0", petstore.WithTransport(func(own http.RoundTripper) http.RoundTripper {
		return own.(*http.Transport).Clone()
	}))
	require.NoError(t, err)
	var group sync.WaitGroup
	for n := range keys {
		other, err := client.ForKey(fmt.Sprintf("key-%d", n))
		require.NoError(t, err)
		group.Go(func() { assert.NoError(t, list(other)) })
		if n%100 == 99 {
			group.Wait() // a process may have no more than a few hundred connections
		}
	}
	assert.LessOrEqual(t, server.Usage("key-7").Minute, 1)
	assert.Eventually(t, func() bool { return open.Load() <= 64 }, time.Minute, time.Millisecond)
	client.CloseIdleConnections() // TestMain looks for goroutines
	assert.Eventually(t, func() bool { return open.Load() == 0 }, time.Minute, time.Millisecond)

	_, err = client.ForKey("two words")
	require.ErrorIs(t, err, petstore.ErrInvalidArgument)
	for _, none := range []*petstore.Client{nil, {}} {
		_, err = none.ForKey("key")
		require.ErrorIs(t, err, petstore.ErrInvalidArgument)
		none.CloseIdleConnections()
	}
	own := &countsCloses{}
	client, err = petstore.NewClient(listening.URL+"/v1", "key-0", petstore.WithHTTPClient(&http.Client{Transport: own}))
	require.NoError(t, err)
	client.CloseIdleConnections()
	assert.Zero(t, own.closed.Load(), "the transport is the caller's")
}

// countsCloses is a transport that counts the calls of CloseIdleConnections.
type countsCloses struct {
	http.Transport
	closed atomic.Int32
}

func (c *countsCloses) CloseIdleConnections() { c.closed.Add(1) }

func TestClientHerd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const minute, soon = 300, 50 * time.Millisecond // requests of the Pro plan, and the first response
		time.Sleep(370 * time.Millisecond)              // Reset is in whole seconds
		server := fake.NewTestServer(t, fake.WithPlan(fake.PlanPro), fake.WithLatency(soon), fake.WithBan(1, time.Hour))
		client, start := server.Client(), time.Now()
		var early, succeeded atomic.Int32
		var herd sync.WaitGroup
		for range 4 * minute {
			herd.Go(func() {
				if err := list(client); err != nil {
					assert.ErrorIs(t, err, petstore.ErrRateLimited)
					assert.Equal(t, soon, time.Since(start), "at once if it has to wait for longer than two windows: %v", err)
					return
				}
				if succeeded.Add(1); time.Since(start) <= 3*time.Second {
					early.Add(1)
				}
			})
		}
		herd.Wait()
		assert.EqualValues(t, []int32{minute, 3 * minute}, []int32{early.Load(), succeeded.Load()})
		assert.LessOrEqual(t, time.Since(start), 122*time.Second)
		require.Empty(t, server.Violations())
	})
}
