package petstore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/testkit"
	"github.com/petstore/petstore-go/ratelimit"
)

func TestNewClient(t *testing.T) {
	t.Run("refuses an invalid base URL or key, and does not repeat it", func(t *testing.T) {
		for url, reason := range map[string]string{ // the tests of internal/credential have all reasons
			"https://user:pw-hidden@service.test/v1": "has user information; pass the API key as apiKey",
			"http://hidden.test/v1":                  "is plain http to a host that is not loopback; see WithInsecureHTTP",
		} {
			client, err := petstore.NewClient(url, testKey)
			require.Nil(t, client)
			want := &petstore.ArgumentError{Operation: "NewClient", Argument: "baseURL", Reason: reason}
			assert.Equal(t, want, err)
		}
		_, err := petstore.NewClient("https://service.test/v1", "hidden\r\nX-Evil: 1")
		assert.EqualError(t, err, "petstore: NewClient: apiKey: has a character that a bearer token cannot have")
		_, err = petstore.NewClient("http://service.test/v1", testKey, petstore.WithInsecureHTTP())
		assert.NoError(t, err)
	})
	t.Run("refuses invalid options by name", func(t *testing.T) {
		key := func(context.Context) (string, error) { return testKey, nil }
		none := func(http.RoundTripper) http.RoundTripper { return nil }
		for _, c := range []struct {
			argument string
			opt      petstore.Option
		}{
			{"option 1", nil},
			{"WithHTTPClient", petstore.WithHTTPClient(nil)},
			{"WithHTTPClient", petstore.WithHTTPClient(&http.Client{Jar: new(cookiejar.Jar)})},
			{"WithAPIKeyFunc", petstore.WithAPIKeyFunc(nil)},
			{"apiKey", petstore.WithAPIKeyFunc(key)}, // and there is a key, too
			{"WithMaxWait", petstore.WithMaxWait(-1)},
			{"WithProcesses", petstore.WithProcesses(0)},
			{"WithAttemptTimeout", petstore.WithAttemptTimeout(-1)},
			{"WithCallTimeout", petstore.WithCallTimeout(-1)},
			{"WithRetryPolicy", petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: -1})},
			{"WithRetryPolicy", petstore.WithRetryPolicy(petstore.RetryPolicy{BaseDelay: 2, MaxDelay: 1})},
			{"WithTrace", petstore.WithTrace(nil)},
			{"WithTransport", petstore.WithTransport(nil)},
			{"WithTransport", petstore.WithTransport(none)},
			{"WithStop", petstore.WithStop(nil)}, //lint:ignore SA1012 nil is the case
			{"WithHeader", petstore.WithHeader("", "x")},
			{"WithHeader", petstore.WithHeader("a b", "x")},
			{"WithHeader", petstore.WithHeader("X-Trace", "a\nb")},
			{"WithHeader", petstore.WithHeader("content-type", "text/csv")},
		} {
			_, err := petstore.NewClient("https://service.test/v1", testKey, c.opt)
			assert.Equal(t, c.argument, as[*petstore.ArgumentError](t, err).Argument)
		}
	})
}

func TestWithHeader(t *testing.T) {
	for name, problem := range map[string]string{
		"authorization": "Authorization is set by the client", "content-type": "is set by the client", "TE": "is set by the client",
		"Idempotency-Key": "Idempotency-Key is refused: with it, net/http would repeat a create", "X-Idempotency-Key": "is refused",
	} {
		_, err := petstore.NewClient("https://service.test/v1", testKey, petstore.WithHeader(name, "x"))
		require.ErrorContains(t, err, problem)
	}
	client, service := scripted(t, []responder{status(200, `[]`)}, petstore.WithHeader("X-Team", "core"))
	require.NoError(t, list(client, petstore.WithHeader("x-team", "edge")))
	err := list(client, petstore.WithHeader("x-trace", "a\nb"))
	require.EqualError(t, err, "petstore: listPets: WithHeader: has an invalid value")
	require.NoError(t, list(client))
	require.Len(t, service.sent(), 2)
	assert.Equal(t, []string{"edge"}, service.sent()[0].header["X-Team"], "a call's header overrides the client's")
	assert.Equal(t, []string{"core"}, service.sent()[1].header["X-Team"], "and does not change it")
}

func TestClientFormat(t *testing.T) {
	client, err := petstore.NewClient("https://service.test/v1/", testKey)
	require.NoError(t, err)
	for _, verb := range []string{"%v", "%+v", "%#v", "%d", "%x"} {
		assert.Equal(t, "petstore.Client(https://service.test/v1)", fmt.Sprintf(verb, client))
	}
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
	assert.True(t, new(petstore.Client).RateLimit().IsZero())
	rotates, _ := rotating(t, func(context.Context) (string, error) { return testKey, nil },
		[]responder{status(200, `[]`, quota(60, 40, time.Minute)...)}, petstore.WithLimiter(ratelimit.New()))
	require.NoError(t, list(rotates))
	assert.Equal(t, 40, rotates.RateLimit().Remaining, "of the key that was used last")
}

func TestClientKeyID(t *testing.T) {
	client, service := scripted(t, []responder{status(200, "[]")}, petstore.WithTrace(&petstore.ClientTrace{
		CallStart: func(_ context.Context, c petstore.Call) context.Context {
			assert.NotEmpty(t, c.KeyID, "it is known before the first request")
			return nil
		},
	}))
	tenant, err := client.ForKey("key-of-a-tenant")
	require.NoError(t, err)
	require.NoError(t, list(tenant))
	assert.Len(t, service.sent(), 1)
	assert.NotEqual(t, client.KeyID(), tenant.KeyID())
	same, err := tenant.ForKey(testKey)
	require.NoError(t, err)
	assert.Equal(t, client.KeyID(), same.KeyID())
	rotates, _ := rotating(t, petstore.APIKeyFile("key"), nil)
	assert.Empty(t, rotates.KeyID()+new(petstore.Client).KeyID())
}

func TestClientForKey(t *testing.T) {
	t.Run("shares the connections, until they are closed", func(t *testing.T) {
		testkit.Loopback(t)
		server := fake.NewTestServer(t)
		var reused []bool
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
			GotConn: func(info httptrace.GotConnInfo) { reused = append(reused, info.Reused) },
		})
		clone := func(own http.RoundTripper) http.RoundTripper { return own.(*http.Transport).Clone() }
		for _, opt := range []petstore.Option{petstore.WithBackground(), petstore.WithTransport(clone)} {
			client, err := petstore.NewClient(server.URL(), server.APIKey(), opt)
			require.NoError(t, err)
			other, err := client.ForKey(server.APIKey())
			require.NoError(t, err)
			for _, c := range []*petstore.Client{client, other} {
				_, err = c.ListPets(ctx, petstore.ListPetsParams{})
				require.NoError(t, err)
			}
			other.CloseIdleConnections()
			_, err = client.ListPets(ctx, petstore.ListPetsParams{})
			require.NoError(t, err)
			client.CloseIdleConnections()
		}
		assert.Equal(t, []bool{false, true, false, false, true, false}, reused)
	})
	t.Run("does not close connections of the caller's transport", func(t *testing.T) {
		own := &countsCloses{}
		newClient(t, own, testKey).CloseIdleConnections()
		assert.Zero(t, own.closed.Load())
	})
	t.Run("takes the options of the client, and its own instead", func(t *testing.T) {
		client, service := scripted(t, []responder{status(200, "[]")}, petstore.WithHeader("X-Team", "core"))
		stop, end := context.WithCancel(t.Context())
		tenant, err := client.ForKey("key-of-a-tenant", petstore.WithHeader("User-Agent", "tenant/1"), petstore.WithStop(stop))
		require.NoError(t, err)
		require.NoError(t, list(tenant))
		sent := service.sent()[0].header
		assert.Equal(t, "Bearer key-of-a-tenant", sent.Get("Authorization"))
		assert.Equal(t, "tenant/1 petstore-go/"+petstore.Version, sent.Get("User-Agent"))
		assert.Equal(t, "core", sent.Get("X-Team"))
		end()
		require.ErrorIs(t, list(tenant), petstore.ErrStopped)
		require.NoError(t, list(client), "which is not stopped")
	})
	t.Run("calls the traces of the client, and its own but of no other", func(t *testing.T) {
		var told []string
		trace := func(name string) petstore.Option {
			return petstore.WithTrace(&petstore.ClientTrace{AttemptStart: func(context.Context, petstore.Call) { told = append(told, name) }})
		}
		client, _ := scripted(t, []responder{status(200, "[]")}, trace("1"), trace("2"), trace("3"))
		a, err := client.ForKey("key-of-a", trace("a"))
		require.NoError(t, err)
		_, err = client.ForKey("key-of-b", trace("b"))
		require.NoError(t, err)
		require.NoError(t, list(a))
		assert.Equal(t, []string{"1", "2", "3", "a"}, told)
	})
	t.Run("refuses by name what cannot differ", func(t *testing.T) {
		client, _ := scripted(t, nil)
		for name, opt := range map[string]petstore.Option{
			"WithHTTPClient":   petstore.WithHTTPClient(new(http.Client)),
			"WithInsecureHTTP": petstore.WithInsecureHTTP(),
			"WithTransport":    petstore.WithTransport(func(t http.RoundTripper) http.RoundTripper { return t }),
			"WithAPIKeyFunc":   petstore.WithAPIKeyFunc(petstore.APIKeyFile("key")),
		} {
			_, err := client.ForKey("key-of-a-tenant", opt)
			assert.Equal(t, name, as[*petstore.ArgumentError](t, err).Argument)
		}
		_, err := client.ForKey("two words")
		assert.Equal(t, "apiKey", as[*petstore.ArgumentError](t, err).Argument)
		_, err = client.ForKey("key-of-a-tenant", petstore.WithProcesses(2), petstore.WithLimiter(nil))
		assert.Equal(t, "WithProcesses", as[*petstore.ArgumentError](t, err).Argument)
		_, err = new(petstore.Client).ForKey("key")
		assert.Equal(t, "Client", as[*petstore.ArgumentError](t, err).Argument)
	})
}

// countsCloses is a transport that counts the calls of CloseIdleConnections.
type countsCloses struct {
	http.Transport
	closed atomic.Int32
}

func (c *countsCloses) CloseIdleConnections() { c.closed.Add(1) }
