package petstore_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/loopback"
)

// quick retries without a noticeable wait, for tests on real connections, in real time.
var quick = petstore.RetryPolicy{MaxAttempts: 4, BaseDelay: time.Nanosecond}

// clientOf returns a client of a real server.
func clientOf(t *testing.T, server *httptest.Server, opts ...petstore.Option) *petstore.Client {
	t.Helper()
	transport, ok := server.Client().Transport.(*http.Transport)
	require.True(t, ok)
	opts = append([]petstore.Option{
		petstore.WithHTTPClient(&http.Client{Transport: transport}), petstore.WithLimiter(nil), petstore.WithRetryPolicy(quick),
	}, opts...)
	client, err := petstore.NewClient(server.URL+"/v1", testKey, opts...)
	require.NoError(t, err)
	return client
}

func serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	loopback.Need(t)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

func respondJSON(w http.ResponseWriter, code int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, body)
}

func TestConnectionReuse(t *testing.T) {
	loopback.Need(t)
	var connections, requests atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		switch requests.Add(1) % 7 {
		case 1:
			respondJSON(w, 503, strings.Repeat("x", 50_000))
		case 2:
			respondJSON(w, 404, `{"code":"not_found","message":"none","status":404}`)
		case 3:
			respondJSON(w, 200, `[{]`)
		case 4:
			w.Header().Set("Location", "/v1/elsewhere")
			respondJSON(w, 302, `moved`)
		case 5:
			respondJSON(w, 200, `["`+strings.Repeat("x", 2000)+`"]`) // over the limit
		default:
			respondJSON(w, 200, twoPets)
		}
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	client := clientOf(t, server, petstore.WithMaxResponseBytes(1000))
	failed := 0
	for range 20 {
		if _, err := client.ListPets(t.Context(), petstore.ListPetsParams{}); err != nil {
			failed++
		}
	}
	assert.Greater(t, failed, 5)
	assert.EqualValues(t, 1, connections.Load())
}

func TestRedirect(t *testing.T) {
	loopback.Need(t)
	var reached atomic.Int32
	target := func(w http.ResponseWriter, _ *http.Request) { reached.Add(1); respondJSON(w, 200, `[]`) }
	other, secure := serve(t, target), httptest.NewTLSServer(http.HandlerFunc(target))
	t.Cleanup(secure.Close)
	var location string
	var code int
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", location)
		w.WriteHeader(code)
	}))
	t.Cleanup(server.Close)
	client := clientOf(t, server)
	for _, code = range []int{301, 302, 303, 307, 308} {
		for name, to := range map[string]string{
			"downgrade":  other.URL + "/v1/pets",
			"other port": secure.URL + "/v1/pets",
			"other host": strings.Replace(secure.URL, "127.0.0.1", "localhost", 1) + "/v1/pets",
		} {
			location = to
			for operation, call := range calls(client) {
				err := call(t)
				e, ok := errors.AsType[*petstore.APIError](err)
				require.True(t, ok, "%s %d %s: %T", name, code, operation, err)
				assert.Equal(t, code, e.StatusCode)
				assert.Equal(t, to, e.Header.Get("Location"), "the caller may want to know")
				assert.NotContains(t, err.Error(), to)
			}
		}
	}
	assert.Zero(t, reached.Load())
}

func TestWithMaxResponseBytes(t *testing.T) {
	t.Run("counts after decompression", func(t *testing.T) {
		bomb := gzipped(bytes.Repeat([]byte(" "), 8<<20))
		for name, code := range map[string]int{"success": 200, "error": 400} {
			server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Content-Encoding", "gzip")
				w.WriteHeader(code)
				_, _ = w.Write(bomb)
			})
			client := clientOf(t, server, petstore.WithMaxResponseBytes(1<<20))
			_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
			switch name {
			case "success":
				e, ok := errors.AsType[*petstore.ResponseError](err)
				require.True(t, ok, "%T", err)
				assert.Len(t, e.Body, 4096)
				assert.Contains(t, err.Error(), "too large")
			case "error":
				e, ok := errors.AsType[*petstore.APIError](err)
				require.True(t, ok, "%T", err)
				assert.Len(t, e.Body, 4096)
			}
		}
	})
	t.Run("accepts a body of exactly that size", func(t *testing.T) {
		client, _ := scripted(t, []responder{status(200, twoPets)}, petstore.WithMaxResponseBytes(int64(len(twoPets))))
		_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
		client, service := scripted(t, []responder{status(200, twoPets)}, petstore.WithMaxResponseBytes(int64(len(twoPets)-1)))
		_, err = client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.ErrorIs(t, err, petstore.ErrInvalidResponse)
		assert.Len(t, service.sent(), 1)
		client, _ = scripted(t, []responder{status(200, twoPets)}, petstore.WithMaxResponseBytes(1<<63-1))
		_, err = client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
	})
}

func gzipped(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(b)
	_ = w.Close()
	return out.Bytes()
}

func TestRedact(t *testing.T) {
	t.Run("a key that the service repeats is in no error", func(t *testing.T) {
		echo := `{"code":"bad","message":"no such key ` + testKey + `","status":401}`
		client, _ := scripted(t, []responder{status(401, echo, "X-Echo: Bearer "+testKey)})
		_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
		e, ok := errors.AsType[*petstore.APIError](err)
		require.True(t, ok)
		for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
			assert.NotContains(t, fmt.Sprintf(format, err), testKey)
		}
		assert.NotContains(t, string(e.Body), testKey)
		assert.Equal(t, "no such key [redacted]", e.Message)
		assert.Equal(t, "Bearer [redacted]", e.Header.Get("X-Echo"))

		client, _ = scripted(t, []responder{fails(errors.New("cannot send Bearer " + testKey))})
		_, err = client.CreatePet(t.Context(), newPet())
		assert.EqualError(t, err, "petstore: createPet: cannot send Bearer [redacted]; the pet may have been created")
	})
	t.Run("a key that is a usual word changes no result", func(t *testing.T) {
		for _, word := range []string{"application", "content", "Content-Type", "identity", "X-RateLimit-Limit"} {
			service := &service{responders: []responder{status(200, twoPets, quota(60, 59, time.Minute)...)}}
			client, err := petstore.NewClient("https://service.test/v1", word, petstore.WithHTTPClient(&http.Client{Transport: service}))
			require.NoError(t, err)
			listed, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
			require.NoError(t, err, word)
			assert.Equal(t, 59, listed.RateLimit.Remaining)
		}
	})
	t.Run("does not change a header that a transport shares", func(t *testing.T) {
		shared := http.Header{"Content-Type": {"application/json"}, "X-Echo": {"Bearer " + testKey}}
		client, _ := scripted(t, []responder{func(req *http.Request) (*http.Response, error) {
			resp := response(req, 200, strings.NewReader(`[]`))
			resp.Header = shared
			return resp, nil
		}})
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				result, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
				if assert.NoError(t, err) {
					assert.Equal(t, "Bearer [redacted]", result.Header.Get("X-Echo"))
				}
			})
		}
		group.Wait()
		assert.Equal(t, "Bearer "+testKey, shared.Get("X-Echo"))
	})
}

func TestHTTP2Reset(t *testing.T) {
	loopback.Need(t)
	var posts, gets atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			posts.Add(1)
		} else {
			gets.Add(1)
		}
		panic(http.ErrAbortHandler)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	client := clientOf(t, server)
	_, err := client.CreatePet(t.Context(), newPet())
	require.ErrorIs(t, err, petstore.ErrOutcomeUnknown)
	assert.EqualValues(t, 1, posts.Load())
	_, err = client.ListPets(t.Context(), petstore.ListPetsParams{})
	require.Error(t, err)
	assert.EqualValues(t, 4, gets.Load())
}

// wrapped calls before, and then sends the request.
type wrapped struct {
	http.RoundTripper
	before func()
}

func (w wrapped) Unwrap() http.RoundTripper { return w.RoundTripper }

func (w wrapped) RoundTrip(req *http.Request) (*http.Response, error) {
	w.before()
	return w.RoundTripper.RoundTrip(req)
}

func TestWithTransport(t *testing.T) {
	t.Parallel()
	loopback.Need(t)
	var order []string
	wrap := func(name string) petstore.Option {
		return petstore.WithTransport(func(next http.RoundTripper) http.RoundTripper {
			if tuned, ok := next.(*http.Transport); ok {
				assert.Equal(t, 64, tuned.MaxIdleConnsPerHost)
			}
			return responder(func(r *http.Request) (*http.Response, error) {
				order = append(order, name)
				return next.RoundTrip(r)
			})
		})
	}
	server := fake.NewTestServer(t)
	client, err := petstore.NewClient(server.URL(), server.APIKey(), wrap("inner"), wrap("outer"))
	require.NoError(t, err)
	require.NoError(t, list(client))
	assert.Equal(t, []string{"outer", "inner"}, order)

	for _, wrap := range []func(http.RoundTripper) http.RoundTripper{
		nil, func(http.RoundTripper) http.RoundTripper { return nil },
	} {
		_, err := petstore.NewClient("https://service.test/v1", testKey, petstore.WithTransport(wrap))
		_, ok := errors.AsType[*petstore.ArgumentError](err)
		assert.True(t, ok, "%v", err)
	}
}

func TestResponseHeaderLimit(t *testing.T) {
	loopback.Need(t)
	var asked atomic.Int32
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("X-Flood", strings.Repeat("x", 2<<20))
		respondJSON(w, 200, `[]`)
	})
	client, err := petstore.NewClient(server.URL+"/v1", testKey, petstore.WithRetryPolicy(quick))
	require.NoError(t, err)
	err = list(client)
	require.ErrorIs(t, err, petstore.ErrInvalidResponse)
	require.ErrorContains(t, err, "response headers exceeded 1048576 bytes")
	assert.EqualValues(t, 1, asked.Load())
}

// userTransports send more than one request in the context of one, as transports of users do.
var userTransports = map[string]func(base http.RoundTripper, r *http.Request) (*http.Response, error){
	"logs with httputil.DumpRequestOut": func(base http.RoundTripper, r *http.Request) (*http.Response, error) {
		if _, err := httputil.DumpRequestOut(r, true); err != nil {
			return nil, err
		}
		return base.RoundTrip(r)
	},
	"fetches a token before each request": func(base http.RoundTripper, r *http.Request) (*http.Response, error) {
		if err := fetch(base, r); err != nil {
			return nil, err
		}
		authorized := r.Clone(r.Context())
		authorized.Header.Set("Authorization", "Bearer "+fake.DefaultAPIKey)
		return base.RoundTrip(authorized)
	},
	"sends a read again after a 503": func(base http.RoundTripper, r *http.Request) (*http.Response, error) {
		resp, err := base.RoundTrip(r)
		if err != nil || resp.StatusCode != http.StatusServiceUnavailable {
			return resp, err
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		return base.RoundTrip(r)
	},
}

// fetch sends a request in the context of r and drops its response.
func fetch(base http.RoundTripper, r *http.Request) error {
	req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, r.URL.JoinPath("token").String(), nil)
	if err != nil {
		return err
	}
	resp, err := base.RoundTrip(req)
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	return err
}

func TestWithHTTPClientOverTLS(t *testing.T) {
	t.Parallel()
	loopback.Need(t)
	for name, roundTrip := range userTransports {
		for protocol, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
			t.Run("takes a transport that "+name+", over "+protocol, func(t *testing.T) {
				t.Parallel()
				service := fake.NewTestServer(t)
				server := httptest.NewUnstartedServer(service)
				server.EnableHTTP2 = http2
				server.StartTLS()
				t.Cleanup(server.Close)
				base := server.Client().Transport
				users := responder(func(r *http.Request) (*http.Response, error) { return roundTrip(base, r) })
				client, err := petstore.NewClient(server.URL+"/v1", fake.DefaultAPIKey,
					petstore.WithHTTPClient(&http.Client{Transport: users}))
				require.NoError(t, err)
				for range 2 { // the second call knows the protocol
					if name == "sends a read again after a 503" {
						service.Inject(fake.Fault{Operation: petstore.OpListPets, Status: http.StatusServiceUnavailable})
					}
					listed, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
					require.NoError(t, err)
					assert.Equal(t, 1, listed.Attempts)
					_, err = client.CreatePet(t.Context(), petstore.NewPet{Name: "Rex"})
					require.NoError(t, err)
				}
			})
		}
	}
}

// creates counts the creates that arrive, each of whose responses is lost.
type creates struct {
	arrived  atomic.Int32
	leftOpen bool // the bodies, against the rules for transports
}

func (c *creates) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	c.count(r)
	panic(http.ErrAbortHandler)
}

// RoundTrip loses the response without a connection and without hooks.
func (c *creates) RoundTrip(r *http.Request) (*http.Response, error) {
	c.count(r)
	return nil, io.ErrUnexpectedEOF
}

func (c *creates) count(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	if !c.leftOpen {
		_ = r.Body.Close()
	}
	if r.Method == http.MethodPost {
		c.arrived.Add(1)
	}
}

// dial returns a connection to a server in memory that loses the response.
func (c *creates) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	go func() {
		defer server.Close()
		if r, err := http.ReadRequest(bufio.NewReader(server)); err == nil {
			c.count(r)
		}
	}()
	return client, nil
}

func overSockets(t *testing.T, handler http.Handler, http2 bool) http.RoundTripper {
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = http2
	server.StartTLS()
	t.Cleanup(server.Close)
	transport := server.Client().Transport.(*http.Transport)
	transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", server.Listener.Addr().String())
	}
	return transport
}

// unreachable returns transports that cannot connect.
func unreachable() map[string]http.RoundTripper {
	return map[string]http.RoundTripper{
		"a host": &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, errRefused }},
		"a stub": responder(func(r *http.Request) (*http.Response, error) {
			_ = r.Body.Close()
			return nil, errRefused
		}),
	}
}

// twice is a transport that sends a create to two others, the first of which fails.
type twice struct {
	to       [2]http.RoundTripper
	bodies   func(*http.Request) (io.ReadCloser, error)
	context  func(context.Context) context.Context
	check    bool // the second request is a health check
	parallel bool
	errors   func(first, second error) error
}

func (w twice) RoundTrip(r *http.Request) (*http.Response, error) {
	send := func(n int, body io.ReadCloser, err error) error {
		if err != nil {
			return err
		}
		c := r.Clone(w.context(r.Context()))
		c.Body, c.GetBody = body, nil
		if w.check && n == 1 {
			c.Method, c.Body, c.ContentLength = http.MethodGet, http.NoBody, 0
		}
		_, err = w.to[n].RoundTrip(c) //nolint:bodyclose // there is no response
		return err
	}
	var errs [2]error
	first, err := w.bodies(r)
	if w.parallel {
		second, err2 := w.bodies(r)
		var both sync.WaitGroup
		both.Go(func() { errs[0] = send(0, first, err) })
		both.Go(func() { errs[1] = send(1, second, err2) })
		both.Wait()
	} else {
		errs[0] = send(0, first, err)
		second, err := w.bodies(r)
		errs[1] = send(1, second, err)
	}
	return nil, w.errors(errs[0], errs[1])
}

// unwrapping has the method that WithTransport describes.
type unwrapping struct {
	http.RoundTripper
	base http.RoundTripper
}

func (u unwrapping) Unwrap() http.RoundTripper { return u.base }

// TestCreatePetThroughTransports creates pets through transports that clone, sign, retry, hedge,
// fall back or check the health, each in all ways: a create that arrived is never told as not done,
// so that it is not sent again.
func TestCreatePetThroughTransports(t *testing.T) {
	t.Parallel()
	bodies := map[string]func(*http.Request) (io.ReadCloser, error){
		"the body":       func(r *http.Request) (io.ReadCloser, error) { return r.Body, nil },
		"a copy":         copied,
		"a copy, signed": signed,
		"a buffer":       func(r *http.Request) (io.ReadCloser, error) { return buffered(r.Body) },
	}
	contexts := map[string]func(context.Context) context.Context{
		"its context":     func(ctx context.Context) context.Context { return ctx },
		"another context": func(context.Context) context.Context { return t.Context() },
	}
	returns := map[string]func(first, second error) error{
		"the first error": func(first, _ error) error { return first },
		"the last error":  func(_, second error) error { return second },
		"both errors":     func(first, second error) error { return errors.Join(second, first) },
	}
	served := new(creates)
	lossy := map[string]http.RoundTripper{
		"no hooks": served, "HTTP/1.1": &http.Transport{DialContext: served.dial},
		"HTTP/1.1 over TLS": overSockets(t, served, false), "HTTP/2": overSockets(t, served, true),
	}
	for from, body := range bodies {
		for in, ctx := range contexts {
			for with, errs := range returns {
				for over, lost := range lossy {
					if slow := strings.Contains(over, "TLS") || over == "HTTP/2"; slow && with == "both errors" {
						continue
					}
					for to, dead := range unreachable() {
						for n := range 16 {
							w := twice{[2]http.RoundTripper{lost, dead}, body, ctx, n&1 != 0, n&2 != 0, errs}
							if n&4 != 0 {
								slices.Reverse(w.to[:])
							}
							var transport http.RoundTripper = w
							if n&8 != 0 {
								transport = unwrapping{w, new(http.Transport)}
							}
							served.arrived.Store(0)
							err := createThrough(t, transport)
							name := fmt.Sprintf("%s in %s over %s, %s refuses, %04b, %s: %v", from, in, over, to, n, with, err)
							if served.arrived.Load() > 0 {
								require.ErrorIs(t, err, petstore.ErrOutcomeUnknown, name)
							}
						}
					}
				}
			}
		}
	}
	err := createThrough(t, twice{
		[2]http.RoundTripper{unreachable()["a host"], &creates{leftOpen: true}},
		copied, contexts["its context"],
		false, false, returns["the first error"],
	})
	require.ErrorIs(t, err, petstore.ErrOutcomeUnknown, "a copy that was read after the dial and not closed")
	for name, dead := range unreachable() {
		for with, errs := range returns {
			w := twice{[2]http.RoundTripper{dead, dead}, bodies["the body"], contexts["its context"], false, false, errs}
			err := createThrough(t, w)
			require.NotErrorIs(t, err, petstore.ErrOutcomeUnknown, "%s, %s", name, with)
			assert.Equal(t, 4, attemptsOf(t, err), "nothing was sent")
		}
	}
}

func createThrough(t *testing.T, transport http.RoundTripper) error {
	t.Helper()
	client, err := petstore.NewClient("https://127.0.0.1/v1", testKey, petstore.WithLimiter(nil),
		petstore.WithRetryPolicy(quick), petstore.WithHTTPClient(&http.Client{Transport: transport}))
	require.NoError(t, err)
	err = create(client)
	require.Error(t, err)
	return err
}

// copied returns what GetBody does, and the body if there is no GetBody.
func copied(r *http.Request) (io.ReadCloser, error) {
	if r.GetBody == nil {
		return r.Body, nil
	}
	return r.GetBody()
}

// signed reads one copy, as for a signature, and returns another.
func signed(r *http.Request) (io.ReadCloser, error) {
	if body, err := copied(r); err == nil && body != r.Body {
		_, _ = io.Copy(io.Discard, body)
	}
	return copied(r)
}

func buffered(body io.Reader) (io.ReadCloser, error) {
	b, err := io.ReadAll(body)
	return io.NopCloser(bytes.NewReader(b)), err
}
