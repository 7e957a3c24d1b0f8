package petstore_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/fakecontrol"
	"github.com/petstore/petstore-go/internal/loopback"
)

// wiretap keeps all bytes that a transport writes to its connections, above and below TLS.
type wiretap struct {
	mu    sync.Mutex
	conns []*tappedConn
}

// tappedConn is one connection.
type tappedConn struct {
	net.Conn
	address string
	mu      sync.Mutex
	written bytes.Buffer
	closed  atomic.Bool
}

func (c *tappedConn) Close() error {
	c.closed.Store(true)
	return c.Conn.Close()
}

func (c *tappedConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	c.written.Write(p)
	c.mu.Unlock()
	return c.Conn.Write(p)
}

func (c *tappedConn) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.written.String()
}

// open returns the number of connections that the client has not closed.
func (w *wiretap) open() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		if !c.closed.Load() {
			n++
		}
	}
	return n
}

func (w *wiretap) tap(conn net.Conn, address string) *tappedConn {
	c := &tappedConn{Conn: conn, address: address}
	w.mu.Lock()
	w.conns = append(w.conns, c)
	w.mu.Unlock()
	return c
}

func (w *wiretap) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return w.tap(conn, address), nil
}

// transport returns a transport of net/http that writes through w.
func (w *wiretap) transport(trusted *tls.Config) *http.Transport {
	return &http.Transport{
		DialContext: w.dial,
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := w.dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			config := trusted.Clone()
			config.ServerName, _, _ = net.SplitHostPort(address)
			secure := tls.Client(conn, config)
			if err := secure.HandshakeContext(ctx); err != nil {
				_ = conn.Close()
				return nil, err
			}
			return w.tap(secure, "tls "+address), nil
		},
	}
}

// TestKeyOnTheWire reads all bytes that a client writes, with and without TLS, to connections that
// work or fail, and after redirects. The key must be in the Authorization header to its origin
// only.
func TestKeyOnTheWire(t *testing.T) {
	loopback.Need(t)
	var reached atomic.Int32
	target := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { reached.Add(1); respondJSON(w, 200, `[]`) })
	plain, secure := serve(t, target), serveTLS(t, target)
	var code int
	var location string
	origin := serveTLS(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", location)
		w.WriteHeader(code)
	})
	trusted := origin.Client().Transport.(*http.Transport).TLSClientConfig
	tap := new(wiretap)
	redirected := tappedClient(t, tap, trusted, origin.URL+"/v1")
	for _, code = range []int{301, 302, 303, 307, 308} {
		for _, location = range []string{
			plain.URL + "/v1/pets", secure.URL + "/v1/pets", strings.Replace(origin.URL, "127.0.0.1", "localhost", 1) + "/v1/pets",
		} {
			for operation, call := range calls(redirected) {
				err := call(t)
				require.ErrorContains(t, err, fmt.Sprintf("%s: %d", operation, code))
				e, ok := errors.AsType[*petstore.APIError](err)
				require.True(t, ok, "%T", err)
				assert.Equal(t, location, e.Header.Get("Location"), "the caller may want to know")
				assert.NotContains(t, err.Error(), location)
			}
		}
	}
	srv := fake.NewTestServer(t, fake.WithKey(secretKey, fake.Enterprise(0, 0)))
	failing := tappedClient(t, tap, new(tls.Config), srv.URL())
	for _, f := range everyFailure() {
		srv.Inject(f)
		for _, call := range calls(failing) {
			_ = call(t) // the result does not matter
		}
	}
	refused := tappedClient(t, tap, new(tls.Config), secure.URL+"/v1") // its certificate is not trusted
	require.Error(t, list(refused))

	assert.Zero(t, reached.Load())
	host := func(url string) string { _, rest, _ := strings.Cut(url, "://"); return strings.TrimSuffix(rest, "/v1") }
	tap.check(t, map[string]int{"tls " + host(origin.URL): 45, host(srv.URL()): 3 * len(everyFailure())})
}

// serveTLS is serve with TLS. It does not log failed handshakes.
func serveTLS(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

func tappedClient(t *testing.T, tap *wiretap, trusted *tls.Config, base string) *petstore.Client {
	t.Helper()
	transport := tap.transport(trusted)
	t.Cleanup(transport.CloseIdleConnections)
	client, err := petstore.NewClient(base, secretKey, petstore.WithLimiter(nil), petstore.WithMaxWait(0),
		petstore.WithRetryPolicy(quick), petstore.WithHTTPClient(&http.Client{Transport: transport}))
	require.NoError(t, err)
	return client
}

// everyFailure returns the failures after which a client sends the request again, or gives up.
func everyFailure() []fake.Fault {
	all := []fake.Fault{
		{Status: 401},
		{Status: 408},
		{Status: 429, RetryAfter: "1"},
		{Status: 500},
		{Status: 503, AfterCommit: true},
		{Status: 302},
	}
	for _, wire := range fakecontrol.QuickWires() {
		all = append(all, fake.Fault{Wire: wire})
	}
	return all
}

// check checks that each origin got at least that many requests with the key in the header, that no
// other address got a request, and that the key is nowhere else in what was written.
func (w *wiretap) check(t *testing.T, origins map[string]int) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	const header = "\r\nAuthorization: Bearer " + secretKey + "\r\n"
	got := make(map[string]int)
	for _, c := range w.conns {
		text := c.text()
		requests := strings.Count(text, " HTTP/1.1\r\n")
		assert.Equal(t, requests, strings.Count(text, header), c.address)
		assertNoSecret(t, strings.ReplaceAll(text, header, "\r\n"), c.address)
		if requests > 0 {
			got[c.address] += requests
		}
	}
	assert.Len(t, got, len(origins), "%v", got)
	for address, least := range origins {
		assert.GreaterOrEqual(t, got[address], least, address)
	}
}
