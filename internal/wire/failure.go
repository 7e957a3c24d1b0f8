package wire

import (
	"crypto/tls"
	"errors"
	"net"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"github.com/petstore/petstore-go/internal/retry"
)

// KindOf classifies the error of a request to u, which got no response.
func (w *Record) KindOf(err error, u *url.URL, sent bool) retry.Failure {
	switch kind := KindOf(err); {
	case w.refusedByProxy(err, u):
		return retry.Permanent
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
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	if dns != nil && dns.IsNotFound || refusedClient(err) || certificate || noTLS || errors.Is(err, errNothing) ||
		containsAny(err.Error(), "unsupported protocol scheme", "server gave HTTP response to HTTPS client") {
		return retry.Permanent
	}
	return retry.Connection
}

// Cause returns err as errors of the client show it: without a URL.
func Cause(err error) error {
	if urlErr, ok := errors.AsType[*url.Error](err); ok {
		return urlErr.Err
	}
	return err
}

// neverConnected reports whether err shows that there was no connection to write to. A transport
// may join the errors of several requests: then each must show that.
func neverConnected(err error) bool {
	switch e := err.(type) { // one layer at a time
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

// refusedClient reports whether the server refused the client in the TLS handshake, for instance
// for want of a certificate. With TLS 1.3 the client learns this only when it has sent its request;
// the server has not read it.
func refusedClient(err error) bool {
	remote, ok := errors.AsType[*net.OpError](err)
	return ok && remote.Op == "remote error" && slices.ContainsFunc(handshakeAlerts[:], func(alert tls.AlertError) bool {
		return alert.Error() == remote.Err.Error() // crypto/tls has a type of its own for it
	})
}

// handshakeAlerts are the alerts by which a server refuses a client (RFC 8446, section 6.2).
var handshakeAlerts = [...]tls.AlertError{
	40, 42, 43, 44, 45, 46, 48, 49, 70, 71, 112, 116, 120, // handshake_failure to no_application_protocol
}

func containsAny(s string, substrings ...string) bool {
	return slices.ContainsFunc(substrings, func(sub string) bool { return strings.Contains(s, sub) })
}
