package petstore_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/testkit"
	"github.com/petstore/petstore-go/ratelimit"
)

// TestArgumentError has more of what NewClient refuses.
func TestNewClient(t *testing.T) {
	_, err := petstore.NewClient("http://service.test/v1", testKey)
	require.ErrorIs(t, err, petstore.ErrInvalidArgument)
	_, err = petstore.NewClient("http://service.test/v1", testKey, petstore.WithInsecureHTTP())
	require.NoError(t, err)
}

func TestClientFormat(t *testing.T) {
	client := newClient(t, nil, testKey)
	for _, verb := range []string{"%v", "%+v", "%#v", "%d", "%x"} {
		assert.Equal(t, "petstore.Client(https://service.test/v1)", fmt.Sprintf(verb, client))
	}
	assert.Equal(t, client.String(), client.LogValue().String())
}

func TestClientRateLimit(t *testing.T) {
	counted := status(200, `[]`, quota(60, 41, time.Minute)...)
	client, _ := scripted(t, []responder{counted, status(200, `[]`)})
	assert.True(t, client.RateLimit().IsZero())
	for range 2 {
		require.NoError(t, list(client))
	}
	assert.Equal(t, 41, client.RateLimit().Remaining, "a response without headers changes nothing")
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
	t.Run("replaces the limiter of the client", func(t *testing.T) {
		client, _ := scripted(t, []responder{status(200, "[]")}, refusesBy(os.ErrClosed))
		tenant, err := client.ForKey("key-of-a-tenant", petstore.WithProcesses(2))
		require.NoError(t, err)
		require.ErrorIs(t, list(client), os.ErrClosed)
		require.NoError(t, list(tenant))
	})
}

// The transports of WithTransport wrap each other, the last one outermost. If one changes a
// request, the next attempt begins with the original.
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
	_, err := petstore.NewClient("https://service.test/v1", "no key", petstore.WithTransport(
		func(http.RoundTripper) http.RoundTripper { panic("called although the key is invalid") }))
	require.ErrorIs(t, err, petstore.ErrInvalidArgument)
}

// TestIdleConnections reads each response to its end, so that the next request uses its connection.
func TestIdleConnections(t *testing.T) {
	testkit.Loopback(t)
	server := fake.NewTestServer(t)
	var reused []bool
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) { reused = append(reused, info.Reused) },
	})
	callers := new(http.Transport)
	defer callers.CloseIdleConnections()
	same := petstore.WithTransport(func(own http.RoundTripper) http.RoundTripper { return own })
	clones := petstore.WithTransport(func(own http.RoundTripper) http.RoundTripper {
		return own.(*http.Transport).Clone()
	})
	for name, opts := range map[string][]petstore.Option{
		"its own":       {same},
		"a clone":       {clones},
		"of the caller": {petstore.WithHTTPClient(&http.Client{Transport: callers}), same},
	} {
		client, err := petstore.NewClient(server.URL(), server.APIKey(), append(opts, quick)...)
		require.NoError(t, err)
		other, err := client.ForKey(server.APIKey())
		require.NoError(t, err)
		reused = nil
		for _, f := range []fake.Fault{
			{Status: 503, Body: bytes.Repeat([]byte("x"), 50_000)}, {Status: 404}, {Body: []byte(`[{]`)},
			{Status: 302, Header: http.Header{"Location": {"/v1/elsewhere"}}},
		} {
			server.Inject(f)
			_, _ = client.ListPets(ctx, petstore.ListPetsParams{})
		}
		for range 2 {
			_, err = other.ListPets(ctx, petstore.ListPetsParams{})
			require.NoError(t, err)
			other.CloseIdleConnections()
		}
		closes := name == "its own" || name == "a clone"
		assert.Equal(t, []bool{true, true, true, true, true, !closes}, reused[1:], name)
	}
}

// TestRequestGolden compares the call and the text of each request with a golden file.
func TestRequestGolden(t *testing.T) {
	var calls []petstore.Call
	client, service := scripted(t, []responder{status(404, ``)}, petstore.WithHeader("User-Agent", "goldens/1"),
		petstore.WithTrace(&petstore.ClientTrace{
			AttemptStart: func(_ context.Context, c petstore.Call) { calls = append(calls, c) },
		}))
	for _, name := range slices.Sorted(maps.Keys(samples)) {
		require.ErrorIs(t, samples[name].call(client, petstore.WithBackground()), petstore.ErrNotFound)
	}
	_ = remove(client, petstore.WithHeader("user-agent", "of-the-call/1"), petstore.WithHeader("x-team", "edge"))
	_, _ = client.ListPets(t.Context(), petstore.ListPetsParams{})
	_, _ = client.ListPets(t.Context(), petstore.ListPetsParams{Limit: 1, Status: "sold & gone"})
	_, _ = client.CreatePet(t.Context(), petstore.NewPet{Name: "x"})
	_, _ = client.CreatePet(t.Context(), petstore.NewPet{
		Name: "Ünal \"<Rex>\" & \u2028 \\ 🐕\n", CategoryID: -9223372036854775808, Status: petstore.PetStatusPending,
	})
	_, _ = client.GetPet(t.Context(), 9223372036854775807)
	for _, text := range []string{"7;admin=true", "a,b:c@d+e=f&g$h", "ä ö"} {
		path := "/pets/" + url.PathEscape(text) + "?q=1%2C2"
		_, _ = client.Do(t.Context(), http.MethodPut, path, json.RawMessage(`{"tag": "good"}`), nil)
	}
	var all bytes.Buffer
	for n, r := range service.sent() {
		calls[n].ID = ""
		fmt.Fprintf(&all, "%+v\n", calls[n])
		assert.Equal(t, "Bearer "+testKey, r.header.Get("Authorization"))
		r.header.Set("Authorization", "Bearer …")
		all.WriteString(r.method + " " + strings.TrimPrefix(r.url, "https://service.test") + "\n")
		require.NoError(t, r.header.Write(&all))
		all.WriteString("\n" + r.body + "\n\n")
	}
	testkit.AssertGolden(t, "testdata/requests.txt", strings.ReplaceAll(all.String(), "\r\n", "\n"))
}

func TestDo(t *testing.T) {
	t.Run("repeats a GET, and sends everything else once", func(t *testing.T) {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			client, service := scripted(t, []responder{status(503, ""), status(200, `{"a":1}`), status(204, "")}, quick)
			var out struct{ A int }
			_, err := client.Do(t.Context(), method, "orders", nil, &out)
			require.Equal(t, method != "GET", errors.Is(err, petstore.ErrOutcomeUnknown), method)
			for len(service.sent()) < 3 {
				response, err := client.Do(t.Context(), method, "orders", nil, &out)
				require.NoError(t, err)
				assert.Equal(t, 1, response.Attempts)
			}
			assert.Equal(t, 1, out.A, "a 204 leaves it unchanged")
		}
	})
	t.Run("takes no success that is no JSON", func(t *testing.T) {
		page := status(200, "<html>log in", "Content-Type: text/html")
		for _, respond := range []responder{
			page, status(200, "<html>log in"), status(200, "{}{}"), status(200, `{"a":1,"a":2}`), status(200, "{\"\xff\":1}"),
		} {
			client, _ := scripted(t, []responder{respond})
			for _, out := range []any{nil, new(json.RawMessage), new(struct{})} {
				_, err := client.Do(t.Context(), http.MethodDelete, "pets/7", nil, out)
				require.ErrorIs(t, err, petstore.ErrInvalidResponse)
				require.ErrorIs(t, err, petstore.ErrOutcomeUnknown)
			}
		}
		client, _ := scripted(t, []responder{status(200, "", "Content-Type: ")})
		require.NoError(t, remove(client), "nobody wants a value")
	})
}

// TestDecoding has bodies of a success that follow the document, and others that nearly do.
func TestDecoding(t *testing.T) {
	const whole = "" // no problem
	for body, problem := range map[string]string{
		onePet: whole, ` {"id":-1,"name":"","categoryId":0} `: whole,
		`{"id":1,"name":"\u00e9","categoryId":1,"status":null,"tag":{}}`: whole,
		`{"name":"x","categoryId":1}`:                                    "id is missing",
		`{"id":null,"name":"x","categoryId":1}`:                          "id is missing",
		`{"id":"1","name":"x","categoryId":1}`:                           "id is missing or of a wrong type",
		`{"ID":1,"name":"x","categoryId":1}`:                             "id is missing",
		`{"id":1,"categoryId":1}`:                                        "name is missing",
		`{"id":1,"name":["x"],"categoryId":1}`:                           "name is missing",
		`{"id":1,"name":"x"}`:                                            "categoryId is missing",
		`{"id":1,"name":"x","categoryId":1,"status":1}`:                  "status is missing or of a wrong type",
		`{"id":1.5,"name":"x","categoryId":1}`:                           "invalid syntax",
		`{"id":9223372036854775808,"name":"x","categoryId":1}`:           "value out of range",
		`{"id":1,"id":2,"name":"x","categoryId":1}`:                      "duplicate",
		`{"id":1,"name":"x","categoryId":1`:                              "body",
		"null":                                                           "a pet is not an object",
	} {
		service := func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPost {
				return status(201, body)(r)
			}
			return status(200, "["+body+"]")(r)
		}
		for _, call := range []callFunc{create, list} {
			client, _ := scripted(t, []responder{service})
			err := call(client)
			require.Equal(t, problem == whole, err == nil, "%s: %v", body, err)
			if err != nil {
				require.ErrorIs(t, err, petstore.ErrInvalidResponse)
				assert.ErrorContains(t, err, problem)
			}
		}
	}
	for status, valid := range map[petstore.PetStatus]bool{"available": true, "pending": true, "sold": true, "": false} {
		assert.Equal(t, valid, status.Valid(), "%q", status)
	}
	for value, valid := range map[string]bool{ // a media type may have any parameters
		"application/json": true, "Application/JSON ; charset=utf-8": true, "application/json;;": true,
		"text/html": false, "application/jsonx": false, "": false,
	} {
		client, _ := scripted(t, []responder{status(200, "[]", "Content-Type: "+value)})
		assert.Equal(t, valid, list(client) == nil, value)
	}
	for body, valid := range map[string]bool{"null": false, "{}": false, `"x"`: false, "[": false, "[]": true} {
		client, _ := scripted(t, []responder{status(200, body)})
		result, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
		assert.Equal(t, valid, err == nil, body)
		assert.True(t, err != nil || result.Pets != nil, "no pets are an empty list")
	}
}
