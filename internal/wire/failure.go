package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"github.com/petstore/petstore-go/internal/errtext"
	"github.com/petstore/petstore-go/internal/retry"
)

// KindOf classifies the error of the request r, which got no response.
func (w *Record) KindOf(err error, r *http.Request, sent bool) retry.Failure {
	switch kind := KindOf(err); {
	case w.refusedByProxy(err, r):
		return retry.Permanent
	case errors.Is(err, ErrUnprocessed):
		return retry.Unprocessed
	case kind == retry.Protocol && !sent: // a proxy's response to CONNECT
		return retry.Permanent
	default:
		return kind
	}
}

// KindOf classifies err; an unknown error is transient.
func KindOf(err error) retry.Failure {
	if NotHTTP(err) {
		return retry.Protocol
	}
	dns, _ := errors.AsType[*net.DNSError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	if dns != nil && dns.IsNotFound || alert || certificate || noTLS || errors.Is(err, errNothing) ||
		containsAny(err.Error(), "unsupported protocol scheme", "server gave HTTP response to HTTPS client") {
		return retry.Permanent
	}
	return retry.Connection
}

// Cause returns err as errors of the client show it: without a URL, and without the client's port.
func Cause(err error) error {
	if urlErr, ok := errors.AsType[*url.Error](err); ok {
		err = urlErr.Err
	}
	return errtext.WithoutOwnPort(Foreign(err))
}

// Foreign returns err. If it matches an error of package context, it returns one that does not,
// with the same text: the caller's context has not ended, but another, such as that of a dialer.
func Foreign(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return &foreignContextError{err}
	}
	return err
}

type foreignContextError struct{ err error } // it has no Unwrap

func (e *foreignContextError) Error() string { return e.err.Error() }

func (e *foreignContextError) Timeout() bool {
	err, ok := errors.AsType[net.Error](e.err)
	return ok && err.Timeout()
}

// neverConnected reports whether err shows that there was no connection to write to. A transport
// may join the errors of several requests: then each must show that.
func neverConnected(err error) bool {
	switch e := err.(type) { //nolint:errorlint // one layer at a time
	case *net.OpError:
		if e.Op == "dial" || e.Op == "proxyconnect" || e.Op == "socks connect" {
			return true
		}
	case *proxyError, *tls.CertificateVerificationError, tls.RecordHeaderError:
		return true
	case interface{ Unwrap() []error }:
		joined := e.Unwrap()
		return len(joined) > 0 && !slices.ContainsFunc(joined, func(err error) bool { return !neverConnected(err) })
	}
	inner := errors.Unwrap(err)
	return inner != nil && neverConnected(inner)
}

// NotHTTP reports whether the response was not HTTP. It compares texts, because net/http has no
// exported types for most of these errors.
func NotHTTP(err error) bool {
	if _, ok := errors.AsType[textproto.ProtocolError](err); ok {
		return true
	}
	return containsAny(err.Error(), "malformed HTTP", "malformed MIME header", "bad Content-Length",
		"multiple Content-Length", "transfer encoding", "response headers exceeded",
		"connection error: PROTOCOL_ERROR")
}

// ErrUnprocessed replaces the error of a create over HTTP/2 that the server guarantees not to have
// processed: it responded with REFUSED_STREAM, or with a GOAWAY that leaves the stream out (RFC
// 9113, section 8.7). Servers do so for a shutdown, and after so many requests on one connection.
var ErrUnprocessed = errors.New("the server closed the connection or stream before it processed the request")

// unprocessed reports whether err guarantees that the server did not process a create. It compares
// the texts with which net/http reports that it would have sent the request again, had it a
// GetBody. PROTOCOL_ERROR is another reason for that, but no guarantee. The last text means that a
// connection was about to close before anything was written.
func unprocessed(err error) bool {
	text := err.Error()
	return strings.HasPrefix(text, "http2: Transport: cannot retry err [") &&
		containsAny(text, "graceful shutdown GOAWAY]", "; REFUSED_STREAM") ||
		text == "net/http: cannot rewind body after connection loss"
}

func containsAny(s string, substrings ...string) bool {
	return slices.ContainsFunc(substrings, func(sub string) bool { return strings.Contains(s, sub) })
}

var errNothing = errors.New("the transport returned neither a response nor an error")

// CheckResponse returns an error for a response that cannot be final: nil, which a transport must
// not return, and a status from 000 to 199, which net/http passes on. A nil body becomes an empty
// one.
func CheckResponse(resp *http.Response, err error) (*http.Response, error) {
	switch {
	case err != nil:
		return nil, err
	case resp == nil:
		return nil, errNothing
	case resp.Body == nil:
		resp.Body = http.NoBody
	}
	if resp.StatusCode >= http.StatusOK {
		return resp, nil
	}
	_ = resp.Body.Close() // the body is not used
	return nil, fmt.Errorf("malformed HTTP response: status %03d", resp.StatusCode)
}
