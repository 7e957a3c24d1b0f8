package wire_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/internal/testkit"
)

var refused = &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}

func refuseDial(context.Context, string, string) (net.Conn, error) { return nil, refused }

// A transport of the user may read the body of a request, and send another one in its context
// first.
func TestTransportOfTheUser(t *testing.T) {
	t.Parallel()
	testkit.Loopback(t)
	for protocol, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if !http2 { // after such a response over HTTP/2, net/http may repeat the request
				w.WriteHeader(http.StatusEarlyHints)
			}
		}))
		server.EnableHTTP2 = http2
		server.StartTLS()
		t.Cleanup(server.Close)
		base := server.Client().Transport
		users := roundTripper(func(r *http.Request) (*http.Response, error) {
			if _, err := httputil.DumpRequestOut(r, true); err != nil {
				return nil, err
			}
			first := &http.Request{Method: http.MethodGet, URL: r.URL, Header: http.Header{}}
			resp, err := base.RoundTrip(first.WithContext(r.Context()))
			if err != nil {
				return nil, err
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			return base.RoundTrip(r)
		})
		c := newClient(t, server.URL, users)
		for range 2 { // only the second request knows the protocol
			for _, method := range methods {
				o := c.send(t, method)
				require.NoError(t, o.err, protocol)
			}
		}
	}
}

// Functions of an http.Transport get the context of the request, and may send one of their own in it:
// a dialer may ask a directory, and a proxy may need a token.
func TestFunctionsOfAnHTTPTransport(t *testing.T) {
	t.Parallel()
	testkit.Loopback(t)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	}))
	t.Cleanup(server.Close)
	asks := func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
		if err != nil {
			return err
		}
		resp, err := server.Client().Do(r)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	}
	for name, transport := range map[string]*http.Transport{
		"DialContext": {DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if err := asks(ctx); err != nil {
				return nil, err
			}
			return new(net.Dialer).DialContext(ctx, network, address)
		}},
		"Proxy": {Proxy: func(r *http.Request) (*url.URL, error) { return nil, asks(r.Context()) }},
	} {
		c := newClient(t, server.URL, transport)
		for _, method := range methods {
			transport.CloseIdleConnections()
			require.NoError(t, c.send(t, method).err, "%s, %s", name, method)
		}
		transport.CloseIdleConnections()
	}
}

// unreachable returns transports that cannot connect.
func unreachable() map[string]http.RoundTripper {
	return map[string]http.RoundTripper{
		"a host": &http.Transport{DialContext: refuseDial},
		"a stub": roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Body != nil {
				_ = r.Body.Close()
			}
			return nil, refused
		}),
	}
}

// twice is a transport that sends a write to two others, the first of which fails.
type twice struct {
	to       [2]http.RoundTripper
	buffers  bool // it reads the body before it sends it
	detaches bool // its requests have another context
	checks   bool // the second request is a health check
	parallel bool
	errors   func(first, second error) error
}

func (w twice) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	if w.detaches {
		ctx = context.Background()
	}
	var errs [2]error
	var both sync.WaitGroup
	for n := range w.to {
		c := r.Clone(ctx)
		if w.buffers && r.Body != nil {
			b, _ := io.ReadAll(r.Body)
			c.Body = io.NopCloser(bytes.NewReader(b))
		}
		if w.checks && n == 1 {
			c.Method, c.Body, c.ContentLength = http.MethodHead, http.NoBody, 0
		}
		both.Go(func() { _, errs[n] = w.to[n].RoundTrip(c) }) // there is no response
		if !w.parallel {
			both.Wait()
		}
	}
	both.Wait()
	return nil, w.errors(errs[0], errs[1])
}

// unwrapping has the method that WithTransport describes.
type unwrapping struct {
	http.RoundTripper
	base http.RoundTripper
}

func (u unwrapping) Unwrap() http.RoundTripper { return u.base }

// TestWriteThroughTransports sends writes, with and without a body, through transports of users:
// they clone, retry, hedge, fall back or check the health, each in all variants. A write that
// arrived must never be reported as not sent.
func TestWriteThroughTransports(t *testing.T) {
	t.Parallel()
	returns := map[string]func(first, second error) error{
		"the first error": func(first, _ error) error { return first },
		"the last error":  func(_, second error) error { return second },
		"both errors":     func(first, second error) error { return errors.Join(second, first) },
	}
	s := serve(t, nil, func(s *server, conn net.Conn) { s.read(bufio.NewReader(conn)) })
	lossy := map[string]http.RoundTripper{ // the response is lost
		"HTTP/1.1": &http.Transport{DialContext: s.dial},
		"no hooks": roundTripper(func(r *http.Request) (*http.Response, error) {
			s.count(r)
			return nil, io.ErrUnexpectedEOF
		}),
	}
	for over, lost := range lossy {
		for to, dead := range unreachable() {
			for with, errs := range returns {
				for n := range 1 << 6 {
					w := twice{[2]http.RoundTripper{lost, dead}, n&1 != 0, n&2 != 0, n&4 != 0, n&8 != 0, errs}
					if n&16 != 0 {
						slices.Reverse(w.to[:])
					}
					var transport http.RoundTripper = w
					if n&32 != 0 {
						transport = unwrapping{w, new(http.Transport)}
					}
					for _, method := range []string{http.MethodPost, http.MethodDelete} {
						s.requests.Store(0)
						o := newClient(t, "http://service.test/v1", transport).send(t, method)
						require.True(t, s.requests.Load() == 0 || o.sent,
							"%s over %s, %s refuses, %06b, %s: %v", method, over, to, n, with, o.err)
					}
				}
			}
		}
	}
	for name, dead := range unreachable() {
		for with, errs := range returns {
			w := twice{to: [2]http.RoundTripper{dead, dead}, errors: errs}
			assert.False(t, newClient(t, "http://service.test/v1", w).send(t, http.MethodPost).sent, "%s, %s", name, with)
		}
	}
}

// A registered protocol may write a request without hooks.
func TestRegisteredProtocol(t *testing.T) {
	for name, err := range map[string]error{
		"lost": io.EOF, "refused in the end": refused, "left to the transport, which is refused": http.ErrSkipAltProtocol,
	} {
		reads := roundTripper(func(r *http.Request) (*http.Response, error) {
			_, _ = io.Copy(io.Discard, r.Body)
			return nil, err
		})
		for _, scheme := range []string{"http", "https"} {
			transport := &http.Transport{DialContext: refuseDial}
			transport.RegisterProtocol(scheme, reads)
			o := newClient(t, scheme+"://127.0.0.1/v1", transport).send(t, http.MethodPost)
			assert.True(t, o.sent, "%s, %s", name, scheme)
		}
	}
}

// With TLS 1.3, a client takes the handshake for done before the server has seen its certificate.
func TestHandshakeRefused(t *testing.T) {
	t.Parallel()
	testkit.Loopback(t)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		for _, http2 := range []bool{false, true} {
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				t.Error("it was served")
			}))
			server.EnableHTTP2 = http2
			server.Config.ErrorLog = log.New(io.Discard, "", 0)
			server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MaxVersion: version}
			server.StartTLS()
			t.Cleanup(server.Close)
			base := server.Client().Transport
			for name, transport := range map[string]http.RoundTripper{
				"plain": base, "unwrapping": unwrapping{roundTripper(base.RoundTrip), base},
			} {
				for _, method := range methods[1:] {
					o := newClient(t, server.URL, transport).send(t, method)
					require.Error(t, o.err)
					// With TLS 1.3, the alert comes when the request is written.
					unknown := version == tls.VersionTLS13 || http2 && !strings.Contains(o.err.Error(), "tls:")
					assert.Equal(t, unknown, o.sent, "TLS %x, HTTP/2 %t, %s, %s: %v", version, http2, name, method, o.err)
				}
			}
		}
	}
}
