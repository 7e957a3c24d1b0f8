package petstore_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestRateLimitedCall(t *testing.T) {
	virtual(t, "waits for the next minute, and the log shows it", func(t *testing.T) {
		server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(3, 0)), fake.WithStrict(),
			fake.WithLatency(100*time.Millisecond))
		var log bytes.Buffer
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
	virtual(t, "fails locally until the day is over if its quota is used up", func(t *testing.T) {
		server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(1000, 5)), fake.WithStrict())
		client, start := server.Client(), time.Now()
		for range 5 {
			require.NoError(t, list(client))
		}
		for range 10 {
			err := create(client)
			limited := as[*petstore.RateLimitError](t, err)
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
}

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

func TestDoKeepsWhatIsEscapedAndTheBody(t *testing.T) {
	const body = `{"id":7,"name":"Rex","categoryId":3,"tag":"good"}`
	client, service := scripted(t, []responder{status(200, body)})
	for _, text := range []string{"7;admin=true", "a,b", "a:b", "a@b", "a+b", "a=b", "a&b", "a$b", "ä ö"} {
		var raw json.RawMessage
		_, err := client.Do(t.Context(), http.MethodGet, "pets/"+url.PathEscape(text)+"?q=1%2C2", nil, &raw)
		require.NoError(t, err)
		assert.Equal(t, body, string(raw))
		sent := service.sent()
		assert.Equal(t, "https://service.test/v1/pets/"+url.PathEscape(text)+"?q=1%2C2", sent[len(sent)-1].url)
	}
	var unchanged []byte
	_, err := client.Do(t.Context(), http.MethodGet, "pets/7", nil, &unchanged)
	require.NoError(t, err)
	assert.Equal(t, body, string(unchanged))
}
