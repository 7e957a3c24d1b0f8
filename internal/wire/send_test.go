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
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/internal/link"
	"github.com/petstore/petstore-go/internal/retry"
	"github.com/petstore/petstore-go/internal/testkit"
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
	err  error
	kind retry.Failure
	sent bool // the request may have been written
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

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// server is a server of raw connections in memory that counts the requests. It speaks TLS at port
// 443.
type server struct {
	dial     func(ctx context.Context, network, address string) (net.Conn, error) // for an http.Transport
	requests atomic.Int32
	conns    sync.WaitGroup
}

// serve returns a server that calls handle for each connection. It stops at the end of the test.
func serve(t *testing.T, config *tls.Config, handle func(s *server, conn net.Conn)) *server {
	t.Helper()
	s := new(server)
	s.dial = func(_ context.Context, _, address string) (net.Conn, error) {
		client, conn := net.Pipe()
		if config != nil { // HTTP/2 needs a connection with a buffer: both ends write before they read
			made := link.New(func(*link.Link) {})
			client, conn = made.Client, made.Server
		}
		end := context.AfterFunc(t.Context(), func() { _ = client.Close() })
		if strings.HasSuffix(address, ":443") {
			conn = tls.Server(conn, config)
		}
		s.conns.Go(func() {
			defer end()
			defer conn.Close()
			handle(s, conn)
		})
		return client, nil
	}
	t.Cleanup(s.conns.Wait)
	return s
}

// certificate returns the configurations of a server of HTTP/2 and of its clients.
func certificate(t *testing.T) (server, trusted *tls.Config) {
	t.Helper()
	testkit.Loopback(t)
	s := httptest.NewTLSServer(nil)
	t.Cleanup(s.Close)
	return &tls.Config{Certificates: s.TLS.Certificates, NextProtos: []string{"h2"}},
		s.Client().Transport.(*http.Transport).TLSClientConfig
}

// read reads a request with its body, and returns false at the end of the connection.
func (s *server) read(reader *bufio.Reader) bool {
	r, err := http.ReadRequest(reader)
	if err == nil {
		s.count(r)
	}
	return err == nil
}

// count reads a request and counts it, unless it is only a health check.
func (s *server) count(r *http.Request) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
	if r.Method != http.MethodHead {
		s.requests.Add(1)
	}
}
