package petstore_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/http/httputil"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/link"
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
		petstore.WithRetryPolicy(petstore.RetryPolicy{BaseDelay: 1}))
	require.NoError(t, err)
	for _, f := range []fake.Fault{
		{Status: 503, Body: bytes.Repeat([]byte("x"), 50_000)}, {Status: 404}, {Body: []byte(`[{]`)},
		{Status: 302, Header: http.Header{"Location": {"/v1/elsewhere"}}},
	} {
		server.Inject(f)
		for range 5 {
			_, _ = client.ListPets(ctx, petstore.ListPetsParams{})
		}
	}
	assert.Equal(t, 1, connections, "so that the next request uses the connection")
	client.CloseIdleConnections()
}

func TestRedirectIsNotFollowed(t *testing.T) {
	for operation, sample := range samples {
		client, service := scripted(t, []responder{status(307, "", "Location: https://elsewhere.test/v1/pets")})
		err := as[*petstore.APIError](t, sample.call(client))
		assert.Len(t, service.sent(), 1, operation)
		assert.Equal(t, "https://elsewhere.test/v1/pets", err.Header.Get("Location"), "the caller may want to know")
	}
}

// The transports of WithTransport are around each other, the last one outside. One may change the
// request: its next attempt is as before.
func TestWithTransport(t *testing.T) {
	inner := func(http.RoundTripper) http.RoundTripper {
		return responder(func(r *http.Request) (*http.Response, error) {
			assert.Equal(t, "changed", r.Header.Get("X-Team"))
			call, _ := petstore.CallFromContext(r.Context())
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
		petstore.WithTransport(inner), petstore.WithTransport(outer),
		petstore.WithRetryPolicy(petstore.RetryPolicy{BaseDelay: 1}))
	for range 2 {
		result, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
		assert.Equal(t, "hit", result.Header.Get("X-Cache"))
		assert.Equal(t, 2, result.Attempts)
	}
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
	const bound = 10 << 20 // of a body
	escaped := `{"message":"` + strings.Repeat(`\n`, bound/2-20) + `"}`
	endless := io.MultiReader(strings.NewReader("["), &repeated{text: onePet + ","})
	for name, row := range map[string]struct {
		code int
		body io.Reader
		want string
	}{
		"an error body without end": {404, &repeated{text: " "}, "404"},
		"an escaped message":        {400, strings.NewReader(escaped), "400"},
		"a list without end":        {200, endless, "larger than 10 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			client := newClient(t, responder(func(r *http.Request) (*http.Response, error) {
				resp := response(r, row.code, row.body)
				resp.ContentLength = 128 << 20
				return resp, nil
			}), testKey, once)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := list(client)
			runtime.ReadMemStats(&after) // counts garbage, too
			require.ErrorContains(t, err, row.want)
			assertShortLine(t, err)
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(12*bound), "the buffer doubles, and the decoder copies")
			if row.code >= 400 {
				assert.LessOrEqual(t, len(as[*petstore.APIError](t, err).Body), 4096)
			}
		})
	}
}

// A transport may read, sign or dump a request: that a connection was refused stays known.
func TestTransportThatReadsTheBody(t *testing.T) {
	for name, reads := range map[string]func(*http.Request){
		"DumpRequestOut":                  func(r *http.Request) { _, _ = httputil.DumpRequestOut(r, true) },
		"DumpRequestOut without the body": func(r *http.Request) { _, _ = httputil.DumpRequestOut(r, false) },
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

// deaf loses what is written after the other end has closed the connection. So the client reads why
// that was; over a network, that depends on which is faster.
type deaf struct{ net.Conn }

func (c deaf) Write(b []byte) (int, error) {
	_, _ = c.Conn.Write(b)
	return len(b), nil
}

// With TLS 1.3, a client learns only after its request that the server refuses its certificate.
func TestClientCertificateRefused(t *testing.T) {
	ts := httptest.NewUnstartedServer(nil)
	ts.StartTLS()
	defer ts.Close()
	attempts := 0
	withServer := petstore.WithTransport(func(own http.RoundTripper) http.RoundTripper {
		clone := own.(*http.Transport).Clone()
		clone.TLSClientConfig = ts.Client().Transport.(*http.Transport).TLSClientConfig
		clone.DialContext = func(context.Context, string, string) (net.Conn, error) {
			l := link.New(func(*link.Link) {})
			config := &tls.Config{Certificates: ts.TLS.Certificates, ClientAuth: tls.RequireAnyClientCert}
			go func() {
				_ = tls.Server(l.Server, config).HandshakeContext(context.Background())
				_ = l.Server.Close()
			}()
			return deaf{l.Client}, nil
		}
		return clone
	})
	client, err := petstore.NewClient("https://example.com/v1", testKey, withServer, petstore.WithTrace(
		&petstore.ClientTrace{AttemptStart: func(context.Context, petstore.Call) { attempts++ }}))
	require.NoError(t, err)
	for _, call := range []callFunc{create, list} {
		err := call(client)
		require.ErrorContains(t, err, "certificate required")
		require.ErrorIs(t, err, petstore.ErrNotSent)
		require.NotErrorIs(t, err, petstore.ErrOutcomeUnknown)
	}
	assert.Equal(t, 2, attempts)
}
