package petstore

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/petstore/petstore-go/internal/deadline"
	"github.com/petstore/petstore-go/internal/errtext"
)

// failure is the kind of an attempt's error, as the retries distinguish it.
//
//	symptom                                       failure      error of the call
//	dial refused, reset, timed out                connection   *TransportError
//	REFUSED_STREAM, GOAWAY                        unprocessed  *TransportError
//	a 2xx that is cut off                         connection   *ResponseError
//	unknown host, certificate, TLS alert, no key  permanent    *TransportError
//	CONNECT refused by a proxy, as with 407       permanent    *TransportError
//	bytes that are not HTTP                       protocol     *ResponseError
type failure int

const (
	failureNone        failure = iota
	failureConnection          // transient: a retry may succeed
	failurePermanent           // a retry would fail in the same way
	failureProtocol            // the response is not HTTP
	failureUnprocessed         // transient: the server did not process the request
)

// kindOf classifies the error of a. After the header of a response, any error cuts off its body.
func (a *attempt) kindOf(err error) failure {
	switch kind := kindOf(err); {
	case a.statusCode != 0:
		return failureConnection
	case a.refusedByProxy(err):
		return failurePermanent
	case errors.Is(err, errUnprocessed):
		return failureUnprocessed
	case kind == failureProtocol && !a.sent: // a proxy's response to CONNECT
		return failurePermanent
	default:
		return kind
	}
}

// kindOf classifies err; an unknown error is transient.
func kindOf(err error) failure {
	if notHTTP(err) {
		return failureProtocol
	}
	dns, ok := errors.AsType[*net.DNSError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	if ok && dns.IsNotFound || alert || noTLS(err) || errors.Is(err, errNothing) || containsAny(err.Error(),
		"unsupported protocol scheme", "server gave HTTP response to HTTPS client") {
		return failurePermanent
	}
	return failureConnection
}

// neverConnected reports whether err shows that there was no connection to write to. A transport may
// join the errors of several requests: then each must show that.
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

// noTLS reports whether the TLS handshake failed because of the server: its certificate is not
// trusted, or it does not speak TLS.
func noTLS(err error) bool {
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, record := errors.AsType[tls.RecordHeaderError](err)
	return certificate || record
}

// notHTTP reports whether the response was not HTTP. It compares texts, because net/http has no
// exported types for most of these errors.
func notHTTP(err error) bool {
	if _, ok := errors.AsType[textproto.ProtocolError](err); ok {
		return true
	}
	return containsAny(err.Error(), "malformed HTTP", "malformed MIME header", "bad Content-Length",
		"multiple Content-Length", "transfer encoding", "response headers exceeded",
		"connection error: PROTOCOL_ERROR")
}

// errUnprocessed replaces the error of a create over HTTP/2 that the server guarantees not to have
// processed: it responded with REFUSED_STREAM, or with a GOAWAY that leaves the stream out (RFC
// 9113, section 8.7). Servers do so for a shutdown, and after so many requests on one connection.
var errUnprocessed = errors.New("the server closed the connection or stream before it processed the request")

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
	for _, sub := range substrings {
		if strings.Contains(s, sub) {
			return true
		}
	}
	return false
}

// attribute decides which deadline expired: the caller's, the attempt's, or another, such as a
// dialer's, which must not match the errors of the first two.
func (k *call) attribute(a *attempt, err error) error {
	if ended := endOf(k.ctx.Context); ended != nil {
		return ended
	}
	if a.wire.repeated.Load() {
		return errNotRepeated
	}
	if a.wire.connected.Load() && unprocessed(err) { // else the words are of another request
		return errUnprocessed
	}
	// If the server does not speak HTTP, another attempt does not help, however late the response
	// was.
	if deadline.Err(&a.context) != nil && !notHTTP(err) {
		return &attemptTimeoutError{k.config.attemptTimeout}
	}
	_, ofKey := errors.AsType[*keyError](err)
	if urlErr, ok := errors.AsType[*url.Error](err); ok && !ofKey {
		err = urlErr.Err // no URL in an error
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return &foreignContextError{err}
	}
	return errtext.WithoutOwnPort(err)
}

// attemptTimeoutError reports that an attempt exceeded WithAttemptTimeout. It does not match
// context.DeadlineExceeded, which is for the caller's context.
type attemptTimeoutError struct{ after time.Duration }

func (e *attemptTimeoutError) Error() string { return "attempt timed out after " + e.after.String() }
func (e *attemptTimeoutError) Timeout() bool { return true }

// foreignContextError has the text of an error that matches one of package context although the
// caller's context has not ended, such as the timeout of a dialer. It does not unwrap to that
// error.
type foreignContextError struct{ err error }

func (e *foreignContextError) Error() string { return e.err.Error() }

func (e *foreignContextError) Timeout() bool {
	err, ok := errors.AsType[net.Error](e.err)
	return ok && err.Timeout()
}
