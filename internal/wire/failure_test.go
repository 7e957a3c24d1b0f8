package wire_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/internal/retry"
	"github.com/petstore/petstore-go/internal/wire"
)

func TestKindOf(t *testing.T) {
	for kind, errs := range map[retry.Failure][]error{
		retry.Connection: {
			io.EOF, io.ErrUnexpectedEOF, errors.New("anything else"),
			&net.OpError{Op: "read", Err: syscall.ECONNRESET}, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED},
			&net.DNSError{IsTimeout: true}, errors.New("stream error: stream ID 1; INTERNAL_ERROR; received from peer"),
			&net.OpError{Op: "remote error", Err: tls.AlertError(80)}, // internal_error
		},
		retry.Permanent: {
			&net.OpError{Op: "dial", Err: &net.DNSError{IsNotFound: true}},
			tls.RecordHeaderError{},
			fmt.Errorf("wrapped: %w", &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}),
			errors.New(`unsupported protocol scheme ""`), errors.New("http: server gave HTTP response to HTTPS client"),
		},
		retry.Protocol: {
			textproto.ProtocolError("x"), errors.New(`malformed HTTP response "hello"`), errors.New("malformed MIME header line: x"),
			errors.New(`bad Content-Length "x"`), errors.New("http: message cannot contain multiple Content-Length headers"),
			errors.New(`unsupported transfer encoding: "x"`), errors.New("net/http: server response headers exceeded 1048576 bytes"),
			errors.New("connection error: PROTOCOL_ERROR"),
		},
	} {
		for _, err := range errs {
			assert.Equal(t, kind, wire.KindOf(err, true), err.Error())
			assert.Equal(t, kind == retry.Protocol, wire.NotHTTP(err), err.Error())
		}
	}
}

func TestCause(t *testing.T) {
	require.Equal(t, io.EOF, wire.Cause(io.EOF))
	withURL := &url.Error{Op: "Get", URL: "https://service.test/?key=hush", Err: io.EOF}
	require.Equal(t, io.EOF, wire.Cause(withURL))
	of := fmt.Errorf("token: %w", withURL)
	require.EqualError(t, wire.Cause(of), "token: EOF")
	require.ErrorIs(t, wire.Cause(of), of, "its caller may match what else it wraps")
}

func TestCheckResponse(t *testing.T) {
	boom := errors.New("boom")
	_, err := wire.CheckResponse(nil, boom)
	require.Equal(t, boom, err)
	_, err = wire.CheckResponse(nil, nil)
	require.EqualError(t, err, "the transport returned neither a response nor an error")
	assert.Equal(t, retry.Permanent, wire.KindOf(err, true))
	for _, code := range []int{0, 1, 99, 101} {
		body := &closes{Reader: http.NoBody}
		_, err = wire.CheckResponse(&http.Response{StatusCode: code, Body: body}, nil)
		assert.True(t, body.closed, "nobody else closes it")
		require.EqualError(t, err, fmt.Sprintf("malformed HTTP response: status %03d", code))
		assert.Equal(t, retry.Protocol, wire.KindOf(err, true))
	}
	resp, err := wire.CheckResponse(&http.Response{StatusCode: http.StatusNoContent}, nil)
	require.NoError(t, err)
	assert.Equal(t, http.NoBody, resp.Body)
}

// closes is a body that knows whether it was closed.
type closes struct {
	io.Reader
	closed bool
}

func (c *closes) Close() error {
	c.closed = true
	return nil
}

// A SOCKS proxy, a proxy of HTTP, and transports that join errors.
func TestProxyErrors(t *testing.T) {
	for _, c := range []struct {
		err  error
		kind retry.Failure
		sent bool
	}{
		{&net.OpError{Op: "socks connect", Err: errors.New("username/password authentication failed")}, retry.Permanent, false},
		{&net.OpError{Op: "socks connect", Err: errors.New("host unreachable")}, retry.Connection, false},
		{&net.OpError{Op: "proxyconnect", Err: syscall.ECONNREFUSED}, retry.Connection, false},
		{joined{&net.OpError{Op: "dial"}, &net.OpError{Op: "dial"}}, retry.Connection, false},
		{joined{&net.OpError{Op: "dial"}, io.EOF}, retry.Connection, true},
		{joined{}, retry.Connection, true},
		{errors.New("malformed HTTP response"), retry.Protocol, true},
		{&net.OpError{Op: "proxyconnect", Err: errors.New("malformed HTTP response")}, retry.Permanent, false},
		{&tls.CertificateVerificationError{Err: io.EOF}, retry.Permanent, false},
		{errors.New("Forbidden"), retry.Connection, true}, // of a transport without CheckConnect
	} {
		refuses := roundTripper(func(*http.Request) (*http.Response, error) { return nil, c.err })
		o := newClient(t, "https://service.test/v1", refuses).send(t, http.MethodGet)
		assert.Equal(t, c.kind, o.kind, "%v", c.err)
		assert.Equal(t, c.sent, o.sent, "%v", c.err)
	}
}

// joined is an error that joins those of several requests.
type joined []error

func (joined) Error() string     { return "several errors" }
func (j joined) Unwrap() []error { return j }

func TestCheckConnect(t *testing.T) {
	require.NoError(t, wire.CheckConnect(t.Context(), nil, nil, &http.Response{StatusCode: http.StatusOK}))
	err := wire.CheckConnect(t.Context(), nil, nil, &http.Response{StatusCode: http.StatusForbidden})
	require.EqualError(t, err, "the proxy responded 403 Forbidden to CONNECT")
}
