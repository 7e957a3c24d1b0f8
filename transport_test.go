package petstore_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/testkit"
)

func TestResponseIsReadToItsEnd(t *testing.T) {
	testkit.Loopback(t)
	server, connections := fake.NewTestServer(t), 0
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if !info.Reused {
			connections++
		}
	}})
	client, err := petstore.NewClient(server.URL(), server.APIKey(),
		petstore.WithRetryPolicy(petstore.RetryPolicy{BaseDelay: time.Nanosecond}))
	require.NoError(t, err)
	for _, f := range []fake.Fault{
		{Status: 503, Body: bytes.Repeat([]byte("x"), 50_000)}, {Status: 404}, {Body: []byte(`[{]`)},
		{Status: 302, Header: http.Header{"Location": {"/v1/elsewhere"}}},
	} {
		server.Inject(f)
		for range 3 {
			_, _ = client.ListPets(ctx, petstore.ListPetsParams{})
		}
	}
	assert.Equal(t, 1, connections, "so that the next request uses the connection")
	client.CloseIdleConnections()
}

func TestRedirectIsNotFollowed(t *testing.T) {
	for _, code := range []int{301, 302, 303, 307, 308} {
		for _, location := range []string{"https://elsewhere.test/v1/pets", "http://service.test/v1/pets", "/v1/pets"} {
			client, service := scripted(t, []responder{status(code, "", "Location: "+location)})
			for operation, sample := range samples {
				err := sample.call(client)
				require.ErrorContains(t, err, fmt.Sprintf("%s: %d", operation, code))
				e := as[*petstore.APIError](t, err)
				assert.Equal(t, location, e.Header.Get("Location"), "the caller may want to know")
				assert.NotContains(t, err.Error(), location)
			}
			assert.Len(t, service.sent(), len(samples))
		}
	}
}

func TestWithTransport(t *testing.T) {
	t.Run("wraps the transport, the last one around the others", func(t *testing.T) {
		var order []string
		wrap := func(name string) petstore.Option {
			return petstore.WithTransport(func(next http.RoundTripper) http.RoundTripper {
				return responder(func(r *http.Request) (*http.Response, error) {
					order = append(order, name)
					return next.RoundTrip(r)
				})
			})
		}
		client, _ := scripted(t, []responder{status(200, "[]")}, wrap("inner"), wrap("outer"))
		require.NoError(t, list(client))
		assert.Equal(t, []string{"outer", "inner"}, order)
	})
	virtual(t, "may change the request and keep the response", func(t *testing.T) {
		cached := response(nil, 200, http.NoBody, "X-Cache: hit")
		changes := func(code int) responder {
			return func(r *http.Request) (*http.Response, error) {
				for _, values := range r.Header {
					values[0] = "overwritten"
				}
				r.URL.Path = "/prefix" + r.URL.Path
				resp := *cached
				resp.StatusCode, resp.Body = code, io.NopCloser(strings.NewReader("[]"))
				return &resp, nil
			}
		}
		client, service := scripted(t, []responder{changes(503), changes(200)}, petstore.WithHeader("X-Team", "core"))
		for range 2 {
			result, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
			require.NoError(t, err)
			assert.Equal(t, "hit", result.Header.Get("X-Cache"))
		}
		for _, r := range service.sent() {
			assert.Equal(t, service.sent()[0].url, r.url, "each attempt has a URL of its own")
			assert.Equal(t, service.sent()[0].header, r.header)
			assert.Equal(t, "Bearer "+testKey, r.header.Get("Authorization"))
		}
	})
}

// replaying returns a transport whose connections respond to a request with what open returns.
func replaying(open func() io.Reader) *http.Transport {
	return &http.Transport{DisableKeepAlives: true, DialTLSContext: func(context.Context, string, string) (net.Conn, error) {
		client, service := net.Pipe()
		go func() {
			defer service.Close()
			_, _ = service.Read(make([]byte, 4096)) // net/http drops bytes that come before a request
			_, _ = io.Copy(service, open())
		}()
		return client, nil
	}}
}

// floods returns responses that are too large to read completely, and the client's errors for them.
func floods() map[string]flood {
	const json = "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\n%s\r\n"
	const huge = 128 << 20
	length := fmt.Sprintf("Content-Length: %d\r\n", huge)
	endless := func(text string) func() io.Reader { return func() io.Reader { return &repeated{text: text} } }
	small := gzipped(strings.Repeat(" ", 4*floodBound))
	bomb := func() io.Reader { return strings.NewReader(small) }
	whole := func(text string) func() io.Reader { // as long as the limit allows
		return func() io.Reader {
			return io.MultiReader(io.LimitReader(&repeated{text: text}, floodBound-20), strings.NewReader(`"}`))
		}
	}
	return map[string]flood{
		"an error body without end": {fmt.Sprintf(json, 404, "x", ""), endless(" "), "404"},
		"an escaped message":        {fmt.Sprintf(json, 400, "x", "") + `{"message":"`, whole(`\n`), "400"},
		"a list":                    {fmt.Sprintf(json, 200, "x", length) + "[", endless(onePet + ","), "larger than 10 MiB"},
		"a gzip bomb":               {fmt.Sprintf(json, 200, "x", "Content-Encoding: gzip\r\n"), bomb, "larger than 10 MiB"},
		"headers":                   {"HTTP/1.1 200 x\r\n", endless("X-Flood: " + strings.Repeat("x", 1000) + "\r\n"), "not HTTP"},
		"a status line":             {"HTTP/1.1 200 ", endless("x"), "not HTTP"},
	}
}

func gzipped(text string) string {
	var out strings.Builder
	w := gzip.NewWriter(&out)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return out.String()
}

type flood struct {
	head string
	rest func() io.Reader
	want string // in the error's text
}

// repeated repeats text for ever.
type repeated struct {
	text string
	at   int
}

func (r *repeated) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		c := copy(p[n:], r.text[r.at:])
		n, r.at = n+c, (r.at+c)%len(r.text)
	}
	return n, nil
}

// TestResponseMemory floods a client, and counts all bytes that it allocates until it returns the
// error.
func TestResponseMemory(t *testing.T) {
	for name, f := range floods() {
		t.Run(name, func(t *testing.T) {
			transport := replaying(func() io.Reader { return io.MultiReader(strings.NewReader(f.head), f.rest()) })
			transport.MaxResponseHeaderBytes = 1 << 20 // as the client's own transport
			client := newClient(t, transport, testKey, once)
			var err error
			allocated := allocations(func() { err = list(client) })
			require.ErrorContains(t, err, f.want)
			assertShortLine(t, err)
			if api, ok := errors.AsType[*petstore.APIError](err); ok {
				assert.LessOrEqual(t, len(api.Body), 4096)
			}
			assert.Less(t, allocated, 13*floodBound, "the buffer doubles, the decoder copies, and the race detector does, too")
		})
	}
}

// floodBound is the client's default bound of a body.
const floodBound = 10 << 20

// allocations returns the bytes that f allocates, including those that are garbage afterwards.
func allocations(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

func TestErrorBody(t *testing.T) {
	client, _ := scripted(t, []responder{status(404, `{"code":"c","message":"m"}`, "Content-Type: ", "Content-Type: text/html")})
	e := as[*petstore.APIError](t, list(client))
	assert.Equal(t, []string{"c", "m"}, []string{e.Code, e.Message}, "whatever the media type")
	client, _ = scripted(t, []responder{status(201, `{"id":1}`)})
	invalid := as[*petstore.ResponseError](t, create(client))
	assert.Equal(t, `{"id":1}`, string(invalid.Body))
	assert.ErrorContains(t, invalid, "name is missing")
}

// A transport may read, sign or dump a request: that a connection was refused stays known.
func TestTransportThatReadsTheBody(t *testing.T) {
	for name, reads := range map[string]func(*http.Request){
		"DumpRequestOut":                  func(r *http.Request) { _, _ = httputil.DumpRequestOut(r, true) },
		"DumpRequestOut without the body": func(r *http.Request) { _, _ = httputil.DumpRequestOut(r, false) },
		"DumpRequest":                     func(r *http.Request) { _, _ = httputil.DumpRequest(r, true) },
		"signs the body": func(r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(b))
		},
	} {
		virtual(t, name, func(t *testing.T) {
			server := fake.NewTestServer(t)
			client := server.Client(petstore.WithTransport(func(next http.RoundTripper) http.RoundTripper {
				return responder(func(r *http.Request) (*http.Response, error) {
					reads(r)
					return next.RoundTrip(r)
				})
			}))
			server.Inject(fake.Fault{Wire: fake.WireRefuse, Times: 3})
			require.NoError(t, create(client))
			assert.Len(t, server.Pets(), 1)
			server.Inject(fake.Fault{Wire: fake.WireRefuse, Times: 4})
			require.ErrorIs(t, create(client), petstore.ErrNotSent)
			server.Inject(fake.Fault{Wire: fake.WireReset})
			require.ErrorIs(t, create(client), petstore.ErrOutcomeUnknown)
		})
	}
}
