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
	failed := func(op string, err error) error { return &net.OpError{Op: op, Err: err} }
	for _, c := range []struct {
		kind retry.Failure
		sent bool // a read that failed with one of the errors may have been written
		errs []error
	}{
		{retry.Connection, true, []error{
			io.EOF, errors.New("anything else"), failed("read", syscall.ECONNRESET), &net.DNSError{IsTimeout: true},
			failed("remote error", tls.AlertError(80)), joined{}, joined{failed("dial", nil), io.EOF},
			errors.New("Forbidden"), // of a proxy, for a transport without CheckConnect
		}},
		{retry.Connection, false, []error{
			failed("dial", syscall.ECONNREFUSED), failed("proxyconnect", syscall.ECONNREFUSED),
			failed("socks connect", errors.New("host unreachable")), joined{failed("dial", nil), failed("dial", nil)},
		}},
		{retry.Permanent, true, []error{
			errors.New(`unsupported protocol scheme ""`), errors.New("http: server gave HTTP response to HTTPS client"),
		}},
		{retry.Permanent, false, []error{
			failed("dial", &net.DNSError{IsNotFound: true}), tls.RecordHeaderError{},
			fmt.Errorf("wrapped: %w", &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}),
			failed("socks connect", errors.New("username/password authentication failed")),
			failed("proxyconnect", errors.New("malformed HTTP response")),
		}},
		{retry.Protocol, true, []error{
			textproto.ProtocolError("x"), errors.New(`malformed HTTP response "hello"`),
			errors.New("malformed MIME header line: x"), errors.New(`bad Content-Length "x"`),
			errors.New("http: message cannot contain multiple Content-Length headers"),
			errors.New(`unsupported transfer encoding: "x"`), errors.New("connection error: PROTOCOL_ERROR"),
			errors.New("net/http: server response headers exceeded 1048576 bytes"),
		}},
	} {
		for _, err := range c.errs {
			fails := roundTripper(func(*http.Request) (*http.Response, error) { return nil, err })
			o := newClient(t, "https://service.test/v1", fails).send(t, http.MethodGet)
			assert.Equal(t, c.kind, o.kind, "%v", err)
			assert.Equal(t, c.sent, o.sent, "%v", err)
		}
	}
}

// joined is an error that joins those of several requests.
type joined []error

func (joined) Error() string     { return "several errors" }
func (j joined) Unwrap() []error { return j }

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
	for _, code := range []int{0, 99, 101} {
		body := &closes{Reader: http.NoBody}
		_, err = wire.CheckResponse(&http.Response{StatusCode: code, Body: body}, nil)
		assert.True(t, body.closed, "nobody else closes it")
		require.EqualError(t, err, fmt.Sprintf("malformed HTTP response: status %03d", code))
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
