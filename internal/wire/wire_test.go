package wire_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/petstore/petstore-go/internal/wire"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"net/textproto"

	"github.com/petstore/petstore-go/internal/link"
)

// kinds says what this package reports about an error.
func kinds(err error) string {
	var all []string
	for name, is := range map[string]func(error) bool{
		"dial": wire.IsDial, "unprocessed": wire.IsUnprocessed, "permanent": wire.IsPermanent, "not HTTP": wire.IsNotHTTP,
	} {
		if is(err) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func TestErrors(t *testing.T) {
	failed := func(op string, err error) error { return &net.OpError{Op: op, Err: err} }
	h2 := func(reason string) error {
		return fmt.Errorf("http2: Transport: cannot retry err [%s] after Request.Body was written", reason)
	}
	for want, errs := range map[string][]error{
		"": {
			io.EOF, errors.New("anything else"), failed("read", syscall.ECONNRESET), &net.DNSError{IsTimeout: true},
			errors.Join(failed("dial", io.EOF), io.EOF), errors.New("Forbidden"), failed("remote error", io.EOF),
			h2("stream error: stream ID 1; PROTOCOL_ERROR; received from peer"),
			errors.New("http2: server sent GOAWAY and closed the connection; LastStreamID=1"),
		},
		"dial": {
			failed("dial", syscall.ECONNREFUSED), failed("proxyconnect", io.EOF),
			fmt.Errorf("wrapped: %w", failed("socks connect", io.EOF)),
		},
		"dial, permanent": {
			failed("dial", &net.DNSError{IsNotFound: true}),
			failed("socks connect", errors.New("username/password authentication failed")),
		},
		"unprocessed": {
			h2("stream error: stream ID 3; REFUSED_STREAM; received from peer"),
			h2("http2: Transport received Server's graceful shutdown GOAWAY"),
			errors.New("net/http: cannot rewind body after connection loss"),
			errors.New("http2: client conn could not be established"),
		},
		"permanent": {
			errors.New(`unsupported protocol scheme ""`), errors.New("http: server gave HTTP response to HTTPS client"),
			tls.RecordHeaderError{},
			fmt.Errorf("wrapped: %w", &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}),
		},
		"not HTTP": {
			textproto.ProtocolError("x"), errors.New(`malformed HTTP response "hello"`),
			errors.New("malformed MIME header line: x"), errors.New(`bad Content-Length "x"`),
			errors.New("http: message cannot contain multiple Content-Length headers"),
			errors.New(`unsupported transfer encoding: "x"`), errors.New("connection error: PROTOCOL_ERROR"),
			errors.New("net/http: server response headers exceeded 1048576 bytes"),
		},
	} {
		for _, err := range errs {
			assert.Equal(t, want, kinds(err), "%v", err)
		}
	}
}

// The type of an alert of crypto/tls is not exported, so this error comes from a handshake in which the
// server misses a certificate.
func TestCertificateRefused(t *testing.T) {
	server := httptest.NewUnstartedServer(nil)
	server.StartTLS()
	defer server.Close()
	for version, want := range map[uint16]string{tls.VersionTLS12: "", tls.VersionTLS13: "permanent, unprocessed"} {
		l := link.New(func(*link.Link) {})
		go func() {
			config := &tls.Config{Certificates: server.TLS.Certificates, ClientAuth: tls.RequireAnyClientCert, MaxVersion: version}
			_ = tls.Server(l.Server, config).HandshakeContext(t.Context())
		}()
		conn := tls.Client(l.Client, &tls.Config{InsecureSkipVerify: true}) // its certificate does not matter
		_, err := conn.Read(make([]byte, 1))
		require.ErrorContains(t, err, "remote error: tls")
		assert.Equal(t, want, kinds(err), "%v", err)
	}
}

// A server may have closed an idle connection before the client writes to it.
func TestNothingWritten(t *testing.T) {
	first, service := net.Pipe()
	broken := &breaks{Conn: first}
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return broken, nil }}
	go func() {
		_, _ = http.ReadRequest(bufio.NewReader(service))
		_, _ = io.WriteString(service, "HTTP/1.1 204 No Content\r\n\r\n")
	}()
	post := func() error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://service.test", strings.NewReader("x"))
		require.NoError(t, err)
		req.GetBody = nil
		resp, err := transport.RoundTrip(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		return err
	}
	require.NoError(t, post())
	broken.now.Store(true)
	err := post()
	require.ErrorIs(t, err, syscall.EPIPE)
	assert.Equal(t, "unprocessed", kinds(err))
}

// breaks is a connection that can be written to until now is set.
type breaks struct {
	net.Conn
	now atomic.Bool
}

func (c *breaks) Write(b []byte) (int, error) {
	if c.now.Load() {
		return 0, syscall.EPIPE
	}
	return c.Conn.Write(b)
}

// The address of the service does not matter: the proxies of this test do not connect.
func TestProxyRefuses(t *testing.T) {
	for reply, want := range map[string]string{
		"HTTP/1.1 407 No": "permanent", "HTTP/1.1 502 No": "", "SSH-2.0-server": "not HTTP",
	} {
		transport := wire.DefaultTransport()
		transport.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: "proxy.test", User: url.UserPassword("team", "proxy-secret")})
		transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
			conn, proxy := net.Pipe()
			go func() {
				_, _ = http.ReadRequest(bufio.NewReader(proxy))
				_, _ = io.WriteString(proxy, reply+"\r\n\r\n")
				_ = proxy.Close()
			}()
			return conn, nil
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://service.test", nil)
		require.NoError(t, err)
		_, err = transport.RoundTrip(req)
		require.Error(t, err)
		assert.Equal(t, want, kinds(err), "%v", err)
		assert.NotContains(t, err.Error(), "proxy-secret")
		assert.True(t, want == "not HTTP" || strings.Contains(err.Error(), "the proxy responded "+reply[9:12]), "%v", err)
	}
}
