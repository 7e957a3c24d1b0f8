package wire_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/internal/loopback"
	"github.com/petstore/petstore-go/internal/retry"
	"github.com/petstore/petstore-go/internal/wire"
)

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client sends requests as the client of the root package does.
type client struct {
	transport http.RoundTripper
	sends     wire.Transport
	url       *url.URL
}

func newClient(t *testing.T, base string, transport http.RoundTripper) *client {
	t.Helper()
	u, err := url.Parse(base)
	require.NoError(t, err)
	return &client{transport, wire.NewTransport(transport), u}
}

// outcome is what a Record and the transport say after one request.
type outcome struct {
	status int // 0 without a response
	err    error
	kind   retry.Failure
	sent   bool // the request may have been written
}

// send sends one request: a read if the method is GET, a create with a body if it is POST.
func (c *client) send(t *testing.T, method string) (o outcome) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // net/http would repeat for minutes
	defer cancel()
	r := &http.Request{Method: method, URL: c.url, Host: c.url.Host, Header: http.Header{}}
	var body []byte
	if method == http.MethodPost {
		body = []byte(`{"name":"Rex"}`)
	}
	var record wire.Record
	r = r.WithContext(record.Watch(ctx, cancel, &c.sends))
	record.SetBody(r, body)
	resp, err := wire.CheckResponse(c.transport.RoundTrip(r)) // it is closed below
	o.err, o.sent = err, record.MayHaveSent(err, false)
	if err == nil {
		o.status = resp.StatusCode
		_, o.err = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		return o
	}
	if record.Repeated() {
		o.err = wire.ErrNotRepeated
	}
	o.kind = wire.KindOf(o.err, o.sent)
	return o
}

// clients returns functions that make clients of a server: with the client's own transport, with
// one of the user, and with a wrapper around that.
func clients(t *testing.T, base string, config *tls.Config) map[string]func() *client {
	t.Helper()
	transport := func() *http.Transport {
		made := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: config.Clone()}
		t.Cleanup(made.CloseIdleConnections)
		return made
	}
	own, users := transport(), transport()
	own.OnProxyConnectResponse = wire.CheckConnect
	return map[string]func() *client{
		"own transport":     func() *client { return newClient(t, base, own) },
		"user's transport":  func() *client { return newClient(t, base, users) },
		"wrapped transport": func() *client { return newClient(t, base, roundTripper(users.RoundTrip)) },
	}
}

// h2c returns a function that makes clients of a server of HTTP/2 without TLS.
func h2c(t *testing.T, base string) func() *client {
	made := &http.Transport{Protocols: new(http.Protocols)}
	made.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(made.CloseIdleConnections)
	return func() *client { return newClient(t, base, made) }
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// server is a server of raw connections that counts the requests.
type server struct {
	listener net.Listener
	url      string
	requests atomic.Int32
	conns    sync.WaitGroup
}

// serve starts a server that calls handle for each connection. It stops at the end of the test.
func serve(t *testing.T, config *tls.Config, handle func(s *server, conn net.Conn)) *server {
	t.Helper()
	listener := loopback.Listen(t)
	ended, end := context.WithCancel(t.Context())
	s := &server{listener: listener, url: "http://" + listener.Addr().String()}
	if config != nil {
		s.url = "https://" + listener.Addr().String()
		s.listener = tls.NewListener(listener, config)
	}
	s.conns.Go(func() {
		for {
			conn, err := s.listener.Accept()
			if err != nil {
				return
			}
			end := context.AfterFunc(ended, func() { _ = conn.Close() })
			s.conns.Go(func() {
				defer end()
				defer conn.Close()
				handle(s, conn)
			})
		}
	})
	t.Cleanup(func() {
		end()
		_ = s.listener.Close()
		s.conns.Wait()
	})
	return s
}

// certificate returns the configurations of a server of HTTP/2 and of its clients.
func certificate(t *testing.T) (server, trusted *tls.Config) {
	t.Helper()
	loopback.Host(t)
	s := httptest.NewTLSServer(nil)
	t.Cleanup(s.Close)
	return &tls.Config{Certificates: s.TLS.Certificates, NextProtos: []string{"h2"}},
		s.Client().Transport.(*http.Transport).TLSClientConfig
}

// readRequest reads a request with its body, and returns false at the end of the connection.
func readRequest(s *server, reader *bufio.Reader) (*http.Request, bool) {
	r, err := http.ReadRequest(reader)
	if err != nil {
		return nil, false
	}
	_, _ = io.Copy(io.Discard, r.Body)
	s.requests.Add(1)
	return r, true
}
