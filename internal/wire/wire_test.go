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
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/internal/link"
	"github.com/petstore/petstore-go/internal/wire"
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
			failed("remote error", tls.AlertError(41)), failed("remote error", tls.AlertError(50)),
			h2("stream error: stream ID 1; PROTOCOL_ERROR; received from peer"),
			errors.New("http2: server sent GOAWAY and closed the connection; LastStreamID=1"),
			errors.New(`server sent GOAWAY; debug="http2: Transport: cannot retry err [REFUSED_STREAM"`), // its words
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
			errors.New("http: server closed idle connection"),
			fmt.Errorf("wrapped: %w", errors.New("http2: client conn could not be established")),
		},
		"permanent, unprocessed": { // alerts about our certificate
			failed("remote error", tls.AlertError(42)), failed("remote error", tls.AlertError(49)),
		},
		"permanent": {
			errors.New(`unsupported protocol scheme ""`), errors.New("http: server gave HTTP response to HTTPS client"),
			tls.RecordHeaderError{}, errors.New("Proxy Authentication Required"),
			fmt.Errorf("wrapped: %w", &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}),
		},
		"not HTTP": {
			textproto.ProtocolError("x"), errors.New(`malformed HTTP response "hello"`),
			errors.New(`malformed HTTP response "http.nothingWrittenError"`), // also words of the server
			errors.New(`malformed HTTP response "http2: client conn could not be established"`),
			errors.New(`malformed HTTP response "net/http: cannot rewind body after connection loss"`),
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

// The type of an alert of crypto/tls is not exported, so this error comes from a real handshake.
func TestCertificateRefused(t *testing.T) {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	for version, want := range map[uint16]string{tls.VersionTLS12: "", tls.VersionTLS13: "permanent, unprocessed"} {
		clientEnd, serverEnd := link.New()
		go func() {
			config := &tls.Config{
				ClientAuth: tls.RequireAnyClientCert, MaxVersion: version, Certificates: server.TLS.Certificates,
			}
			_ = tls.Server(serverEnd, config).HandshakeContext(t.Context())
		}()
		conn := tls.Client(clientEnd, &tls.Config{InsecureSkipVerify: true}) // any certificate will do
		_, err := conn.Read(make([]byte, 1))
		require.ErrorContains(t, err, "remote error: tls")
		assert.Equal(t, want, kinds(err), "%v", err)
	}
}

// trip sends a request through a transport that gets this connection.
func trip(t *testing.T, transport *http.Transport, service string, conn net.Conn) error {
	t.Helper()
	transport.DialContext = func(context.Context, string, string) (net.Conn, error) { return conn, nil }
	_, err := (&http.Client{Transport: transport}).Post(service, "", nil)
	require.Error(t, err)
	return err
}

// A server may have closed an idle connection before the client writes to it.
func TestNothingWritten(t *testing.T) {
	conn, _ := net.Pipe()
	err := trip(t, wire.DefaultTransport(), "http://service.test", broken{conn})
	assert.Equal(t, "unprocessed", kinds(err), "%v", err)
}

// broken is a connection that cannot be written to.
type broken struct{ net.Conn }

func (broken) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// Nobody reads what the client sends, not even its ping. A link takes some of it, a pipe nothing.
func TestDeadHTTP2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		buffered, _ := link.New()
		unbuffered, _ := net.Pipe()
		for conn, want := range map[net.Conn]time.Duration{buffered: 30 * time.Second, unbuffered: 15 * time.Second} {
			transport, start := wire.DefaultTransport(), time.Now()
			transport.Protocols = new(http.Protocols)
			transport.Protocols.SetUnencryptedHTTP2(true)
			_ = trip(t, transport, "http://service.test", conn)
			assert.Equal(t, want, time.Since(start))
		}
	})
}

func TestEndlessHeader(t *testing.T) {
	conn, server := net.Pipe()
	go func() {
		_, _ = io.WriteString(server, "HTTP/1.1 200 OK\r\n"+strings.Repeat("X-Echo: x\r\n", 200_000))
	}()
	err := trip(t, wire.DefaultTransport(), "http://service.test", conn)
	assert.Equal(t, "not HTTP", kinds(err), "%v", err)
}

// The address of the service does not matter: the proxies of this test do not connect.
func TestProxyRefuses(t *testing.T) {
	for reply, want := range map[string]string{
		"HTTP/1.1 407 No": "permanent", "HTTP/1.1 500 No": "", "SSH-2.0-server": "not HTTP",
		"HTTP/1.1 200 OK": "", // it closes the connection after that
	} {
		transport := wire.DefaultTransport()
		proxy := url.URL{Scheme: "http", Host: "proxy.test", User: url.UserPassword("team", "proxy-secret")}
		transport.Proxy = http.ProxyURL(&proxy)
		conn, server := net.Pipe()
		go func() {
			_, _ = http.ReadRequest(bufio.NewReader(server))
			_, _ = io.WriteString(server, reply+"\r\n\r\n")
			_ = server.Close()
		}()
		err := trip(t, transport, "https://service.test", conn)
		assert.Equal(t, want, kinds(err), "%v", err)
		assert.NotContains(t, err.Error(), "proxy-secret")
		refused := strings.HasSuffix(reply, "No")
		assert.Equal(t, refused, strings.Contains(err.Error(), "the proxy responded "+reply[9:12]), "%v", err)
	}
}

// Package petstore hardly tests these: errors of Windows, and errors that say nothing.
func TestClass(t *testing.T) {
	for want, err := range map[string]error{
		"connection_closed": io.ErrUnexpectedEOF, "connection_refused": syscall.Errno(10061),
		"connection_reset": syscall.Errno(10054),
		"_OTHER":           fmt.Errorf("wrapped: %w", errors.New("anything")), "timeout": &net.DNSError{IsTimeout: true},
	} {
		assert.Equal(t, want, wire.Class(&net.OpError{Op: "read", Err: err}))
	}
}
